import LogModel

/// Writes the clock records of rows that one insert made, one after the other.
///
/// It gives what ``ClockTable/insert(_:at:)`` gives for a record whose state is ``ClockState/init(insertedBy:columnCount:)``
/// with the table's dropped columns spelled out, of a table whose unique keys all have digests; and it counts the row's
/// shares of the state digest. What all rows have in common is bound once, and nothing is allocated for a row but for
/// unique keys beside the table's own.
final class ClockAppender {
    private let session: Session
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
    /// The digests of the row's values by column position, to be set before ``append(at:identity:time:)``.
    let digests: UnsafeMutableBufferPointer<UInt64>
    /// The digests of the row's unique keys beside the table's own, by slot; to be set like ``digests``.
    var uniques: [Int32] = []

    /// Whether the records of a table's new rows are as simple as this.
    static func suits(_ table: TrackedTable, _ session: Session) -> Bool {
        table.hasRowid && !table.hasOpaqueUnique && session.counters(of: table).isEmpty
    }

    /// - Parameter stamp: of the transaction; each row has its own time.
    init(_ table: TrackedTable, _ session: Session, _ stamp: Stamp) throws {
        self.session = session
        self.table = table
        storesIdentity = table.storesIdentity
        findsByKeyDigest = table.findsByKeyDigest
        ids = table.columns.map(\.id)
        shares = [Session.insertColumn] + ids.map { table.columnDigests[$0] }
        self.stamp = stamp
        dot = session.dotDigest(stamp)
        record = .allocate(capacity: table.columnCount)
        record.initialize(repeating: 0)
        digests = .allocate(capacity: table.columns.count)
        digests.initialize(repeating: 0)
        statement = try session.connection.prepare(table.appendClock)
        statement.bindNull(at: 2)
        statement.bindNull(at: 9)
        bindStamp()
        bindExtra([:])
    }

    private func bindStamp() {
        statement.bind(stamp.peer, at: 3)
        statement.bind(Int64(bitPattern: stamp.sequence), at: 4)
    }

    private func bindExtra(_ cells: [Int: Stamp]) {
        var state = ClockState(insertedBy: stamp, columnCount: table.columnCount)
        for column in table.droppedColumns { state.setCell(column, CellState()) }
        for (column, stamp) in cells {
            state.setCell(column, CellState(versions: [Version(stamp: stamp, value: nil)]))
        }
        if let extra = ClockCodec.encodeExtra(state) {
            statement.bind(blob: extra[...], at: 8)
        } else {
            statement.bindNull(at: 8)
        }
    }

    deinit {
        record.deallocate()
        digests.deallocate()
    }

    /// Takes the digest of each of the row's values from a statement.
    @inline(__always)
    func takeDigests(_ statement: Statement, from first: Int) {
        for position in digests.indices { digests[position] = statement.digest(first + position) }
    }

    /// - Parameters:
    ///   - identity: its bytes.
    /// - Returns: false where there is a record of that row, or of that identity; then nothing was changed.
    func append(at row: Int64, identity: UnsafeRawBufferPointer, time: HybridTime) throws -> Bool {
        var sum: UInt64 = 0
        for position in digests.indices {
            sum &+= Digest.mix(digests[position], UInt64(ids[position]))
            record[ids[position]] = UInt32(truncatingIfNeeded: digests[position]).littleEndian
        }
        let content = Digest.of(bytes: identity, seed: Digest.blobSeed)
        statement.bind(row, at: 1)
        if storesIdentity || identity[0] == 0 {
            statement.bind(lasting: identity, at: 2)
        } else if findsByKeyDigest {
            statement.bind(lasting: identity, at: 9)
        }
        statement.bind(Int64(bitPattern: time.rawValue), at: 5)
        statement.bind(Int64(bitPattern: sum), at: 6)
        statement.bind(lasting: UnsafeRawBufferPointer(record), at: 7)
        if !uniques.isEmpty { uniques.withUnsafeBytes { statement.bind(blob: Array($0)[...], at: 9) } }
        guard try statement.writeOrRefuse() else { return false }
        if findsByKeyDigest && identity[0] != 0 { keyDigests.append(TrackedTable.fold(content), row: row) }
        for digest in uniques where digest != 0 { keyDigests.append(digest, row: row) }
        count(Digest.mix(table.nameDigest, content))
        return true
    }

    /// A row of any transaction, of which some cells were set after its insert.
    ///
    /// - Parameter cells: those, by column id.
    func append(
        at row: Int64, identity: UnsafeRawBufferPointer, _ stamp: Stamp, cells: [Int: Stamp]
    ) throws -> Bool {
        if stamp.peer != self.stamp.peer || stamp.sequence != self.stamp.sequence {
            self.stamp = stamp
            dot = session.dotDigest(stamp)
            bindStamp()
        }
        guard !cells.isEmpty else { return try append(at: row, identity: identity, time: stamp.time) }
        self.stamp.time = stamp.time
        bindExtra(cells)
        defer { bindExtra([:]) }
        guard try append(at: row, identity: identity, time: stamp.time) else { return false }
        let digest = Digest.mix(table.nameDigest, Digest.of(bytes: identity, seed: Digest.blobSeed))
        for (id, own) in cells {
            session.count(-1, row: digest, column: table.columnDigests[id], stamp)
            session.count(1, row: digest, column: table.columnDigests[id], own)
        }
        return true
    }

    /// Takes back what was appended.
    func remove(at row: Int64, _ identity: RowIdentity, _ stamp: Stamp, cells: [Int: Stamp]) throws {
        try session.connection.run(table.deleteClock, .integer(row))
        keyDigests.forget(row)
        var state = ClockState(insertedBy: stamp, columnCount: table.columnCount)
        for column in table.droppedColumns { state.setCell(column, CellState()) }
        for (column, stamp) in cells {
            state.setCell(column, CellState(versions: [Version(stamp: stamp, value: nil)]))
        }
        session.count(-1, state, row: session.rowDigest(table, identity), table: table)
    }

    private func count(_ row: UInt64) {
        var sum: UInt64 = 0
        for share in shares { sum &+= Digest.mix(row &+ share, dot) }
        session.stateDigest &+= sum
    }

    /// Puts down what was kept back. Call it before anything looks for one of the rows by its key.
    func flush() throws {
        try keyDigests.write(to: table, on: session.connection)
    }
}

/// Digests of keys by which records are found, collected so that they are written or removed in their own order: one by
/// one they would scatter over their table.
struct KeyDigests {
    private var entries: [Entry] = []

    private struct Entry {
        var digest: Int32
        var row: Int64
    }

    @inline(__always)
    mutating func append(_ digest: Int32, row: Int64) { entries.append(Entry(digest: digest, row: row)) }

    /// Takes back what was appended last, of one row.
    mutating func forget(_ row: Int64) {
        while entries.last?.row == row { entries.removeLast() }
    }

    mutating func write(to table: TrackedTable, on connection: Connection) throws {
        try run(table.insertUnique, on: connection)
    }

    mutating func remove(from table: TrackedTable, on connection: Connection) throws {
        try run(table.deleteUnique, on: connection)
    }

    private mutating func run(_ sql: @autoclosure () -> String, on connection: Connection) throws {
        guard !entries.isEmpty else { return }
        entries.sort { $0.digest == $1.digest ? $0.row < $1.row : $0.digest < $1.digest }
        let statement = try connection.prepare(sql())
        for entry in entries {
            statement.bind(Int64(entry.digest), at: 1)
            statement.bind(entry.row, at: 2)
            try statement.run()
        }
        entries.removeAll(keepingCapacity: true)
    }
}
