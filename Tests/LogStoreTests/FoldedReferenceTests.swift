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

    @Test(arguments: [1, 3]) func aKeyThatNobodyEnforcesFollowsARowThatIsFoldedAsItComes(seed: UInt64) throws {
        let folder = try TestFolder()
        let sql = """
            PRAGMA foreign_keys=OFF;
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE label(id INTEGER PRIMARY KEY, tag INTEGER REFERENCES tag ON DELETE SET NULL);
            """
        let policy: (inout InitializePlan) -> Void = { $0.policies = [("tag", "unique-merge")] }
        let a = try TestPeer(folder, "a", sql: sql + "INSERT INTO label VALUES(1, 5)", seed: seed, plan: policy)
        let b = try TestPeer(
            folder, "b", sql: sql + "INSERT INTO tag VALUES(1, 'same')", seed: 4 - seed, plan: policy)
        try b.pull(from: a)
        #expect(try b.store.summary().unenforced == ["label.tag"])
        // What the label has always meant comes, and is folded at once.
        try a.write("INSERT INTO tag VALUES(5, 'same')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.strings("SELECT name FROM label JOIN tag ON tag.id = tag") == ["same"])
        }
    }
}
