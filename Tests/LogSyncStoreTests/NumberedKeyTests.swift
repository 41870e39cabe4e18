import Testing

@testable import LogSyncStore

/// Rows whose integers, which were each machine's own, a migration makes the keys of their table.
@Suite("Integers that become keys")
struct NumberedKeyTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

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

    // MARK: Rows with another row's integer on each machine

    struct Form: CustomTestStringConvertible {
        var reference: String
        var isSetting = false
        var table = "(id INTEGER PRIMARY KEY, n TEXT) WITHOUT ROWID"
        var testDescription: String { reference + table }

        var migration: String {
            """
            BEGIN; CREATE TABLE n\(table); INSERT INTO n SELECT * FROM p; DROP TABLE p; ALTER TABLE n RENAME TO p; COMMIT;
            """
        }
    }

    private static let forms = [
        Form(reference: "REFERENCES p"), Form(reference: "REFERENCES p(id)"), Form(reference: "", isSetting: true),
        Form(reference: "REFERENCES p", table: "(id BIGINT NOT NULL PRIMARY KEY, n TEXT)"),
    ]

    private func named(_ peer: TestPeer) throws -> [String] {
        try peer.strings("SELECT x, p.n FROM t LEFT JOIN p ON p.id = t.p ORDER BY 1")
    }

    /// On each of the two, a row has got an integer that is another row's on the other.
    private func pair(_ reference: String, isSetting: Bool) throws -> (TestPeer, TestPeer) {
        let schema = """
            CREATE TABLE p(id INTEGER PRIMARY KEY, n TEXT); CREATE TABLE t(id INTEGER PRIMARY KEY, p INTEGER \(reference), x);
            INSERT INTO p VALUES(1, 'one'), (2, 'two'); INSERT INTO t VALUES(1, 1, 'one'), (2, 2, 'two');
            """
        let a = try TestPeer(folder, "a", sql: schema) { plan in
            if isSetting { plan.references = [("t", "p", "p")] }
        }
        let b = try TestPeer(folder, "b", cloning: a)
        for peer in [a, b] {
            try peer.write(
                """
                INSERT INTO p(n) VALUES('\(peer.name)');
                INSERT INTO t(p, x) VALUES(last_insert_rowid(), '\(peer.name)')
                """)
        }
        try agree(a, b)
        #expect(try a.strings("SELECT id FROM p WHERE n = 'a'") != b.strings("SELECT id FROM p WHERE n = 'a'"))
        return (a, b)
    }

    @Test(arguments: forms, [true, false])
    func whatRefersToARowGoesOnDoingSo(form: Form, seesOther: Bool) throws {
        let (a, b) = try pair(form.reference, isSetting: form.isSetting)
        try a.write(form.migration)
        try a.write("INSERT INTO p VALUES(20, 'later a'); INSERT INTO t(p, x) VALUES(20, 'later a')")
        let ofB = "INSERT INTO p(n) VALUES('later b'); INSERT INTO t(p, x) VALUES(last_insert_rowid(), 'later b')"
        try b.write(ofB)
        if seesOther { try b.pull(from: a) } else { try b.record() }
        // A new peer has rows that were written before the migration.
        let c = try TestPeer(folder, "c", emptyLike: a)
        for peer in [b, a, b, a] { try c.pull(from: peer) }
        #expect(try named(c).filter { !$0.hasPrefix("later") } == ["a", "b", "one", "two"].map { "\($0)|\($0)" })
        try b.write(form.migration)
        try b.write("INSERT INTO p VALUES(30, 'last b'); INSERT INTO t(p, x) VALUES(30, 'last b')")
        try agree(a, b, c)
        let d = try TestPeer(folder, "d", emptyLike: b)
        try agree(a, b, c, d)
        for peer in [a, b, c, d] {
            let found = try named(peer)
            #expect(
                found == ["a", "b", "last b", "later a", "later b", "one", "two"].map { "\($0)|\($0)" },
                "\(peer.name)")
        }
        #expect(try a.strings("SELECT id, n FROM p ORDER BY 1") == b.strings("SELECT id, n FROM p ORDER BY 1"))
    }
}
