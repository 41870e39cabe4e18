import Foundation
import LogSyncModel
import LogSyncStore

/// What a running replicator remembers from one wake to the next.
struct DaemonState {
    let wakes: WakeQueue
    /// What the last look for commits saw.
    var version: Int64?
    /// Whether a round has succeeded.
    var hasBegun = false
    /// The error that was announced last, until a round succeeds.
    var trouble: LogSyncError.Code?
    /// Since when the store has not been there, and when that is to be said again.
    private var absence: (start: ContinuousClock.Instant, notice: ContinuousClock.Instant)?
    /// What was announced last to be held.
    var held: [HeldItem] = []
    /// Transactions published since the own folder was last maintained.
    var published = 0
    /// The pauses before the next looks for a commit.
    private var pausesLeft: ArraySlice<Duration> = []
    private var nextScan: Task<Void, Never>?
    private var retry: Task<Void, Never>?
    /// How long after the next failure the round is tried again.
    private var delay = DaemonState.firstDelay
    /// Whether the retry is to come soon, because something succeeded since the last failure.
    private var isHastened = false
    private var lastCompaction: ContinuousClock.Instant?

    /// The wake at which the store's files are let go of, where nothing happens before.
    private var rest: Task<Void, Never>?
    /// When that was put off last, and what the store's files were then.
    private var lastUse = ContinuousClock.now
    private(set) var restingFiles: RestingFiles?
    /// The program that was said to have the store for itself.
    var holder: pid_t?

    private let receiptDelay: Duration
    /// The wake that has the receipt written, while one is owed.
    private var receipt: Task<Void, Never>?
    var owesReceipt: Bool { receipt != nil }

    /// How often at the most a running replicator looks for log files that may go.
    private static let compactionInterval = Duration.seconds(3600)
    private static let firstAbsence = Duration.seconds(5)
    private static let laterAbsence = Duration.seconds(3600)
    private static let firstDelay = Duration.seconds(1)
    private static let lastDelay = Duration.seconds(30)
    /// The store's files are written before the commit can be seen, so it is looked for again: a writer may be synchronizing
    /// its disk.
    private static let scanPauses: [Duration] = [
        .milliseconds(1), .milliseconds(5), .milliseconds(25), .milliseconds(100),
    ]

    init(wakes: WakeQueue, receiptDelay: Duration) {
        self.wakes = wakes
        self.receiptDelay = receiptDelay
    }

    /// How long nothing happens before the store's files are let go of, where a program has them open, too.
    private static let restDelay = Duration.milliseconds(700)
    /// The same, where none has. A restore waits for programs to end, and comes soon after; a log that stands there by then
    /// would be taken for the restored database's.
    private static let loneRestDelay = Duration.milliseconds(100)

    /// Puts off letting go of the store's files.
    ///
    /// - Parameter files: the store's, where it is only put off if they have changed since it was put off before: a program
    ///   that tries in vain to have them for itself opens and closes them, and would never get them.
    mutating func postponeRest(unlessAsBefore files: RestingFiles? = nil) {
        guard rest == nil || files == nil || files != restingFiles else { return }
        restingFiles = files
        lastUse = .now
        rest?.cancel()
        rest = wakes.wake(.rest, after: Self.loneRestDelay)
    }

    /// Notes that the time has come; if the files are not let go of now, that is put off anew.
    ///
    /// - Parameter isShared: whether a program has the store open.
    /// - Returns: whether they may be let go of; else it is tried again when they may be.
    mutating func noteRest(isShared: Bool) -> Bool {
        let left = lastUse + Self.restDelay - .now
        rest = isShared && left > .zero ? wakes.wake(.rest, after: left) : nil
        return rest == nil
    }

    /// Notes what a round did for the receipt: whether it was written, and whether there may be something to say.
    mutating func noteReceipt(isWritten: Bool, isOwed: Bool) {
        if isWritten {
            receipt?.cancel()
            receipt = nil
        } else if isOwed, receipt == nil {
            receipt = wakes.wake(.acknowledge, after: receiptDelay)
        }
    }

    mutating func schedule(_ reasons: WakeReasons) {
        if reasons.contains(.full) {
            retry?.cancel()
            (retry, isHastened) = (nil, false)
        }
        if reasons.contains(.local) { pausesLeft = Self.scanPauses[...] }
        guard reasons.contains(.local) || reasons.contains(.commit) else { return }
        nextScan?.cancel()
        nextScan = pausesLeft.popFirst().map { wakes.wake(.commit, after: $0) }
    }

    /// Whether an hour has passed since this was last so.
    mutating func isTimeToCompact() -> Bool {
        let now = ContinuousClock.now
        if let lastCompaction, now - lastCompaction < Self.compactionInterval { return false }
        lastCompaction = now
        return true
    }

    /// Notes that a round has succeeded.
    ///
    /// What arrived while rounds failed may have been looked at in vain, so after a failure only a full one says that all is
    /// well; where another succeeds, that comes soon.
    ///
    /// - Parameter reasons: what the round was for.
    /// - Returns: whether nothing is left to be made up for.
    mutating func succeed(_ reasons: WakeReasons) -> Bool {
        guard reasons.contains(.full) || trouble == nil else {
            if !isHastened {
                isHastened = true
                retry?.cancel()
                retry = wakes.wake(.full, after: Self.firstDelay)
            }
            return false
        }
        absence = nil
        delay = Self.firstDelay
        retry?.cancel()
        retry = nil
        return true
    }

    /// Whether it is time to say once more that the store is not there: soon after the start, so that a path that is wrong is
    /// seen, and then rarely.
    mutating func isTimeToMissStore(now: ContinuousClock.Instant = .now) -> Duration? {
        let known = absence ?? (now, now + Self.firstAbsence)
        absence = known
        guard now >= known.notice else { return nil }
        absence?.notice = now + Self.laterAbsence
        return now - known.start
    }

    /// Has the round tried again after a while; where that is to be done already, it is enough.
    ///
    /// - Parameter pause: after how long; nil for longer each time.
    mutating func fail(retryAfter pause: Duration? = nil) {
        guard retry == nil else { return }
        retry = wakes.wake(.full, after: pause ?? delay)
        if pause == nil { delay = min(delay * 2, Self.lastDelay) }
    }

    /// Looks again soon at a store that is being put into place.
    mutating func retrySoon() {
        retry?.cancel()
        retry = wakes.wake(.full, after: StoreReturn.pause)
    }

    func stop() {
        nextScan?.cancel()
        retry?.cancel()
        receipt?.cancel()
        rest?.cancel()
    }
}
