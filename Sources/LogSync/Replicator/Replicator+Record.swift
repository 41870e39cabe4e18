public import GRDB
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Records what a transaction of the program's own has changed so far, as one transaction with its author and context:
    /// Core Data's `transactionAuthor`, for any write by GRDB.
    ///
    /// ```swift
    /// try pool.write { db in
    ///     try Item(title: "Pears").insert(db)
    ///     try replicator.record(db, author: "ann")
    /// }
    /// ```
    ///
    /// It is synchronous, and part of the program's transaction: both are committed, or neither. What other programs have
    /// committed and nobody has recorded yet is recorded with it; ``record(_:author:context:_:)`` keeps that apart. A running
    /// replicator publishes it at once, another one at the next ``sync()``; with `synchronous = NORMAL`, as a pool has it,
    /// it is made durable before it is published.
    ///
    /// - Parameters:
    ///   - db: the program's connection to this store's file, within a transaction.
    ///   - author: who made the change; any text.
    ///   - context: why; any text.
    /// - Throws: `usage` where there is no transaction, or the connection is one to another file; `locked` where this
    ///   replicator does not know yet which peer the store is, or it is not that one any more; `notReplicated`, `newerFormat`,
    ///   `invalidStore`, `ioError`. Logsync's own tables are then as they were. A program that commits all the same has its
    ///   changes replicated, without the author.
    public nonisolated func record(_ db: Database, author: String?, context: String? = nil) throws {
        do {
            try programRecording.record(db, author: author, context: context)
        } catch let error as LogSyncError {
            throw error.about(.store(path))
        }
    }

    /// Runs `updates` within a transaction of the program's own, and records what it has changed as one transaction with its
    /// author and context. What was committed before it by other programs, and by this one, is recorded apart.
    ///
    /// ```swift
    /// try pool.write { db in
    ///     try replicator.record(db, author: "ann", context: "shopping") { try Item(title: "Pears").insert(db) }
    /// }
    /// ```
    ///
    /// - Returns: what `updates` returns.
    /// - Throws: what `updates` throws, upon which the transaction has to be undone; and as ``record(_:author:context:)``.
    public nonisolated func record<Result>(
        _ db: Database, author: String?, context: String? = nil, _ updates: () throws -> Result
    ) throws -> Result {
        try programRecording.record(db, author: author, context: context, updates)
    }

    /// Has the state file say which peer the store is, without asking the folder: so the program's first transaction can be
    /// recorded. Where it cannot be told, the next step does.
    func settleForPrograms() async {
        guard founding == nil else { return }
        do {
            try await step(settles: true) { _ = try settleIdentity(of: $0, nil) }
        } catch {
            configuration.logger.debug("\(path): which peer it is will be told by the next sync: \(error)")
        }
    }
}
