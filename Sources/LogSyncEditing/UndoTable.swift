import GRDB

/// One table whose changes can be taken back: the triggers that note them, and the values before and after.
struct UndoTable: Sendable {
    private let name: String
    private let number: Int
    private let columns: [String]
    /// The primary key, or the rowid.
    private let key: [String]

    init(_ name: String, number: Int, _ db: Database) throws {
        self.name = name
        self.number = number
        columns = try db.columns(in: name).map(\.name)
        let primary = try db.primaryKey(name).columns
        key = primary
    }

    private var quoted: String { name.quotedDatabaseIdentifier }
    private var values: String { "undo_log_values_\(number)" }
    private var stored: [String] { key.allSatisfy(columns.contains) ? columns : key + columns }

    func install(_ db: Database) throws {
        let declared = stored.indices.flatMap { ["old\($0)", "new\($0)"] }.joined(separator: ", ")
        try db.execute(sql: "CREATE TEMP TABLE IF NOT EXISTS \(values)(number INTEGER PRIMARY KEY, \(declared))")
        for (kind, hasOld, hasNew) in [("insert", false, true), ("update", true, true), ("delete", true, false)] {
            let given = stored.flatMap { column in
                let column = column.quotedDatabaseIdentifier
                return [hasOld ? "OLD.\(column)" : "NULL", hasNew ? "NEW.\(column)" : "NULL"]
            }
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER IF NOT EXISTS undo_log_\(kind)_\(number) AFTER \(kind.uppercased()) ON main.\(quoted)
                    WHEN EXISTS (SELECT 1 FROM undo_log_open)
                    BEGIN
                        INSERT INTO undo_log_change(group_id, tbl, kind)
                            SELECT id, \(number), '\(kind)' FROM undo_log_open;
                        INSERT INTO \(values) VALUES(last_insert_rowid(), \(given.joined(separator: ", ")));
                    END
                    """)
        }
    }

    /// Takes one change back, as far as nothing was written since.
    func revert(_ change: Int64, _ kind: String, _ db: Database, _ undone: inout UndoLog.Undone) throws {
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM temp.\(values) WHERE number = ?", arguments: [change])
        else { return }
        try db.execute(sql: "DELETE FROM temp.\(values) WHERE number = ?", arguments: [change])
        let before: [DatabaseValue] = stored.indices.map { row[1 + 2 * $0] }
        let after: [DatabaseValue] = stored.indices.map { row[2 + 2 * $0] }
        switch kind {
        case "insert": try remove(after, db, &undone)
        case "delete": try bringBack(before, db, &undone)
        default: try restore(before, after, db, &undone)
        }
    }

    private func key(of row: [DatabaseValue]) -> [DatabaseValue] {
        key.compactMap { column in stored.firstIndex(of: column).map { row[$0] } }
    }

    private var condition: String {
        key.map { "\($0.quotedDatabaseIdentifier) IS ?" }.joined(separator: " AND ")
    }

    private func present(_ key: [DatabaseValue], _ db: Database) throws -> [DatabaseValue]? {
        let list = stored.map(\.quotedDatabaseIdentifier).joined(separator: ", ")
        let row = try Row.fetchOne(
            db, sql: "SELECT \(list) FROM \(quoted) WHERE \(condition)", arguments: StatementArguments(key))
        return row.map { row in stored.indices.map { row[$0] } }
    }

    private func remove(_ inserted: [DatabaseValue], _ db: Database, _ undone: inout UndoLog.Undone) throws {
        let key = key(of: inserted)
        guard let present = try present(key, db) else { return }
        guard present == inserted else {
            undone.left.append(UndoLog.Left(table: name, key: key, column: nil))
            return
        }
        try db.execute(sql: "DELETE FROM \(quoted) WHERE \(condition)", arguments: StatementArguments(key))
        undone.rows += 1
    }

    private func bringBack(_ deleted: [DatabaseValue], _ db: Database, _ undone: inout UndoLog.Undone) throws {
        let list = stored.map(\.quotedDatabaseIdentifier).joined(separator: ", ")
        let marks = stored.map { _ in "?" }.joined(separator: ", ")
        // Another row may have its key, or a unique value of it.
        try db.execute(
            sql: "INSERT OR IGNORE INTO \(quoted)(\(list)) VALUES(\(marks))", arguments: StatementArguments(deleted))
        if db.changesCount > 0 {
            undone.rows += 1
        } else {
            undone.left.append(UndoLog.Left(table: name, key: key(of: deleted), column: nil))
        }
    }

    private func restore(
        _ before: [DatabaseValue], _ after: [DatabaseValue], _ db: Database, _ undone: inout UndoLog.Undone
    ) throws {
        let key = key(of: after)
        let changed = stored.indices.filter { before[$0] != after[$0] }
        guard let present = try present(key, db) else {
            if !changed.isEmpty { undone.left.append(UndoLog.Left(table: name, key: key, column: nil)) }
            return
        }
        let own = changed.filter { present[$0] == after[$0] }
        for index in changed where !own.contains(index) {
            undone.left.append(UndoLog.Left(table: name, key: key, column: stored[index]))
        }
        guard !own.isEmpty else { return }
        let list = own.map { "\(stored[$0].quotedDatabaseIdentifier) = ?" }.joined(separator: ", ")
        try db.execute(
            sql: "UPDATE \(quoted) SET \(list) WHERE \(condition)",
            arguments: StatementArguments(own.map { before[$0] } + key))
        undone.rows += 1
    }
}
