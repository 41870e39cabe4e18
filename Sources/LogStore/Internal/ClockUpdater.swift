import LogModel

/// Changes the clock records of rows that stand, one after the other: some cells get a version of one transaction, in
/// place of those that they had.
///
/// It gives what ``ClockTable/update(_:at:formerUniques:)`` gives for ``ClockState/setCell(_:_:)`` of those cells, where the
/// record is not marked and the table has no unique keys beside its own; and it counts the cells' shares of the state
/// digest. A record that is nothing but its base is never spelled out.
final class ClockUpdater {
    private let table: TrackedTable
    private let session: Session
    private let statement: Statement
    private var base = Stamp(peer: 0, sequence: 0, time: .zero)
    /// What the record at hand says; nil where that is just the base.
    private var state: ClockState?

    /// The columns of a record that ``take(_:)`` reads, in this order. `c` is the clock table.
    static let columns = "c.peer, c.sequence, c.time, c.extra"
    /// What holds for records that may be changed in this way.
    static func condition(_ table: TrackedTable) -> String {
        "c.conflict IS NULL AND c.peer <> 0 AND length(c.digests) = \(table.columnCount * 4)"
    }

    init(_ table: TrackedTable, _ session: Session) throws {
        self.table = table
        self.session = session
        statement = try session.connection.prepare(table.updatePlainClock)
    }

    /// Reads the record that a statement's first columns give.
    func take(_ select: Statement) throws {
        base = Stamp(
            peer: select.integer(0), sequence: UInt64(bitPattern: select.integer(1)),
            time: HybridTime(rawValue: UInt64(bitPattern: select.integer(2))))
        state = nil
        guard !select.isNull(3) else { return }
        var read = ClockState(insertedBy: base, columnCount: table.columnCount)
        try ClockCodec.decodeExtra(select.bytes(3), into: &read)
        state = read
    }

    /// The stamps that those cells have now.
    func stamps(of positions: [Int]) -> [Stamp] {
        guard let state else { return [base] }
        return positions.flatMap { state.cell(table.columns[$0].id).stamps }
    }

    /// The stamps of every entry of the row.
    var allStamps: [Stamp] { state?.allStamps ?? [base] }

    /// Takes the shares of the whole row from the state digest.
    func discount(row: UInt64) {
        guard let state else {
            session.count(-1, row: row, column: Session.insertColumn, base)
            for column in table.columnDigests { session.count(-1, row: row, column: column, base) }
            return
        }
        session.count(-1, state, row: row, table: table)
    }

    /// - Parameters:
    ///   - row: the digest of table and identity.
    ///   - changed: `positions` as bits.
    ///   - digests: of all the row's columns by id, little endian; `digest` is the whole row's.
    func write(
        at rowid: Int64, row: UInt64, _ changed: UInt64, _ positions: [Int], _ stamp: Stamp, digests: [UInt32],
        digest: UInt64
    ) throws {
        for position in positions {
            let id = table.columns[position].id
            if let state {
                session.count(-1, state.cell(id), row: row, column: table.columnDigests[id])
            } else {
                session.count(-1, row: row, column: table.columnDigests[id], base)
            }
            session.count(1, row: row, column: table.columnDigests[id], stamp)
        }
        if var state {
            for position in positions {
                state.setCell(
                    table.columns[position].id, CellState(versions: [Version(stamp: stamp, value: nil)]))
            }
            statement.bind(ClockCodec.encodeExtra(state).map { .blob($0[...]) } ?? .null, at: 4)
        } else {
            statement.bind(blob: extra(changed, positions, stamp), at: 4)
        }
        statement.bind(rowid, at: 1)
        statement.bind(Int64(bitPattern: digest), at: 2)
        try digests.withUnsafeBytes {
            statement.bind(lasting: $0, at: 3)
            try statement.run()
        }
    }

    /// By time, of the columns and the transaction that came last.
    private var extras: [HybridTime: Bytes] = [:]
    private var last: (changed: UInt64, peer: Int64, sequence: UInt64)?

    /// What a record that was nothing but its base says once cells have been set. Rows that one statement changed within
    /// one millisecond say the same.
    private func extra(_ changed: UInt64, _ positions: [Int], _ stamp: Stamp) -> Bytes {
        if let last, last == (changed, stamp.peer, stamp.sequence) {
            if let extra = extras[stamp.time] { return extra }
        } else {
            last = (changed, stamp.peer, stamp.sequence)
            extras.removeAll(keepingCapacity: true)
        }
        var state = ClockState(insertedBy: base, columnCount: table.columnCount)
        for position in positions {
            state.setCell(table.columns[position].id, CellState(versions: [Version(stamp: stamp, value: nil)]))
        }
        let extra = (ClockCodec.encodeExtra(state) ?? [])[...]
        if extras.count > 1 << 12 { extras.removeAll(keepingCapacity: true) }
        extras[stamp.time] = extra
        return extra
    }
}

extension TrackedTable {
    var updatePlainClock: String { "UPDATE \(clock) SET digest = ?2, digests = ?3, extra = ?4 WHERE row = ?1" }
}
