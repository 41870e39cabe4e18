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
    /// Where this store's app has dropped what other peers still show, the snapshot is partial: it stands for nobody's log
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
            let scan = try store.scan(full: true)
            let isNew = try store.publishSnapshot(scan, orPartial: orPartial) != nil
            let now = try store.scan(full: true)
            let own = try store.places(now).filter { $0.peer == store.peer }
            // Of equal ones the whole one.
            guard let newest = own.max(by: { ($0.reach, $1.isPartial ? 1 : 0) < ($1.reach, $0.isPartial ? 1 : 0) })
            else { return nil }
            try store.pruneSnapshots(now)
            return SnapshotReport(
                store: path, file: newest.file.name.description, bytes: newest.file.size, vector: newest.vector,
                isNew: isNew, isPartial: newest.isPartial)
        }
        // What was recorded for the snapshot's sake is published too.
        _ = try await export()
        return report
    }

    /// Joins a snapshot where the logs alone do not lead on. Returns whether that was so.
    func joinSnapshot(_ plan: ImportPlan, _ scan: ContainerScan, _ result: inout SyncResult) async throws -> Bool {
        let joined = try await step { store -> JoinedSnapshot? in
            guard let (place, joined) = try store.joinSnapshot(plan, scan) else { return nil }
            announce(try store.event(place, joined))
            return joined
        }
        guard let joined else { return false }
        if joined.recorded != nil { result.recorded += 1 }
        result.imported += Int(clamping: joined.transactions)
        return true
    }
}

extension ReplicatedStore {
    /// What joining a snapshot changed, for those who listen: under the name of its author.
    fileprivate func event(_ place: SnapshotPlace, _ joined: JoinedSnapshot) throws -> DidImport {
        let transaction = DidImport.Transaction(
            peer: try names()[place.peer], sequence: place.file.name.sequence,
            time: Timestamp(milliseconds: place.manifest.taken), author: nil, context: nil, tables: joined.tables)
        return DidImport(store: self.place.path, transactions: [transaction])
    }
}
