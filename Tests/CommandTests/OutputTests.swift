import Foundation
import Testing

@testable import LogSyncCommand

/// The JSON that scripts read: the keys that the contract names, one document each.
@Suite(.turn) struct OutputTests {
    @Test(arguments: LogOutputFormat.allCases)
    func `a line of the log names no value that is empty`(format: LogOutputFormat) async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let peers = URL(fileURLWithPath: tool.path("shared/notes/peers"))
        let peer = try #require(FileManager.default.contentsOfDirectory(atPath: peers.path).first)
        try FileManager.default.removeItem(at: peers.appendingPathComponent("\(peer)/logs"))
        let ended = try await tool.run(["sync", a, "--log-format", format.rawValue])
        #expect(ended.errors.contains("Mended") && ended.errors.contains("transactions"), "\(ended)")
        #expect(!ended.errors.contains("replaced"), "\(ended)")
    }

    @Test func `init, clone and leave`() async throws {
        let tool = try Tool()
        try await tool.database("a.db")
        let options = ["--container", tool.path("shared"), "--content", "notes", "--json"]
        let dry = try await tool.run(["init", "a.db", "--dry-run"] + options)
        #expect(try JSON(dry.output)["dryRun"]?.bool == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: tool.path("shared")).isEmpty)

        let made = try JSON(await tool.run(["init", "a.db", "--peer", "here"] + options).output)
        #expect(made["format"]?.int == 1)
        #expect(made["peer"]?.keys == ["id", "name"] && made["peer"]?["name"]?.string == "here")
        #expect(made["tables"]?.array.map { $0["table"]?.string } == ["notes"])
        #expect(made["recorded"]?.int == 1 && made["published"]?.int == 1)

        let again = try await tool.run(["init", "a.db"] + options)
        #expect(again.code == 0, "\(again)")
        #expect(try JSON(again.output)["alreadyInitialized"]?.bool == true)

        let cloned = try JSON(await tool.run(["clone", "b.db", "--peer", "there"] + options).output)
        #expect(cloned["format"]?.int == 1 && cloned["imported"]?.int == 1)
        #expect(cloned["peer"]?["name"]?.string == "there")
        #expect(try await tool.run(["clone", "b.db"] + options).code == 73)

        let dryLeave = try JSON(await tool.run("leave", "b.db", "--dry-run", "--json").output)
        #expect(dryLeave["format"]?.int == 1 && dryLeave["dryRun"]?.bool == true)
        #expect(try await tool.run("status", "b.db").code == 0)
        let left = try JSON(await tool.run("leave", "b.db", "--json").output)
        #expect(left["store"]?.string?.hasSuffix("b.db") == true)
        #expect(try await tool.run("status", "b.db").code == 66)
        #expect(try await tool.sql("b.db", "SELECT name FROM sqlite_master WHERE name LIKE 'logsync_%'") == "")
        #expect(try await tool.sql("b.db", "SELECT text FROM notes") == "one\n")
    }

    @Test func `with --verbose it says what was recorded, published, imported and joined`() async throws {
        let tool = try Tool()
        try await tool.database("a.db")
        let content = ["--container", tool.path("shared"), "--content", "notes", "-v"]
        func said(_ arguments: String..., says: String...) async throws {
            let ended = try await tool.run(arguments)
            #expect(ended.code == 0, "\(ended)")
            for text in says { #expect(ended.errors.contains(text), "\(arguments): \(ended.errors)") }
        }
        let made = try await tool.run(["init", "a.db", "--peer", "here"] + content)
        #expect(made.errors.contains("rows=1") && made.errors.contains("Published "), "\(made.errors)")
        let cloned = try await tool.run(["clone", "b.db", "--peer", "there"] + content)
        #expect(cloned.errors.contains("Imported from 000000000001-"), "\(cloned.errors)")
        try await tool.sql("a.db", "UPDATE notes SET text = 'two'; INSERT INTO notes VALUES (2, 'x'), (3, 'y')")
        try await said(
            "sync", "a.db", "-v", says: "Recorded transaction 2 of", "deleted=0 inserted=2 updated=1", "Published ",
            "transactions=1")
        try await said("sync", "b.db", "-v", says: "Imported from 000000000002-", "peer=here transactions=1")
        #expect(try await tool.run("sync", "b.db").errors == "")
        try await said("snapshot", "a.db", "-v", says: "Took a snapshot")
        let filled = try await tool.run(["clone", "c.db", "--peer", "third"] + content)
        #expect(filled.errors.contains("Joined the snapshot"), "\(filled.errors)")
        try await tool.sql("a.db", "DELETE FROM notes WHERE id = 3")
        try await said("rescan", "a.db", "-v", says: "Recorded transaction 3 of", "deleted=1")
        try await said("leave", "a.db", "-v", says: "Published ", "is an ordinary database again")
    }

    @Test(arguments: ["sync", "import", "export"])
    func `sync, import and export`(subcommand: String) async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        try await tool.sql("a.db", "UPDATE notes SET text = 'two'")
        let report = try JSON(await tool.run(subcommand, "a.db", "--json").output)
        #expect(report["format"]?.int == 1)
        let store = try #require(report["stores"]?.array.first)
        #expect(store.keys.isSuperset(of: ["store", "recorded", "published", "imported", "held"]))
        #expect(store["recorded"]?.int == 1)
        #expect(store["published"]?.int == (subcommand == "import" ? 0 : 1))
        let lines = try await tool.run(subcommand, "a.db").lines
        #expect(lines.first?.split(separator: " ") == ["STORE", "RECORDED", "PUBLISHED", "IMPORTED", "HELD"])
    }

    @Test func `status and peers`() async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        try await tool.clone("b.db")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (5, 'five'), (6, 'six')")
        let status = try JSON(await tool.run("status", "a.db", "--json").output)
        let keys: Set = [
            "format", "store", "content", "container", "peer", "pending", "outbox", "vector", "peers", "held",
            "conflicts",
            "parked", "digest",
        ]
        #expect(status.keys.isSuperset(of: keys), "missing: \(keys.subtracting(status.keys))")
        #expect(status["container"]?["available"]?.bool == true)
        #expect(status["pending"]?.int == 2)
        let own = try #require(status["peer"]?["id"]?.string)
        #expect(status["vector"]?[own]?.int == 1)
        let other = try #require(status["peers"]?.array.first)
        // A key that has nothing to say says null.
        #expect(other.keys.isSuperset(of: ["id", "name", "published", "imported", "behind", "seenAt", "retired"]))

        for arguments in [["peers", "list", "a.db"], ["peers", "a.db"]] {
            let peers = try JSON(await tool.run(arguments + ["--json"]).output)["peers"]?.array ?? []
            #expect(peers.map { $0["name"]?.string } == ["here", "there"])
            #expect(peers.map { $0["self"]?.bool } == [true, false])
        }
        let accepted = try JSON(await tool.run("peers", "accept-clock", "a.db", "there", "--json").output)
        #expect(accepted["peer"]?["name"]?.string == "there")
        #expect(try await tool.run("peers", "accept-clock", "a.db", "nobody").code == 64)

        let shown = try await tool.run("status", "a.db").output
        #expect(shown.contains("peer       here, \(own)") && shown.contains("pending    2 changes"), "\(shown)")
    }

    @Test func `status says of what is held why, and what lets it in`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), tool.path("b.db"))
        try await tool.succeed("clone", "--container", tool.path("shared"), "--content", "notes", b)
        for number in [5, 6] {
            try await tool.sql("a.db", "INSERT INTO notes VALUES (\(number), 'x')")
            try await tool.succeed("sync", a)
        }
        let own = try #require(try JSON(await tool.run("status", a, "--json").output)["peer"]?["id"]?.string)
        let logs = tool.path("shared/notes/peers/\(own)/logs")
        let second = try #require(
            FileManager.default.contentsOfDirectory(atPath: logs).first { $0.hasPrefix("000000000002-") })
        try FileManager.default.removeItem(atPath: logs + "/" + second)
        #expect(try await tool.run("sync", b).code == 3)
        let lines = try await tool.succeed("status", b).output.split(separator: "\n")
        #expect(lines.contains { $0.contains(" is held (gap)") }, "\(lines)")
        #expect(lines.last?.hasPrefix("gap: wait for the sync engine; if it stays so, run logsync sync") == true)
    }

    @Test func `log and show`() async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (5, 'it''s five'), (6, x'00ff')")
        try await tool.succeed("sync", "a.db")
        let log = try JSON(await tool.run("log", "a.db", "--json").output)
        #expect(log["format"]?.int == 1)
        let transactions = log["transactions"]?.array ?? []
        #expect(transactions.compactMap { $0["sequence"]?.int } == [2, 1])
        let newest = try #require(transactions.first)
        let keys: Set = ["token", "peer", "sequence", "time", "author", "context", "changes"]
        #expect(newest.keys.isSuperset(of: keys), "missing: \(keys.subtracting(newest.keys))")
        #expect(newest["changes"]?["notes"]?["inserted"]?.int == 2)
        #expect(newest["time"]?.string?.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) != nil)
        let token = try #require(transactions.last?["token"]?.int)
        let after = try JSON(await tool.run("log", "a.db", "--after", "\(token)", "--json").output)
        #expect(after["transactions"]?.array.compactMap { $0["sequence"]?.int } == [2])

        let shown = try JSON(await tool.run("show", "a.db", "here:2", "--json").output)
        let transaction = try #require(shown["transactions"]?.array.first)
        #expect(shown["format"]?.int == 1 && transaction["peer"]?["name"]?.string == "here")
        let values = transaction["rows"]?.array.flatMap { $0["cells"]?.array ?? [] }.compactMap { $0["value"] } ?? []
        #expect(values.contains { $0.string == "it's five" })
        #expect(values.contains { $0["base64"]?.string == "AP8=" })
        let text = try await tool.run("show", "a.db", "here:2").output
        #expect(text.contains("'it''s five'") && text.contains("X'00ff'"), "\(text)")

        let folder = tool.path("shared/notes/peers/\(try #require(newest["peer"]?["id"]?.string))/logs")
        let file = try #require(FileManager.default.contentsOfDirectory(atPath: folder).sorted().last)
        let whole = try JSON(await tool.run("show", "\(folder)/\(file)", "--json").output)
        #expect(whole["file"]?["peer"]?["id"]?.string == newest["peer"]?["id"]?.string)
        #expect(whole["transactions"]?.array.isEmpty == false)
        #expect(try await tool.run("show", "a.db", "here:99").code == 64)
        #expect(try await tool.run("show", "a.db", "nobody:1").code == 64)
    }

    @Test func `log --follow is a document a line, and goes on`() async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        let following = try tool.start(["log", "a.db", "--follow", "--json"])
        let first = try JSON(await following.line { _ in true })
        #expect(first["format"]?.int == 1 && first["sequence"]?.int == 1)
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", "a.db")
        let second = try JSON(await following.line { $0.contains("\"sequence\":2") })
        #expect(second["changes"]?["notes"]?["inserted"]?.int == 1)
        following.signal(SIGINT)
        #expect(await following.end().code == 130)
    }

    @Test func `JSON has no character that moves a terminal's cursor or turns its text around`() throws {
        let texts = ["csi\u{9B}31m", "back\u{202E}wards", "line\u{2028}", "tag\u{E0041}", "\u{1B}[2J", "größe", "日本"]
        let line = try JSONText.line(texts)
        #expect(!line.unicodeScalars.contains(where: Terminal.isControl))
        #expect(line.contains("csi\\u009b31m") && line.contains("größe") && line.contains("日本"))
        #expect(try JSONDecoder().decode([String].self, from: Data(line.utf8)) == texts)
    }

    @Test func `what a table calls itself moves no cursor when its policy is set`() async throws {
        let tool = try Tool()
        let name = "t\u{1B}[2J\u{202E}\nforged"
        try await tool.sql("a.db", "CREATE TABLE \"\(name)\"(id TEXT PRIMARY KEY NOT NULL, c TEXT)")
        try await tool.succeed("init", "a.db", "--container", tool.path("shared"), "--content", "notes")
        let set = try await tool.succeed("policy", "set", "a.db", name + ".c", "manual")
        #expect(set.output.contains("t\\u{1b}[2J\\u{202e}\\nforged.c is merged by manual"), "\(set)")
    }
}
