public import GRDB
import LogSyncContainer
import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Writes in the app's own connection, and records what changed as one transaction with its author and context.
    ///
    /// ```swift
    /// let queue = try DatabaseQueue(path: "notes.db")
    /// try await replicator.write(in: queue, author: "import", context: "spring") { db in
    ///     try db.execute(sql: "INSERT INTO note(id, body) VALUES('n1', 'hello')")
    /// }
    /// ```
    ///
    /// It waits in the outbox until the next ``sync()``; a running replicator publishes it at once. Writes that go past
    /// this method are replicated too, without an author. Where the task is cancelled, so is the write, as GRDB's own are.
    ///
    /// - Parameters:
    ///   - writer: a connection to this store's file; its settings stay as they are.
    ///   - author: who made the change; any text.
    ///   - context: why; any text.
    /// - Throws: what `updates` throws; `usage` where `writer` is a connection to another file; `locked`, `ioError`,
    ///   `invalidStore`; `CancellationError`. The transaction is then undone.
    public func write<Result: Sendable>(
        in writer: any DatabaseWriter, author: String? = nil, context: String? = nil,
        _ updates: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        var isStore = !hasLeft
        if isStore, founding != nil { isStore = try await isFounded() }
        guard isStore else {
            // All that the database holds is recorded when it becomes a store.
            return try await writer.writeWithoutTransaction { db in
                var result: Result?
                try db.inTransaction(.immediate) {
                    result = try updates(db)
                    return .commit
                }
                guard let result else { throw LogSyncError(.ioError, "a write ended without a result") }
                return result
            }
        }
        let access = CancellableAccess()
        return try await withTaskCancellationHandler {
            try await settledStep(notes: false) { store in
                try store.checkIsWritten(by: writer)
                let written = store.store
                // GRDB cancels what is called asynchronously, and nothing else.
                return try access.run {
                    try await writer.writeWithoutTransaction { db in
                        try written.write(on: db, author: author, context: context, updates).result
                    }
                }
            }
        } onCancel: {
            access.cancel()
        }
    }
}

extension Replicator {
    /// Whether the database is a store by now.
    private func isFounded() async throws -> Bool {
        do {
            try await found()
            return true
        } catch let error as LogSyncError where error.code == .containerUnavailable {
            return false
        }
    }
}

extension ReplicatedStore {
    /// - Throws: `usage` where a connection is one to another file: what it writes would be recorded there, by a store that
    ///   this replicator has not locked.
    fileprivate func checkIsWritten(by writer: any DatabaseWriter) throws {
        // What is no file, as a database in memory, is not this one.
        guard let other = try? StorePlace(writer.path), other.inode == place.inode else {
            throw LogSyncError(
                .usage, "the connection is one to \(writer.path), not to \(place.path); nothing was written",
                help: "Write by a connection to the store's own file, or by the other store's replicator")
        }
    }
}
