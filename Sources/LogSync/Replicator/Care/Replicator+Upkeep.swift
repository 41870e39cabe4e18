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
            let scan = try store.scan(.changes)
            return (try store.isSnapshotDue(scan), try compacts && Compaction(store).isDue(scan))
        }
        if snapshots { _ = try await takeSnapshot(orPartial: false) }
        if collects { _ = try await compact() }
    }
}

extension ReplicatedStore {
    /// Whether the log files since the newest snapshot have outgrown it, and this is the peer to take the next one: the
    /// peer that wrote most of them, or any peer once there are twice as many. A peer whose snapshot would be partial never
    /// is.
    fileprivate func isSnapshotDue(_ scan: ContainerScan) throws -> Bool {
        guard inbox.held?.isEmpty ?? true else { return false }
        let newest = try coverage.wholeSnapshots(scan).first
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
        // Where it lacks what others show, a peer that has all of it will take one.
        return try coverage.lackedColumns(scan).isEmpty
    }
}
