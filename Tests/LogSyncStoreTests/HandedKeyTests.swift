import LogSyncModel
import Testing

@testable import LogSyncStore

/// A rebuild that makes another column the key and gives it the key's name.
@Suite("Keys whose names go to others")
struct HandedKeyTests {
    struct Rebuild: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var columns: String
        /// What the rebuild puts into them.
        var values: String
        /// What the key is called by then.
        var key: String

        static let all = [
            Rebuild(
                testDescription: "a new name", columns: "old_k TEXT, k TEXT PRIMARY KEY, y TEXT", values: "k, x, y",
                key: "old_k"),
            Rebuild(
                testDescription: "a new name and other places", columns: "k TEXT PRIMARY KEY, y TEXT, old_k TEXT",
                values: "x, y, k", key: "old_k"),
            Rebuild(
                testDescription: "each other's names", columns: "x TEXT, k TEXT PRIMARY KEY, y TEXT", values: "k, x, y",
                key: "x"),
        ]
    }

    @Test(
        "are followed, so that rows stay the rows that others write to", arguments: Rebuild.all, [true, false])
    func followed(rebuild: Rebuild, isHeard: Bool) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, x TEXT NOT NULL, y TEXT)")
        let b = try TestPeer(folder, "b", cloning: a)
        for row in 1...6 { try a.write("INSERT INTO t VALUES('k\(row)', 'x\(row)', 'y\(row)')") }
        try agree(a, b)
        let migration = """
            CREATE TABLE t_new(\(rebuild.columns)); INSERT INTO t_new SELECT \(rebuild.values) FROM t; DROP TABLE t;
            ALTER TABLE t_new RENAME TO t;
            """
        try a.write(migration)
        if isHeard { try converge(a, b) } else { try a.record() }
        try b.write(
            """
            UPDATE t SET y = 'by b' WHERE k = 'k1'; DELETE FROM t WHERE k = 'k4'; INSERT INTO t VALUES('k7', 'x7', 'y7')
            """)
        try a.write("UPDATE t SET y = 'by a' WHERE \(rebuild.key) = 'k2'")
        try converge(a, b)
        #expect(try b.strings("SELECT k, x, y FROM t WHERE k < 'k3'") == ["k1|x1|by b", "k2|x2|by a"])
        try b.write(migration)
        try agree(a, b)
        let c = try TestPeer(folder, "c", cloning: b)
        try agree(a, b, c)
        for peer in [a, b, c] {
            #expect(
                try peer.strings("SELECT \(rebuild.key), k, y FROM t ORDER BY 1") == [
                    "k1|x1|by b", "k2|x2|by a", "k3|x3|y3", "k5|x5|y5", "k6|x6|y6", "k7|x7|y7",
                ], "\(peer.name)")
            #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
        }
    }
}
