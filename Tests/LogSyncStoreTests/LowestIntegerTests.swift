import LogSyncModel
import Testing

@testable import LogSyncStore

/// Records are put aside below all integers, which a table may have a row at the least of.
@Suite("A table whose least integer is taken")
struct LowestIntegerTests {
    private static let schema = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT UNIQUE, n INT);
        INSERT INTO t(id, x) VALUES (-9223372036854775808, 'least'), (-4611686018427387904, 'half'),
          (-4611686018427387903, 'more'), (1, 'one'), (2, 'two'), (3, 'three');
        CREATE TABLE child(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(id)); INSERT INTO child(t) VALUES(1), (2);
        """

    private static func rebuild(_ values: String, _ key: String = "id INTEGER PRIMARY KEY") -> String {
        """
        BEGIN; CREATE TABLE made(\(key), x TEXT UNIQUE, n INT); INSERT INTO made SELECT \(values), x, n FROM t;
        DROP TABLE t; ALTER TABLE made RENAME TO t; COMMIT
        """
    }

    @Test(
        "has rows that get other integers, and each other's",
        arguments: [
            "UPDATE t SET id = 5 WHERE id = 1; UPDATE child SET t = 5 WHERE t = 1",
            "UPDATE t SET id = id + 10 WHERE id > 0; UPDATE child SET t = t + 10",
            "UPDATE t SET id = 9 WHERE id = 1; UPDATE t SET id = 1 WHERE id = 2; UPDATE t SET id = 2 WHERE id = 9; "
                + "UPDATE child SET t = 3 - t",
            "DELETE FROM t WHERE id = 3; UPDATE t SET id = 3 WHERE id = -9223372036854775808",
            rebuild("CASE WHEN id > 0 THEN id * 10 ELSE id END") + "; UPDATE child SET t = t * 10",
            "DELETE FROM t WHERE id = 3; " + rebuild("id", "id INT PRIMARY KEY"),
            "DELETE FROM t WHERE id = 3; " + rebuild("'k' || id", "id TEXT PRIMARY KEY")
                + "; UPDATE child SET t = 'k' || t",
        ])
    func renumbered(change: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("PRAGMA foreign_keys = OFF; \(change)")
        try b.write("UPDATE t SET n = 1 WHERE x = 'one'")
        try converge(a, b)
        let isDeleted = change.hasPrefix("DELETE")
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT x, n FROM t ORDER BY x")
                    == ["half|NULL", "least|NULL", "more|NULL", "one|1"] + (isDeleted ? [] : ["three|NULL"]) + [
                        "two|NULL"
                    ])
            #expect(try peer.strings("SELECT x FROM child JOIN t ON t.id = child.t ORDER BY x") == ["one", "two"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test(
        "is none that rows are at while they go below zero",
        arguments: ["-id", "-id * 10", "1 - id", "-id WHERE id > 2", "id - 7"])
    func belowZero(integer: String) throws {
        let folder = try TestFolder()
        let rows = (1...6).map { "(\($0), 'x\($0)')" }.joined(separator: ", ")
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); INSERT INTO t VALUES \(rows)")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET x = x || ' by a' WHERE id = 4; UPDATE t SET id = \(integer)")
        try b.write("UPDATE t SET x = x || ' by b' WHERE id = 5")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT x FROM t ORDER BY x") == ["x1", "x2", "x3", "x4 by a", "x5 by b", "x6"])
            #expect(try peer.store.audit().problems == [])
        }
    }
}
