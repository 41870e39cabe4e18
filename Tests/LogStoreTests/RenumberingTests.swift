import GRDB
import Testing

@testable import LogStore

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
        _ = try b.store.write(in: queue, author: nil, context: nil) {
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
}
