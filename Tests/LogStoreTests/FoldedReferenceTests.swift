import Testing

@testable import LogStore

/// References to rows that were folded into others.
extension ConstraintTests {
    @Test(arguments: 1...4) func aKeyThatNobodyEnforcesFollowsAFoldedRowToo(seed: UInt64) throws {
        let folder = try TestFolder()
        let sql = """
            PRAGMA foreign_keys=OFF;
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE tagging(
                post TEXT NOT NULL, tag INTEGER NOT NULL REFERENCES tag ON DELETE CASCADE, PRIMARY KEY(post, tag));
            """
        let policy: (inout InitializePlan) -> Void = { $0.policies = [("tag", "unique-merge")] }
        let rows = ["INSERT INTO tagging VALUES('one', 1)", "INSERT INTO tagging VALUES('two', 3)"]
        let peers = try rows.enumerated().map { number, row in
            try TestPeer(
                folder, "\(number)", sql: sql + "INSERT INTO tag(name) VALUES('tag \(number)'), ('same');" + row,
                seed: number == 0 ? seed : 5 - seed, plan: policy)
        }
        // It is the second that breaks the key, and so ends its enforcement, in the transaction that brings its tag.
        try peers[0].write("UPDATE tagging SET tag = 2")
        let last = try TestPeer(folder, "last", sql: sql, seed: 9, plan: policy)
        for peer in peers { try last.pull(from: peer) }
        #expect(try last.store.summary().unenforced == ["tagging.tag"])
        #expect(
            try last.strings("SELECT post, name FROM tagging LEFT JOIN tag ON tag.id = tag ORDER BY post")
                == ["one|same", "two|NULL"])
        #expect(try last.store.audit().problems == [])
    }
}
