/// A migration as some tool writes it, and what two programs write around it.
struct MigrationCase: Sendable {
    var name: String
    var schema: [String]
    /// What is there from the beginning.
    var rows: [String]
    /// What each of the two writes under the old schema, and has not recorded when the migration comes.
    var before: [[String]]
    /// One statement each; of a program that knows no transactions there is no BEGIN among them.
    var migration: [String]
    /// What each of the two writes under the new schema.
    var after: [[String]]
    /// Whether what was not recorded before the migration may be recorded after what others have written: the rows are not there
    /// for a while. Then it contradicts nothing.
    var isRecordedLate = false

    /// Whether all of it is done, or nothing.
    var isTransaction: Bool { migration.contains("BEGIN") }
}

extension MigrationCase {
    /// - Parameters:
    ///   - uid: the column that tells rows.
    ///   - more: columns under the old and under the new schema that an INSERT has beside `uid` and `note`, with values.
    private init(
        _ name: String, _ schema: [String], isTransaction: Bool = true, table: String = "t", note: String = "note",
        more: (old: (String, String), new: (String, String)) = (("", ""), ("", "")), rows: [String] = [],
        isRecordedLate: Bool = false, _ migration: [String]
    ) {
        self.name = name
        self.isRecordedLate = isRecordedLate
        self.schema = schema
        func insert(_ table: String, _ note: String, _ uid: String, _ more: (String, String)) -> String {
            "INSERT INTO \(table)(uid, \(note)\(more.0)) VALUES('\(uid)', 'of \(uid)'\(more.1))"
        }
        func update(_ table: String, _ note: String, _ uid: String, _ value: String) -> String {
            "UPDATE \(table) SET \(note) = '\(value)' WHERE uid = '\(uid)'"
        }
        self.rows = rows + (1...5).map { insert("t", "note", "r\($0)", more.old) }
        before = [
            [
                insert("t", "note", "a1", more.old), update("t", "note", "r1", "a, old"),
                update("t", "note", "r5", "a, against b"), "DELETE FROM t WHERE uid = 'r3'",
            ],
            [
                insert("t", "note", "b1", more.old), update("t", "note", "r2", "b, old"),
                update("t", "note", "r5", "b, against a"), "DELETE FROM t WHERE uid = 'r4'",
            ],
        ]
        after = [
            [
                insert(table, note, "a2", more.new), update(table, note, "r2", "a, new"),
                update(table, note, "a1", "a, new"), update(table, note, "b1", "a, new"),
            ],
            [
                insert(table, note, "b2", more.new), update(table, note, "r1", "b, new"),
                update(table, note, "b1", "b, new"),
            ],
        ]
        self.migration =
            ["PRAGMA foreign_keys = OFF"]
            + (isTransaction ? ["BEGIN"] + migration + ["PRAGMA user_version = 1", "COMMIT"] : migration)
            + ["PRAGMA foreign_keys = ON"]
    }

    /// SQLite's twelve steps.
    private static func rebuild(
        _ table: String, as definition: String, _ columns: String, from values: String? = nil, tail: String = ""
    ) -> [String] {
        [
            "CREATE TABLE new_\(table)(\(definition))\(tail)",
            "INSERT INTO new_\(table)(\(columns)) SELECT \(values ?? columns) FROM \(table)", "DROP TABLE \(table)",
            "ALTER TABLE new_\(table) RENAME TO \(table)",
        ]
    }

    /// The same as Active Record writes it: the table moves away and back.
    private static func moved(
        _ table: String, _ former: String, as definition: String, _ columns: String
    ) -> [String] {
        [
            "CREATE TEMPORARY TABLE away(\(former))", "INSERT INTO away(\(columns)) SELECT \(columns) FROM \(table)",
            "DROP TABLE \(table)", "CREATE TABLE \(table)(\(definition))",
            "INSERT INTO \(table)(\(columns)) SELECT \(columns) FROM away", "DROP TABLE away",
        ]
    }

    /// The other way round: the table is set aside, and a new one takes its name.
    private static func renewed(_ table: String, as definition: String, _ columns: String) -> [String] {
        [
            "ALTER TABLE \(table) RENAME TO \(table)_former", "CREATE TABLE \(table)(\(definition))",
            "INSERT INTO \(table)(\(columns)) SELECT \(columns) FROM \(table)_former", "DROP TABLE \(table)_former",
        ]
    }

    private static let t = "id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT, note TEXT"
    private static let keyed = "uid TEXT PRIMARY KEY NOT NULL, note TEXT"
    private static let parents = "CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"
    private static let someParents = ["INSERT INTO p VALUES(1, 'one'), (2, 'two')"]

    static let all: [MigrationCase] = [
        MigrationCase(
            "a column is added and filled", ["CREATE TABLE t(\(t))"], more: (("", ""), (", size", ", 2")),
            ["ALTER TABLE t ADD COLUMN size INT", "UPDATE t SET size = length(uid)"]),
        MigrationCase(
            "a column is added and filled, without a transaction", ["CREATE TABLE t(\(t))"], isTransaction: false,
            more: (("", ""), (", size", ", 2")),
            ["ALTER TABLE t ADD COLUMN size INT", "UPDATE t SET size = length(uid)"]),
        MigrationCase(
            "a column is renamed", ["CREATE TABLE t(\(t))"], note: "remark",
            ["ALTER TABLE t RENAME COLUMN note TO remark"]),
        MigrationCase(
            "a column is renamed and its name given to another", ["CREATE TABLE t(\(t), v TEXT DEFAULT 'v')"],
            [
                "ALTER TABLE t RENAME COLUMN v TO v_old", "ALTER TABLE t ADD COLUMN v TEXT",
                "UPDATE t SET v = 'n' || uid",
            ]),
        MigrationCase(
            "a column is dropped", ["CREATE TABLE t(\(t), extra TEXT DEFAULT 'e')"],
            ["ALTER TABLE t DROP COLUMN extra"]),
        MigrationCase(
            "a name becomes an integer key", ["CREATE TABLE t(\(keyed))"],
            rebuild(
                "t", as: "id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE, note TEXT", "uid, note")),
        MigrationCase(
            "a name becomes an integer key, without a transaction", ["CREATE TABLE t(\(keyed))"], isTransaction: false,
            rebuild(
                "t", as: "id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE, note TEXT", "uid, note")),
        MigrationCase(
            "an integer key becomes a name", ["CREATE TABLE t(id INTEGER PRIMARY KEY, uid TEXT NOT NULL, note TEXT)"],
            rebuild("t", as: keyed, "uid, note")),
        MigrationCase(
            "an integer key becomes a name, by moving away",
            ["CREATE TABLE t(id INTEGER PRIMARY KEY, uid TEXT NOT NULL, note TEXT)"],
            moved("t", "id INTEGER PRIMARY KEY, uid TEXT NOT NULL, note TEXT", as: keyed, "uid, note")),
        MigrationCase(
            "a key gets a column", ["CREATE TABLE t(\(keyed))"],
            rebuild(
                "t", as: "uid TEXT NOT NULL, lang TEXT NOT NULL DEFAULT 'en', note TEXT, PRIMARY KEY(uid, lang)",
                "uid, note")),
        MigrationCase(
            "a key loses a column, and its rowid",
            ["CREATE TABLE t(uid TEXT, lang TEXT NOT NULL DEFAULT 'en', note TEXT, PRIMARY KEY(uid, lang))"],
            rebuild("t", as: keyed, "uid, note", tail: " WITHOUT ROWID")),
        MigrationCase(
            "a key's collation changes", ["CREATE TABLE t(\(keyed))"],
            rebuild("t", as: "uid TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, note TEXT", "uid, note")),
        MigrationCase(
            "a column becomes unique and another has a type, without a transaction",
            ["CREATE TABLE t(\(t), n INTEGER DEFAULT 7)"], isTransaction: false,
            rebuild(
                "t", as: "id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT UNIQUE, note TEXT, n TEXT DEFAULT 'seven'",
                "id, uid, note, n")),
        MigrationCase(
            "parents and children are made anew",
            [parents, "CREATE TABLE t(\(t), p_id INTEGER REFERENCES p(id) ON DELETE CASCADE)"],
            more: ((", p_id", ", 1"), (", p_id", ", 2")), rows: someParents,
            rebuild(
                "t", as: "\(t), p_id INTEGER REFERENCES p(id) ON DELETE CASCADE, x INT", "id, uid, note, p_id")
                + rebuild("p", as: "id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, y INT", "id, name")),
        MigrationCase(
            "a parent's key becomes its name", [parents, "CREATE TABLE t(\(t), p_id INTEGER REFERENCES p(id))"],
            more: ((", p_id", ", 1"), (", p_id", ", 'two'")), rows: someParents,
            rebuild(
                "t", as: "\(t), p_id TEXT REFERENCES p(name)", "id, uid, note, p_id",
                from: "id, uid, note, (SELECT name FROM p WHERE p.id = p_id)")
                + rebuild("p", as: "name TEXT PRIMARY KEY NOT NULL", "name")),
        MigrationCase(
            "a foreign key is declared", [parents, "CREATE TABLE t(\(t), owner INTEGER)"],
            more: ((", owner", ", 1"), (", owner", ", 2")), rows: someParents,
            rebuild("t", as: "\(t), owner INTEGER REFERENCES p(id)", "id, uid, note, owner")),
        MigrationCase(
            "a table is renamed and its name given to another", ["CREATE TABLE t(\(t))"], table: "s",
            ["ALTER TABLE t RENAME TO s", "CREATE TABLE t(\(t))", "INSERT INTO t(uid) VALUES('new')"]),
        MigrationCase(
            "a table is set aside and made anew", ["CREATE TABLE t(\(t))"],
            renewed("t", as: "\(t), size INT", "id, uid, note")),
        MigrationCase(
            "a table is set aside and made anew, without a transaction", ["CREATE TABLE t(\(t))"], isTransaction: false,
            renewed("t", as: "\(t), size INT", "id, uid, note")),
        MigrationCase(
            "a table is dropped, made again and filled, without a transaction", ["CREATE TABLE t(\(t))"],
            isTransaction: false, isRecordedLate: true,
            [
                "CREATE TABLE kept AS SELECT * FROM t", "DROP TABLE t",
                // A table that is empty has lost its rows.
                """
                BEGIN; CREATE TABLE t(\(t), size INT);
                INSERT INTO t(id, uid, note) SELECT id, uid, note FROM kept; COMMIT
                """, "DROP TABLE kept",
            ]),
        MigrationCase(
            "a parent is set aside and made anew",
            [parents, "CREATE TABLE t(\(t), p_id INTEGER REFERENCES p(id) ON DELETE CASCADE)"],
            more: ((", p_id", ", 1"), (", p_id", ", 2")), rows: someParents,
            ["PRAGMA legacy_alter_table = ON"]
                + renewed("p", as: "id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, y INT", "id, name")
                + ["PRAGMA legacy_alter_table = OFF"]),
        MigrationCase(
            "a table is split", ["CREATE TABLE t(\(keyed), street TEXT)"],
            more: ((", street", ", 'street'"), ("", "")),
            [
                "CREATE TABLE address(uid TEXT PRIMARY KEY NOT NULL, street TEXT)",
                "INSERT INTO address SELECT uid, street FROM t",
            ] + rebuild("t", as: keyed, "uid, note")),
        MigrationCase(
            "a table goes into another", ["CREATE TABLE t(\(keyed))", "CREATE TABLE u(\(keyed))"],
            rows: ["INSERT INTO u VALUES('u1', 'one'), ('u2', 'two')"],
            ["INSERT OR IGNORE INTO t SELECT * FROM u", "DROP TABLE u"]),
    ]
}
