import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// Decides which files may go (DESIGN.md, section 7, collection). Looks at nothing but what it is given.
struct CollectionPlan {
    let peer: PeerID
    let scan: ContainerScan
    let retired: Set<PeerID>
    /// What whole snapshots cover that were read back.
    let covered: [VersionVector]
    let state: CollectionState
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

    /// The peers whose log files are this one's to decide about.
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

    /// - Parameter places: the snapshots that were read back and are as they were written.
    func snapshotDecisions(_ places: [SnapshotPlace]) -> [Decision<SnapshotName>] {
        owned.flatMap { id in
            let own = places.filter { $0.peer == id }.sorted { $0.reach > $1.reach }
            return (scan.peers[id]?.snapshots ?? []).map { file in
                let (action, reason) = decide(file, of: id, own, places)
                return Decision(peer: id, file: file, action: action, reason: reason)
            }
        }
    }

    private func decide(
        _ file: FoundFile<SnapshotName>, of id: PeerID, _ own: [SnapshotPlace], _ places: [SnapshotPlace]
    ) -> (CompactReport.Action, CompactReport.Reason) {
        guard let index = own.firstIndex(where: { $0.file == file }) else {
            // It cannot be read. This peer writes it again or does without; another's may be on its way.
            return id == peer && !own.isEmpty && !isYoung(file.modified)
                ? (.delete, .superseded) : (.keep, .uncovered)
        }
        if id == peer {
            let whole = own.filter { !$0.isPartial }
            if own[index].file == whole.first?.file { return (.keep, .newest) }
            if whole.count > 1, own[index].file == whole[1].file { return (.keep, .spare) }
            // A whole one of anybody's has all of a partial one.
            let others = own[index].isPartial ? places.filter { !retired.contains($0.peer) && !$0.isPartial } : []
            return (own + others).contains(where: own[index].isSuperseded(by:))
                ? (.delete, .superseded) : (.keep, .newest)
        }
        // Those of a retired peer go when somebody who is not retired has a greater one.
        let isSuperseded = places.contains { !retired.contains($0.peer) && own[index].isSuperseded(by: $0) }
        guard isSuperseded else { return (.keep, .newest) }
        return isYoung(file.modified) ? (.keep, .young) : (.delete, .superseded)
    }
}

extension PeerScan {
    /// Whether this peer ever published anything that says that it takes part.
    fileprivate var hasPublished: Bool {
        if !logs.isEmpty || !snapshots.isEmpty { return true }
        switch receipt {
        case .valid, .unread: return said?.published ?? 0 > 0
        case .missing: return false
        // Whoever it is, it has said something.
        case .damaged, .newerFormat, .outdated: return true
        }
    }
}

extension PeerScan {
    /// The same, or that it has imported something.
    var hasSpoken: Bool {
        if case .missing = receipt { return hasPublished }
        return true
    }

    /// Whether this is the folder of a seed: no store writes there, so none will ever acknowledge anything.
    var isSeed: Bool {
        guard case .missing = receipt, let description = description.value else { return false }
        return description.created == 0 && description.name == ReplicatedStore.seedName(id)
    }
}

extension SnapshotPlace {
    /// Whether another is of more use in every way: a partial snapshot never stands for what a whole one does.
    func isSuperseded(by other: SnapshotPlace) -> Bool {
        if isPartial, !other.isPartial { return other.vector.includes(vector) }
        return isPartial == other.isPartial && other.vector.isGreater(than: vector)
    }
}

extension VersionVector {
    /// Whether this includes all of `other`, and more.
    func isGreater(than other: VersionVector) -> Bool { includes(other) && self != other }
}
