import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns that a program drops and adds again under their names.
extension SchemaReconciliation {
    /// New columns that bear the name of columns which were dropped, with these.
    func returned(_ added: [Int], in table: TrackedTable) -> [(id: Int, former: [Int])] {
        added.compactMap { id in
            let name = table.columnNames[id].folded
            let former = table.droppedColumns.filter { table.columnNames[$0].folded == name }
            return former.isEmpty ? nil : (id, former)
        }
    }

    /// Gives a column that comes back the entries that it had: who writes it supersedes them, here as everywhere. Their
    /// values are lost, so they are what the column begins with.
    ///
    /// - Returns: whether the row has another value by now, which is to be recorded.
    func takeBack(
        _ returned: [(id: Int, former: [Int])], in record: inout ClockRecord, _ present: TableReader.Row,
        _ reader: TableReader
    ) -> Bool {
        let table = reader.table
        var isChanged = false
        var digests = present.digests
        for (id, former) in returned {
            guard let position = table.columns.firstIndex(where: { $0.id == id }) else { continue }
            let first = store.defaultValue(of: table, position)
            var cell = record.state.cell(id)
            for id in former {
                let old = record.state.cell(id)
                cell.versions += old.versions
                cell.additions += old.additions
                record.state.setCell(id, CellState())
            }
            guard !cell.isEmpty else { continue }
            if cell.versions.count > 1 {
                for index in cell.versions.indices where cell.versions[index].value == nil {
                    cell.versions[index].value = first
                }
            }
            record.state.setCell(id, cell)
            record.digests += Array(repeating: 0, count: max(0, id + 1 - record.digests.count))
            isChanged = isChanged || present.values[position] != first
            digests[position] = table.valueDigest.of(first)
            record.digests[id] = UInt32(truncatingIfNeeded: digests[position])
        }
        record.digest = reader.digest(digests, columns: record.digests.count)
        return isChanged
    }
}
