import Testing

@testable import LogSyncStore

/// Rows whose integers, which were each machine's own, a migration makes the keys of their table.
@Suite("Integers that become keys")
struct NumberedKeyTests {
    private static let schema = """
        CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT NOT NULL); INSERT INTO p VALUES (1, 'p0');
        CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, p INTEGER REFERENCES p(id));
        INSERT INTO t(name, p) VALUES ('of 0', 1);
        """
    private static let query = "SELECT t.name, p.name FROM t LEFT JOIN p ON p.id = t.p ORDER BY 1"

    private static func rebuild(_ key: String, _ tail: String = "") -> String {
        """
        CREATE TABLE q(id \(key) NOT NULL, name TEXT NOT NULL, PRIMARY KEY(id))\(tail); INSERT INTO q SELECT * FROM p;
        DROP TABLE p; ALTER TABLE q RENAME TO p;
        """
    }
    static let migrations = [
        rebuild("INT"), rebuild("INTEGER", " WITHOUT ROWID"),
        rebuild("TEXT")
            + """
            CREATE TABLE u(id INTEGER PRIMARY KEY, name TEXT, p TEXT REFERENCES p(id)); INSERT INTO u SELECT * FROM t;
            DROP TABLE t; ALTER TABLE u RENAME TO t;
            """,
    ]

    private func insert(_ name: String, of parent: String, at peer: TestPeer) throws {
        try peer.write("INSERT INTO t(name, p) VALUES ('\(name)', (SELECT id FROM p WHERE name = '\(parent)'))")
    }

    /// As a replicator does it: tables are made ready where they have to be.
    private func exchange(_ peers: TestPeer...) throws {
        for _ in 0..<2 * peers.count {
            for peer in peers {
                for other in peers where other !== peer {
                    do {
                        try peer.pull(from: other)
                    } catch let unready as UnreadyTable {
                        try peer.store.prepare(unready)
                    }
                }
            }
        }
        #expect(try Set(peers.map { try $0.digest() }).count == 1)
    }

    private func check(_ peers: [TestPeer], _ expected: [String]) throws {
        for peer in peers {
            #expect(try peer.strings(Self.query) == expected, "\(peer.name)")
            #expect(try peer.store.parkedRows(table: nil).isEmpty)
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test(
        "Rows that nobody has touched go on referring to theirs, in clones, too", arguments: migrations, [false, true])
    func untouched(migration: String, areBoth: Bool) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO p VALUES (20, 'pa')")
        try insert("of a", of: "pa", at: a)
        try b.write("INSERT INTO p VALUES (30, 'pb')")
        try insert("of b", of: "pb", at: b)
        try exchange(a, b)
        try a.write("BEGIN; \(migration) COMMIT")
        if !areBoth { try exchange(a, b) }
        try insert("late", of: "pb", at: b)
        try b.write("BEGIN; \(migration) COMMIT")
        try exchange(a, b)
        let c = try TestPeer(folder, "c", cloning: a)
        try exchange(a, b, c)
        try check([a, b, c], ["late|pb", "of 0|p0", "of a|pa", "of b|pb"])
    }

    @Test("Rows that have each other's integers on two machines get the same ones", arguments: migrations)
    func exchanged(migration: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", cloning: a)
        for peer in [a, b] {
            try peer.write("INSERT INTO p(name) VALUES ('p\(peer.name)')")
            try insert("of \(peer.name)", of: "p\(peer.name)", at: peer)
        }
        try exchange(a, b)
        #expect(try a.strings("SELECT id FROM p WHERE name = 'pa'") == b.strings("SELECT id FROM p WHERE name = 'pb'"))
        try a.write("BEGIN; \(migration) COMMIT")
        try insert("later a", of: "pa", at: a)
        try exchange(a, b)
        try insert("late", of: "pb", at: b)
        try b.write("BEGIN; \(migration) COMMIT")
        try insert("later b", of: "pb", at: b)
        try exchange(a, b)
        let c = try TestPeer(folder, "c", cloning: a)
        try exchange(a, b, c)
        try check([a, b, c], ["late|pb", "later a|pa", "later b|pb", "of 0|p0", "of a|pa", "of b|pb"])
    }

    @Test("What refers to a row by an integer that nobody has is no number of a table that has keys")
    func dangling() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema)
        try a.write("DELETE FROM p")
        try a.record()
        try a.write("BEGIN; \(Self.rebuild("INTEGER", " WITHOUT ROWID")) COMMIT")
        try a.record()
        let b = try TestPeer(folder, "b", cloning: a)
        try exchange(a, b)
        #expect(try b.strings("SELECT name FROM t") == ["of 0"])
        #expect(try b.store.audit().problems == [])
    }
}
