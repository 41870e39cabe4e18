import Foundation
import Testing

/// Flags, then the environment, then the configuration file.
@Suite(.turn) struct SettingsTests {
    private func configuration(_ tool: Tool, _ text: String) throws -> String {
        let path = tool.path("home/.config/logsync/config.toml")
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test(arguments: [
        ("contianer = \"/x\"", "contianer"), ("poll = \"often\"", "poll"), ("container = 3", "container"),
        ("verbose = 1", "verbose"), ("log-format = \"xml\"", "log-format"), ("metrics = \"here\"", "metrics"),
        ("debounce = 1.5", "debounce"), ("[watch]\npoll = 3", "watch"), ("content = \"BAD NAME\"", "content"),
        ("peer = \" x\"", "peer"), ("container = \"\"", "container"), ("stores = [\"a.db\", \"\"]", "stores"),
        ("poll = 5\n\0\0", "line 2"), ("\0\0\0", "NUL"),
    ])
    func `a configuration file that is wrong is 78, with the file and the key named`(text: String, key: String)
        async throws
    {
        let tool = try Tool()
        let path = try configuration(tool, text)
        let ended = try await tool.run("status", "a.db", "--json")
        #expect(ended.code == 78, "\(ended)")
        let error = try JSON(ended.errors)["error"]
        #expect(error?["code"]?.string == "configuration")
        let message = error?["message"]?.string ?? ""
        #expect(message.contains(path) && message.contains(key), "\(message)")
    }

    @Test func `a home directory that no shell has put in is the same in options, the environment and a configuration`()
        async throws
    {
        let tool = try Tool()
        let home = tool.path("home")
        try FileManager.default.createDirectory(atPath: home + "/Sync", withIntermediateDirectories: true)
        try await tool.database("home/a.db")
        let environment = ["HOME": home, "LOGSYNC_CONTAINER": "~/Sync"]
        let made = try await tool.run("init", "~/a.db", "--content", "notes", environment: environment)
        #expect(made.code == 0, "\(made)")
        let attached = try await tool.run(
            "attach", "~/a.db", "--container", "~/Sync", "--json", environment: ["HOME": home])
        #expect(attached.code == 0, "\(attached)")
        let report = try JSON(attached.output)
        #expect(report["store"]?.string?.hasSuffix("/home/a.db") == true, "\(attached)")
        #expect(report["changed"]?.bool == false, "\(attached)")
        let file = tool.path("c.toml")
        try "stores = [\"~/a.db\"]\n".write(toFile: file, atomically: true, encoding: .utf8)
        let daemon = try tool.start(["watch", "--config", file, "--json"], environment: ["HOME": home])
        try await daemon.line { $0.contains("ready") && $0.contains("/home/a.db") }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `a file that is not TOML, or is asked for and not there, is 78; a default one need not be there`()
        async throws
    {
        let tool = try Tool()
        #expect(try await tool.run("status", "a.db").code == 66)
        let missing = try await tool.run("status", "a.db", "--config", "missing.toml")
        #expect(
            missing.code == 78 && missing.errors.contains("missing.toml cannot be read: No such file"), "\(missing)")
        let path = try configuration(tool, "container = ")
        let broken = try await tool.run("status", "a.db")
        #expect(broken.code == 78 && broken.errors.contains(path) && broken.errors.contains("line 1"), "\(broken)")
    }

    @Test func `a variable that is wrong is 78 and named; an empty one is as good as none`() async throws {
        let tool = try Tool()
        let ended = try await tool.run("status", "a.db", environment: ["LOGSYNC_POLL": "often"])
        #expect(ended.code == 78 && ended.errors.contains("LOGSYNC_POLL"), "\(ended)")
        #expect(try await tool.run("status", "a.db", environment: ["LOGSYNC_POLL": ""]).code == 66)
    }

    @Test func `a content's or peer's name that is none is not blamed on an option`() async throws {
        let tool = try Tool()
        try await tool.database("a.db")
        let path = try configuration(tool, "content = \"BAD NAME\"\ncontainer = \"\(tool.path("shared"))\"")
        let ended = try await tool.run("init", "a.db")
        #expect(ended.code == 78 && ended.errors.contains("the key content in \(path) is \"BAD NAME\""), "\(ended)")
        let given = try await tool.run("init", "a.db", "--content", "notes", environment: ["LOGSYNC_PEER": "a,b"])
        #expect(given.code == 78 && given.errors.contains("\(path)"), "\(given)")
        _ = try configuration(tool, "")
        let variable = try await tool.run("init", "a.db", environment: ["LOGSYNC_PEER": "a,b"])
        #expect(variable.code == 78 && variable.errors.contains("LOGSYNC_PEER is \"a,b\""), "\(variable)")
    }

    @Test func `a flag comes before a variable, and a variable before the file`() async throws {
        let tool = try Tool()
        try await tool.database("a.db")
        _ = try configuration(tool, "container = \"~/../shared\"\ncontent = \"filed\"\npeer = \"filed\"\n")
        let variables = ["LOGSYNC_CONTENT": "given", "LOGSYNC_PEER": "given"]
        let ended = try await tool.run("init", "a.db", "--peer", "flagged", "--json", environment: variables)
        #expect(ended.code == 0, "\(ended)")
        let report = try JSON(ended.output)
        #expect(report["peer"]?["name"]?.string == "flagged")
        #expect(report["content"]?.string == "given")
        #expect(FileManager.default.fileExists(atPath: tool.path("shared/given/logsync.json")))
    }

    @Test func `another file can be named by flag or variable`() async throws {
        let tool = try Tool()
        try await tool.database("a.db")
        try "content = \"other\"\n".write(toFile: tool.path("other.toml"), atomically: true, encoding: .utf8)
        let arguments = ["init", "a.db", "--container", tool.path("shared"), "--dry-run", "--json"]
        let flagged = try await tool.run(arguments + ["--config", "other.toml"])
        #expect(try JSON(flagged.output)["content"]?.string == "other")
        let given = try await tool.run(arguments, environment: ["LOGSYNC_CONFIG": "other.toml"])
        #expect(try JSON(given.output)["content"]?.string == "other")
    }
}
