import Foundation
import LogSyncModel

/// How long a schema has been running, as time of its thread, so that a busy machine refuses none.
final class SchemaClock {
    private var end = SchemaClock.now() + Limits.schemaTime

    /// Runs `body` without counting its time, once it has ended.
    func pausing<Result>(_ body: () throws -> Result) rethrows -> Result {
        let start = Self.now()
        let limit = end
        // Meanwhile it is no time: a statement of literals alone cannot take long.
        end = .infinity
        defer { end = limit + Self.now() - start }
        return try body()
    }

    var isOver: Bool { Self.now() > end }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
