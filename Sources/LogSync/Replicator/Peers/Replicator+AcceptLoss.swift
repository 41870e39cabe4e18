import LogSyncContainer
public import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Imports what a peer that is no more has published without the large values that nobody has.
    ///
    /// What a cell showed before stands in the place of a value that is lost, and in a new row its column's default. That is
    /// an edit of this store's, so that a peer that does have the bytes comes to show the same. A snapshot of this store is
    /// published, by which the other peers go on.
    ///
    /// - Parameters:
    ///   - peer: has been retired.
    ///   - dryRun: whether only to say what would be lost.
    /// - Throws: `usage` where nothing of the peer is held for a large value, where it is not retired, or where another
    ///   peer has what it published; `containerUnavailable`; `locked`.
    public func acceptLoss(of peer: PeerID, dryRun: Bool = false) async throws -> LossReport {
        if dryRun { return try inspect { try $0.expectedLoss(of: peer, $0.scan()) } }
        _ = try await sync()
        var report = try await step { try $0.expectedLoss(of: peer, $0.scan()) }
        report.dryRun = false
        let plan = try await step { store in
            let plan = try store.inbox.plan(store.scan())
            plan.forgoesBlobsOf = peer
            return plan
        }
        var lost: [LossReport.LostValue] = []
        while let step = try await importNext(plan) {
            if !step.lost.isEmpty { lost += try await self.step { try $0.described(step.lost) } }
        }
        report.lost = lost
        report.held = try await sync().held
        // Where this store lacks what others show, it has an older one at best.
        let (snapshot, vector) = (try await takeSnapshot(orPartial: false), try await step { try $0.store.vector() })
        report.snapshot = snapshot.flatMap { $0.vector[peer] >= vector[peer] ? $0.file : nil }
        return report
    }
}

extension ReplicatedStore {
    /// - Throws: `usage` where it cannot be accepted.
    fileprivate func expectedLoss(of peer: PeerID, _ scan: ContainerScan) throws -> LossReport {
        try checkKnown(peer)
        let names = try names()
        let name = names[peer]
        let plan = try inbox.plan(scan)
        plan.forgoesBlobsOf = peer
        try inbox.begin(plan) { try store.chain(of: $0) }
        var lost: [LossReport.LostValue] = []
        while try plan.skip(
            store.isOther,
            lacking: { dot, blobs in
                lost += blobs.map {
                    LossReport.LostValue(
                        sequence: dot.sequence, file: BlobName($0).description, bytes: $0.length, cell: nil)
                }.sorted { $0.file < $1.file }
            })
        {}
        guard let first = lost.first else {
            throw LogSyncError(
                .usage, "nothing of \(name.name) is held for a large value; nothing was changed",
                help: "logsync status \(place.path.asShellArgument) shows what is held, and why")
        }
        let retired = try store.retiredPeers()
        guard retired.contains(peer) else {
            throw LogSyncError(
                .usage, "\(name.name) takes part, and may bring \(first.file) with its next sync; nothing was changed",
                help: "Where it is no more, run logsync peers retire \(place.path.asShellArgument) "
                    + "\(names.argument(peer)) first")
        }
        let other = scan.peers.values.sorted { $0.id < $1.id }.first { other in
            other.id != self.peer && !retired.contains(other.id)
                && other.receipt.value?.content.imported[peer] ?? 0 >= first.sequence
        }
        if let other {
            throw LogSyncError(
                .usage,
                "\(names[other.id].name) has imported \(name.name):\(first.sequence) with its large value; "
                    + "nothing was changed",
                help: "Run logsync rebuild on its store: its snapshot has the value")
        }
        return LossReport(
            store: place.path, peer: name, dryRun: true, lost: lost, snapshot: nil, held: inbox.held ?? [])
    }

    fileprivate func described(_ lost: [LostValue]) throws -> [LossReport.LostValue] {
        try zip(lost, store.cells(of: lost)).map { value, place in
            LossReport.LostValue(
                sequence: value.dot.sequence, file: BlobName(value.blob).description, bytes: value.blob.length,
                cell: LossReport.Cell(
                    table: place.table, key: place.key.map { JSONValue($0) }, column: place.column))
        }.sorted { ($0.sequence, $0.file) < ($1.sequence, $1.file) }
    }
}
