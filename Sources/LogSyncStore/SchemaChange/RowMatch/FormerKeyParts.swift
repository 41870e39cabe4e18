import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What the columns of a table's key held that name rows of other tables, before a migration that has them name these by another
/// key: `PRIMARY KEY(p_id, tag)`, where `p_id REFERENCES p(id)` becomes `p_id REFERENCES p(name)`.
///
/// A row is found by its former key. Which row a part of the present one names the other table says, whose records are laid
/// out before.
struct FormerKeyParts {
    private struct Part {
        /// What a value was in its row; nil where its column is gone.
        var local: Value?
        /// The same, as records have it.
        var digest: UInt32?
    }

    /// By column position and present value.
    private var parts: [Int: [Value: Part]] = [:]

    /// - Parameters:
    ///   - former: the columns, by id, whose rows named others by their integers or by a column, and name them by another key.
    ///   - keys: by which rows of other tables were named.
    init(of table: TrackedTable, _ former: [Int: String?], _ keys: FormerReferenceKeys, in store: OpenStore) throws {
        let names = try NamingColumns(store.connection)
        for position in table.key.map(\.index) {
            let column = table.columns[position]
            let name = names.name(of: column.id, in: table.id)
            guard former[column.id] == .some(nil) || name != nil,
                let present = try PresentKey(column, in: table, store), present.parent.id != table.id,
                name.map({ $0.table.folded == present.parent.name.folded }) ?? true
            else { continue }
            let parent = present.parent
            let formerly = parent.columns.firstIndex { $0.name.folded == name?.column.folded }
            guard formerly == nil || formerly != present.position else { continue }
            let digest = try keys.digest(of: name?.column, of: parent, in: store)
            var read: [Value: Part] = [:]
            try present.forEachRow { row in
                let integer = keys.integer(of: row.identity, in: parent).map { Value.integer($0) }
                read[row.key] = Part(
                    local: name == nil ? integer : formerly.map { row.values[$0] }, digest: digest(row))
            }
            parts[position] = read
        }
    }

    var isEmpty: Bool { parts.isEmpty }

    /// Whether what a column holds says nothing of the former key.
    func isOther(_ position: Int) -> Bool { parts[position] != nil }

    /// What a value was in its row.
    func local(_ value: Value, at position: Int) -> Value { parts[position]?[value]?.local ?? value }

    /// The digests of a row, with those of the key as they were.
    func digests(of row: TableReader.Row) -> [UInt64] {
        var digests = row.digests
        for (position, parts) in parts {
            if let digest = parts[row.values[position]]?.digest { digests[position] = UInt64(digest) }
        }
        return digests
    }
}
