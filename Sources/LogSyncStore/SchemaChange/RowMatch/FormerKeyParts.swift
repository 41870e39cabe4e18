import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What the columns of a table's key held that name rows of other tables, before a migration that has them name these by another
/// key: `PRIMARY KEY(p_id, tag)`, where `p_id REFERENCES p(id)` becomes `p_id REFERENCES p(name)`.
///
/// A row is found by its former key. Which row a part of the present one names the other table says, whose records are laid
/// out before.
struct FormerKeyParts {
    /// What a value was: as identities have it, and as the table had it.
    private typealias Part = (spelled: Value, local: Value?)
    /// By column position and present value.
    private var parts: [Int: [Value: Part]] = [:]

    /// - Parameters:
    ///   - former: the columns, by id, whose rows named others by their integers or by a column, and name them by another key.
    ///   - integers: that rows of other tables had.
    init(of table: TrackedTable, _ former: [Int: String?], _ integers: FormerIntegers, in store: OpenStore) throws {
        let names = try NamingColumns(store.connection)
        for position in table.key.map(\.index) {
            let column = table.columns[position]
            let named = store.catalog.namedKey(column, in: table)
            if former[column.id] == .some(nil), let (parent, key) = named, parent.id != table.id {
                parts[position] = try Self.integers(of: parent, key, integers[parent] ?? [:], in: store)
            } else if let name = names.name(of: column.id, in: table.id),
                let parent = store.catalog[name.table], parent.id != table.id,
                let formerly = parent.columns.firstIndex(where: { $0.name.folded == name.column.folded })
            {
                let present = column.reference == nil ? named?.position : nil
                guard present != formerly, present != nil || column.reference != nil else { continue }
                var read: [Value: Part] = [:]
                try TableReader(table: parent, store: store).forEachRow { rowid, values in
                    let key = present.map { values[$0] } ?? rowid.map { .integer($0) }
                    if let key { read[key] = (values[formerly], values[formerly]) }
                }
                parts[position] = read
            }
        }
    }

    /// - Parameter key: the position of the column by which rows of the table are named now.
    private static func integers(
        of parent: TrackedTable, _ key: Int, _ integers: [RowIdentity: Int64], in store: OpenStore
    ) throws -> [Value: Part] {
        let clock = ClockTable(table: parent, connection: store.connection)
        let shownRows = ShownRows(store)
        var read: [Value: Part] = [:]
        for row in try clock.allRows() {
            guard let record = try clock.record(at: row),
                let present = try shownRows.currentRow(ofRecord: record.identity, at: row, in: parent),
                let identity = try record.named ?? shownRows.spelledIdentity(present, in: parent)
            else { continue }
            read[present.values[key]] = (.reference(identity), integers[identity].map { .integer($0) })
        }
        return read
    }

    /// What a value was in the identity of its row; nil where that is what it is now.
    func spelled(_ value: Value, at position: Int) -> Value? { parts[position]?[value]?.spelled }

    /// What a value was in its row.
    func local(_ value: Value, at position: Int) -> Value { parts[position]?[value]?.local ?? value }
}
