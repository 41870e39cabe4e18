import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Finds out where two stores wrote under one id, so that both histories can be imported.
final class BranchSearch {
    private unowned let owner: ReplicatedStore
    private let store: Store
    private let logs: LogLibrary
    /// By peer, which log files had their ends compared with what was imported; nil before the first search.
    private(set) var comparedFiles: [PeerID: UInt64]?
    /// The peers whose receipts the last search found to contradict what was imported.
    private(set) var contradicted: Set<PeerID> = []
    /// Files that hold another history than the one imported, while no file that can be read says where that parts from it.
    private(set) var unexplained: [PeerID: LogFileName] = [:]

    /// So many log files are compared in one search before that is noted in the store, for the next process.
    private static let manyFiles = 64

    init(_ owner: ReplicatedStore) {
        self.owner = owner
        store = owner.store
        logs = owner.library.logs
    }

    /// Compares the files in the folder with what was imported, as far as their names are news, and gives branches that were
    /// not known ids of their own.
    ///
    /// - Parameter plan: has nothing left that is ready.
    /// - Returns: whether there were any: what could not be imported can be now.
    func findBranches(_ plan: ImportPlan, _ scan: ContainerScan) throws -> Bool {
        var found: [Branch] = []
        var compared: [PeerID: UInt64] = [:]
        var count = 0
        let known = try comparedFiles ?? store.comparedFiles()
        comparedFiles = known
        contradicted = try contradictedReceipts(scan)
        // A file that has gone holds nothing any more.
        unexplained = unexplained.filter { id, name in scan.peers[id]?.logs.contains { $0.name == name } ?? false }
        let suspects = plan.suspects.union(contradicted)
        for id in scan.peers.keys.sorted() where id != owner.peer {
            guard let other = scan.peers[id], !other.logs.isEmpty else { continue }
            let names = other.logs.reduce(into: 0 as UInt64) { $0 &+= $1.name.fileHash.high }
            let isSuspect = suspects.contains(other.id)
            if !isSuspect, known[other.id] == names { continue }
            let (stranger, isComplete) = try compareEnds(other)
            unexplained[other.id] = nil
            if isSuspect || stranger != nil {
                let new = try store.adoptBranches(of: other.id, plan.allTransactions(of: other.id))
                found += new
                // The histories part in a file that is not here, or cannot be read yet: they are compared again.
                if new.isEmpty {
                    unexplained[other.id] = stranger
                    continue
                }
            }
            count += other.logs.count
            if isComplete { compared[other.id] = names }
        }
        comparedFiles?.merge(compared) { _, new in new }
        if count >= Self.manyFiles { try store.setComparedFiles(compared) }
        guard !found.isEmpty else { return false }
        let names = try owner.names()
        for branch in found {
            owner.logger.warning(
                "Two stores wrote under the id of \(names[branch.origin].name): from transaction \(branch.start) on, one of them goes by another id",
                metadata: ["peer": "\(branch.origin)", "branch": "\(branch.id)"])
        }
        return true
    }

    /// The peers that say they have published another transaction than the one imported here.
    func contradictedReceipts(_ scan: ContainerScan) throws -> Set<PeerID> {
        var said: [PeerID: (sequence: UInt64, mark: ChainMark)] = [:]
        for other in scan.peers.values where other.id != owner.peer {
            guard let gist = other.said, let mark = gist.mark else { continue }
            said[other.id] = (gist.published, mark)
        }
        return try store.contradicted(said)
    }

    /// Compares the ends of a peer's files with what was imported.
    ///
    /// - Returns: a file that ends on another transaction than the one imported here, and whether all could be read.
    private func compareEnds(_ other: PeerScan) throws -> (stranger: LogFileName?, isComplete: Bool) {
        var isComplete = true
        for file in other.logs {
            guard let end = logs.end(of: file.name, of: other.id) else {
                isComplete = false
                continue
            }
            if try store.knows(other.id, file.name.last, end.mark) == .contradicted { return (file.name, isComplete) }
        }
        return (nil, isComplete)
    }
}
