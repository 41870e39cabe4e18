import Foundation
import Testing

/// What the file system does not let the user do is said to be that, and nothing else.
@Suite(.turn) struct PermissionTests {
    /// Runs the tool as one to whom permissions apply, as they do not to root.
    private func runAsNobody(
        _ tool: Tool, _ arguments: [String], state: String = "state"
    ) async throws -> Tool.Ended {
        let state = tool.path(state)
        if !FileManager.default.fileExists(atPath: state) {
            try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
            chmod(state, 0o777)
        }
        let environment = ["STATE_DIRECTORY": state]
        guard geteuid() == 0 else { return try await tool.run(arguments, environment: environment) }
        let change = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", Tool.path]
        return try await tool.program("/usr/bin/env", change + arguments, environment: environment)
    }

    /// Runs `body` while a file has another mode.
    private func withMode(_ mode: mode_t, of path: String, _ body: () async throws -> Void) async throws {
        var before = stat()
        try #require(stat(path, &before) == 0 && chmod(path, mode) == 0)
        defer { chmod(path, before.st_mode & 0o7777) }
        try await body()
    }

    private func expect(
        _ code: Int32, _ name: String, says: String, _ ended: Tool.Ended,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(ended.code == code, "\(ended)", sourceLocation: sourceLocation)
        let error = try JSON(ended.errors)["error"]
        #expect(error?["code"]?.string == name, "\(ended)", sourceLocation: sourceLocation)
        #expect(error?["message"]?.string?.contains(says) == true, "\(ended)", sourceLocation: sourceLocation)
        #expect(error?["help"]?.string?.isEmpty == false, sourceLocation: sourceLocation)
    }

    @Test func `a store that may not be read is there, and not permitted`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        for subcommand in ["status", "sync", "log", "doctor", "verify"] {
            try await withMode(0, of: a) {
                let ended = try await runAsNobody(tool, [subcommand, a, "--json"])
                try expect(77, "no-permission", says: "may not be read", ended)
            }
        }
    }

    @Test func `a database in a folder that may not be entered is not permitted`() async throws {
        let tool = try Tool()
        try FileManager.default.createDirectory(atPath: tool.path("closed"), withIntermediateDirectories: true)
        try await tool.database("closed/x.db")
        try await withMode(0, of: tool.path("closed")) {
            for arguments in [["init", tool.path("closed/x.db")], ["status", tool.path("closed/x.db")]] {
                let place = arguments[0] == "init" ? ["--container", tool.path("shared"), "--content", "notes"] : []
                let ended = try await runAsNobody(tool, arguments + place + ["--json"])
                try expect(77, "no-permission", says: "Permission denied", ended)
            }
        }
    }

    @Test func `a store at rest in a folder that may not be written says that the folder is the trouble`() async throws
    {
        let tool = try Tool()
        try FileManager.default.createDirectory(atPath: tool.path("fixed"), withIntermediateDirectories: true)
        let a = try await tool.store("fixed/a.db")
        #expect(!FileManager.default.fileExists(atPath: a + "-wal"), "it was closed cleanly")
        try await withMode(0o555, of: tool.path("fixed")) {
            let ended = try await runAsNobody(tool, ["status", a, "--json"])
            try expect(77, "no-permission", says: "its folder may not be written", ended)
        }
    }

    @Test func `a clone that cannot be made says whether it is not permitted or there is no such folder`() async throws
    {
        let tool = try Tool()
        try await tool.store("a.db")
        let clone = ["clone", "--container", tool.path("shared"), "--content", "notes", "--json"]
        let nowhere = try await tool.run(clone + [tool.path("no/such/x.db")])
        try expect(73, "cannot-create", says: "No such file or directory", nowhere)
        let long = try await tool.run(clone + [tool.path(String(repeating: "x", count: 250))])
        try expect(73, "cannot-create", says: "File name too long", long)
        try FileManager.default.createDirectory(atPath: tool.path("fixed"), withIntermediateDirectories: true)
        try await withMode(0o555, of: tool.path("fixed")) {
            let ended = try await runAsNobody(tool, clone + [tool.path("fixed/x.db")])
            try expect(77, "no-permission", says: "Permission denied", ended)
        }
    }

    @Test func `a container that is a file is said to be no directory`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        try Data("x".utf8).write(to: URL(fileURLWithPath: tool.path("file")))
        for arguments in [["clone", "--content", "notes", tool.path("x.db")], ["attach", a]] {
            let ended = try await tool.run(arguments + ["--container", tool.path("file"), "--json"])
            try expect(69, "container-unavailable", says: "Not a directory", ended)
        }
    }

    @Test func `what may not be written beside a database is named`() async throws {
        let tool = try Tool()
        for folder in ["open", "shared"] {
            try FileManager.default.createDirectory(atPath: tool.path(folder), withIntermediateDirectories: true)
            chmod(tool.path(folder), 0o777)
        }
        let a = try await tool.database("open/a.db")
        chmod(a, 0o666)
        let made = try await runAsNobody(tool, ["init", a, "--container", tool.path("shared"), "--content", "notes"])
        #expect(made.code == 0, "\(made)")
        let reading =
            "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM notes').fetchall(); "
        let reader = try tool.start(
            program: "/usr/bin/env", ["python3", "-c", reading + "print('open', flush=True); time.sleep(120)", a])
        defer { reader.signal(SIGKILL) }
        try await reader.line { $0 == "open" }
        try await tool.sql("open/a.db", "INSERT INTO notes(text) VALUES('two')")
        try await withMode(0o444, of: a + "-shm") {
            let ended = try await runAsNobody(tool, ["sync", a, "--json"])
            try expect(77, "no-permission", says: "a.db-shm may not be written: Permission denied", ended)
        }
    }

    @Test func `a clone from a container that may not be written leaves nothing, and neither does an init that joins`()
        async throws
    {
        let tool = try Tool()
        try await tool.store("a.db")
        try FileManager.default.createDirectory(atPath: tool.path("open"), withIntermediateDirectories: true)
        chmod(tool.path("open"), 0o777)
        let place = ["--container", tool.path("shared"), "--content", "notes", "--json"]
        try await withMode(0o555, of: tool.path("shared/notes/peers")) {
            let cloned = try await runAsNobody(tool, ["clone", tool.path("open/x.db")] + place)
            try expect(77, "no-permission", says: "shared/notes/peers", cloned)
            #expect(try FileManager.default.contentsOfDirectory(atPath: tool.path("open")).isEmpty)
            try await tool.database("open/y.db")
            chmod(tool.path("open/y.db"), 0o666)
            let joined = try await runAsNobody(tool, ["init", tool.path("open/y.db")] + place)
            try expect(77, "no-permission", says: "shared/notes/peers", joined)
            #expect(try await tool.sql("open/y.db", "SELECT count(*) FROM sqlite_master") == "1\n")
        }
    }

    @Test func `a content folder whose peers may not be read is not available, and that is said once`() async throws {
        let tool = try Tool()
        try FileManager.default.createDirectory(atPath: tool.path("open"), withIntermediateDirectories: true)
        let state = tool.path("state")
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        for name in ["open", "state", "shared"] { chmod(tool.path(name), 0o777) }
        try await tool.database("open/a.db")
        chmod(tool.path("open/a.db"), 0o666)
        let place = ["--container", tool.path("shared"), "--content", "notes"]
        #expect(try await runAsNobody(tool, ["init", tool.path("open/a.db")] + place).code == 0)
        let a = tool.path("open/a.db")
        try await withMode(0, of: tool.path("shared/notes/peers")) {
            let listed = try JSON(try await runAsNobody(tool, ["list", "--json"]).output)
            #expect(listed["stores"]?.array.map { $0["state"]?.string } == ["unavailable"], "\(listed)")
            let status = try await runAsNobody(tool, ["status", a, "--json"])
            #expect(try JSON(status.output)["container"]?["available"]?.bool == false, "\(status)")
        }
        var command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", Tool.path]
        if geteuid() != 0 { command = [Tool.path] }
        let daemon = try tool.start(
            program: "/usr/bin/env", command + ["watch", a, "--poll", "0.1"], environment: ["STATE_DIRECTORY": state])
        try await daemon.line { $0 == "\(a) is ready" }
        func count(_ text: String) -> Int { daemon.errors.components(separatedBy: text).count - 1 }
        try await withMode(0, of: tool.path("shared/notes/peers")) {
            try await tool.sql("open/a.db", "INSERT INTO notes VALUES (2, 'two')")
            try await eventually("it is said") { count("could not list") > 0 }
            // Some rounds later.
            try await Task.sleep(for: .seconds(4))
        }
        try await eventually("it is published") {
            try JSON(try await runAsNobody(tool, ["status", a, "--json"]).output)["outbox"]?.int == 0
        }
        daemon.signal(SIGTERM)
        let ended = await daemon.end()
        #expect(ended.code == 0 && count("could not list") == 1 && count(" warning ") == 1, "\(ended)")
    }

    @Test func `a peer's folder that may not be read is one trouble, and its help speaks of reading`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let status = try JSON(await tool.succeed("status", a, "--json").output)
        let folder = tool.path("shared/notes/peers/\(status["peer"]?["id"]?.string ?? "")")
        try await withMode(0, of: folder) {
            let examined = try await runAsNobody(tool, ["doctor", tool.path("shared"), "--json"])
            let findings = try JSON(examined.output)["findings"]?.array ?? []
            #expect(findings.map { $0["code"]?.string } == ["unreadable"], "\(examined)")
            #expect(findings.first?["why"]?.string?.contains(folder) == true, "\(examined)")
            #expect(findings.first?["help"]?.string?.hasPrefix("Let this user read it") == true, "\(examined)")
        }
    }

    @Test func `a container or content that may not be looked at is not said to be absent`() async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        for folder in ["shared", "shared/notes"] {
            try await withMode(0, of: tool.path(folder)) {
                let verified = try await runAsNobody(tool, ["verify", tool.path("shared"), "--json"])
                try expect(77, "no-permission", says: "Permission denied", verified)
                let examined = try await runAsNobody(tool, ["doctor", tool.path("shared"), "--json"])
                #expect(examined.code == 3, "\(examined)")
                let codes = try JSON(examined.output)["findings"]?.array.map { $0["code"]?.string }
                #expect(codes == ["no-permission"], "\(examined)")
            }
        }
    }

    // MARK: Another user's store

    /// A store of the one to whom permissions apply.
    private func ownStore(_ tool: Tool) async throws -> String {
        try FileManager.default.createDirectory(atPath: tool.path("own"), withIntermediateDirectories: true)
        let a = try await tool.database("own/a.db")
        for path in ["own", "shared"] { chmod(tool.path(path), 0o777) }
        if geteuid() == 0 { chown(a, 65534, 65534) }
        let made = try await runAsNobody(tool, ["init", a, "--container", tool.path("shared"), "--content", "notes"])
        #expect(made.code == 0, "\(made)")
        return a
    }

    private func findings(_ ended: Tool.Ended) throws -> [JSON] {
        #expect(ended.code == 3, "\(ended)")
        return try JSON(ended.output)["findings"]?.array ?? []
    }

    @Test func `the doctor names the database that may not be written, and the log file that may not be read`()
        async throws
    {
        let tool = try Tool()
        let a = try await ownStore(tool)
        try await withMode(0o444, of: a) {
            let found = try findings(await runAsNobody(tool, ["doctor", a, "--json"]))
            let closed = found.first { $0["code"]?.string == "permission-denied" }
            #expect(closed?["where"]?.string == a && closed?["help"]?.string == "chmod u+w \(a)", "\(found)")
        }
        let peers = tool.path("shared/notes/peers")
        let peer = try #require(try FileManager.default.contentsOfDirectory(atPath: peers).first)
        let log = try #require(try FileManager.default.contentsOfDirectory(atPath: "\(peers)/\(peer)/logs").first)
        try await withMode(0, of: "\(peers)/\(peer)/logs/\(log)") {
            let found = try findings(await runAsNobody(tool, ["doctor", tool.path("shared"), "--json"]))
            let closed = found.first { $0["code"]?.string == "unreadable" }
            #expect(closed?["help"]?.string?.hasPrefix("Let this user read it") == true, "\(found)")
        }
    }

    @Test func `a state directory that may not be read is not permitted`() async throws {
        let tool = try Tool()
        let a = try await ownStore(tool)
        for folder in ["state", "state/stores"] {
            try await withMode(0, of: tool.path(folder)) {
                try await expect(77, "no-permission", says: "may not be read", runAsNobody(tool, ["list", "--json"]))
            }
        }
        #expect(try await runAsNobody(tool, ["sync", a]).code == 0)
    }

    @Test func `a state directory that is closed to its own user is told with the command that opens it`() async throws
    {
        let tool = try Tool()
        try FileManager.default.createDirectory(atPath: tool.path("state"), withIntermediateDirectories: true)
        if geteuid() == 0 { chown(tool.path("state"), 65534, 65534) }
        let a = try await ownStore(tool)
        for (folder, mode) in [
            ("state", mode_t(0)), ("state/stores", 0), ("state/stores", 0o500), ("state/locks", 0o600),
            ("state/staging", 0o500),
        ] {
            try await tool.sql("own/a.db", "INSERT INTO notes(text) VALUES('\(folder)')")
            try await withMode(mode, of: tool.path(folder)) {
                for other in ["state", "other"] where other == "state" || mode == 0 {
                    let ended = try await runAsNobody(tool, ["sync", a, "--json"], state: other)
                    try expect(77, "no-permission", says: tool.path(folder), ended)
                    let help = try JSON(ended.errors)["error"]?["help"]?.string
                    #expect(help == "chmod u+rwx \(tool.path(folder))", "\(ended)")
                }
            }
            #expect(try await runAsNobody(tool, ["sync", a]).code == 0)
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `a state directory that is another user's in part is 77 with what to run, and the doctor names which part`()
        async throws
    {
        let tool = try Tool()
        try FileManager.default.createDirectory(atPath: tool.path("state"), withIntermediateDirectories: true)
        chown(tool.path("state"), 65534, 65534)
        let a = try await ownStore(tool)
        let lock = try #require(
            try FileManager.default.contentsOfDirectory(atPath: tool.path("state/locks")).first {
                $0.hasSuffix(".step")
            })
        let parts: [(String, mode_t)] = [
            ("state", 0o700), ("state/stores", 0o700), ("state/locks", 0o700), ("state/staging", 0o755),
            ("state/locks/\(lock)", 0o600),
        ]
        for (part, mode) in parts {
            let place = tool.path(part)
            try await tool.sql("own/a.db", "INSERT INTO notes(text) VALUES('\(part)')")
            chown(place, 0, 0)
            try await withMode(mode, of: place) {
                let ended = try await runAsNobody(tool, ["sync", a, "--json"])
                try expect(77, "no-permission", says: "\(place) may not be read and written", ended)
                let help = try JSON(ended.errors)["error"]?["help"]?.string ?? ""
                #expect(help.hasSuffix("sudo chown -R nobody \(tool.path("state"))"), "\(ended)")
                let found = try findings(await runAsNobody(tool, ["doctor", a, "--json"]))
                let closed = found.first { $0["code"]?.string == "permission-denied" }
                #expect(closed?["where"]?.string == place && closed?["help"]?.string == help, "\(found)")
            }
            chown(place, 65534, 65534)
            #expect(try await runAsNobody(tool, ["sync", a]).code == 0)
        }
        let stores = tool.path("state/stores")
        let file = "\(stores)/\(try #require(try FileManager.default.contentsOfDirectory(atPath: stores).first))"
        chown(file, 0, 0)
        let found = try findings(await runAsNobody(tool, ["doctor", a, "--json"]))
        #expect(found.first?["where"]?.string == file, "\(found)")
    }

    @Test func `a configuration folder that may not be entered is not taken for none`() async throws {
        let tool = try Tool()
        let a = try await ownStore(tool)
        let folder = tool.path("home/.config/logsync")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if geteuid() == 0 { chown(folder, 65534, 65534) }
        #expect(try await runAsNobody(tool, ["sync", a]).code == 0)
        try await withMode(0, of: folder) {
            let ended = try await runAsNobody(tool, ["sync", a, "--json"])
            try expect(78, "configuration", says: "\(folder)/config.toml", ended)
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `the superuser leaves another user's store alone, and a state file says whose it is`() async throws {
        let tool = try Tool()
        let a = try await ownStore(tool)
        let asRoot = try await tool.run(["sync", a, "--json"], environment: ["STATE_DIRECTORY": tool.path("state")])
        try expect(77, "no-permission", says: "is kept by another user", asRoot)
        #expect(try await runAsNobody(tool, ["sync", a]).code == 0)
        let stores = tool.path("state/stores")
        for name in try FileManager.default.contentsOfDirectory(atPath: stores) { chown("\(stores)/\(name)", 0, 0) }
        for arguments in [["sync", a, "--json"], ["list", "--json"]] {
            try await expect(77, "no-permission", says: "is root's", runAsNobody(tool, arguments))
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `a state directory on a disk that may only be read is 77, is named, and keeps nobody from looking`()
        async throws
    {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        let script = """
            mount --bind home home && mount -o remount,bind,ro home || exit 99
            logsync sync "$1"; echo "sync $?"
            logsync status "$1"; echo "status $?"
            logsync doctor "$1"; echo "doctor $?"
            """
        let ended = try await tool.program("/usr/bin/env", ["unshare", "-m", "sh", "-c", script, "sh", a])
        // Where no mount is permitted, there is nothing to try.
        guard ended.code != 99, !ended.errors.hasPrefix("unshare") else { return }
        for line in ["sync 77", "status 0", "doctor 3"] { #expect(ended.lines.contains(line), "\(ended)") }
        #expect(ended.output.contains("the state directory cannot be written to"), "\(ended)")
        try await tool.succeed("sync", a)
        #expect(try await tool.run("doctor", a).code == 0)
    }
}
