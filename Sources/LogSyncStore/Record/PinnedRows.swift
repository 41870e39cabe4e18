import Foundation
import GRDBSQLite
import LogSyncModel
import LogSyncSQLite

/// A database's rows as they are at one moment, for as long as this lives, while programs go on writing.
///
/// A second connection with a read transaction: that is what a write-ahead log is for. With a rollback journal it would
/// keep every program from writing.
final class PinnedRows {
    let connection: Connection
    private let handle: OpaquePointer

    /// Pins the rows as they were last committed; called with the write lock taken, nothing comes between.
    ///
    /// - Parameter extensions: what the program's schema may call beside SQLite's own.
    init(_ path: String, extensions: [LoadableExtension]) throws {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let handle else {
            sqlite3_close_v2(handle)
            throw OpenFailure.error(path, message: String(cString: sqlite3_errstr(code)))
        }
        self.handle = handle
        connection = Connection(handle)
        // A generated column may call what SQLite does not call harmless, and is computed where it is read.
        try Connection.defend(handle, trustsSchema: true)
        for loadable in extensions { try Connection.load(loadable, into: handle) }
        sqlite3_busy_timeout(handle, 5000)
        try connection.execute("PRAGMA query_only = ON; BEGIN")
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
    }

    deinit {
        connection.finalizeStatements()
        sqlite3_close_v2(handle)
    }
}
