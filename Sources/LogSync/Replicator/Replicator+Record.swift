public import GRDB
import LogSyncModel
import LogSyncStore
import Logging
import Synchronization

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
        try programRecording.record(db, author: author, context: context)
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
        try programRecording.record(db, author: nil, context: nil)
        let result = try updates()
        try programRecording.record(db, author: author, context: context)
        return result
    }

    /// Has the state file say which peer the store is, without asking the folder: so the program's first transaction can be
    /// recorded. Where it cannot be told, the next step does.
    func settleForPrograms() async {
        guard founding == nil else { return }
        do {
            try await step(settles: true) { _ = try $0.settleIdentity(nil) }
        } catch {
            configuration.logger.debug("\(path): which peer it is will be told by the next sync: \(error)")
        }
    }
}

/// Recording within the program's own transactions, which cannot wait for a step: by what the last step found out.
final class ProgramRecording: Sendable {
    private enum State {
        /// No step has found out which peer the store is.
        case unknown
        /// The database is no store yet, and all that it holds is recorded when it becomes one; or it has left, and is none
        /// any more.
        case unfounded
        case expected(EmbeddedRecording.Expected)
    }

    private let recording: EmbeddedRecording
    private let state = Mutex(State.unknown)

    init(_ configuration: StoreConfiguration) { recording = EmbeddedRecording(configuration) }

    func expect(_ file: StateFile) {
        let expected = EmbeddedRecording.Expected(peer: file.peer, inode: file.inode, sequence: file.sequence)
        state.withLock { $0 = .expected(expected) }
    }

    /// The peer that the store is expected to be; nil where that is not known.
    var peer: PeerID? {
        state.withLock { if case .expected(let expected) = $0 { expected.peer } else { nil } }
    }

    func expectFounding() { state.withLock { $0 = .unfounded } }

    func expectNothing() { state.withLock { $0 = .unknown } }

    func record(_ db: Database, author: String?, context: String?) throws {
        switch state.withLock({ $0 }) {
        case .unfounded: break
        case .unknown:
            throw LogSyncError(
                .locked, "nothing was recorded: this replicator does not know yet which peer the store is",
                help: "Open it by Replicator.open, or sync once before")
        case .expected(let expected):
            try recording.record(on: db, expected, author: author, context: context)
        }
    }
}
