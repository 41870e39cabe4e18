import Foundation
import Synchronization

/// Whether other programs read a store right now, asked before a running replicator writes into it.
///
/// A transaction that reads before it writes fails where something else was written in between, or is being written. So a
/// write waits for a moment in which nobody reads, for two seconds at the most. Who reads for longer, as a program does that
/// keeps a snapshot, is not waited for during the next minute.
///
/// Where readers are met time and again, a program does one such transaction after the other, and the next begins before
/// the write has ended. What helps is to write seldom, and to begin when a transaction has just ended, because then the next
/// one is as far away as it ever is.
final class ActiveReaders: Sendable {
    private struct State {
        var isAwaited = false
        /// Since when a program has been reading, each time that it was asked.
        var since: ContinuousClock.Instant?
        var ignoredUntil: ContinuousClock.Instant?
        /// When a reader was last waited for, and when those before it were.
        var lastWait: ContinuousClock.Instant?
        var meetings: [ContinuousClock.Instant] = []

        func isMet(_ now: ContinuousClock.Instant) -> Bool {
            lastWait.map { $0.duration(to: now) < ActiveReaders.caution } ?? false
        }

        /// Whether readers are met time and again.
        func isBusy(_ now: ContinuousClock.Instant) -> Bool {
            isMet(now) && meetings.count { $0.duration(to: now) < ActiveReaders.caution } >= ActiveReaders.frequent
        }
    }

    private let state = Mutex(State())

    private static let patience = Duration.seconds(2)
    private static let neglect = Duration.seconds(60)
    private static let caution = Duration.seconds(10)
    /// How often a reader is met within that time by who does one transaction after the other.
    private static let frequent = 4
    /// How long after one round the next begins, where readers were met, and where they are met time and again.
    private static let spacing = Duration.milliseconds(250)
    private static let wideSpacing = Duration.seconds(1)
    /// For how long a transaction is waited for where they are met time and again, to begin when it has ended.
    private static let lull = Duration.milliseconds(60)
    /// In microseconds.
    private static let pause: UInt32 = 1000

    /// Says whether anybody is to be waited for.
    func setAwaited(_ isAwaited: Bool) { state.withLock { $0.isAwaited = isAwaited } }

    /// How long after one round the next begins at the earliest.
    func spacing(now: ContinuousClock.Instant = .now) -> Duration {
        state.withLock { $0.isBusy(now) ? Self.wideSpacing : $0.isMet(now) ? Self.spacing : .zero }
    }

    /// Waits for a moment in which a write meets no reader, as far as there is one.
    func awaitEnd(of path: String) {
        let start = ContinuousClock.now
        var isMet = false
        while true {
            if areAwaited(path) {
                isMet = true
            } else if isMet || start.duration(to: .now) >= Self.lull || !state.withLock({ $0.isBusy(.now) }) {
                return
            }
            usleep(Self.pause)
        }
    }

    /// Whether to ask again a little later.
    func areAwaited(_ path: String, now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            guard state.isAwaited, state.ignoredUntil.map({ now >= $0 }) ?? true, KernelLocks.shared.isRead(path) else {
                state.since = nil
                return false
            }
            if state.since == nil {
                state.meetings.append(now)
                if state.meetings.count > Self.frequent { state.meetings.removeFirst() }
            }
            let since = state.since ?? now
            (state.since, state.lastWait) = (since, now)
            guard since.duration(to: now) >= Self.patience else { return true }
            (state.since, state.lastWait, state.ignoredUntil, state.meetings) = (nil, nil, now + Self.neglect, [])
            return false
        }
    }
}
