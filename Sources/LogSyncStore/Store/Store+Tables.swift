package import LogSyncModel
import LogSyncSQLite

extension Store {
    /// What `init` said of each table, as it is now.
    package func tables() throws -> [TableReport] {
        try database.read { store in
            let registering = TableRegistration(
                connection: store.connection, plan: InitializePlan(content: "", container: "", peerName: ""))
            let counters = Dictionary(grouping: try store.allocators()) { $0.table.folded }
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

    /// The tables of this store that are not replicated, without the ones that note migrations under names of which every
    /// store knows: each with the setting, `local` or `skip`, as it was when the store was made.
    package func tablesLeftOut() throws -> [(table: String, setting: String)] {
        try database.read { store in
            try AppSchema.leftTables(on: store.connection)
                .filter { !AppSchema.notesMigrations($0.name) }
                .map { ($0.name, $0.setting.rawValue) }
        }
    }
}
