import LogSyncModel
import LogSyncState

/// Columns to which programs add, under the policy `sum`.
extension RowRecorder {
    /// A counter that was counted up or down.
    struct CountedCell {
        var position: Int
        /// The version since which additions are summed up.
        var base: Stamp
        /// What this peer had added to it before.
        var former: Addition?
        var cumulative: Value
    }

    /// Takes the counters that were counted up or down out of the changed columns.
    func takeCounted(from changed: inout [Int], of row: Row, _ record: ClockRecord) -> [CountedCell] {
        let counters = store.counters(of: table)
        guard !counters.isEmpty else { return [] }
        var counted: [CountedCell] = []
        changed.removeAll { position in
            guard counters.contains(position) else { return false }
            let cell = record.state.cell(table.columns[position].id)
            guard cell.versions.allSatisfy({ $0.value != nil }),
                let base = cell.versions.map(\.stamp).max(by: store.precedes),
                let shown = store.shown(cell, table.name, table.columns[position].name),
                let written = written(row, to: position, showing: shown),
                let amount = Counter.difference(from: shown, to: written)
            else { return false }
            let own = cell.additions.first {
                $0.basePeer == base.peer && $0.baseSequence == base.sequence && $0.peer == store.own
            }
            // One that does not come to what was written is recorded as a value.
            guard let cumulative = own.map({ Counter.add($0.cumulative, amount) }) ?? amount,
                let sum = sum(cell, base, cumulative, at: position),
                Counter.tells(amount, from: shown, to: written, sum: sum)
            else { return false }
            if !Counter.isZero(amount) {
                counted.append(CountedCell(position: position, base: base, former: own, cumulative: cumulative))
            }
            return true
        }
        return counted
    }

    /// What a counter would hold if what other peers have added while its column was left alone had been shown.
    private func written(_ row: Row, to position: Int, showing shown: Value) -> Value? {
        let undecided = recorder.findings.undecidedWrites[table.id]
        guard let held = undecided?.sum(of: table.columns[position].id, in: row.identity) else { return row[position] }
        return Counter.difference(from: held, to: shown).flatMap { Counter.add(row[position], $0) }
    }

    /// What a counter shows when this peer has added so much to a base.
    private func sum(_ cell: CellState, _ base: Stamp, _ cumulative: Value, at position: Int) -> Value? {
        var counted = cell
        counted.additions.removeAll {
            $0.basePeer == base.peer && $0.baseSequence == base.sequence && $0.peer == store.own
        }
        counted.additions.append(
            Addition(
                basePeer: base.peer, baseSequence: base.sequence, peer: store.own, stamp: base, cumulative: cumulative))
        return store.shown(counted, table.name, table.columns[position].name)
    }

    /// Puts additions into the record, and gives the cells that say so.
    func add(
        _ counted: [CountedCell], _ stamp: Stamp, to record: inout ClockRecord, row: UInt64
    ) -> [TransactionWriter.Cell] {
        counted.map { counted in
            let column = table.columns[counted.position]
            var cell = record.state.cell(column.id)
            if let former = counted.former {
                store.count(-1, row: row, column: table.columnDigests[column.id], former.stamp)
                cell.additions.removeAll { $0 == former }
            }
            store.count(1, row: row, column: table.columnDigests[column.id], stamp)
            cell.additions.append(
                Addition(
                    basePeer: counted.base.peer, baseSequence: counted.base.sequence, peer: stamp.peer, stamp: stamp,
                    cumulative: counted.cumulative))
            record.state.setCell(column.id, cell)
            return TransactionWriter.Cell(
                column: column.name, operation: .add, value: counted.cumulative,
                base: Dot(store.peers.id(counted.base.peer), counted.base.sequence))
        }
    }
}
