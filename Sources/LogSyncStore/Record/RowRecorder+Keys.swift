import LogSyncModel
import LogSyncState

extension RowRecorder {
    /// Columns that name rows by other keys now, and in which the row names none: what another peer, which has migrated before,
    /// has recorded there is such a key already, of which the migration here could make nothing. It stays.
    ///
    /// - Parameter positions: of columns that hold something else than the record says.
    /// - Returns: those of them.
    func keepKeys(
        _ positions: [Int], of row: Row, _ former: ClockRecord, in record: inout ClockRecord
    ) throws -> [Int] {
        var kept: [Int] = []
        for position in positions where row[position].isNull {
            let column = table.columns[position]
            guard let value = try recorder.key(former.digests[column.id], in: column, of: table) else { continue }
            var cell = record.state.cell(column.id)
            let shown = cell.versions.indices.filter { cell.versions[$0].value == nil }
            guard !shown.isEmpty else { continue }
            for index in shown { cell.versions[index].value = value }
            record.state.setCell(column.id, cell)
            kept.append(position)
        }
        return kept
    }
}
