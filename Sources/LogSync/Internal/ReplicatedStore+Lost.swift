import LogContainer
import LogFormat
import LogModel
import LogStore

/// Transactions of which nobody would write the files again.
extension ReplicatedStore {
    /// Whether the folder has neither files of, nor a snapshot for, transactions that this store has, of peers that put
    /// nothing back any more: retired ones, former selves of restored stores among them, and both histories of a fork.
    func isLost(_ scan: ContainerScan) throws -> Bool {
        let vector = try store.vector()
        let lines = try reachOfLines(scan)
        let silent = try retiredPeers(scan).filter { $0 != peer && vector[$0] > 0 }
        guard !silent.isEmpty || !lines.isEmpty else { return false }
        let places = try lacks(scan).isEmpty ? wholePlaces(scan) : snapshots.places(scan)
        func stands(for id: PeerID, beyond reach: UInt64) -> Bool {
            max(places.map { $0.vector[id] }.max() ?? 0, reach) >= vector[id]
        }
        if lines.contains(where: { !stands(for: $0, beyond: $1) }) { return true }
        return silent.contains { id in
            guard lines[id] == nil, !stands(for: id, beyond: 0) else { return false }
            return !Self.missing(in: scan.peers[id]?.logFiles ?? LogFileSet([]), upTo: vector[id]).isEmpty
        }
    }

    /// How far the log files in the folder reach on each line of forked histories that were imported here: by names alone
    /// they cannot be told from each other's.
    func reachOfLines(_ scan: ContainerScan) throws -> [PeerID: UInt64] {
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
