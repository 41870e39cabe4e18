import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Decides which blob files may go (DESIGN.md, section 7, collection).
///
/// A log file or snapshot is read with the blobs in its author's own folder: who publishes one has put them there. So a
/// blob stays for as long as anything in its own folder names it, or its owner's outbox may name it again. It stays
/// besides for what others name whose own folder lacks it.
extension ReplicatedStore {
    /// - Parameters:
    ///   - logs: what was decided about log files; those that go need no blobs.
    ///   - snapshots: the same of snapshots.
    func blobDecisions(
        _ plan: CollectionPlan, _ logs: [CollectionPlan.Decision<LogFileName>],
        _ snapshots: [CollectionPlan.Decision<SnapshotName>]
    ) throws -> [CollectionPlan.Decision<BlobName>] {
        let owners = plan.owned.filter { !(plan.scan.peers[$0]?.blobs ?? []).isEmpty }
        guard !owners.isEmpty else { return [] }
        let going = Set(logs.filter { $0.action == .delete }.map { GoingFile(peer: $0.peer, name: "\($0.file.name)") })
            .union(
                snapshots.filter { $0.action == .delete }.map { GoingFile(peer: $0.peer, name: "\($0.file.name)") })
        var names: [PeerID: BlobIndex.Names] = [:]
        for (id, scan) in plan.scan.peers {
            names[id] = blobIndex.names(
                scan, logs: { !going.contains(GoingFile(peer: id, name: "\($0)")) },
                snapshots: { !going.contains(GoingFile(peer: id, name: "\($0)")) })
        }
        // What others name, and have not in their own folders.
        var lacking: [PeerID: Set<BlobName>] = [:]
        for (id, names) in names {
            lacking[id] = Set(names.blobs.filter { !blobs.isListed($0, of: id) }.map { BlobName($0) })
        }
        let outbox = Set(try ownOutboxBlobs(plan).map { BlobName($0) })
        var decisions: [CollectionPlan.Decision<BlobName>] = []
        for id in owners {
            var needed = Set(names[id]?.blobs.map { BlobName($0) } ?? [])
            for (other, lacking) in lacking where other != id { needed.formUnion(lacking) }
            if id == peer { needed.formUnion(outbox) }
            // A file that cannot be read may name anything.
            let knowsAll = authors(id).allSatisfy { names[$0]?.isComplete ?? true }
            for file in plan.scan.peers[id]?.blobs ?? [] {
                let (action, reason): (CompactReport.Action, CompactReport.Reason)
                if needed.contains(file.name) || !knowsAll {
                    (action, reason) = (.keep, .named)
                } else if id != peer, plan.isYoung(file.modified) {
                    // What names it may be on its way still.
                    (action, reason) = (.keep, .young)
                } else {
                    (action, reason) = (.delete, .unnamed)
                }
                decisions.append(CollectionPlan.Decision(peer: id, file: file, action: action, reason: reason))
            }
        }
        return decisions
    }

    private struct GoingFile: Hashable {
        var peer: PeerID
        var name: String
    }

    /// Whose files may be read with the blobs of a folder alone: its owner's, and those of whom it was before.
    private func authors(_ id: PeerID) -> [PeerID] { id == peer ? [id] + registration.succeeds : [id] }

    /// What the outbox may have to publish, or to publish again.
    private func ownOutboxBlobs(_ plan: CollectionPlan) throws -> [BlobID] {
        var named = try store.waitingBlobs()
        for id in [peer] + registration.succeeds {
            named += try store.outboxBlobs(of: id, beyond: plan.state.floors[id])
        }
        return named
    }

    /// Removes what may go, first from what the store counts as published.
    func remove(_ decisions: [CollectionPlan.Decision<BlobName>]) throws {
        let going = decisions.filter { $0.action == .delete }
        guard !going.isEmpty else { return }
        let names = Set(going.filter { $0.peer == peer }.map(\.file.name))
        try store.forget(try store.publishedBlobs().filter { names.contains(BlobName($0)) })
        for decision in going {
            try content.peer(decision.peer).remove(decision.file.name)
            if decision.peer == peer { soundBlobs[decision.file.name] = nil }
        }
    }
}
