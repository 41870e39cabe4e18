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
    /// this method are replicated too, without an author.
    ///
    /// - Parameters:
    ///   - writer: a connection to this store's file; its settings stay as they are.
    ///   - author: who made the change; any text.
    ///   - context: why; any text.
    /// - Throws: what `updates` throws; `locked`, `ioError`, `invalidStore`. The transaction is then undone.
    public func write<Result: Sendable>(
        in writer: any DatabaseWriter, author: String? = nil, context: String? = nil,
        _ updates: @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await settledStep { try $0.store.write(in: writer, author: author, context: context, updates).result }
    }
}
