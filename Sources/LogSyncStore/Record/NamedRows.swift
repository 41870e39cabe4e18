import LogSyncModel
import LogSyncState

/// The rows that columns name by their keys; each parent's are read once.
final class NamedRows {
    private let store: OpenStore
    private let formerIntegers: FormerIntegers
    /// By column and table id, and by digest.
    private var keys: [Int: [Int64: [UInt32: Value]]] = [:]

    /// By column and table id, and by present key.
    private var formerKeys: [Int: [Int64: [Value: UInt32]]] = [:]

    init(_ store: OpenStore, _ formerIntegers: FormerIntegers) {
        self.store = store
        self.formerIntegers = formerIntegers
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
    /// - Parameter name: the column of the parents that had those, by its name in logs; nil where these were their integers.
    func keys(
        _ name: String?, in column: TrackedTable.Column, of table: TrackedTable
    ) throws -> [Value: UInt32]? {
        if let known = formerKeys[column.id]?[table.id] { return known }
        let named = store.catalog.namedKey(column, in: table)
        guard let name else {
            let keys = try named.flatMap { try integers(of: $0.parent, $0.position, column, table) }
            formerKeys[column.id, default: [:]][table.id] = keys
            return keys
        }
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

    /// The same of rows that were named by their integers.
    private func integers(
        of parent: TrackedTable, _ position: Int, _ column: TrackedTable.Column, _ table: TrackedTable
    ) throws -> [Value: UInt32]? {
        guard let integers = formerIntegers[parent] else { return nil }
        let clock = ClockTable(table: parent, connection: store.connection)
        let shownRows = ShownRows(store)
        var read: [Value: UInt32] = [:]
        for row in try clock.allRows() {
            guard let record = try clock.record(at: row),
                let present = try shownRows.currentRow(ofRecord: record.identity, at: row, in: parent),
                let identity = try record.named ?? shownRows.spelledIdentity(present, in: parent),
                let integer = integers[identity]
            else { continue }
            // What is no part of a key has been given the keys already that are going to be shown.
            let known = column.isKey ? nil : FormerReferences.key(parent, position, record, in: store)
            read[known ?? present.values[position]] = UInt32(
                truncatingIfNeeded: table.valueDigest.of(.integer(integer)))
        }
        return read
    }
}
