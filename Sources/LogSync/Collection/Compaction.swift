import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Keeps the folder small: merges this peer's small log files, takes a snapshot where one is needed, and deletes what it
/// stands for and every live peer has.
struct Compaction {
    private let owner: ReplicatedStore
    private let grace: Duration

    private var store: Store { owner.store }
    private var peer: PeerID { owner.peer }
    private var content: ContentFolder { owner.content }

    /// How long log files are kept at the least, where the caller does not say otherwise.
    static let defaultGrace = Duration.seconds(14 * 24 * 3600)

    init(_ owner: ReplicatedStore, grace: Duration = defaultGrace) {
        self.owner = owner
        self.grace = grace
    }

    /// Decides about every file and does it, or only says it.
    ///
    /// - Parameter isDry: whether to change nothing, in the folder or in the store.
    func run(isDry: Bool) throws -> CompactReport {
        var report = CompactReport(store: owner.place.path, dryRun: isDry)
        var scan = try owner.scan()
        report.files += try mergeSmallFiles(&scan, isDry: isDry)
        var (plan, snapshots) = try plan(scan, isDry: isDry)
        report.lacks = try owner.coverage.lackedColumns(scan)
        if plan.needsSnapshot, report.lacks.isEmpty {
            let expected = isDry ? try owner.ownFolder.expectedSnapshot() : nil
            if let file = try expected?.file ?? publishNeededSnapshot(&scan) {
                report.files.append(CompactReport.File(file, of: peer, .publish, .needed))
            }
            (plan, snapshots) = try self.plan(scan, isDry: isDry, with: expected)
        }
        let decisions = try Decisions(plan, snapshots, owner)
        let names = try owner.names()
        report.blockedBy = plan.blockedBy.map { names[$0] }
        let told = Set(report.files.map(\.file))
        report.files += decisions.reported.filter { !told.contains($0.file) }
        // What the name will be depends on the moment.
        for index in report.files.indices where isDry && report.files[index].action == .publish {
            report.files[index].file = "peers/\(peer)/\(SnapshotName.folder)/"
        }
        report.files.sort { $0.file < $1.file }
        if !isDry { try carryOut(decisions, plan) }
        return report
    }

    /// Whether compacting would delete something, or ask the others about more than they were asked.
    ///
    /// No snapshot is read for this; compacting does so.
    func isDue(_ scan: ContainerScan) throws -> Bool {
        let snapshots = try owner.coverage.snapshots(scan)
        let plan = try plan(scan, readBack: snapshots)
        var marked = plan.state
        return marked.mark(plan.coverage) || plan.logDecisions().contains { $0.action == .delete }
            || plan.snapshotDecisions(snapshots).contains { $0.action == .delete }
    }

    /// Removes this peer's snapshots but the newest two, and blobs that nothing names then.
    func pruneSnapshots(_ scan: ContainerScan) throws {
        let (plan, snapshots) = try plan(scan, isDry: false)
        let own = plan.snapshotDecisions(snapshots).filter { $0.peer == peer }
        let blobs = try BlobCollection(owner, plan).decisions([], own)
        try remove(own)
        try remove(blobs.filter { $0.peer == peer })
    }

    // MARK: Deciding

    /// - Parameters:
    ///   - isDry: whether nothing may be recorded.
    ///   - expected: a snapshot of this peer that would be there.
    /// - Returns: the plan, and the snapshots that it goes by.
    private func plan(
        _ scan: ContainerScan, isDry: Bool, with expected: FoundSnapshot? = nil
    ) throws -> (CollectionPlan, [FoundSnapshot]) {
        // Nothing is built on a snapshot that was not read back, nor on one that holds something else than this store.
        var snapshots = try owner.coverage.snapshots(scan).filter {
            try owner.coverage.isTrue($0, isDry: isDry) && hasBlobs($0)
        }
        var scan = scan
        if let expected {
            snapshots.append(expected)
            scan.peers[peer]?.snapshots.append(expected.file)
        }
        var plan = try plan(scan, readBack: snapshots)
        plan.unreadable = unreadableSnapshots(plan, except: Set(snapshots.map(\.name)))
        return (plan, snapshots)
    }

    /// The snapshots of retired peers that nobody writes again and that cannot be read.
    private func unreadableSnapshots(_ plan: CollectionPlan, except readBack: Set<SnapshotName>) -> Set<SnapshotName> {
        let library = owner.library.snapshots
        let retired = plan.scan.peers.values.filter { plan.retired.contains($0.id) && $0.id != peer }
        return Set(
            retired.flatMap { other in
                other.snapshots.map(\.name).filter {
                    !readBack.contains($0) && library.flaw(of: $0, of: other.id) != nil
                }
            })
    }

    private func plan(_ scan: ContainerScan, readBack snapshots: [FoundSnapshot]) throws -> CollectionPlan {
        CollectionPlan(
            peer: peer, scan: scan, retired: try owner.retiredPeers(scan),
            covered: snapshots.filter { !$0.isPartial }.map(\.vector),
            state: try store.collection(), now: owner.configuration.clock.now(), grace: grace,
            forks: Dictionary(try store.branches().map { ($0.origin, $0.start) }, uniquingKeysWith: min))
    }

    /// Whether every blob that a snapshot names is in its author's folder and was read back.
    private func hasBlobs(_ snapshot: FoundSnapshot) throws -> Bool {
        guard let named = owner.library.blobIndex.blobs(of: snapshot.file, snapshot.peer) else { return false }
        return try named.allSatisfy { id in
            if case .sound = try owner.library.blobs.examine(id, of: snapshot.peer) { true } else { false }
        }
    }

    /// What was decided about every file.
    private struct Decisions {
        let logs: [CollectionPlan.Decision<LogFileName>]
        let snapshots: [CollectionPlan.Decision<SnapshotName>]
        let blobs: [CollectionPlan.Decision<BlobName>]

        init(_ plan: CollectionPlan, _ readBack: [FoundSnapshot], _ owner: ReplicatedStore) throws {
            logs = plan.logDecisions()
            snapshots = plan.snapshotDecisions(readBack)
            blobs = try BlobCollection(owner, plan).decisions(logs, snapshots)
        }

        var reported: [CompactReport.File] {
            logs.map(CompactReport.File.init) + snapshots.map(CompactReport.File.init)
                + blobs.map(CompactReport.File.init)
        }
    }

    // MARK: Merging and snapshots

    private func mergeSmallFiles(_ scan: inout ContainerScan, isDry: Bool) throws -> [CompactReport.File] {
        let before = scan.peers[peer]?.logs ?? []
        let merge = LogFileMerge(owner.ownFolder)
        let merged = Set(try merge.filesToMerge(before).map(\.name))
        func report(_ file: FoundFile<LogFileName>, isMerged: Bool) -> CompactReport.File {
            CompactReport.File(
                file, of: peer, isMerged ? .merge : .delete, isMerged ? .small : .contained)
        }
        guard !isDry else {
            return before.filter { merged.contains($0.name) }.map { report($0, isMerged: true) }
                + before.filter { file in before.contains { $0.name.contains(file.name) } }
                .map { report($0, isMerged: false) }
        }
        try merge.run()
        scan = try owner.scan()
        let after = Set(scan.peers[peer]?.logs.map(\.name) ?? [])
        return before.filter { !after.contains($0.name) }.map { report($0, isMerged: merged.contains($0.name)) }
    }

    private func publishNeededSnapshot(_ scan: inout ContainerScan) throws -> FoundFile<SnapshotName>? {
        guard let name = try owner.ownFolder.publishSnapshot(scan, orPartial: false) else { return nil }
        scan = try owner.scan()
        return scan.peers[peer]?.snapshots.first { $0.name == name }
    }

    // MARK: Deleting

    private func carryOut(_ decisions: Decisions, _ plan: CollectionPlan) throws {
        var state = plan.state
        let going = decisions.logs.filter { $0.action == .delete }
        // Before the files go, so that what is deleted is not taken for missing and written again.
        for decision in going {
            state.floors[decision.peer] = max(state.floors[decision.peer], decision.file.name.last)
        }
        let isMarked = state.mark(plan.coverage)
        if state != plan.state { try store.setCollection(state) }
        for (peer, decisions) in Dictionary(grouping: going, by: \.peer).sorted(by: { $0.key < $1.key }) {
            try content.peer(peer).remove(decisions.map(\.file.name))
        }
        try remove(decisions.snapshots)
        try remove(decisions.blobs)
        if !going.isEmpty || isMarked {
            owner.logger.info(
                "Compacted \(content.path)", metadata: ["deleted": "\(going.count)", "epoch": "\(state.epoch)"])
        }
    }

    private func remove(_ decisions: [CollectionPlan.Decision<SnapshotName>]) throws {
        for decision in decisions where decision.action == .delete {
            try content.peer(decision.peer).remove(decision.file.name)
        }
    }

    /// Removes the blobs that may go, first from what the store counts as published.
    private func remove(_ decisions: [CollectionPlan.Decision<BlobName>]) throws {
        let going = decisions.filter { $0.action == .delete }
        guard !going.isEmpty else { return }
        let names = Set(going.filter { $0.peer == peer }.map(\.file.name))
        try store.forget(try store.publishedBlobs().filter { names.contains(BlobName($0)) })
        for decision in going {
            try content.peer(decision.peer).remove(decision.file.name)
            if decision.peer == peer { owner.ownFolder.soundBlobs.remove(decision.file.name) }
        }
    }
}

extension CompactReport.File {
    fileprivate init<Name: PublishedName>(
        _ file: FoundFile<Name>, of peer: PeerID, _ action: CompactReport.Action, _ reason: CompactReport.Reason
    ) {
        self.init(
            file: "peers/\(peer)/\(Name.folder)/\(file.name)", action: action, reason: reason, bytes: file.size)
    }

    fileprivate init(_ decision: CollectionPlan.Decision<some PublishedName>) {
        self.init(decision.file, of: decision.peer, decision.action, decision.reason)
    }
}
