import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Blob files in this peer's own folder. A file that names a blob is published after it.
extension OwnFolder {
    /// So many bytes of blobs may be published before the store is told, which then lets go of them.
    private static let batchLength = 64 << 20

    /// Publishes the blobs that transactions in the outbox name, as far as the folder lacks them.
    ///
    /// Killed anywhere, it does the same again: bytes make the name, and the store keeps them until they have been read
    /// back.
    func publishBlobs(of run: [OutboxTransaction]) throws {
        guard let first = run.first?.dot, let last = run.last?.dot else { return }
        let sequences = first.sequence...last.sequence
        let waiting = Set(try store.outboxBlobs(of: first.peer, sequences, unpublishedOnly: true))
        var published: [BlobID] = []
        var length = 0
        for id in try store.outboxBlobs(of: first.peer, sequences) {
            // A blob that is not known to be there is written or, where it was before this process, read back.
            if try !waiting.contains(id) && holds(id) { continue }
            guard try putBack(id) else {
                logger.warning(
                    "The blob \(id) is named by a transaction and is nowhere any more; a snapshot stands for it")
                continue
            }
            published.append(id)
            length += id.length
            if length > Self.batchLength {
                try store.markPublished(published)
                (published, length) = ([], 0)
            }
        }
        try store.markPublished(published)
    }

    /// Publishes a large value that a snapshot is going to name, where the folder does not hold it soundly.
    func publishBlob(_ id: BlobID, _ bytes: Bytes) throws {
        if let file = try file(of: id) {
            if soundBlobs.contains(file) { return }
            // To read it back costs less than to write it again.
            if file.size == UInt64(id.length), try folder.verify(file.name) == .intact {
                soundBlobs.insert(file)
                return
            }
        }
        try publish(id) { staged in
            var rest = bytes
            while !rest.isEmpty {
                try staged.write(Array(rest.prefix(1 << 20)))
                rest = rest.dropFirst(1 << 20)
            }
        }
        if let file = try file(of: id) { soundBlobs.insert(file) }
    }

    /// Writes a blob file into the folder, from wherever its bytes are.
    ///
    /// - Parameter anew: whether a sound file is written again, so that a sync engine carries it again.
    /// - Returns: false where they are nowhere.
    func putBack(_ id: BlobID, anew: Bool = false) throws -> Bool {
        var isFound = false
        if try store.waitingBlobs(contain: id) {
            try publish(id, anew: anew) { staged in
                isFound = try store.forEachBlobPart(of: id) { try staged.write(Array($0)) }
            }
        } else if let bytes = try store.blobBytes(of: id) {
            isFound = true
            try publish(id, anew: anew) { try $0.write(Array(bytes)) }
        } else if case .sound(let source) = try library.blobs.examine(id) {
            isFound = true
            try publish(id, anew: anew) { staged in _ = try library.blobs.stream(source, id) { try staged.write($0) } }
        }
        return isFound
    }

    /// Whether the folder has a file of the blob's name and length; its bytes are not looked at.
    private func holds(_ id: BlobID) throws -> Bool { try file(of: id)?.size == UInt64(id.length) }

    private func file(of id: BlobID) throws -> FoundFile<BlobName>? { try folder.find(BlobName(id)) }

    private func publish(
        _ id: BlobID, anew: Bool = false, _ write: (StagedFile<BlobName>) throws -> Void
    ) throws {
        let staged = try publisher(of: peer).stage(BlobName.self)
        try write(staged)
        let name = try staged.publish(anew: anew) { $0 == BlobName(id).fileHash ? BlobName($0) : nil }
        guard try folder.verify(name) == .intact else {
            throw LogSyncError(
                .ioError,
                "\(folder.path(name)) was read back with other bytes than were written; what names it stays "
                    + "in the outbox", help: "Check the disk, and run the command again")
        }
    }
}
