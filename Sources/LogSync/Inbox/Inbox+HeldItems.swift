import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

extension Inbox {
    /// Everything that cannot be imported as things stand, and why, without importing anything.
    ///
    /// - Parameter isNew: whether the folder was looked at again, because files had gone since it was listed.
    func heldItems(_ scan: ContainerScan, isNew: Bool = false) throws -> [HeldItem] {
        let plan = try plan(scan)
        for note in try store.refusalNotes() { plan.reject(note) }
        try begin(plan) { try store.chain(of: $0) }
        var isProgress = true
        while isProgress {
            while try plan.skip(store.isOther) {}
            isProgress = try acceptClocks(plan)
        }
        if !isNew, !plan.outdated.isEmpty {
            return try heldItems(self.scan(.changes(in: plan.outdated)), isNew: true)
        }
        return try heldItems(
            plan, scan, snapshots: notedSnapshots(scan), contradicted: branches.contradictedReceipts(scan))
    }

    /// Everything that could not be imported, and why.
    ///
    /// - Parameters:
    ///   - plan: has nothing left that is ready.
    ///   - snapshots: the snapshots that could not be joined.
    ///   - contradicted: the peers that say they have published another transaction than the one imported here.
    func heldItems(
        _ plan: ImportPlan, _ scan: ContainerScan, snapshots: [SnapshotNote], contradicted: Set<PeerID>
    ) throws -> [HeldItem] {
        owner.identity.noteDependents(plan)
        let transactions = plan.held
        let (unexplained, foreign) = (branches.unexplained, try owner.ownFolder.foreignFiles(scan))
        let unread = scan.unread.subtracting([owner.peer])
        if transactions.isEmpty, snapshots.isEmpty, contradicted.isEmpty, unexplained.isEmpty, foreign.isEmpty,
            unread.isEmpty
        {
            return []
        }
        let names = try owner.names()
        let noted = snapshots.compactMap { HeldItem($0, names) }
        var items = noted.filter { $0.reason != .fork }
        func isForkKnown(of id: PeerID) -> Bool { items.contains { $0.peer.id == id && $0.reason == .fork } }
        for held in transactions {
            var item = HeldItem(
                peer: names[held.dot.peer], sequence: held.dot.sequence,
                file: held.blob?.description ?? held.file?.description, reason: held.reason, detail: held.detail)
            item.cause = held.cause(among: transactions).map {
                HeldItem.Cause(peer: names[$0.dot.peer], sequence: $0.dot.sequence, reason: $0.reason)
            }
            items.append(item)
        }
        for id in contradicted where !isForkKnown(of: id) {
            items.append(
                HeldItem(
                    peer: names[id], sequence: scan.peers[id]?.said?.published ?? 0, file: nil, reason: .fork,
                    detail: "the peer says that this transaction is another than the one imported here"))
        }
        for (id, name) in unexplained where !isForkKnown(of: id) {
            items.append(
                HeldItem(
                    peer: names[id], sequence: name.last, file: name.description, reason: .fork,
                    detail:
                        "it holds another history of this peer, and no file that can be read says where that goes off"
                ))
        }
        for name in foreign {
            items.append(
                HeldItem(
                    peer: names[peer], sequence: name.last, file: name.description, reason: .fork,
                    detail: "another store writes under the id of this one"))
        }
        if !unread.isEmpty {
            let vector = try store.vector()
            for id in unread {
                items.append(
                    HeldItem(
                        peer: names[id], sequence: vector[id] + 1, file: nil, reason: .incomplete,
                        detail: "the folder of the peer cannot be read; what is in it is not known"))
            }
        }
        // Where files or a receipt show the other history, they say more than snapshots that leave it open.
        if !items.contains(where: { $0.reason == .fork }) { items += noted.filter { $0.reason == .fork } }
        return items.sorted { ($0.peer.id, $0.sequence) < ($1.peer.id, $1.sequence) }
    }
}

extension HeldItem {
    /// nil where a newer version wrote the note, for a reason that this one does not know.
    fileprivate init?(_ note: SnapshotNote, _ names: PeerNames) {
        guard let reason = Reason(rawValue: note.reason), let name = SnapshotName(note.snapshot) else { return nil }
        self.init(
            peer: names[note.peer], sequence: name.sequence, file: note.file, reason: reason, detail: note.detail)
    }
}
