import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Moves the entries that a part of a peer's history made to the id that it goes by now, within the caller's write
/// transaction. It is done once for each fork, and looks at every clock record.
struct BranchRows {
    private let store: OpenStore
    private let shownRows: ShownRows
    private let from: Int64
    private let last: UInt64
    private let branch: Int64
    private var connection: Connection { store.connection }

    /// - Parameter last: the last sequence of `from` that stays.
    init(_ store: OpenStore, from: Int64, after last: UInt64, to branch: Int64) {
        self.store = store
        shownRows = ShownRows(store)
        self.from = from
        self.last = last
        self.branch = branch
    }

    func move() throws {
        var undecided: [UndecidedRow] = []
        var formerRows: [FormerRow] = []
        for table in store.catalog.tables { try moveShown(table, &undecided, &formerRows) }
        try moveHidden()
        // Ids break ties between equal times, so what is shown may be another.
        try PolicyChange(store: store, shownRows: shownRows).apply()
        try ShownRowsPass(store, shownRows: shownRows).run(undecided, formerRows: formerRows)
    }

    private func moveShown(
        _ table: TrackedTable, _ undecided: inout [UndecidedRow], _ formerRows: inout [FormerRow]
    ) throws {
        let candidates = try connection.rows(
            "SELECT row FROM \(table.clock) WHERE (peer = ?1 AND sequence > ?2) OR extra IS NOT NULL",
            .integer(from), .integer(Int64(last)))
        for candidate in candidates {
            let position = candidate[0].asInteger
            guard let (full, record, row) = try shownRows.full(at: position, in: table) else { continue }
            var moved = full
            move(&moved.state)
            guard moved.state != full.state else { continue }
            store.countFull(-1, full)
            store.countFull(1, moved)
            let former = FormerRow(table: table, integer: position, values: row.values)
            if try shownRows.updateUncontested(moved, from: record, row, at: position, in: table) {
                if store.referenceRules.to(table).contains(where: { !$0.isByInteger }) { formerRows.append(former) }
                continue
            }
            formerRows.append(former)
            try shownRows.hide(moved, at: position, uniques: record.uniques, in: table)
            undecided.append(UndecidedRow(full: moved, former: former))
        }
    }

    private func moveHidden() throws {
        let hidden = HiddenRows(store)
        for state in HiddenRows.State.allCases {
            for row in try hidden.rows(state) {
                var moved = row
                move(&moved.clock)
                guard moved.clock != row.clock else { continue }
                store.countHidden(-1, row)
                store.countHidden(1, moved)
                // Whether it can stand is decided again.
                moved.waits = nil
                try hidden.put(moved)
            }
        }
    }

    private func move(_ state: inout RowClock) {
        func move(_ stamp: inout Stamp) { (stamp.peer, stamp.sequence) = place(stamp.peer, stamp.sequence) }
        for index in state.inserts.indices { move(&state.inserts[index]) }
        for index in state.deletes.indices { move(&state.deletes[index]) }
        if var base = state.base {
            move(&base)
            state.base = base
        }
        for column in state.cells.keys { state.cells[column] = state.cells[column].map(moved) }
        for name in state.cellsByName.keys { state.cellsByName[name] = state.cellsByName[name].map(moved) }
    }

    private func moved(_ cell: CellState) -> CellState {
        var cell = cell
        for index in cell.versions.indices {
            let stamp = cell.versions[index].stamp
            (cell.versions[index].stamp.peer, cell.versions[index].stamp.sequence) = place(stamp.peer, stamp.sequence)
        }
        for index in cell.additions.indices {
            let addition = cell.additions[index]
            (cell.additions[index].basePeer, cell.additions[index].baseSequence) = place(
                addition.basePeer, addition.baseSequence)
            (cell.additions[index].stamp.peer, cell.additions[index].stamp.sequence) = place(
                addition.stamp.peer, addition.stamp.sequence)
            cell.additions[index].peer = cell.additions[index].stamp.peer
        }
        return cell
    }

    private func place(_ peer: Int64, _ sequence: UInt64) -> (Int64, UInt64) {
        peer == from && sequence > last ? (branch, sequence - last) : (peer, sequence)
    }
}
