import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// A store, open, together with what stands outside it: its state file and its content folder.
///
/// Confined to the replicator that owns it. Every method is one part of a step and expects the store's lock to be held.
final class ReplicatedStore {
    let store: Store
    let place: StorePlace
    let configuration: SyncConfiguration
    let files: StateFiles
    private(set) var registration: StoreRegistration
    private(set) var content: ContentFolder
    private(set) var scanner: ContainerScanner
    let library: FileLibrary
    let snapshots: SnapshotLibrary
    let blobs: BlobLibrary
    let blobIndex: BlobIndex
    /// Told from the nonces of other processes in receipts.
    let nonce: String
    /// The state file as it was last read or written; nil until the identity is settled.
    var state: PeerState?
    /// The identity was compared with what the container says in this process.
    var isSettledWithFolder = false
    /// The last snapshot that was taken since somebody who wants to know forgot it.
    var takenSnapshot: SnapshotName?
    /// What own files were found to be sound, by name, as they stood then.
    var soundFiles: [LogFileName: FoundFile<LogFileName>] = [:]
    /// The same of own snapshots.
    var soundSnapshots: [SnapshotName: FoundFile<SnapshotName>] = [:]
    /// The same of own blobs.
    var soundBlobs: [BlobName: FoundFile<BlobName>] = [:]
    /// Own blobs of which another peer says that they are not as they should be.
    var blobComplaints: [BlobName: BlobComplaint] = [:]
    /// Whether own files hold another history than this store's, by name.
    var foreignness: [LogFileName: Bool] = [:]
    /// Those that do, as of the last mending.
    var foreignFiles: [LogFileName] = []
    /// By peer, which log files had their ends compared with what was imported; nil before the first look.
    var comparedFiles: [PeerID: UInt64]?
    /// The peers whose receipts the last look for branches found to contradict what was imported; nil once that was said.
    var contradicted: Set<PeerID>?
    /// Files that hold another history than the one imported, of which nobody can tell yet where it goes off.
    var unexplained: [PeerID: LogFileName] = [:]
    /// The highest sequence of this peer that another's transaction has seen.
    var seenByOthers: UInt64 = 0
    var publishedSchemas: Set<SchemaFingerprint> = []
    /// What killed processes had staged for this peer has been removed.
    var hasRemovedStagedFiles = false
    /// What others' schemas make.
    var schemaColumns: [SchemaFingerprint: SchemaColumns] = [:]
    /// The schemas from which keys of tables that are not here were learned.
    var learnedSchemas: Set<SchemaFingerprint> = []
    /// Whether every own file is read when the folder is mended, however long the history.
    var readsEverything = false
    /// The names that peers give themselves in the folder.
    var folderNames: [PeerID: String] = [:]
    /// How far others' receipts had come when the own folder was last looked after.
    var receiptsSeen: Int?
    /// Snapshots that would have brought something, had their blobs been here, as of the last look.
    var heldSnapshots: [HeldItem] = []
    /// What the last import left; nil before the first.
    var held: [HeldItem]?
    /// When all of the container was last looked at, by the passing time; nil before the first look.
    var lastFullLook: Duration?
    /// The peers of whose folders an earlier process left what it found.
    var rememberedPeers: Set<PeerID> = []
    /// The last look at the container, as long as no receipt was written after it.
    var unacknowledged: ContainerScan?

    var logger: Logger { configuration.logger }
    var peer: PeerID { registration.peer }

    /// - Throws: `noStore`, `notReplicated`, `invalidStore`, `newerFormat`, `configuration`.
    init(
        path: String, configuration: SyncConfiguration, files: StateFiles, nonce: String, library: FileLibrary? = nil
    ) throws {
        place = try StorePlace(path)
        store = try Store.open(place.path, configuration: configuration.storeConfiguration)
        self.configuration = configuration
        self.files = files
        self.nonce = nonce
        registration = try store.registration()
        content = try Self.content(of: registration, configuration)
        scanner = try Self.scanner(content, configuration, store)
        self.library = library ?? FileLibrary(content: content)
        snapshots = SnapshotLibrary(content: content)
        blobs = BlobLibrary(content: content)
        blobIndex = BlobIndex(library: self.library, snapshots: snapshots)
    }

    private static func content(
        of registration: StoreRegistration, _ configuration: SyncConfiguration
    ) throws -> ContentFolder {
        ContentFolder(
            container: registration.container, name: try ContentName(checking: registration.content),
            fileSystem: configuration.fileSystem)
    }

    /// A scanner that knows how far others' receipts had come in earlier processes.
    private static func scanner(
        _ content: ContentFolder, _ configuration: SyncConfiguration, _ store: Store
    ) throws -> ContainerScanner {
        let scanner = ContainerScanner(content: content, clock: configuration.fileClock)
        scanner.receiptCounters = ReceiptCounters(try store.receiptCounters())
        return scanner
    }

    /// Reads again what other processes may have changed since the last step.
    func refresh() throws {
        let now = try store.registration()
        guard now != registration else { return }
        let isElsewhere = now.container != registration.container || now.content != registration.content
        if now.peer != registration.peer { forgetPeer() }
        registration = now
        guard isElsewhere else { return }
        content = try Self.content(of: now, configuration)
        scanner = try Self.scanner(content, configuration, store)
        lastFullLook = nil
        library.content = content
        snapshots.content = content
        blobs.content = content
        blobIndex.forget()
        forgetPeer()
    }

    /// What was known of this peer's folder no longer holds.
    private func forgetPeer() {
        state = nil
        isSettledWithFolder = false
        soundFiles = [:]
        soundSnapshots = [:]
        soundBlobs = [:]
        blobComplaints = [:]
        foreignness = [:]
        foreignFiles = []
        seenByOthers = 0
        publishedSchemas = []
        hasRemovedStagedFiles = false
        unacknowledged = nil
    }

    /// Whether the path still leads to the file that is open.
    var isCurrent: Bool {
        // A path that leads nowhere leads elsewhere.
        (try? StorePlace(place.path)) == place
    }

    /// Peers by the names that people know: the content's settings first, then what they say in their folders.
    func names() throws -> PeerNames {
        var names = folderNames
        names.merge(try store.peerNames()) { _, setting in setting }
        for branch in try store.branches() {
            // Told from its origin in `log` and where transactions are named.
            let origin = names[branch.origin] ?? String(branch.origin.description.prefix(8))
            names[branch.id] = "\(origin)~\(branch.id.description.prefix(4))"
        }
        names[peer] = names[peer] ?? registration.name
        return PeerNames(names: names)
    }
}

/// Peers' names for people.
struct PeerNames {
    var names: [PeerID: String]

    subscript(peer: PeerID) -> PeerName { PeerName(id: peer, name: names[peer]) }
}

extension SyncConfiguration {
    /// What the store takes of this.
    var storeConfiguration: StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.clock = clock
        configuration.random = random
        configuration.busyTimeout = wait / .seconds(1)
        configuration.policies = policies
        configuration.maximumDrift = Int64(maximumDrift / .milliseconds(1))
        configuration.blobThreshold = blobThreshold
        return configuration
    }

    func randomPeer() -> PeerID { PeerID(high: random(), low: random()) }
    var now: Timestamp { Timestamp(milliseconds: clock.now()) }
}
