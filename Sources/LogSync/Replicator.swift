public import LogModel
import LogStore

/// Keeps one store and its container in step: *record → publish → scan → import → did import*.
///
/// ```swift
/// let replicator = try Replicator(store: "notes.db", configuration: SyncConfiguration())
/// let result = try await replicator.sync()
/// print(result.imported, result.held)
/// ```
public actor Replicator {
    /// The store's absolute path.
    public nonisolated let path: String

    /// Opens a store. Throws `noStore`, `notReplicated`, `invalidStore`, `newerFormat`.
    public init(store path: String, configuration: SyncConfiguration) throws {
        fatalError()
    }

    /// Makes an existing database a store and joins the content where it exists already.
    ///
    /// It may be called again without harm. Throws `configuration` where the options contradict what is there.
    public static func initialize(
        _ store: String, container: String, content: String, options: InitializeOptions = InitializeOptions(),
        configuration: SyncConfiguration
    ) async throws -> InitializeReport { fatalError() }

    /// Makes a new store from the container. Throws `cannotCreate` where the file exists.
    public static func clone(
        to store: String, container: String, content: String, peerName: String? = nil,
        configuration: SyncConfiguration, progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> CloneReport { fatalError() }

    /// Records and publishes local changes, then imports all that has arrived.
    public func sync() async throws -> SyncResult { fatalError() }

    /// Imports all that has arrived; local changes are recorded first and wait in the outbox.
    public func `import`() async throws -> SyncResult { fatalError() }

    /// Records and publishes local changes.
    public func export() async throws -> SyncResult { fatalError() }

    /// Syncs as things happen, until the task is cancelled; what was done is kept.
    public func run() async throws { fatalError() }

    /// Runs in the background until ``stop()``.
    public func start() { fatalError() }

    /// Stops what ``start()`` started, after the step under way.
    public func stop() async { fatalError() }

    /// What happens from now on.
    public nonisolated func events() -> AsyncStream<ReplicationEvent> { fatalError() }

    /// Imports from now on.
    public nonisolated var didImport: AsyncStream<DidImport> { fatalError() }

    public func status() async throws -> StoreStatus { fatalError() }

    /// The store's transactions, newest first; with `after` those with greater tokens, oldest first.
    public func log(
        limit: Int? = nil, after token: Int64? = nil, author: String? = nil, peer: String? = nil, table: String? = nil
    ) async throws -> [LoggedTransaction] { fatalError() }

    /// Streams one transaction from the outbox or the container.
    public func show(_ dot: Dot, _ body: @Sendable (LogElement) throws -> Void) async throws { fatalError() }

    /// Streams a log file.
    public static func show(file: String, _ body: (LogElement) throws -> Void) throws { fatalError() }

    /// Finds a peer by its id, or by its name where that is unique. Throws `usage` otherwise.
    public func peer(named text: String) async throws -> PeerName { fatalError() }

    /// Lets transactions of this peer in, however far ahead their times lie.
    public func acceptClock(of peer: PeerID) async throws { fatalError() }

    /// Ends replication and keeps the data; the peer's folder stays for the others.
    public func leave() async throws { fatalError() }
}
