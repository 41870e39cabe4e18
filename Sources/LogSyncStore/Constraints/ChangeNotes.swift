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
    func note(_ table: String, _ kind: RowGroup.Kind, _ key: [Value]? = nil) {
        // In place: a copy would take the list of keys along, once a row.
        tables[table, default: TableChanges()].note(kind, key)
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
    /// Counts a change, with the row's key where it is known.
    mutating func note(_ kind: RowGroup.Kind, _ key: [Value]?) {
        switch kind {
        case .insert: counts.inserted += 1
        case .update: counts.updated += 1
        case .delete: counts.deleted += 1
        }
        if let key { noteKey(kind, key) }
    }

    mutating func noteKey(_ kind: RowGroup.Kind, _ key: [Value]) {
        switch kind {
        case .insert: if inserted.count < Self.maximumKeys { inserted.append(key) }
        case .update: if updated.count < Self.maximumKeys { updated.append(key) }
        case .delete: if deleted.count < Self.maximumKeys { deleted.append(key) }
        }
    }
}
