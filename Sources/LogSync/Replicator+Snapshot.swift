import LogContainer
import LogFormat
import LogModel
import LogStore

/// Snapshots: the whole replicated state in one file.
extension Replicator {
    /// Records and publishes local changes, then publishes a snapshot of everything, where the newest has not got it all.
    ///
    /// From then on the outbox does without what the snapshot stands for.
    ///
    /// - Throws: `containerUnavailable`; `locked` where the store is written so often that no moment could be found;
    ///   `ioError` where it was read back with other bytes.
    public func snapshot() async throws -> SnapshotReport {
        _ = try await export()
        let report = try await step { store in
            let scan = try store.scan(full: true)
            let isNew = try store.publishSnapshot(scan) != nil
            let now = try store.scan(full: true)
            guard let newest = store.snapshots.places(now).first(where: { $0.peer == store.peer }) else {
                throw LogSyncError(
                    .ioError, "the snapshot of \(path) vanished from its folder",
                    help: "Run the command again when the folder is quiet")
            }
            try store.pruneSnapshots(now)
            return SnapshotReport(
                store: path, file: newest.file.name.description, bytes: newest.file.size, vector: newest.vector,
                isNew: isNew)
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
