import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// Knows which blobs the log files and snapshots in the container name. Only their ends are decoded for it, once.
final class BlobIndex {
    private let logs: LogLibrary
    private let snapshots: SnapshotLibrary
    private var logShelf: [PeerID: [FoundFile<LogFileName>: [BlobID]]] = [:]
    private var snapshotShelf: [PeerID: [FoundFile<SnapshotName>: [BlobID]]] = [:]

    init(logs: LogLibrary, snapshots: SnapshotLibrary) {
        self.logs = logs
        self.snapshots = snapshots
    }

    /// nil where the file cannot be read.
    func blobs(of file: FoundFile<LogFileName>, _ peer: PeerID) -> [BlobID]? {
        if let known = logShelf[peer]?[file] { return known }
        var blobs: Set<BlobID> = []
        do {
            let reader = try logs.reader(file.name, of: peer)
            try reader.forEachSummary { blobs.formUnion($0.blobs) }
        } catch {
            // A file that cannot be read names no blob that is known here: the caller has to reckon with any.
            return nil
        }
        logShelf[peer, default: [:]][file] = blobs.sorted()
        return blobs.sorted()
    }

    /// nil where the file cannot be read.
    func blobs(of file: FoundFile<SnapshotName>, _ peer: PeerID) -> [BlobID]? {
        if let known = snapshotShelf[peer]?[file] { return known }
        // As above: of an unreadable snapshot nothing is known.
        guard let blobs = try? snapshots.reader(file.name, of: peer).blobs() else { return nil }
        snapshotShelf[peer, default: [:]][file] = blobs
        return blobs
    }

    /// Reckons with a snapshot that is not there, until names are asked for without it.
    func expect(_ file: FoundFile<SnapshotName>, _ peer: PeerID, naming blobs: [BlobID]) {
        snapshotShelf[peer, default: [:]][file] = blobs
    }

    /// What the files of one peer name.
    struct Names {
        var blobs: Set<BlobID> = []
        /// Whether every file could be read.
        var isComplete = true
    }

    /// - Parameter counts: whether a file counts.
    func names(
        _ scan: PeerScan, logs: (LogFileName) -> Bool = { _ in true }, snapshots: (SnapshotName) -> Bool = { _ in true }
    ) -> Names {
        var names = Names()
        func add(_ blobs: [BlobID]?) {
            if let blobs { names.blobs.formUnion(blobs) } else { names.isComplete = false }
        }
        for file in scan.logs where logs(file.name) { add(blobs(of: file, scan.id)) }
        for file in scan.snapshots where snapshots(file.name) { add(blobs(of: file, scan.id)) }
        let (logs, snapshots) = (Set(scan.logs), Set(scan.snapshots))
        logShelf[scan.id] = logShelf[scan.id]?.filter { logs.contains($0.key) }
        snapshotShelf[scan.id] = snapshotShelf[scan.id]?.filter { snapshots.contains($0.key) }
        return names
    }
}
