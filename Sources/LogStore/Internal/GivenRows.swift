import GRDBSQLite
import LogModel

/// Rows that are given to one statement: it reads them `FROM logsync_rows_N(?)`, where N is their width.
///
/// Starting and ending a statement, with its cursors, is most of what it costs to insert or find a row. Here SQLite
/// fetches the rows itself, from a table-valued function (an eponymous virtual table) whose argument points at them.
/// Source: <https://www.sqlite.org/vtab.html>, <https://www.sqlite.org/bindptr.html>.
final class GivenRows {
    /// How many values a row has.
    let width: Int
    private var cells: UnsafeMutablePointer<RowCell>
    private var cellCapacity: Int
    private var cellCount = 0
    private var bytes: UnsafeMutableRawPointer
    private var byteCapacity = 1024
    /// How many bytes the texts and blobs have.
    private(set) var byteCount = 0
    private let source: UnsafeMutablePointer<RowSource>
    private var isDropped: [Bool] = []

    init(width: Int) {
        self.width = width
        cellCapacity = width * 4
        cells = .allocate(capacity: cellCapacity)
        bytes = .allocate(byteCount: byteCapacity, alignment: 8)
        source = .allocate(capacity: 1)
        source.initialize(to: RowSource(cells: cells, bytes: bytes, width: width))
    }

    deinit {
        cells.deallocate()
        bytes.deallocate()
        source.deallocate()
    }

    /// How many rows there are, of which the last may lack values.
    var count: Int { (cellCount + width - 1) / width }

    func removeAll() {
        cellCount = 0
        byteCount = 0
        isDropped.removeAll(keepingCapacity: true)
    }

    /// Leaves a row out.
    func drop(_ row: Int) {
        if isDropped.isEmpty { isDropped = [Bool](repeating: false, count: count) }
        while isDropped.count < count { isDropped.append(false) }
        isDropped[row] = true
    }

    // MARK: Values, in the order of the columns

    @inline(__always)
    private func append(_ cell: RowCell) {
        if cellCount == cellCapacity { growCells() }
        cells[cellCount] = cell
        cellCount += 1
    }

    @inline(__always)
    func append(_ integer: Int64) {
        append(RowCell(word: UInt64(bitPattern: integer), count: 0, type: SQLITE_INTEGER))
    }

    @inline(__always)
    func appendNull() { append(RowCell(word: 0, count: 0, type: SQLITE_NULL)) }

    @inline(__always)
    func append(blob content: UnsafeRawBufferPointer) { append(content, SQLITE_BLOB) }

    func append(_ value: Value) {
        switch value {
        case .null: appendNull()
        case .integer(let integer): append(integer)
        case .real(let real): append(RowCell(word: real.bitPattern, count: 0, type: SQLITE_FLOAT))
        case .text(let content): content.withUnsafeBytes { append($0, SQLITE_TEXT) }
        case .blob(let content): content.withUnsafeBytes { append($0, SQLITE_BLOB) }
        case .reference(let identity): identity.bytes.withUnsafeBytes { append($0, SQLITE_BLOB) }
        case .external: preconditionFailure("a value is written with its bytes")
        }
    }

    @inline(__always)
    private func append(_ content: UnsafeRawBufferPointer, _ type: Int32) {
        if byteCount + content.count > byteCapacity { growBytes(content.count) }
        if let base = content.baseAddress {
            (bytes + byteCount).copyMemory(from: base, byteCount: content.count)
        }
        append(RowCell(word: UInt64(byteCount), count: content.count, type: type))
        byteCount += content.count
    }

    private func growCells() {
        let capacity = cellCapacity * 4
        let grown = UnsafeMutablePointer<RowCell>.allocate(capacity: capacity)
        grown.moveInitialize(from: cells, count: cellCount)
        cells.deallocate()
        cells = grown
        cellCapacity = capacity
    }

    private func growBytes(_ more: Int) {
        let capacity = max(byteCapacity * 4, byteCount + more)
        let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
        grown.copyMemory(from: bytes, byteCount: byteCount)
        bytes.deallocate()
        bytes = grown
        byteCapacity = capacity
    }

    // MARK: Writing

    /// Has a statement read the rows that are not left out.
    ///
    /// - Parameter body: is called for each row that the statement gives; leaves these rows alone.
    func read(with statement: Statement, _ body: () throws -> Void) throws {
        source.pointee = RowSource(cells: cells, bytes: bytes, width: width)
        source.pointee.end = count
        statement.bind(rows: source, at: 1)
        defer { statement.reset() }
        // SQLite knows nothing of who owns what it reads.
        try withExtendedLifetime(self) { while try statement.step() { try body() } }
    }

    /// Writes the rows, and keeps them until ``removeAll()``.
    ///
    /// - Parameter statement: takes the rows as its first argument, and inserts one for each OR FAIL: where a constraint
    ///   refuses a row, those before it stand, and the next run begins with the one after it. Where triggers fire, SQLite
    ///   fetches all rows before it writes any: then there may be no more than one.
    /// - Returns: the rows that a constraint refused, in their order.
    func write(with statement: Statement, on connection: Connection) throws -> [Int] {
        guard count > 0 else { return [] }
        precondition(cellCount % width == 0, "the last row lacks values")
        var refused: [Int] = []
        let isAlone = count == 1
        let before = connection.totalChanges
        var delivered = 0
        source.pointee = RowSource(cells: cells, bytes: bytes, width: width)
        source.pointee.end = count
        try isDropped.withUnsafeBufferPointer { dropped in
            source.pointee.dropped = dropped.baseAddress
            source.pointee.droppedCount = dropped.count
            defer { source.pointee.dropped = nil }
            while true {
                source.pointee.delivered = 0
                statement.bind(rows: source, at: 1)
                let isDone = try statement.writeOrRefuse()
                delivered += source.pointee.delivered
                if isDone { break }
                delivered -= 1
                let row = isAlone ? 0 : source.pointee.row
                refused.append(row)
                source.pointee.start = row + 1
            }
        }
        // OR FAIL promises as much; if it ever did not, rows would be missing that are recorded as if they stood.
        guard isAlone || connection.totalChanges - before == delivered else {
            throw LogSyncError(
                .invalidStore, "SQLite wrote other rows than it was given; nothing was changed",
                help: "Run `logsync doctor` on the store.")
        }
        return refused
    }
}

/// One value of a row of a ``GivenRows``.
private struct RowCell {
    /// The number, or where the bytes begin.
    var word: UInt64
    var count: Int
    /// SQLite's.
    var type: Int32
}

/// What the table-valued function reads.
private struct RowSource {
    var cells: UnsafeMutablePointer<RowCell>
    var bytes: UnsafeMutableRawPointer
    var width: Int
    /// The rows to give.
    var start = 0
    var end = 0
    var dropped: UnsafePointer<Bool>?
    var droppedCount = 0
    /// The row at hand.
    var row = 0
    /// How many rows were fetched.
    var delivered = 0

    /// Goes to the first row from `row` that is not left out.
    mutating func settle() {
        if let dropped { while row < droppedCount, row < end, dropped[row] { row += 1 } }
        if row < end { delivered += 1 }
    }
}

/// The table-valued functions `logsync_rows_N`.
private enum RowFunction {
    /// What tells our pointers from anyone else's.
    nonisolated(unsafe) static let tag: UnsafePointer<CChar> = {
        let text: StaticString = "logsync-rows"
        return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }()

    private struct Table {
        var base = sqlite3_vtab()
        var width: Int32
    }

    private static func width(_ table: UnsafeMutablePointer<sqlite3_vtab>) -> Int32 {
        UnsafeMutableRawPointer(table).assumingMemoryBound(to: Table.self).pointee.width
    }

    private struct Cursor {
        var base = sqlite3_vtab_cursor()
        var source: UnsafeMutablePointer<RowSource>?
    }

    private static func source(_ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<RowSource>?
    {
        cursor.flatMap { UnsafeMutableRawPointer($0).assumingMemoryBound(to: Cursor.self).pointee.source }
    }

    nonisolated(unsafe) static let module: UnsafeMutablePointer<sqlite3_module> = {
        let module = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        var made = sqlite3_module()
        made.xConnect = { db, width, _, _, table, _ in
            let names = (0..<Int(bitPattern: width)).map { "c\($0)" } + ["rows HIDDEN"]
            let code = sqlite3_declare_vtab(db, "CREATE TABLE x(\(names.joined(separator: ", ")))")
            guard code == SQLITE_OK else { return code }
            let made = UnsafeMutablePointer<Table>.allocate(capacity: 1)
            made.initialize(to: Table(width: Int32(Int(bitPattern: width))))
            table?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab.self)
            return SQLITE_OK
        }
        made.xDisconnect = { table in
            UnsafeMutableRawPointer(table)?.deallocate()
            return SQLITE_OK
        }
        made.xBestIndex = { table, info in
            guard let info else { return SQLITE_ERROR }
            for index in 0..<Int(info.pointee.nConstraint) {
                let constraint = info.pointee.aConstraint[index]
                guard constraint.usable != 0, constraint.op == UInt8(SQLITE_INDEX_CONSTRAINT_EQ),
                    constraint.iColumn == table.map(RowFunction.width)
                else { continue }
                info.pointee.aConstraintUsage[index].argvIndex = 1
                info.pointee.aConstraintUsage[index].omit = 1
                info.pointee.estimatedCost = 1
                return SQLITE_OK
            }
            return SQLITE_CONSTRAINT
        }
        made.xOpen = { _, cursor in
            let made = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
            made.initialize(to: Cursor())
            cursor?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
            return SQLITE_OK
        }
        made.xClose = { cursor in
            UnsafeMutableRawPointer(cursor)?.deallocate()
            return SQLITE_OK
        }
        made.xFilter = { cursor, _, _, count, arguments in
            guard let cursor, count == 1, let pointer = sqlite3_value_pointer(arguments?[0], RowFunction.tag) else {
                return SQLITE_ERROR
            }
            let source = pointer.assumingMemoryBound(to: RowSource.self)
            source.pointee.row = source.pointee.start
            source.pointee.settle()
            UnsafeMutableRawPointer(cursor).assumingMemoryBound(to: Cursor.self).pointee.source = source
            return SQLITE_OK
        }
        made.xNext = { cursor in
            guard let source = RowFunction.source(cursor) else { return SQLITE_ERROR }
            source.pointee.row += 1
            source.pointee.settle()
            return SQLITE_OK
        }
        made.xEof = { cursor in
            guard let source = RowFunction.source(cursor) else { return 1 }
            return source.pointee.row < source.pointee.end ? 0 : 1
        }
        made.xColumn = { cursor, context, column in
            guard let source = RowFunction.source(cursor), column < source.pointee.width else { return SQLITE_OK }
            let cell = source.pointee.cells[source.pointee.row * source.pointee.width + Int(column)]
            // Bytes stay where they are until the statement has run.
            let start = source.pointee.bytes + Int(truncatingIfNeeded: cell.word)
            switch cell.type {
            case SQLITE_INTEGER: sqlite3_result_int64(context, Int64(bitPattern: cell.word))
            case SQLITE_FLOAT: sqlite3_result_double(context, Double(bitPattern: cell.word))
            case SQLITE_TEXT:
                sqlite3_result_text64(
                    context, start.assumingMemoryBound(to: CChar.self), UInt64(cell.count), nil, UInt8(SQLITE_UTF8))
            case SQLITE_BLOB: sqlite3_result_blob64(context, start, UInt64(cell.count), nil)
            default: sqlite3_result_null(context)
            }
            return SQLITE_OK
        }
        made.xRowid = { cursor, rowid in
            rowid?.pointee = Int64(RowFunction.source(cursor)?.pointee.row ?? 0)
            return SQLITE_OK
        }
        module.initialize(to: made)
        return module
    }()
}

extension Statement {
    /// Binds rows that stay where they are until the statement has run.
    fileprivate func bind(rows: UnsafeMutablePointer<RowSource>, at index: Int) {
        bind(pointer: rows, tag: RowFunction.tag, at: index)
    }
}

extension Connection {
    /// The statement for SQL that reads from `logsync_rows_N`, N being `width`.
    func prepare(_ sql: String, readingRowsOf width: Int) throws -> Statement {
        if rowWidths.insert(width).inserted {
            let code = sqlite3_create_module_v2(
                handle, "logsync_rows_\(width)", RowFunction.module, UnsafeMutableRawPointer(bitPattern: width), nil)
            guard code == SQLITE_OK else { throw failure(code, sql) }
        }
        return try prepare(sql)
    }
}
