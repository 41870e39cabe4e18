import LogSyncModel
import Testing

@testable import LogSyncStore

/// Scripts and renamings within one transaction.
@Suite struct MigrationTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let schema = """
        CREATE TABLE t(k TEXT PRIMARY KEY, x TEXT, y);
        CREATE TABLE p(id INTEGER PRIMARY KEY, n); CREATE TABLE c(id INTEGER PRIMARY KEY, p INT REFERENCES p);
        INSERT INTO t VALUES('a', '1', 1), ('b', '2', 2); INSERT INTO p VALUES(1, 'p'); INSERT INTO c VALUES(1, 1);
        """

    private func pair() throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    @Test func statementsAreTakenApartAsSQLiteDoes() throws {
        let (a, b) = try pair()
        let result = try a.store.migrate(
            """
            ;; -- a comment; with a semicolon
            /* BEGIN; */ begin immediate;
            CREATE TRIGGER kept AFTER INSERT ON t BEGIN UPDATE t SET y = 'by; trigger' WHERE k = NEW.k; END;
            INSERT INTO t(k, x) VALUES('c;''--', '/*');
            SELECT * FROM t;
            end transaction
            """, renamings: [])
        #expect(result.statements == 3)
        #expect(result.recorded?.counts["t"] == ChangeCounts(inserted: 1))
        #expect(try a.strings("SELECT y FROM t WHERE k LIKE 'c%'") == ["by; trigger"])
        try agree(a, b)
    }

    @Test func aKeyColumnAndAReferenceAreRenamedByRebuilding() throws {
        let (a, b) = try pair()
        let script = """
            CREATE TABLE t2(name TEXT PRIMARY KEY, x TEXT, y); INSERT INTO t2 SELECT * FROM t; DROP TABLE t;
            ALTER TABLE t2 RENAME TO t;
            CREATE TABLE c2(id INTEGER PRIMARY KEY, owner INT REFERENCES p); INSERT INTO c2 SELECT * FROM c; DROP TABLE c;
            ALTER TABLE c2 RENAME TO c;
            """
        let renamings = [Renaming(table: "t", column: "k", to: "name"), Renaming(table: "c", column: "p", to: "owner")]
        let result = try a.store.migrate(script, renamings: renamings)
        #expect(result.recorded?.counts.keys.allSatisfy { $0 == "logsync_setting" } ?? true)
        #expect(result.renamed.map(\.to) == ["owner", "name"])
        try a.write("UPDATE t SET x = '9' WHERE name = 'a'; INSERT INTO p VALUES(5, 'q'); UPDATE c SET owner = 5")
        try agree(a, b)
        #expect(try b.strings("SELECT n FROM c JOIN p ON p.id = c.p") == ["q"])
        #expect(try b.strings("SELECT k, x FROM t ORDER BY 1") == ["a|9", "b|2"])
        // The settings say it to whoever migrates later.
        #expect(try b.store.migrate(script, renamings: []).renamed.map(\.to) == ["owner", "name"])
        try agree(a, b)
    }

    @Test func aMigrationThatIsUndoneLeavesNoTrace() throws {
        let (a, b) = try pair()
        try a.write("UPDATE t SET x = 'pending' WHERE k = 'a'")
        let before = try (a.digest(), a.vector(), a.strings("SELECT name, sql FROM sqlite_master ORDER BY 1"))
        for script in [
            "DROP TABLE t; NONSENSE", "DELETE FROM p", "ALTER TABLE t DROP COLUMN y; SAVEPOINT s",
            "INSERT INTO t VALUES('a')",
        ] {
            try expect(.invalidScript) { _ = try a.store.migrate(script, renamings: []) }
        }
        try expect(.usage) {
            _ = try a.store.migrate("SELECT 1", renamings: [Renaming(table: "t", column: "x", to: "z")])
        }
        _ = try a.store.migrate("ALTER TABLE t ADD COLUMN z; DELETE FROM t", renamings: [], isDry: true)
        #expect(try a.digest() == before.0 && a.vector() == before.1)
        #expect(try a.strings("SELECT name, sql FROM sqlite_master ORDER BY 1") == before.2)
        #expect(try a.recorded() == "t ~1")
        try agree(a, b)
    }
}
