import GRDBSQLite
package import LogSyncModel

/// A connection to a database beside the one that is open, for as long as this lives.
package final class SecondConnection {
    package let connection: Connection
    private let handle: OpaquePointer

    /// - Parameters:
    ///   - flags: what `sqlite3_open_v2` takes.
    ///   - extensions: what the program's schema may call beside SQLite's own.
    /// - Throws: what stands in the way of opening it (``OpenFailure``); what loading an extension throws.
    package init(_ path: String, flags: Int32, extensions: [LoadableExtension]) throws {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            sqlite3_close_v2(handle)
            throw OpenFailure.error(path, message: String(cString: sqlite3_errstr(code)))
        }
        self.handle = handle
        connection = Connection(handle)
        // A generated column may call what SQLite does not call harmless, and is computed where it is read.
        try Connection.defend(handle, trustsSchema: true)
        // One that would checkpoint tries for the database alone when it closes. It does not get that beside the first, but
        // within one process SQLite keeps out those who open the database meanwhile.
        try connection.disableCheckpointOnClose()
        for loadable in extensions { try Connection.load(loadable, into: handle) }
    }

    deinit {
        connection.finalizeStatements()
        sqlite3_close_v2(handle)
    }
}
