import LogSyncModel
import Testing

@testable import LogSyncStore

/// A column that a program drops and adds again under its name: another one, though the schema looks as before.
@Suite("A column that another of its name has taken the place of")
struct ReplacedColumnTests {
    struct Release: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var table = "CREATE TABLE t(k TEXT PRIMARY KEY, x TEXT, n INT)"
        /// How the column goes and comes.
        var steps: [String]

        private static let key = "k TEXT PRIMARY KEY"

        static let all = [
            Release(testDescription: "ALTER TABLE", steps: ["ALTER TABLE t DROP x", "ALTER TABLE t ADD x TEXT"]),
            Release(
                testDescription: "ALTER TABLE, the last column",
                table: "CREATE TABLE t(k TEXT PRIMARY KEY, n INT, x TEXT)",
                steps: ["ALTER TABLE t DROP x", "ALTER TABLE t ADD x TEXT"]),
            Release(
                testDescription: "ALTER TABLE, without rowid",
                table: "CREATE TABLE t(k TEXT PRIMARY KEY, x TEXT, n INT) WITHOUT ROWID",
                steps: ["ALTER TABLE t DROP x", "ALTER TABLE t ADD x TEXT DEFAULT 'new'"]),
            Release(
                testDescription: "ALTER TABLE, with another column after it",
                steps: ["ALTER TABLE t DROP x", "ALTER TABLE t ADD x TEXT; ALTER TABLE t ADD z TEXT"]),
            Release(
                testDescription: "ALTER TABLE, with another column before it",
                steps: ["ALTER TABLE t DROP x", "ALTER TABLE t ADD z TEXT; ALTER TABLE t ADD x TEXT"]),
            Release(
                testDescription: "ALTER TABLE, with another column while it is gone",
                steps: ["ALTER TABLE t DROP x", "ALTER TABLE t ADD z TEXT", "ALTER TABLE t ADD x TEXT"]),
            Release(
                testDescription: "ALTER TABLE and a rebuild",
                steps: ["ALTER TABLE t DROP x", rebuild("\(key), n INT, x TEXT", of: "k, n")]),
            Release(
                testDescription: "ALTER TABLE and a rebuild under another key",
                table: "CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, x TEXT, n INT)",
                steps: ["ALTER TABLE t DROP x; ALTER TABLE t ADD x TEXT", otherKey]),
            Release(
                testDescription: "rebuilds",
                steps: [rebuild("\(key), n INT", of: "k, n"), rebuild("\(key), x TEXT, n INT", of: "k, n")]),
        ]
    }

    private static let otherKey = """
        CREATE TABLE t_new(g TEXT PRIMARY KEY, k TEXT UNIQUE, n INT, x TEXT) WITHOUT ROWID;
        INSERT INTO t_new SELECT 'g-' || k, k, n, x FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t
        """

    private static func rebuild(_ declaration: String, of columns: String, values: String? = nil) -> String {
        """
        CREATE TABLE t_new(\(declaration)); INSERT INTO t_new(\(columns)) SELECT \(values ?? columns) FROM t;
        DROP TABLE t; ALTER TABLE t_new RENAME TO t
        """
    }

    private let rows = "INSERT INTO t(k, x, n) VALUES('p', 'x of p', 1), ('q', 'x of q', 2), ('r', 'x of r', 3)"

    private func pair(_ table: String) throws -> (TestPeer, TestPeer) {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: table)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write(rows)
        try converge(a, b)
        return (a, b)
    }

    @Test("is not that one, whether or not anybody looks in between", arguments: Release.all, [false, true])
    func replaced(release: Release, looks: Bool) throws {
        let (a, b) = try pair(release.table)
        // Its own release has made the column anew, and what it holds there is of the new one.
        try b.write("UPDATE t SET x = 'x of b' WHERE k = 'p'")
        try converge(a, b)
        for step in release.steps {
            try a.write(step)
            if looks { try a.record() }
        }
        try a.write("UPDATE t SET n = n + 10 WHERE k = 'r'")
        try converge(a, b)
        // Nobody has cleared it, and what is lost here is said to be.
        #expect(try b.strings("SELECT k, x FROM t ORDER BY k") == ["p|x of b", "q|x of q", "r|x of r"])
        let first = release.testDescription.contains("without rowid") ? "new" : "NULL"
        #expect(try a.strings("SELECT k, x, n FROM t ORDER BY k") == ["p|\(first)|1", "q|\(first)|2", "r|\(first)|13"])
        #expect(try a.store.lostColumns() == [ColumnName("t", "x")])
        #expect(try a.store.differingRows() == [:])
        try b.write("UPDATE t SET x = 'later' WHERE k = 'q'")
        try a.write("UPDATE t SET x = 'of a' WHERE k = 'r'")
        try converge(a, b)
        #expect(try a.strings("SELECT k, x FROM t ORDER BY k") == ["p|\(first)", "q|later", "r|of a"])
        #expect(try b.strings("SELECT k, x FROM t ORDER BY k") == ["p|x of b", "q|later", "r|of a"])
    }

    @Test("is not that one either where rows have other numbers since")
    func renumbered() throws {
        let (a, b) = try pair("CREATE TABLE t(k TEXT PRIMARY KEY, n INT, x TEXT)")
        try a.write("UPDATE t SET rowid = rowid + 10 WHERE k <> 'p'")
        try b.write("UPDATE t SET x = 'x of b' WHERE k = 'q'")
        try converge(a, b)
        try a.write(Self.rebuild("k TEXT PRIMARY KEY, n INT, x TEXT", of: "k, n"))
        try converge(a, b)
        #expect(try a.strings("SELECT k, x FROM t ORDER BY k") == ["p|NULL", "q|NULL", "r|NULL"])
        #expect(try b.strings("SELECT k, x FROM t ORDER BY k") == ["p|x of p", "q|x of b", "r|x of r"])
        #expect(try a.store.lostColumns() == [ColumnName("t", "x")])
    }

    @Test("holds what was written to it before anybody looked")
    func written() throws {
        let (a, b) = try pair("CREATE TABLE t(k TEXT PRIMARY KEY, x TEXT, n INT)")
        try a.write("ALTER TABLE t DROP x; ALTER TABLE t ADD x TEXT; UPDATE t SET x = 'x of q' WHERE k = 'p'")
        try a.write("INSERT INTO t(k, x) VALUES('s', 'x of r')")
        try converge(a, b)
        #expect(try a.strings("SELECT k, x FROM t ORDER BY k") == ["p|x of q", "q|NULL", "r|NULL", "s|x of r"])
        #expect(try b.strings("SELECT k, x FROM t ORDER BY k") == ["p|x of q", "q|x of q", "r|x of r", "s|x of r"])
    }

    @Test("comes back beside another, of which others have written values", arguments: [false, true])
    func beside(looks: Bool) throws {
        let (a, b) = try pair("CREATE TABLE t(k TEXT PRIMARY KEY, n INT, x TEXT)")
        try b.write("ALTER TABLE t ADD z TEXT; UPDATE t SET z = 'z of ' || k WHERE k <> 'r'; UPDATE t SET x = 'by b'")
        try converge(a, b)
        try a.write("ALTER TABLE t DROP x")
        if looks { try a.record() }
        try a.write("ALTER TABLE t ADD z TEXT; ALTER TABLE t ADD x TEXT")
        try converge(a, b)
        #expect(try a.strings("SELECT k, x, z FROM t ORDER BY k") == ["p|NULL|z of p", "q|NULL|z of q", "r|NULL|NULL"])
        #expect(try b.strings("SELECT k, x, z FROM t ORDER BY k") == ["p|by b|z of p", "q|by b|z of q", "r|by b|NULL"])
    }

    struct Clearing: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var sql: String
        var shown: [String]

        static let all = [
            Clearing(
                testDescription: "an UPDATE beside a migration",
                sql: "UPDATE t SET x = NULL; ALTER TABLE t ADD y; ALTER TABLE t ADD z", shown: ["NULL", "NULL", "NULL"]),
            Clearing(
                testDescription: "an UPDATE of all rows but one, by ALTER TABLE",
                sql: "UPDATE t SET x = NULL WHERE k <> 'q'; ALTER TABLE t ADD y; ALTER TABLE t ADD z",
                shown: ["NULL", "x of q", "NULL"]),
            Clearing(
                testDescription: "a rebuild that clears most",
                sql: rebuild("k TEXT PRIMARY KEY, n INT, x TEXT", of: "k, n, x", values: "k, n, iif(k = 'q', x, NULL)"),
                shown: ["NULL", "x of q", "NULL"]),
            Clearing(
                testDescription: "a rebuild, and what nobody captures, of two values",
                sql: "DELETE FROM t WHERE k = 'r';"
                    + rebuild("k TEXT PRIMARY KEY, n INT, x TEXT", of: "k, n"),
                shown: ["NULL", "NULL"]),
            Clearing(
                testDescription: "a rebuild that gives the values to other rows",
                sql: rebuild(
                    "k TEXT PRIMARY KEY, n INT, x TEXT", of: "k, n, x", values: "k, n, NULL")
                    + "; INSERT INTO t(k, x) VALUES('s', 'x of r')",
                shown: ["NULL", "NULL", "NULL", "x of r"]),
        ]
    }

    @Test("is that one where its values were taken away", arguments: Clearing.all)
    func cleared(clearing: Clearing) throws {
        let (a, b) = try pair("CREATE TABLE t(k TEXT PRIMARY KEY, n INT, x TEXT)")
        try a.write(clearing.sql)
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT x FROM t ORDER BY k") == clearing.shown, "\(peer.name)")
            #expect(try peer.store.lostColumns().isEmpty)
        }
    }
}
