import Foundation
import Testing

/// `logsync kv`.
@Suite(.turn) struct KeyValueTests {
    private func stores() async throws -> (tool: Tool, a: String, b: String) {
        let tool = try Tool()
        try FileManager.default.createDirectory(atPath: tool.path("shared"), withIntermediateDirectories: true)
        for name in ["a", "b"] {
            try await tool.succeed(
                "kv", "init", tool.path(name + ".db"), "--container", tool.path("shared"), "--content", "settings",
                "--peer", name)
        }
        return (tool, tool.path("a.db"), tool.path("b.db"))
    }

    @Test func `negative numbers are keys and values as others are, and unknown options are none`() async throws {
        let tool = try Tool()
        let a = tool.path("a.db")
        try await tool.succeed("kv", "init", a, "--container", tool.path("shared"), "--content", "settings")
        try await tool.succeed("kv", "set", a, "below", "-5", "--quiet")
        try await tool.succeed("kv", "set", a, "-7", "-.5e3", "--literal")
        try await tool.succeed("kv", "set", a, "blank", " -5")
        try await tool.succeed("kv", "set", a, "blanks", "--", "  -5")
        #expect(try await tool.succeed("kv", "list", a).output == "-7=-500.0\nbelow=-5\nblank= -5\nblanks=  -5\n")
        #expect(try await tool.succeed("kv", "get", a, "-7").output == "-500.0\n")
        #expect(try await tool.succeed("kv", "get", a, "-8", "--default", "-1").output == "-1\n")
        try await tool.succeed("kv", "delete", a, "-7")
        for wrong in ["--foo", "-x", "--5"] {
            let ended = try await tool.run("kv", "set", a, "below", wrong)
            #expect(ended.code == 64 && ended.errors.contains("write -- before it"), "\(wrong): \(ended)")
        }
        #expect(try await tool.succeed("kv", "get", a, "below").output == "-5\n")
    }

    @Test func `what is set on one machine is read on the other, as it was given`() async throws {
        let (tool, a, b) = try await stores()
        try await tool.succeed("kv", "set", a, "version", "1.10")
        try await tool.succeed("kv", "set", a, "page", "12", "--literal")
        try await tool.succeed("kv", "set", a, "below", "--", "-5")
        try await tool.succeed("sync", b)
        #expect(try await tool.succeed("kv", "get", b, "version").output == "1.10\n")
        let page = try JSON(await tool.succeed("kv", "get", b, "page", "--json").output)
        #expect(page["format"]?.int == 1 && page["key"]?.string == "page" && page["value"]?.int == 12)
        #expect(try await tool.succeed("kv", "list", b).output == "below=-5\npage=12\nversion=1.10\n")
        let list = try JSON(await tool.succeed("kv", "list", b, "--json").output)
        #expect(list["entries"]?.array.map { $0["key"]?.string } == ["below", "page", "version"])
        #expect(list["excess"]?.array.isEmpty == true && list["bytes"]?.int == 24)
    }

    @Test func `a key that is not there is 66, and nothing on stdout`() async throws {
        let (tool, a, _) = try await stores()
        let missing = try await tool.run("kv", "get", a, "nothing")
        #expect(missing.code == 66 && missing.output.isEmpty && missing.errors.contains("nothing"))
        #expect(try await tool.run("kv", "get", a, "nothing", "--json").errors.contains("\"code\":\"no-key\""))
        #expect(try await tool.succeed("kv", "get", a, "nothing", "--default", "7").output == "7\n")
        #expect(try await tool.run("kv", "delete", a, "nothing").code == 66)
        try await tool.succeed("kv", "set", a, "x", "1")
        try await tool.succeed("kv", "delete", a, "x")
        #expect(try await tool.run("kv", "get", a, "x").code == 66)
        #expect(try await tool.run("kv", "get", tool.path("no.db"), "x").code == 66)
        #expect(!FileManager.default.fileExists(atPath: tool.path("no.db")))
    }

    @Test func `what exceeds the limits is 73, another database 65, and no folder 69`() async throws {
        let (tool, a, _) = try await stores()
        let long = try await tool.run("kv", "set", a, String(repeating: "k", count: 65), "1")
        #expect(long.code == 73 && long.errors.contains("64"))
        let other = try await tool.store("other.db")
        #expect(try await tool.run("kv", "get", other, "x").code == 65)
        let refused = try await tool.run(
            "kv", "init", tool.database("third.db"), "--container", tool.path("shared"), "--content", "settings")
        #expect(refused.code == 65)
        let away = try await tool.run(
            "kv", "init", tool.path("new.db"), "--container", tool.path("none"), "--content", "settings")
        #expect(away.code == 69 && !FileManager.default.fileExists(atPath: tool.path("new.db")))
    }

    @Test func `an init that is refused leaves no file behind, and what was there works`() async throws {
        let (tool, a, _) = try await stores()
        try await tool.store("other.db")
        for content in ["notes", "No Name"] {
            let refused = try await tool.run(
                "kv", "init", tool.path("new.db"), "--container", tool.path("shared"), "--content", content)
            #expect(refused.code == (content == "notes" ? 78 : 64), "\(refused)")
            let again = try await tool.run("kv", "init", a, "--container", tool.path("shared"), "--content", content)
            #expect(again.code != 0)
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: tool.folder.path)
        #expect(!files.contains { $0.hasPrefix("new.db") }, "\(files)")
        try await tool.succeed("kv", "set", a, "x", "1")
    }

    @Test func `watch prints what others change, until a signal`() async throws {
        let (tool, a, b) = try await stores()
        let watch = try tool.start(["kv", "watch", b, "page", "--json"])
        try await tool.succeed("kv", "set", a, "other", "1")
        try await tool.succeed("kv", "set", a, "page", "12", "--literal")
        let line = try await JSON(watch.line { $0.contains("\"event\":\"change\"") })
        #expect(line["keys"]?.array.map(\.string) == ["page"] && line["values"]?["page"]?.int == 12)
        #expect(["serverChange", "initialSyncChange"].contains(line["reason"]?.string))
        watch.signal(SIGTERM)
        #expect(await watch.end().code == 0)
    }

    @Test func `a program gets a value as it is, and no other bytes are kept than were given`() async throws {
        let tool = try Tool()
        let store = tool.path("s.kv")
        try await tool.succeed("kv", "init", store, "--container", tool.path("shared"), "--content", "set")
        for value in ["a\nb", "a\\nb", "col1\tcol2\r\n", "\u{202E}"] {
            try await tool.succeed("kv", "set", store, "k", value)
            #expect(try await tool.succeed("kv", "get", store, "k").output == value + "\n")
        }
        let shell = "\"$0\" kv set \"$1\" k \"$(printf '\\200\\377')\""
        let refused = try await tool.program("/bin/sh", ["-c", shell, Tool.path, store])
        #expect(refused.code == 64 && refused.errors.contains("UTF-8"), "\(refused)")
        let spelled = try await tool.run(
            "kv", "set", store, "k", "--literal", "--", "{\"text\": {\"base64\": \"gA==\"}}")
        #expect(spelled.code == 64 && spelled.errors.contains("UTF-8"), "\(spelled)")
    }

    @Test func `beside another program's transaction a key is read, and what would write waits as it is told, then 75`()
        async throws
    {
        let (tool, a, _) = try await stores()
        try await tool.succeed("kv", "set", a, "x", "1")
        try await tool.sql("a.db", "SELECT count(*) FROM entry")
        let script = """
            import sqlite3, sys, time
            app = sqlite3.connect(sys.argv[1], isolation_level=None)
            app.execute("BEGIN IMMEDIATE"); print("holding", flush=True); time.sleep(600)
            """
        let app = try tool.start(program: "/usr/bin/env", ["python3", "-c", script, a])
        try await app.line { $0 == "holding" }
        #expect(try await tool.succeed("kv", "get", a, "x", "--wait", "0").output == "1\n")
        #expect(try await tool.succeed("kv", "list", a, "--wait", "0").output == "x=1\n")
        for command in [["set", a, "x", "2"], ["delete", a, "x"]] {
            let ended = try await tool.run(["kv"] + command + ["--wait", "0"])
            #expect(ended.code == 75 && ended.errors.contains("process \(app.id)"), "\(ended)")
        }
        let patient = try tool.start(["kv", "set", a, "x", "2", "--wait", "250"])
        app.signal(SIGKILL)
        #expect(await patient.end().code == 0)
        #expect(try await tool.succeed("kv", "get", a, "x").output == "2\n")
    }
}
