import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Taking snapshots, and joining those of others.
extension ReplicatedStore {
    // MARK: Taking

    /// Takes a snapshot, publishes it and reads it back; then the outbox lets go of what it stands for, and older
    /// snapshots of this peer go, all but one.
    ///
    /// Where others show what this store has lost, it is partial, and the outbox keeps what it has. It says what that is, and
    /// whoever reads it judges anew.
    ///
    /// - Parameters:
    ///   - isForced: takes one even where the newest has everything.
    ///   - orPartial: whether to take one that is partial.
    /// - Returns: nil where this peer's newest snapshot already has everything, or this one would be partial and may not.
    /// - Throws: `locked` where the store is written so often that no moment could be found, or its app dropped something
    ///   meanwhile; `ioError` where what was read back is not what was written.
    func publishSnapshot(
        _ scan: ContainerScan, isForced: Bool = false, orPartial: Bool = true
    ) throws -> SnapshotName? {
        let folder = content.peer(peer)
        // What the app has dropped shows when its schema is followed.
        _ = try store.record()
        try noteRecorded()
        let lacks = try lacks(scan)
        guard lacks.isEmpty || orPartial else { return nil }
        if !isForced, try !store.hasPendingChanges() {
            let vector = try store.vector()
            let newest = try places(scan).first {
                try $0.peer == peer && $0.vector == vector && (!$0.isPartial || !lacks.isEmpty)
                    && snapshots.isIntact($0.file.name, of: peer)
            }
            if let newest {
                if !newest.isPartial { try store.releaseOutbox(coveredBy: newest.vector) }
                return nil
            }
        }
        if !lacks.isEmpty {
            logger.warning(
                "A snapshot of \(place.path) lacks values that others still show; it stands for no log files",
                metadata: [
                    "columns": "\(lacks.columns)", "peers": "\(lacks.peers.map(\.name).joined(separator: ", "))",
                ])
        }
        try describe()
        let staged = try publisher(folder).stage(SnapshotName.self)
        // Each blob is in this peer's own folder before the file that names it.
        let taken = try store.writeSnapshot(
            publishBlob: { try self.publishBlob($0, $1) }
        ) { try staged.write($0) }
        try noteRecorded()
        let isPartial = try shown(scan).show(taken.lost, besides: peer)
        guard !isPartial || orPartial else {
            throw LogSyncError(
                .locked, "the schema of \(place.path) changed while a snapshot was taken; none was published",
                help: "Run the command again")
        }
        try store.note(taken.blobs)
        let name = try staged.publish { SnapshotName(sequence: taken.sequence, fileHash: $0) }
        guard try snapshots.isIntact(name, of: peer) else {
            try folder.remove(name)
            throw LogSyncError(
                .ioError, "\(folder.path(name)) was read back with other bytes than were written; it was removed",
                help: "Check the disk, and run the command again")
        }
        if !isPartial { try store.releaseOutbox(coveredBy: taken.vector) }
        takenSnapshot = name
        logger.info("Took a snapshot of \(place.path)", metadata: ["file": "\(name)"])
        return name
    }

    // MARK: Joining

    /// Joins a snapshot where log files that are missing or cannot be read keep something from being imported.
    ///
    /// Whole ones go first. One that is partial is the last resort, when what it stands for has not come after all.
    ///
    /// - Parameter plan: has nothing left that is ready.
    /// - Returns: nil where there is nothing to join.
    func joinSnapshot(_ plan: ImportPlan, _ scan: ContainerScan) throws -> (SnapshotPlace, JoinedSnapshot)? {
        let vector = try store.vector()
        heldSnapshots = []
        try forgetWaiting(scan)
        for place in try places(scan) where try brings(place, beyond: vector, plan, scan) {
            switch try store.joinability(of: place.manifest) {
            case .ready: break
            case .ahead(let sequence):
                // Others have what this store never recorded: it is an older state of itself.
                seenByOthers = max(seenByOthers, sequence)
                continue
            case .nothingNew, .fork: continue
            }
            guard try snapshots.isIntact(place.file.name, of: place.peer) else { continue }
            if place.isPartial, let item = try waits(place) {
                heldSnapshots.append(item)
                continue
            }
            do {
                let joined = try store.join(blobs: { [blobs] in try blobs.read($0) }) {
                    try snapshots.reader(place.file.name, of: place.peer)
                }
                try noteRecorded()
                library.forgetImported(try store.vector())
                heldSnapshots = []
                sayJoined(place, transactions: joined.transactions)
                warn(of: joined, place)
                return (place, joined)
            } catch let error as LogFileError {
                logger.warning("A snapshot was passed over: \(error)", metadata: ["file": "\(place.file.name)"])
            } catch let error as LogSyncError where error.code == .malformedLog {
                logger.warning("A snapshot was passed over: \(error)", metadata: ["file": "\(place.file.name)"])
                if let item = try lackingBlob(place) { heldSnapshots.append(item) }
            }
        }
        return nil
    }

    /// What keeps a snapshot from being joined, where it is a blob.
    private func lackingBlob(_ place: SnapshotPlace) throws -> HeldItem? {
        for id in blobIndex.blobs(of: place.file, place.peer) ?? [] {
            guard let obstacle = try blobs.obstacle(id) else { continue }
            return HeldItem(
                peer: try names()[place.peer], sequence: place.file.name.sequence, file: id.description,
                reason: obstacle.reason, detail: "the snapshot \(place.file.name) waits: \(obstacle.detail)")
        }
        return nil
    }

    /// Whether a snapshot has transactions that no log file here gives.
    private func brings(
        _ place: SnapshotPlace, beyond vector: VersionVector, _ plan: ImportPlan, _ scan: ContainerScan
    ) throws -> Bool {
        try place.vector.sequences.contains { id, sequence in
            guard sequence > vector[id] else { return false }
            if id == peer { return true }
            switch plan.obstacle(of: id) {
            case .none: return try isOld(place) || isGone(id, sequence, scan)
            case .some(let reason): return [.gap, .incomplete, .damaged, .newerFormat, .missingBlob].contains(reason)
            }
        }
    }

    /// For how long log files may be on their way that were written before a snapshot, in milliseconds. Whoever carries the
    /// folder may also have kept an older receipt than the last, which does not speak of them.
    static let patience: Int64 = 600_000

    private func isOld(_ place: SnapshotPlace) -> Bool {
        configuration.clock.now() - place.file.modified / 1_000_000 > Self.patience
    }

    /// Whether log files that are not here will hardly come: their author is no more, or its folder has gone, or says that it has
    /// published them and has them no more.
    private func isGone(_ id: PeerID, _ sequence: UInt64, _ scan: ContainerScan) throws -> Bool {
        // A retired peer says nothing any more, a former self of some store not even what it published last.
        if try store.retiredPeers().contains(id) { return true }
        guard let said = scan.peers[id]?.said else { return scan.peers[id]?.receipt != .outdated }
        return said.published >= sequence
    }
}

extension ImportPlan {
    /// Why a peer's next transaction cannot be imported; nil where no file speaks of it.
    func obstacle(of peer: PeerID) -> HeldItem.Reason? {
        held.first { $0.dot.peer == peer }?.reason
    }
}
