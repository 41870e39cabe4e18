import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Deleting what a snapshot stands for and everybody has (DESIGN.md, section 7, collection).
extension ReplicatedStore {
    /// How long log files are kept at the least, where nobody says otherwise.
    static let defaultGrace = Duration.seconds(14 * 24 * 3600)

    /// Decides about every file and does it, or only says it.
    ///
    /// - Parameter isDry: whether to change nothing, in the folder or in the store.
    func compact(grace: Duration, isDry: Bool) throws -> CompactReport {
        var report = CompactReport(store: place.path, dryRun: isDry)
        var scan = try scan(full: true)
        report.files += try mergeSmallFiles(&scan, isDry: isDry)
        var (plan, places) = try collectionPlan(scan, grace)
        report.lacks = try lacks(scan)
        if plan.needsSnapshot, report.lacks.isEmpty {
            if let file = try publishNeededSnapshot(&scan, isDry: isDry) { report.files.append(file) }
            (plan, places) = try collectionPlan(scan, grace)
        }
        let logs = plan.logDecisions()
        let snapshots = plan.snapshotDecisions(places)
        let blobs = try blobDecisions(plan, logs, snapshots)
        let names = try names()
        report.blockedBy = plan.blockedBy.map { names[$0] }
        let merged = Set(report.files.map(\.file))
        report.files += (logs.map(reported) + snapshots.map(reported) + blobs.map(reported)).filter {
            !merged.contains($0.file)
        }
        report.files.sort { $0.file < $1.file }
        guard !isDry else { return report }
        try carryOut(logs, snapshots, blobs, plan)
        return report
    }

    private func collectionPlan(
        _ scan: ContainerScan, _ grace: Duration
    ) throws -> (CollectionPlan, [SnapshotPlace]) {
        // Nothing is built on a snapshot that was not read back.
        let places = try places(scan).filter {
            try snapshots.isIntact($0.file.name, of: $0.peer) && hasBlobs($0)
        }
        let plan = CollectionPlan(
            peer: peer, scan: scan, retired: try retiredPeers(scan),
            covered: places.filter { !$0.isPartial }.map(\.vector),
            state: try store.collection(), now: configuration.clock.now(), grace: grace,
            forks: try forks())
        return (plan, places)
    }

    /// Whether every blob that a snapshot names is in its author's folder and was read back.
    private func hasBlobs(_ place: SnapshotPlace) throws -> Bool {
        guard let named = blobIndex.blobs(of: place.file, place.peer) else { return false }
        return try named.allSatisfy { id in
            if case .sound = try blobs.examine(id, of: place.peer) { true } else { false }
        }
    }

    private func reported(_ decision: CollectionPlan.Decision<some PublishedName>) -> CompactReport.File {
        CompactReport.File(
            file: relativePath(decision.file.name, of: decision.peer), action: decision.action,
            reason: decision.reason, bytes: decision.file.size)
    }

    private func relativePath<Name: PublishedName>(_ name: Name, of id: PeerID) -> String {
        "peers/\(id)/\(Name.folder)/\(name)"
    }

    // MARK: Merging and snapshots

    private func mergeSmallFiles(_ scan: inout ContainerScan, isDry: Bool) throws -> [CompactReport.File] {
        let before = scan.peers[peer]?.logs ?? []
        guard !isDry else {
            return try filesToMerge(before).map {
                CompactReport.File(
                    file: relativePath($0.name, of: peer), action: .merge, reason: .small, bytes: $0.size)
            }
                + before.filter { file in before.contains { $0.name.contains(file.name) } }.map {
                    CompactReport.File(
                        file: relativePath($0.name, of: peer), action: .delete, reason: .contained, bytes: $0.size)
                }
        }
        let merged = Set(try filesToMerge(before).map(\.name))
        try tidy()
        scan = try self.scan(full: true)
        let after = Set(scan.peers[peer]?.logs.map(\.name) ?? [])
        return before.filter { !after.contains($0.name) }.map {
            let isMerged = merged.contains($0.name)
            return CompactReport.File(
                file: relativePath($0.name, of: peer), action: isMerged ? .merge : .delete,
                reason: isMerged ? .small : .contained, bytes: $0.size)
        }
    }

    private func publishNeededSnapshot(_ scan: inout ContainerScan, isDry: Bool) throws -> CompactReport.File? {
        let folder = "peers/\(peer)/\(SnapshotName.folder)"
        guard !isDry else {
            return CompactReport.File(file: "\(folder)/", action: .publish, reason: .needed, bytes: 0)
        }
        guard let name = try publishSnapshot(scan, orPartial: false) else { return nil }
        scan = try self.scan(full: true)
        let size = scan.peers[peer]?.snapshots.first { $0.name == name }?.size ?? 0
        return CompactReport.File(file: "\(folder)/\(name)", action: .publish, reason: .needed, bytes: size)
    }

    // MARK: Deleting

    private func carryOut(
        _ logs: [CollectionPlan.Decision<LogFileName>], _ snapshots: [CollectionPlan.Decision<SnapshotName>],
        _ blobs: [CollectionPlan.Decision<BlobName>], _ plan: CollectionPlan
    ) throws {
        var state = plan.state
        let going = logs.filter { $0.action == .delete }
        // Before the files go, so that what is deleted is not taken for missing and written again.
        for decision in going {
            state.floors[decision.peer] = max(state.floors[decision.peer], decision.file.name.last)
        }
        let isMarked = state.mark(plan.coverage)
        if state != plan.state { try store.setCollection(state) }
        for (peer, decisions) in Dictionary(grouping: going, by: \.peer).sorted(by: { $0.key < $1.key }) {
            try content.peer(peer).remove(decisions.map(\.file.name))
        }
        try remove(snapshots)
        try remove(blobs)
        if !going.isEmpty || isMarked {
            logger.info(
                "Compacted \(content.path)", metadata: ["deleted": "\(going.count)", "epoch": "\(state.epoch)"])
        }
    }

    private func remove(_ decisions: [CollectionPlan.Decision<SnapshotName>]) throws {
        for decision in decisions where decision.action == .delete {
            try content.peer(decision.peer).remove(decision.file.name)
        }
    }

    /// Removes this peer's snapshots but the newest two, and blobs that nothing names then.
    func pruneSnapshots(_ scan: ContainerScan) throws {
        let (plan, places) = try collectionPlan(scan, Self.defaultGrace)
        let own = plan.snapshotDecisions(places).filter { $0.peer == peer }
        let blobs = try blobDecisions(plan, [], own)
        try remove(own)
        try remove(blobs.filter { $0.peer == peer })
    }
}
