import LogSyncModel
import LogSyncSQLite
import LogSyncState

extension SchemaReconciliation {
    /// Takes up what is known of columns of which it has been decided what they are, and which a row holds as it did when
    /// they were left alone, or holds nothing in. What it holds besides is recorded as a write.
    ///
    /// - Parameters:
    ///   - decided: by column id, ascending.
    ///   - others: those in which rows hold what is another column's, unless a program has written it.
    /// - Returns: whether the record has changed.
    func takeUp(
        _ decided: [Int], holdingOthers others: Set<Int>, in record: inout ClockRecord, _ present: TableReader.Row,
        _ reader: TableReader
    ) throws -> Bool {
        let table = reader.table
        guard let identity = try record.named ?? ShownRows(store).spelledIdentity(present, in: table) else {
            return false
        }
        var isChanged = false
        for id in decided {
            guard let position = table.columns.firstIndex(where: { $0.id == id }), id >= record.digests.count else {
                continue
            }
            let (name, value) = (table.columns[position].name, present.values[position])
            let digest = UInt32(truncatingIfNeeded: present.digests[position])
            let held = try HeldValues(of: table, on: connection).digest(of: name, in: identity)
            let key = record.state.cellsByName.keys.first { $0.folded == name.folded }
            let cell = key.flatMap { record.state.cellsByName.removeValue(forKey: $0) } ?? CellState()
            let missing = store.defaultValue(of: table, position)
            let shown = !cell.isEmpty ? store.shown(cell, table.name, name) : others.contains(id) ? missing : nil
            let isDefault = value == missing
            let isAsHeld = held.map { $0 == digest } ?? (isDefault || value == shown)
            record.state.extend(to: id + 1)
            record.state.setCell(id, cell)
            record.digests += Array(repeating: 0, count: id + 1 - record.digests.count)
            if isAsHeld && (isDefault || !cell.isEmpty || others.contains(id)) {
                record.digests[id] = digest
                if let shown, shown != value {
                    // It is shown with the rows whose references are replaced.
                    record.isReplaced = true
                    store.hasReplaced = true
                }
            } else {
                // The row is recorded as having something else.
                record.digests[id] = ~digest
            }
            isChanged = true
        }
        if isChanged { record.digest = reader.digest(present.digests, columns: record.digests.count) }
        return isChanged
    }
}
