public import GRDB

/// Undo and redo of a program's changes, as new changes, so that every peer gets them. What others have written to a cell
/// since is left alone, and said.
///
/// ```swift
/// let undo = try await UndoLog(pool, tables: ["item", "tag"])
/// try await pool.write { db in
///     try undo.group("Rename", db) { try db.execute(sql: "UPDATE item SET title = 'Pears' WHERE id = 7") }
/// }
/// let undone = try await undo.undo()
/// ```
///
/// The groups live as long as the writer's connection: in TEMP tables of it, which the program's triggers fill. A group is
/// of the transaction that it is in, and goes with it where that is undone.
public final class UndoLog: Sendable {
    private let writer: any DatabaseWriter
    private let tables: [UndoTable]

    /// - Parameters:
    ///   - writer: the connection that the program writes by.
    ///   - tables: those whose changes can be undone, by their names.
    /// - Throws: GRDB's `DatabaseError` where a table is not there.
    public init(_ writer: any DatabaseWriter, tables: [String]) async throws {
        self.writer = writer
        self.tables = try await writer.write { db in
            try db.execute(sql: Self.schema)
            let made = try tables.enumerated().map { number, name in try UndoTable(name, number: number, db) }
            for table in made { try table.install(db) }
            return made
        }
    }

    /// A group that was undone or redone.
    public struct Undone: Sendable, Hashable {
        public var name: String
        /// How many rows were changed.
        public var rows: Int
        /// What was left, because it was written since.
        public var left: [Left]

        public init(name: String, rows: Int, left: [Left]) {
            self.name = name
            self.rows = rows
            self.left = left
        }
    }

    /// A row, or a cell of it, that was left as it is.
    public struct Left: Sendable, Hashable {
        public var table: String
        public var key: [DatabaseValue]
        /// nil for a row that should have come or gone.
        public var column: String?
    }

    // MARK: Groups

    /// Runs `updates` as one group, within the program's own write. What could be redone is forgotten.
    ///
    /// - Parameter name: what people call it, as in "Undo Rename".
    /// - Throws: what `updates` throws; the transaction has to be undone then.
    public func group<T>(_ name: String, _ db: Database, _ updates: () throws -> T) throws -> T {
        try db.execute(sql: "DELETE FROM temp.undo_log_group WHERE is_redo")
        return try record(name, isRedo: false, db, updates)
    }

    /// The name of what ``undo()`` would undo; nil for nothing.
    public func undoName() async throws -> String? { try await last(isRedo: false) }

    /// The name of what ``redo()`` would do again; nil for nothing.
    public func redoName() async throws -> String? { try await last(isRedo: true) }

    /// Takes the last group back. Nil where there is none.
    ///
    /// - Throws: GRDB's `DatabaseError` where a constraint refuses it; nothing is changed then.
    @discardableResult
    public func undo() async throws -> Undone? { try await revert(isRedo: false) }

    /// Does the group again that was taken back last. Nil where there is none, or another group came since.
    ///
    /// - Throws: as ``undo()``.
    @discardableResult
    public func redo() async throws -> Undone? { try await revert(isRedo: true) }

    // MARK: How

    /// Which group is open, the groups, and what each changed, in order. The values are in a table for each table.
    private static let schema = """
        CREATE TEMP TABLE IF NOT EXISTS undo_log_open(id INTEGER NOT NULL);
        CREATE TEMP TABLE IF NOT EXISTS undo_log_group(
            id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, is_redo INTEGER NOT NULL);
        CREATE TEMP TABLE IF NOT EXISTS undo_log_change(
            number INTEGER PRIMARY KEY AUTOINCREMENT, group_id INTEGER NOT NULL, tbl INTEGER NOT NULL, kind TEXT NOT NULL);
        """

    private func record<T>(_ name: String, isRedo: Bool, _ db: Database, _ updates: () throws -> T) throws -> T {
        try db.execute(
            sql: "INSERT INTO temp.undo_log_group(name, is_redo) VALUES(?, ?)", arguments: [name, isRedo])
        let id = db.lastInsertedRowID
        try db.execute(sql: "DELETE FROM temp.undo_log_open")
        try db.execute(sql: "INSERT INTO temp.undo_log_open(id) VALUES(?)", arguments: [id])
        let result = try updates()
        try db.execute(sql: "DELETE FROM temp.undo_log_open")
        return result
    }

    private func last(isRedo: Bool) async throws -> String? {
        try await writer.writeWithoutTransaction { db in
            try String.fetchOne(
                db, sql: "SELECT name FROM temp.undo_log_group WHERE is_redo = ? ORDER BY id DESC LIMIT 1",
                arguments: [isRedo])
        }
    }

    private func revert(isRedo: Bool) async throws -> Undone? {
        let tables = tables
        return try await writer.write { db in
            guard
                let group = try Row.fetchOne(
                    db, sql: "SELECT id, name FROM temp.undo_log_group WHERE is_redo = ? ORDER BY id DESC LIMIT 1",
                    arguments: [isRedo])
            else { return nil }
            let (id, name): (Int64, String) = (group[0], group[1])
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            var undone = Undone(name: name, rows: 0, left: [])
            let changes = try Row.fetchAll(
                db, sql: "SELECT number, tbl, kind FROM temp.undo_log_change WHERE group_id = ? ORDER BY number DESC",
                arguments: [id])
            try db.execute(sql: "DELETE FROM temp.undo_log_group WHERE id = ?", arguments: [id])
            try db.execute(sql: "DELETE FROM temp.undo_log_change WHERE group_id = ?", arguments: [id])
            // What takes it back can be taken back itself.
            try self.record(name, isRedo: !isRedo, db) {
                for change in changes {
                    let (number, table, kind): (Int64, Int, String) = (change[0], change[1], change[2])
                    try tables[table].revert(number, kind, db, &undone)
                }
            }
            return undone
        }
    }
}
