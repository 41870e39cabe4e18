import Foundation
import Testing

@testable import LogSyncCommand

/// Conflicts, parked rows and policies on the command line.
@Suite(.turn) struct ConflictCommandTests {
    /// Two stores that wrote one cell, and took one unique name, without having seen each other's.
    private func stores(_ tool: Tool) async throws -> (String, String) {
        let (a, b) = (tool.folder.path + "/a.db", tool.folder.path + "/b.db")
        let container = tool.folder.path + "/shared"
        try await sqlite(
            tool, a, "CREATE TABLE t(id INTEGER PRIMARY KEY, x, n TEXT UNIQUE); INSERT INTO t VALUES(1, 'x', 'u')")
        try await expectDone(tool, ["init", a, "--container", container, "--content", "c", "--peer", "alice"])
        try await expectDone(tool, ["clone", b, "--container", container, "--content", "c", "--peer", "bob"])
        try await sqlite(tool, a, "UPDATE t SET x = 'of alice'; INSERT INTO t(x, n) VALUES(1, 'same')")
        try await expectDone(tool, ["sync", a])
        try await sqlite(tool, b, "UPDATE t SET x = 'of bob'; INSERT INTO t(x, n) VALUES(2, 'same')")
        try await expectDone(tool, ["sync", b])
        try await expectDone(tool, ["sync", a])
        return (a, b)
    }

    private func sqlite(_ tool: Tool, _ store: String, _ sql: String) async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
        process.arguments = ["-cmd", ".timeout 5000", store, sql]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    private func expectDone(_ tool: Tool, _ arguments: [String]) async throws {
        let outcome = try await tool.run(arguments)
        #expect(outcome.code == 0, "\(arguments): \(outcome.errors)")
    }

    private func report(_ tool: Tool, _ store: String) async throws -> [String: Any] {
        let output = try await tool.run(["conflicts", "list", store, "--json"]).output
        return try #require(JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
    }

    @Test func `conflicts and parked rows are listed and settled`() async throws {
        let tool = try Tool()
        let (a, b) = try await stores(tool)
        let before = try await report(tool, a)
        #expect(before["format"] as? Int == 1)
        let conflict = try #require((before["conflicts"] as? [[String: Any]])?.first)
        #expect(conflict["table"] as? String == "t")
        #expect(conflict["key"] as? [Int] == [1])
        #expect(conflict["column"] as? String == "x")
        #expect(conflict["shown"] as? String == "of bob")
        let versions = try #require(conflict["versions"] as? [[String: Any]])
        #expect(versions.compactMap { $0["value"] as? String } == ["of alice", "of bob"])
        let parked = try #require((before["parked"] as? [[String: Any]])?.first)
        #expect(parked["reason"] as? String == "unique")
        let key = try #require((parked["key"] as? [Int])?.first)

        try await expectDone(tool, ["conflicts", "drop", a, "t", "[\(key)]", "--dry-run"])
        #expect((try await report(tool, a)["parked"] as? [Any])?.count == 1, "it was only looked at")
        try await expectDone(tool, ["conflicts", "take", a, "t", "1", "x", "alice:2"])
        try await expectDone(tool, ["conflicts", "set", a, "t", "[\(key)]", "n", "'other'"])
        try await expectDone(tool, ["sync", a])
        try await expectDone(tool, ["sync", b])
        for store in [a, b] {
            let after = try await report(tool, store)
            #expect((after["conflicts"] as? [Any])?.isEmpty ?? false)
            #expect((after["parked"] as? [Any])?.isEmpty ?? false)
        }
    }

    @Test func `what is not in conflict cannot be settled`() async throws {
        let tool = try Tool()
        let (a, _) = try await stores(tool)
        #expect(try await tool.run(["conflicts", "take", a, "t", "9", "x", "alice:2"]).code == 64)
        #expect(try await tool.run(["conflicts", "drop", a, "t", "9"]).code == 64)
        #expect(try await tool.run(["conflicts", "drop", a, "t", "9", "--dry-run"]).code == 64)
        #expect(try await tool.run(["conflicts", "set", a, "t", "9", "n", "not a literal"]).code == 64)
    }

    /// Two stores that wrote every row of `t` without having seen each other's.
    private func contested(_ tool: Tool, _ sql: String) async throws -> String {
        try await tool.sql("a.db", sql)
        let content = ["--container", tool.path("shared"), "--content", "c"]
        try await expectDone(tool, ["init", tool.path("a.db"), "--peer", "alice"] + content)
        try await expectDone(tool, ["clone", tool.path("b.db"), "--peer", "bob"] + content)
        try await tool.sql("a.db", "UPDATE t SET x = 'of alice'")
        try await tool.sql("b.db", "UPDATE t SET x = 'of bob'")
        try await expectDone(tool, ["sync", tool.path("a.db"), tool.path("b.db"), tool.path("a.db")])
        return tool.path("a.db")
    }

    @Test func `keys are given as they are listed, NULL and negative ones too`() async throws {
        let tool = try Tool()
        let a = try await contested(
            tool,
            """
            CREATE TABLE t(k PRIMARY KEY, x);
            INSERT INTO t VALUES(NULL, 0), (-1, 0), (9e999, 0), (CAST(x'80' AS TEXT), 0), (x'00', 0)
            """)
        let listed = try JSON(try await tool.succeed("conflicts", a, "--json").output)["conflicts"]?.array ?? []
        #expect(listed.compactMap { $0["key"]?.array.first }.contains { $0.isNull })
        #expect(listed.count == 5)
        for key in ["[null]", "-1", #"[{"real":"Infinity"}]"#, #"[{"text":{"base64":"gA=="}}]"#, "x'00'"] {
            let ended = try await tool.run("conflicts", "take", a, "t", key, "x", "alice:2", "--json")
            #expect(ended.code == 0, "\(key): \(ended.errors)")
        }
        #expect(try await tool.sql("a.db", "SELECT DISTINCT x FROM t") == "of alice\n")
        #expect(try await tool.succeed("conflicts", a).output == "No conflicts, no parked rows.\n")
    }

    @Test func `of several rows with one key one is said by its identity`() async throws {
        let tool = try Tool()
        let a = try await contested(tool, "CREATE TABLE t(k PRIMARY KEY, x); INSERT INTO t VALUES(NULL, 1), (NULL, 2)")
        let several = try await tool.run("conflicts", "take", a, "t", "NULL", "x", "bob:2")
        #expect(several.code == 64)
        #expect(several.errors.contains("2 rows of t have this key") && several.errors.contains("--identity"))
        let listed = try JSON(try await tool.succeed("conflicts", a, "--json").output)["conflicts"]?.array
        let identity = try #require(listed?.first?["identity"]?.string)
        try await tool.succeed("conflicts", "take", a, "t", "NULL", "x", "bob:2", "--identity", identity)
        #expect(try JSON(try await tool.succeed("conflicts", a, "--json").output)["conflicts"]?.array.count == 1)
    }

    @Test func `a row that breaks a CHECK is set, and lost edits are taken off the list`() async throws {
        let tool = try Tool()
        let a = try await contested(
            tool,
            "CREATE TABLE t(k INTEGER PRIMARY KEY, x, y, CHECK(x = 'none' OR y IS NULL)); INSERT INTO t VALUES(-1, 0, NULL)"
        )
        try await tool.sql("a.db", "UPDATE t SET x = 'none', y = 1")
        try await tool.sql("b.db", "UPDATE t SET x = 'other'")
        try await expectDone(tool, ["sync", a, tool.path("b.db"), a])
        #expect(try await tool.succeed("conflicts", a).output.contains("parked (check)"))
        #expect(try await tool.run("conflicts", "set", a, "t", "-1", "y", "-7").code == 64)
        try await tool.succeed("conflicts", "set", a, "t", "-1", "y", "NULL")
        try await tool.sql("a.db", "DELETE FROM t")
        try await tool.sql("b.db", "UPDATE t SET x = 'late', y = NULL")
        try await expectDone(tool, ["sync", tool.path("b.db"), a])
        let refused = try await tool.run("conflicts", "take", a, "t", "-1", "x", "bob:4")
        #expect(refused.code == 64 && refused.errors.contains("the edit by bob:4 lost to that"), "\(refused.errors)")
        try await tool.succeed("conflicts", "drop", a, "t", "-1")
        #expect(try await tool.succeed("conflicts", a).output == "No conflicts, no parked rows.\n")
    }

    @Test func `a table that the store does not know is refused`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        #expect(try await tool.run("conflicts", "list", a, "--table", "nope").code == 64)
        #expect(try await tool.run("log", a, "--table", "nope").code == 64)
        #expect(try await tool.succeed("log", a, "--table", "NOTES").lines.count == 2)
    }

    @Test func `a policy that is set is in force on the other peer`() async throws {
        let tool = try Tool()
        let (a, b) = try await stores(tool)
        #expect(try await tool.run(["policy", "set", b, "t.x", "magic"]).code == 64)
        #expect(try await tool.run(["policy", "set", b, "t.nothing", "max"]).code == 64)
        try await expectDone(tool, ["policy", "set", b, "t.x", "first-writer"])
        try await expectDone(tool, ["sync", b])
        try await expectDone(tool, ["sync", a])
        let conflict = try #require((try await report(tool, a)["conflicts"] as? [[String: Any]])?.first)
        #expect(conflict["shown"] as? String == "of alice")
        let listed = try await tool.run(["policy", "list", a, "--json"]).output
        #expect(listed.contains(#""policies":[{"policy":"first-writer","target":"t.x"}]"#))
    }
}
