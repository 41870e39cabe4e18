import LogSyncModel
import LogSyncState

/// The rows that columns name by their keys; each parent's are read once.
final class NamedRows {
    private let store: OpenStore
    /// By column and table id, and by digest.
    private var keys: [Int: [Int64: [UInt32: Value]]] = [:]

    /// By column and table id, and by present key.
    private var formerKeys: [Int: [Int64: [Value: UInt32]]] = [:]

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

    /// The digests of the keys by which a column named rows, by the keys by which it names them now; nil where these are gone.
    ///
    /// - Parameter name: the column of the parents that had those, by its name in logs.
    func keys(
        _ name: String, in column: TrackedTable.Column, of table: TrackedTable
    ) throws -> [Value: UInt32]? {
        if let known = formerKeys[column.id]?[table.id] { return known }
        let named = store.catalog.namedKey(column, in: table)
        guard let parent = store.catalog.numbered(column.reference) ?? named?.parent,
            let former = parent.columns.firstIndex(where: { $0.name.folded == name.folded })
        else { return nil }
        var read: [Value: UInt32] = [:]
        try TableReader(table: parent, store: store).forEachRow { rowid, values in
            let key = column.reference == nil ? named.map { values[$0.position] } : rowid.map { .integer($0) }
            if let key { read[key] = UInt32(truncatingIfNeeded: table.valueDigest.of(values[former])) }
        }
        formerKeys[column.id, default: [:]][table.id] = read
        return read
    }
}
