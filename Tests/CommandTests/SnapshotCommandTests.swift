import Foundation
import Testing

/// Snapshots, collection and retirement on the command line.
@Suite(.turn) struct SnapshotCommandTests {
    private func document(_ tool: Tool, _ arguments: String...) async throws -> [String: Any] {
        let ended = try await tool.run(arguments + ["--json"])
        #expect(ended.code == 0, "\(arguments): \(ended.errors)")
        return try #require(JSONSerialization.jsonObject(with: Data(ended.output.utf8)) as? [String: Any])
    }

    private func folder(_ tool: Tool, _ report: [String: Any]) throws -> String {
        let status = try #require(report["peer"] as? [String: Any])
        return tool.path("shared/notes/peers/\(try #require(status["id"] as? String))")
    }

    @Test func `snapshot publishes one, says which, and show shows it entry by entry`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let report = try await document(tool, "snapshot", a)
        #expect(report["format"] as? Int == 1)
        #expect(report["new"] as? Bool == true)
        let file = try #require(report["file"] as? String)
        let path = try folder(tool, await document(tool, "status", a)) + "/snapshots/\(file)"
        #expect(FileManager.default.fileExists(atPath: path))
        #expect(try await document(tool, "snapshot", a)["new"] as? Bool == false)

        let shown = try await document(tool, "show", path)
        let rows = try #require(shown["rows"] as? [[String: Any]])
        let note = try #require(rows.first { $0["table"] as? String == "notes" })
        #expect(note["integer"] as? Int == 1)
        #expect((note["inserts"] as? [[String: Any]])?.count == 1)
        let cells = try #require(note["cells"] as? [[String: Any]])
        let versions = try #require(cells.first { $0["column"] as? String == "text" }?["versions"] as? [[String: Any]])
        #expect(versions.compactMap { $0["value"] as? String } == ["one"])
        let peer = try #require(await document(tool, "status", a)["peer"] as? [String: Any])["id"] as? String
        let named = try #require((shown["snapshot"] as? [String: Any])?["peer"] as? [String: Any])
        #expect(Set(named.keys) == ["id", "name"] && named["id"] as? String == peer)
        for entry in versions + (note["inserts"] as? [[String: Any]] ?? []) {
            #expect((entry["peer"] as? [String: Any])?["id"] as? String == peer)
        }
        let text = try await tool.run("show", path)
        #expect(text.code == 0 && text.output.contains("'one'"))

        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(try await tool.run("show", path).code == 65)
    }

    @Test func `compact says for each file what becomes of it, names who is silent, and retire does without`()
        async throws
    {
        let tool = try Tool()
        let a = try await tool.store("a.db", peer: "desk")
        let b = tool.path("b.db")
        let shared = tool.path("shared")
        let clone = try await tool.run(
            "clone", "--container", shared, "--content", "notes", b, "--peer", "laptop")
        #expect(clone.code == 0, "\(clone.errors)")
        let nothing = try await document(tool, "compact", a)
        #expect((nothing["files"] as? [[String: Any]])?.allSatisfy { $0["action"] as? String == "keep" } == true)
        #expect((nothing["blockedBy"] as? [Any])?.isEmpty == true)

        let first = try await document(tool, "compact", a, "--grace", "0")
        let files = try #require(first["files"] as? [[String: Any]])
        #expect(files.contains { $0["action"] as? String == "publish" && $0["reason"] as? String == "needed" })
        #expect(files.contains { $0["action"] as? String == "keep" && $0["reason"] as? String == "unacknowledged" })
        #expect((first["blockedBy"] as? [[String: Any]])?.compactMap { $0["name"] as? String } == ["laptop"])

        let refused = try await tool.run("peers", "retire", a, "laptop", "--json")
        #expect(refused.code == 64)
        #expect(try await tool.run("peers", "retire", a, "nobody", "--yes").code == 64)
        #expect(try await tool.run("peers", "retire", a, "desk", "--yes").code == 64)
        for impossible in ["nobody", "desk"] {
            #expect(try await tool.run("peers", "retire", a, impossible, "--dry-run").code == 64)
        }
        let said = try await document(tool, "peers", "retire", a, "laptop", "--dry-run")
        #expect(said["dryRun"] as? Bool == true)
        #expect((said["retired"] as? [String: Any])?["name"] as? String == "laptop")
        #expect(try await tool.run("peers", a).output.contains("retired") == false)
        let retired = try await document(tool, "peers", "retire", a, "laptop", "--yes")
        #expect((retired["retired"] as? [String: Any])?["name"] as? String == "laptop")
        let list = try await document(tool, "peers", a)
        let laptop = (list["peers"] as? [[String: Any]])?.first { $0["name"] as? String == "laptop" }
        #expect(laptop?["retired"] as? Bool == true)

        let logs = try folder(tool, await document(tool, "status", a)) + "/logs"
        let dry = try await document(tool, "compact", a, "--grace", "0", "--dry-run")
        #expect(dry["dryRun"] as? Bool == true)
        #expect(try !FileManager.default.contentsOfDirectory(atPath: logs).isEmpty)
        _ = try await document(tool, "compact", a, "--grace", "0")
        let last = try await document(tool, "compact", a, "--grace", "0")
        #expect((last["blockedBy"] as? [Any])?.isEmpty == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: logs).isEmpty)

        let c = tool.path("c.db")
        #expect(try await tool.run("clone", "--container", shared, "--content", "notes", c).code == 0)
        #expect(try await tool.sql("c.db", "SELECT text FROM notes") == "one\n")
        #expect(try await tool.run("compact", a, "--grace", "-1").code == 64)
    }
}
