import LogSyncModel

extension Store {
    /// What `init` said of each table, as it is now.
    package func tables() throws -> [TableReport] {
        try database.read { session in
            let registering = Registering(
                connection: session.connection, plan: InitializePlan(content: "", container: "", peerName: ""))
            var reports = try session.catalog.tables.filter { $0.name != "logsync_setting" }.map(registering.report)
            for (kind, identity) in [("local", "local"), ("skip", "skipped")] {
                for table in try Settings(session).values(kind).keys.sorted() {
                    reports.append(
                        TableReport(
                            table: table, identity: identity, columns: [], references: [:], suggestions: [], rows: 0))
                }
            }
            return reports
        }
    }
}
