import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Transactions of which nobody would write the files again.
extension ReplicatedStore {
    /// Whether the folder has neither files of, nor a snapshot for, transactions that this store has, of peers that put
    /// nothing back any more: retired ones, former selves of restored stores among them, and both histories of a fork.
    func isLost(_ scan: ContainerScan) throws -> Bool {
        let forked = try store.branches().flatMap { [$0.id, $0.origin] }
        let silent = try retiredPeers(scan).union(forked)
        return try !silent.isEmpty && !missingOfOthers(scan, among: silent).isEmpty
    }

    /// What the folder holds neither in log files nor in snapshots, of transactions that this store has and others made.
    ///
    /// - Parameter ids: of whom; nil for all.
    func missingOfOthers(
        _ scan: ContainerScan, among ids: Set<PeerID>? = nil
    ) throws -> [(id: PeerID, transactions: UInt64)] {
        let places = try lacks(scan).isEmpty ? wholePlaces(scan) : snapshots.places(scan)
        let beyond = try store.vector().sequences.compactMap { id, sequence in
            let standsFor = places.map { $0.vector[id] }.max() ?? 0
            return id != peer && ids?.contains(id) ?? true && sequence > standsFor ? (id, sequence, standsFor) : nil
        }
        let lines = try beyond.isEmpty ? [:] : reachOfLines(scan)
        return beyond.sorted { $0.0 < $1.0 }.compactMap { id, sequence, standsFor in
            let inFiles =
                if let reach = lines[id] { reach < sequence ? [reach + 1...sequence] : [] } else {
                    Self.missing(in: scan.peers[id]?.logFiles ?? LogFileSet([]), upTo: sequence)
                }
            let count = Self.missing(inFiles, beyond: standsFor).reduce(UInt64(0)) { $0 + UInt64($1.count) }
            return count == 0 ? nil : (id, count)
        }
    }

    /// How far the log files in the folder reach on each line of forked histories that were imported here: by names alone
    /// they cannot be told from each other's.
    private func reachOfLines(_ scan: ContainerScan) throws -> [PeerID: UInt64] {
        let vector = try store.vector()
        var reach: [PeerID: UInt64] = [:]
        let families = Dictionary(grouping: try store.branches(), by: \.origin)
        for (origin, branches) in families where origin != peer {
            let files = scan.peers[origin]?.logs ?? []
            let ends = files.compactMap { file in
                library.end(of: file.name, of: origin).map { (sequence: file.name.last, mark: $0.mark) }
            }
            let found = try store.reach(of: origin, ends)
            for id in branches.map(\.id) + [origin] where vector[id] > 0 { reach[id] = found[id] ?? 0 }
        }
        return reach
    }
}
