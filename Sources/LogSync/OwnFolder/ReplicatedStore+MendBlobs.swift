import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// What another peer says of a blob of this peer's.
enum BlobComplaint {
    /// It is not there, or not all of it.
    case missing
    /// It has other bytes than its name says.
    case damaged
}

/// Puts back blob files that are missing or damaged in this peer's own folder (DESIGN.md, section 7, mending).
extension ReplicatedStore {
    /// Blobs up to this many bytes in all are read at the first look of each process; the others are compared by name and
    /// length, and read when another peer complains.
    private static let maximumReading: UInt64 = 16 << 20

    /// Puts back what can be; where the bytes of a blob are nowhere any more, a snapshot takes the place of what names
    /// it.
    func mendBlobs(_ scan: ContainerScan) throws {
        let own = scan.peers[peer]?.blobs ?? []
        let found = Dictionary(own.map { ($0.name, $0) }) { first, _ in first }
        let reads = readsEverything || own.reduce(0) { $0 + $1.size } <= Self.maximumReading
        var (mended, lost): ([BlobID], [BlobID]) = ([], [])
        for id in try store.publishedBlobs() {
            let complaint = blobComplaints[BlobName(id)]
            let isSound = try isSound(id, found[BlobName(id)], reads: reads || complaint != nil)
            if isSound, complaint != .damaged { continue }
            if try putBack(id, anew: isSound) { mended.append(id) } else { lost.append(id) }
        }
        blobComplaints = [:]
        try mendBlobsOfFormerSelves(scan)
        if !mended.isEmpty {
            logger.notice("Mended \(content.peer(peer).path)", metadata: ["blobs": "\(mended.count)"])
        }
        soundBlobs = soundBlobs.filter { found[$0.key] == $0.value }
        guard !lost.isEmpty else { return }
        try store.forget(lost)
        try replace(Set(lost), scan)
    }

    /// Whether an own blob is as it was written, as far as that can be told at this price.
    private func isSound(_ id: BlobID, _ file: FoundFile<BlobName>?, reads: Bool) throws -> Bool {
        guard let file, file.size == UInt64(id.length) else { return false }
        if soundBlobs[file.name] == file, blobComplaints[file.name] == nil { return true }
        guard reads else { return true }
        guard try content.peer(peer).verify(file.name) == .intact else { return false }
        soundBlobs[file.name] = file
        return true
    }

    /// What former selves recorded and this store's outbox has is this store's to mend.
    private func mendBlobsOfFormerSelves(_ scan: ContainerScan) throws {
        guard !registration.succeeds.isEmpty else { return }
        for former in try store.retiredPeers().intersection(registration.succeeds) {
            let named = try store.outboxBlobs(of: former, beyond: standsFor(former, scan))
            for id in named where try blobs.examine(id) == .missing { _ = try putBack(id) }
        }
    }

    /// Publishes a snapshot for what names blobs that are nowhere any more, and removes snapshots that name them.
    private func replace(_ lost: Set<BlobID>, _ scan: ContainerScan) throws {
        guard let own = scan.peers[peer] else { return }
        let snapshots = own.snapshots.filter { file in
            blobIndex.blobs(of: file, peer)?.contains(where: lost.contains) ?? false
        }
        let covered = try standsFor(peer, scan, except: snapshots.map(\.name))
        let isNamed = own.logs.contains { file in
            file.name.last > covered && blobIndex.blobs(of: file, peer)?.contains(where: lost.contains) ?? false
        }
        guard isNamed || !snapshots.isEmpty else { return }
        let name = try publishSnapshot(try self.scan(full: true), isForced: true)
        for file in snapshots { try content.peer(peer).remove(file.name) }
        logger.notice(
            "Mended \(content.peer(peer).path) by a snapshot, because blobs were lost and overwritten",
            metadata: ["snapshot": "\(name?.description ?? "")", "lost": "\(lost.count)"])
    }
}
