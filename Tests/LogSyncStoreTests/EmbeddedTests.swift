import GRDB
import LogSyncModel
import Testing

@testable import LogSyncStore

/// Writes on a connection of the program's own, where SQLite enforces its keys.
extension ConstraintTests {
    @Test(arguments: ["CASCADE", "SET NULL"])
    func aCountedRowStaysInItsTableForItsChildren(action: String) throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE q(id INTEGER PRIMARY KEY);
            CREATE TABLE p(id INTEGER PRIMARY KEY, n INTEGER, q INTEGER REFERENCES q ON DELETE SET NULL);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE \(action));
            INSERT INTO q VALUES (1); INSERT INTO p VALUES (1, 1, NULL); INSERT INTO c VALUES (1, 1);
            """
        ) { $0.policies = [("p.n", "sum")] }
        try a.write("DELETE FROM q")
        try record(a)
        try b.write("UPDATE p SET q = 1")
        try settle(a, b)
        var configuration = GRDB.Configuration()
        configuration.foreignKeysEnabled = true
        let queue = try DatabaseQueue(path: a.path, configuration: configuration)
        #expect(try a.embed(in: queue) { try $0.execute(sql: "UPDATE p SET n = n + 1") })
        #expect(try a.strings("SELECT p.id, n, q, c.p FROM p JOIN c") == ["1|2|NULL|1"])
        #expect(try a.store.audit().problems == [])
        try queue.close()
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT p.id, n, q, c.p FROM p JOIN c") == ["1|2|NULL|1"]) }
    }
}

/// A copy of a store whose program writes by an embedded connection.
struct EmbeddedCopyTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// What the copy captures after its first recording is its own, also where an embedded write recorded first.
    @Test func anEmbeddedWriteOfACopyGivesIdentitiesOfItsOwn() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
        let path = folder.path + "/copy.db"
        try a.write("VACUUM INTO '\(path)'")
        let copy = try Store.open(path, configuration: TestPeer.configuration(9))
        try copy.becomeSuccessor(PeerID(high: 9, low: 9), name: "copy", retiring: [])
        let b = try TestPeer(folder, "b", opening: copy)
        let queue = try DatabaseQueue(path: path)
        #expect(try b.embed(in: queue) { try $0.execute(sql: "INSERT INTO t(v) VALUES ('first of b')") })
        try queue.close()
        try a.write("INSERT INTO t(v) VALUES ('first of a')")
        _ = try a.store.record()
        for peer in [a, b] {
            try peer.write("INSERT INTO t(v) VALUES ('second of \(peer.name)')")
            // In the same millisecond, under the same number.
            let pending = try peer.strings(
                "SELECT name FROM sqlite_schema WHERE name GLOB 'logsync_pending_*' AND type = 'table'")
            for table in pending { try peer.write("UPDATE \(table) SET ms = 1700000000000") }
        }
        for _ in 0..<2 {
            try a.pull(from: b)
            try b.pull(from: a)
        }
        let rows = ["first of a", "first of b", "second of a", "second of b"]
        for peer in [a, b] { #expect(try peer.strings("SELECT v FROM t ORDER BY v") == rows) }
    }
}
