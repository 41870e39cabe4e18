package import LogSyncModel
import LogSyncSQLite

/// What changed in the tables, for programs that show them.
extension Store {
    /// The token of the last transaction that was recorded or imported here; 0 where there is none.
    package func lastToken() throws -> Int64 {
        try database.read { try $0.connection.integer("SELECT max(token) FROM logsync_transaction") ?? 0 }
    }

    /// The rows that changed by something else than an import, by table, since this was last asked for.
    package func takeSettled() throws -> [String: TableChanges] { try database.takeSettled() }
}
