import CLogSyncSQLite
import Foundation
import GRDBSQLite
package import LogSyncModel

/// Where a connection has its statements from that is a program's, and is closed by that.
package protocol StatementSource: AnyObject {
    /// - Returns: a statement that is not in use, and what keeps it prepared.
    func statement(_ sql: String) throws -> (handle: OpaquePointer, keeper: AnyObject)
    /// Has all of them prepared anew.
    func forgetStatements()
}

/// The raw handle of one SQLite connection, with its statements prepared once.
///
/// GRDB opens and owns the connection; hot loops and bit-exact values go through this.
@usableFromInline
package final class Connection {
    package let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    /// Statements of a source's that were handed out since ``resetStatements()``.
    private var handedOut: [Statement] = []
    /// nil where this connection prepares its statements itself.
    private let source: (any StatementSource)?
    /// What a statement that writes rows may cost; nil where it may cost anything.
    var budget: WriteBudget?
    /// What its functions may cost; nil where the schema calls none that costs much.
    var functions: BoundedFunctions?
    /// What turns triggers off that ask for it; nil where none does.
    var triggerSwitch: TriggerSwitch?
    /// Whether there is one of these. Asked by every step of a statement.
    @exclusivity(unchecked) @usableFromInline var isBounded = false
    /// Whether the database has its texts in UTF-16; nil before it was asked.
    private var hasUTF16: Bool?
    /// The widths of which there is a function for ``RowsParameter``.
    package var rowWidths: Set<Int> = []

    package init(_ handle: OpaquePointer, statements source: (any StatementSource)? = nil) {
        self.handle = handle
        self.source = source
    }

    /// Whether the database has its texts in UTF-16. That is settled when it is made.
    package func isUTF16() throws -> Bool {
        if let hasUTF16 { return hasUTF16 }
        let isUTF16 = String(text: try scalar("PRAGMA encoding") ?? .null).hasPrefix("UTF-16")
        hasUTF16 = isUTF16
        return isUTF16
    }

    /// The statement for `sql`, prepared once and reset before it is handed out.
    package func prepare(_ sql: String) throws -> Statement {
        if let statement = statements[sql], statement.isPrepared {
            statement.reset()
            if source != nil { handedOut.append(statement) }
            return statement
        }
        guard let source else {
            let statement = try Statement(sql, on: self)
            statements[sql] = statement
            return statement
        }
        let statement = try Statement(sql, from: source, on: self)
        statements[sql] = statement
        handedOut.append(statement)
        return statement
    }

    /// Forgets the prepared statements, so that the connection can close or the schema's objects can be dropped.
    package func finalizeStatements() {
        for statement in statements.values where statement.isPrepared { statement.reset() }
        handedOut = []
        statements.removeAll(keepingCapacity: true)
        source?.forgetStatements()
    }

    /// Ends what a source's statements are in the middle of.
    package func resetStatements() {
        for statement in handedOut where statement.isPrepared { statement.reset() }
        handedOut.removeAll(keepingCapacity: true)
    }

    /// Runs SQL that returns no rows; may be several statements.
    package func execute(_ sql: String) throws {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, sql) }
    }

    /// Runs one statement with arguments, to its end.
    package func run(_ sql: String, _ arguments: Value...) throws {
        let statement = try prepare(sql)
        for (index, argument) in arguments.enumerated() { statement.bind(argument, at: index + 1) }
        while try statement.step() {}
        statement.reset()
    }

    /// The first row's first column, or nil where there is no row.
    package func scalar(_ sql: String, _ arguments: Value...) throws -> Value? {
        let statement = try prepare(sql)
        for (index, argument) in arguments.enumerated() { statement.bind(argument, at: index + 1) }
        defer { statement.reset() }
        return try statement.step() ? statement.value(0) : nil
    }

    package func integer(_ sql: String, _ arguments: Value...) throws -> Int64? {
        let statement = try prepare(sql)
        for (index, argument) in arguments.enumerated() { statement.bind(argument, at: index + 1) }
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : nil
    }

    /// Every row, for short lists.
    package func rows(_ sql: String, _ arguments: Value...) throws -> [[Value]] {
        let statement = try prepare(sql)
        for (index, argument) in arguments.enumerated() { statement.bind(argument, at: index + 1) }
        defer { statement.reset() }
        var rows: [[Value]] = []
        while try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.value($0) })
        }
        return rows
    }

    package var changes: Int { Int(sqlite3_changes(handle)) }
    package var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Has what this connection and others have committed into the log survive a power cut.
    /// Source: <https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntljournalpointer>.
    package func synchronizeLog() throws {
        let code = logsync_synchronize_log(handle)
        // The connection has no part in it, and knows of no error.
        guard code == SQLITE_OK else {
            throw SQLiteFailure.error(
                code: code, message: String(cString: sqlite3_errstr(code)), file: path, sql: "fsync of the log")
        }
    }

    /// Turns the main schema's triggers off or on for this connection. TEMP triggers go on firing.
    /// Source: <https://www.sqlite.org/c3ref/c_dbconfig_defensive.html>.
    package func setTriggersEnabled(_ enabled: Bool) throws {
        var state: Int32 = 0
        let code = logsync_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, enabled ? 1 : 0, &state)
        guard code == SQLITE_OK else { throw failure(code, "SQLITE_DBCONFIG_ENABLE_TRIGGER") }
    }

    /// Lets a connection of ours do nothing that only a program's own would want, whatever the schema says: no function
    /// that is given addresses, no extension, no writing of SQLite's own tables.
    ///
    /// Source: <https://www.sqlite.org/security.html>, <https://www.sqlite.org/c3ref/c_dbconfig_defensive.html>.
    ///
    /// - Parameter trustsSchema: whether triggers may write virtual tables, which up to SQLite 3.40 do not call FTS5
    ///   harmless. What is made of another peer's schema was asked for its functions (``ForeignSchema``).
    package static func defend(_ handle: OpaquePointer, trustsSchema: Bool) throws {
        for (option, value) in [
            (SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0), (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0),
            (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, trustsSchema ? 1 : 0),
            // Programs' schemas have texts in double quotes, which SQLite takes where it is not told otherwise.
            (SQLITE_DBCONFIG_DQS_DDL, 1),
        ] as [(Int32, Int32)] {
            var state: Int32 = -1
            guard logsync_db_config(handle, option, value, &state) == SQLITE_OK, state == value else {
                throw LogSyncError(
                    .invalidStore, "SQLite does not take the security option \(option); nothing was opened",
                    help: "logsync needs SQLite 3.37 or later")
            }
        }
        try addCollations(handle)
        try GeoPackageFunctions.add(to: handle)
    }

    /// Brings the collations that are known and not SQLite's: only a connection that has them may write their indexes.
    private static func addCollations(_ handle: OpaquePointer) throws {
        let code = sqlite3_create_collation_v2(
            handle, Collation.unicase.rawValue, SQLITE_UTF8, nil,
            { _, count, text, otherCount, other in
                FoldedText.compare(
                    UnsafeRawBufferPointer(start: text, count: Int(count)),
                    UnsafeRawBufferPointer(start: other, count: Int(otherCount)))
            }, nil)
        guard code == SQLITE_OK else {
            throw LogSyncError(.ioError, "SQLite takes no collation (code \(code)); nothing was opened")
        }
    }

    /// Loads an extension into this connection. Only for the call itself may the connection load one: no SQL ever can.
    ///
    /// Source: <https://www.sqlite.org/c3ref/load_extension.html>.
    ///
    /// - Throws: `configuration` where the file is none that can be loaded.
    package static func load(_ loadable: LoadableExtension, into handle: OpaquePointer) throws {
        func allow(_ value: Int32) throws {
            var state: Int32 = -1
            guard logsync_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, value, &state) == SQLITE_OK,
                state == value
            else {
                throw LogSyncError(
                    .configuration, "this SQLite loads no extensions; \(loadable.file) was not loaded",
                    help: "Leave --load-extension out, or use a logsync whose SQLite has them")
            }
        }
        try allow(1)
        var message: UnsafeMutablePointer<CChar>?
        let code = sqlite3_load_extension(handle, loadable.file, loadable.entry, &message)
        defer { sqlite3_free(message) }
        try allow(0)
        guard code == SQLITE_OK else {
            let reason = message.map { String(cString: $0) } ?? "code \(code)"
            throw LogSyncError(
                .configuration, "the SQLite extension \(loadable.file) cannot be loaded: \(reason); nothing was opened",
                help: "--load-extension, LOGSYNC_LOAD_EXTENSION or the configuration file names it: correct that")
        }
    }

    /// Whether a collation is known, by SQLite or by an extension that was loaded.
    package func hasCollation(_ name: String) -> Bool {
        (try? Statement("SELECT '' < '' COLLATE \(SQL.name(name))", on: self)) != nil
    }

    /// Runs `body` on an empty database in memory, which goes with it.
    ///
    /// - Parameter extensions: what is loaded first.
    /// - Throws: `ioError` where none could be made; what `body` throws.
    package static func inMemory<Result>(
        extensions: [LoadableExtension] = [], _ body: (Connection) throws -> Result
    ) throws -> Result {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        defer { sqlite3_close_v2(handle) }
        guard code == SQLITE_OK, let handle else {
            throw LogSyncError(.ioError, "no temporary database could be made; nothing was changed")
        }
        try defend(handle, trustsSchema: true)
        for loadable in extensions { try load(loadable, into: handle) }
        let connection = Connection(handle)
        defer { connection.finalizeStatements() }
        return try body(connection)
    }

    /// Runs `body` with the main schema's triggers on, and leaves them as they were: the connection may be a program's.
    package func withTriggers<Result>(_ body: () throws -> Result) throws -> Result { try withTriggers(true, body) }

    /// The same with them off.
    package func withoutTriggers<Result>(_ body: () throws -> Result) throws -> Result { try withTriggers(false, body) }

    private func withTriggers<Result>(_ areOn: Bool, _ body: () throws -> Result) throws -> Result {
        var before: Int32 = 0
        let code = logsync_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &before)
        guard code == SQLITE_OK else { throw failure(code, "SQLITE_DBCONFIG_ENABLE_TRIGGER") }
        if (before != 0) == areOn { return try body() }
        try setTriggersEnabled(areOn)
        let result = Swift.Result { try body() }
        try setTriggersEnabled(before != 0)
        return try result.get()
    }

    /// Runs statements that are not our own: in them SQLite takes for a text what stands in double quotes and is no column's
    /// name. In ours a column that is not there is an error, and never its name as a value.
    package func takingTexts<Result>(_ body: () throws -> Result) throws -> Result {
        try setTakesTexts(true)
        let result = Swift.Result { try body() }
        try setTakesTexts(false)
        return try result.get()
    }

    private func setTakesTexts(_ takes: Bool) throws {
        var state: Int32 = 0
        let code = logsync_db_config(handle, SQLITE_DBCONFIG_DQS_DML, takes ? 1 : 0, &state)
        guard code == SQLITE_OK else { throw failure(code, "SQLITE_DBCONFIG_DQS_DML") }
    }

    /// The functions that SQLite lets a schema call though nobody trusts it; in lower case.
    /// Source: <https://www.sqlite.org/c3ref/c_deterministic.html> (SQLITE_INNOCUOUS).
    ///
    /// NB: up to 3.40 SQLite does not say it of its JSON functions and of a full-text index's, which only compute; the
    /// names can go from here where that is too old to meet.
    func harmlessFunctions() throws -> Set<String> {
        let names = try rows(
            """
            SELECT DISTINCT lower(name) FROM pragma_function_list
            WHERE flags & 0x200000 OR name IN ('->', '->>', 'json') OR name LIKE 'json\\_%' ESCAPE '\\'
            OR name IN ('bm25', 'highlight', 'snippet', 'match', 'matchinfo', 'offsets')
            """)
        return Set(names.map { String(text: $0[0]) }).subtracting(["fts3_tokenizer", "load_extension"])
    }

    /// What SQLite says went wrong, as a typed error.
    package func failure(_ code: Int32, _ sql: String) -> LogSyncError {
        if let failure = triggerFailure(code, sql) { return failure }
        return SQLiteFailure.error(
            code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)),
            file: path, sql: sql)
    }
}

extension Connection {
    /// Whether the last call failed because the database file is damaged.
    package var isCorrupt: Bool {
        sqlite3_extended_errcode(handle) != Self.unsoundTable
            && [SQLITE_CORRUPT, SQLITE_NOTADB].contains(sqlite3_errcode(handle) & 0xFF)
    }
    package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
    /// Of the main database's file; empty where it has none.
    package var path: String { sqlite3_db_filename(handle, "main").map { String(cString: $0) } ?? "" }
    /// Of the file that is at the main database's path now; nil where there is none. Opens nothing.
    package var inode: UInt64? {
        var status = stat()
        guard let name = sqlite3_db_filename(handle, "main"), stat(name, &status) == 0 else { return nil }
        return UInt64(status.st_ino)
    }
    /// How many rows this connection ever changed.
    package var totalChanges: Int64 { sqlite3_total_changes64(handle) }
}
