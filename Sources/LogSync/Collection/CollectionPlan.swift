import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// Decides which log files and snapshots may go. Looks at nothing but what it is given.
///
/// **The problem.** A log file that a snapshot covers may go only when no live peer needs it: a peer that has not imported it,
/// or that has gone back to a backup from before, would find nothing. What a receipt says may be old, because a sync engine
/// may bring back a folder's former state, so a receipt that was written before its peer was asked proves nothing.
///
/// **The steps.** A peer decides about its own files, and about those of peers that are retired.
///
/// 1. Whole snapshots that were read back cover what the peer owns up to some sequence (``coverage``). Where that is more than
///    it has asked about, it sets a mark: it raises its epoch, which its receipt then shows, and remembers what was covered.
/// 2. The other peers note in their next receipts which epoch they have seen, beside what they have imported by then.
/// 3. A log file goes when a whole snapshot covers it now, it is older than the grace period, and every live peer's receipt
///    has seen the first epoch that asked about it and has imported its last transaction. The peers that keep one from going
///    are named (``blockedBy``).
/// 4. Of a peer's own whole snapshots the newest two stay, and of these one goes when two stand, whosever, that were read
///    back and are greater: so one peer's stand for all, and of snapshots that are greater than each other the greatest two
///    always stay. A partial one goes when its author has a greater one, or any peer a whole one that has all that it does.
///    The snapshots of a retired peer go when a peer that is not retired has a greater one, and are given the grace period.
///
/// **The exception.** Where two stores wrote under one id, log files stay from the first transaction of which there are two:
/// a snapshot from before that was found out covers one history only, and does not say which.
///
/// **An example.** A's files 1–3 and 4–6 are old enough, its snapshot covers A:6, and B is live. A sets mark 1 and shows epoch 1.
/// B syncs and has A:5 by then: its receipt says that it has seen epoch 1 and imported A:5. A deletes the file 1–3 and keeps
/// 4–6 (`unacknowledged`, blocked by B). B syncs once more and has A:6: A deletes 4–6.
struct CollectionPlan {
    let peer: PeerID
    let scan: ContainerScan
    /// The peers of which nothing is expected: retired by hand, or gone from the folder.
    let retired: Set<PeerID>
    /// What whole snapshots cover that were read back.
    let covered: [VersionVector]
    let state: CollectionState
    /// Snapshots of retired peers that cannot be read.
    var unreadable: Set<SnapshotName> = []
    /// Unix milliseconds.
    let now: Int64
    let grace: Duration
    /// From which transaction on the logs of peers hold more than one history: those stay.
    var forks: [PeerID: UInt64] = [:]

    /// A file of which something is decided.
    struct Decision<Name: PublishedName> {
        var peer: PeerID
        var file: FoundFile<Name>
        var action: CompactReport.Action
        var reason: CompactReport.Reason
    }

    /// The peers without whose word nothing goes: all others that take part.
    var live: [PeerScan] {
        scan.peers.values.filter { other in
            other.id != peer && !retired.contains(other.id) && other.hasPublished && !other.isSeed
        }.sorted { $0.id < $1.id }
    }

    /// The peers whose files are this one's to decide about.
    var owned: [PeerID] {
        [peer] + scan.peers.keys.filter { retired.contains($0) && $0 != peer }.sorted()
    }

    /// What a mark has to ask the others about: what this peer may delete one day.
    var coverage: VersionVector {
        var vector = VersionVector()
        for id in owned {
            let reach = min(scan.peers[id]?.logFiles.reach ?? 0, forks[id].map { $0 - 1 } ?? .max)
            vector[id] = min(covered.map { $0[id] }.max() ?? 0, reach)
        }
        return vector
    }

    // MARK: Log files

    func logDecisions() -> [Decision<LogFileName>] {
        owned.flatMap { id in
            (scan.peers[id]?.logs ?? []).map { file in
                let (action, reason) = decide(file, of: id)
                return Decision(peer: id, file: file, action: action, reason: reason)
            }
        }
    }

    private func decide(
        _ file: FoundFile<LogFileName>, of id: PeerID
    ) -> (CompactReport.Action, CompactReport.Reason) {
        if isYoung(file.modified) { return (.keep, .young) }
        guard isCovered(file.name, of: id) else { return (.keep, .uncovered) }
        guard blockers(of: file.name, of: id).isEmpty else { return (.keep, .unacknowledged) }
        return (.delete, .covered)
    }

    func isYoung(_ modified: Int64) -> Bool {
        let age = now - modified / 1_000_000
        return grace > .zero && Duration.milliseconds(age) < grace
    }

    private func isCovered(_ name: LogFileName, of id: PeerID) -> Bool {
        name.last < forks[id] ?? .max && covered.contains { $0[id] >= name.last }
    }

    /// The live peers that have not said that they have all of a log file, in a receipt written after they were asked.
    private func blockers(of name: LogFileName, of id: PeerID) -> [PeerID] {
        let epoch = state.epoch(for: Dot(id, name.last))
        return live.filter { other in
            guard let epoch, let said = other.receipt.value?.content else { return true }
            return said.epochsSeen[peer] ?? 0 < epoch || said.imported[id] < name.last
        }.map(\.id)
    }

    /// The peers that keep log files from going which could go otherwise.
    var blockedBy: [PeerID] {
        var blocking: Set<PeerID> = []
        for id in owned {
            for file in scan.peers[id]?.logs ?? []
            where !isYoung(file.modified) && isCovered(file.name, of: id) {
                blocking.formUnion(blockers(of: file.name, of: id))
            }
        }
        return blocking.sorted()
    }

    /// Whether there are log files that could go if a whole snapshot stood for them.
    var needsSnapshot: Bool {
        logDecisions().contains { $0.peer == peer && $0.reason == .uncovered }
    }

    // MARK: Snapshots

    /// - Parameter snapshots: the ones that were read back and are as they were written.
    func snapshotDecisions(_ snapshots: [FoundSnapshot]) -> [Decision<SnapshotName>] {
        owned.flatMap { id in
            let own = snapshots.filter { $0.peer == id }.sorted { $0.reach > $1.reach }
            return (scan.peers[id]?.snapshots ?? []).map { file in
                let (action, reason) = decide(file, of: id, own, snapshots)
                return Decision(peer: id, file: file, action: action, reason: reason)
            }
        }
    }

    private func decide(
        _ file: FoundFile<SnapshotName>, of id: PeerID, _ own: [FoundSnapshot], _ snapshots: [FoundSnapshot]
    ) -> (CompactReport.Action, CompactReport.Reason) {
        guard let index = own.firstIndex(where: { $0.file == file }) else {
            // It cannot be read. This peer writes it again or does without; another's may be on its way.
            let isDispensable = id == peer ? !own.isEmpty : isDispensable(file.name, of: id, snapshots)
            return isDispensable && !isYoung(file.modified) ? (.delete, .superseded) : (.keep, .uncovered)
        }
        if id == peer {
            let whole = own.filter { !$0.isPartial }
            let isAmongNewest = whole.prefix(2).contains { $0.file == own[index].file }
            // A whole snapshot of any peer may have all of a partial one, and two of them all of a whole one.
            let others = snapshots.filter { $0.peer != peer && !retired.contains($0.peer) && !$0.isPartial }
            let greater = (own + others).filter(own[index].isSuperseded(by:)).count
            if greater > (isAmongNewest ? 1 : 0) { return (.delete, .superseded) }
            return (.keep, isAmongNewest && (greater > 0 || whole[0].file != file) ? .spare : .newest)
        }
        // The snapshots of a retired peer go when a peer that is not retired has a greater one.
        let isSuperseded = snapshots.contains { !retired.contains($0.peer) && own[index].isSuperseded(by: $0) }
        guard isSuperseded else { return (.keep, .newest) }
        return isYoung(file.modified) ? (.keep, .young) : (.delete, .superseded)
    }

    /// Whether a snapshot of a retired peer cannot be read, and a peer that is not retired has all that may be in it.
    private func isDispensable(_ name: SnapshotName, of id: PeerID, _ snapshots: [FoundSnapshot]) -> Bool {
        guard unreadable.contains(name), let most = scan.peers[id]?.mostThatHolds(name) else { return false }
        return snapshots.contains { !retired.contains($0.peer) && !$0.isPartial && $0.vector.includes(most) }
    }
}
