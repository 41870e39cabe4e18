public import CLogSyncSQLite
public import GRDBSQLite
public import LogSyncModel

/// `SQLITE_CONSTRAINT_CHECK`, a macro that Swift does not import. Source: <https://www.sqlite.org/rescode.html>.
private let brokenCheck: Int32 = SQLITE_CONSTRAINT | (1 << 8)

/// One prepared statement; values go in and come out bit for bit.
@usableFromInline
package final class Statement {
    @usableFromInline let handle: OpaquePointer
    @usableFromInline unowned let connection: Connection
    package let sql: String
    package let columnCount: Int
    /// What keeps the statement prepared; nil where this does, or where it is finalized.
    private weak var keeper: AnyObject?
    private let isBorrowed: Bool
    /// Why SQLite did not take an argument, which would be NULL then: the next step throws it. Asked by every step.
    @exclusivity(unchecked) @usableFromInline var refusedArgument: Int32 = SQLITE_OK
    /// What an expression of the schema, or a trigger, raised for the row that ``write()`` or ``writeOrRefuse()`` was to write;
    /// nil where none raised anything.
    package private(set) var raised: String?

    package init(_ sql: String, on connection: Connection) throws {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(
            connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw connection.failure(code, sql) }
        self.handle = handle
        self.connection = connection
        self.sql = sql
        isBorrowed = false
        columnCount = Int(sqlite3_column_count(handle))
    }

    init(_ sql: String, from source: any StatementSource, on connection: Connection) throws {
        let (handle, keeper) = try source.statement(sql)
        self.handle = handle
        self.keeper = keeper
        isBorrowed = true
        self.connection = connection
        self.sql = sql
        columnCount = Int(sqlite3_column_count(handle))
    }

    deinit {
        if !isBorrowed { sqlite3_finalize(handle) }
    }

    /// Whether it can be used: what keeps it prepared may have let go of it meanwhile.
    var isPrepared: Bool { !isBorrowed || keeper != nil }

    @inlinable package func reset() {
        sqlite3_reset(handle)
    }

    /// Steps once; true where there is a row. The statement is reset before an error is thrown.
    @inlinable package func step() throws -> Bool {
        if refusedArgument != SQLITE_OK { throw argumentFailure() }
        switch connection.isBounded ? connection.boundedStep(handle) : sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw failure(code)
        }
    }

    @usableFromInline
    func failure(_ code: Int32) -> any Error {
        let error = connection.failure(code, sql)
        sqlite3_reset(handle)
        return error
    }

    @usableFromInline
    func argumentFailure() -> any Error {
        let code = refusedArgument
        refusedArgument = SQLITE_OK
        sqlite3_reset(handle)
        guard code == SQLITE_TOOBIG else { return connection.failure(code, sql) }
        return LogSyncError(
            .invalidStore,
            "a value is longer than SQLite takes here (\(sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, -1)) bytes); "
                + "what had not been committed was undone",
            help: "Raise SQLITE_LIMIT_LENGTH of the connection, or shorten the value where it was written")
    }

    package enum Written {
        case done
        /// Written though a CHECK constraint does not hold: such rows are shown, and listed.
        case breakingCheck
        /// UNIQUE, NOT NULL, a STRICT type or an INTEGER PRIMARY KEY, which takes integers alone, refused it, or an expression
        /// raised an error (``Statement/raised``); nothing was changed.
        case refused
    }

    /// Runs a statement that writes one row and returns none.
    package func write() throws -> Written {
        let code = try writeOnce()
        if code == SQLITE_DONE { return .done }
        guard code == brokenCheck else { return .refused }
        try connection.execute("PRAGMA ignore_check_constraints = ON")
        let again = Result { try writeOnce() }
        try connection.execute("PRAGMA ignore_check_constraints = OFF")
        return try again.get() == SQLITE_DONE ? .breakingCheck : .refused
    }

    /// SQLITE_DONE, or else why it was refused: SQLITE_MISMATCH, SQLITE_ERROR where an expression raised it, or the extended
    /// code of a constraint.
    private func writeOnce() throws -> Int32 {
        if refusedArgument != SQLITE_OK { throw argumentFailure() }
        raised = nil
        connection.beginRow()
        let code = sqlite3_step(handle)
        defer { sqlite3_reset(handle) }
        connection.endRow()
        if code == SQLITE_DONE || code == SQLITE_MISMATCH { return code }
        raised = expressionError(code)
        if raised != nil || code & 0xFF == SQLITE_CONSTRAINT && !isOfVirtualTable {
            connection.noteRefusal()
            return sqlite3_extended_errcode(connection.handle)
        }
        throw connection.failure(code, sql)
    }

    /// What SQLite says of an expression that has no value for a row, as JSON that is malformed; nil where something else failed,
    /// or where the expression needs what only its program has, whatever the row is, or takes too long here.
    private func expressionError(_ code: Int32) -> String? {
        guard code == SQLITE_ERROR else { return nil }
        let message = String(cString: sqlite3_errmsg(connection.handle))
        let isOfRow = ProgramDefinition(lackedBy: message) == nil && !message.contains(BoundedFunctions.refusal)
        return isOfRow ? message : nil
    }

    /// Runs a statement that writes one row and returns none. False where a constraint of any kind refuses it, or where an
    /// expression raised an error; then nothing was changed.
    package func writeOrRefuse() throws -> Bool {
        if refusedArgument != SQLITE_OK { throw argumentFailure() }
        raised = nil
        connection.beginRow()
        let code = sqlite3_step(handle)
        connection.endRow()
        if code == SQLITE_DONE {
            sqlite3_reset(handle)
            return true
        }
        defer { sqlite3_reset(handle) }
        raised = expressionError(code)
        if raised != nil || code & 0xFF == SQLITE_CONSTRAINT && !isOfVirtualTable { return false }
        throw connection.failure(code, sql)
    }

    /// Whether what has just failed is a constraint of a virtual table, which a trigger writes: no other fails without saying
    /// which kind it is of.
    private var isOfVirtualTable: Bool {
        [SQLITE_CONSTRAINT, SQLITE_CONSTRAINT | (9 << 8)].contains(sqlite3_extended_errcode(connection.handle))
    }

    @inlinable package func run() throws {
        while try step() {}
        reset()
    }

    // MARK: Arguments, from 1

    @inlinable package func bind(_ value: Value, at index: Int) {
        let position = Int32(index)
        switch value {
        case .null: sqlite3_bind_null(handle, position)
        case .integer(let integer): sqlite3_bind_int64(handle, position, integer)
        case .real(let real): sqlite3_bind_double(handle, position, real)
        case .text(let bytes): bind(text: bytes, at: index)
        case .blob(let bytes): bind(blob: bytes, at: index)
        case .reference(let identity): bind(blob: identity.bytes, at: index)
        case .external: preconditionFailure("a value is written with its bytes")
        }
    }

    @inlinable package func bind(_ integer: Int64, at index: Int) {
        sqlite3_bind_int64(handle, Int32(index), integer)
    }

    package func bind(_ string: String, at index: Int) {
        bind(.text(string), at: index)
    }

    @inlinable package func bindNull(at index: Int) {
        sqlite3_bind_null(handle, Int32(index))
    }

    @inlinable package func bind(text bytes: Bytes, at index: Int) {
        bytes.withUnsafeBytes { buffer in
            // A nil pointer would bind NULL: an empty text needs an address.
            if let base = buffer.baseAddress, buffer.count > 0 {
                take(
                    sqlite3_bind_text64(
                        handle, Int32(index), base.assumingMemoryBound(to: CChar.self), UInt64(buffer.count),
                        logsync_sqlite_transient(), UInt8(SQLITE_UTF8)))
            } else {
                _ = sqlite3_bind_text(handle, Int32(index), "", 0, logsync_sqlite_transient())
            }
        }
    }

    @inlinable package func bind(blob bytes: Bytes, at index: Int) {
        bytes.withUnsafeBytes { buffer in
            if let base = buffer.baseAddress, buffer.count > 0 {
                take(
                    sqlite3_bind_blob64(
                        handle, Int32(index), base, UInt64(buffer.count), logsync_sqlite_transient()))
            } else {
                _ = sqlite3_bind_zeroblob(handle, Int32(index), 0)
            }
        }
    }

    @inlinable @inline(__always)
    func take(_ code: Int32) {
        if code != SQLITE_OK { refusedArgument = code }
    }

    /// Binds a blob that stays where it is until the statement has run.
    @inlinable package func bind(lasting bytes: UnsafeRawBufferPointer, at index: Int) {
        guard let base = bytes.baseAddress, bytes.count > 0 else {
            sqlite3_bind_zeroblob(handle, Int32(index), 0)
            return
        }
        take(sqlite3_bind_blob64(handle, Int32(index), base, UInt64(bytes.count), nil))
    }

    /// Binds what only a function of ours can read.
    package func bind(pointer: UnsafeMutableRawPointer, tag: UnsafePointer<CChar>, at index: Int) {
        sqlite3_bind_pointer(handle, Int32(index), pointer, tag, nil)
    }

    // MARK: Columns, from 0

    @inlinable package func type(_ column: Int) -> Int32 { sqlite3_column_type(handle, Int32(column)) }

    /// How many bytes a text or BLOB has.
    @inlinable @inline(__always)
    package func byteCount(_ column: Int) -> Int { Int(sqlite3_column_bytes(handle, Int32(column))) }

    @inlinable package func real(_ column: Int) -> Double { sqlite3_column_double(handle, Int32(column)) }

    @inlinable package func isNull(_ column: Int) -> Bool {
        sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL
    }

    @inlinable package func integer(_ column: Int) -> Int64 {
        sqlite3_column_int64(handle, Int32(column))
    }

    /// Text decoded as UTF-8, with repairs; for names, not for values.
    package func string(_ column: Int) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }

    @inlinable package func bytes(_ column: Int) -> Bytes {
        withBytes(column) { Array($0)[...] }
    }

    /// The bytes of a text or blob, valid within the call.
    @inlinable package func withBytes<Result>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let position = Int32(column)
        let start =
            sqlite3_column_type(handle, position) == SQLITE_TEXT
            ? UnsafeRawPointer(sqlite3_column_text(handle, position)) : sqlite3_column_blob(handle, position)
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, position))))
    }

    @inlinable package func value(_ column: Int) -> Value {
        switch sqlite3_column_type(handle, Int32(column)) {
        case SQLITE_INTEGER: .integer(sqlite3_column_int64(handle, Int32(column)))
        case SQLITE_FLOAT: .real(sqlite3_column_double(handle, Int32(column)))
        case SQLITE_TEXT: .text(bytes(column))
        case SQLITE_BLOB: .blob(bytes(column))
        default: .null
        }
    }
}
