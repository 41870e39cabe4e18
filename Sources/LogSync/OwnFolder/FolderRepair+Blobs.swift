import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Puts back blob files that are missing or damaged in this peer's own folder.
extension FolderRepair {
    /// Puts back the blobs whose bytes are to be had; where they are nowhere any more, a snapshot takes the place of the files
    /// that name them.
    func repairBlobs(_ complaints: [BlobName: BlobComplaint]) throws {
        let blobs = found?.blobs ?? []
        let files = Dictionary(blobs.map { ($0.name, $0) }) { first, _ in first }
        let reads = own.readsEverything || blobs.reduce(0) { $0 + $1.size } <= Self.maximumReading
        var (mended, lost): ([BlobID], [BlobID]) = ([], [])
        for id in try store.publishedBlobs() {
            let complaint = complaints[BlobName(id)]
            let isSound = try isSound(id, files[BlobName(id)], reads: reads, isDoubted: complaint != nil)
            if isSound, complaint != .damaged { continue }
            if try own.putBack(id, anew: isSound) { mended.append(id) } else { lost.append(id) }
        }
        try repairBlobsOfFormerSelves()
        if !mended.isEmpty {
            own.logger.notice("Mended \(own.folder.path)", metadata: ["blobs": "\(mended.count)"])
        }
        own.soundBlobs.keep { files[$0.name] == $0 }
        guard !lost.isEmpty else { return }
        try store.forget(lost)
        try replaceFiles(naming: Set(lost))
    }

    /// Whether an own blob is as it was written, as far as that can be told at this price.
    ///
    /// - Parameter isDoubted: whether another peer complains of it: then it is read whatever it was found to be before.
    private func isSound(_ id: BlobID, _ file: FoundFile<BlobName>?, reads: Bool, isDoubted: Bool) throws -> Bool {
        guard let file, file.size == UInt64(id.length) else { return false }
        if own.soundBlobs.contains(file), !isDoubted { return true }
        guard reads || isDoubted else { return true }
        guard try own.folder.verify(file.name) == .intact else { return false }
        own.soundBlobs.insert(file)
        return true
    }

    /// What former selves recorded and this store's outbox has is this store's to put back.
    private func repairBlobsOfFormerSelves() throws {
        guard !own.formerSelves.isEmpty else { return }
        for former in try store.retiredPeers().intersection(own.formerSelves) {
            let named = try store.outboxBlobs(of: former, beyond: owner.coverage.reach(of: former, scan))
            for id in named where try own.library.blobs.examine(id) == .missing { _ = try own.putBack(id) }
        }
    }

    /// Publishes a snapshot in place of the files that name blobs that are nowhere any more, and removes snapshots that name
    /// them.
    private func replaceFiles(naming lost: Set<BlobID>) throws {
        guard let found else { return }
        let index = own.library.blobIndex
        let snapshots = found.snapshots.filter { file in
            index.blobs(of: file, peer)?.contains(where: lost.contains) ?? false
        }
        let covered = try owner.coverage.reach(of: peer, scan, except: snapshots.map(\.name))
        let isNamed = found.logs.contains { file in
            file.name.last > covered && index.blobs(of: file, peer)?.contains(where: lost.contains) ?? false
        }
        guard isNamed || !snapshots.isEmpty else { return }
        let name = try own.publishSnapshot(try owner.scan(), isForced: true)
        for file in snapshots { try own.folder.remove(file.name) }
        own.logger.notice(
            "Mended \(own.folder.path) by a snapshot, because blobs were lost and overwritten",
            metadata: ["snapshot": "\(name?.description ?? "")", "lost": "\(lost.count)"])
    }
}
