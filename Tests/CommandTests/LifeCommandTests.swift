import Foundation
import Testing

/// The subcommands around the life of stores and folders, as scripts see them.
@Suite(.turn) struct LifeCommandTests {
    @Test func `attach follows a moved container, and says where the content is not`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        try FileManager.default.moveItem(atPath: tool.path("shared"), toPath: tool.path("moved"))
        let away = try await tool.run("sync", store)
        #expect(away.code == 69 && away.errors.contains("logsync attach"), "\(away)")
        let wrong = try await tool.run("attach", store, "--container", tool.path("home"))
        #expect(wrong.code == 69, "\(wrong)")
        let ended = try await tool.run("attach", store, "--container", tool.path("moved"), "--json")
        #expect(ended.code == 0)
        let report = try JSON(ended.output)
        #expect(report["format"]?.int == 1 && report["changed"]?.bool == true)
        #expect(report["container"]?.string?.hasSuffix("/moved") == true && report["held"]?.array.isEmpty == true)
        #expect(try await tool.run("sync", store).code == 0)
        #expect(try await tool.run("attach", store).code == 64)
    }

    @Test func `rescan records what no trigger saw`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let shell = try await tool.program(
            "/usr/bin/env",
            ["sqlite3", store, ".dbconfig enable_trigger off", "INSERT INTO notes VALUES (2, 'behind the back')"])
        #expect(shell.code == 0)
        #expect(try JSON(await tool.run("sync", store, "--json").output)["stores"]?.array.first?["recorded"]?.int == 0)
        let ended = try await tool.run("rescan", store, "--json")
        #expect(ended.code == 0, "\(ended)")
        #expect(try JSON(ended.output)["found"]?["notes"]?["inserted"]?.int == 1)
        let again = try await tool.run("rescan", store)
        #expect(again.code == 0 && again.output == "Nothing else has changed.\n")
    }

    @Test func `rebuild and destroy do nothing without consent`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let folder = tool.path("shared/notes")
        let content = ["--container", tool.path("shared"), "--content", "notes"]
        for arguments in [["rebuild", store], ["destroy"] + content] {
            let ended = try await tool.run(arguments)
            #expect(ended.code == 64 && ended.errors.contains("--yes"), "\(ended)")
            #expect(try await tool.run(arguments + ["--dry-run"]).code == 0)
        }
        #expect(FileManager.default.fileExists(atPath: folder + "/logsync.json"))
        let destroyed = try await tool.run(["destroy", "--yes", "--json"] + content)
        #expect(destroyed.code == 0)
        #expect(try JSON(destroyed.output)["peers"]?.array.first?["name"]?.string == "here")
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(try await tool.run("sync", store).code == 69)
        let rebuilt = try await tool.run("rebuild", store, "--yes", "--json")
        #expect(rebuilt.code == 0, "\(rebuilt)")
        #expect(try JSON(rebuilt.output)["marker"]?.bool == true)
        try await tool.clone("b.db")
        #expect(try await tool.sql("b.db", "SELECT text FROM notes") == "one\n")
    }

    @Test func `seed brings rows in once, and names what it cannot read`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        try await tool.sql("package.db", "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        try await tool.sql("package.db", "INSERT INTO notes VALUES (1, 'packaged'), (2, 'too')")
        let ended = try await tool.run("seed", store, "--from", tool.path("package.db"), "--json")
        #expect(ended.code == 0, "\(ended)")
        let report = try JSON(ended.output)
        #expect(report["alreadySeeded"]?.bool == false && report["rows"]?["notes"]?.int == 2)
        let other = try await tool.clone("b.db")
        #expect(try await tool.run("seed", other, "--from", tool.path("package.db")).code == 0)
        for path in [store, other, store, other] { try await tool.succeed("sync", path) }
        for name in ["a.db", "b.db"] {
            #expect(try await tool.sql(name, "SELECT text FROM notes ORDER BY text") == "one\npackaged\ntoo\n")
        }
        #expect(try await tool.run("seed", store, "--from", tool.path("absent.db")).code == 66)
        #expect(try await tool.run("seed", store, "--from", other).code == 78)
        #expect(try await tool.run("seed", store).code == 64)
    }

    @Test func `migrate takes a script from a file or stdin's place, whole or not at all`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        func script(_ name: String, _ sql: String) throws -> String {
            try sql.write(toFile: tool.path(name), atomically: true, encoding: .utf8)
            return tool.path(name)
        }
        let rebuild = try script(
            "rebuild.sql",
            """
            BEGIN;
            CREATE TABLE new_notes (id INTEGER PRIMARY KEY, body TEXT);
            INSERT INTO new_notes SELECT id, text FROM notes;
            DROP TABLE notes;
            ALTER TABLE new_notes RENAME TO notes;
            COMMIT;
            """)
        let dry = try await tool.run("migrate", store, "--sql", rebuild, "--rename", "notes.text=body", "--dry-run")
        #expect(dry.code == 0 && dry.output.contains("would be body"), "\(dry)")
        let ended = try await tool.run(
            "migrate", store, "--sql", rebuild, "--rename", "notes.text=body", "--json")
        #expect(ended.code == 0, "\(ended)")
        let report = try JSON(ended.output)
        #expect(report["statements"]?.int == 4 && report["recorded"]?.keys.isEmpty == true)
        #expect(report["renamed"]?.array.first?["to"]?.string == "body")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'captured')")
        #expect(
            try JSON(await tool.run("sync", store, "--json").output)["stores"]?.array.first?["recorded"]?.int == 1)
        let bad = try await tool.run("migrate", store, "--sql", script("bad.sql", "DELETE FROM notes;\nNONSENSE;"))
        #expect(bad.code == 65 && bad.errors.contains("line 2"), "\(bad)")
        #expect(try await tool.sql("a.db", "SELECT count(*) FROM notes") == "2\n")
        #expect(try await tool.run("migrate", store, "--sql", tool.path("absent.sql")).code == 66)
        #expect(try await tool.run("migrate", store, "--sql", rebuild, "--rename", "nonsense").code == 64)
        // A script may come from another program, as a shell's <(…) has it.
        let piped = try await tool.program(
            "/bin/sh",
            ["-c", "mkfifo script; echo 'DELETE FROM notes;' > script & logsync migrate \(store) --sql script"])
        #expect(piped.code == 0, "\(piped)")
        #expect(try await tool.sql("a.db", "SELECT count(*) FROM notes") == "0\n")
    }

    @Test func `who leaves after a restore is not listed any more`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        try await tool.sql("a.db", "VACUUM INTO '\(tool.path("backup.db"))'")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", store)
        for name in ["a.db", "a.db-wal", "a.db-shm"] { try? FileManager.default.removeItem(atPath: tool.path(name)) }
        try FileManager.default.moveItem(atPath: tool.path("backup.db"), toPath: store)
        try await tool.succeed("sync", store)
        try await tool.succeed("leave", store)
        #expect(try await tool.succeed("list", "--json").output == "{\"format\":1,\"stores\":[]}\n")
    }

    @Test func `a store whose file was deleted is said to be missing until leave takes it off the list`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let peer = try JSON(try await tool.succeed("status", store, "--json").output)["peer"]?["id"]?.string
        try FileManager.default.moveItem(atPath: store, toPath: tool.path("away.db"))
        let listed = try await tool.succeed("list")
        #expect(listed.output.contains("missing") && listed.errors.contains("logsync leave \(store)"), "\(listed)")
        let dry = try JSON(try await tool.succeed("leave", store, "--dry-run", "--json").output)
        #expect(dry["forgotten"]?.bool == true && dry["peer"]?["id"]?.string == peer)
        #expect(try await tool.succeed("list").output.contains("missing"))
        let left = try await tool.succeed("leave", store)
        #expect(left.output.contains("logsync peers retire STORE \(peer ?? "?")"), "\(left)")
        let now = try await tool.succeed("list")
        #expect(now.output.contains("knows of no store") && now.errors.isEmpty, "\(now)")
        #expect(try await tool.run("leave", store).code == 66)
        // One that comes back all the same is the peer that it was.
        try FileManager.default.moveItem(atPath: tool.path("away.db"), toPath: store)
        try await tool.succeed("sync", store)
        let status = try JSON(try await tool.succeed("status", store, "--json").output)
        #expect(status["peer"]?["id"]?.string == peer)
        #expect(try await tool.succeed("list").output.contains("ok"))
    }

    @Test func `a large value that nobody has is given up where that is asked for`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, hex(zeroblob(400000)))")
        try await tool.succeed("sync", a)
        try await tool.sql("a.db", "INSERT INTO notes VALUES (3, 'later')")
        try await tool.succeed("sync", a)
        let peers = tool.path("shared/notes/peers")
        for peer in try FileManager.default.contentsOfDirectory(atPath: peers) {
            try? FileManager.default.removeItem(atPath: "\(peers)/\(peer)/blobs")
        }
        #expect(try await tool.run("sync", b).code == 3)
        let held = try await tool.run("status", b)
        #expect(held.output.contains("logsync peers accept-loss \(b) here"), "\(held)")
        let accept = ["peers", "accept-loss", b, "here"]
        let alive = try await tool.run(accept + ["--yes"])
        #expect(alive.code == 64 && alive.errors.contains("logsync peers retire \(b) here"), "\(alive)")
        try await tool.succeed("peers", "retire", b, "here", "--yes")
        #expect(try await tool.run(accept).code == 64)
        let dry = try JSON(try await tool.succeed(accept + ["--dry-run", "--json"]).output)
        let expected = try #require(dry["lost"]?.array.first)
        #expect(dry["dryRun"]?.bool == true && dry["snapshot"]?.isNull == true && expected["cell"]?.isNull == true)
        #expect(expected["sequence"]?.int == 2 && expected["bytes"]?.int == 800_000)
        #expect(try await tool.sql("b.db", "SELECT count(*) FROM notes") == "1\n")
        let report = try JSON(try await tool.succeed(accept + ["--yes", "--json"]).output)
        let cell = try #require(report["lost"]?.array.first?["cell"])
        #expect(cell["table"]?.string == "notes" && cell["column"]?.string == "text")
        #expect(cell["key"]?.array.first?.int == 2)
        #expect(report["lost"]?.array.first?["file"]?.string == expected["file"]?.string)
        #expect(report["held"]?.array.isEmpty == true && report["snapshot"]?.string?.hasSuffix(".snap") == true)
        #expect(try await tool.sql("b.db", "SELECT id, text FROM notes ORDER BY id") == "1|one\n2|\n3|later\n")
        try await tool.succeed("sync", b)
    }

    @Test func `log --follow lets go of a store that another process needs alone, and goes on`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let following = try tool.start(["log", store, "--follow", "--json"])
        _ = try await following.line { $0.contains("\"sequence\":1") }
        try "CREATE TABLE more(id INTEGER PRIMARY KEY)".write(
            toFile: tool.path("m.sql"), atomically: true, encoding: .utf8)
        try await tool.succeed("migrate", store, "--sql", tool.path("m.sql"), "--wait", "60")
        try await tool.sql("a.db", "INSERT INTO notes(text) VALUES('since')")
        try await tool.succeed("sync", store)
        _ = try await following.line { $0.contains("\"sequence\":2") }
        try await tool.succeed("leave", store, "--wait", "60")
        #expect(await following.end().code == 66)
    }

    @Test func `a file that is not there, and a folder, are said to be that`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let seed = try await tool.run("seed", store, "--from", "/nope")
        #expect(seed.code == 66 && seed.errors.contains("no database at /nope"), "\(seed)")
        #expect(!seed.errors.contains("logsync init"), "\(seed)")
        let script = try await tool.run("migrate", store, "--sql", tool.path("shared"))
        #expect(script.code == 66 && script.errors.contains("is a directory"), "\(script)")
    }

    @Test func `a reader of the output who has ended is said by the exit status`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        for command in ["list", "log \(store)", "show \(store) here:1", "sync \(store)", "--help"] {
            let ended = try await tool.program(
                "/bin/sh", ["-c", "rm -f p; mkfifo p; (: < p) & exec 3> p; wait; logsync \(command) >&3"])
            #expect(ended.code == 74, "\(command): \(ended)")
        }
    }

    @Test func `move goes to another container and content, and stays where another content is`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let there = tool.path("there")
        #expect(try await tool.run("move", store, "--container", there).code == 69)
        try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: true)
        let ended = try await tool.run("move", store, "--container", there, "--content", "diary", "--json")
        #expect(ended.code == 0, "\(ended)")
        let report = try JSON(ended.output)
        #expect(report["changed"]?.bool == true && report["former"]?["content"]?.string == "notes")
        try await tool.succeed("clone", "--container", there, "--content", "diary", tool.path("b.db"))
        #expect(try await tool.sql("b.db", "SELECT text FROM notes") == "one\n")
        #expect(try JSON(await tool.run("status", store, "--json").output)["content"]?.string == "diary")
    }

    @Test func `migrate, move and rebuild end with 75 while another process keeps the store`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        try "SELECT 1".write(toFile: tool.path("nothing.sql"), atomically: true, encoding: .utf8)
        // One that was stopped has the store open, and does not hear requests.
        let keeper = try tool.start(["log", store, "--follow", "--json"])
        try await keeper.line { $0.contains("\"token\"") }
        keeper.signal(SIGSTOP)
        for arguments in [
            ["migrate", store, "--sql", tool.path("nothing.sql")], ["move", store, "--container", tool.path("home")],
            ["rebuild", store, "--yes"],
        ] {
            let ended = try await tool.run(arguments + ["--wait", "0.2"])
            #expect(ended.code == 75, "\(ended)")
        }
        keeper.signal(SIGKILL)
        _ = await keeper.end()
        // One that watches it does.
        let daemon = try tool.start(["watch", store, "--json"])
        try await daemon.line { $0.contains("ready") }
        #expect(try await tool.run("migrate", store, "--sql", tool.path("nothing.sql")).code == 0)
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `doctor and verify end with 0, 3 or 4, and say what helps`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let shared = tool.path("shared")
        for arguments in [["doctor", store], ["doctor", shared], ["verify", store], ["verify", shared]] {
            let ended = try await tool.run(arguments)
            #expect(ended.code == 0, "\(ended)")
            #expect(try JSON(await tool.run(arguments + ["--json"]).output)["findings"]?.array.isEmpty == true)
        }
        let logs = try await tool.program("/usr/bin/find", [shared, "-name", "*.tlog"]).lines
        let path = try #require(logs.first)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count - 90] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        for subcommand in ["doctor", "verify"] {
            let ended = try await tool.run(subcommand, store)
            #expect(ended.code == 4 && ended.output.contains("help:") && ended.output.contains(path), "\(ended)")
        }
        try FileManager.default.removeItem(atPath: path)
        let gap = try await tool.run("doctor", store, "--json")
        #expect(gap.code == 3)
        let finding = try JSON(gap.output)["findings"]?.array.first
        #expect(finding?["severity"]?.string == "trouble")
        for key in ["code", "what", "where", "why", "help"] { #expect(finding?[key]?.string?.isEmpty == false) }
        try await tool.succeed("sync", store)
        #expect(try await tool.run("doctor", store).code == 0)
        #expect(try await tool.run("doctor", tool.path("absent")).code == 66)
        #expect(try await tool.run("verify", tool.path("home")).code == 69)
    }

    @Test func `what is to be said of many places is said once`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let peer = try JSON(try await tool.succeed("status", store, "--json").output)["peer"]?["id"]?.string ?? ""
        let copies = (1...7).map { "receipt.sync-conflict-20250101-12000\($0)-ABC.json" }
        for copy in copies {
            try Data([1]).write(to: URL(fileURLWithPath: tool.path("shared/notes/peers/\(peer)/\(copy)")))
        }
        let ended = try await tool.run("doctor", store)
        #expect(ended.code == 3 && ended.lines.count { $0.hasPrefix("trouble:") } == 1, "\(ended)")
        #expect(
            ended.lines.count { $0.hasPrefix("  where: ") } == 5 && ended.lines.count { $0.hasPrefix("  help: ") } == 1)
        #expect(ended.lines.contains("         and 2 more, which --json lists"), "\(ended)")
        let findings = try JSON(try await tool.run("doctor", store, "--json").output)["findings"]?.array ?? []
        #expect(
            Set(findings.compactMap { $0["where"]?.string?.split(separator: "/").last.map(String.init) }) == Set(copies)
        )
    }

    @Test func `a store that leaves without its folder says what reaches nobody`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        try FileManager.default.moveItem(atPath: tool.path("shared"), toPath: tool.path("away"))
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        let dry = try JSON(await tool.succeed("leave", a, "--dry-run", "--json").output)
        #expect(dry["unpublished"]?.int == 1 && dry["published"]?.bool == false)
        let left = try await tool.succeed("leave", a, "--wait", "0")
        #expect(left.errors.contains("without publishing 1 transaction, which reaches"), "\(left)")
        #expect(!left.errors.contains("outbox") && left.output.contains("in this database only"), "\(left)")
        #expect(try await tool.sql("a.db", "SELECT count(*) FROM notes") == "2\n")
    }

    @Test func `a file that is no log file is not called a damaged one`() async throws {
        let tool = try Tool()
        try "root:x:0:0".write(toFile: tool.path("passwd"), atomically: true, encoding: .utf8)
        let shown = try await tool.run("show", tool.path("passwd"))
        #expect(shown.code == 65 && shown.errors.contains("is no log file and no snapshot"), "\(shown)")
    }
}
