import LogSyncModel
import Testing

@testable import LogSyncStore

/// SQLite lets a table be dropped that a view or a trigger names, and minds it only where something is renamed.
@Suite("What a program's schema names and has not got is in the way of nothing")
struct BrokenSchemaTests {
    enum Object: String, CaseIterable {
        case view = "CREATE VIEW shown AS SELECT x FROM gone"
        case trigger = "CREATE TRIGGER noted AFTER UPDATE ON o BEGIN DELETE FROM gone; END"
    }

    enum Change: String, CaseIterable {
        case index = "CREATE UNIQUE INDEX j ON t(w)"
        case key = """
            CREATE TABLE n(k TEXT, v TEXT, w TEXT, PRIMARY KEY(k, w)); INSERT INTO n SELECT * FROM t; DROP TABLE t;
            ALTER TABLE n RENAME TO t
            """
        case withoutRowid = """
            CREATE TABLE n(k TEXT PRIMARY KEY, v TEXT, w TEXT) WITHOUT ROWID; INSERT INTO n SELECT * FROM t; DROP TABLE t;
            ALTER TABLE n RENAME TO t
            """
    }

    @Test("A table is laid out anew", arguments: Object.allCases, Change.allCases)
    func layout(object: Object, change: Change) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, w TEXT); CREATE TABLE o(k TEXT PRIMARY KEY, x TEXT);
                INSERT INTO t VALUES('x', '1', '1'), ('y', '2', '2'); INSERT INTO o VALUES('o', 'x');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET v = 'of a' WHERE k = 'x'")
        try b.write(
            """
            CREATE TABLE gone(x); \(object.rawValue); DROP TABLE gone; INSERT INTO t VALUES('z', '3', '3');
            PRAGMA legacy_alter_table = ON; BEGIN; \(change.rawValue); COMMIT;
            UPDATE t SET v = 'of b' WHERE k = 'y'
            """)
        try agree(a, b)
        #expect(try a.strings("SELECT k, v FROM t ORDER BY k") == ["x|of a", "y|of b", "z|3"])
        try b.write("DELETE FROM t WHERE k = 'z'; INSERT INTO o VALUES('p', 'x')")
        try agree(a, b)
        #expect(try a.strings("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM o)") == ["2|2"])
    }
}
