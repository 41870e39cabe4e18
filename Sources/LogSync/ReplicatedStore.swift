import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// A store, open, together with what stands outside it: its state file and its content folder.
///
/// Its parts live as long as what they know holds. ``library``, ``coverage`` and ``inbox`` are made anew when the content is
/// elsewhere; ``identity`` and ``ownFolder`` then too, and when the store has become another peer.
///
/// Confined to the replicator that owns it. Every method is one part of a step and expects the store's lock to be held.
final class ReplicatedStore {
    let store: Store
    let place: StorePlace
    let configuration: SyncConfiguration
    let stateDirectory: StateDirectory
    /// Tells this process from others in receipts.
    let nonce: String
    private(set) var registration: StoreRegistration
    private(set) var content: ContentFolder

    /// What the files in the content folder were found to be.
    private(set) var library: ContentLibrary
    /// Lists it for `status`, apart from this store's own scans.
    private(set) var folder: FolderListing
    /// What the snapshots in the content folder stand for.
    private(set) lazy var coverage = SnapshotCoverage(self)
    /// Which peer this store is.
    private(set) lazy var identity = StoreIdentity(self)
    /// What this peer publishes.
    private(set) lazy var ownFolder = OwnFolder(self)
    /// What the other peers publish.
    private(set) lazy var inbox = Inbox(self)

    var logger: Logger { configuration.logger }
    var peer: PeerID { registration.peer }

    /// - Parameter stateDirectory: the one that was configured; what the store names is used where it knows this store.
    /// - Throws: `noStore`, `notReplicated`, `invalidStore`, `newerFormat`, `configuration`, `noPermission`.
    init(path: String, configuration: SyncConfiguration, stateDirectory: StateDirectory, nonce: String) throws {
        place = try StorePlace(path)
        store = try Store.open(place.path, configuration: configuration.storeConfiguration)
        self.configuration = configuration
        self.nonce = nonce
        registration = try store.registration()
        self.stateDirectory = try stateDirectory.followed(registration, at: place, machine: configuration.machineID)
        content = try Self.content(of: registration, place, configuration)
        (library, folder) = try Self.views(of: content, configuration, store)
    }

    private static func views(
        of content: ContentFolder, _ configuration: SyncConfiguration, _ store: Store
    ) throws -> (ContentLibrary, FolderListing) {
        let counters = ReceiptCounters(try store.receiptCounters())
        return (
            ContentLibrary(content, clock: configuration.fileClock, counters: counters),
            FolderListing(content, clock: configuration.fileClock, counters: counters)
        )
    }

    private static func content(
        of registration: StoreRegistration, _ place: StorePlace, _ configuration: SyncConfiguration
    ) throws -> ContentFolder {
        ContentFolder(
            container: registration.container, name: try ContentName(checking: registration.content),
            fileSystem: configuration.fileSystem, permissions: place.permissions)
    }

    /// Whether the path still leads to the files that are open.
    var isCurrent: Bool {
        // A path that leads nowhere leads elsewhere; a store that cannot be asked is opened anew.
        (try? StorePlace(place.path)) == place && (try? store.isInPlace()) ?? false
    }

    /// Whether another process, meanwhile, has said that this store is kept in another state directory: it is to be opened
    /// anew, with that one's locks.
    ///
    /// - Throws: `noPermission`.
    var hasOtherStateDirectory: Bool {
        get throws {
            try stateDirectory.followed(registration, at: place, machine: configuration.machineID) != stateDirectory
        }
    }

    /// Reads again what other processes, or this one, may have changed in the registration since the last step.
    func refresh() throws {
        let now = try store.registration()
        guard now != registration else { return }
        let isElsewhere = now.container != registration.container || now.content != registration.content
        let isAnotherPeer = now.peer != registration.peer
        registration = now
        if isElsewhere {
            content = try Self.content(of: now, place, configuration)
            (library, folder) = try Self.views(of: content, configuration, store)
            coverage = SnapshotCoverage(self)
            inbox = Inbox(self)
        }
        if isElsewhere || isAnotherPeer {
            identity = StoreIdentity(self)
            ownFolder = OwnFolder(self)
        }
    }

    /// Has the own folder read from end to end, as if nothing were known of it.
    func readOwnFolderAnew() { ownFolder = OwnFolder(self, readsEverything: true) }

    // MARK: Steps

    /// Looks at the content folder.
    ///
    /// - Throws: `containerUnavailable`, `newerFormat`, `configuration`, `noPermission`, `ioError`.
    func scan(_ extent: ScanExtent = .full) throws -> ContainerScan {
        let scan = try inbox.scan(extent)
        ownFolder.receiptScan = scan
        return scan
    }

    /// Records local changes, and notes in the state file how far the store has recorded.
    @discardableResult
    func record() throws -> RecordedTransaction? {
        let recorded = try store.record()
        try identity.noteRecorded()
        return recorded
    }

    /// A place in the store's history.
    func token(_ value: Int64) -> HistoryToken { HistoryToken(value, of: peer) }

    // MARK: Peers

    /// Peers by the names that people know: the content's settings first, then what they say in their folders.
    func names() throws -> PeerNames {
        var names = inbox.folderNames
        names.merge(try store.peerNames()) { _, setting in setting }
        for branch in try store.branches() {
            // Told from its origin in `log` and where transactions are named.
            let origin = names[branch.origin] ?? String(branch.origin.description.prefix(8))
            names[branch.id] = "\(origin)~\(branch.id.description.prefix(4))"
        }
        names[peer] = names[peer] ?? registration.name
        return PeerNames(names: names)
    }

    /// The peers of which nothing is expected in the folder: retired by the content's settings, or gone from the folder by
    /// their own word.
    func retiredPeers(_ scan: ContainerScan) throws -> Set<PeerID> {
        try store.retiredPeers().union(scan.peersThatLeft.filter { $0 != peer })
    }
}
