import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Writes the clock records of rows that one insert made, some at a time.
///
/// It gives what ``ClockTable/insert(_:at:)`` gives for a record whose state is ``RowClock/init(insertedBy:columnCount:)``
/// with the table's dropped columns spelled out, of a table whose unique keys all have digests; and it counts the row's
/// shares of the state digest. Nothing is allocated for a row but for cells that were set after its insert.
final class BatchClockInserter {
    private let store: OpenStore
    let table: TrackedTable
    private let statement: Statement
    private let storesIdentity: Bool
    private let findsByKeyDigest: Bool
    private var stamp: Stamp
    private var dot: UInt64
    private let ids: [Int]
    /// What a column adds to the state digest, by position; the insert itself first.
    private let shares: [UInt64]
    private let record: UnsafeMutableBufferPointer<UInt32>
    private var keyDigests = KeyDigests()
    /// The ids of columns of which the inserts say nothing.
    private let absent: [Int]
    /// What a record says of dropped columns, and of absent ones.
    private let extra: [UInt8]?
    private let batch = RowsParameter(width: 9)
    /// One a record of the batch, written or not.
    private var waiting: [PendingRow] = []
    /// The digests of the row's values by column position, to be set before ``append(at:identity:_:cells:)``.
    let digests: UnsafeMutableBufferPointer<UInt64>
    /// The digests of the row's unique keys beside the table's own, by slot; to be set like ``digests``.
    var uniques: [Int32] = []

    /// What takes a record back.
    private struct PendingRow {
        var row: Int64
        /// Of table and identity.
        var digest: UInt64
        /// Of the insert's dot.
        var dot: UInt64
        var stamp: Stamp
        var cells: [Int: Stamp]
    }

    /// - Parameters:
    ///   - stamp: of the transaction of which most rows are.
    ///   - absent: the ids of columns of which the inserts say nothing.
    init(_ table: TrackedTable, _ store: OpenStore, _ stamp: Stamp, without absent: [Int] = []) throws {
        self.store = store
        self.table = table
        storesIdentity = table.storesIdentity
        findsByKeyDigest = table.findsByKeyDigest
        ids = table.columns.map(\.id)
        self.absent = absent
        shares = [StateDigest.insertColumn] + ids.filter { !absent.contains($0) }.map { table.columnDigests[$0] }
        self.stamp = stamp
        dot = store.dotDigest(stamp)
        record = .allocate(capacity: table.columnCount)
        record.initialize(repeating: 0)
        digests = .allocate(capacity: table.columns.count)
        digests.initialize(repeating: 0)
        extra = Self.extra(table, stamp, [:], absent)
        statement = try store.connection.prepare(table.appendClocks, readingRowsOf: batch.width)
    }

    private static func extra(
        _ table: TrackedTable, _ stamp: Stamp, _ cells: [Int: Stamp], _ absent: [Int]
    ) -> [UInt8]? {
        // A cell of the insert's own stamp is not spelled out.
        if table.droppedColumns.isEmpty, absent.isEmpty, let last = cells.values.first, last != stamp,
            cells.values.allSatisfy({ $0 == last })
        {
            return ClockCodec.encodeExtra(cells.keys.sorted(), setBy: last)
        }
        var state = RowClock(insertedBy: stamp, in: table)
        for column in absent { state.setCell(column, CellState()) }
        for (column, stamp) in cells {
            state.setCell(column, CellState(versions: [Version(stamp: stamp, value: nil)]))
        }
        return ClockCodec.encodeExtra(state)
    }

    deinit {
        record.deallocate()
        digests.deallocate()
    }

    /// How many records there are in the batch.
    var count: Int { waiting.count }

    /// Adds the record of a row to the batch.
    ///
    /// - Parameters:
    ///   - identity: its bytes.
    ///   - stamp: the insert's.
    ///   - cells: the cells that were set after it, by column id.
    func append(at row: Int64, identity: UnsafeRawBufferPointer, _ stamp: Stamp, cells: [Int: Stamp] = [:]) {
        if stamp.peer != self.stamp.peer || stamp.sequence != self.stamp.sequence {
            self.stamp = stamp
            dot = store.dotDigest(stamp)
        }
        var sum: UInt64 = 0
        for position in digests.indices {
            sum &+= Digest.mix(digests[position], UInt64(ids[position]))
            record[ids[position]] = UInt32(truncatingIfNeeded: digests[position]).littleEndian
        }
        let content = Digest.of(bytes: identity, seed: Digest.blobSeed)
        let isNamed = storesIdentity || identity[0] == 0
        batch.append(row)
        if isNamed { batch.append(blob: identity) } else { batch.appendNull() }
        batch.append(stamp.peer)
        batch.append(Int64(bitPattern: stamp.sequence))
        batch.append(Int64(bitPattern: stamp.time.rawValue))
        batch.append(Int64(bitPattern: sum))
        batch.append(blob: UnsafeRawBufferPointer(record))
        if let extra = cells.isEmpty ? extra : Self.extra(table, stamp, cells, absent) {
            extra.withUnsafeBytes { batch.append(blob: $0) }
        } else {
            batch.appendNull()
        }
        if !uniques.isEmpty {
            uniques.withUnsafeBytes { batch.append(blob: $0) }
        } else if findsByKeyDigest && !isNamed {
            batch.append(blob: identity)
        } else {
            batch.appendNull()
        }
        if findsByKeyDigest && identity[0] != 0 { keyDigests.append(TrackedTable.fold(content), row: row) }
        for digest in uniques where digest != 0 { keyDigests.append(digest, row: row) }
        let row = PendingRow(
            row: row, digest: Digest.mix(table.nameDigest, content), dot: dot, stamp: stamp, cells: cells)
        waiting.append(row)
        count(row, 1)
    }

    /// Counts a row's shares of the state digest, or takes them back.
    private func count(_ row: PendingRow, _ sign: Int) {
        var sum: UInt64 = 0
        for share in shares { sum &+= Digest.mix(row.digest &+ share, row.dot) }
        store.stateDigest = sign > 0 ? store.stateDigest &+ sum : store.stateDigest &- sum
        for (id, own) in row.cells {
            store.count(-sign, row: row.digest, column: table.columnDigests[id], row.stamp)
            store.count(sign, row: row.digest, column: table.columnDigests[id], own)
        }
    }

    /// Leaves records out that are not written yet, by their place in the batch.
    func drop(_ places: [Int]) {
        for place in places { batch.drop(place) }
        forget(places)
    }

    private func forget(_ places: [Int]) {
        guard !places.isEmpty else { return }
        for place in places { count(waiting[place], -1) }
        keyDigests.forget(Set(places.map { waiting[$0].row }))
    }

    /// Writes the batch.
    ///
    /// - Returns: the places of records that were left out because there is one of the row, or of its identity.
    func write() throws -> [Int] {
        let refused = try batch.write(with: statement, on: store.connection)
        forget(refused)
        return refused
    }

    /// Takes back records that were written, by their place in the batch.
    func remove(_ places: [Int]) throws {
        for place in places { try store.connection.run(table.deleteClock, .integer(waiting[place].row)) }
        forget(places)
    }

    /// Begins another batch.
    func removeAll() {
        batch.removeAll()
        waiting.removeAll(keepingCapacity: true)
    }

    /// Puts down what was kept back, once all records are written. Call it before anything looks for one of the rows by its
    /// key.
    func flush() throws {
        try keyDigests.write(to: table, on: store.connection)
    }
}
