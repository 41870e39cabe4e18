import GRDB
import LogSyncStore

/// One table whose changes can be taken back: the triggers that note them, and the values before and after.
struct UndoTable: Sendable {
    let name: String
    let number: Int
    /// The columns that can be written: what is generated comes by itself.
    private let columns: [String]
    /// The primary key, or the rowid; and after it ``rowid``, where there is one.
    let key: [String]
    /// What tells rows apart whose primary key has a NULL in it, of which a table may hold many; nil where none can.
    let rowid: String?
    /// The columns of which no two rows have the same values, other than the key.
    private let uniques: [[String]]
    /// Of unique indexes over expressions, SQL that says whether the row `t` and the one that is written agree in one.
    private let agreements: [String]
    let references: UndoReferences
    /// The columns, by their places, that hold the integer of a row of another table or of this one.
    let pointers: [Pointer]

    struct Pointer: Sendable {
        var index: Int
        var parent: String
    }

    /// Whether the program has SQLite tell triggers of the rows that `REPLACE` displaces.
    private let hearsOfReplaced: Bool

    init(_ name: String, number: Int, _ db: Database) throws {
        self.name = name
        self.number = number
        // It throws where there is no such table.
        let primaryKey = try db.primaryKey(name)
        columns = try String.fetchAll(
            db, sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0 ORDER BY cid", arguments: [name])
        rowid = primaryKey.rowIDColumn == nil ? try Self.rowid(name, db) : nil
        self.key = primaryKey.columns + (rowid.map { [$0] } ?? [])
        let key = Set(primaryKey.columns.map { $0.lowercased() })
        uniques = try db.indexes(on: name).filter(\.isUnique).map(\.columns)
            .filter { Set($0.map { $0.lowercased() }) != key }
        agreements = try Self.agreements(name, db)
        references = try UndoReferences(name, db)
        let stored = Self.stored(columns, self.key)
        pointers = try references.pointers(db).compactMap { column, parent in
            stored.firstIndex { $0.lowercased() == column.lowercased() }.map { Pointer(index: $0, parent: parent) }
        }
        hearsOfReplaced = try Bool.fetchOne(db, sql: "PRAGMA recursive_triggers") ?? false
    }

    /// What the triggers and the values depend on.
    var shape: String { "\(name) \(key) \(columns) \(uniques) \(agreements) \(pointers) \(hearsOfReplaced)" }

    var quoted: String { name.quotedName }
    var values: String { "undo_log_values_\(number)" }
    private var rivals: String { "undo_log_rival_\(number)" }
    var stored: [String] { Self.stored(columns, key) }

    private static func stored(_ columns: [String], _ key: [String]) -> [String] {
        key.filter { !columns.contains($0) } + columns
    }

    /// The name of the rowid where a column of the primary key takes NULL.
    private static func rowid(_ name: String, _ db: Database) throws -> String? {
        let columns = try Row.fetchAll(
            db, sql: "SELECT lower(name), pk > 0 AND NOT \"notnull\" FROM pragma_table_xinfo(?, 'main')",
            arguments: [name])
        let names = Set(columns.map { $0[0] as String })
        guard columns.contains(where: { $0[1] }) else { return nil }
        return ["rowid", "_rowid_", "oid"].first { !names.contains($0) }
    }

    /// The place of ``rowid``.
    var rowidIndex: Int? { rowid.flatMap(stored.firstIndex) }

    /// The place of the key where it is of one column.
    var keyIndex: Int? { key.count == 1 ? stored.firstIndex(of: key[0]) : nil }

    // MARK: Triggers

    private static let kinds = [("insert", false, true), ("update", true, true), ("delete", true, false)]

    /// `REPLACE` deletes rows without a word. So a row's rivals, which have a key or unique value of it, are noted
    /// before it is written, and are deleted rows where they are gone afterwards, or another row has their key.
    func install(_ db: Database) throws {
        let declared = stored.indices.flatMap { ["old\($0)", "new\($0)"] }.joined(separator: ", ")
        try db.execute(
            sql: """
                CREATE TEMP TABLE IF NOT EXISTS \(values)(
                    number INTEGER PRIMARY KEY, \(declared), identity\(pointers.indices.map { ", parent\($0)" }.joined()));
                CREATE TEMP TABLE IF NOT EXISTS \(rivals)(number INTEGER PRIMARY KEY, \(declared));
                """)
        for (kind, hasOld, hasNew) in Self.kinds {
            let given = stored.flatMap { column in
                let column = column.quotedName
                return [hasOld ? "OLD.\(column)" : "NULL", hasNew ? "NEW.\(column)" : "NULL"]
            }
            let displaced = hasNew && !hearsOfReplaced
            let identities = hasOld ? identities(kind) { "OLD.\(stored[$0].quotedName)" } : noIdentities
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER IF NOT EXISTS undo_log_\(kind)_\(number) AFTER \(kind.uppercased()) ON main.\(quoted)
                    WHEN EXISTS (SELECT 1 FROM undo_log_open)
                    BEGIN
                        \(displaced ? noteDisplaced : "")
                        INSERT INTO undo_log_change(group_id, tbl, kind)
                            SELECT id, \(number), '\(kind)' FROM undo_log_open;
                        INSERT INTO \(values) VALUES(last_insert_rowid(), \(given.joined(separator: ", ")), \(identities));
                    END
                    """)
            guard displaced else { continue }
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER IF NOT EXISTS undo_log_before_\(kind)_\(number)
                    BEFORE \(kind.uppercased()) ON main.\(quoted) WHEN EXISTS (SELECT 1 FROM undo_log_open)
                    BEGIN
                        DELETE FROM \(rivals);
                        INSERT INTO \(rivals) SELECT NULL, \(pairs("t")) FROM main.\(quoted) AS t
                            WHERE (\(isRival))\(hasOld ? " AND NOT (\(same("t", "OLD")))" : "");
                    END
                    """)
        }
    }

    /// Removes what any log has installed on the connection, and the values that it has kept.
    static func uninstallAll(_ db: Database) throws {
        let made = try Row.fetchAll(
            db,
            sql: """
                SELECT type, name FROM temp.sqlite_master WHERE type = 'trigger' AND name LIKE 'undo!_log!_%' ESCAPE '!'
                OR type = 'table' AND (name LIKE 'undo!_log!_values!_%' ESCAPE '!' OR name LIKE 'undo!_log!_rival!_%' ESCAPE '!')
                ORDER BY type DESC
                """)
        for row in made {
            let (type, name): (String, String) = (row[0], row[1])
            try db.execute(sql: "DROP \(type) IF EXISTS temp.\(name.quotedName)")
        }
    }

    /// Forgets the values of changes.
    func forget(_ changes: String, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM temp.\(values) WHERE number IN (\(changes))")
    }

    /// Values of a row that is gone.
    private func pairs(_ row: String) -> String {
        stored.map { "\(row).\($0.quotedName), NULL" }.joined(separator: ", ")
    }

    private func same(_ row: String, _ other: String) -> String {
        key.map { "\(row).\($0.quotedName) IS \(other).\($0.quotedName)" }
            .joined(separator: " AND ")
    }

    private var isRival: String {
        ([key.filter { $0 != rowid }] + uniques).map { columns in
            columns.map { "t.\($0.quotedName) = NEW.\($0.quotedName)" }
                .joined(separator: " AND ")
        }.map { "(\($0))" }.joined(separator: " OR ") + agreements.map { " OR (\($0))" }.joined()
    }

    /// A term of an index names columns alone, which are those of the innermost row.
    private static func agreements(_ name: String, _ db: Database) throws -> [String] {
        let indexes = try String.fetchAll(
            db,
            sql: """
                SELECT m.sql FROM pragma_index_list(?1, 'main') AS i JOIN main.sqlite_master AS m
                    ON m.type = 'index' AND m.name = i.name
                WHERE i."unique" AND m.sql IS NOT NULL AND EXISTS (
                    SELECT 1 FROM pragma_index_xinfo(i.name, 'main') WHERE cid = -2)
                """, arguments: [name])
        guard !indexes.isEmpty else { return [] }
        let written = try String.fetchAll(
            db, sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1", arguments: [name]
        ).map { "NEW.\($0.quotedName) AS \($0.quotedName)" }.joined(separator: ", ")
        return indexes.compactMap(IndexTerms.of).map { terms in
            terms.map { "(\($0)) = (SELECT \($0) FROM (SELECT \(written)))" }.joined(separator: " AND ")
        }
    }

    private var noteDisplaced: String {
        let its = key.map { column in "s.old\(stored.firstIndex(of: column) ?? 0)" }
        let isThere = zip(key, its).map { "t.\($0.quotedName) IS \($1)" }.joined(separator: " AND ")
        let isNew = zip(key, its).map { "NEW.\($0.quotedName) IS \($1)" }.joined(separator: " AND ")
        let list = stored.indices.map { "s.old\($0), NULL" }.joined(separator: ", ")
        let last = "(SELECT coalesce(max(number), 0) FROM undo_log_change)"
        return """
            DELETE FROM \(rivals) WHERE number IN (
                SELECT s.number FROM \(rivals) AS s
                WHERE NOT (\(isNew)) AND EXISTS (SELECT 1 FROM main.\(quoted) AS t WHERE \(isThere)));
            INSERT INTO \(values) SELECT \(last) + s.number, \(list), \(identities("delete") { "s.old\($0)" }) FROM \(rivals) AS s;
            INSERT INTO undo_log_change(number, group_id, tbl, kind)
                SELECT \(last) + s.number, id, \(number), 'delete' FROM \(rivals) AS s, undo_log_open;
            DELETE FROM \(rivals);
            """
    }

    private var noIdentities: String { Array(repeating: "NULL", count: 1 + pointers.count).joined(separator: ", ") }

    /// SQL for the identities of a row that is deleted, and of the rows that it refers to, or has referred to.
    ///
    /// - Parameter value: SQL for what a column held.
    private func identities(_ kind: String, _ value: (Int) -> String) -> String {
        func identity(_ table: String, _ index: Int) -> String {
            "\(ReturnedRows.function)('\(table.replacing("'", with: "''"))', \(value(index)))"
        }
        let own = kind == "delete" ? keyIndex.map { identity(name, $0) } : nil
        let parents = pointers.map { pointer in
            let parent = identity(pointer.parent, pointer.index)
            guard kind == "update" else { return parent }
            let column = stored[pointer.index].quotedName
            return "CASE WHEN OLD.\(column) IS NOT NEW.\(column) THEN \(parent) END"
        }
        return ([own ?? "NULL"] + parents).joined(separator: ", ")
    }
}
