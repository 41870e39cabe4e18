import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns of which nothing tells what they were (``UndecidedColumns``).
extension SchemaReconciliation {
    /// A column that went and one that came at its place, where no value says that they are the same, and no other peer:
    /// nil where something does.
    func undecidable(
        _ column: KnownColumn, _ new: (offset: Int, element: TableSchema.Column), in table: TrackedTable,
        _ schema: TableSchema
    ) throws -> UndecidedColumns.Column? {
        let name = new.element.name
        guard !isKey(column, of: table), try !isToldRename(of: column, to: name, table) else { return nil }
        if try isSingleStatement(on: table) { return nil }
        let isInstalled = try Capture.isInstalled(table, on: connection)
        // None is added before a column that was there.
        let isLast = try !columns(of: table).contains { other in
            schema.columns.enumerated().contains { $0 > new.offset && $1.name.folded == other.name.folded }
        }
        if isInstalled && !isLast { return nil }
        let found = try agreement(of: column, with: name, in: table, schema)
        guard found.isEmpty || found.records == 0 else { return nil }
        return UndecidedColumns.Column(
            name: name, former: column.name, place: table.columnNames[Int(column.id)], named: nil)
    }

    /// Takes up columns again of which it has been decided what they are.
    ///
    /// - Returns: those of which it has not.
    func decide(
        _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable, _ changes: inout ColumnChanges
    ) throws -> [UndecidedColumns.Column] {
        let undecided = try UndecidedColumns(connection).of(table.id)
        guard !undecided.isEmpty else { return [] }
        let found = undecided.compactMap { column in
            present.first { $0.element.name.folded == column.name.folded }.map { (column, $0) }
        }
        // Where one has gone, the others are what they are called.
        let areRenamed =
            try UndecidedColumns(connection).areRenamed(undecided, in: table.name)
            ?? (found.count == undecided.count ? nil : false)
        guard let areRenamed else { return undecided }
        for (column, place) in found {
            let name = areRenamed ? column.place : column.named
            changes.decided.append(try add(place.element, called: name, at: place.offset, to: table))
        }
        return []
    }

    /// Leaves columns alone until it is decided what they are. What records say of them is kept by name.
    ///
    /// - Returns: the ids that they had.
    func hold(_ undecided: [UndecidedColumns.Column], in table: TrackedTable) throws -> [Int] {
        let held = try columns(of: table).filter { column in
            undecided.contains { $0.former.folded == column.name.folded }
        }
        guard !held.isEmpty else { return [] }
        let clock = ClockTable(table: table, connection: connection)
        let shownRows = ShownRows(store)
        let ids = held.map { Int($0.id) }
        for position in try clock.allRows() {
            guard var record = try clock.record(at: position) else { continue }
            let row = try shownRows.currentRow(ofRecord: record.identity, at: position, in: table)
            for id in ids {
                var cell = record.state.cell(id)
                guard !cell.isEmpty else { continue }
                // The values are the same by place and by name, or there are none.
                let place = row.flatMap { row in
                    row.digests.indices.first { index in
                        undecided.contains { $0.name.folded == table.columns[index].local.folded }
                            && id < record.digests.count
                            && record.digests[id] == UInt32(truncatingIfNeeded: row.digests[index])
                    }
                }
                for index in cell.versions.indices where cell.versions[index].value == nil {
                    cell.versions[index].value = try place.flatMap { place in
                        try row.map { try shownRows.identityValue($0.values[place], place, in: table) }
                    }
                }
                record.state.setCell(id, CellState())
                record.state.cellsByName[table.columnNames[id], default: CellState()].versions += cell.versions
                record.state.cellsByName[table.columnNames[id]]?.additions += cell.additions
            }
            try clock.update(record, at: position, formerUniques: table.findsByKeyDigest ? [] : record.uniques)
        }
        for id in ids {
            try connection.run(
                "UPDATE logsync_column SET dropped = 1 WHERE table_id = ?1 AND id = ?2", .integer(table.id),
                .integer(Int64(id)))
        }
        return ids
    }
}
