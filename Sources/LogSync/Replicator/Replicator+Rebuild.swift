import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Writes the content folder anew from the store: the marker, this peer's files, every transaction of it and of those
    /// it was before that the outbox has, and a snapshot that stands for what only others could write.
    ///
    /// For a folder that was wiped or lost its marker. The container itself has to be there; it is never made. Nothing
    /// that is sound is touched, nobody's files are removed, and every other peer puts its own back with its next
    /// ``sync()``, or a `rebuild` of its own.
    ///
    /// - Parameter dryRun: whether only to say what would be written.
    /// - Throws: `containerUnavailable` where the container is not there; `configuration` where another content of the
    ///   same name is there; `locked` where another process does not let go of the store; `noPermission`; `ioError`.
    public func rebuild(dryRun: Bool = false) async throws -> RebuildReport {
        if dryRun { return try look { try $0.rebuildReport(dryRun: true) } }
        try await takeAlone()
        do {
            var report = try await step(settles: true) { store in
                let report = try store.rebuildReport(dryRun: false)
                try store.content.create(rewritingMarker: true)
                try store.checkHistory(of: try store.scan(full: true), at: store.content.path)
                store.readsEverything = true
                store.takenSnapshot = nil
                return report
            }
            report.result = try await sync()
            (report.snapshot, report.missing) = try await step { try $0.completeBySnapshot() }
            report.needsSnapshot = report.snapshot != nil
            giveBack()
            close()
            return report
        } catch {
            giveBack()
            close()
            throw error
        }
    }
}

/// What ``Replicator/rebuild(dryRun:)`` wrote, or would write.
public struct RebuildReport: Sendable, Encodable {
    /// Transactions of another peer that are in the store and not in the folder.
    public struct Missing: Hashable, Sendable, Encodable {
        public var peer: PeerName
        public var transactions: UInt64
    }

    public let format = 1
    public var store: String
    public var content: String
    public var container: String
    public var dryRun: Bool
    /// The marker was missing or could not be read.
    public var marker: Bool
    /// How many transactions of this peer the folder did not hold, or not soundly.
    public var transactions: UInt64
    /// The snapshot that was written because logs alone would not give the whole state; nil where none was needed.
    public var snapshot: String?
    /// Whether a snapshot was, or would be, written; nil where only writing the marker will tell.
    public var needsSnapshot: Bool?
    /// What is in the store, and in neither logs nor snapshots in the folder; normally nothing.
    public var missing: [Missing]
    public var result: SyncResult

    public var outcome: Outcome { result.outcome }

    private enum CodingKeys: String, CodingKey {
        case format, store, content, container, dryRun, marker, transactions, snapshot, needsSnapshot, missing, recorded
        case published, imported, held
    }

    public func encode(to encoder: any Encoder) throws {
        var document = encoder.container(keyedBy: CodingKeys.self)
        try document.encode(format, forKey: .format)
        try document.encode(store, forKey: .store)
        try document.encode(content, forKey: .content)
        try document.encode(container, forKey: .container)
        try document.encode(dryRun, forKey: .dryRun)
        try document.encode(marker, forKey: .marker)
        try document.encode(transactions, forKey: .transactions)
        try document.encode(snapshot, forKey: .snapshot)
        try document.encode(needsSnapshot, forKey: .needsSnapshot)
        try document.encode(missing, forKey: .missing)
        try document.encode(result.recorded, forKey: .recorded)
        try document.encode(result.published, forKey: .published)
        try document.encode(result.imported, forKey: .imported)
        try document.encode(result.held, forKey: .held)
    }
}

extension ReplicatedStore {
    /// What the folder lacks of this peer, seen without the marker's leave.
    fileprivate func rebuildReport(dryRun: Bool) throws -> RebuildReport {
        let sound = try soundOwnLogs()
        let hasMarker = try hasMarker()
        let scan = try hasMarker ? scan(full: true) : nil
        // What was collected, a snapshot stands for.
        let collected = try scan.map { try standsFor(peer, $0) } ?? 0
        let missing = Self.missing(
            Self.missing(in: LogFileSet(sound), upTo: try store.vector()[peer]), beyond: collected)
        let wanted = missing.reduce(UInt64(0)) { $0 + UInt64($1.count) }
        return RebuildReport(
            store: place.path, content: registration.content, container: registration.container, dryRun: dryRun,
            marker: !hasMarker, transactions: wanted, snapshot: nil,
            needsSnapshot: dryRun ? try needsSnapshot(missing, scan) : nil, missing: [],
            result: SyncResult(store: place.path))
    }

    /// Whether the outbox alone cannot bring back what the folder lacks.
    ///
    /// - Parameters:
    ///   - own: what it lacks of this peer.
    ///   - scan: nil where there is no marker.
    /// - Returns: nil where what is in a folder without its marker would decide.
    private func needsSnapshot(_ own: [ClosedRange<UInt64>], _ scan: ContainerScan?) throws -> Bool? {
        let released = try store.outboxStart(of: peer) - 1
        let others: [(id: PeerID, transactions: UInt64)]
        var missing = own
        if let scan {
            guard try damagedSnapshots(scan.peers[peer]).isEmpty else { return true }
            missing = Self.missing(own, beyond: try bridged(peer, scan))
            others = try missingOfOthers(scan)
        } else {
            // What cannot be looked at may hold anything.
            let peers = try? content.fileSystem.list(content.peersPath, statuses: false)
            let isWiped = (try? content.fileSystem.status(content.peersPath, followingLinks: false)) == nil
            guard isWiped || peers?.isEmpty ?? false else { return nil }
            others = try store.vector().sequences.filter { $0.key != peer }.map { ($0.key, $0.value) }
        }
        if missing.contains(where: { $0.lowerBound <= released }) { return true }
        // Of former selves and seeds the outbox has what it needs.
        return try others.contains { try store.outbox(of: $0.id, 1...UInt64.max).count < $0.transactions }
    }

    /// A marker that cannot be read is written anew as well; a container that is not there is none of ours to make.
    private func hasMarker() throws -> Bool {
        do throws(LogSyncError) {
            return try content.exists()
        } catch {
            // Without a status it is not there.
            let status = try? content.fileSystem.status(content.container, followingLinks: true)
            guard error.code == .containerUnavailable, status?.isDirectory ?? false else { throw error }
            return false
        }
    }

    /// This peer's log files of which every byte is as it was written.
    private func soundOwnLogs() throws -> [LogFileName] {
        let folder = content.peer(peer)
        let entries: [DirectoryEntry]
        do throws(FileSystemError) {
            entries = try content.fileSystem.list(folder.path(of: LogFileName.self), statuses: false)
        } catch let error where error.isAbsence {
            return []
        } catch {
            throw error.explained(kept: "nothing was changed")
        }
        return try entries.compactMap { LogFileName($0.name) }.filter {
            guard library.hasHeader($0, of: peer) else { return false }
            return try folder.verify($0) == .intact
        }
    }

    /// Publishes a snapshot where the logs and snapshots in the folder do not give all that this store has of others.
    ///
    /// - Returns: the name of the last one that was taken, by this or by mending, and what is missing still.
    func completeBySnapshot() throws -> (String?, [RebuildReport.Missing]) {
        let scan = try scan(full: true)
        guard try !missingOfOthers(scan).isEmpty else { return (takenSnapshot?.description, []) }
        _ = try publishSnapshot(scan)
        let names = try names()
        let missing = try missingOfOthers(try self.scan(full: true))
            .map { RebuildReport.Missing(peer: names[$0.id], transactions: $0.transactions) }
        return (takenSnapshot?.description, missing)
    }

    /// Publishes a snapshot where transactions that this store has are in no file any more and another peer waits for them,
    /// or nobody will write them again: those of a former self whose folder was wiped or rolled back.
    func bridge(_ scan: ContainerScan) throws {
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
        guard try isLost(scan) || waits && !missingOfOthers(scan).isEmpty else { return }
        let now = try self.scan(full: true)
        if try !missingOfOthers(now).isEmpty, let name = try publishSnapshot(now) {
            logger.notice("Published the snapshot \(name), for what the folder has no more and others may lack")
        }
    }

    /// Whether another peer waits for a blob of one that is retired, which this store has imported and no folder holds.
    private func waitsForLostBlob(_ scan: ContainerScan) throws -> Bool {
        let retired = try retiredPeers(scan)
        let vector = try store.vector()
        return try scan.peers.values.contains { other in
            guard other.id != peer, let said = other.said else { return false }
            return try said.held.contains { held in
                guard let name = held.file.flatMap(BlobName.init), retired.contains(held.peer),
                    held.sequence <= vector[held.peer], try bridged(held.peer, scan) < held.sequence
                else { return false }
                return try scan.peers.values.allSatisfy { folder in
                    try !folder.blobs.contains { $0.name == name }
                        || content.peer(folder.id).verify(name) != .intact
                }
            }
        }
    }

}
