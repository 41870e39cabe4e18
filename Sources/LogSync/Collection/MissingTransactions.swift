import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// The transactions that this store has and the folder holds neither in log files nor in snapshots.
struct MissingTransactions {
    /// So many transactions of one peer.
    struct Count {
        var id: PeerID
        var transactions: UInt64
    }

    private let owner: ReplicatedStore
    private let scan: ContainerScan

    private var store: Store { owner.store }

    init(_ owner: ReplicatedStore, _ scan: ContainerScan) {
        self.owner = owner
        self.scan = scan
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
        let snapshots = try isWhole ? coverage.wholeSnapshots(scan) : owner.library.snapshots.found(scan)
        let beyond = try store.vector().sequences.compactMap { id, sequence in
            let covered = snapshots.map { $0.vector[id] }.max() ?? 0
            return id != owner.peer && ids?.contains(id) ?? true && sequence > covered ? (id, sequence, covered) : nil
        }
        let lines = try beyond.isEmpty ? [:] : reachOfLines()
        return beyond.sorted { $0.0 < $1.0 }.compactMap { id, sequence, covered in
            let missing =
                if let reach = lines[id] { reach < sequence ? [reach + 1...sequence] : [] } else {
                    (scan.peers[id]?.logFiles ?? LogFileSet([])).missing(upTo: sequence)
                }
            let count = missing.beyond(covered).reduce(UInt64(0)) { $0 + UInt64($1.count) }
            return count == 0 ? nil : Count(id: id, transactions: count)
        }
    }

    /// How far the log files in the folder reach on each line of forked histories that were imported here: by names alone
    /// the files of two lines cannot be told apart.
    private func reachOfLines() throws -> [PeerID: UInt64] {
        let vector = try store.vector()
        var reach: [PeerID: UInt64] = [:]
        let families = Dictionary(grouping: try store.branches(), by: \.origin)
        for (origin, branches) in families where origin != owner.peer {
            let files = scan.peers[origin]?.logs ?? []
            let ends = files.compactMap { file in
                owner.library.logs.end(of: file.name, of: origin).map { (sequence: file.name.last, mark: $0.mark) }
            }
            let found = try store.reach(of: origin, ends)
            for id in branches.map(\.id) + [origin] where vector[id] > 0 { reach[id] = found[id] ?? 0 }
        }
        return reach
    }
}
