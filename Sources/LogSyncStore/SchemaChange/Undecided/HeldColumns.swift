import LogSyncModel
import LogSyncSQLite
import LogSyncState

// What records say of columns that are left alone until it is decided what they are (`UndecidedColumns`).
//
// The problem. A record says which versions a cell has, and the value that is shown stands in the program's table alone. Where
// a column is left alone, its cells are kept in the record by name, with their values, so that what other peers have
// written to it is neither shown nor lost. Whether the program has written it since then is told by what the row holds.
//
// The order. Columns are left alone when their names are looked at, the first thing of all; which row a record is of is
// known only when the table's records are laid out and matched with its rows. Values are taken from rows after that: in a
// rebuild that has numbered the rows anew, another row, or none, is where the record is.

/// Columns of one table that have just been left alone.
struct HeldColumns {
    /// What is undecided.
    let columns: [UndecidedColumns.Column]
    /// The ids that these had.
    let ids: [Int]
    /// The table as it was known before.
    let former: TrackedTable

    /// Keeps what records say of the columns by name.
    ///
    /// - Parameter table: as it is known now, its records matched with its rows.
    func keep(in table: TrackedTable, _ continued: ContinuedRows, _ store: OpenStore) throws {
        let clock = ClockTable(table: table, connection: store.connection)
        let heldValues = HeldValues(of: table, on: store.connection)
        try heldValues.makeTable()
        let shownRows = ShownRows(store)
        let cells = HeldCells(columns: columns.map(\.name), table: table, connection: store.connection)
        /// How many rows hold what was recorded of them, but for NULL, and how many hold it nowhere, by columns' ids.
        var (held, lost): ([Int: Int], [Int: Int]) = ([:], [:])
        for position in try clock.allRows() {
            guard var record = try clock.record(at: position) else { continue }
            let found = try continued.row(of: record, at: position)
            let values = try found.map { try cells.values($0.row, $0.rowid) } ?? []
            for id in ids {
                var cell = record.state.cell(id)
                guard !cell.isEmpty else { continue }
                let name = former.columnNames[id]
                let identity = try found.flatMap { try record.named ?? shownRows.spelledIdentity($0.row, in: table) }
                var value: Value?
                if found != nil, id < record.digests.count {
                    if let place = values.firstIndex(where: { cells.digest($0) == record.digests[id] }) {
                        value = try identityValue(values[place], in: columns[place], of: id, shownRows)
                        if let identity, value != nil {
                            try heldValues.note(record.digests[id], of: name, in: identity)
                        }
                        if values[place] != .null { held[id, default: 0] += 1 }
                    } else if let identity {
                        try heldValues.noteWritten(name, in: identity)
                        lost[id, default: 0] += 1
                    }
                }
                if let identity, store.policies.isCounter(former.name, name),
                    let sum = store.shown(cell, former.name, name), sum != .null
                {
                    try UndecidedWrites.note(sum: sum, of: name, in: identity, table, on: store.connection)
                }
                for index in cell.versions.indices where cell.versions[index].value == nil {
                    cell.versions[index].value = value
                }
                record.state.setCell(id, CellState())
                record.state.cellsByName[name, default: CellState()].versions += cell.versions
                record.state.cellsByName[name]?.additions += cell.additions
            }
            try clock.update(record, at: position, formerUniques: table.findsByKeyDigest ? [] : record.uniques)
        }
        // A migration that has copied no values has left the rows so, and no program.
        for (id, count) in lost where count > held[id] ?? 0 { try heldValues.forgetWritten(former.columnNames[id]) }
    }

    /// A value as the column had it in logs; nil where that cannot be told.
    private func identityValue(
        _ value: Value, in column: UndecidedColumns.Column, of id: Int, _ shownRows: ShownRows
    ) throws -> Value? {
        if let position = former.columns.firstIndex(where: { $0.id == id }) {
            return try shownRows.identityValue(value, position, in: former)
        }
        // The column has gone, and what it referred to with it.
        return try mayRefer(value, in: column, of: id, shownRows.store.connection) ? nil : value
    }

    private func mayRefer(
        _ value: Value, in column: UndecidedColumns.Column, of id: Int, _ connection: Connection
    ) throws -> Bool {
        guard case .integer = value else { return false }
        let isDeclared = former.schema.foreignKeys.contains { key in
            key.from.contains { $0.folded == column.name.folded }
        }
        return try isDeclared
            || connection.integer(
                "SELECT EXISTS(SELECT 1 FROM logsync_setting WHERE kind = 'reference' AND target = ? COLLATE NOCASE)",
                .text("\(former.name).\(former.columnNames[id])")) == 1
    }
}
