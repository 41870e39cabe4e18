import Synchronization

/// Whether other programs read a store right now, asked before a running replicator writes into it.
///
/// A transaction that reads before it writes fails where something else was written in between. So a write waits for a
/// moment in which nobody reads, for two seconds at the most. Who reads for longer, as a program does that keeps a snapshot,
/// is not waited for during the next minute. Where a reader was waited for, writes come more seldom for a while: the less
/// often there is one, the fewer transactions meet it.
final class ActiveReaders: Sendable {
    private struct State {
        var isAwaited = false
        /// Since when a program has been reading, each time that it was asked.
        var since: ContinuousClock.Instant?
        var ignoredUntil: ContinuousClock.Instant?
        /// When a reader was last waited for.
        var lastWait: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    private static let patience = Duration.seconds(2)
    private static let neglect = Duration.seconds(60)
    private static let caution = Duration.seconds(10)
    /// How long after one round the next begins, where readers were met.
    private static let spacing = Duration.milliseconds(250)

    /// Says whether anybody is to be waited for.
    func setAwaited(_ isAwaited: Bool) { state.withLock { $0.isAwaited = isAwaited } }

    /// How long after one round the next begins at the earliest.
    func spacing(now: ContinuousClock.Instant = .now) -> Duration {
        let lastWait = state.withLock { $0.lastWait }
        return lastWait.map { $0.duration(to: now) < Self.caution } ?? false ? Self.spacing : .zero
    }

    /// Whether to ask again a little later.
    func areAwaited(_ path: String, now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            guard state.isAwaited, state.ignoredUntil.map({ now >= $0 }) ?? true, KernelLocks.shared.isRead(path) else {
                state.since = nil
                return false
            }
            let since = state.since ?? now
            (state.since, state.lastWait) = (since, now)
            guard since.duration(to: now) >= Self.patience else { return true }
            (state.since, state.lastWait, state.ignoredUntil) = (nil, nil, now + Self.neglect)
            return false
        }
    }
}
