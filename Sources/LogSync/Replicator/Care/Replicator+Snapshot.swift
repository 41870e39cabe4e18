import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Snapshots: the whole replicated state in one file.
extension Replicator {
    /// Records and publishes local changes, then publishes a snapshot of everything, where the newest has not got it all.
    ///
    /// From then on the outbox does without what the snapshot stands for.
    ///
    /// - Throws: `containerUnavailable`; `locked` where the store is written so often that no moment could be found;
    ///   `ioError` where it was read back with other bytes.
    ///
    /// Where this store's app has dropped what other peers still show, the snapshot is partial: it stands for no peer's log
    /// files, and the outbox keeps what it has.
    public func snapshot() async throws -> SnapshotReport {
        guard let report = try await takeSnapshot(orPartial: true) else {
            throw LogSyncError(
                .ioError, "the snapshot of \(path) vanished from its folder",
                help: "Run the command again when the folder is quiet")
        }
        return report
    }

    /// - Parameter orPartial: whether to take one that lacks what others show.
    /// - Returns: this peer's newest snapshot; nil where it has none.
    func takeSnapshot(orPartial: Bool) async throws -> SnapshotReport? {
        _ = try await export()
        let report = try await step { store -> SnapshotReport? in
            let isNew = try store.ownFolder.publishSnapshot(try store.scan(), orPartial: orPartial) != nil
            let now = try store.scan()
            let own = try store.coverage.snapshots(now).filter { $0.peer == store.peer }
            // Of equal ones the whole one.
            guard let newest = own.max(by: { ($0.reach, $1.isPartial ? 1 : 0) < ($1.reach, $0.isPartial ? 1 : 0) })
            else { return nil }
            try Compaction(store).pruneSnapshots(now)
            return SnapshotReport(
                store: path, file: newest.name.description, bytes: newest.file.size, vector: newest.vector,
                isNew: isNew, isPartial: newest.isPartial)
        }
        // What was recorded for the snapshot's sake is published too.
        _ = try await export()
        return report
    }
}
