import LogSyncModel
import LogSyncSQLite

/// Columns that have come, and that the migration may fill yet.
///
/// A program may run `ALTER TABLE … ADD z` and `UPDATE t SET z = …` in two transactions, with a look in between. What a
/// statement puts into all rows so soon is a fill all the same, which gives way to any write. Rows have shown by then what
/// others have written to the column, and the statement takes that away: so as long as a fill may come, records say it, as
/// they say what counters hold.
struct AwaitedFills {
    private static let prefix = "awaited fill "
    /// For how long, in milliseconds, after the column has come.
    private static let patience: Int64 = 120_000

    private let store: OpenStore

    init(_ store: OpenStore) { self.store = store }

    /// When columns came, in milliseconds since 1970, by the ids of table and column.
    static func all(on connection: Connection) throws -> [Int64: [Int: Int64]] {
        try StoreFacts(connection).values(under: prefix).reduce(into: [:]) { all, fact in
            let ids = fact.name.split(separator: " ").compactMap { Int64($0) }
            if ids.count == 2 { all[ids[0], default: [:]][Int(ids[1])] = fact.value.asInteger }
        }
    }

    private static func fact(_ column: Int, _ table: Int64) -> String { "\(prefix)\(table) \(column)" }

    /// A column has come, and holds nothing yet.
    func begin(_ column: Int, of table: Int64) throws {
        try store.facts.set(Self.fact(column, table), .integer(store.configuration.clock.now()))
    }

    /// Columns have been filled.
    func end(_ columns: some Sequence<Int>, of table: Int64) throws {
        for column in columns {
            try store.facts.remove(Self.fact(column, table))
            store.cached.awaitedFills[table]?[column] = nil
        }
    }

    /// Ends what has been awaited for too long, and what another process has ended.
    func refresh() throws {
        guard !store.cached.awaitedFills.isEmpty else { return }
        let now = store.configuration.clock.now()
        store.cached.awaitedFills = try Self.all(on: store.connection)
        for (table, columns) in store.cached.awaitedFills {
            let over = columns.filter { !(0..<Self.patience ~= now - $1) }
            if !over.isEmpty { try end(over.keys, of: table) }
        }
    }
}

extension OpenStore {
    /// The columns of a table that may be filled yet, by id.
    func awaitedFills(of table: TrackedTable) -> Set<Int> { Set((cached.awaitedFills[table.id] ?? [:]).keys) }

    /// Whether some of a table's columns, by position, may be filled yet: what others write there is not merged in batches.
    func awaitsFills(_ table: TrackedTable, in positions: some Sequence<Int>) -> Bool {
        guard let awaited = cached.awaitedFills[table.id] else { return false }
        return positions.contains { awaited[table.columns[$0].id] != nil }
    }
}
