import LogSyncModel
import LogSyncState

/// What an import changes in the tables that are shown, for those who listen: counted as it happens, each row with the key
/// under which this store shows it.
///
/// A row that comes in one transaction may be refused at first and shown in the end, in another's place: it is counted when
/// it comes, and its key is listed when it is shown (``UndecidedRow/isCounted``).
final class ChangeNotes {
    private(set) var tables: [String: TableChanges] = [:]

    /// Counts a change, with the row's key where it is known.
    ///
    /// - Parameter columns: what an update changed, by the columns' names in this store.
    func note(_ table: String, _ kind: RowGroup.Kind, _ key: [Value]? = nil, columns: [String] = []) {
        // In place: a copy would take the list of keys along, once a row.
        tables[table, default: TableChanges()].note(kind, key, columns: columns)
    }

    /// Counts a deletion, and keeps what the store is to keep of the row.
    func noteDelete(of row: TableReader.Row?, at position: Int64?, in table: TrackedTable, _ store: OpenStore) throws {
        guard let row else { return note(table.name, .delete) }
        let key = table.primaryKey(of: row, at: position)
        note(table.name, .delete, key)
        let kept = try store.tombstoneColumns(of: table)
        guard !kept.isEmpty else { return }
        tables[table.name]?.keepTombstone(
            key, Dictionary(uniqueKeysWithValues: kept.map { (table.columns[$0].local, row.values[$0]) }))
    }

    /// Lists the key of a row whose change was counted without it.
    func noteKey(_ table: String, _ kind: RowGroup.Kind, _ key: [Value]) {
        tables[table, default: TableChanges()].noteKey(kind, key)
    }

    /// Lets a loop over many rows of a table count for itself.
    func withChanges<Result>(of table: String, _ body: (inout TableChanges) throws -> Result) rethrows -> Result {
        var changes = tables.removeValue(forKey: table) ?? TableChanges()
        defer { if changes != TableChanges() { tables[table] = changes } }
        return try body(&changes)
    }
}

extension TableChanges {
    /// Counts a change, with the row's key where it is known, and the columns that an update changed.
    mutating func note(_ kind: RowGroup.Kind, _ key: [Value]?, columns: [String] = []) {
        switch kind {
        case .insert: counts.inserted += 1
        case .update: counts.updated += 1
        case .delete: counts.deleted += 1
        }
        if let key { noteKey(kind, key, columns: columns) }
    }

    mutating func noteKey(_ kind: RowGroup.Kind, _ key: [Value], columns: [String] = []) {
        switch kind {
        case .insert: if inserted.count < Self.maximumKeys { inserted.append(key) }
        case .update:
            if updated.count < Self.maximumKeys {
                updated.append(key)
                updatedColumns.append(columns)
            }
        case .delete: if deleted.count < Self.maximumKeys { deleted.append(key) }
        }
    }

    /// Keeps what a deleted row held; of as many rows as keys are listed.
    mutating func keepTombstone(_ key: [Value], _ values: [String: Value]) {
        if tombstones.count < Self.maximumKeys { tombstones[key] = values }
    }
}
