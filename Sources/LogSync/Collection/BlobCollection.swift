import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Decides which blob files may go.
///
/// A log file or snapshot is read with the blobs in its author's own folder: the author has put them there first. So a blob
/// stays for as long as anything in its own folder names it, or its owner's outbox may name it again. It stays besides for
/// the files of other peers that name it while their own folders lack it.
struct BlobCollection {
    private let owner: ReplicatedStore
    private let plan: CollectionPlan

    private var peer: PeerID { plan.peer }

    init(_ owner: ReplicatedStore, _ plan: CollectionPlan) {
        self.owner = owner
        self.plan = plan
    }

    /// - Parameters:
    ///   - logs: what was decided about log files; a file that goes needs no blobs.
    ///   - snapshots: the same of snapshots.
    func decisions(
        _ logs: [CollectionPlan.Decision<LogFileName>], _ snapshots: [CollectionPlan.Decision<SnapshotName>]
    ) throws -> [CollectionPlan.Decision<BlobName>] {
        let owners = plan.owned.filter { !(plan.scan.peers[$0]?.blobs ?? []).isEmpty }
        guard !owners.isEmpty else { return [] }
        let going = Set(logs.compactMap(GoingFile.init)).union(snapshots.compactMap(GoingFile.init))
        var names: [PeerID: BlobIndex.Names] = [:]
        for (id, scan) in plan.scan.peers {
            names[id] = owner.library.blobIndex.names(
                scan, logs: { !going.contains(GoingFile(peer: id, name: "\($0)")) },
                snapshots: { !going.contains(GoingFile(peer: id, name: "\($0)")) })
        }
        // The blobs that a peer's files name and its own folder lacks.
        var lacking: [PeerID: Set<BlobName>] = [:]
        for (id, names) in names {
            lacking[id] = Set(names.blobs.filter { !owner.library.blobs.isListed($0, of: id) }.map { BlobName($0) })
        }
        let outbox = Set(try ownOutboxBlobs().map { BlobName($0) })
        var decisions: [CollectionPlan.Decision<BlobName>] = []
        for id in owners {
            var needed = Set(names[id]?.blobs.map { BlobName($0) } ?? [])
            for (other, lacking) in lacking where other != id { needed.formUnion(lacking) }
            if id == peer { needed.formUnion(outbox) }
            // A file that cannot be read may name any blob.
            let knowsAll = authors(id).allSatisfy { names[$0]?.isComplete ?? true }
            for file in plan.scan.peers[id]?.blobs ?? [] {
                let (action, reason): (CompactReport.Action, CompactReport.Reason)
                if needed.contains(file.name) || !knowsAll {
                    (action, reason) = (.keep, .named)
                } else if id != peer, plan.isYoung(file.modified) {
                    // A file that names it may be on its way still.
                    (action, reason) = (.keep, .young)
                } else {
                    (action, reason) = (.delete, .unnamed)
                }
                decisions.append(CollectionPlan.Decision(peer: id, file: file, action: action, reason: reason))
            }
        }
        return decisions
    }

    /// A log file or snapshot that was decided to go.
    private struct GoingFile: Hashable {
        var peer: PeerID
        var name: String

        init(peer: PeerID, name: String) {
            self.peer = peer
            self.name = name
        }

        init?(_ decision: CollectionPlan.Decision<some PublishedName>) {
            guard decision.action == .delete else { return nil }
            self.init(peer: decision.peer, name: "\(decision.file.name)")
        }
    }

    /// The peers whose files may be read with the blobs of a folder alone: its owner, and the owner's former selves.
    private func authors(_ id: PeerID) -> [PeerID] { id == peer ? [id] + owner.registration.succeeds : [id] }

    /// The blobs that the outbox may have to publish, or to publish again.
    private func ownOutboxBlobs() throws -> [BlobID] {
        var named = try owner.store.waitingBlobs()
        for id in [peer] + owner.registration.succeeds {
            named += try owner.store.outboxBlobs(of: id, beyond: plan.state.floors[id])
        }
        return named
    }
}
