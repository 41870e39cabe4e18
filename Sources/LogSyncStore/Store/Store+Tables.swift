package import LogSyncModel
import LogSyncSQLite

extension Store {
    /// What `init` said of each table, as it is now.
    package func tables() throws -> [TableReport] {
        try database.read { store in
            let registering = TableRegistration(
                connection: store.connection, plan: InitializePlan(content: "", container: "", peerName: ""))
            let counters = Dictionary(grouping: try SettingTable(store.connection).allocators()) { $0.table.folded }
            var reports = try store.catalog.programTables.map { table in
                try registering.report(table, in: store.catalog, counters: counters[table.name.folded] ?? [])
            }
            for left in try AppSchema.leftTables(on: store.connection) {
                reports.append(
                    TableReport(
                        table: left.name, identity: left.setting == .skip ? "skipped" : "local", columns: [],
                        references: [:], suggestions: [], rows: 0))
            }
            return reports
        }
    }

    /// What tables and their columns are called in the database, by their lower-case names in logs.
    package func presentNames() throws -> [String: (table: String, columns: [String: String])] {
        try database.read { store in
            let names = store.catalog.programTables.map { table in
                let columns = table.columns.map { ($0.name.folded, $0.local) }
                return (
                    table.name.folded,
                    (table.schema.name, Dictionary(columns, uniquingKeysWith: { first, _ in first }))
                )
            }
            return Dictionary(names, uniquingKeysWith: { first, _ in first })
        }
    }

    /// Why logsync cannot write some of the tables that it replicates, as sentences without their ends, by table: a migration
    /// has brought what `init` refuses.
    package func unwritableTables() throws -> [(table: String, reason: String)] {
        try database.read { store in
            if let known = store.cached.unwritable { return known }
            let registering = TableRegistration(
                connection: store.connection, plan: InitializePlan(content: "", container: "", peerName: ""))
            let found = try store.catalog.programTables.compactMap { table in
                try registering.obstacle(table.schema).map { (table.schema.name, $0) }
            }
            store.cached.unwritable = found
            return found
        }
    }

    /// The indexes for which `init` refuses a table, and which a migration has brought all the same.
    package func undecidableIndexes() throws -> [UndecidableIndex] {
        try database.read { store in
            if let known = store.cached.undecidable { return known }
            let found = try UndecidableIndex.all(in: store.catalog, on: store.connection)
            store.cached.undecidable = found
            return found
        }
    }

    /// The tables of this store that are not replicated, without the ones that note migrations under names of which every
    /// store knows: each with the setting, `local` or `skip`, as it was when the store was made.
    package func tablesLeftOut() throws -> [(table: String, setting: String)] {
        try database.read { store in
            try AppSchema.leftTables(on: store.connection)
                .filter { !AppSchema.notesMigrations($0.name) }
                .map { ($0.name, $0.setting.rawValue) }
        }
    }

    /// How many integers name a row both here and in another store of the same tables, by table; none for a table that has
    /// no rowid.
    package func sharedIntegers(with other: Store) throws -> [String: Int] {
        try database.read { store in
            try other.database.read { others in
                try store.catalog.programTables.reduce(into: [:]) { shared, table in
                    guard table.hasRowid, let theirs = others.catalog[table.name], theirs.hasRowid else { return }
                    let mine = try Self.integers(of: table, on: store.connection)
                    shared[table.name] = try Self.countShared(mine, Self.integers(of: theirs, on: others.connection))
                }
            }
        }
    }

    /// Ascending.
    private static func integers(of table: TrackedTable, on connection: Connection) throws -> Statement {
        try Statement("SELECT \(table.rowid) FROM \(table.quoted) ORDER BY 1", on: connection)
    }

    private static func countShared(_ one: Statement, _ other: Statement) throws -> Int {
        func next(_ statement: Statement) throws -> Int64? { try statement.step() ? statement.integer(0) : nil }
        var (a, b, count) = (try next(one), try next(other), 0)
        while let left = a, let right = b {
            if left == right { count += 1 }
            if left <= right { a = try next(one) }
            if right <= left { b = try next(other) }
        }
        return count
    }
}
