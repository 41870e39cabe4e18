import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Snapshots that this peer publishes: on request, and where nothing else gives the other peers what they lack.
extension OwnFolder {
    /// Takes a snapshot, publishes it and reads it back; then the outbox lets go of what it stands for.
    ///
    /// Where other peers show columns that this store has lost, the snapshot is partial, and the outbox keeps what it has.
    /// The snapshot lists those columns, and each peer that reads it judges anew.
    ///
    /// - Parameters:
    ///   - isForced: takes one even where the newest has everything.
    ///   - orPartial: whether to take one that is partial.
    /// - Returns: nil where this peer's newest snapshot already has everything, or this one would be partial and may not.
    /// - Throws: `locked` where the store is written so often that no moment could be found, or its app dropped something
    ///   meanwhile; `ioError` where what was read back is not what was written.
    @discardableResult
    func publishSnapshot(
        _ scan: ContainerScan, isForced: Bool = false, orPartial: Bool = true
    ) throws -> SnapshotName? {
        // Recording follows the app's schema, which shows what the app has dropped.
        try owner.record()
        let lacked = try owner.coverage.lackedColumns(scan)
        guard lacked.isEmpty || orPartial else { return nil }
        if !isForced, try !store.hasPendingChanges(),
            let newest = try soundSnapshotOfAll(scan, orPartial: !lacked.isEmpty)
        {
            if !newest.isPartial { try store.releaseOutbox(coveredBy: newest.vector) }
            return nil
        }
        if !lacked.isEmpty {
            logger.warning(
                "A snapshot of \(owner.place.path) lacks values that others still show; it stands for no log files",
                metadata: [
                    "columns": "\(lacked.columns)", "peers": "\(lacked.peers.map(\.name).joined(separator: ", "))",
                ])
        }
        let (name, taken, isPartial) = try takeSnapshot(scan, orPartial: orPartial)
        guard try library.snapshots.isIntact(name, of: peer) else {
            try folder.remove(name)
            throw LogSyncError(
                .ioError, "\(folder.path(name)) was read back and is not what the store holds; it was removed",
                help: "Check the disk, and run the command again; if it stays so, logsync verify says of which rows")
        }
        if !isPartial { try store.releaseOutbox(coveredBy: taken.vector) }
        takenSnapshot = name
        owner.coverage.noteTaken(name)
        logger.info("Took a snapshot of \(owner.place.path)", metadata: ["file": "\(name)"])
        return name
    }

    /// The snapshot that would lie in the folder after ``publishSnapshot(_:isForced:orPartial:)``. Nothing is written.
    ///
    /// - Returns: nil where this peer has nothing in the folder that it could stand for.
    func expectedSnapshot() throws -> FoundSnapshot? {
        let expected = try store.expectedSnapshot()
        // The hash in its name depends on the moment.
        let hash = FileHash(high: 0, low: 0)
        guard let name = SnapshotName(sequence: expected.manifest.vector[peer], fileHash: hash) else { return nil }
        let file = FoundFile(
            name: name, size: expected.bytes, modified: owner.configuration.clock.now() * 1_000_000, inode: 0)
        if let blobs = expected.blobs { library.blobIndex.expect(file, peer, naming: blobs) }
        return FoundSnapshot(peer: peer, file: file, manifest: expected.manifest, isPartial: false)
    }

    /// A snapshot of this peer that has everything that the store has now.
    private func soundSnapshotOfAll(_ scan: ContainerScan, orPartial: Bool) throws -> FoundSnapshot? {
        let vector = try store.vector()
        return try owner.coverage.snapshots(scan).first {
            try $0.peer == peer && $0.vector == vector && (!$0.isPartial || orPartial)
                && owner.coverage.isTrue($0)
        }
    }

    private func takeSnapshot(
        _ scan: ContainerScan, orPartial: Bool
    ) throws -> (name: SnapshotName, taken: TakenSnapshot, isPartial: Bool) {
        try describe()
        let staged = try publisher(of: peer).stage(SnapshotName.self)
        // Each blob is in this peer's own folder before the file that names it.
        let taken = try store.writeSnapshot(
            telling: try scan.peers.values.compactMap { try $0.id == peer ? nil : imported(by: $0) },
            publishBlob: { try self.publishBlob($0, $1) }
        ) { try staged.write($0) }
        try owner.identity.noteRecorded()
        let isPartial = try owner.coverage.shownColumns(scan).show(taken.lost, besides: peer)
        guard !isPartial || orPartial else {
            throw LogSyncError(
                .locked, "the schema of \(owner.place.path) changed while a snapshot was taken; none was published",
                help: "Run the command again")
        }
        try store.note(taken.blobs)
        let name = try staged.publish { SnapshotName(sequence: taken.sequence, fileHash: $0) }
        return (name, taken, isPartial)
    }

    // MARK: Forks

    /// Takes a snapshot where none in the folder stands for all branches of forked histories, and a peer needs one that does:
    /// a peer that joined one from before a fork was found cannot tell where the histories part. This peer's own snapshots
    /// from before go.
    func replaceSnapshotsBeforeFork(_ scan: ContainerScan) throws {
        let branches = try store.branches()
        // A partial snapshot takes the place of none: a peer that has lost nothing will take one.
        guard !branches.isEmpty, try owner.coverage.lackedColumns(scan).isEmpty else { return }
        let snapshots = library.snapshots.found(scan)
        let outdated = snapshots.filter { !$0.manifest.knows(branches) }
        let own = outdated.filter { $0.peer == peer }
        if own.isEmpty {
            let vector = try store.vector()
            let isThere = snapshots.contains { snapshot in
                snapshot.manifest.knows(branches)
                    && branches.allSatisfy { snapshot.vector[$0.id] > 0 || vector[$0.id] == 0 }
            }
            let isHeld = scan.peers.values.contains(where: \.holdsFork)
            guard !isThere, !outdated.isEmpty || isHeld else { return }
        }
        let name = try publishSnapshot(scan, orPartial: false)
        guard name != nil || !own.isEmpty else { return }
        var now = scan
        now.peers[peer] = try library.scanner.scan(only: peer, full: true)
        // The app may have dropped a column meanwhile.
        guard
            try owner.coverage.wholeSnapshots(now).contains(where: { $0.peer == peer && $0.manifest.knows(branches) })
        else { return }
        for snapshot in own { try folder.remove(snapshot.name) }
        logger.notice(
            "Took a snapshot that knows both histories of a fork",
            metadata: ["snapshot": "\(name?.description ?? "")", "removed": "\(own.count)"])
    }

    /// Takes a snapshot where another peer holds the snapshots in the folder because none says which transactions the last ones
    /// are that this peer has imported, and this store knows.
    func publishLackingMarks(_ scan: ContainerScan) throws {
        let waiting = scan.peers.values.filter { $0.id != peer && $0.holdsFork }
        guard !waiting.isEmpty, try owner.coverage.lackedColumns(scan).isEmpty else { return }
        let manifests = library.snapshots.found(scan).map(\.manifest)
        let isUntold = try waiting.contains { other in
            try imported(by: other)?.dots.contains { dot in
                try manifests.contains { $0.vector[dot.peer] > dot.sequence }
                    && !manifests.contains { $0.mark(of: dot.peer, dot.sequence) != nil } && store.tells(dot)
            } ?? false
        }
        guard isUntold, let name = try publishSnapshot(scan, isForced: true, orPartial: false) else { return }
        logger.notice("Published the snapshot \(name), which says of others where they stand")
    }

    /// What another peer says that it has imported. A receipt that was not read again is read where its peer waits.
    private func imported(by other: PeerScan) throws -> VersionVector? {
        if let receipt = other.receipt.value { return receipt.content.imported }
        return other.holdsFork ? try library.content.peer(other.id).readReceipt()?.content.imported : nil
    }

    // MARK: Gaps

    /// Publishes a snapshot where transactions that this store has are in no file any more and another peer waits for them,
    /// or no peer will write them again: those of a former self whose folder was wiped or rolled back.
    func bridgeGaps(_ scan: ContainerScan) throws {
        let waits = scan.peers.values.contains { other in
            guard other.id != peer, let said = other.said else { return false }
            return said.held.contains { ["gap", "dependency"].contains($0.reason) }
        }
        if try waitsForLostBlob(scan) {
            if let name = try publishSnapshot(scan) {
                logger.notice(
                    "Published the snapshot \(name), because others wait for blobs that nobody else writes again")
            }
            return
        }
        let missing = MissingTransactions(owner, scan, depth: try depthForSilent(scan))
        guard try missing.areLost() || waits && !missing.ofOthers().isEmpty else { return }
        let now = try owner.scan()
        if try !MissingTransactions(owner, now, depth: try depthForSilent(now)).ofOthers().isEmpty,
            let name = try publishSnapshot(now)
        {
            logger.notice("Published the snapshot \(name), for what the folder has no more and others may lack")
        }
    }

    /// Which log files are looked into that nobody else writes again: a former self's, which are read as this peer's own;
    /// and those of any retired peer that another peer holds, once it is too late for them to be on their way.
    private func depthForSilent(_ scan: ContainerScan) throws -> MissingTransactions.Depth {
        let formers = try Dictionary(
            uniqueKeysWithValues: silentFormerSelves().map { id in
                (id, MissingTransactions.LogDepth(readsAll: readsAll(scan.peers[id]?.logs ?? []), end: .max))
            })
        let held = scan.peers.values.filter { $0.id != peer }.flatMap { $0.said?.held ?? [] }
            .filter { ["damaged", "incomplete"].contains($0.reason) && $0.file.flatMap(LogFileName.init) != nil }
        let retired = try held.isEmpty ? [] : owner.retiredPeers(scan)
        let end = owner.configuration.clock.now() - Inbox.patience
        let complaints = Dictionary(
            Set(held.map(\.peer)).intersection(retired).map { id in
                (id, MissingTransactions.LogDepth(readsAll: true, end: end))
            }, uniquingKeysWith: { first, _ in first })
        return .logs(of: complaints.merging(formers) { _, former in former })
    }

    /// Whether another peer waits for a blob of a peer that is retired, which this store has imported and no folder holds.
    private func waitsForLostBlob(_ scan: ContainerScan) throws -> Bool {
        let retired = try owner.retiredPeers(scan)
        let vector = try store.vector()
        return try scan.peers.values.contains { other in
            guard other.id != peer, let said = other.said else { return false }
            return try said.held.contains { held in
                guard let name = held.file.flatMap(BlobName.init), retired.contains(held.peer),
                    held.sequence <= vector[held.peer],
                    try owner.coverage.bridge(of: held.peer, scan) < held.sequence
                else { return false }
                return try scan.peers.values.allSatisfy { other in
                    try !other.blobs.contains { $0.name == name }
                        || library.content.peer(other.id).verify(name) != .intact
                }
            }
        }
    }

    /// Publishes a snapshot where the logs and snapshots in the folder do not give all that this store has of others.
    ///
    /// - Returns: the name of the last snapshot that was taken, here or by a repair, and what is missing still.
    func completeBySnapshot() throws -> (String?, [RebuildReport.Missing]) {
        let scan = try owner.scan()
        guard try !MissingTransactions(owner, scan, depth: .everything).ofOthers().isEmpty else {
            return (takenSnapshot?.description, [])
        }
        try publishSnapshot(scan)
        let names = try owner.names()
        let missing = try MissingTransactions(owner, try owner.scan(), depth: .everything).ofOthers()
            .map { RebuildReport.Missing(peer: names[$0.id], transactions: $0.transactions) }
        return (takenSnapshot?.description, missing)
    }
}

extension PeerScan {
    /// Whether its peer says that it cannot tell two histories apart.
    fileprivate var holdsFork: Bool {
        said?.held.contains { $0.reason == HeldItem.Reason.fork.rawValue } ?? false
    }
}
