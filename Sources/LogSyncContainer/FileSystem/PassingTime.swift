import Glibc

/// Sources of the time that has passed, for code that needs no date.
package enum PassingTime {
    private static let start = ContinuousClock.now

    /// Since this process first asked, time asleep included.
    package static let machine: @Sendable () -> Duration = { start.duration(to: .now) }

    /// The clock that the kernel goes by when it gives files their times.
    package static let nanosecondsSince1970: @Sendable () -> Int64 = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
