import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Phase `writeInsertsAndUpdates` for rows that were inserted and nothing else (``SimpleChanges``): reads them in the
/// order in which they were written, which is that of their clock records, and logs them in the order of their keys,
/// which is how they merge best.
///
/// ``RowRecorder`` gives such a row the same clock record, the same time and the same cells.
struct BatchInsertRecorder {
    private let simple: SimpleChanges
    private let recorder: Recorder
    private let transaction: TransactionWriter
    private let clock: BatchClockInserter
    private let references: ParentIdentityCache

    private var table: TrackedTable { simple.table }

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

    init(_ simple: SimpleChanges, _ recorder: Recorder) throws {
        self.simple = simple
        self.recorder = recorder
        transaction = try recorder.transaction()
        clock = try BatchClockInserter(simple.table, simple.store, transaction.stamp)
        references = ParentIdentityCache(simple.table, recorder)
    }

    func write() throws {
        if let cells = simple.takeCells() { try write(cells) } else { try writeAgain() }
        try clock.flush()
    }

    /// Writes rows as they were read with the pending rows.
    private func write(_ cells: SimpleChanges.Cells) throws {
        var portion = Portion(entries: simple.entries.indices, rows: cells.rows, cells: cells.cells)
        portion.times = [HybridTime](repeating: .zero, count: cells.cells.count)
        for index in simple.entries.indices where isTaken(index) {
            try record(Int(cells.rows[index]), index, in: &portion)
        }
        try log(portion)
    }

    /// Writes rows that are read again, because they were too many to be held in memory.
    private func writeAgain() throws {
        let statement = try simple.store.connection.prepare(table.selectSimpleRows)
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
            if portion.cells.size > simple.store.configuration.recordingMemory {
                try log(portion)
                portion = none
                portion.entries = index..<index
            }
        }
        try log(portion)
    }

    private func isTaken(_ index: Int) -> Bool { simple.entries[index].isSimple && simple.entries[index].is(.insert) }

    /// Makes the clock record of a row, and puts values of it into blobs that are too large for a log.
    private func record(_ row: Int, _ index: Int, in portion: inout Portion) throws {
        let entry = simple.entries[index]
        var stamp = transaction.stamp
        stamp.time = recorder.time(captured: simple.milliseconds(of: entry), above: nil)
        portion.times[row] = stamp.time
        portion.cells.digest(row, by: table.valueDigest, into: clock.digests)
        clock.uniques = simple.uniques(entry)
        simple.keys.bytes.withUnsafeBytes {
            let identity = $0[simple.range(entry)]
            clock.append(at: entry.rowid, identity: UnsafeRawBufferPointer(rebasing: identity), stamp)
        }
        if clock.count == RowsParameter.batch { try writeRecords() }
        for position in table.columns.indices where transaction.isLarge(portion.cells.byteCount(row, position)) {
            let identity = RowIdentity(unchecked: simple.keys.bytes[simple.range(entry)])
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
        let entries = simple.inserts.filter(portion.entries.contains)
        let rows = entries.map { Int(portion.rows[$0 - portion.entries.lowerBound]) }
        note(portion, rows)
        // Each is encoded while the next is put together.
        let count = max(1, rows.count * TransactionWriter.portion / max(1, portion.cells.size))
        for start in stride(from: 0, to: rows.count, by: count) {
            let places = start..<min(start + count, rows.count)
            try transaction.append(group(of: portion, entries[places], Array(rows[places])))
        }
    }

    /// - Parameter rows: the entries' places in the portion.
    private func group(of portion: Portion, _ entries: ArraySlice<Int>, _ rows: [Int]) throws -> RowGroup {
        let keys = simple.keys.bytes
        var group = RowGroup(table: table.name, kind: .insert)
        group.identities = entries.map { RowIdentity(unchecked: keys[simple.range(simple.entries[$0])]) }
        group.times = rows.map { portion.times[$0] }
        if table.localInteger != nil { group.integers = entries.map { simple.entries[$0].rowid } }
        group.columns = try table.columns.enumerated().map { position, column in
            RowGroup.Column(
                name: column.name, referencedTable: column.reference,
                values: try portion.cells.values(of: position, rows) {
                    try references.logged(.integer($0), at: position)
                })
        }
        return group
    }

    private func note(_ portion: Portion, _ rows: [Int]) {
        let key = table.primaryKeyPositions
        transaction.notes.withChanges(of: table.name) { changes in
            let listed = max(0, TableChanges.maximumKeys - changes.inserted.count)
            if key.isEmpty {
                let entries = simple.inserts.lazy.filter(portion.entries.contains)
                for index in entries.prefix(listed) { changes.note(.insert, [.integer(simple.entries[index].rowid)]) }
            } else {
                for row in rows.prefix(listed) { changes.note(.insert, key.map { portion.cells.value(row, $0) }) }
            }
            changes.counts.inserted += max(0, rows.count - listed)
        }
    }
}

extension TrackedTable {
    /// The rows of all pending rows, in the order of ``selectSimpleChanges(isByRow:)``.
    fileprivate var selectSimpleRows: String {
        let cells = columns.map { "t.\(SQL.name($0.local))" }.joined(separator: ", ")
        return """
            SELECT \(cells) FROM \(pending) AS p LEFT JOIN \(quoted) AS t ON t.\(rowid) = p.row
            WHERE p.number > ? ORDER BY p.number
            """
    }
}
