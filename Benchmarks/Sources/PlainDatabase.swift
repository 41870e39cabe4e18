import Glibc
import SQLiteSession

/// What went wrong while measuring; the run ends with it.
struct BenchmarkError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// A connection of a program that knows nothing of replication: the C interface and nothing else.
final class PlainDatabase {
    let path: String
    let handle: OpaquePointer

    /// - Parameter path: a database that is made where there is none, in WAL mode.
    init(_ path: String) throws {
        self.path = path
        var opened: OpaquePointer?
        let code = sqlite3_open(path, &opened)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw BenchmarkError("\(path) could not be opened: \(String(cString: sqlite3_errstr(code)))")
        }
        handle = opened
        sqlite3_busy_timeout(handle, 5000)
        // The cache is as large as the store's own, so that nobody wins by memory.
        try execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536")
    }

    deinit { sqlite3_close_v2(handle) }

    func execute(_ sql: String) throws {
        try check(sqlite3_exec(handle, sql, nil, nil, nil), sql)
    }

    func check(_ code: Int32, _ what: String) throws {
        guard code == SQLITE_OK else {
            throw BenchmarkError("\(path): \(String(cString: sqlite3_errmsg(handle))) (\(what))")
        }
    }

    func prepare(_ sql: String) throws -> PlainStatement { try PlainStatement(sql, on: self) }

    func transaction(_ body: () throws -> Void) throws {
        try execute("BEGIN IMMEDIATE")
        try body()
        try execute("COMMIT")
    }

    func integer(_ sql: String) throws -> Int64 {
        let statement = try prepare(sql)
        guard try statement.step() else { throw BenchmarkError("\(path): no row (\(sql))") }
        return statement.integer(0)
    }

    /// Bytes of the pages in use, whether they stand in the file or in its WAL yet.
    func size() throws -> Int {
        let pages = try integer("PRAGMA page_count") - integer("PRAGMA freelist_count")
        return Int(try pages * integer("PRAGMA page_size"))
    }

    /// How many rows a query gives, and a hash of them all in order.
    func content(_ sql: String) throws -> Content {
        let statement = try prepare(sql)
        var content = Content()
        while try statement.step() {
            content.rows += 1
            statement.hash(into: &content.hash)
        }
        return content
    }
}

/// What a table holds, in a form that two databases can compare.
struct Content: Equatable {
    var rows = 0
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
}

/// A prepared statement. It keeps its connection.
final class PlainStatement {
    private let database: PlainDatabase
    private let handle: OpaquePointer
    private let sql: String

    init(_ sql: String, on database: PlainDatabase) throws {
        self.database = database
        self.sql = sql
        var prepared: OpaquePointer?
        try database.check(sqlite3_prepare_v2(database.handle, sql, -1, &prepared, nil), sql)
        guard let prepared else { throw BenchmarkError("\(database.path): no statement (\(sql))") }
        handle = prepared
    }

    deinit { sqlite3_finalize(handle) }

    func bind(_ text: String, at index: Int32) {
        var text = text
        _ = text.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) {
                benchmark_bind_text(handle, index, $0.baseAddress, Int32($0.count))
            }
        }
    }

    func bind(_ integer: Int64, at index: Int32) { sqlite3_bind_int64(handle, index, integer) }
    func bind(_ real: Double, at index: Int32) { sqlite3_bind_double(handle, index, real) }

    /// False where there is no row any more.
    func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw BenchmarkError("\(database.path): \(String(cString: sqlite3_errmsg(database.handle))) (\(sql))")
        }
    }

    /// Runs it to its end and makes it ready to run again.
    func run() throws {
        while try step() {}
        reset()
    }

    /// Makes it ready to run again; it reads no more and holds no lock.
    func reset() { sqlite3_reset(handle) }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func text(_ column: Int32) -> String {
        sqlite3_column_text(handle, column).map { String(cString: $0) } ?? ""
    }

    /// FNV-1a over each value's type and text.
    func hash(into hash: inout UInt64) {
        func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        for column in 0..<sqlite3_column_count(handle) {
            add(UInt8(truncatingIfNeeded: sqlite3_column_type(handle, column)))
            guard let text = sqlite3_column_text(handle, column) else { continue }
            let count = Int(sqlite3_column_bytes(handle, column))
            for byte in UnsafeBufferPointer(start: text, count: count) { add(byte) }
        }
    }
}
