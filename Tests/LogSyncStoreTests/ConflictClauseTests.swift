import LogSyncModel
import Testing

@testable import LogSyncStore

/// Tables that say themselves what becomes of conflicts, with triggers that keep a table of each store's own.
@Suite struct ConflictClauseTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let tables = [
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT REPLACE, cat TEXT)",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE ON CONFLICT IGNORE, cat TEXT)",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, cat TEXT, UNIQUE(name) ON CONFLICT ROLLBACK)",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT FAIL, cat TEXT)",
        "CREATE TABLE t(id TEXT PRIMARY KEY ON CONFLICT REPLACE, name TEXT UNIQUE, cat TEXT) WITHOUT ROWID",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, cat TEXT NOT NULL ON CONFLICT REPLACE DEFAULT 'none')",
    ]

    private static let triggers = [
        "INSERT OR IGNORE INTO cats VALUES(new.cat, new.name)", "INSERT OR REPLACE INTO cats VALUES(new.cat, new.name)",
        "REPLACE INTO cats VALUES(new.cat, new.name)",
    ]

    private func founder(_ table: String, _ statement: String) throws -> TestPeer {
        try TestPeer(
            folder, "a",
            sql: """
                \(table);
                CREATE TABLE cats(cat TEXT PRIMARY KEY, last TEXT);
                INSERT INTO t VALUES(1, 'one', 'k');
                INSERT INTO cats VALUES('k', 'one');
                CREATE TRIGGER made AFTER INSERT ON t WHEN new.name IS NOT NULL OR 1 BEGIN \(statement); END;
                CREATE TRIGGER first BEFORE INSERT ON t BEGIN \(statement); END;
                CREATE TRIGGER written AFTER UPDATE OF name, cat ON t BEGIN \(statement); END;
                """
        ) { $0.skip = ["cats"] }
    }

    @Test("The statements of triggers keep their own clauses in imports", arguments: tables, triggers)
    func triggersKeepTheirClauses(table: String, statement: String) throws {
        let a = try founder(table, statement)
        let b = try TestPeer(folder, "b", cloning: a)
        #expect(try b.store.unmadeObjects() == [])
        try a.write("INSERT INTO t VALUES(2, 'two', 'k'), (3, 'three', 'k'), (4, 'four', 'm')")
        try converge(a, b)
        try a.write("UPDATE t SET name = 'six', cat = 'm' WHERE id = 3; UPDATE t SET name = 'first' WHERE name = 'one'")
        try b.write("INSERT INTO t VALUES(5, 'five', 'k')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM t ORDER BY 1") == ["first", "five", "four", "six", "two"])
            #expect(try peer.strings("SELECT cat FROM cats ORDER BY 1") == ["k", "m"])
            #expect(try peer.store.audit().problems == [])
        }
        let isReplaced = !statement.contains("IGNORE")
        #expect(try a.strings("SELECT last FROM cats WHERE cat = 'k'") == [isReplaced ? "five" : "one"])
    }

    @Test("Nothing is displaced or passed over where two peers take one name", arguments: tables.prefix(5))
    func conflictsAreDecidedByClocks(table: String) throws {
        let a = try founder(table, Self.triggers[0])
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO t VALUES(2, 'x', 'of a'), (3, 'y', 'of a')")
        try b.write("INSERT INTO t VALUES(4, 'x', 'of b'), (5, 'z', 'of b')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM t ORDER BY 1") == ["one", "x", "y", "z"])
            #expect(try peer.store.summary().parked == 1)
            #expect(try peer.store.audit().problems == [])
        }
        // The same by an update.
        try a.write("UPDATE t SET name = 'w' WHERE name = 'y'")
        try b.write("UPDATE t SET name = 'w' WHERE name = 'z'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM t ORDER BY 1") == ["one", "w", "x"])
            #expect(try peer.store.summary().parked == 2)
            #expect(try peer.store.audit().problems == [])
        }
        try a.write("DELETE FROM t WHERE name IN ('w', 'x')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM t ORDER BY 1") == ["one", "w", "x"])
            #expect(try peer.store.summary().parked == 0)
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test(
        "A row without what a column has to hold is refused, and is not said to be there",
        arguments: ["IGNORE", "REPLACE", "ROLLBACK"])
    func rowsThatLackValuesAreParked(clause: String) throws {
        let a = try founder(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, cat TEXT NOT NULL ON CONFLICT \(clause) DEFAULT 'none')",
            Self.triggers[0])
        let b = try TestPeer(
            folder, "b", cloning: a,
            schema: try a.store.schemaText().text.replacing("NOT NULL ON CONFLICT \(clause) ", with: ""))
        try b.write(
            "INSERT INTO t VALUES(2, 'two', NULL), (3, 'three', 'k'); UPDATE t SET cat = NULL WHERE name = 'one'")
        try converge(a, b)
        #expect(try a.strings("SELECT name FROM t") == ["three"])
        #expect(try a.store.summary().parked == 2)
        #expect(try b.strings("SELECT name FROM t ORDER BY 1") == ["one", "three", "two"])
        try b.write("UPDATE t SET cat = 'm' WHERE cat IS NULL")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name || cat FROM t ORDER BY 1") == ["onem", "threek", "twom"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("No row is displaced when others' rows come in, whatever triggers there are")
    func conflictClauses() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT REPLACE);
                CREATE TABLE n(c TEXT);
                CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO n VALUES(new.name); END;
                """
        ) { $0.skip = ["n"] }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO t(name) VALUES('x')")
        try b.write("INSERT INTO t(name) VALUES('x')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.store.summary().parked == 1)
        }
    }
}
