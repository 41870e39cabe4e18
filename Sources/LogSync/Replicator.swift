import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// Keeps one store and its container in step: *record → publish → scan → import → did import*.
///
/// ```swift
/// let replicator = try Replicator(store: "notes.db", configuration: SyncConfiguration())
/// let result = try await replicator.sync()
/// print(result.imported, result.held)
/// ```
///
/// Any number of replicators, in any number of processes, may work on one store: each step takes a lock on it. All
/// methods throw ``LogSyncError``, or `CancellationError` where their task was cancelled; what was done is kept.
public actor Replicator {
    /// The store's absolute path.
    public nonisolated let path: String
    nonisolated let configuration: SyncConfiguration
    nonisolated let hub = EventHub<ReplicationEvent>()
    private nonisolated let executor = QueueExecutor(label: "logsync.replicator")
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    let files: StateFiles
    private let nonce: String
    private(set) var opened: ReplicatedStore?
    private var locks: StoreLocks?
    var background: Task<Void, Never>?
    /// Another process needs the store alone: it stays closed, whoever asks for it.
    var isLettingGo = false

    /// Opens a store.
    ///
    /// - Parameter opensNow: false to open it when it is first needed, for ``run()`` on a store that may come later.
    /// - Throws: `noStore`, `notReplicated`, `invalidStore`, `newerFormat`, `noPermission`; `cannotCreate` where the state
    ///   directory cannot be made.
    public init(store path: String, configuration: SyncConfiguration, opensNow: Bool = true) throws {
        // Without a file there is nothing to resolve; the store may come later.
        self.path = (try? StorePlace(path))?.path ?? StorePlace.absolute(path)
        self.configuration = configuration
        files = StateFiles(directory: configuration.stateDirectory)
        nonce = String(configuration.random(), radix: 16)
        try files.create()
        guard opensNow else { return }
        let store = try ReplicatedStore(path: path, configuration: configuration, files: files, nonce: nonce)
        locks = try StoreLocks(files, store: store.place.path, wait: configuration.wait)
        opened = store
    }

    // MARK: One round

    /// Records and publishes local changes, then imports all that has arrived.
    ///
    /// - Throws: `containerUnavailable` where the container is not there; local changes are then recorded nevertheless.
    public func sync() async throws -> SyncResult { try await round(.everything, recalls: true) }

    /// Imports all that has arrived; local changes are recorded first and wait in the outbox.
    public func `import`() async throws -> SyncResult {
        try await round([.scan, .import, .acknowledge], recalls: true)
    }

    /// Records and publishes local changes.
    public func export() async throws -> SyncResult {
        try await round([.scan, .publish, .acknowledge], recalls: true)
    }

    /// - Parameters:
    ///   - isFull: whether to list the whole container again.
    ///   - peers: in whose folders to look where not; nil for all.
    ///   - recalls: whether to go by what was found before; the first such look of a process leaves what it finds.
    func round(
        _ parts: RoundParts, isFull: Bool = true, in peers: Set<PeerID>? = nil, recalls: Bool = false
    ) async throws -> SyncResult {
        var result = SyncResult(store: path)
        let isFirst = try recalls && store().lastFullLook == nil
        let (look, isOutdated) = try await record(parts, isFull, peers, recalls, &result)
        // What was recorded waits in the outbox.
        if let error = look?.error { throw error }
        if isOutdated, let scan = look?.scan {
            // An older state of itself takes in what its former self had done since, before it tells anything of its own.
            try await importAll(scan, &result)
        }
        if parts.contains(.publish) { try await publish(&result) }
        // What the own folder is found to hold is told with what is held. In a hurry, what has arrived comes first.
        if parts.contains(.publish), isFull, let scan = look?.scan { try await lookAfterFolder(scan) }
        if parts.contains(.import), let scan = look?.scan {
            let before = result.recorded
            try await importAll(scan, &result)
            // What was recorded on the way, and rows that an import brought back here, are news for the others.
            if parts.contains(.publish), result.recorded > before { try await publish(&result) }
        }
        if parts.contains(.publish), !isFull, let scan = look?.scan, try store().concernsOwnFolder(scan, in: peers) {
            try await lookAfterFolder(scan)
        }
        if parts.contains(.acknowledge) { try await acknowledge(look?.scan) }
        if isFirst, let scan = look?.scan { try await step { try $0.rememberLooks(scan) } }
        result.held = opened?.held ?? []
        return result
    }

    // MARK: Record

    private func record(
        _ parts: RoundParts, _ isFull: Bool, _ peers: Set<PeerID>?, _ recalls: Bool, _ result: inout SyncResult
    ) async throws -> (look: Look?, isOutdated: Bool) {
        let (look, isOutdated, recorded) = try await step(settles: true) { store in
            let looks = parts.contains(.scan) || !store.isSettledWithFolder
            let look = looks ? Look(store, isFull: isFull, in: peers, recalls: recalls) : nil
            let isOutdated = try store.settleIdentity(look?.scan)
            let recorded = try store.store.record()
            try store.noteRecorded()
            return (look, isOutdated, recorded)
        }
        if recorded != nil { result.recorded += 1 }
        return (look, isOutdated)
    }

    // MARK: Publish

    func publish(_ result: inout SyncResult) async throws {
        while true {
            let count = try await step { try $0.publishNext() }
            if count == 0 { break }
            result.published += count
        }
    }

    /// Puts back what is missing in this peer's own folder, and merges small files.
    private func lookAfterFolder(_ scan: ContainerScan) async throws {
        try await step { store in
            // A scan from before does not show what was published just now.
            let scan = try store.withOwnFolder(scan)
            store.noteReceipts(scan)
            _ = try store.mend(scan)
            try store.replaceForkedSnapshots(scan)
            try store.bridge(scan)
            try store.tidy()
        }
    }

    // MARK: Import

    func importAll(_ scan: ContainerScan, _ result: inout SyncResult) async throws {
        let plan = try await step { try $0.plan(scan) }
        while true {
            let progress = try await step { store in
                let progress = try store.importNext(plan)
                if case .imported(let step) = progress, let event = try store.event(step) { announce(event) }
                return progress
            }
            if case .finished = progress { break }
            if case .imported(let step) = progress {
                result.recorded += (step.recorded == nil ? 0 : 1) + step.revived.count
                result.imported += step.imported.count
            }
            try Task.checkCancellation()
        }
        if try await step({ try $0.findBranches(plan, scan) }) { return try await importAll(scan, &result) }
        if try await joinSnapshot(plan, scan, &result) { return try await importAll(scan, &result) }
        let isOutdated = try await step { store in
            try store.learnKeys(scan)
            store.held = try store.heldItems(plan, scan)
            // Others have seen what this store never did: it is an older state of itself.
            guard store.seenByOthers > 0 else { return false }
            return try store.settleIdentity(scan)
        }
        if isOutdated { try await importAll(scan, &result) }
    }

    func acknowledge(_ scan: ContainerScan?) async throws {
        try await step { try $0.acknowledge(scan ?? $0.unacknowledged) }
    }

    // MARK: Did import

    func announce(_ event: DidImport) {
        hub.send(.didImport(event))
        NotificationCenter.default.post(
            name: .logSyncDidImport, object: nil, userInfo: [DidImport.userInfoKey: event])
    }

    /// What happens from now on.
    public nonisolated func events() -> AsyncStream<ReplicationEvent> { hub.stream() }

    /// Imports from now on.
    public nonisolated var didImport: AsyncStream<DidImport> {
        let events = hub.stream()
        let (stream, continuation) = AsyncStream.makeStream(of: DidImport.self)
        let task = Task {
            for await case .didImport(let event) in events { continuation.yield(event) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    // MARK: Steps

    /// Does one step while no other process is at the store.
    ///
    /// - Parameter settles: whether the step settles the store's identity; the others need it settled.
    func step<T>(settles: Bool = false, _ body: (ReplicatedStore) throws -> T) async throws -> T {
        let store = try store()
        guard let locks else { throw CancellationError() }
        try await locks.step.acquire(wait: configuration.wait, of: path)
        defer { locks.step.release() }
        try store.refresh()
        guard settles || store.state != nil, store.isCurrent else {
            if !store.isCurrent { close() }
            throw LogSyncError(
                .locked, "\(path) was replaced or became another peer in the middle of the work; what was done is kept",
                help: "Run the command again")
        }
        return try body(store)
    }

    /// Looks at the store without keeping others out.
    func look<T>(_ body: (ReplicatedStore) throws -> T) throws -> T {
        let store = try store()
        try store.refresh()
        return try body(store)
    }

    /// The store, opened where it is not, or where another file has taken its path.
    private func store() throws -> ReplicatedStore {
        guard !isLettingGo else {
            throw LogSyncError(
                .locked, "another logsync process has \(path) for itself; nothing was changed",
                help: "Try again when it has finished")
        }
        if let opened, opened.isCurrent { return opened }
        close()
        let store = try ReplicatedStore(path: path, configuration: configuration, files: files, nonce: nonce)
        locks = try StoreLocks(files, store: store.place.path, wait: configuration.wait)
        opened = store
        return store
    }

    /// Lets go of the store's file; it is opened again when it is needed.
    public func close() {
        do {
            try opened?.store.close()
        } catch {
            configuration.logger.warning("\(path) could not be closed: \(error)")
        }
        opened = nil
        locks = nil
    }

    /// Waits until no other process has the store open.
    func takeAlone() async throws {
        _ = try store()
        try await locks?.takeAlone(wait: configuration.wait, of: path)
    }

    func giveBack() { locks?.giveBack() }
}

/// What a round does besides recording.
struct RoundParts: OptionSet {
    let rawValue: Int
    static let scan = RoundParts(rawValue: 1)
    static let publish = RoundParts(rawValue: 2)
    static let `import` = RoundParts(rawValue: 4)
    /// Publishes a receipt where it would say anything new.
    static let acknowledge = RoundParts(rawValue: 8)
    static let everything: RoundParts = [.scan, .publish, .import, .acknowledge]
}

/// What a look at the container gave: what is there, or why it cannot be seen.
struct Look {
    var scan: ContainerScan?
    var error: (any Error)?

    init(_ store: ReplicatedStore, isFull: Bool, in peers: Set<PeerID>? = nil, recalls: Bool = false) {
        do {
            scan = try store.scan(full: isFull, in: peers, recalls: recalls)
        } catch {
            self.error = error
        }
    }
}
