public import GRDB
import LogSyncStore
import Synchronization

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
/// The groups live as long as the writer's connection, which has one log: in TEMP tables of it, which the program's triggers
/// fill. A group is of the transaction that it is in, and goes with it where that is undone. A migration that gives one of
/// the tables other columns ends all groups; one that drops a column is refused by SQLite while this object's triggers name
/// it, so migrate before.
public final class UndoLog: Sendable {
    private let writer: any DatabaseWriter
    private let names: [String]
    /// As the schema was when it was last looked at, on the writer's queue.
    private let tables: Mutex<[UndoTable]>

    /// - Parameters:
    ///   - writer: the connection that the program writes by.
    ///   - tables: those whose changes can be undone, by their names.
    /// - Throws: GRDB's `DatabaseError` where a table is not there.
    public init(_ writer: any DatabaseWriter, tables: [String]) async throws {
        self.writer = writer
        names = tables
        self.tables = Mutex(
            try await writer.write { db in
                try db.execute(sql: Self.schema)
                ReturnedRows.addFunction(to: db)
                return try Self.installed(tables, db)
            })
    }

    /// A group that was undone or redone.
    public struct Undone: Sendable, Hashable {
        public var name: String
        /// How many rows were changed.
        public var rows: Int
        /// What was left, because it was written since, or because what others have written since forbids it.
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

    /// Runs `updates` as one group, within the program's own write. What could be redone is forgotten. Within another group
    /// it is part of that one.
    ///
    /// - Parameter name: what people call it, as in "Undo Rename".
    /// - Throws: what `updates` throws; what it has changed is undone then.
    public func group<T>(_ name: String, _ db: Database, _ updates: () throws -> T) throws -> T {
        if try Int.fetchOne(db, sql: "SELECT id FROM temp.undo_log_open") != nil { return try updates() }
        let tables = try installed(db)
        try forget("is_redo", tables, db)
        return try record(name, isRedo: false, db, updates)
    }

    /// The name of what ``undo()`` would undo; nil for nothing.
    public func undoName() async throws -> String? { try await last(isRedo: false) }

    /// The name of what ``redo()`` would do again; nil for nothing.
    public func redoName() async throws -> String? { try await last(isRedo: true) }

    /// Takes the last group back. Nil where there is none.
    ///
    /// - Throws: what a trigger of the program's raises; nothing is changed then.
    @discardableResult
    public func undo() async throws -> Undone? { try await writer.write { db in try self.undo(db) } }

    /// Does the group again that was taken back last. Nil where there is none, or another group came since.
    ///
    /// - Throws: as ``undo()``.
    @discardableResult
    public func redo() async throws -> Undone? { try await writer.write { db in try self.redo(db) } }

    /// Takes the last group back within the program's own write, which may record it under an author.
    ///
    /// ```swift
    /// try await pool.write { db in try replicator.record(db, author: "ann") { try undo.undo(db) } }
    /// ```
    @discardableResult
    public func undo(_ db: Database) throws -> Undone? { try revert(isRedo: false, db) }

    /// Does the group again, as ``redo()``, within the program's own write.
    @discardableResult
    public func redo(_ db: Database) throws -> Undone? { try revert(isRedo: true, db) }

    /// Forgets all groups.
    public func removeAll() async throws {
        try await writer.write { db in try self.forget("1", self.tables.withLock { $0 }, db) }
    }

    // MARK: How

    /// Which group is open, the groups, what each changed, in order, and the schema that the triggers are for. The values
    /// are in a table for each table.
    private static let schema = """
        CREATE TEMP TABLE IF NOT EXISTS undo_log_open(id INTEGER NOT NULL);
        CREATE TEMP TABLE IF NOT EXISTS undo_log_group(
            id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, is_redo INTEGER NOT NULL);
        CREATE TEMP TABLE IF NOT EXISTS undo_log_change(
            number INTEGER PRIMARY KEY AUTOINCREMENT, group_id INTEGER NOT NULL, tbl INTEGER NOT NULL, kind TEXT NOT NULL);
        CREATE TEMP TABLE IF NOT EXISTS undo_log_schema(version INTEGER NOT NULL, shape TEXT NOT NULL);
        """

    /// Sees to it that the triggers are those of the tables as they are by now: a migration that makes a table anew drops
    /// them, and another log may have been made on the connection. Rows of other columns cannot be put back as they were.
    ///
    /// - Parameter known: the tables as they were when this was last asked.
    private static func installed(_ names: [String], known: [UndoTable] = [], _ db: Database) throws -> [UndoTable] {
        func shape(_ tables: [UndoTable]) -> String { tables.map(\.shape).joined(separator: "\n") }
        let version = try Int.fetchOne(db, sql: "PRAGMA main.schema_version") ?? 0
        let kept = try Row.fetchOne(db, sql: "SELECT version, shape FROM temp.undo_log_schema")
        if let kept, kept["version"] == version, kept["shape"] == shape(known) { return known }
        let tables = try names.enumerated().map { number, name in try UndoTable(name, number: number, db) }
        if kept?["shape"] != shape(tables) {
            try db.execute(sql: "DELETE FROM temp.undo_log_change; DELETE FROM temp.undo_log_group")
            try UndoTable.uninstallAll(db)
        }
        for table in tables { try table.install(db) }
        try db.execute(sql: "DELETE FROM temp.undo_log_schema")
        try db.execute(sql: "INSERT INTO temp.undo_log_schema VALUES(?, ?)", arguments: [version, shape(tables)])
        return tables
    }

    private func installed(_ db: Database) throws -> [UndoTable] {
        let now = try Self.installed(names, known: tables.withLock { $0 }, db)
        tables.withLock { $0 = now }
        return now
    }

    private func forget(_ condition: String, _ tables: [UndoTable], _ db: Database) throws {
        let changes = """
            SELECT number FROM temp.undo_log_change
            WHERE group_id IN (SELECT id FROM temp.undo_log_group WHERE \(condition))
            """
        guard try Int.fetchOne(db, sql: "SELECT 1 FROM temp.undo_log_group WHERE \(condition)") != nil else { return }
        for table in tables { try table.forget(changes, db) }
        try db.execute(sql: "DELETE FROM temp.undo_log_change WHERE number IN (\(changes))")
        try db.execute(sql: "DELETE FROM temp.undo_log_group WHERE \(condition)")
    }

    private func record<T>(_ name: String, isRedo: Bool, _ db: Database, _ updates: () throws -> T) throws -> T {
        var result: T?
        // A group that fails leaves none that is open, also where the program goes on with its transaction.
        try db.inSavepoint {
            try db.execute(
                sql: "INSERT INTO temp.undo_log_group(name, is_redo) VALUES(?, ?)", arguments: [name, isRedo])
            try db.execute(sql: "INSERT INTO temp.undo_log_open(id) VALUES(?)", arguments: [db.lastInsertedRowID])
            result = try updates()
            try db.execute(sql: "DELETE FROM temp.undo_log_open")
            return .commit
        }
        guard let result else {
            throw DatabaseError(resultCode: .SQLITE_ABORT, message: "the group \(name) ended without a result")
        }
        return result
    }

    private func last(isRedo: Bool) async throws -> String? {
        try await writer.writeWithoutTransaction { db in
            try String.fetchOne(
                db, sql: "SELECT name FROM temp.undo_log_group WHERE is_redo = ? ORDER BY id DESC LIMIT 1",
                arguments: [isRedo])
        }
    }

    private func revert(isRedo: Bool, _ db: Database) throws -> Undone? {
        let tables = try installed(db)
        guard
            let group = try Row.fetchOne(
                db, sql: "SELECT id, name FROM temp.undo_log_group WHERE is_redo = ? ORDER BY id DESC LIMIT 1",
                arguments: [isRedo])
        else { return nil }
        let (id, name): (Int64, String) = (group[0], group[1])
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        let changes = try Row.fetchAll(
            db, sql: "SELECT number, tbl, kind FROM temp.undo_log_change WHERE group_id = ? ORDER BY number DESC",
            arguments: [id]
        ).map { row in (number: row[0] as Int64, table: tables[row[1] as Int], kind: row[2] as String) }
        let reversal = UndoReversal()
        // What takes it back can be taken back itself.
        try record(name, isRedo: !isRedo, db) {
            let rows = try reversal.examine(changes, db)
            // Where rows come back is known before any other one refers to them.
            for (number, table, kind) in changes where kind == "delete" {
                if let change = try table.change(number, db) { try table.findPlace(of: change, db, reversal) }
            }
            for ((number, table, kind), row) in zip(changes, rows) {
                guard let row, let change = try table.change(number, db) else { continue }
                try table.revert(change, kind, of: row, db, reversal)
            }
            try reversal.finish(db)
        }
        try forget("id = \(id)", tables, db)
        return Undone(name: name, rows: reversal.changedCount, left: reversal.left)
    }
}
