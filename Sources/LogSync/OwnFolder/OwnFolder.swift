import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// This peer's own folder: what it publishes there, and what its files were found to be.
///
/// Made anew when the store becomes another peer or its content is elsewhere: what was found holds for one folder.
final class OwnFolder {
    unowned let owner: ReplicatedStore
    let store: Store
    let peer: PeerID
    let folder: PeerFolder
    let library: ContentLibrary
    /// Whether every file is read when the folder is repaired, however long the history.
    let readsEverything: Bool

    /// The files that were found sound.
    var soundLogs = SoundFiles<LogFileName>()
    var soundSnapshots = SoundFiles<SnapshotName>()
    var soundBlobs = SoundFiles<BlobName>()
    /// Those of former selves.
    var soundSchemas = SoundFiles<SchemaFileName>()
    /// The former selves whose descriptions were read.
    var soundDescriptions: Set<PeerID> = []
    /// Whether log files hold another history than this store's.
    private var foreignness: [LogFileName: Bool] = [:]
    /// The log files that do, as of the last repair; nil before the first.
    var repairedBeside: [LogFileName]?
    /// The schemas that were published, or found to be.
    var publishedSchemas: Set<SchemaFingerprint> = []
    private var hasRemovedStagedFiles = false
    /// The last snapshot that was taken.
    var takenSnapshot: SnapshotName?
    /// How far the other peers' receipts had come when the folder was last maintained.
    private var receiptsSeen: Int?
    /// The last scan of the container, as long as no receipt was written after it.
    var receiptScan: ContainerScan?

    var logger: Logger { owner.logger }
    /// The peers that this store was before.
    var formerSelves: [PeerID] { owner.registration.succeeds }

    /// The former selves that are no more and cannot repair their folders.
    func silentFormerSelves() throws -> Set<PeerID> {
        formerSelves.isEmpty ? [] : try store.retiredPeers().intersection(formerSelves)
    }

    /// Whether log files of this peer, or of a former self, are read from end to end.
    func readsAll(_ logs: [FoundFile<LogFileName>]) -> Bool {
        readsEverything || logs.reduce(0) { $0 + $1.size } <= FolderRepair.maximumReading
    }

    init(_ owner: ReplicatedStore, readsEverything: Bool = false) {
        self.owner = owner
        self.readsEverything = readsEverything
        store = owner.store
        peer = owner.peer
        folder = owner.content.peer(owner.peer)
        library = owner.library
    }

    /// A publisher of files into a peer's folder: this peer's, a former self's, or a seed's.
    func publisher(of id: PeerID) -> Publisher {
        Publisher(folder: library.content.peer(id), stagingDirectory: owner.stateDirectory.staging, stager: peer)
    }

    /// Removes the files that a killed process staged for this peer; once in the life of this object, before it stages any.
    func removeStagedFiles() {
        guard !hasRemovedStagedFiles else { return }
        hasRemovedStagedFiles = true
        publisher(of: peer).removeStaleFiles(now: owner.configuration.fileClock())
    }

    // MARK: Maintenance

    /// Whether there may be something to do in the folder: something happened in it, or another peer has said something
    /// since it was last maintained.
    ///
    /// - Parameter peers: in whose folders something happened; nil where that may be any.
    func isConcerned(by scan: ContainerScan, in peers: Set<PeerID>?) -> Bool {
        guard let peers, !peers.contains(peer) else { return true }
        return receiptsSeen != receiptProgress(scan)
    }

    /// Puts back what is missing or damaged in the folder, and merges small log files.
    func maintain(_ scan: ContainerScan) throws {
        // A scan from before does not show what was published just now.
        var scan = scan
        scan.peers[peer] = try library.scanner.scan(only: peer)
        receiptsSeen = receiptProgress(scan)
        try FolderRepair(self, scan).run()
        try replaceSnapshotsBeforeFork(scan)
        try publishLackingMarks(scan)
        try bridgeGaps(scan)
        try LogFileMerge(self).run()
    }

    /// A sum that changes whenever another peer's receipt does.
    private func receiptProgress(_ scan: ContainerScan) -> Int {
        var sum = 0
        for (id, other) in scan.peers where id != peer {
            guard let said = other.said else { continue }
            var hasher = Hasher()
            hasher.combine(id)
            hasher.combine(said.counter)
            // In whatever order.
            sum &+= hasher.finalize()
        }
        return sum
    }

    // MARK: Foreign files

    /// The log files of this peer that another store wrote. Before the first repair they are looked for where that is claimed.
    func foreignFiles(_ scan: ContainerScan) throws -> [LogFileName] {
        if let repairedBeside { return repairedBeside }
        guard try owner.stateDirectory.load(peer)?.claim != nil else { return [] }
        return try scan.peers[peer]?.logs.map(\.name).filter(isForeign) ?? []
    }

    /// Whether a sound file of this peer holds another history than this store recorded: another store wrote it.
    func isForeign(_ name: LogFileName) throws -> Bool {
        if let known = foreignness[name] { return known }
        guard let end = library.logs.end(of: name, of: peer) else { return false }
        switch try store.knows(peer, name.last, end.mark) {
        case .unknown where try store.vector()[peer] < name.last: return false
        case .unknown, .imported:
            foreignness[name] = false
            return false
        case .contradicted:
            foreignness[name] = true
            return true
        }
    }
}

/// Files that were found sound, as they stood then.
struct SoundFiles<Name: PublishedName> {
    private var files: [Name: FoundFile<Name>] = [:]

    /// Whether a file was found sound and stands as it stood.
    func contains(_ file: FoundFile<Name>) -> Bool { files[file.name] == file }

    mutating func insert(_ file: FoundFile<Name>) { files[file.name] = file }

    mutating func remove(_ name: Name) { files[name] = nil }

    /// Forgets the files that are not to be kept.
    mutating func keep(_ isKept: (FoundFile<Name>) -> Bool) { files = files.filter { isKept($0.value) } }
}
