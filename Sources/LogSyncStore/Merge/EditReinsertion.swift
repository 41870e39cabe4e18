import LogSyncFormat
import LogSyncModel
import LogSyncState

/// A row that a delete took, with the edits that the delete had not seen.
struct OverriddenRow {
    var table: TrackedTable
    var full: RowState
    /// As it was before.
    var former: RowState
}

/// Brings rows back under `delete-loses`: in the write transaction in which a delete takes a row on which an edit of this
/// peer remains, this peer inserts the row again as it was shown, each cell with its old time.
struct EditReinsertion {
    let store: OpenStore
    let shownRows: ShownRows

    init(_ store: OpenStore, shownRows: ShownRows) {
        self.store = store
        self.shownRows = shownRows
    }

    /// - Parameter undecided: takes up the rows that live again; which of them are shown is to be decided.
    func reinsert(_ lost: [OverriddenRow], in undecided: inout [UndecidedRow]) throws -> RecordedTransaction? {
        guard !lost.isEmpty else { return nil }
        let writer = try TransactionWriter(
            store, milliseconds: store.configuration.clock.now(), schema: try store.schemaFingerprint(),
            author: nil, context: nil)
        for row in lost {
            let time = store.time(above: row.full.state.allStamps)
            let stamp = Stamp(peer: writer.stamp.peer, sequence: writer.stamp.sequence, time: time)
            let cells = cells(of: row)
            var full = row.full
            full.insert(stamp, cells: cells.map { ($0.name, $0.time, $0.value) }, .everything)
            store.countFull(-1, row.full)
            store.countFull(1, full)
            try writer.append(
                row.table, .insert, full.identity, time: time,
                integer: row.table.localInteger == nil ? nil : full.integer ?? 0,
                cells: cells.map { cell in
                    let position = row.table.positions[cell.name.folded]
                    return TransactionWriter.Cell(
                        column: cell.name, reference: position.flatMap { row.table.columns[$0].reference },
                        value: cell.value, time: cell.time)
                })
            writer.notes.note(
                row.table.name, .insert, row.table.primaryKey(of: full.identity, at: full.integer))
            undecided.append(UndecidedRow(full: full, isCounted: false))
        }
        return try writer.finish()
    }

    /// What each cell showed, with the time of the version that it came from.
    private func cells(of row: OverriddenRow) -> [(name: String, time: HybridTime, value: Value)] {
        row.former.state.cellsByName.sorted { $0.key < $1.key }.compactMap { name, cell in
            guard let value = store.shown(cell, row.table.name, name) else { return nil }
            let shown = cell.versions.filter { $0.value == value }
            let time = (shown.isEmpty ? cell.stamps : shown.map(\.stamp)).map(\.time).max() ?? .zero
            return (name, time, value)
        }
    }
}

extension RowState {
    /// Whether a version or an addition that a program of this peer has written is among the cells; what a migration has put
    /// there has no time of its own, and is nobody's edit.
    func hasEdits(of peer: Int64) -> Bool {
        state.cellsByName.values.contains { cell in
            cell.stamps.contains { $0.peer == peer && $0.time.milliseconds != 0 }
        }
    }
}
