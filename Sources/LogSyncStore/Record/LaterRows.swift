import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Tables that a program's migration makes and fills, with integers that each machine gives by itself.
///
/// Each machine's migration goes over the rows that it has, so that the same row gets another integer where one was deleted or
/// inserted meanwhile. What such rows hold says which they are, and of rows that hold the same how many there are; integers
/// say nothing, as in tables without a key. The content's setting says so, to founders who join with rows of the table.
struct LaterRows {
    static let setting = "found"
    static let byValues = "values"
    /// Says that the only row that a table can have is the same for all, be it found.
    static let byKey = "key"

    private let store: OpenStore

    init(_ store: OpenStore) { self.store = store }

    /// The tables, by id, of which the content says so.
    func known(_ value: String = byValues) throws -> Set<Int64> {
        let names = Set(
            try store.connection.rows(
                "SELECT target FROM logsync_setting WHERE kind = ? AND value = ?", .text(Self.setting), .text(value)
            ).map { String(text: $0[0]).folded })
        guard !names.isEmpty else { return [] }
        return Set(store.catalog.tables.filter { names.contains($0.name.folded) }.map(\.id))
    }

    /// - Parameter tables: the ids of tables that have just come.
    /// - Returns: those of them whose rows are told apart by what they hold. Not where another peer has found rows by
    ///   integers.
    func found(_ tables: Set<Int64>) throws -> Set<Int64> {
        let known = try known()
        var found: Set<Int64> = []
        for table in store.catalog.tables where tables.contains(table.id) && table.localInteger != nil {
            guard table.kind == .surrogate, try known.contains(table.id) || !HiddenRows(store).hasAny(of: table) else {
                continue
            }
            let isOnly = table.schema.onlyInteger != nil && !known.contains(table.id)
            if !isOnly { found.insert(table.id) }
            guard
                try !known.contains(table.id)
                    && store.connection.integer("SELECT 1 FROM \(table.quoted) LIMIT 1") != nil
            else { continue }
            try Settings(store).set(Self.setting, table.name, isOnly ? Self.byKey : Self.byValues)
        }
        return found
    }
}

/// Rows that another peer has put into a table which has just come here, by what they refer to.
///
/// The migration here goes over that peer's rows, too, and finds nothing in the columns that it moves: they were moved before
/// these rows were written. A row that holds nothing but references is the other's row that alone has the same.
final class MovedRows {
    private let store: OpenStore
    private let table: TrackedTable
    private let references: [Int]
    private var rows: [[Value]: [RowIdentity]] = [:]

    init(of table: TrackedTable, in store: OpenStore) throws {
        self.store = store
        self.table = table
        references = table.columns.indices.filter { table.columns[$0].reference != nil }
        guard !references.isEmpty, references.count < table.columns.count else { return }
        for row in try HiddenRows(store).rows(.parked, of: table.name) where row.clock.isAlive {
            let named = references.map { position in
                let name = table.columns[position].name
                return row.clock.cellsByName[name].flatMap { store.shown($0, table.name, name) } ?? .null
            }
            rows[named, default: []].append(row.identity)
        }
    }

    /// - Parameter translated: a value of the row, by column position, as logs have it.
    func identity(of row: TableReader.Row, _ translated: (Int) throws -> Value) throws -> RowIdentity? {
        guard !rows.isEmpty else { return nil }
        let isEmpty = table.columns.indices.allSatisfy { position in
            references.contains(position) || row.values[position] == store.defaultValue(of: table, position)
        }
        guard isEmpty else { return nil }
        let named = try references.map(translated)
        let namesAny = named.contains { if case .reference = $0 { true } else { false } }
        guard namesAny, let found = rows[named], found.count == 1 else { return nil }
        rows[named] = nil
        return found[0]
    }
}
