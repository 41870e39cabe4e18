package import LogSyncModel
import LogSyncSQLite

extension Store {
    /// What `init` said of each table, as it is now.
    package func tables() throws -> [TableReport] {
        try database.read { store in
            let registering = TableRegistration(
                connection: store.connection, plan: InitializePlan(content: "", container: "", peerName: ""))
            var reports = try store.catalog.tables.filter { $0.name != "logsync_setting" }.map(registering.report)
            for (kind, identity) in [("local", "local"), ("skip", "skipped")] {
                for table in try Settings(store).values(kind).keys.sorted() {
                    reports.append(
                        TableReport(
                            table: table, identity: identity, columns: [], references: [:], suggestions: [], rows: 0))
                }
            }
            return reports
        }
    }
}
