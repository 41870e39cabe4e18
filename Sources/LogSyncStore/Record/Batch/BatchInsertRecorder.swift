import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Records rows that were inserted (``SimpleChanges``): reads them in the order in which they were written, which is that of their
/// clock records, and logs them in the order of their keys, which is how they merge best.
///
/// ``Recorder`` gives such a row the same clock record, the same time and the same cells.
struct BatchInsertRecorder {
    private let plain: SimpleChanges
    private let recorder: Recorder
    private let transaction: TransactionWriter
    private let clock: BatchClockInserter
    private let references: ParentIdentityCache

    private var table: TrackedTable { plain.table }

    /// Some rows, row by row. More than fit in memory are in order by portions.
    private struct Portion {
        /// Indexes of entries, whatever they are.
        var entries: Range<Int>
        /// Numbers of rows here, by entry.
        var rows: [Int32] = []
        /// By row.
        var times: [HybridTime] = []
        var cells: RowBuffer
    }

    init(_ plain: SimpleChanges, _ recorder: Recorder) throws {
        self.plain = plain
        self.recorder = recorder
        transaction = try recorder.transaction()
        clock = try BatchClockInserter(plain.table, plain.store, transaction.stamp)
        references = ParentIdentityCache(plain.table, recorder)
    }

    func write() throws {
        if let kept = plain.takeCells() { try writeKept(kept) } else { try writeRead() }
        try clock.flush()
    }

    /// Of rows that were kept when the pending rows were read.
    private func writeKept(_ kept: SimpleChanges.Cells) throws {
        var portion = Portion(entries: plain.entries.indices, rows: kept.rows, cells: kept.cells)
        portion.times = [HybridTime](repeating: .zero, count: kept.cells.count)
        for index in plain.entries.indices where isTaken(index) {
            try record(Int(kept.rows[index]), index, in: &portion)
        }
        try log(portion)
    }

    /// Of rows that are read again: they are too many to be kept.
    private func writeRead() throws {
        let statement = try plain.store.connection.prepare(table.selectPlainRows)
        statement.bind(table.recorded, at: 1)
        defer { statement.reset() }
        let none = Portion(entries: 0..<0, cells: RowBuffer(width: table.columns.count))
        var portion = none
        var index = 0
        while try statement.step() {
            if isTaken(index) {
                let row = portion.cells.count
                portion.rows.append(Int32(row))
                portion.times.append(.zero)
                portion.cells.append(statement, from: 0)
                try record(row, index, in: &portion)
            } else {
                portion.rows.append(-1)
            }
            index += 1
            portion.entries = portion.entries.lowerBound..<index
            if portion.cells.size > plain.store.configuration.recordingMemory {
                try log(portion)
                portion = none
                portion.entries = index..<index
            }
        }
        try log(portion)
    }

    private func isTaken(_ index: Int) -> Bool { plain.entries[index].isPlain && plain.entries[index].is(.insert) }

    /// Makes the clock record of a row, and puts values of it into blobs that are too large for a log.
    private func record(_ row: Int, _ index: Int, in portion: inout Portion) throws {
        let entry = plain.entries[index]
        var stamp = transaction.stamp
        stamp.time = recorder.raised(entry.milliseconds, above: nil)
        portion.times[row] = stamp.time
        portion.cells.digest(row, into: clock.digests)
        clock.uniques = plain.uniques(entry)
        plain.keys.bytes.withUnsafeBytes {
            let identity = $0[plain.range(entry)]
            clock.append(at: entry.rowid, identity: UnsafeRawBufferPointer(rebasing: identity), stamp)
        }
        if clock.count == RowsParameter.batch { try writeRecords() }
        for position in table.columns.indices where transaction.isLarge(portion.cells.byteCount(row, position)) {
            let identity = RowIdentity(unchecked: plain.keys.bytes[plain.range(entry)])
            let value = try transaction.logged(
                portion.cells.value(row, position), table.columns[position].name, of: identity, in: table)
            portion.cells.replace(row, position, with: value)
        }
    }

    private func writeRecords() throws {
        guard try clock.write().isEmpty else { throw Self.alreadyRecorded(table) }
        clock.removeAll()
    }

    private static func alreadyRecorded(_ table: TrackedTable) -> LogSyncError {
        LogSyncError(
            .invalidStore, "a row of \(table.name) has a clock record that it should not have; nothing was recorded",
            help: "Run `logsync rescan` on the store.")
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
                    values: try portion.cells.values(of: position, rows) {
                        try references.logged(.integer($0), at: position)
                    }))
        }
        try transaction.append(group)
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
