import LogSyncModel
import LogSyncSQLite
import LogSyncState

extension SchemaReconciliation {
    /// Takes up what is known of columns of which it has been decided what they are, and which a row holds as it did when
    /// they were left alone, or holds nothing in.
    ///
    /// - Parameter decided: by column id, ascending.
    /// - Returns: whether the record has changed.
    func takeUp(
        _ decided: [Int], in record: inout ClockRecord, _ present: TableReader.Row, _ reader: TableReader
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
            let name = table.columns[position].name
            let digest = UInt32(truncatingIfNeeded: present.digests[position])
            let held = try HeldValues(of: table, on: connection).digest(of: name, in: identity)
            guard held == digest || present.values[position] == store.defaultValue(of: table, position),
                let key = record.state.cellsByName.keys.first(where: { $0.folded == name.folded }),
                let cell = record.state.cellsByName.removeValue(forKey: key)
            else { break }
            record.state.extend(to: id + 1)
            record.state.setCell(id, cell)
            record.digests += Array(repeating: 0, count: id + 1 - record.digests.count)
            record.digests[id] = digest
            if let shown = store.shown(cell, table.name, name), shown != present.values[position] {
                // It is shown with the rows whose references are replaced.
                record.isReplaced = true
                store.hasReplaced = true
            }
            isChanged = true
        }
        if isChanged { record.digest = reader.digest(present.digests, columns: record.digests.count) }
        return isChanged
    }
}
