import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// What the other peers publish, and how far it has come into the store.
///
/// Made anew when the content is elsewhere.
final class Inbox {
    unowned let owner: ReplicatedStore
    let store: Store
    let library: ContentLibrary
    private let cache: ScanCache
    /// Finds forked histories.
    let branches: BranchSearch
    /// The names that peers give themselves in the folder.
    private(set) var folderNames: [PeerID: String] = [:]
    /// The peers that have a folder, whether or not it says what they are called.
    private(set) var folderPeers: Set<PeerID> = []
    /// What was last said that cannot be read.
    private var unreadable: Set<String> = []
    /// How often the folder was scanned: a listing that began before the last time is older.
    private(set) var scanCount = 0
    /// What the last import left; nil before the first.
    private(set) var held: [HeldItem]?
    /// The snapshots that this import would have joined, had nothing been wrong with them.
    var heldSnapshots: [SnapshotNote] = []
    /// What was last said of snapshots that could not be joined.
    var passedOver: [PassedSnapshot: String] = [:]
    /// The schemas from which keys of tables that are not here were learned.
    private var learnedSchemas: Set<SchemaFingerprint> = []

    var peer: PeerID { owner.peer }
    var logger: Logger { owner.logger }

    init(_ owner: ReplicatedStore) {
        self.owner = owner
        store = owner.store
        library = owner.library
        cache = ScanCache(owner)
        branches = BranchSearch(owner)
    }

    // MARK: Scanning

    /// Whether this process has not scanned all of the container yet.
    var isBeforeFirstScan: Bool { cache.isBeforeFirstScan }

    /// Looks at the content folder; as ``ReplicatedStore/scan(_:)``, which tells the own folder of it too.
    func scan(_ extent: ScanExtent) throws -> ContainerScan {
        let isFull: Bool
        switch extent {
        case .full: isFull = true
        case .cached: isFull = try !cache.suffices(held: held)
        case .changes: isFull = false
        }
        if isFull { cache.noteFullScan() }
        let scan = try scan(extent, isFull: isFull)
        scanCount += 1
        note(scan, isFull: isFull)
        return scan
    }

    /// Takes what was listed apart (``FolderListing``) for what is in the folder, unless it was scanned since.
    ///
    /// - Parameter count: of scans, when the listing began.
    func note(_ scan: ContainerScan, asOf count: Int) { if scanCount == count { note(scan, isFull: true) } }

    private func note(_ scan: ContainerScan, isFull: Bool) {
        if isFull { library.logs.forgetDoubts() }
        library.blobs.update(scan, forgetsDoubts: isFull)
        for failure in scan.failures where !unreadable.contains(failure.message) { logger.warning("\(failure)") }
        // A scan of some peers' folders says nothing of the others.
        unreadable = Set(scan.failures.map(\.message)).union(isFull ? [] : unreadable)
        folderNames = scan.peers.compactMapValues { $0.description.value?.name }
        folderPeers = Set(scan.peers.keys)
    }

    private func scan(_ extent: ScanExtent, isFull: Bool) throws -> ContainerScan {
        if case .changes(let peers?) = extent, let scan = try library.scanner.scan(in: peers) { return scan }
        return try library.scanner.scan(full: isFull)
    }

    /// Leaves what a scan found to the next process.
    func saveForNextProcess(_ scan: ContainerScan) throws {
        try cache.save(scan, held: held, compared: branches.comparedFiles ?? [:])
    }

    // MARK: After an import

    /// Notes what an import has left, when nothing is ready any more.
    func finish(_ plan: ImportPlan, _ scan: ContainerScan) throws {
        try learnKeys(scan)
        try store.noteRefusals(plan.refusalNotes.filter { try !store.vector().covers($0.dot) })
        try store.noteHeldSnapshots(heldSnapshots)
        held = try heldItems(plan, scan, snapshots: heldSnapshots, contradicted: branches.contradicted)
    }

    /// Looks up what the keys of tables that are not here are called, where a log leaves that to schemas.
    private func learnKeys(_ scan: ContainerScan) throws {
        guard
            scan.peers.values.contains(where: { peer in
                peer.schemas.contains { !learnedSchemas.contains($0.name.fingerprint) }
            }), try store.lacksKeys()
        else { return }
        try store.learnKeys(scan, in: library.content, known: &learnedSchemas, owner.configuration.logger)
    }
}
