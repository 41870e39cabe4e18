import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// Keeps one store and its container in step: *record → publish → scan → import → did import*.
///
/// ```swift
/// let replicator = try await Replicator.open(store: "notes.db", configuration: SyncConfiguration())
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
    /// The other programs that read the store, for which writes wait while ``run()`` is under way.
    nonisolated let readers = ActiveReaders()
    /// What is being asked of the container's file system.
    nonisolated let folderCalls = PendingCalls()
    nonisolated let hub = EventHub<ReplicationEvent>()
    /// What the notification center is to be told when the step under way is over.
    private var unposted: [DidImport] = []
    nonisolated let changeHub = EventHub<StoreChange>()
    /// Says that subscriptions may have something to tell.
    nonisolated let firingHub = EventHub<Void>()
    /// Up to where the store's history is known to whom ``changes`` tells; nil before the store was opened.
    var seenToken: Int64?
    private nonisolated let executor = QueueExecutor(label: "logsync.replicator")
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The configured one, until the store is open and may name another.
    var stateDirectory: StateDirectory
    let nonce: String
    /// The store, while this process has it open, and its locks; see Replicator+Steps.swift.
    var opened: ReplicatedStore?
    var locks: StoreLocks?
    /// How this replicator shares the store with other processes.
    enum Access {
        /// All have it open, and take turns.
        case shared
        /// This one has asked the others to let go of it, and has it alone or waits for that.
        case alone
        /// Another process needs it alone: it stays closed, whatever is asked of this replicator.
        case lettingGo
        /// It is a store no more, by ``leave(dryRun:)``.
        case left
    }
    var access = Access.shared
    /// Whether ``run()`` is under way.
    var isRunning = false
    /// How much of what is being done while ``run()`` is under way may meet a file that ends the process.
    private var work = 0
    /// Since the store was found missing or replaced, while ``run()`` is under way: nil once it is open again.
    var storeReturn: StoreReturn?
    /// Whether the rows have to be compared with what was recorded of them, because the files were replaced while they were
    /// open here.
    var isReplaced = false
    /// Whether it was said that the store was replaced, and not yet that it is in step again.
    var owesReturn = false
    /// The files of the path when the database there was last found to be no store; nil where it was none.
    var notReplicated: RestingFiles?
    /// What ``start()`` started.
    var background: Task<Void, Never>?
    /// What the database still has to become; nil where it is a store.
    var founding: FoundingPlan?
    /// Records within the program's own transactions.
    nonisolated let programRecording: ProgramRecording
    /// Tells the program's own observations; see ``open(_:container:content:peer:whenContainerIsAway:runs:configuration:_:)``.
    var notifying: Task<Void, Never>?
    nonisolated let activityHub = EventHub<Activity>()
    var currentActivity = Activity() {
        didSet { if currentActivity != oldValue { activityHub.send(currentActivity) } }
    }

    /// Opens a store.
    ///
    /// - Parameter opensNow: false to open it when it is first needed, for ``run()`` on a store that may come later.
    /// - Throws: `noStore`, `notReplicated`, `invalidStore`, `newerFormat`, `noPermission`; `cannotCreate` where the state
    ///   directory cannot be made.
    public init(store path: String, configuration: SyncConfiguration, opensNow: Bool = true) throws {
        // Without a file there is nothing to resolve; the store may come later.
        self.path = (try? StorePlace(path))?.path ?? StorePlace.absolute(path)
        var configuration = configuration
        configuration.fileSystem = TimedFileSystem(
            configuration.fileSystem, calls: folderCalls, onChange: configuration.didChangeFile)
        configuration.awaitReaders = { [readers] in readers.awaitEnd(of: $0) }
        configuration.isRead = { [readers] in readers.areAwaited($0) }
        self.configuration = configuration
        programRecording = ProgramRecording(configuration.storeConfiguration)
        stateDirectory = StateDirectory(configuration.stateDirectory)
        nonce = String(configuration.random(), radix: 16)
        guard opensNow else { return }
        do {
            let store = try ReplicatedStore(
                path: path, configuration: configuration, stateDirectory: stateDirectory, nonce: nonce)
            stateDirectory = store.stateDirectory
            // The store may name another than the configured one, which is not needed then.
            try stateDirectory.create()
            locks = try StoreLocks(stateDirectory, store: store.place.path, wait: configuration.wait)
            opened = store
            seenToken = try store.store.lastToken()
        } catch let error as LogSyncError {
            throw error.about(.store(self.path))
        }
    }

    /// Says that something begins which reads what others have written; ``endWork()`` says that it is done.
    func beginWork() {
        work += 1
        if work == 1 { configuration.didChangeWork?(true) }
    }

    func endWork() {
        work -= 1
        if work == 0 { configuration.didChangeWork?(false) }
    }

    // MARK: One round

    /// Records and publishes local changes, then imports all that has arrived.
    ///
    /// - Throws: `containerUnavailable` where the container is not there; local changes are then recorded nevertheless.
    public func sync() async throws -> SyncResult {
        let result = try await round(.everything, .cached)
        try warnOfUncaptured()
        try warnOfUndecided()
        try warnOfUndecidedKeys()
        try warnOfUnwritable()
        try warnOfUndecidable()
        return result
    }

    /// A program that turns triggers off is told from one that has not written only by what it has left.
    private func warnOfUncaptured() throws {
        let tables = try inspect { try $0.store.uncaptured() }
        guard !tables.isEmpty else { return }
        configuration.logger.warning(
            """
            rows of \(tables.joined(separator: ", ")) in \(path) were not captured: a program wrote them with triggers off. \
            `logsync rescan \(path.asShellArgument)` records them
            """)
    }

    /// `init` asks what columns refer to; of a column that a migration adds it could not.
    private func warnOfUndecided() throws {
        let held = try inspect { try $0.store.heldReferences() }
        for reference in try inspect({ try $0.store.undecidedReferences() }) {
            let column = "\(reference.table).\(reference.column)"
            let isHeld = held.contains(column)
            configuration.logger.warning(
                """
                \(column) in \(path) is new, and seems to hold integers of rows of \(reference.parent), which differ from peer \
                to peer\(isHeld ? "; it is not replicated until that is decided" : ""). `logsync migrate \(path.asShellArgument) --reference \
                \("\(column)=\(reference.parent)".asShellArgument)` says that it does, and \
                `--no-reference \(column.asShellArgument)` that it does not
                """)
        }
    }

    /// Nor which integer keys of tables that it makes are the same everywhere.
    private func warnOfUndecidedKeys() throws {
        for key in try inspect({ try $0.store.undecidedKeys() }) {
            configuration.logger.warning(
                """
                \(key.table).\(key.column) in \(path) is new, and \(key.reason): a row that another peer inserts with the \
                same gets another number here. `logsync migrate \(path.asShellArgument) --identity \("\(key.table)=surrogate".asShellArgument)` says that it is a \
                number of rows; where it means the same everywhere, make the table anew WITHOUT ROWID
                """)
        }
    }

    /// `init` refuses tables that need what only their program has; a migration brings it all the same.
    private func warnOfUnwritable() throws {
        for table in try inspect({ try $0.store.unwritableTables() }) {
            configuration.logger.warning(
                """
                \(table.table) in \(path) cannot be written by logsync: \(table.reason). What other peers write there waits: \
                \(LoadableExtension.remedy)
                """)
        }
    }

    private func warnOfUndecidable() throws {
        for index in try inspect({ try $0.store.undecidableIndexes() }) {
            configuration.logger.warning("\(index.table) in \(path) \(index.reason): \(index.remedy)")
        }
    }

    /// Imports all that has arrived; local changes are recorded first and wait in the outbox.
    public func `import`() async throws -> SyncResult { try await round([.scan, .import, .acknowledge], .cached) }

    /// Records and publishes local changes.
    public func export() async throws -> SyncResult { try await round([.scan, .publish, .acknowledge], .cached) }

    // MARK: Did import

    func announce(_ step: ImportStep, in store: ReplicatedStore) throws {
        guard !step.imported.isEmpty else { return }
        announce(try DidImport(step, into: store))
    }

    func announce(_ event: DidImport, _ cause: StoreChange.Cause = .imported) {
        hub.send(.didImport(event))
        changeHub.send(StoreChange(event, cause))
        unposted.append(event)
    }

    /// Posts what was imported, when no other process is kept from the store any more.
    func postImports() {
        let events = unposted
        unposted = []
        for event in events {
            NotificationCenter.default.post(
                name: .logSyncDidImport, object: nil, userInfo: [DidImport.userInfoKey: event])
        }
    }

    /// What happens from now on; each call gives a stream of its own, as ``didImport`` and ``changes`` do.
    public nonisolated func events() -> AsyncStream<ReplicationEvent> { hub.stream() }

    /// Imports of this process from now on; each access is a stream of its own, which loses the oldest where its loop falls
    /// behind by more than 10,000.
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
}
