import LogSyncModel
import LogSyncState

/// The rows that columns name by their keys; each parent's are read once.
final class NamedRows {
    private let store: OpenStore
    private let former: FormerReferenceKeys
    /// By column and table id, and by digest.
    private var keys: [Int: [Int64: [UInt32: Value]]] = [:]

    /// By column and table id, and by present key.
    private var formerKeys: [Int: [Int64: [Value: UInt32]]] = [:]

    init(_ store: OpenStore, _ former: FormerReferenceKeys) {
        self.store = store
        self.former = former
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

    /// The digests of the keys by which a column named rows at the last recording, by the keys by which it names them now; nil
    /// where that is not known.
    func formerKeys(of column: TrackedTable.Column, in table: TrackedTable) throws -> [Value: UInt32]? {
        if let known = formerKeys[column.id]?[table.id] { return known }
        guard let digests = former.keys(of: column, in: table), let key = try PresentKey(column, in: table, store)
        else { return nil }
        var read: [Value: UInt32] = [:]
        try key.forEachRow { row in
            // What is no part of a key has been given the keys already that are going to be shown.
            let known =
                column.isKey
                ? nil : key.position.flatMap { FormerReferences.key(key.parent, $0, row.record, in: store) }
            if let digest = digests[row.identity] { read[known ?? row.key] = digest }
        }
        formerKeys[column.id, default: [:]][table.id] = read
        return read
    }
}
