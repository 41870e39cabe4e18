/// Until when the write lock is to be left free: who has held it for long leaves it to others for a while.
///
/// A program that finds the lock taken looks again after 1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50 and then each 100 ms
/// (SQLite's `sqliteDefaultBusyCallback`). What gives it back only to take it at once is mostly met holding it; so the
/// lock stays free for as long as the sleep lasts that may have begun while it was held. What takes it for a moment only is
/// hardly ever met, and need not wait; it neither begins such a time nor ends one.
struct LockTurns {
    private var end: ContinuousClock.Instant

    /// What is held for less than this is met by no long sleep.
    private static let short = Duration.milliseconds(10)
    private static let longest = Duration.milliseconds(30)

    init(at now: ContinuousClock.Instant = .now) { end = now }

    /// Notes that the lock was held from `start` until `now`.
    mutating func noteEnd(of start: ContinuousClock.Instant, at now: ContinuousClock.Instant = .now) {
        let held = now - start
        if held > Self.short { end = max(end, now + min(held, Self.longest)) }
    }

    /// How long the lock is to be left free yet, from `now` on.
    func rest(at now: ContinuousClock.Instant = .now) -> Duration { max(.zero, end - now) }
}
