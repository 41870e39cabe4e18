import LogSyncModel
import Testing

@testable import LogSyncStore

/// `DROP TABLE t; CREATE TABLE t` with another key, on one peer first, which fills the new table, and on others later.
@Suite("A table that is dropped and created anew with another key")
struct RemadeKeyTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    struct Keys: Sendable, CustomTestStringConvertible {
        let former: String
        let next: String
        /// What the first peer puts into the new table.
        let row: String

        init(_ former: String, _ next: String, _ row: String) {
            (self.former, self.next, self.row) = (former, next, row)
        }

        var migration: String { "DROP TABLE t; CREATE TABLE t\(next)" }
        var testDescription: String { "\(former) to \(next)" }
    }

    private static let integer = "(k INTEGER PRIMARY KEY, v TEXT)"
    private static let text = "(k TEXT PRIMARY KEY, v TEXT)"

    static let keys = [
        Keys(integer, text, "'q', 'n'"),
        Keys(integer, "(a TEXT, b REAL, v TEXT, PRIMARY KEY(a, b)) WITHOUT ROWID", "'q', 1.5, 'n'"),
        Keys(integer, "(k INT, v TEXT)", "7, 'n'"),
        Keys(text, "(v TEXT)", "'n'"),
        Keys(text, "(k TEXT, v TEXT)", "'q', 'n'"),
        Keys(text, integer, "7, 'n'"),
        Keys(text, "(k TEXT, v TEXT, PRIMARY KEY(v, k))", "'q', 'n'"),
        Keys(
            "(k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID", "(k TEXT, v TEXT, PRIMARY KEY(v, k)) WITHOUT ROWID",
            "'q', 'n'"),
        Keys("(k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID", "(v TEXT)", "'n'"),
    ]

    /// The first has migrated and has written; the others have imported that, and have not migrated.
    private func peers(_ keys: Keys, _ count: Int = 2) throws -> [TestPeer] {
        let first = try TestPeer(folder, "a", sql: "CREATE TABLE t\(keys.former); INSERT INTO t VALUES(1, 'x')")
        let others = try (1..<count).map { try TestPeer(folder, "p\($0)", cloning: first) }
        try first.write(keys.migration)
        try first.write("INSERT INTO t VALUES(\(keys.row))")
        for other in others { try other.pull(from: first) }
        return [first] + others
    }

    /// - Parameter peers: all of them.
    private func expect(_ rows: [String], _ peers: [TestPeer], showing count: Int? = nil) throws {
        for _ in peers { for a in peers { for b in peers where a !== b { try a.pull(from: b) } } }
        for peer in peers.prefix(count ?? peers.count) {
            let found = try peer.strings("SELECT v FROM t ORDER BY 1")
            #expect(found == rows, "\(peer.name)")
            #expect(try peer.digest() == peers[0].digest())
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.store.parkedRows(table: nil).isEmpty)
        }
    }

    @Test("keeps the rows that others have put there under that key", arguments: keys)
    func kept(keys: Keys) throws {
        let peers = try peers(keys, 3)
        for (count, peer) in peers.enumerated().dropFirst() {
            try peer.write(keys.migration)
            try expect(["n"], peers, showing: count + 1)
        }
        try peers[2].write("UPDATE t SET v = 'm'")
        try expect(["m"], peers)
        try peers[1].write("DELETE FROM t")
        try expect([], peers)
    }

    @Test("keeps what a program has written to them, and none that it had deleted", arguments: keys)
    func edited(keys: Keys) throws {
        let peers = try peers(keys)
        guard try peers[1].strings("SELECT v FROM t") == ["n"] else { return }
        try peers[1].write("UPDATE t SET v = 'e'")
        try peers[1].record()
        try peers[0].pull(from: peers[1])
        try peers[1].write(keys.migration)
        // Where nothing but a column that is not here tells, many rows are recorded at once: the value is in the logs alone.
        let isLost = keys.next == "(k INT, v TEXT)"
        try expect(["e"], peers, showing: isLost ? 1 : 2)
        #expect(try peers[1].store.lostColumns().contains(ColumnName("t", "v")) == isLost)
        let others = try Self().peers(keys)
        try others[1].write("DELETE FROM t")
        try others[1].write(keys.migration)
        try expect([], others)
    }

    @Test("has none of the rows that it had, nor of those that nobody has recorded", arguments: keys)
    func former(keys: Keys) throws {
        let first = try TestPeer(folder, "a", sql: "CREATE TABLE t\(keys.former); INSERT INTO t VALUES(1, 'x')")
        let second = try TestPeer(folder, "b", cloning: first)
        try second.write("INSERT INTO t VALUES(2, 'y')")
        try first.pull(from: second)
        try second.write("INSERT INTO t VALUES(3, 'z')")
        for peer in [first, second] { try peer.write(keys.migration) }
        try expect([], [first, second])
    }

    @Test("keeps what others have written to such rows since, be it in the middle of many", arguments: keys)
    func written(keys: Keys) throws {
        let peers = try peers(keys)
        for value in ["m", "l"] {
            try peers[0].write("UPDATE t SET v = '\(value)'")
            try peers[1].pull(from: peers[0])
        }
        try peers[1].write(keys.migration)
        try expect(["l"], peers)
    }

    @Test("is empty where it has had that key before")
    func hadBefore() throws {
        let keys = Keys(Self.integer, Self.text, "'q', 'n'")
        let peers = try peers(keys)
        try peers[1].write(keys.migration)
        try expect(["n"], peers)
        let rebuild = """
            CREATE TABLE n\(Self.integer); INSERT INTO n(v) SELECT v FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t
            """
        for peer in peers { try peer.write(rebuild) }
        try expect(["n"], peers)
        try peers[0].write(keys.migration)
        try peers[0].record()
        try expect([], peers)
    }

    @Test("is so where a rebuild leaves out rows, of those that the former table had and of none of the new one's")
    func rebuilt() throws {
        let first = try TestPeer(
            folder, "a", sql: "CREATE TABLE t\(Self.text); INSERT INTO t VALUES('x', 'old'), ('y', 'kept')")
        let second = try TestPeer(folder, "b", cloning: first)
        let migration = """
            BEGIN; CREATE TABLE n(k TEXT, v TEXT, PRIMARY KEY(v, k)); INSERT INTO n SELECT * FROM t WHERE v <> 'old';
            DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT
            """
        try first.write(migration)
        try first.write("INSERT INTO t VALUES('z', 'old')")
        try second.pull(from: first)
        try second.write("INSERT INTO t VALUES('w', 'old')")
        try second.write(migration)
        try expect(["kept", "old"], [first, second])
    }

    @Test("has none of the rows that it had without a key, as a NULL stood in it")
    func nulls() throws {
        let keys = Keys(Self.text, "(v TEXT)", "'n'")
        let peers = try peers(keys)
        try peers[1].write("INSERT INTO t(v) VALUES('u')")
        try peers[1].record()
        try peers[1].write(keys.migration)
        try expect(["n"], peers)
    }
}
