import GRDBSQLite
import LogModel

/// Records rows that were inserted (``PlainChanges``): reads them in the order in which they were written, which is that of their
/// clock records, and logs them in the order of their keys, which is how they merge best.
///
/// ``Recorder`` gives such a row the same clock record, the same time and the same cells.
struct PlainInserts {
    private let plain: PlainChanges
    private let recorder: Recorder
    private let transaction: TransactionWriter
    private let clock: ClockAppender
    private let references: KnownReferences

    private var table: TrackedTable { plain.table }

    /// What is read before it is logged; more rows than fit are in order by portions.
    private static let portion = 64 << 20
    /// How many clock records are written at a time.
    private static let batch = 256

    private struct Cell {
        /// Where its bytes begin, or the number itself.
        var word: UInt64
        var count: Int32
        var type: UInt8
    }

    /// Some rows, row by row.
    private struct Portion {
        /// Indexes of entries, whatever they are.
        var entries: Range<Int>
        /// Numbers of rows here, by entry.
        var rows: [Int32] = []
        var times: [HybridTime] = []
        var cells: [Cell] = []
        var content = ByteArena()
        /// Values that do not stand in the content: their bytes are in blob files.
        var external: [Value] = []
    }

    /// The type of a cell whose word is the index of an external value; none of SQLite's.
    private static let externalType: UInt8 = 255

    init(_ plain: PlainChanges, _ recorder: Recorder) throws {
        self.plain = plain
        self.recorder = recorder
        transaction = try recorder.transaction()
        clock = try ClockAppender(plain.table, plain.session, transaction.stamp)
        references = KnownReferences(plain.table, recorder)
    }

    func write() throws {
        let statement = try plain.session.connection.prepare(table.selectPlainRows)
        statement.bind(table.recorded, at: 1)
        defer { statement.reset() }
        var portion = Portion(entries: 0..<0)
        let keys = plain.keys.bytes
        var index = 0
        var stamp = transaction.stamp
        while try statement.step() {
            let entry = plain.entries[index]
            if entry.isPlain && entry.is(.insert) {
                let time = recorder.raised(entry.milliseconds, above: nil)
                clock.takeDigests(statement, from: 0)
                clock.uniques = plain.uniques(entry)
                stamp.time = time
                keys.withUnsafeBytes {
                    let identity = $0[plain.range(entry)]
                    clock.append(at: entry.rowid, identity: UnsafeRawBufferPointer(rebasing: identity), stamp)
                }
                if clock.count == Self.batch { try writeRecords() }
                portion.rows.append(Int32(portion.times.count))
                portion.times.append(time)
                try take(statement, index, into: &portion)
            } else {
                portion.rows.append(-1)
            }
            index += 1
            portion.entries = portion.entries.lowerBound..<index
            let size = portion.content.count + portion.cells.count * MemoryLayout<Cell>.stride
            if size > Self.portion {
                try log(portion)
                portion = Portion(entries: index..<index)
            }
        }
        try log(portion)
        try clock.flush()
    }

    private func writeRecords() throws {
        guard try clock.write().isEmpty else { throw Self.alreadyRecorded(table) }
    }

    private static func alreadyRecorded(_ table: TrackedTable) -> LogSyncError {
        LogSyncError(
            .invalidStore, "a row of \(table.name) has a clock record that it should not have; nothing was recorded",
            help: "Run `logsync rescan` on the store.")
    }

    @inline(__always)
    private func take(_ statement: Statement, _ index: Int, into portion: inout Portion) throws {
        for position in table.columns.indices {
            let type = statement.type(position)
            var cell = Cell(word: 0, count: 0, type: UInt8(type))
            switch type {
            case SQLITE_INTEGER: cell.word = UInt64(bitPattern: statement.integer(position))
            case SQLITE_FLOAT: cell.word = statement.real(position).bitPattern
            case SQLITE_TEXT where transaction.isLarge(statement.byteCount(position)),
                SQLITE_BLOB where transaction.isLarge(statement.byteCount(position)):
                let identity = RowIdentity(unchecked: plain.keys.bytes[plain.range(plain.entries[index])])
                cell.type = Self.externalType
                cell.word = UInt64(portion.external.count)
                portion.external.append(
                    try transaction.logged(
                        statement.value(position), table.columns[position].name, of: identity, in: table))
            case SQLITE_TEXT, SQLITE_BLOB:
                cell.word = UInt64(portion.content.count)
                statement.withBytes(position) {
                    cell.count = Int32($0.count)
                    portion.content.append($0)
                }
            default: break
            }
            portion.cells.append(cell)
        }
    }

    private func log(_ portion: Portion) throws {
        // Rows may refer to each other.
        try writeRecords()
        guard !portion.times.isEmpty else { return }
        var group = RowGroup(table: table.name, kind: .insert)
        var rows: [Int] = []
        rows.reserveCapacity(portion.times.count)
        group.identities.reserveCapacity(portion.times.count)
        group.times.reserveCapacity(portion.times.count)
        let keys = plain.keys.bytes
        let isLocal = table.localInteger != nil
        for index in plain.inserts where portion.entries.contains(index) {
            let row = Int(portion.rows[index - portion.entries.lowerBound])
            rows.append(row)
            let entry = plain.entries[index]
            group.identities.append(RowIdentity(unchecked: keys[plain.range(entry)]))
            group.times.append(portion.times[row])
            if isLocal { group.integers.append(entry.rowid) }
        }
        for (position, column) in table.columns.enumerated() {
            group.columns.append(
                RowGroup.Column(
                    name: column.name, referencedTable: column.reference,
                    values: try values(of: position, rows, portion)))
        }
        try transaction.append(group)
    }

    private func values(
        of position: Int, _ rows: [Int], _ portion: Portion
    ) throws -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(rows.count)
        let content = portion.content.bytes
        for row in rows {
            let cell = portion.cells[row * table.columns.count + position]
            switch Int32(cell.type) {
            case SQLITE_INTEGER:
                values.append(try references.logged(.integer(Int64(bitPattern: cell.word)), at: position))
            case Int32(Self.externalType): values.append(portion.external[Int(cell.word)])
            case SQLITE_FLOAT: values.append(.real(Double(bitPattern: cell.word)))
            case SQLITE_TEXT: values.append(.text(content[Int(cell.word)..<Int(cell.word) + Int(cell.count)]))
            case SQLITE_BLOB: values.append(.blob(content[Int(cell.word)..<Int(cell.word) + Int(cell.count)]))
            default: values.append(.null)
            }
        }
        return values
    }
}

extension TrackedTable {
    /// The rows of all pending rows, in the order of ``selectPlainChanges(isByRow:)``.
    var selectPlainRows: String {
        let cells = columns.map { "t.\(SQL.name($0.local))" }.joined(separator: ", ")
        return """
            SELECT \(cells) FROM \(pending) AS p LEFT JOIN \(quoted) AS t ON t.\(rowid) = p.row
            WHERE p.number > ? ORDER BY p.number
            """
    }
}
