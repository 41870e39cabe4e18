import LogSyncModel

/// Moves the entries that a part of a peer's history made to the id that it goes by now, within the caller's write
/// transaction. It is done once for each fork, and looks at every clock record.
struct BranchRows {
    private let session: Session
    private let standing: Standing
    private let from: Int64
    private let last: UInt64
    private let branch: Int64
    private var connection: Connection { session.connection }

    /// - Parameter last: the last sequence of `from` that stays.
    init(_ session: Session, from: Int64, after last: UInt64, to branch: Int64) {
        self.session = session
        standing = Standing(session)
        self.from = from
        self.last = last
        self.branch = branch
    }

    func move() throws {
        var floating: [FloatingRow] = []
        var gone: [GoneRow] = []
        for table in session.catalog.tables { try moveStanding(table, &floating, &gone) }
        try moveKept()
        // Ids break ties between equal times, so what is shown may be another.
        try Redeciding(session: session, standing: standing).redecide()
        try Settling(session, standing: standing).settle(floating, gone: gone) { _, _, _, _ in }
    }

    private func moveStanding(
        _ table: TrackedTable, _ floating: inout [FloatingRow], _ gone: inout [GoneRow]
    ) throws {
        let candidates = try connection.rows(
            "SELECT row FROM \(table.clock) WHERE (peer = ?1 AND sequence > ?2) OR extra IS NOT NULL",
            .integer(from), .integer(Int64(last)))
        for candidate in candidates {
            let position = candidate[0].asInteger
            guard let (full, record, row) = try standing.full(at: position, in: table) else { continue }
            var moved = full
            move(&moved.state)
            guard moved.state != full.state else { continue }
            session.countFull(-1, full)
            session.countFull(1, moved)
            let former = GoneRow(table: table, integer: position, values: row.values)
            if try standing.rewrite(moved, from: record, row, at: position, in: table) {
                if session.foreignRules.to(table).contains(where: { !$0.isByInteger }) { gone.append(former) }
                continue
            }
            gone.append(former)
            try standing.float(moved, at: position, uniques: record.uniques, in: table)
            floating.append(FloatingRow(full: moved, former: former))
        }
    }

    private func moveKept() throws {
        let kept = KeptRows(session)
        for state in KeptRows.State.allCases {
            for row in try kept.rows(state) {
                var moved = row
                move(&moved.clock)
                guard moved.clock != row.clock else { continue }
                session.countKept(-1, row)
                session.countKept(1, moved)
                // Whether it can stand is decided again.
                moved.waits = nil
                try kept.put(moved)
            }
        }
    }

    private func move(_ state: inout ClockState) {
        func move(_ stamp: inout Stamp) { (stamp.peer, stamp.sequence) = place(stamp.peer, stamp.sequence) }
        for index in state.inserts.indices { move(&state.inserts[index]) }
        for index in state.deletes.indices { move(&state.deletes[index]) }
        if var base = state.base {
            move(&base)
            state.base = base
        }
        for column in state.cells.keys { state.cells[column] = state.cells[column].map(moved) }
        for name in state.unknown.keys { state.unknown[name] = state.unknown[name].map(moved) }
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
