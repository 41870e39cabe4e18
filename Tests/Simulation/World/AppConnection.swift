import Foundation
import GRDBSQLite
import LogSyncModel

/// A program's own connection: plain SQLite that knows nothing of logsync.
final class AppConnection {
    let handle: OpaquePointer

    init(_ path: String) throws {
        var opened: OpaquePointer?
        guard sqlite3_open(path, &opened) == SQLITE_OK, let opened else {
            throw Failure(.program, "\(path) cannot be opened")
        }
        handle = opened
        sqlite3_busy_timeout(handle, 5000)
    }

    deinit { close() }

    func close() {
        if !isClosed { sqlite3_close_v2(handle) }
        isClosed = true
    }

    private var isClosed = false

    /// Runs SQL, and throws where it fails.
    func execute(_ sql: String) throws {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw Failure(.program, "\(String(cString: sqlite3_errmsg(handle))) (\(code)) in \(sql)")
        }
    }

    /// Runs one statement as a program does that carries on when a constraint refuses it. Any other error is thrown.
    /// Returns whether it was done.
    @discardableResult
    func attempt(_ sql: String) throws -> Bool {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        if code == SQLITE_OK { return true }
        let message = String(cString: sqlite3_errmsg(handle))
        if code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH || code == SQLITE_FULL || Self.isAhead(message) {
            return false
        }
        throw Failure(.program, "\(message) (\(code)) in \(sql)")
    }

    /// Whether a program is ahead of its schema: a migration was refused, or a restored backup knows nothing of it.
    static func isAhead(_ message: String) -> Bool {
        message.hasPrefix("no such column: ") || message.hasPrefix("no such table: ")
            || message.contains(" has no column named ")
    }

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    func rows(_ sql: String) throws -> [[Value]] {
        let statement = try AppStatement(sql, on: self)
        return try statement.rows()
    }
}

/// A prepared statement.
final class AppStatement {
    private let statement: OpaquePointer
    private let connection: AppConnection

    init(_ sql: String, on connection: AppConnection) throws {
        self.connection = connection
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(connection.handle, sql, -1, &prepared, nil) == SQLITE_OK, let prepared else {
            throw Failure(.program, "\(String(cString: sqlite3_errmsg(connection.handle))) in \(sql)")
        }
        statement = prepared
    }

    deinit { sqlite3_finalize(statement) }

    /// Runs it once. Returns false where a constraint refuses it.
    func run(_ arguments: [Value]) throws -> Bool {
        sqlite3_reset(statement)
        for (index, argument) in arguments.enumerated() { bind(argument, at: Int32(index + 1)) }
        let code = sqlite3_step(statement)
        sqlite3_reset(statement)
        if code == SQLITE_DONE || code == SQLITE_ROW { return true }
        if code == SQLITE_CONSTRAINT { return false }
        throw Failure(.program, "\(String(cString: sqlite3_errmsg(connection.handle))) (\(code))")
    }

    func rows() throws -> [[Value]] {
        sqlite3_reset(statement)
        var rows: [[Value]] = []
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { break }
            guard code == SQLITE_ROW else {
                throw Failure(.program, "\(String(cString: sqlite3_errmsg(connection.handle))) (\(code))")
            }
            rows.append((0..<sqlite3_column_count(statement)).map(value))
        }
        sqlite3_reset(statement)
        return rows
    }

    private func bind(_ value: Value, at index: Int32) {
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null, .reference, .external: sqlite3_bind_null(statement, index)
        case .integer(let integer): sqlite3_bind_int64(statement, index, integer)
        case .real(let real): sqlite3_bind_double(statement, index, real)
        case .text(let bytes):
            bytes.withUnsafeBytes { buffer in
                let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
                if let start, !buffer.isEmpty {
                    sqlite3_bind_text(statement, index, start, Int32(buffer.count), transient)
                } else {
                    sqlite3_bind_text(statement, index, "", 0, transient)
                }
            }
        case .blob(let bytes):
            _ = bytes.withUnsafeBytes { buffer in
                if buffer.isEmpty {
                    sqlite3_bind_zeroblob(statement, index, 0)
                } else {
                    sqlite3_bind_blob(statement, index, buffer.baseAddress, Int32(buffer.count), transient)
                }
            }
        }
    }

    private func value(_ column: Int32) -> Value {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT: return .text(bytes(sqlite3_column_text(statement, column), column))
        case SQLITE_BLOB: return .blob(bytes(sqlite3_column_blob(statement, column), column))
        default: return .null
        }
    }

    private func bytes(_ start: UnsafeRawPointer?, _ column: Int32) -> Bytes {
        let count = Int(sqlite3_column_bytes(statement, column))
        guard let start, count > 0 else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: count))[...]
    }
}
