import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Phase `removeRowsDeletedElsewhere`.
extension TableRecording {
    /// Removes the rows of a table that has just come which a migration has made of what was here, and which other peers have
    /// deleted after theirs had made them. One that a row here still refers to stays, and is inserted.
    func removeRowsDeletedElsewhere() throws {
        guard recorder.findings.newTables.contains(table.id) else { return }
        let tombstones = AbsentTombstones(store)
        let deleted = try tombstones.identities(of: table.name)
        guard !deleted.isEmpty else { return }
        try tombstones.forget(table.name)
        // Of a table that was here before, they may be older than what its program fills it with.
        guard try !recorder.forgotten.get().contains(where: { $0.table.folded == table.name.folded }) else { return }
        let rows = ShownRows(store)
        staged = try staged.filter { row in
            guard deleted.contains(row.identity), row.touched.milliseconds == 0,
                try HiddenRows(store).row(table.name, row.identity).map({ !$0.clock.isAlive }) ?? true,
                let values = try currentRow(row.key, row.touched),
                let place = table.hasRowid ? row.touched.rowid ?? row.key.rowid : 0,
                try !isReferred(values, at: place)
            else { return true }
            try connection.withoutTriggers { try rows.remove(row.identity, at: place, in: table) }
            return false
        }
    }

    /// Whether a row refers to this one.
    private func isReferred(_ row: TableReader.Row, at place: Int64) throws -> Bool {
        for child in store.catalog.tables {
            for key in child.schema.foreignKeys where key.parent.folded == table.schema.name.folded {
                let named = key.to.isEmpty ? table.schema.keyColumns.map(\.name) : key.to
                let condition = key.from.map { "\(SQL.name($0)) = ?" }.joined(separator: " AND ")
                let values = named.map { name in
                    table.localPositions[name.folded].map { row.values[$0] } ?? .integer(place)
                }
                let statement = try Statement(
                    "SELECT EXISTS(SELECT 1 FROM \(child.quoted) WHERE \(condition))", on: connection)
                for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
                if try statement.step(), statement.integer(0) == 1 { return true }
            }
        }
        return false
    }
}
