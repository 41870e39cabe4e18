import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Rows that other peers have put into a table under the key that a migration gives to it here.
///
/// `DROP TABLE t; CREATE TABLE t` with another key deletes the rows of the former table, and so does a rebuild that leaves rows
/// out. Another peer may have migrated before, and its program has filled the new table: what has been imported of that stood
/// in the former one here, and went with it; but it is no row that the migration was written for, and nobody has deleted it.
struct RowsOfNextKey {
    private let table: TrackedTable
    private let former: FormerKey
    private let store: OpenStore
    /// The records of rows that the program had deleted before its migration.
    private let deleted: Set<Int64>

    /// - Parameter deleted: by the places of records.
    /// - Returns: nil where there are none: the table has had that key before.
    init?(_ table: TrackedTable, after former: FormerKey?, except deleted: Set<Int64>, in store: OpenStore) throws {
        guard let former, try !KeyHistory.hadKey(table, on: store.connection) else { return nil }
        (self.table, self.former, self.store, self.deleted) = (table, former, store, deleted)
    }

    /// Hides a record's row, as a row of a table that was not here, if it is one of these.
    ///
    /// - Returns: whether it is.
    func take(_ record: ClockRecord, at origin: Int64) throws -> Bool {
        guard !deleted.contains(origin), let identity = record.named, isOfNextKey(record, identity) else {
            return false
        }
        let full = try ShownRows(store).expand(record, nil, identity, at: origin, in: table, lost: nil)
        // Of what a program had written there only its logs have the values.
        try ForgottenColumns(store).add(full.state.cellsByName.lostColumns.map { ColumnName(table.name, $0) })
        try HiddenRows(store).put(
            HiddenRows.Row(table: table.name, identity: identity, state: .unknownTable, clock: full.state))
        return true
    }

    private func isOfNextKey(_ record: ClockRecord, _ identity: RowIdentity) -> Bool {
        if saysNewColumn(record.state) { return true }
        if let parts = identity.naturalParts {
            guard let epoch = table.epoch else { return false }
            return parts.first == epoch && store.catalog.keys.epoch(of: table.name, key: former.names) != epoch
        }
        // Where the first key was a name, integers or nothing named no row but those with a NULL in it.
        let first = store.catalog.keys.firstKey(of: table.name) ?? []
        guard former.kind == .natural, !former.names.isEmpty, first.map(\.folded) == former.names.map(\.folded),
            table.kind == .surrogate || table.key.isEmpty
        else { return false }
        let null = UInt32(truncatingIfNeeded: table.valueDigest.of(.null))
        let ids = former.names.compactMap { name in table.columnNames.firstIndex { $0.folded == name.folded } }
        return !ids.contains { id in
            !record.state.cell(id).isEmpty && id < record.digests.count && record.digests[id] == null
        }
    }

    /// Whether a row's insert has given a value to a column that has come to the table only now.
    private func saysNewColumn(_ state: RowClock) -> Bool {
        state.cellsByName.contains { name, cell in
            table.positions[name.folded] != nil && cell.versions.contains { state.insertEntries.contains($0.stamp) }
        }
    }
}
