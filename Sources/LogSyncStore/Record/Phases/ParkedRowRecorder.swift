import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Records what a migration means for rows that are parked: they are in no table, so that nothing goes over them and no
/// trigger notes it.
///
/// A column that has come holds in them what the migration has put into all other rows, where that is one value: they
/// come back under a NOT NULL that the program filled by itself. One that is folded holds there what the row does which
/// is shown in its place, be it a key: nothing else tells what the migration would have made of it. A number of this
/// peer's in a column that refers to rows now becomes the row that has it here, and a reference in a column that names
/// rows by other keys now the key of its row.
struct ParkedRowRecorder {
    let recorder: Recorder

    private var store: OpenStore { recorder.store }

    /// What one row is given.
    private struct Given {
        var column: TrackedTable.Column
        var value: Value
        /// nil for a fill.
        var time: HybridTime?
    }

    static func isNeeded(_ store: OpenStore, _ findings: SchemaFindings) -> Bool {
        store.hasHidden
            && (findings.newColumns.values.contains { !$0.isEmpty } || !findings.newReferences.isEmpty
                || !findings.namingChanges.isEmpty)
    }

    /// Call it when the rows of all tables have been recorded.
    func record() throws {
        guard Self.isNeeded(store, recorder.findings) else { return }
        for table in store.catalog.tables {
            let new = recorder.findings.newColumns[table.id] ?? []
            let references = recorder.findings.newReferences[table.id]
            let ended = recorder.findings.namingChanges[table.id] ?? [:]
            guard !new.isEmpty || references != nil || !ended.isEmpty else { continue }
            for row in try HiddenRows(store).rows(.parked, of: table.name) {
                var given: [Given] = []
                for (position, column) in table.columns.enumerated() {
                    let cell = row.clock.cellsByName.first { $0.key.folded == column.name.folded }?.value
                    if new.contains(column.id), cell?.isEmpty ?? true,
                        let value = try fill(position, of: row, in: table),
                        value != store.defaultValue(of: table, position)
                    {
                        given.append(
                            Given(column: column, value: try recorder.translated(value, position, in: table), time: nil)
                        )
                    } else if let references, references.columns.contains(column.id), let cell,
                        let reference = try reference(cell, position, in: table, references.own)
                    {
                        given.append(reference)
                    } else if ended[column.id] != nil, let cell, let key = try key(cell, column, in: table) {
                        given.append(key)
                    }
                }
                if !given.isEmpty { try write(given, to: row, in: table) }
            }
            try recorder.flush()
        }
    }

    /// What a migration would have put into a new column of the row; nil where nothing tells.
    private func fill(_ position: Int, of row: HiddenRows.Row, in table: TrackedTable) throws -> Value? {
        let shownRows = ShownRows(store)
        if let winner = row.folded, let place = try shownRows.locate(winner, in: table) {
            return try shownRows.currentRow(winner, at: place, in: table)?.values[position]
        }
        let column = table.columns[position]
        return column.isKey ? nil : recorder.fills.value(of: column.id, in: table)
    }

    private func reference(
        _ cell: CellState, _ position: Int, in table: TrackedTable, _ own: Set<Int64>
    ) throws -> Given? {
        let column = table.columns[position]
        guard let shown = store.shown(cell, table.name, column.name),
            cell.versions.contains(where: { $0.value == shown && own.contains($0.stamp.peer) })
        else { return nil }
        let value = try recorder.translated(shown, position, in: table)
        guard value != shown else { return nil }
        return Given(column: column, value: value, time: recorder.time(captured: 0, above: cell.stamps))
    }

    /// What a reference is in a column that names rows by other keys now: the key of the row that it names.
    private func key(_ cell: CellState, _ column: TrackedTable.Column, in table: TrackedTable) throws -> Given? {
        guard case .reference(let identity)? = store.shown(cell, table.name, column.name),
            let (parent, position) = store.catalog.namedKey(column, in: table)
        else { return nil }
        let shownRows = ShownRows(store)
        var value = try shownRows.locate(identity, in: parent).flatMap { row in
            try ClockTable(table: parent, connection: store.connection).record(at: row)
                .flatMap { FormerReferences.key(parent, position, $0, in: store) }
                ?? shownRows.currentRow(identity, at: row, in: parent)?.values[position]
        }
        if value == nil, let hidden = try HiddenRows(store).row(parent.name, identity) {
            let name = parent.columns[position].name
            value = hidden.clock.cellsByName.first { $0.key.folded == name.folded }
                .flatMap { store.shown($0.value, parent.name, name) }
        }
        guard let value, !value.isNull else { return nil }
        return Given(column: column, value: value, time: recorder.time(captured: 0, above: cell.stamps))
    }

    private func write(_ given: [Given], to row: HiddenRows.Row, in table: TrackedTable) throws {
        let transaction = try recorder.transaction()
        var full = RowState(table: table.name, identity: row.identity, state: row.clock, integer: row.integer)
        store.countFull(-1, full)
        let time = given.compactMap(\.time).max() ?? recorder.time(captured: recorder.milliseconds, above: nil)
        var cells: [TransactionWriter.Cell] = []
        for given in given {
            let (name, peer, sequence) = (given.column.name, transaction.stamp.peer, transaction.stamp.sequence)
            let stamp = Stamp(peer: peer, sequence: sequence, time: given.time ?? .zero)
            if given.time == nil {
                full.fill(name, given.value, stamp)
            } else {
                full.set(name, given.value, stamp, .everything)
            }
            cells.append(
                TransactionWriter.Cell(
                    column: name, reference: given.column.reference, operation: given.time == nil ? .fill : .set,
                    value: given.value, time: given.time))
        }
        store.countFull(1, full)
        var changed = row
        changed.clock = full.state
        changed.waits = nil
        try HiddenRows(store).put(changed)
        try transaction.append(
            table, .update, row.identity, time: time, integer: table.localInteger == nil ? nil : row.integer ?? 0,
            cells: cells)
        transaction.notes.note(
            table.name, .update, table.primaryKey(of: row.identity, at: row.integer),
            columns: given.map(\.column.local))
    }
}
