public import CLogSyncSQLite
public import GRDBSQLite
package import LogSyncModel

/// Rows that are given to one statement: it reads them `FROM logsync_rows_N(?)`, where N is their width.
///
/// Starting and ending a statement, with its cursors, is most of what it costs to insert or find a row. Here SQLite
/// fetches the rows itself, from a table-valued function (an eponymous virtual table) whose argument points at them.
/// Source: <https://www.sqlite.org/vtab.html>, <https://www.sqlite.org/bindptr.html>.
@usableFromInline
package final class RowsParameter {
    /// How many values a row has.
    package let width: Int
    // Unchecked: looked at by nobody but these few functions, of which none calls another's code while it changes them.
    @exclusivity(unchecked) @usableFromInline var cells: [RowCell] = []
    @exclusivity(unchecked) @usableFromInline var content = ByteArena()

    /// As many rows as are given at a time where there are more: what a statement costs is little by then.
    package static let batch = 256

    package init(width: Int) { self.width = width }

    /// How many rows there are.
    package var count: Int { cells.count / width }
    /// How many bytes their texts and blobs have.
    package var byteCount: Int { content.count }

    package func removeAll() {
        cells.removeAll(keepingCapacity: true)
        content.removeAll()
    }

    /// Leaves a row out.
    package func drop(_ row: Int) { cells[row * width].type = RowCell.dropped }

    // MARK: Values, in the order of the columns

    @inlinable @inline(__always)
    package func append(_ integer: Int64) {
        cells.append(RowCell(word: UInt64(bitPattern: integer), count: 0, type: SQLITE_INTEGER))
    }

    @inlinable @inline(__always)
    package func appendNull() { cells.append(RowCell(word: 0, count: 0, type: SQLITE_NULL)) }

    @inlinable @inline(__always)
    package func append(blob content: UnsafeRawBufferPointer) { append(content, SQLITE_BLOB) }

    package func append(_ value: Value) {
        switch value {
        case .null: appendNull()
        case .integer(let integer): append(integer)
        case .real(let real): cells.append(RowCell(word: real.bitPattern, count: 0, type: SQLITE_FLOAT))
        case .text(let content): content.withUnsafeBytes { append($0, SQLITE_TEXT) }
        case .blob(let content): content.withUnsafeBytes { append($0, SQLITE_BLOB) }
        case .reference(let identity): identity.bytes.withUnsafeBytes { append($0, SQLITE_BLOB) }
        case .external: preconditionFailure("a value is written with its bytes")
        }
    }

    @inlinable @inline(__always)
    func append(_ bytes: UnsafeRawBufferPointer, _ type: Int32) {
        cells.append(RowCell(word: UInt64(content.count), count: bytes.count, type: type))
        content.append(bytes)
    }

    // MARK: Giving

    /// Has a statement read the rows that are not left out.
    ///
    /// - Parameter body: is called for each row that the statement gives; leaves these rows alone.
    package func read(with statement: Statement, _ body: () throws -> Void) throws {
        try withSource { source in
            statement.bind(rows: source)
            defer { statement.reset() }
            while try statement.step() { try body() }
        }
    }

    /// The rows stay where they are until `body` is done.
    private func withSource<Result>(_ body: (UnsafeMutablePointer<RowSource>) throws -> Result) rethrows -> Result {
        try cells.withUnsafeBufferPointer { cells in
            try content.bytes.withUnsafeBytes { bytes in
                var source = RowSource(cells: cells, bytes: bytes, width: width)
                return try withUnsafeMutablePointer(to: &source, body)
            }
        }
    }

    /// Writes the rows, and keeps them until ``removeAll()``.
    ///
    /// - Parameter statement: takes the rows as its first argument, and inserts one for each OR FAIL: where a constraint
    ///   refuses a row, those before it stand, and the next run begins with the one after it. Where triggers fire, SQLite
    ///   fetches all rows before it writes any: then there may be no more than one.
    ///   Where an expression raises an error for one of several rows, SQLite undoes the whole run.
    /// - Returns: the rows that a constraint refused, in their order, and those of a run that was undone.
    package func write(with statement: Statement, on connection: Connection) throws -> [Int] {
        guard count > 0 else { return [] }
        precondition(cells.count % width == 0, "the last row lacks values")
        var refused: [Int] = []
        let isAlone = count == 1
        let before = connection.totalChanges
        let written = try withSource { source in
            var fetched = 0
            while true {
                statement.bind(rows: source)
                let isDone = try statement.writeOrRefuse()
                if statement.raised != nil, !isAlone {
                    let written = fetched - refused.count
                    refused += (source.pointee.start..<count).filter { cells[$0 * width].type != RowCell.dropped }
                    return written
                }
                fetched += source.pointee.fetched
                if isDone { return fetched - refused.count }
                let row = isAlone ? 0 : source.pointee.row
                refused.append(row)
                source.pointee.start = row + 1
            }
        }
        // OR FAIL promises as much; if it ever did not, rows would be missing that are recorded as if they stood.
        guard isAlone || connection.totalChanges - before == written else {
            throw LogSyncError(
                .invalidStore, "SQLite wrote other rows than it was given; nothing was changed",
                help: "Run `logsync doctor` on the store.")
        }
        return refused
    }
}

/// One value of a row of a ``RowsParameter``.
@usableFromInline
struct RowCell {
    /// The number, or where the bytes begin.
    @usableFromInline var word: UInt64
    @usableFromInline var count: Int
    /// SQLite's; of a row's first cell, or ``dropped``.
    @usableFromInline var type: Int32

    @inlinable
    init(word: UInt64, count: Int, type: Int32) {
        self.word = word
        self.count = count
        self.type = type
    }

    /// The type of the first cell of a row that is left out; none of SQLite's.
    static let dropped: Int32 = -1
}

/// What the table-valued function reads.
private struct RowSource {
    let cells: UnsafeBufferPointer<RowCell>
    let bytes: UnsafeRawBufferPointer
    let width: Int
    /// The first row to give.
    var start = 0
    /// The row at hand.
    var row = 0
    /// How many rows were fetched since the statement began.
    var fetched = 0

    init(cells: UnsafeBufferPointer<RowCell>, bytes: UnsafeRawBufferPointer, width: Int) {
        self.cells = cells
        self.bytes = bytes
        self.width = width
    }

    /// The bytes stay where they are until the statement has run. A text or blob without any has an address, too: it would be
    /// NULL.
    func start(of cell: RowCell) -> UnsafeRawPointer {
        bytes.baseAddress.map { $0 + Int(cell.word) } ?? UnsafeRawPointer(RowFunction.tag)
    }

    var isAtEnd: Bool { row * width >= cells.count }

    mutating func begin() {
        row = start
        fetched = 0
        settle()
    }

    mutating func goOn() {
        row += 1
        settle()
    }

    /// Goes to the first row from `row` on that is not left out.
    private mutating func settle() {
        while !isAtEnd, cells[row * width].type == RowCell.dropped { row += 1 }
        if !isAtEnd { fetched += 1 }
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
            source.pointee.begin()
            UnsafeMutableRawPointer(cursor).assumingMemoryBound(to: Cursor.self).pointee.source = source
            return SQLITE_OK
        }
        made.xNext = { cursor in
            guard let source = RowFunction.source(cursor) else { return SQLITE_ERROR }
            source.pointee.goOn()
            return SQLITE_OK
        }
        made.xEof = { cursor in
            guard let source = RowFunction.source(cursor) else { return 1 }
            return source.pointee.isAtEnd ? 1 : 0
        }
        made.xColumn = { cursor, context, column in
            guard let source = RowFunction.source(cursor), column < source.pointee.width else { return SQLITE_OK }
            let cell = source.pointee.cells[source.pointee.row * source.pointee.width + Int(column)]
            switch cell.type {
            case SQLITE_INTEGER: sqlite3_result_int64(context, Int64(bitPattern: cell.word))
            case SQLITE_FLOAT: sqlite3_result_double(context, Double(bitPattern: cell.word))
            case SQLITE_TEXT:
                let text = source.pointee.start(of: cell).assumingMemoryBound(to: CChar.self)
                sqlite3_result_text64(context, text, UInt64(cell.count), nil, UInt8(SQLITE_UTF8))
            case SQLITE_BLOB:
                sqlite3_result_blob64(context, source.pointee.start(of: cell), UInt64(cell.count), nil)
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
    /// Binds rows that stay where they are until the statement has run, as its first argument.
    fileprivate func bind(rows: UnsafeMutablePointer<RowSource>) { bind(pointer: rows, tag: RowFunction.tag, at: 1) }
}

extension Connection {
    /// The statement for SQL that reads from `logsync_rows_N`, N being `width`.
    package func prepare(_ sql: String, readingRowsOf width: Int) throws -> Statement {
        if rowWidths.insert(width).inserted {
            let code = sqlite3_create_module_v2(
                handle, "logsync_rows_\(width)", RowFunction.module, UnsafeMutableRawPointer(bitPattern: width), nil)
            guard code == SQLITE_OK else { throw failure(code, sql) }
        }
        return try prepare(sql)
    }
}
