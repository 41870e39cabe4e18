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
    /// It is ``record(_:author:context:_:)`` in a transaction of its own, at any time: it finds out which peer the store is
    /// where that is not known, and waits for who else writes the database, also where the connection itself would not. It
    /// waits in the outbox until the next ``sync()``; a running replicator publishes it at once. Writes that go past this
    /// method are replicated too, without an author. Where the task is cancelled, so is the write, as GRDB's own are.
    ///
    /// - Parameters:
    ///   - writer: a connection to this store's file; its settings stay as they are.
    ///   - author: who made the change; any text.
    ///   - context: why; any text.
    /// - Throws: what `updates` throws; `usage` where `writer` is a connection to another file; `locked`, `ioError`,
    ///   `invalidStore`; `CancellationError`. The transaction is then undone.
    public nonisolated func write<Result: Sendable>(
        in writer: any DatabaseWriter, author: String? = nil, context: String? = nil,
        _ updates: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        if programRecording.peer == nil { try await settleForWriting() }
        let patience = ContinuousClock.now + configuration.wait
        var hasSettled = false
        while true {
            do {
                return try await ProgramWrite(author: author, context: context, updates: updates)
                    .run(in: writer, programRecording)
            } catch ProgramWriteFailure.isBusy(let error) {
                guard ContinuousClock.now < patience else { throw error }
                try await Task.sleep(for: .milliseconds(5))
            } catch ProgramWriteFailure.isUnsettled(let error) {
                guard !hasSettled else { throw error }
                hasSettled = true
                try await settleForWriting()
            }
        }
    }

    /// Has the next write know which peer the store is; or that it is none, and all that it holds is recorded when it becomes
    /// one.
    private func settleForWriting() async throws {
        guard access != .left else { return }
        do {
            try await found()
        } catch let error as LogSyncError where founding != nil && error.code == .containerUnavailable {
            return
        }
        try await settledStep { _ in }
    }
}

/// Why a write is tried again, of which nothing has been done.
private enum ProgramWriteFailure: Error {
    /// Another connection writes the database.
    case isBusy(any Error)
    /// The store is not what it was expected to be.
    case isUnsettled(any Error)
}

/// One write of a program's, in a transaction of its own.
private struct ProgramWrite<Result: Sendable>: Sendable {
    let author: String?
    let context: String?
    let updates: @Sendable (Database) throws -> Result

    /// - Throws: ``ProgramWriteFailure``, and what `updates` throws.
    func run(in writer: any DatabaseWriter, _ recording: ProgramRecording) async throws -> Result {
        do {
            return try await writer.writeWithoutTransaction { db in try write(db, recording) }
        } catch let error as LogSyncError where error.code != .usage && Task.isCancelled {
            // A statement was interrupted.
            throw CancellationError()
        }
    }

    private func write(_ db: Database, _ recording: ProgramRecording) throws -> Result {
        var result: Result?
        var (hasBegun, hasUpdated) = (false, false)
        do {
            try db.inTransaction(.immediate) {
                hasBegun = true
                result = try recording.record(db, author: author, context: context, isUndone: true) {
                    hasUpdated = true
                    return try updates(db)
                }
                return .commit
            }
        } catch let error as DatabaseError where !hasBegun && error.resultCode == .SQLITE_BUSY {
            throw ProgramWriteFailure.isBusy(error)
        } catch let error as LogSyncError where error.code == .locked && !hasUpdated {
            throw ProgramWriteFailure.isUnsettled(error)
        }
        guard let result else { throw LogSyncError(.ioError, "a write ended without a result") }
        return result
    }
}
