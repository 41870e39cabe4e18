import Glibc

package import LogSyncModel

/// Finds out what is in a content folder, again and again, and cheaply where nothing happened.
///
/// A listing is taken from memory while its directory's modification time stands still and was seen to do so for two
/// seconds, the coarsest step of any file system's clock; only this machine's own passing of time is consulted, so that
/// no clock has to be right. On file systems that other machines change (``FileSystemKind/reportsRemoteChanges``)
/// everything is listed every time. The scanner's owner asks for a full scan once a minute regardless.
///
/// Not safe for use from two threads at once: the actor that imports owns it.
package final class ContainerScanner {
    package let content: ContentFolder
    private(set) var directories: [String: CachedListing] = [:]
    private(set) var documents: [String: CachedDocument] = [:]
    private(set) var peers: [PeerID: CachedPeer] = [:]
    /// The peers whose folders, or whose log files' folder, could not be listed when they were last looked at.
    private var unread: Set<PeerID> = []
    /// What an earlier process found, until it is seen to hold no longer.
    var recalled: [PeerID: RememberedPeer] = [:]
    /// By which older receipts are known. Where earlier processes kept some, set it before the first scan.
    package var receiptCounters = ReceiptCounters()
    private let now: @Sendable () -> Duration
    /// Unix nanoseconds, by the clock that gives files their times.
    package let clock: @Sendable () -> Int64
    private let trustsDirectoryTimes: Bool?
    private var run = Run()
    /// What the last scan of everything found strange beside the peers' folders.
    private var besides: [StrangeEntry] = []

    /// - Parameters:
    ///   - trustsDirectoryTimes: overrides what the file system's kind says; for tests.
    ///   - now: the time that has passed since some fixed moment; never goes back.
    ///   - clock: Unix nanoseconds, by the clock that gives files their times.
    package init(
        content: ContentFolder, trustsDirectoryTimes: Bool? = nil,
        now: @escaping @Sendable () -> Duration = PassingTime.machine,
        clock: @escaping @Sendable () -> Int64 = PassingTime.nanosecondsSince1970
    ) {
        self.content = content
        self.clock = clock
        self.trustsDirectoryTimes = trustsDirectoryTimes
        self.now = now
    }

    /// What belongs to one scan only.
    private struct Run {
        var full = true
        var time = Duration.zero
        /// When it began, in Unix nanoseconds.
        var started: Int64 = 0
        var strange: [StrangeEntry] = []
        var failures: [LogSyncError] = []
    }

    struct CachedPeer {
        var scan: PeerScan
        var strange: [StrangeEntry]
        /// When the scan that found this began: Unix nanoseconds.
        var looked: Int64
        /// Of the listings and documents that the scan was made of.
        var versions: [UInt64]
    }

    /// Scans the folder.
    ///
    /// - Parameter full: whether to list everything again.
    /// - Throws: as ``ContentFolder/checkAvailable()``. What cannot be read below the marker is among the scan's
    ///   failures, and what vanishes meanwhile is not there.
    package func scan(full: Bool = false) throws(LogSyncError) -> ContainerScan {
        try content.checkAvailable()
        let trusted = try isTrusted()
        run = Run(full: full || !trusted, time: now(), started: clock())
        var found: Set<PeerID> = []
        var changed: Set<PeerID> = []
        for entry in listing("", of: content.path).entries {
            switch entry.name {
            case ContentFolder.markerName: break
            case ContentFolder.peersName:
                if entry.isDirectory == false { run.strange.append(StrangeEntry(path: entry.name, kind: .wrongType)) }
            default: run.strange.append(StrangeEntry(path: entry.name, name: entry.name))
            }
        }
        let peersListing = listing(ContentFolder.peersName, of: content.peersPath)
        if peersListing.isFailed { found = Set(peers.keys) }
        let failures = run.failures.count
        for entry in peersListing.entries {
            let path = "\(ContentFolder.peersName)/\(entry.name)"
            guard let id = PeerID(entry.name) else {
                run.strange.append(StrangeEntry(path: path, name: entry.name))
                continue
            }
            guard entry.isDirectory ?? true else {
                run.strange.append(StrangeEntry(path: path, kind: .wrongType))
                continue
            }
            found.insert(id)
            if scanPeer(content.peer(id), path) { changed.insert(id) }
        }
        // Of a folder that cannot be read, that is said once.
        if peersListing.isFailed { run.failures.removeSubrange(failures...) }
        // An unmounted folder reads as an empty one; only a marker that is still there says that it is.
        try content.checkAvailable()
        changed.formUnion(peers.keys.filter { !found.contains($0) })
        forgetPeers(except: found)
        besides = run.strange
        let strange = besides + peers.values.flatMap(\.strange)
        return ContainerScan(
            peers: peers.mapValues(\.scan), strange: strange.sorted { $0.path < $1.path }, failures: run.failures,
            isUnreadable: peersListing.isFailed, unread: unread.intersection(peers.keys), changed: changed)
    }

    /// Looks at some peers' folders alone, and takes the others' for what they were found to be.
    ///
    /// - Returns: nil where that cannot be done: before the first scan, and on file systems that other machines change.
    /// - Throws: as ``scan(full:)``.
    package func scan(in hinted: Set<PeerID>) throws(LogSyncError) -> ContainerScan? {
        guard !peers.isEmpty, try isTrusted() else { return nil }
        try content.checkAvailable()
        run = Run(full: false, time: now(), started: clock())
        var changed: Set<PeerID> = []
        for id in hinted {
            let path = "\(ContentFolder.peersName)/\(id)"
            if scanPeer(content.peer(id), path) { changed.insert(id) }
            if isGone(id, path) { peers[id] = nil }
        }
        try content.checkAvailable()
        let strange = besides + peers.values.flatMap(\.strange)
        return ContainerScan(
            peers: peers.mapValues(\.scan), strange: strange.sorted { $0.path < $1.path }, failures: run.failures,
            unread: unread.intersection(peers.keys), changed: changed)
    }

    private func isGone(_ id: PeerID, _ path: String) -> Bool {
        recalled[id] == nil && directories[path]?.entries.isEmpty != false
    }

    /// Looks at one peer's folder alone; nil where it is not there.
    ///
    /// - Parameter full: whether to list everything in it again.
    /// - Throws: as ``scan(full:)``.
    package func scan(only peer: PeerID, full: Bool = false) throws(LogSyncError) -> PeerScan? {
        try content.checkAvailable()
        let trusted = try isTrusted()
        run = Run(full: full || !trusted, time: now(), started: clock())
        let path = "\(ContentFolder.peersName)/\(peer)"
        _ = scanPeer(content.peer(peer), path)
        try content.checkAvailable()
        if isGone(peer, path) { peers[peer] = nil }
        return peers[peer]?.scan
    }

    func isTrusted() throws(LogSyncError) -> Bool {
        if let trustsDirectoryTimes { return trustsDirectoryTimes }
        do throws(FileSystemError) {
            return try content.fileSystem.kind(content.path).reportsRemoteChanges
        } catch {
            throw error.explained(
                kept: content.purpose.kept, isRoot: true, unavailableHelp: content.purpose.unavailableHelp)
        }
    }

    private func forgetPeers(except found: Set<PeerID>) {
        for id in peers.keys where !found.contains(id) {
            peers[id] = nil
            recalled[id] = nil
            let path = "\(ContentFolder.peersName)/\(id)"
            for key in directories.keys where key == path || key.hasPrefix(path + "/") { directories[key] = nil }
            for key in documents.keys where key.hasPrefix(path + "/") { documents[key] = nil }
        }
    }

    /// Returns whether anything differs from the scan before.
    private func scanPeer(_ folder: PeerFolder, _ path: String) -> Bool {
        if let isNews = recall(folder, isFull: run.full) { return isNews }
        let own = listing(path, of: folder.path)
        let failures = run.failures.count
        let logs = listing("\(path)/\(LogFileName.folder)", of: folder.path(of: LogFileName.self))
        if own.isFailed || logs.isFailed { unread.insert(folder.id) } else { unread.remove(folder.id) }
        let snapshots = listing("\(path)/\(SnapshotName.folder)", of: folder.path(of: SnapshotName.self))
        let schemas = listing("\(path)/\(SchemaFileName.folder)", of: folder.path(of: SchemaFileName.self))
        let blobs = listing("\(path)/\(BlobName.folder)", of: folder.path(of: BlobName.self))
        let receipt = document("\(path)/\(PeerFolder.receiptName)", of: folder.receiptPath, Receipt.maximumLength)
        let description = document(
            "\(path)/\(PeerFolder.descriptionName)", of: folder.descriptionPath, PeerDescription.maximumLength)
        // Of a folder that cannot be read, that is said once.
        if own.isFailed { run.failures.removeSubrange(failures...) }
        let versions = [own, logs, snapshots, schemas, blobs].map(\.version) + [receipt.version, description.version]
        if let cached = peers[folder.id], cached.versions == versions { return false }

        var peer = PeerScan(id: folder.id)
        var strange: [StrangeEntry] = []
        for entry in own.entries {
            let entryPath = "\(path)/\(entry.name)"
            switch entry.name {
            case PeerFolder.receiptName, PeerFolder.descriptionName:
                if entry.isFile == false { strange.append(StrangeEntry(path: entryPath, kind: .wrongType)) }
            case LogFileName.folder, SnapshotName.folder, SchemaFileName.folder, BlobName.folder:
                if entry.isDirectory == false { strange.append(StrangeEntry(path: entryPath, kind: .wrongType)) }
            default: strange.append(StrangeEntry(path: entryPath, name: entry.name))
            }
        }
        peer.logs = logs.files(path, &strange)
        peer.snapshots = snapshots.files(path, &strange)
        peer.schemas = schemas.files(path, &strange)
        peer.blobs = blobs.files(path, &strange)
        peer.receipt = receipt.found { bytes throws(LogSyncError) in try Receipt(decoding: bytes) }
        if let value = peer.receipt.value, value.peer != folder.id { peer.receipt = .damaged }
        if let value = peer.receipt.value {
            switch receiptCounters.accept(value.counter, of: folder.id) {
            case .newest: break
            case .older: peer.goOn(byReceiptOf: peers[folder.id]?.scan, counter: receiptCounters[folder.id])
            case .impossible: peer.receipt = .damaged
            }
        }
        peer.receiptModified = receipt.status.map { $0.modified / 1_000_000 }
        peer.description = description.found { bytes throws(LogSyncError) in try PeerDescription(decoding: bytes) }
        peers[folder.id] = CachedPeer(
            scan: peer, strange: strange, looked: run.started, versions: versions)
        return true
    }

    /// Goes by what an earlier process found, where nothing has changed since. Returns whether that is news; nil where it does
    /// not hold, or everything is to be listed.
    private func recall(_ folder: PeerFolder, isFull: Bool) -> Bool? {
        guard let known = recalled[folder.id] else { return nil }
        guard !isFull, isUnchanged(known) else {
            recalled[folder.id] = nil
            return nil
        }
        guard peers[folder.id] == nil else { return false }
        if let said = known.scan.said { _ = receiptCounters.accept(said.counter, of: folder.id) }
        peers[folder.id] = CachedPeer(scan: known.scan, strange: [], looked: known.looked, versions: [])
        return true
    }

    /// A directory's entries, from memory where they cannot have changed. One that is not there has none; one that
    /// cannot be read keeps those it had and is noted as a failure.
    private func listing(_ key: String, of path: String) -> CachedListing {
        var cached = directories[key] ?? CachedListing()
        do throws(FileSystemError) {
            let status = try content.fileSystem.status(path, followingLinks: false)
            guard status.isDirectory else { throw FileSystemError("list", path, number: ENOTDIR) }
            if cached.stability.observe(status, at: run.time), !run.full, !cached.isFailed { return cached }
            cached.replaceEntries(try content.fileSystem.list(path, statuses: true))
        } catch let error where error.isAbsence {
            cached.stability = FileStability()
            cached.replaceEntries([])
        } catch {
            cached.isFailed = true
            run.failures.append(error.explained(kept: "what was found there before is kept"))
        }
        directories[key] = cached
        return cached
    }

    private func document(_ key: String, of path: String, _ limit: Int) -> CachedDocument {
        var cached = documents[key] ?? CachedDocument()
        do throws(FileSystemError) {
            let status = try content.fileSystem.status(path, followingLinks: false)
            if cached.stability.observe(status, at: run.time), !run.full { return cached }
            let bytes = status.isFile ? try content.fileSystem.readWhole(path, limit: limit) ?? [] : []
            cached.replace(bytes, status)
        } catch let error where error.isAbsence {
            cached.stability = FileStability()
            cached.replace(nil, nil)
        } catch {
            cached.stability = FileStability()
            run.failures.append(error.explained(kept: "what was read there before is kept"))
        }
        documents[key] = cached
        return cached
    }
}
