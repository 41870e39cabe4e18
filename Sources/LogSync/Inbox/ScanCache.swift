import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// What one process leaves in the store for the next of what it found in the container, so that a command which runs again and
/// again reads nothing of a thousand peers of which nothing is new.
final class ScanCache {
    private unowned let owner: ReplicatedStore
    private let store: Store
    private let scanner: ContainerScanner
    /// When all of the container was last scanned, by the passing time; nil before the first scan.
    private var lastFullScan: Duration?
    /// The peers of which the store has an entry.
    private var cachedPeers: Set<PeerID> = []

    /// For how long an entry holds, at the least and at the most, in nanoseconds. Not all are made again at once.
    private static let validity: (least: UInt64, spread: UInt64) = (1_800_000_000_000, 3_600_000_000_000)

    /// A scan that goes by earlier ones is enough for this long; watching goes by the same time.
    private static let fullScanInterval = Duration.seconds(60)

    init(_ owner: ReplicatedStore) {
        self.owner = owner
        store = owner.store
        scanner = owner.library.scanner
    }

    /// Whether this process has not scanned all of the container yet.
    var isBeforeFirstScan: Bool { lastFullScan == nil }

    func noteFullScan() { lastFullScan = PassingTime.machine() }

    /// Whether the next scan need not list again what stands as it stood. The first scan of a process then goes by what
    /// earlier processes left; what is not known from before is listed in any case.
    ///
    /// - Parameter held: what the last import left; nil before the first.
    func suffices(held: [HeldItem]?) throws -> Bool {
        guard let last = lastFullScan else {
            try recall()
            noteFullScan()
            return true
        }
        // What is held may be a file that grows in its place.
        return PassingTime.machine() - last < Self.fullScanInterval && held?.isEmpty ?? false
    }

    /// Has the first scan of this process go by what earlier ones have found.
    private func recall() throws {
        let vector = try store.vector()
        let now = scanner.clock()
        var usable: [RememberedPeer] = []
        let entries = try store.scanCache()
        cachedPeers = Set(entries.keys)
        for (id, bytes) in entries {
            guard let entry = RememberedPeer(id: id, decoding: bytes), entry.reader == owner.peer,
                isValid(entry, at: now), isImported(entry.scan, vector)
            else { continue }
            usable.append(entry)
        }
        scanner.recall(usable)
    }

    private func isValid(_ entry: RememberedPeer, at now: Int64) -> Bool {
        let (age, isFar) = now.subtractingReportingOverflow(entry.looked)
        return !isFar && age >= 0 && UInt64(age) < Self.validity.least + entry.id.low % Self.validity.spread
    }

    /// Whether everything in a peer's folder was imported: a file that is still being written may grow in its place.
    private func isImported(_ scan: PeerScan, _ vector: VersionVector) -> Bool {
        scan.logFiles.reach <= vector[scan.id]
    }

    /// Leaves what this process found to the next, where nothing of it is held and all could be read.
    ///
    /// - Parameter compared: as in ``BranchSearch/comparedFiles``: that the ends of a peer's files were compared is noted with
    ///   its entry.
    func save(_ scan: ContainerScan, held: [HeldItem]?, compared: [PeerID: UInt64]) throws {
        guard held?.isEmpty ?? false, scan.failures.isEmpty else { return }
        let vector = try store.vector()
        var changed: [PeerID: [UInt8]?] = [:]
        for gone in cachedPeers where scan.peers[gone] == nil { changed[gone] = .some(nil) }
        for (id, found) in scan.peers where id != owner.peer {
            guard isImported(found, vector), let entry = try scanner.remembered(id, for: owner.peer) else { continue }
            changed[id] = entry.encoded()
        }
        try store.setScanCache(changed, compared: compared.filter { changed.keys.contains($0.key) })
    }
}
