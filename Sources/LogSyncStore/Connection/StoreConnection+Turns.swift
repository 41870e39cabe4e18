import Foundation
import LogSyncModel
import LogSyncSQLite

/// Transactions that leave the store to others in between, or are others' own.
extension StoreConnection {
    /// Runs `body` in many write transactions on a database that is not a store yet, or is to be none any more. Where it throws,
    /// what the last one did is undone.
    func writeInPortions<Result>(_ body: (Connection, WritePortions) throws -> Result) throws -> Result {
        try withConnection { connection in
            var start = try begin(connection)
            let portions = WritePortions(budget: configuration.lockBudget) {
                try self.commit(connection)
                self.box.turns.noteEnd(of: start)
                start = try self.begin(connection, attempts: Self.patience)
                try self.checkFiles(connection)
            }
            defer { box.turns.noteEnd(of: start) }
            do {
                try checkFiles(connection)
                let result = try body(connection, portions)
                try commit(connection)
                box.store = nil
                return result
            } catch {
                try undo(connection, after: error)
                throw error
            }
        }
    }

    /// Takes the write lock, and leaves it to others before where this connection has just held it for long.
    ///
    /// - Parameters:
    ///   - attempts: how many times the time-out is waited for.
    ///   - takesTurns: false where the lock is given back after a millisecond or so, see ``LockTurns``.
    func begin(
        _ connection: Connection, attempts: Int = 1, takesTurns: Bool = true
    ) throws -> ContinuousClock.Instant {
        let rest = takesTurns && configuration.isShared ? box.turns.rest() : .zero
        if rest > .zero { Thread.sleep(forTimeInterval: rest / .seconds(1)) }
        // A program that reads, and writes then, would fail, at once where this transaction is under way.
        configuration.awaitReaders(path)
        try chooseSynchronization(connection)
        for attempt in 1...max(attempts, 1) {
            do {
                try connection.execute("BEGIN IMMEDIATE")
                break
            } catch let error as LogSyncError where error.code == .locked {
                guard attempt < attempts else { throw LogSyncError.locked(path, by: configuration.lockHolder(path)) }
            }
        }
        box.changesBefore = connection.totalChanges
        return .now
    }

    /// With a log, a commit is over before the disk has it (`synchronous = NORMAL`), and ``commit(_:isDurable:)`` waits for the
    /// disk afterwards: nobody else has to wait for it to write. Without one, SQLite itself sees to it.
    private func chooseSynchronization(_ connection: Connection) throws {
        let isLogged = try connection.isLogged
        guard isLogged != box.isLogged else { return }
        try connection.execute("PRAGMA synchronous = \(isLogged ? "NORMAL" : "FULL")")
        box.isLogged = isLogged
    }

    /// Commits, and gives up the write lock; then waits until the disk has it.
    ///
    /// - Parameter isDurable: false where a power cut may undo it, because it would be done again.
    /// - Throws: `ioError` where the disk does not take it, also after the commit: then ``synchronize()`` tries again.
    func commit(_ connection: Connection, isDurable: Bool = true) throws {
        if connection.totalChanges != box.changesBefore { try connection.countChange() }
        try connection.execute("COMMIT")
        guard box.isLogged else { return }
        box.isUnsynchronized = true
        if isDurable { try synchronize(connection) }
    }

    private func synchronize(_ connection: Connection) throws {
        try connection.synchronizeLog()
        box.isUnsynchronized = false
    }

    /// Sees to it that what this connection has committed survives a power cut.
    func synchronize() throws {
        try withConnection { connection in
            if box.isUnsynchronized { try synchronize(connection) }
        }
    }

    /// In the middle of long work a program that does not give the lock back is waited for longer.
    private static let patience = 24
}
