import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// What a running replicator does for the folder now and then.
extension Replicator {
    /// Takes a snapshot where it pays, and compacts where something may go or is to be asked about.
    ///
    /// - Parameter compacts: whether it is time to look for log files that may go, which reads snapshots.
    func upkeep(compacts: Bool) async throws {
        let (snapshots, collects) = try await step { store in
            let scan = try store.scan(full: false)
            return (try store.isSnapshotDue(scan), try compacts && store.isCompactionDue(scan))
        }
        if snapshots { _ = try await takeSnapshot(orPartial: false) }
        if collects { _ = try await compact() }
    }
}

extension ReplicatedStore {
    /// Whether the log files since the newest snapshot have outgrown it, and this is the peer to take the next one: the
    /// one that wrote most of them, or anyone once there are twice as many; one whose snapshot would be partial never is.
    func isSnapshotDue(_ scan: ContainerScan) throws -> Bool {
        guard held?.isEmpty ?? true else { return false }
        let newest = try wholePlaces(scan).first
        let threshold = max(newest?.file.size ?? 0, configuration.snapshotThreshold)
        var sizes: [PeerID: UInt64] = [:]
        for other in scan.peers.values {
            let since = newest?.vector[other.id] ?? 0
            sizes[other.id] = other.logs.reduce(0) { $0 + ($1.name.last > since ? $1.size : 0) }
        }
        let total = sizes.values.reduce(0, +)
        guard total > threshold else { return false }
        let most = sizes.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
        guard most == peer || total / 2 > threshold else { return false }
        // Somebody else will, who has what others show.
        return try lacks(scan).isEmpty
    }

    /// Whether compacting would delete something, or ask the others about more than they were asked.
    ///
    /// No snapshot is read for this; compacting does so.
    func isCompactionDue(_ scan: ContainerScan) throws -> Bool {
        let places = try places(scan)
        let state = try store.collection()
        let plan = CollectionPlan(
            peer: peer, scan: scan, retired: try retiredPeers(scan),
            covered: places.filter { !$0.isPartial }.map(\.vector), state: state, now: configuration.clock.now(),
            grace: Self.defaultGrace, forks: try forks())
        var marked = state
        return marked.mark(plan.coverage) || plan.logDecisions().contains { $0.action == .delete }
            || plan.snapshotDecisions(places).contains { $0.action == .delete }
    }
}
