import LogSyncModel
import Testing

@testable import LogSyncStore

/// Columns that were renamed in a release of which one peer skips the look, and whose rows say nothing there.
@Suite("Columns that a peer skipping a release takes for new")
struct LateRenameTests {
    struct Releases: CustomTestStringConvertible, Sendable {
        var first: String
        var second: String
        var column: String
        var testDescription: String { "\(first) \(second)" }

        static let all = [
            Releases(
                first: "ALTER TABLE t RENAME v TO w;", second: "ALTER TABLE t DROP n;", column: "w"),
            Releases(
                first: "ALTER TABLE t DROP v;", second: "ALTER TABLE t RENAME n TO w;", column: "w"),
            Releases(
                first: "ALTER TABLE t RENAME v TO w;",
                second: """
                    CREATE TABLE t_new(id INTEGER PRIMARY KEY, z TEXT, w TEXT, n TEXT);
                    INSERT INTO t_new(id, w, n) SELECT id, w, n FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t;
                    """, column: "w"),
            Releases(
                first: "ALTER TABLE t RENAME v TO w; ALTER TABLE t RENAME w TO x;",
                second: "ALTER TABLE t DROP n; ALTER TABLE t ADD y TEXT", column: "x"),
        ]
    }

    private static let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, n TEXT);"

    @Test("are those that another peer has seen renamed", arguments: Releases.all, [false, true])
    func renamed(releases: Releases, writesFirst: Bool) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.table)
        let b = try TestPeer(folder, "b", cloning: a)
        for change in [releases.first, releases.second] {
            try a.write(change)
            try a.record()
        }
        try b.write(releases.first + releases.second)
        try b.record()
        let column = releases.column
        if writesFirst {
            // Under the name that b takes it for.
            try b.write("INSERT INTO t(id, \(column)) VALUES(2, 'b')")
            try a.write("INSERT INTO t(id, \(column)) VALUES(1, 'a')")
        }
        try agree(a, b)
        if !writesFirst {
            try a.write("INSERT INTO t(id, \(column)) VALUES(1, 'a')")
            try b.write("INSERT INTO t(id, \(column)) VALUES(2, 'b')")
            try agree(a, b)
        }
        for peer in [a, b] { #expect(try peer.strings("SELECT \(column) FROM t ORDER BY 1") == ["a", "b"]) }
        try a.write("UPDATE t SET \(column) = 'a2' WHERE \(column) = 'b'")
        try agree(a, b)
        try b.write("UPDATE t SET \(column) = 'b2' WHERE \(column) = 'a'")
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT \(column) FROM t ORDER BY 1") == ["a2", "b2"]) }
        // It says it once.
        #expect(try a.record() == nil)
        #expect(try b.record() == nil)
    }

    @Test(
        "are left alone where few rows tell, and what another peer writes meanwhile is there",
        arguments: ["", "WITHOUT ROWID"], ["TEXT", "INTEGER"])
    func moved(kind: String, type: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(v \(type), k TEXT NOT NULL PRIMARY KEY) \(kind);
                INSERT INTO t VALUES(1, 'one'), (2, 'two'), (3, 'three')
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        let rename = "ALTER TABLE t RENAME v TO w;"
        let rebuild = """
            CREATE TABLE t_new(k TEXT NOT NULL PRIMARY KEY, w \(type)) \(kind);
            INSERT INTO t_new(k, w) SELECT k, w FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t;
            """
        try a.write(rename)
        try a.record()
        try a.write("UPDATE t SET w = 10 WHERE k = 'one'")
        try b.write(rename + "UPDATE t SET w = 20 WHERE k = 'two';" + rebuild)
        try b.record()
        try agree(a, b)
        try a.write(rebuild)
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT w FROM t ORDER BY k") == ["10", "3", "20"]) }
    }
}
