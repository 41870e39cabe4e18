import Testing

@testable import LogSyncStore

/// Rows that get other integers, and what refers to them.
@Suite("Rows that refer to a row which gets another integer")
struct RenumberedParentTests {
    private static let rebuild = """
        CREATE TABLE q(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO q SELECT id * 10, name FROM p; DROP TABLE p;
        ALTER TABLE q RENAME TO p;
        """
    private static let rebuildWhatRefers = """
        CREATE TABLE u(k TEXT PRIMARY KEY, p INTEGER REFERENCES p(id) ON UPDATE CASCADE, o INTEGER REFERENCES o(id));
        INSERT INTO u SELECT k, p * 10, o FROM t; DROP TABLE t; ALTER TABLE u RENAME TO t;
        """
    private static let exchange = "UPDATE p SET id = -id; UPDATE p SET id = 6 + id WHERE id < 0;"

    @Test(
        "go on naming it, which is no write: what another peer has written there meanwhile stays",
        arguments: [
            "UPDATE p SET id = id * 10; UPDATE t SET p = p * 10;",
            "UPDATE t SET p = p * 10; UPDATE p SET id = id * 10;",
            rebuild + "UPDATE t SET p = p * 10;", "UPDATE t SET p = p * 10;" + rebuild,
            exchange + "UPDATE t SET p = 6 - p;", rebuild + rebuildWhatRefers,
            "PRAGMA foreign_keys = ON; UPDATE p SET id = id * 10;",
        ], [false, true])
    func untouched(migration: String, areBoth: Bool) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO p VALUES (1, 'p1'), (2, 'p2'), (3, 'p3'), (4, 'p4'), (5, 'p5');
                CREATE TABLE o(id INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO o VALUES (1, 'o1'), (2, 'o2');
                CREATE TABLE t(k TEXT PRIMARY KEY, p INTEGER REFERENCES p(id) ON UPDATE CASCADE, o INTEGER REFERENCES o(id));
                INSERT INTO t VALUES ('r1', 1, 1), ('r2', 2, 1), ('r3', 3, 1), ('r4', 4, 1);
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        try b.write("UPDATE t SET p = 5 WHERE k = 'r2'; UPDATE t SET o = 2 WHERE k = 'r3'")
        try b.record()
        let begin = migration.hasPrefix("PRAGMA") ? "" : "PRAGMA foreign_keys = OFF; BEGIN;"
        let end = migration.hasPrefix("PRAGMA") ? "" : "COMMIT"
        try a.write(begin + migration + end)
        try a.record()
        if areBoth { try b.write(begin + migration + end) }
        // What has been written besides counts.
        try a.write("UPDATE t SET p = (SELECT id FROM p WHERE name = 'p1') WHERE k = 'r4'")
        try converge(a, b)
        let query = """
            SELECT k, p.name, o.name FROM t JOIN p ON p.id = t.p JOIN o ON o.id = t.o ORDER BY k
            """
        for peer in [a, b] {
            #expect(try peer.strings(query) == ["r1|p1|o1", "r2|p5|o1", "r3|p3|o2", "r4|p1|o1"], "\(peer.name)")
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("go on naming one of a chosen name, which was deleted and entered again", arguments: ["made", "made + 1"])
    func enteredAgain(made: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, made INTEGER);
                INSERT INTO p VALUES (1, 'p1', 0), (2, 'p2', 0), (3, 'p3', 0);
                CREATE TABLE t(k TEXT PRIMARY KEY, p INTEGER REFERENCES p(id));
                INSERT INTO t VALUES ('r1', 1), ('r2', 2);
                """
        ) { $0.identities["p"] = .columns(["name"]) }
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        try b.write("UPDATE t SET p = 3 WHERE k = 'r2'")
        try b.record()
        try a.write(
            """
            PRAGMA foreign_keys = OFF; BEGIN; CREATE TEMP TABLE saved AS SELECT * FROM p; DELETE FROM p;
            INSERT INTO p SELECT id * 10, name, \(made) FROM saved; UPDATE t SET p = p * 10; COMMIT
            """)
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT k, name FROM t JOIN p ON p.id = p ORDER BY k") == ["r1|p1", "r2|p3"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("name another where the integer that they hold has become another row's")
    func taken() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO p VALUES (1, 'p1'), (2, 'p2');
                CREATE TABLE t(k TEXT PRIMARY KEY, p INTEGER REFERENCES p(id));
                INSERT INTO t VALUES ('r1', 1), ('r2', 2);
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        try a.write(
            """
            PRAGMA foreign_keys = OFF; BEGIN; UPDATE p SET id = 10 WHERE id = 1; UPDATE p SET id = 1 WHERE id = 2;
            UPDATE p SET id = 2 WHERE id = 10; COMMIT
            """)
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT k, name FROM t JOIN p ON p.id = p ORDER BY k") == ["r1|p2", "r2|p1"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test(
        "A row that gets another integer before anybody looks at a key declared on its number is what the number meant")
    func declaredBefore() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE t(k TEXT PRIMARY KEY, p INTEGER);
                INSERT INTO p VALUES(1, 'one'), (2, 'two'); INSERT INTO t VALUES('of one', 1), ('of two', 2);
                """
        ) { $0.notReferences = [("t", "p")] }
        let b = try TestPeer(folder, "b", cloning: a)
        let declare = """
            CREATE TABLE u(k TEXT PRIMARY KEY, p INTEGER REFERENCES p(id) ON UPDATE CASCADE); INSERT INTO u SELECT * FROM t;
            DROP TABLE t; ALTER TABLE u RENAME TO t; PRAGMA foreign_keys = ON;
            """
        try b.write(declare + "UPDATE p SET id = 7 WHERE id = 2; INSERT INTO t VALUES('by b', 7)")
        try b.record()
        try a.write(declare + "UPDATE p SET id = 5 WHERE id = 1; INSERT INTO t VALUES('by a', 5)")
        try agree(a, b)
        let c = try TestPeer(folder, "c", cloning: b)
        try agree(a, b, c)
        for peer in [a, b, c] {
            #expect(
                try peer.strings("SELECT k, name FROM t JOIN p ON p.id = p ORDER BY k")
                    == ["by a|one", "by b|two", "of one|one", "of two|two"])
            #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
        }
    }
}
