import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// The transactions that this store has and the folder holds neither in log files nor in snapshots.
///
/// A file that is damaged or not all here holds nothing, where it is looked into, nor does one of which a large value is in
/// no folder; the others count by their names.
struct MissingTransactions {
    /// Which files are looked into.
    enum Depth {
        case none
        /// Log files of these peers.
        case logs(of: [PeerID: LogDepth])
        /// Log files and snapshots of all peers, from end to end, and the blobs that they name.
        case everything
    }

    /// How the log files of one peer are looked into.
    struct LogDepth {
        /// Whether they are read from end to end; else their lengths have to do.
        var readsAll: Bool
        /// Files that were modified after this, in Unix milliseconds, count by their names: they may be on their way.
        var end: Int64
    }

    /// So many transactions of one peer.
    struct Count {
        var id: PeerID
        var transactions: UInt64
    }

    private let owner: ReplicatedStore
    private let scan: ContainerScan
    private let depth: Depth

    private var store: Store { owner.store }

    init(_ owner: ReplicatedStore, _ scan: ContainerScan, depth: Depth = .none) {
        self.owner = owner
        self.scan = scan
        self.depth = depth
        if case .everything = depth { owner.library.blobs.update(scan, forgetsDoubts: true) }
    }

    /// Whether transactions are missing that no peer would write again: those of retired peers, the former selves of
    /// restored stores among them, and both histories of a fork.
    func areLost() throws -> Bool {
        let forked = try store.branches().flatMap { [$0.id, $0.origin] }
        let silent = try owner.retiredPeers(scan).union(forked)
        return try !silent.isEmpty && !ofOthers(among: silent).isEmpty
    }

    /// How many of the other peers' transactions are missing.
    ///
    /// - Parameter ids: the peers to ask about; nil for all.
    func ofOthers(among ids: Set<PeerID>? = nil) throws -> [Count] {
        let coverage = owner.coverage
        let isWhole = try coverage.lackedColumns(scan).isEmpty
        let snapshots = try (isWhole ? coverage.wholeSnapshots(scan) : owner.library.snapshots.found(scan))
            .filter(isReadable)
        let beyond = try store.vector().sequences.compactMap { id, sequence in
            let covered = snapshots.map { $0.vector[id] }.max() ?? 0
            return id != owner.peer && ids?.contains(id) ?? true && sequence > covered ? (id, sequence, covered) : nil
        }
        let lines = try beyond.isEmpty ? [:] : filesOfLines()
        return try beyond.sorted { $0.0 < $1.0 }.compactMap { id, sequence, covered in
            let (files, offset) = try lines[id] ?? (logs(of: id, beyond: covered).map(\.name), 0)
            let missing = LogFileSet(files).missing(upTo: offset + sequence).beyond(offset + covered)
            let count = missing.reduce(UInt64(0)) { $0 + UInt64($1.count) }
            return count == 0 ? nil : Count(id: id, transactions: count)
        }
    }

    /// The log files that lead to each line of forked histories that were imported here, and how far the sequences of the
    /// line lie behind those in the files: by names alone the files of two lines cannot be told apart.
    private func filesOfLines() throws -> [PeerID: (files: [LogFileName], offset: UInt64)] {
        var lines: [PeerID: (files: [LogFileName], offset: UInt64)] = [:]
        for origin in Set(try store.branches().map(\.origin)) where origin != owner.peer {
            let found = try logs(of: origin, beyond: 0).compactMap { file in
                owner.library.logs.end(of: file.name, of: origin).map { (name: file.name, mark: $0.mark) }
            }
            for line in try store.lines(of: origin, found.map { (sequence: $0.name.last, mark: $0.mark) }) {
                lines[line.id] = (line.files.map { found[$0].name }, line.offset)
            }
        }
        return lines
    }

    // MARK: Looking into files

    /// A peer's log files, without files that were looked into and cannot be read.
    ///
    /// - Parameter covered: files that hold nothing after this are not looked into.
    private func logs(of id: PeerID, beyond covered: UInt64) throws -> [FoundFile<LogFileName>] {
        let files = scan.peers[id]?.logs ?? []
        let logs = owner.library.logs
        return switch depth {
        case .none: files
        case .logs(let peers):
            try files.filter { file in
                guard let depth = peers[id], file.name.last > covered, file.modified / 1_000_000 <= depth.end else {
                    return true
                }
                return try !logs.isUnreadable(file, of: id, readsAll: depth.readsAll)
            }
        case .everything:
            try files.filter {
                try $0.name.last <= covered
                    || !logs.isUnreadable($0, of: id, readsAll: true, orRefused: true)
                        && haveAll(owner.library.blobIndex.blobs(of: $0, id))
            }
        }
    }

    /// Whether every blob that a file names is in some folder.
    ///
    /// - Parameter named: nil where that cannot be read by this logsync; it counts as the file does.
    private func haveAll(_ named: [BlobID]?) throws -> Bool {
        try named?.allSatisfy { try owner.library.blobs.obstacle($0) == nil } ?? true
    }

    private func isReadable(_ snapshot: FoundSnapshot) throws -> Bool {
        guard case .everything = depth else { return true }
        return try owner.library.snapshots.isIntact(snapshot.name, of: snapshot.peer)
            && haveAll(owner.library.blobIndex.blobs(of: snapshot.file, snapshot.peer))
    }
}
