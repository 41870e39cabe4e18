import LogSyncModel
import LogSyncSQLite

/// Long work on a store, done in many short write transactions: programs write between two of them.
final class WritePortions {
    private let budget: Duration
    private let renew: () throws -> Void
    private var start = ContinuousClock.now

    /// - Parameter renew: commits what has been done and begins another write transaction.
    init(budget: Double, renew: @escaping () throws -> Void) {
        self.budget = .seconds(budget)
        self.renew = renew
    }

    /// Where this portion has lasted long enough, commits it and begins the next.
    ///
    /// - Throws: ``LogSyncError/Code/locked`` where a program does not give the lock back; what was committed stays.
    func pause() throws {
        guard ContinuousClock.now - start >= budget else { return }
        try renew()
        start = .now
    }
}
