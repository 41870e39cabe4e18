import GRDB
import Testing

@testable import LogSyncStore

/// Integers that come to mean other rows.
extension ConstraintTests {
    @Test func theKeysOfRowsFollowAnIntegerThatTwoRowsTookInTurn() throws {
        let (_, a, b) = try pair(
            """
            PRAGMA foreign_keys=OFF;
            CREATE TABLE p(id INTEGER PRIMARY KEY AUTOINCREMENT, v);
            CREATE TABLE c(k INTEGER NOT NULL, p INTEGER NOT NULL REFERENCES p ON DELETE CASCADE, PRIMARY KEY(k, p)) WITHOUT ROWID;
            INSERT INTO p VALUES (1, 'one'), (2, 'two');
            """)
        try a.write("INSERT INTO p VALUES (3, 'three'); INSERT INTO c VALUES (3, 3)")
        try settle(a, b)
        // As another process does, which knows nothing of what this one has just imported.
        var configuration = GRDB.Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: b.path, configuration: configuration)
        try b.embed(in: queue) {
            try $0.execute(sql: "INSERT INTO p(v) VALUES ('two'); UPDATE OR REPLACE p SET id = 3 WHERE v = 'two'")
        }
        try queue.close()
        #expect(try b.store.audit().problems == [])
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT v FROM p ORDER BY v") == ["one", "two"])
            #expect(try peer.strings("SELECT k, v FROM c JOIN p ON p.id = c.p") == ["3|two"])
        }
    }

    @Test(arguments: [1, 3], [false, true])
    func aReferenceToARowThatTookAnothersIntegerMeansThatRow(seed: UInt64, bFirst: Bool) throws {
        let folder = try TestFolder()
        let sql = """
            PRAGMA foreign_keys=OFF;
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, up INTEGER REFERENCES p ON DELETE CASCADE);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE SET NULL);
            """
        let rows = "INSERT INTO p VALUES (6, 'b', NULL), (7, 'd', NULL); INSERT INTO c VALUES (1, 7);"
        let a = try TestPeer(folder, "a", sql: sql + rows, seed: seed) { $0.identities["p"] = .columns(["name"]) }
        let b = try TestPeer(folder, "b", cloning: a, seed: 4 - seed)
        let c = try TestPeer(folder, "c", cloning: a, seed: 5)
        try a.write("DELETE FROM p WHERE id = 7; INSERT INTO p VALUES (7, 'a', 6)")
        try b.write("PRAGMA foreign_keys=OFF; REPLACE INTO p(name) VALUES ('d'); DELETE FROM p WHERE name = 'b'")
        try c.pull(from: bFirst ? b : a)
        try c.pull(from: bFirst ? a : b)
        try converge(a, b, c)
        let meant = "SELECT hex(identity) FROM c JOIN logsync_reserved ON integer = p"
        for peer in [a, b, c] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.strings(meant).count == 1)
            #expect(try peer.strings(meant) == a.strings(meant))
        }
    }

    @Test func aRowThatIsDisplacedAndComesBackElsewhereLeavesItsIntegerToNobody() throws {
        let (_, a, b) = try pair(
            """
            PRAGMA foreign_keys=OFF;
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, code INTEGER UNIQUE);
            CREATE TABLE c(p INTEGER NOT NULL REFERENCES p, q TEXT NOT NULL, PRIMARY KEY(p, q)) WITHOUT ROWID;
            INSERT INTO p VALUES (1, 'x', 5); INSERT INTO c VALUES (1, 'y');
            """
        ) { $0.identities["p"] = .columns(["name"]) }
        try a.write("REPLACE INTO p(name, code) VALUES ('other', 5); INSERT INTO p(name, code) VALUES ('x', 6)")
        try record(a)
        try settle(a, b)
        // The integer means a row that is nowhere, on either side.
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name, code FROM p ORDER BY name") == ["other|5", "x|6"])
            #expect(try peer.strings("SELECT q, p IN (SELECT id FROM p) FROM c") == ["y|0"])
        }
    }

    @Test func theIntegerOfARowThatRefersToItselfMeansThatRow() throws {
        let (_, a, b) = try pair(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, r INTEGER REFERENCES t(id) ON DELETE SET NULL)")
        try b.write("INSERT INTO t VALUES (1, NULL)")
        try record(b)
        try a.write("INSERT INTO t VALUES (1, 1), (2, 1)")
        // Audits too.
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT count(*) FROM t AS c JOIN t AS p ON p.id = c.r WHERE p.r = p.id") == ["2"])
        }
    }

    @Test func childrenOfARowThatReplaceRenumberedDangle() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id));
            INSERT INTO p VALUES (1, 'x'), (2, 'y'); INSERT INTO c VALUES (1, 1);
            """)
        try a.write("PRAGMA foreign_keys=OFF; INSERT OR REPLACE INTO p(name) VALUES ('x')")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.store.summary().unenforced == ["c.p"])
            #expect(try peer.strings("SELECT count(*) FROM c") == ["1"])
        }
    }

    @Test func aCountedRowThatRefersToANewOneLeavesNoPromise() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, n REAL DEFAULT 0.5, up INTEGER REFERENCES t);
                INSERT INTO t(id) VALUES (1)
                """
        ) { $0.policies = [("t.n", "sum")] }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO t VALUES (4, 1.5, NULL), (5, NULL, 4); UPDATE t SET n = 3, up = 5 WHERE id = 1")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.strings("SELECT * FROM t") == ["1|3.0|5", "4|1.5|NULL", "5|NULL|4"])
        }
    }
}
