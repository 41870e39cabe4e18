public import LogSyncContainer
public import LogSyncModel
import LogSyncStore
public import Logging

/// What a replicator takes from outside.
public struct SyncConfiguration: Sendable {
    /// Where state files and locks are kept, outside any container; made where it is missing.
    public var stateDirectory: String
    public var clock: any WallClock = SystemClock()
    /// Look at the container at this interval instead of waiting for events; nil chooses by file system.
    public var pollInterval: Duration?
    /// Tells of changes in folders that the kernel reports; nil to poll them. `InotifyFolderEvents.shared` of the product
    /// InotifyEvents is another one.
    public var events: (any FolderEvents)? = KernelFolderEvents.shared
    /// For how long further events are gathered after the first, which is acted on at once. Where acting takes longer, those
    /// that came meanwhile are acted on next.
    public var debounce: Duration = .milliseconds(10)
    /// How long a running replicator may take to say in its receipt what it published and imported. Others need it for
    /// nothing in a hurry, and each receipt is a file that has to be synchronized, carried and looked at.
    package var receiptDelay: Duration = .milliseconds(500)
    /// How far ahead of this machine's clock a transaction's time may lie before it is held.
    public var maximumDrift: Duration = .seconds(24 * 3600)
    /// How many peers of which nothing is known may come a day, by UTC; transactions of more, and snapshots that stand for
    /// more, are held as `too-large`. Each peer is an entry in every receipt from then on.
    public var maximumNewPeers = 1000
    /// How long to wait for another logsync or a long writer before ``LogSyncError/Code/locked`` is thrown.
    public var wait: Duration = .seconds(10)
    /// A running replicator takes a snapshot when the log files since the last have more bytes than it has, and more than
    /// this many.
    public var snapshotThreshold: UInt64 = 16 << 20
    /// Texts and BLOBs of more bytes than this are published as files of their own, once however many rows hold them:
    /// 0 … 1,000,000,000. Peers need not agree on it.
    public var blobThreshold = StoreConfiguration.defaultBlobThreshold
    /// Merge policies of this program, by the names under which `policy set` and ``InitializeOptions`` know them.
    ///
    /// Every peer should register them alike: where one is missing `last-writer` is shown, and the peer's state digest no
    /// longer says what it shows.
    public var policies: [String: MergePolicy] = [:]
    /// Extensions of SQLite that this user has the store's connections load, for the collations and functions that the
    /// program's schema needs.
    public var extensions: [LoadableExtension] = []
    /// Errors and identity trouble are logged here, once; by default no more than notices, by the program's own handler.
    public var logger = SyncConfiguration.defaultLogger
    /// 64 random bits a call.
    public var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
    /// This machine's id; nil where unknown.
    public var machineID: String? = SyncConfiguration.currentMachineID

    /// Waits until a write into the store at a path meets no program that reads it, and says whether one has come meanwhile.
    var awaitReaders: @Sendable (String) -> Void = { _ in }
    var isRead: @Sendable (String) -> Bool = { _ in false }
    /// The process that has the database at a path locked, where that can be told.
    package var lockHolder: @Sendable (String) -> Int32? = {
        KernelLocks.shared.writer(of: $0) ?? KernelLocks.shared.holder(of: $0)
    }
    /// The clock that gives files their times, in Unix nanoseconds.
    package var fileClock: @Sendable () -> Int64 = PassingTime.nanosecondsSince1970
    /// The container's file system.
    package var fileSystem: any FileSystem = PosixFileSystem()
    /// Is told when a running replicator begins to work on its store, with true, and when it has done.
    package var didChangeWork: (@Sendable (Bool) -> Void)?
    /// Is given the path of each file that a replicator has put into the container or removed from it.
    package var didChangeFile: (@Sendable (String) -> Void)?

    /// How often a running replicator looks at everything, whatever it was told of.
    var fullScanInterval: Duration = .seconds(60)

    /// For how long one peer's transactions are imported while others' wait.
    var importTurn: Duration = .seconds(1)

    /// How many of a peer's transactions before the last a snapshot tells apart, where there is room for so many.
    package var toldTransactions = StoreConfiguration().toldTransactions

    /// How long one step of importing keeps programs from writing, in seconds.
    var lockBudget = StoreConfiguration().lockBudget

    /// This configuration for a store that no program has open: steps are long, and leave the store to nobody in between.
    var unshared: SyncConfiguration {
        var configuration = self
        (configuration.isShared, configuration.lockBudget) = (false, 1)
        return configuration
    }

    /// Whether the program's triggers fire where rows of others come.
    var firesTriggers = StoreConfiguration().firesTriggers

    private var isShared = StoreConfiguration().isShared

    /// How much of a database SQLite keeps in memory, in bytes.
    var pageCache = StoreConfiguration().pageCache

    /// - Parameter stateDirectory: where state files and locks are kept.
    public init(stateDirectory: String = SyncConfiguration.defaultStateDirectory) {
        self.stateDirectory = stateDirectory
    }
}

extension SyncConfiguration {
    /// What the store takes of this.
    var storeConfiguration: StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.clock = clock
        configuration.random = random
        configuration.busyTimeout = wait / .seconds(1)
        configuration.policies = policies
        configuration.extensions = extensions
        configuration.awaitReaders = awaitReaders
        configuration.isRead = isRead
        configuration.lockHolder = lockHolder
        configuration.isDelayed = { [logger] path, process in
            let who = process.map { " (process \($0))" } ?? ""
            logger.notice("\(path) is locked by another program\(who); it is waited for")
        }
        configuration.maximumDrift = Int64(maximumDrift / .milliseconds(1))
        configuration.blobThreshold = blobThreshold
        configuration.toldTransactions = toldTransactions
        configuration.pageCache = pageCache
        configuration.lockBudget = lockBudget
        configuration.isShared = isShared
        configuration.firesTriggers = firesTriggers
        return configuration
    }

    func randomPeer() -> PeerID { PeerID(high: random(), low: random()) }
    var now: Timestamp { Timestamp(milliseconds: clock.now()) }
}
