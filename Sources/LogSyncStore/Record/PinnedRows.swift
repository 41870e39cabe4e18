import GRDBSQLite
import LogSyncModel
import LogSyncSQLite

/// A database's rows as they are at one moment, for as long as this lives, while programs go on writing.
///
/// A second connection with a read transaction: that is what a write-ahead log is for. With a rollback journal it would
/// keep every program from writing.
final class PinnedRows {
    private let second: SecondConnection
    var connection: Connection { second.connection }

    /// Pins the rows as they were last committed; called with the write lock taken, nothing comes between.
    ///
    /// - Parameter extensions: what the program's schema may call beside SQLite's own.
    init(_ path: String, extensions: [LoadableExtension]) throws {
        second = try SecondConnection(
            path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, extensions: extensions)
        sqlite3_busy_timeout(connection.handle, 5000)
        try connection.execute("PRAGMA query_only = ON; BEGIN")
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
    }
}
