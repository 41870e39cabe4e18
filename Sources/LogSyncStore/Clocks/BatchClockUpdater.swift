import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Changes the clock records of rows that stand, one after the other: some cells get a version of one transaction, in
/// place of the entries that they had.
///
/// It gives what ``ClockTable/update(_:at:formerUniques:)`` gives for ``RowClock/setCell(_:_:)`` of those cells, where the
/// record is marked as contested at most and the table's unique keys all have digests; and it counts the cells' shares
/// of the state digest. A record that is nothing but its base is never spelled out.
final class BatchClockUpdater {
    private let table: TrackedTable
    private let store: OpenStore
    private let statement: Statement
    private var base = Stamp(peer: 0, sequence: 0, time: .zero)
    /// What the record at hand says; nil where that is just the base.
    private var state: RowClock?

    /// The digests of the unique keys beside the table's own that the record at hand has, by slot.
    private(set) var uniques: [Int32] = []

    /// The columns of a record that ``take(_:from:)`` reads, in this order. `c` is the clock table.
    static let columns = "c.peer, c.sequence, c.time, c.extra, c.uniques"
    /// How many those are.
    static let columnCount = 5
    /// What holds for records that may be changed in this way. Not in terms of which an index would be looked through.
    static func condition(_ table: TrackedTable) -> String {
        "coalesce(c.conflict, 1) = 1 AND c.peer <> 0 AND length(c.digests) = \(table.columnCount * 4)"
    }

    init(_ table: TrackedTable, _ store: OpenStore) throws {
        self.table = table
        self.store = store
        statement = try store.connection.prepare(table.updateBaseClock)
    }

    /// Reads the record that a statement's columns give, from `first` on.
    func take(_ select: Statement, from first: Int = 0) throws {
        base = Stamp(
            peer: select.integer(first), sequence: UInt64(bitPattern: select.integer(first + 1)),
            time: HybridTime(rawValue: UInt64(bitPattern: select.integer(first + 2))))
        state = nil
        if !table.uniqueSlots.isEmpty { uniques = ClockTable.uniques(select, first + 4) }
        guard !select.isNull(first + 3) else { return }
        var read = RowClock(insertedBy: base, columnCount: table.columnCount)
        try ClockCodec.decodeExtra(select.bytes(first + 3), into: &read)
        state = read
    }

    /// Whether a condition holds for the stamp of every entry that those cells have now.
    func allSatisfy(_ positions: [Int], _ condition: (Stamp) -> Bool) -> Bool {
        guard let state else { return condition(base) }
        return positions.allSatisfy { state.cell(table.columns[$0].id).stamps.allSatisfy(condition) }
    }

    /// The latest time of any entry that those cells have now.
    func latest(of positions: [Int]) -> HybridTime {
        guard let state else { return base.time }
        return positions.lazy.flatMap { state.cell(self.table.columns[$0].id).stamps }.map(\.time).max() ?? .zero
    }

    /// The latest time of any entry of the row.
    var latest: HybridTime { state?.allStamps.map(\.time).max() ?? base.time }

    /// The entries that a column has now.
    func cell(_ id: Int) -> CellState {
        state?.cell(id) ?? CellState(versions: [Version(stamp: base, value: nil)])
    }

    /// The cells of columns that are not here, by name.
    var cellsByName: [String: CellState] { state?.cellsByName ?? [:] }

    /// The stamps of every entry of the row.
    var allStamps: [Stamp] { state?.allStamps ?? [base] }

    /// Takes the shares of the whole row from the state digest.
    func discount(row: UInt64) {
        guard let state else {
            store.count(-1, row: row, column: StateDigest.insertColumn, base)
            for column in table.columnDigests { store.count(-1, row: row, column: column, base) }
            return
        }
        store.count(-1, state, row: row, table: table)
    }

    /// Gives cells one version each, in place of all that they had.
    ///
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
                store.count(-1, state.cell(id), row: row, column: table.columnDigests[id])
            } else {
                store.count(-1, row: row, column: table.columnDigests[id], base)
            }
            store.count(1, row: row, column: table.columnDigests[id], stamp)
        }
        if var state {
            for position in positions {
                state.setCell(
                    table.columns[position].id, CellState(versions: [Version(stamp: stamp, value: nil)]))
            }
            bind(state)
        } else {
            bindExtra(changed, positions, stamp)
        }
        try write(at: rowid, digests, digest)
    }

    /// Gives cells other entries.
    ///
    /// - Parameters:
    ///   - row: the digest of table and identity.
    ///   - cells: by column id; versions whose value the row shows are not spelled out.
    ///   - digests: of all the row's columns by id, little endian; `digest` is the whole row's.
    func write(
        at rowid: Int64, row: UInt64, _ cells: [(id: Int, cell: CellState)], digests: [UInt32], digest: UInt64
    ) throws {
        var state = state ?? RowClock(insertedBy: base, columnCount: table.columnCount)
        for (id, cell) in cells {
            store.count(-1, state.cell(id), row: row, column: table.columnDigests[id])
            store.count(1, cell, row: row, column: table.columnDigests[id])
            state.setCell(id, cell)
        }
        bind(state)
        try write(at: rowid, digests, digest)
    }

    /// Follows the row's unique keys beside the table's own.
    func follow(uniques: [Int32], at rowid: Int64) throws {
        guard uniques != self.uniques else { return }
        let clock = ClockTable(table: table, connection: store.connection)
        try store.connection.run(
            table.updateUniques, .integer(rowid), .blob(uniques.withUnsafeBytes { Array($0)[...] }))
        try clock.removeUniques(self.uniques, row: rowid)
        try clock.addUniques(uniques, row: rowid)
    }

    private func bind(_ state: RowClock) {
        last = nil
        statement.bind(ClockCodec.encodeExtra(state).map { .blob($0[...]) } ?? .null, at: 4)
        if state.isContested { statement.bind(ClockRecord.contested, at: 5) } else { statement.bindNull(at: 5) }
    }

    private func write(at rowid: Int64, _ digests: [UInt32], _ digest: UInt64) throws {
        statement.bind(rowid, at: 1)
        statement.bind(Int64(bitPattern: digest), at: 2)
        try digests.withUnsafeBytes {
            statement.bind(lasting: $0, at: 3)
            try statement.run()
        }
    }

    /// What is bound for the record's cells, where they were nothing but their base.
    private var last: (changed: UInt64, stamp: Stamp)?
    /// The ids of the columns that have changed, ascending.
    private var lastIDs: (changed: UInt64, ids: [Int]) = (0, [])

    /// Binds what a record that was nothing but its base says once cells have been set. Rows that one statement changed
    /// within one millisecond say the same.
    private func bindExtra(_ changed: UInt64, _ positions: [Int], _ stamp: Stamp) {
        if let last, last == (changed, stamp) { return }
        if lastIDs.changed != changed { lastIDs = (changed, positions.map { table.columns[$0].id }.sorted()) }
        statement.bind(blob: ClockCodec.encodeExtra(lastIDs.ids, setBy: stamp)[...], at: 4)
        statement.bindNull(at: 5)
        last = (changed, stamp)
    }
}

extension TrackedTable {
    fileprivate var updateUniques: String { "UPDATE \(clock) SET uniques = ?2 WHERE row = ?1" }
    var updateBaseClock: String {
        "UPDATE \(clock) SET digest = ?2, digests = ?3, extra = ?4, conflict = ?5 WHERE row = ?1"
    }
}
