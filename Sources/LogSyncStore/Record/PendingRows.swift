import LogSyncModel
import LogSyncSQLite

/// How far triggers have noted what programs wrote, of all tables at once: mostly there is something new in none or one of
/// them, and a statement a table is most of what it costs to find out.
struct PendingRows {
    /// The greatest number of a pending row, by table id, of the tables that have some which are not recorded.
    private var last: [Int64: Int64] = [:]
    /// The greatest rowid of a clock record, by table id, of the tables whose integers are local.
    private(set) var highestRows: [Int64: Int64] = [:]

    /// Whether there is none that is not recorded.
    var isEmpty: Bool { last.isEmpty }

    /// How many tables one statement asks: it gives two values of each, of the 2000 that SQLite allows.
    private static let tablesAtOnce = 250

    init(_ store: OpenStore) throws {
        let tables = store.catalog.tables
        let queries = store.cached.pendingQueries ?? Self.queries(tables)
        store.cached.pendingQueries = queries
        for (index, query) in queries.enumerated() {
            let statement = try store.connection.prepare(query)
            defer { statement.reset() }
            guard try statement.step() else { continue }
            let first = index * Self.tablesAtOnce
            for (place, table) in tables.dropFirst(first).prefix(Self.tablesAtOnce).enumerated() {
                let number = statement.integer(2 * place)
                if number > table.recorded { last[table.id] = number }
                if !statement.isNull(2 * place + 1) { highestRows[table.id] = statement.integer(2 * place + 1) }
            }
        }
    }

    /// Whether some of a table's are not recorded.
    func has(_ table: TrackedTable) -> Bool { last[table.id] != nil }

    /// Whether only one of a table's is not recorded, or none.
    func hasOneAtMost(_ table: TrackedTable) -> Bool { last[table.id] ?? 0 <= table.recorded + 1 }

    private static func queries(_ tables: [TrackedTable]) -> [String] {
        stride(from: 0, to: tables.count, by: tablesAtOnce).map { first in
            let values = tables[first..<min(first + tablesAtOnce, tables.count)].map { table in
                let highest = table.localInteger == nil ? "NULL" : "(SELECT max(row) FROM \(table.clock))"
                return "(SELECT max(number) FROM \(table.pending)), \(highest)"
            }
            return "SELECT \(values.joined(separator: ", "))"
        }
    }
}
