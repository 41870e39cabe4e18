import Foundation
import Testing

/// Whatever deletes or overwrites says with `--dry-run` whether it can, and does nothing.
@Suite(.turn) struct DryRunTests {
    @Test func `a settlement is tried and undone`() async throws {
        let tool = try Tool()
        let (a, b) = ("a.db", "b.db")
        _ = try await tool.sql(a, "CREATE TABLE t(k TEXT PRIMARY KEY, u UNIQUE, v); INSERT INTO t VALUES('k', 1, 0)")
        try await tool.succeed("init", a, "--container", tool.path("shared"), "--content", "notes", "--peer", "here")
        try await tool.clone(b)
        for (store, value) in [(a, "here"), (b, "there")] {
            _ = try await tool.sql(store, "UPDATE t SET v = '\(value)'; INSERT INTO t VALUES('\(value)', 2, 0)")
        }
        for _ in 1...2 { #expect(try await tool.run("sync", a, b).code == 0) }
        let before = try await tool.run("conflicts", a, "--json").output
        let shown = try await tool.sql(a, "SELECT * FROM t ORDER BY k")
        let listed = try JSON(before)
        let version = try #require(
            listed["conflicts"]?.array.first?["versions"]?.array.first { $0["value"]?.string == "here" })
        let sequence = try #require(version["sequence"]?.int)
        let parked = try #require(listed["parked"]?.array.first?["key"]?.array.first?.string)
        let calls = [
            ["take", a, "t", "'k'", "v", "here:\(sequence)"], ["set", a, "t", "'\(parked)'", "u", "3"],
            ["drop", a, "t", "'\(parked)'"],
        ]
        for call in calls {
            let dry = try await tool.run(["conflicts"] + call + ["--dry-run", "--json"])
            #expect(dry.code == 0, "\(dry)")
            #expect(try JSON(dry.output)["dryRun"]?.bool == true)
            let people = try await tool.run(["conflicts"] + call + ["--dry-run"])
            #expect(people.output.contains("nothing was done"), "\(people)")
            #expect(try await tool.run("conflicts", a, "--json").output == before, "\(call)")
            #expect(try await tool.sql(a, "SELECT * FROM t ORDER BY k") == shown, "\(call)")
            #expect(try JSON(await tool.run("status", a, "--json").output)["outbox"]?.int == 0, "\(call)")
        }
        #expect(try await tool.run("conflicts", "set", a, "t", "'\(parked)'", "no", "3", "--dry-run").code == 64)
        #expect(try await tool.run("conflicts", "take", a, "t", "'k'", "v", "here:99", "--dry-run").code == 64)
        for call in calls.prefix(2) {
            let done = try await tool.run(["conflicts"] + call + ["--json"])
            #expect(try done.code == 0 && JSON(done.output)["dryRun"]?.bool == false, "\(done)")
        }
        #expect(try await tool.sql(a, "SELECT count(*), max(v = 'here') FROM t") == "3|1\n")
    }

    @Test func `a key and a subscription are not removed`() async throws {
        let tool = try Tool()
        let made = try await tool.run("kv", "init", "f.db", "--container", tool.path("shared"), "--content", "settings")
        #expect(made.code == 0, "\(made)")
        #expect(try await tool.run("kv", "set", "f.db", "page", "7").code == 0)
        let dry = try await tool.run("kv", "delete", "f.db", "page", "--dry-run", "--json")
        #expect(try dry.code == 0 && JSON(dry.output)["dryRun"]?.bool == true, "\(dry)")
        #expect(try await tool.run("kv", "get", "f.db", "page").output == "7\n")
        #expect(try await tool.run("kv", "delete", "f.db", "pages", "--dry-run").code == 66)

        let subscribed = try await tool.run("subscribe", "f.db", "new", "--table", "entry", "--where", "1")
        #expect(subscribed.code == 0, "\(subscribed)")
        let kept = try await tool.run("subscribe", "f.db", "--remove", "new", "--dry-run", "--json")
        #expect(try kept.code == 0 && JSON(kept.output)["dryRun"]?.bool == true, "\(kept)")
        #expect(try await tool.run("subscribe", "f.db", "--remove", "other", "--dry-run").code == 64)
        #expect(try await tool.run("subscribe", "f.db", "--list", "--dry-run").code == 64)
        let removed = try await tool.run("subscribe", "f.db", "--remove", "new", "--json")
        #expect(try removed.code == 0 && JSON(removed.output)["dryRun"]?.bool == false, "\(removed)")
        #expect(try await tool.run("kv", "delete", "f.db", "page").code == 0)
    }
}
