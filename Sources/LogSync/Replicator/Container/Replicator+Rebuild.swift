import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Writes the content folder anew from the store: the marker, this peer's files, every transaction of it and of those
    /// it was before that the outbox has, and a snapshot that stands for what only others could write.
    ///
    /// For a folder that was wiped or lost its marker. The container itself has to be there; it is never made. Nothing
    /// that is sound is touched, no peer's files are removed, and every other peer puts its own back with its next
    /// ``sync()``, or a `rebuild` of its own.
    ///
    /// - Parameter dryRun: whether only to say what would be written.
    /// - Throws: `containerUnavailable` where the container is not there; `configuration` where another content of the
    ///   same name is there; `locked` where another process does not let go of the store; `noPermission`; `ioError`.
    public func rebuild(dryRun: Bool = false) async throws -> RebuildReport {
        if dryRun { return try inspect { try $0.rebuildReport(dryRun: true) } }
        try await takeAlone()
        defer {
            giveBack()
            closeStore()
        }
        var report = try await step(settles: true) { store in
            let report = try store.rebuildReport(dryRun: false)
            try store.content.create(rewritingMarker: true)
            try store.checkHistory(of: try store.scan(), at: store.content.path)
            store.readOwnFolderAnew()
            return report
        }
        report.result = try await sync()
        (report.snapshot, report.missing) = try await step { try $0.ownFolder.completeBySnapshot() }
        report.needsSnapshot = report.snapshot != nil
        return report
    }
}

extension ReplicatedStore {
    /// What the folder lacks of this peer, seen without the marker's leave.
    fileprivate func rebuildReport(dryRun: Bool) throws -> RebuildReport {
        let sound = try soundOwnLogs()
        let hasMarker = try hasMarker()
        let scan = try hasMarker ? scan() : nil
        // What was collected, a snapshot stands for.
        let collected = try scan.map { try coverage.reach(of: peer, $0) } ?? 0
        let missing = LogFileSet(sound).missing(upTo: try store.vector()[peer]).beyond(collected)
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
        let others: [MissingTransactions.Count]
        var missing = own
        if let scan {
            guard try ownFolder.damagedSnapshots(scan.peers[peer]).isEmpty else { return true }
            missing = own.beyond(try coverage.bridge(of: peer, scan))
            others = try MissingTransactions(self, scan, depth: .everything).ofOthers()
        } else {
            // What cannot be looked at may hold anything.
            let peers = try? content.fileSystem.list(content.peersPath, statuses: false)
            let isWiped = (try? content.fileSystem.status(content.peersPath, followingLinks: false)) == nil
            guard isWiped || peers?.isEmpty ?? false else { return nil }
            others = try store.vector().sequences.filter { $0.key != peer }
                .map { MissingTransactions.Count(id: $0.key, transactions: $0.value) }
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
            guard library.logs.hasHeader($0, of: peer) else { return false }
            return try folder.verify($0) == .intact
        }
    }
}
