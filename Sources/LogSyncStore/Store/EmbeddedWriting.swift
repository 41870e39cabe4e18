package import GRDB
import LogSyncModel
import LogSyncSQLite

/// Writes of a program that embeds logsync, recorded within its own transaction.
extension Store {
    /// Runs `updates` in a write transaction of the program's own connection, and records what it changed as one
    /// transaction of this store, with its author and context. What others had changed before is recorded apart.
    ///
    /// The commit is durable (`synchronous = FULL`) before anything of it can be published, whatever the connection is
    /// set to otherwise.
    ///
    /// - Parameters:
    ///   - writer: a connection to this store's file; its `foreign_keys` and other settings stay as they are.
    ///   - author: who made the change, for the history; any text.
    ///   - context: why, for the history; any text.
    /// - Returns: what `updates` returned, and what was recorded, if it changed anything.
    /// - Throws: what `updates` throws, and `locked`, `ioError` or `invalidStore`; the transaction is then undone.
    package func write<Result>(
        in writer: some DatabaseWriter, author: String?, context: String?, _ updates: (Database) throws -> Result
    ) throws -> (result: Result, recorded: RecordedTransaction?) {
        try writer.writeWithoutTransaction { try write(on: $0, author: author, context: context, updates) }
    }

    /// The same within an access to the program's connection that has begun, where no transaction has.
    package func write<Result>(
        on db: Database, author: String?, context: String?, _ updates: (Database) throws -> Result
    ) throws -> (result: Result, recorded: RecordedTransaction?) {
        guard let handle = db.sqliteConnection else {
            throw LogSyncError(.invalidStore, "the connection to \(path) is closed; nothing was written")
        }
        let synchronous = try Int.fetchOne(db, sql: "PRAGMA synchronous") ?? 2
        if synchronous < 2 { try db.execute(sql: "PRAGMA synchronous = FULL") }
        defer {
            // Only a closed connection refuses this, and that one needs its setting no more. Past GRDB, which refuses
            // everything of a task that is cancelled.
            if synchronous < 2 { try? Connection(handle).execute("PRAGMA synchronous = \(synchronous)") }
        }
        var written: (result: Result, recorded: RecordedTransaction?)?
        do {
            try db.inTransaction(.immediate) {
                let connection = Connection(handle)
                defer { connection.finalizeStatements() }
                written = try database.lend(to: connection) { store in
                    _ = try RecordStep(store).runDeferringShownRows()
                    let result = try updates(db)
                    return (result, try RecordStep(store, author: author, context: context).runDeferringShownRows())
                }
                return .commit
            }
        } catch {
            // Also where the commit itself failed.
            try database.forget()
            throw error
        }
        guard let written else {
            throw LogSyncError(.invalidStore, "a write to \(path) ended without a result")
        }
        return written
    }
}
