import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Joining the snapshots of other peers, where log files that are missing or cannot be read keep something from being
/// imported.
///
/// Whole snapshots go first. A store that joins a partial one does not get the values that its author has lost, so log files
/// and whole snapshots are waited for first.
extension Inbox {
    /// For how long log files may be on their way that were written before a snapshot, in milliseconds. The sync engine may
    /// also have kept an older receipt than the last, which does not speak of them.
    static let patience: Int64 = 600_000

    /// Joins a snapshot that brings transactions which no log file here gives.
    ///
    /// - Parameter plan: has nothing left that is ready.
    /// - Returns: nil where there is nothing to join.
    func joinSnapshot(_ plan: ImportPlan, _ scan: ContainerScan) throws -> (FoundSnapshot, JoinedSnapshot)? {
        let vector = try store.vector()
        heldSnapshots = []
        try forgetWaiting(scan)
        passedOver = passedOver.filter { name, _ in
            scan.peers[name.peer]?.snapshots.contains { $0.name == name.snapshot } ?? false
        }
        for snapshot in try owner.coverage.snapshots(scan) where try brings(snapshot, beyond: vector, plan, scan) {
            if let note = try bringsManyPeers(snapshot, beyond: vector) {
                heldSnapshots.append(note)
                continue
            }
            do {
                switch try store.joinability(of: snapshot.manifest) {
                case .ready: break
                case .ahead(let sequence):
                    // Others have what this store never recorded: it is an older state of itself.
                    owner.identity.noteSeenByOthers(sequence)
                    continue
                case .fork(let id):
                    let name = try owner.names()[id].name
                    heldSnapshots.append(
                        note(
                            snapshot, .fork,
                            "it does not say that its history of \(name) is the one that was imported here; two stores "
                                + "may have written under that id"))
                    continue
                case .nothingNew, .knownOtherwise: continue
                }
            } catch let error as LogSyncError where error.code == .malformedLog {
                heldSnapshots.append(note(snapshot, .refused, error.message))
                continue
            }
            guard try library.snapshots.isIntact(snapshot.name, of: snapshot.peer) else {
                if let flaw = library.snapshots.flaw(of: snapshot.name, of: snapshot.peer) {
                    heldSnapshots.append(note(snapshot, flaw.reason, flaw.detail))
                }
                continue
            }
            if snapshot.isPartial, let note = try waits(snapshot) {
                heldSnapshots.append(note)
                continue
            }
            do {
                let joined = try store.join(
                    blobs: { [blobs = library.blobs] in try blobs.read($0) },
                    of: Dot(snapshot.peer, snapshot.name.sequence)
                ) {
                    try library.snapshots.reader(snapshot.name, of: snapshot.peer)
                }
                try owner.identity.noteRecorded()
                library.logs.forgetImported(try store.vector())
                heldSnapshots = []
                logJoined(snapshot, transactions: joined.transactions)
                warn(of: joined, snapshot)
                return (snapshot, joined)
            } catch let error as LogFileError {
                try passOver(snapshot, "\(error)")
            } catch let ahead as SnapshotAhead {
                heldSnapshots.append(note(snapshot, .clock, ahead.detail))
            } catch let unwritable as UnwritableSnapshot {
                heldSnapshots.append(note(snapshot, unwritable.isOfTrigger ? .trigger : .unwritable, unwritable.detail))
            } catch let error as LogSyncError where error.code == .malformedLog {
                try passOver(snapshot, "\(error)")
                if let note = try lackingBlob(snapshot) { heldSnapshots.append(note) }
            }
        }
        if try lacksPublished(scan, { plan.obstacle(of: $0) }) { heldSnapshots += closedSnapshots(scan) }
        return nil
    }

    /// What the last import noted of snapshots, in whichever process, as far as it still holds. None of their rows are read
    /// for it.
    func notedSnapshots(_ scan: ContainerScan) throws -> [SnapshotNote] {
        let notes = try store.snapshotNotes()
        guard !notes.isEmpty else { return [] }
        let vector = try store.vector()
        let closed = try lacksPublished(scan, { _ in nil }) ? closedSnapshots(scan) : []
        let known = Set(notes.map { "\($0.peer) \($0.snapshot)" })
        return try closed.filter { known.contains("\($0.peer) \($0.snapshot)") }
            + owner.coverage.snapshots(scan).flatMap { snapshot in
                // What has come since, by log files or another snapshot, is not waited for any more.
                guard !vector.includes(snapshot.vector) else { return [SnapshotNote]() }
                let own = notes.filter { $0.peer == snapshot.peer && $0.snapshot == snapshot.name.description }
                return try own.compactMap { try renewed($0, snapshot, beyond: vector) }
            }
    }

    /// A note as it would be made now, as far as that can be told without the snapshot's rows; nil where the next import does
    /// without it.
    private func renewed(
        _ note: SnapshotNote, _ snapshot: FoundSnapshot, beyond vector: VersionVector
    ) throws -> SnapshotNote? {
        switch HeldItem.Reason(rawValue: note.reason) {
        case .tooLarge: return try bringsManyPeers(snapshot, beyond: vector)
        case .clock: return try store.acceptsClock(of: snapshot.peer) ? nil : note
        // Whether the snapshot itself is damaged, the next import finds out.
        case .damaged where note.file == note.snapshot: return note
        case .missingBlob, .damaged:
            let blob = library.blobIndex.blobs(of: snapshot.file, snapshot.peer)?.first { $0.description == note.file }
            return try blob.flatMap { try lacking($0, snapshot) }
        default: return note
        }
    }

    /// What keeps a snapshot from being joined, where it is the peers of which nothing is known: each is an entry in every
    /// receipt for good, by whichever way it came.
    private func bringsManyPeers(_ snapshot: FoundSnapshot, beyond vector: VersionVector) throws -> SnapshotNote? {
        guard !library.logs.acceptsSize.contains(snapshot.peer) else { return nil }
        let unknown = snapshot.vector.sequences.keys.count { vector[$0] == 0 }
        let today = try store.newPeersToday()
        guard unknown > 0, today + unknown > owner.configuration.maximumNewPeers else { return nil }
        return note(
            snapshot, .tooLarge,
            "it stands for \(unknown.counted("peer")) of which nothing is known, and \(today.counted("has", "have")) come today: they may be "
                + "made up")
    }

    private func note(
        _ snapshot: FoundSnapshot, file: String? = nil, _ reason: HeldItem.Reason, _ detail: String
    ) -> SnapshotNote {
        let name = snapshot.name.description
        return SnapshotNote(
            peer: snapshot.peer, snapshot: name, file: file ?? name, reason: reason.rawValue, detail: detail)
    }

    /// What keeps a snapshot from being joined, where it is a blob.
    private func lackingBlob(_ snapshot: FoundSnapshot) throws -> SnapshotNote? {
        for id in library.blobIndex.blobs(of: snapshot.file, snapshot.peer) ?? [] {
            if let note = try lacking(id, snapshot) { return note }
        }
        return nil
    }

    private func lacking(_ id: BlobID, _ snapshot: FoundSnapshot) throws -> SnapshotNote? {
        guard let obstacle = try library.blobs.obstacle(id) else { return nil }
        return note(
            snapshot, file: id.description, obstacle.reason, "the snapshot \(snapshot.name) waits: \(obstacle.detail)")
    }

    // MARK: Snapshots that cannot be read

    /// The other peers' snapshots that do not say what they stand for, because they are damaged or not all here.
    private func closedSnapshots(_ scan: ContainerScan) -> [SnapshotNote] {
        scan.peers.values.filter { $0.id != peer }.flatMap { other in
            other.snapshots.compactMap { file in
                guard library.snapshots.manifest(file, of: other.id) == nil,
                    let flaw = library.snapshots.flaw(of: file.name, of: other.id)
                else { return nil }
                let name = file.name.description
                return SnapshotNote(
                    peer: other.id, snapshot: name, file: name, reason: flaw.reason.rawValue, detail: flaw.detail)
            }
        }
    }

    /// Whether peers say that they have published transactions which this store lacks, and no log file speaks of them: they
    /// are to be had from snapshots alone.
    ///
    /// - Parameter obstacle: why a peer's next transaction cannot be imported, where a log file speaks of it.
    private func lacksPublished(_ scan: ContainerScan, _ obstacle: (PeerID) -> HeldItem.Reason?) throws -> Bool {
        let vector = try store.vector()
        let lacking = scan.peers.values.filter { $0.id != peer && $0.said?.published ?? 0 > vector[$0.id] }
        guard !lacking.isEmpty else { return false }
        // Where a history forks, its other line may be the longer one.
        let forked = Set(try store.branches().map(\.origin))
        return lacking.contains { !forked.contains($0.id) && [nil, .gap].contains(obstacle($0.id)) }
    }

    // MARK: What a snapshot brings

    /// Whether a snapshot has transactions that no log file here gives.
    private func brings(
        _ snapshot: FoundSnapshot, beyond vector: VersionVector, _ plan: ImportPlan, _ scan: ContainerScan
    ) throws -> Bool {
        try snapshot.vector.sequences.contains { id, sequence in
            guard sequence > vector[id] else { return false }
            if id == peer { return true }
            switch plan.obstacle(of: id) {
            case .none: return try plan.waits(for: id) || isOld(snapshot) || hasNoFilesToCome(id, sequence, scan)
            case .some(let reason):
                return [.gap, .incomplete, .damaged, .newerFormat, .missingBlob, .refused, .trigger].contains(reason)
            }
        }
    }

    private func isOld(_ snapshot: FoundSnapshot) -> Bool {
        owner.configuration.clock.now() - snapshot.file.modified / 1_000_000 > Self.patience
    }

    /// Whether log files that are not here will hardly come: their author is no more, or its folder has gone, or says that it
    /// has published them and has them no more.
    private func hasNoFilesToCome(_ id: PeerID, _ sequence: UInt64, _ scan: ContainerScan) throws -> Bool {
        // A retired peer says nothing any more, a former self of some store not even what it published last.
        if try store.retiredPeers().contains(id) { return true }
        guard let said = scan.peers[id]?.said else { return scan.peers[id]?.receipt != .outdated }
        return said.published >= sequence
    }

    // MARK: Partial snapshots

    /// Why a partial snapshot that would bring something is not joined yet; nil where it has been waited for long enough.
    ///
    /// What counts is how long this store has done without what the snapshot stands for: the sync engine may bring a snapshot
    /// of last week before the log files of the week before.
    private func waits(_ snapshot: FoundSnapshot) throws -> SnapshotNote? {
        let now = owner.configuration.clock.now()
        let name = snapshot.name.description
        guard let state = owner.identity.state else { return nil }
        // A clock that was set back begins anew.
        let since = state.waiting?[name].flatMap { $0 <= now ? $0 : nil }
        if let since, now - since > Self.patience { return nil }
        if since == nil {
            try owner.identity.update { $0.waiting = ($0.waiting ?? [:]).merging([name: now]) { $1 } }
        }
        let end = Timestamp(milliseconds: (since ?? now) + Self.patience)
        return note(
            snapshot, .gap,
            "log files are missing, and the snapshot that has what was in them lacks values that are shown; "
                + "it is joined after \(end) where neither they nor another snapshot have come")
    }

    /// Forgets for how long partial snapshots that have gone were waited for.
    private func forgetWaiting(_ scan: ContainerScan) throws {
        guard let waiting = owner.identity.state?.waiting else { return }
        let names = Set(scan.peers.values.flatMap { $0.snapshots.map(\.name.description) })
        let left = waiting.filter { names.contains($0.key) }
        guard left.count < waiting.count else { return }
        try owner.identity.update { $0.waiting = left.isEmpty ? nil : left }
    }

    // MARK: Logging

    /// Says why a snapshot was not joined, where that was not said of it last: it is tried again whenever something comes.
    private func passOver(_ snapshot: FoundSnapshot, _ why: String) throws {
        let said = passedOver.updateValue(why, forKey: PassedSnapshot(peer: snapshot.peer, snapshot: snapshot.name))
        guard said != why else { return }
        let name = try owner.names()[snapshot.peer].name
        logger.warning(
            "A snapshot of \(name) was passed over at \(owner.place.path): \(why)",
            metadata: ["file": "\(snapshot.name)"])
    }

    func logJoined(_ snapshot: FoundSnapshot, transactions: UInt64) {
        logger.debug(
            "Joined the snapshot \(library.content.peer(snapshot.peer).path(snapshot.name)) into \(owner.place.path)",
            metadata: ["transactions": "\(transactions)"])
    }

    private func warn(of joined: JoinedSnapshot, _ snapshot: FoundSnapshot) {
        guard !joined.lost.isEmpty else { return }
        let columns = joined.lost.sorted().map(\.description).joined(separator: ", ")
        logger.warning(
            "\(owner.place.path) joined a snapshot whose author had dropped columns: their values may be missing here",
            metadata: ["columns": "\(columns)", "file": "\(snapshot.name)"])
    }
}

/// A snapshot that was not joined.
struct PassedSnapshot: Hashable {
    var peer: PeerID
    var snapshot: SnapshotName
}

extension ImportPlan {
    /// Why a peer's next transaction cannot be imported; nil where no file speaks of it.
    fileprivate func obstacle(of peer: PeerID) -> HeldItem.Reason? {
        held.first { $0.dot.peer == peer }?.reason
    }

    /// Whether a transaction that is here waits for one of a peer's.
    fileprivate func waits(for peer: PeerID) -> Bool { held.contains { $0.waitsFor?.peer == peer } }
}
