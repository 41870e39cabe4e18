import LogSyncModel
import LogSyncState

/// The rows that columns name by their keys; each parent's are read once.
final class NamedRows {
    private let store: OpenStore
    /// By column and table id, and by digest.
    private var keys: [Int: [Int64: [UInt32: Value]]] = [:]

    init(_ store: OpenStore) {
        self.store = store
    }

    /// The key of that digest by which a column names a row.
    func key(_ digest: UInt32, in column: TrackedTable.Column, of table: TrackedTable) throws -> Value? {
        guard let (parent, position) = store.catalog.namedKey(column, in: table) else { return nil }
        if let known = keys[column.id]?[table.id] { return known[digest] }
        var read: [UInt32: Value] = [:]
        try TableReader(table: parent, store: store).forEachRow { _, values in
            let value = values[position]
            if !value.isNull { read[UInt32(truncatingIfNeeded: table.valueDigest.of(value))] = value }
        }
        keys[column.id, default: [:]][table.id] = read
        return read[digest]
    }
}
