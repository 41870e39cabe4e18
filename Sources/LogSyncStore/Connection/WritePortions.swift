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

/// How long the write lock was held last, and when that ended: who has held it for long leaves it to others for a while.
///
/// A program that finds the lock taken looks again after 1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50 and then each 100 ms
/// (SQLite's `sqliteDefaultBusyCallback`). What gives it back only to take it at once is mostly met holding it; so the
/// lock stays free for as long as the sleep lasts that may have begun while it was held.
struct LockTurns {
    private var end = ContinuousClock.now
    private var held = Duration.zero

    /// What is held for less than this is met by no long sleep.
    private static let short = Duration.milliseconds(10)
    private static let longest = Duration.milliseconds(30)

    mutating func noteEnd(of start: ContinuousClock.Instant) {
        end = .now
        held = end - start
    }

    /// How long the lock is to be left free yet.
    var rest: Duration {
        guard held > Self.short else { return .zero }
        return max(.zero, min(held, Self.longest) - (.now - end))
    }
}
