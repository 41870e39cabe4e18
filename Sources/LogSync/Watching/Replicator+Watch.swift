import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// Syncing as things happen.
extension Replicator {
    /// Syncs as things happen, until the task is cancelled; what was done is kept.
    ///
    /// A store that is missing or locked, a container that is not there, a full disk: all are reported as
    /// ``ReplicationEvent``, and tried again.
    public func run() async throws {
        let wakes = Wakes()
        wakes.wake(.full)
        let watchers = Watchers(configuration: configuration, wakes: wakes)
        let (files, path) = (files, path)
        let (moves, move) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await watchers.watchStore(path) }
            group.addTask { await self.watchContainer(watchers, anewAfter: moves) }
            group.addTask { await watchers.watchRequests(files, path) }
            group.addTask { await watchers.watchTime() }
            await loop(wakes, move)
            group.cancelAll()
        }
    }

    /// Runs in the background until ``stop()``.
    public func start() {
        guard background == nil else { return }
        background = Task {
            do {
                try await run()
            } catch {
                configuration.logger.error("\(path): \(error)")
            }
        }
    }

    /// Stops what ``start()`` started, after the step under way.
    public func stop() async {
        background?.cancel()
        await background?.value
        background = nil
    }

    /// Watches the content folder, and anew from when the content was found to be elsewhere or this to be another peer.
    private nonisolated func watchContainer(_ watchers: Watchers, anewAfter moves: AsyncStream<Void>) async {
        func watch() -> Task<Void, Never> { Task { await watchers.watchContainer { await self.contentPaths() } } }
        var watching = watch()
        for await _ in moves {
            watching.cancel()
            await watching.value
            watching = watch()
        }
        watching.cancel()
        await watching.value
    }

    /// Where the content folder is, and this peer's own folder; nil where the store cannot be asked.
    private func contentPaths() -> (path: String, own: String)? {
        // The round says why the store cannot be opened.
        try? look { ($0.content.path, $0.content.peer($0.peer).path) }
    }

    // MARK: The loop

    private func loop(_ wakes: Wakes, _ move: AsyncStream<Void>.Continuation) async {
        var pulse = Pulse(wakes: wakes, receiptDelay: configuration.receiptDelay)
        var own: String?
        for await _ in wakes.signals {
            if Task.isCancelled { break }
            let start = ContinuousClock.now
            let waking = wakes.take()
            let wake = waking.wake
            defer {
                if let now = opened.map({ $0.content.peer($0.peer).path }), now != own {
                    if own != nil { move.yield() }
                    own = now
                }
            }
            do {
                if wake.contains(.request) { try await letGo(wakes) }
                pulse.schedule(wake)
                let result = try await respond(to: waking, &pulse)
                if wake.contains(.acknowledge) { try await acknowledge(nil) }
                pulse.noteReceipt(isWritten: !wake.isDisjoint(with: [.acknowledge, .full]), isOwed: result != nil)
                guard let result else { continue }
                announce(result, &pulse)
                if wake.contains(.full) { try await upkeep(compacts: pulse.isTimeToCompact()) }
                // What arrives meanwhile is done together.
                try await Task.sleep(until: start + configuration.debounce)
            } catch is CancellationError {
                break
            } catch {
                announce(LogSyncError(wrapping: error, at: path), &pulse)
            }
        }
        pulse.stop()
        guard pulse.owesReceipt else { return }
        // In a task that is not cancelled. What cannot be said now is said at the next start.
        await Task { try? await acknowledge(nil) }.value
    }

    /// Does what a wake calls for. Returns nil where there was nothing to do.
    private func respond(to waking: Waking, _ pulse: inout Pulse) async throws -> SyncResult? {
        if waking.wake.contains(.full) { return try await round(.everything, isFull: true) }
        if waking.wake.contains(.folder) {
            return try await round([.scan, .publish, .import], isFull: false, in: waking.peers)
        }
        let (version, isPending) = try look { (try $0.store.dataVersion(), try $0.store.hasPendingChanges()) }
        guard isPending || version != pulse.version else { return nil }
        pulse.version = version
        let result = try await round(.publish)
        // Where there was nothing to publish, nobody has looked whether the container is there.
        return result.published > 0 ? result : nil
    }

    /// Closes the store until another process has done with it what it needs it alone for.
    private func letGo(_ wakes: Wakes) async throws {
        let limit = configuration.wait * 6
        guard StoreLocks.isRequested(files, store: path, age: limit) else { return }
        isLettingGo = true
        defer { isLettingGo = false }
        close()
        while StoreLocks.isRequested(files, store: path, age: limit) {
            try await Task.sleep(for: .milliseconds(100))
        }
        wakes.wake(.full)
    }

    /// After this many transactions published one by one, the own folder is looked after.
    private static let tidyingInterval = 64

    // MARK: Saying how it goes

    private func announce(_ result: SyncResult, _ pulse: inout Pulse) {
        pulse.succeed()
        if pulse.trouble != nil || !pulse.hasBegun {
            pulse.trouble = nil
            pulse.hasBegun = true
            hub.send(.ready(store: path))
        }
        pulse.published += result.published
        if pulse.published >= Self.tidyingInterval {
            pulse.published = 0
            pulse.wakes.wake(.folder, in: opened?.peer)
        }
        guard result.held != pulse.held else { return }
        pulse.held = result.held
        for item in result.held {
            configuration.logger.notice(
                "\(path) holds \(item.peer.name):\(item.sequence) (\(item.reason.rawValue))",
                metadata: item.file.map { ["file": "\($0)"] })
        }
        hub.send(.held(store: path, items: result.held))
    }

    private func announce(_ error: LogSyncError, _ pulse: inout Pulse) {
        pulse.fail()
        guard pulse.trouble != error.code else { return }
        pulse.trouble = error.code
        configuration.logger.error("\(path): \(error)")
        if error.code == .containerUnavailable {
            hub.send(.unavailable(store: path, error: error))
        } else {
            hub.send(.error(store: path, error: error))
        }
    }
}

/// What a running replicator remembers from one wake to the next.
private struct Pulse {
    let wakes: Wakes
    /// What the last look for commits saw.
    var version: Int64?
    var hasBegun = false
    var trouble: LogSyncError.Code?
    var held: [HeldItem] = []
    /// Transactions published since the own folder was last looked after.
    var published = 0
    private var looks: ArraySlice<Duration> = []
    private var nextLook: Task<Void, Never>?
    private var retry: Task<Void, Never>?
    private var delay = Pulse.firstDelay

    private var lastCompaction: ContinuousClock.Instant?

    private let receiptDelay: Duration
    /// The wake that has the receipt written, while one is owed.
    private var receipt: Task<Void, Never>?
    var owesReceipt: Bool { receipt != nil }

    /// How often at the most a running replicator looks for log files that may go.
    private static let compactionInterval = Duration.seconds(3600)
    private static let firstDelay = Duration.seconds(1)
    private static let lastDelay = Duration.seconds(30)
    /// The files are written before the commit can be seen, so one looks again: a writer may be synchronizing its disk.
    private static let lookPauses: [Duration] = [
        .milliseconds(1), .milliseconds(5), .milliseconds(25), .milliseconds(100),
    ]

    init(wakes: Wakes, receiptDelay: Duration) {
        self.wakes = wakes
        self.receiptDelay = receiptDelay
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

    mutating func schedule(_ wake: Wake) {
        if wake.contains(.local) { looks = Self.lookPauses[...] }
        guard wake.contains(.local) || wake.contains(.look) else { return }
        nextLook?.cancel()
        nextLook = looks.popFirst().map { wakes.wake(.look, after: $0) }
    }

    /// Whether an hour has passed since this was last so.
    mutating func isTimeToCompact() -> Bool {
        let now = ContinuousClock.now
        if let lastCompaction, now - lastCompaction < Self.compactionInterval { return false }
        lastCompaction = now
        return true
    }

    mutating func succeed() {
        delay = Self.firstDelay
        retry?.cancel()
        retry = nil
    }

    mutating func fail() {
        retry?.cancel()
        retry = wakes.wake(.full, after: delay)
        delay = min(delay * 2, Self.lastDelay)
    }

    func stop() {
        nextLook?.cancel()
        retry?.cancel()
        receipt?.cancel()
    }
}

extension LogSyncError {
    /// Any error as one with a code.
    init(wrapping error: any Error, at path: String) {
        self = error as? LogSyncError ?? LogSyncError(.ioError, "\(path): \(error)")
    }
}
