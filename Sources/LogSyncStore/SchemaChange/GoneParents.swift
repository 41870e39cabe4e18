import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns that refer to tables which are not here: their program has dropped them, and may make them anew.
///
/// What records leave to the rows goes on meaning the rows that it meant (``ReferenceHistory``). What a program writes there
/// meanwhile is a number in logs. Where the table has come back, the peer that wrote it says which row it means.
struct GoneParents {
    let store: OpenStore

    /// Before the ids of a table and a column: how many transactions this store had recorded when the parent went.
    private static let prefix = "gone parent "

    private static func key(_ column: TrackedTable.Column, _ table: TrackedTable) -> String {
        "\(table.id) \(column.id)"
    }

    /// Notes which they are by now.
    func note() throws {
        let history = try ReferenceHistory(store.connection)
        let noted = Set(try store.facts.values(under: Self.prefix).map(\.name))
        var gone: Set<String> = []
        for table in store.catalog.programTables {
            for column in table.columns {
                guard let parent = history.parent(of: column.id, in: table.id), store.catalog[parent] == nil
                else { continue }
                gone.insert(Self.key(column, table))
            }
        }
        let recorded = Int64(store.peers[store.peers.id(store.own)]?.sequence ?? 0)
        for name in gone.subtracting(noted) { try store.facts.set(Self.prefix + name, .integer(recorded)) }
        for name in noted.subtracting(gone) { try store.facts.remove(Self.prefix + name) }
    }

    /// The columns whose parents have come back, and the rows in which this peer has written numbers there meanwhile; by table.
    func returned() throws -> [Int64: SchemaFindings.NewReferences] {
        let noted = Dictionary(uniqueKeysWithValues: try store.facts.values(under: Self.prefix))
        guard !noted.isEmpty else { return [:] }
        var found: [Int64: SchemaFindings.NewReferences] = [:]
        for table in store.catalog.programTables {
            let columns = table.columns.compactMap { column in
                column.reference == nil ? nil : noted[Self.key(column, table)].map { (column.id, UInt64($0.asInteger)) }
            }
            guard !columns.isEmpty else { continue }
            var references = SchemaFindings.NewReferences(columns: Set(columns.map(\.0)), own: [store.own])
            let clock = ClockTable(table: table, connection: store.connection)
            let continued = try ContinuedRows(of: table, in: store)
            for position in try clock.allRows() {
                guard let record = try clock.record(at: position),
                    columns.contains(where: { id, sequence in
                        record.state.cell(id).stamps.contains { $0.peer == store.own && $0.sequence > sequence }
                    }), let rowid = try continued.row(of: record, at: position)?.rowid
                else { continue }
                references.rows.append(rowid)
            }
            found[table.id] = references
        }
        return found
    }
}
