import Crypto
import LogSyncContainer
import LogSyncModel

/// Finds blob files in the container, in any peer's folder, and remembers what they were found to be.
final class BlobLibrary {
    let content: ContentFolder
    private let now: @Sendable () -> Duration
    /// The files of the last scan, by name; those of one name by ascending peer.
    private var files: [BlobName: [FoundBlob]] = [:]
    private var shelf: [Key: Entry] = [:]
    /// The blob that was read last: rows that hold the same bytes tend to follow each other.
    private var last: (id: BlobID, bytes: Bytes)?

    /// A blob file in a peer's folder.
    struct FoundBlob: Hashable {
        var peer: PeerID
        var file: FoundFile<BlobName>
    }

    /// What was found of a blob in all folders together: the best of it.
    enum Verdict: Hashable {
        case sound(FoundBlob)
        case missing
        /// So many of its bytes are there.
        case incomplete(PeerID, UInt64)
        /// A file of its name and length has other bytes.
        case damaged(PeerID)
    }

    private struct Key: Hashable {
        var peer: PeerID
        var id: BlobID
    }

    private struct Entry {
        var file: FoundFile<BlobName>
        var since: Duration
        var verdict: Verdict
    }

    private static let chunkLength = 1 << 20

    init(content: ContentFolder, now: @escaping @Sendable () -> Duration = PassingTime.machine) {
        self.content = content
        self.now = now
    }

    /// Goes by what a scan found from now on.
    ///
    /// - Parameter forgetsDoubts: whether files that were found wanting are read again.
    func update(_ scan: ContainerScan, forgetsDoubts: Bool) {
        files = [:]
        last = nil
        for peer in scan.peers.values.sorted(by: { $0.id < $1.id }) {
            for file in peer.blobs { files[file.name, default: []].append(FoundBlob(peer: peer.id, file: file)) }
        }
        shelf = shelf.filter { key, entry in
            if forgetsDoubts {
                guard case .sound = entry.verdict else { return false }
            }
            return files[entry.file.name]?.contains(FoundBlob(peer: key.peer, file: entry.file)) ?? false
        }
    }

    /// Whether a folder, that of `peer` or any, has a file of the blob's name and length.
    func isListed(_ id: BlobID, of peer: PeerID? = nil) -> Bool {
        files[BlobName(id)]?.contains { $0.peer == peer ?? $0.peer && $0.file.size == UInt64(id.length) } ?? false
    }

    /// Reads a blob's files from end to end until one is sound, unless that was done and they stand as they stood.
    ///
    /// - Parameter peer: looks into this peer's folder alone.
    /// - Throws: `containerUnavailable`.
    func examine(_ id: BlobID, of peer: PeerID? = nil) throws -> Verdict {
        var best = Verdict.missing
        for blob in files[BlobName(id)] ?? [] where peer == nil || blob.peer == peer {
            switch try examine(blob, id) {
            case .sound(let blob): return .sound(blob)
            case .damaged(let peer): best = .damaged(peer)
            case .incomplete(let peer, let count): if best == .missing { best = .incomplete(peer, count) }
            case .missing: continue
            }
        }
        return best
    }

    /// Why a blob cannot be had; nil where it can.
    ///
    /// - Throws: `containerUnavailable`.
    func obstacle(_ id: BlobID) throws -> (reason: HeldItem.Reason, detail: String)? {
        switch try examine(id) {
        case .sound: nil
        case .missing: (.missingBlob, "the blob \(id) of \(id.length.counted("byte")) is in nobody's folder")
        case .incomplete(_, let count):
            (.missingBlob, "of the blob \(id) only \(count) of \(id.length.counted("byte")) are here")
        case .damaged(let peer):
            (.damaged, "the blob \(id) in the folder of \(peer) has other bytes than its hash says")
        }
    }

    /// A blob's bytes.
    ///
    /// - Throws: `malformedLog` where no folder has them, which ``examine(_:of:)`` then says too.
    func read(_ id: BlobID) throws -> Bytes {
        if let last, last.id == id { return last.bytes }
        last = nil
        while case .sound(let blob) = try examine(id) {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(id.length)
            let verdict = try stream(blob, id) { bytes += $0 }
            shelf[Key(peer: blob.peer, id: id)]?.verdict = verdict
            guard case .sound = verdict else { continue }
            last = (id, bytes[...])
            return bytes[...]
        }
        throw LogSyncError(
            .malformedLog, "the blob \(id) cannot be read; nothing of what names it was imported",
            help: "Its owner writes it again at its next sync")
    }

    /// Streams a file's bytes to `body`, and says what they were found to be when they had passed by.
    func stream(_ blob: FoundBlob, _ id: BlobID, _ body: ([UInt8]) throws -> Void) throws -> Verdict {
        guard let file = try Self.present({ try content.peer(blob.peer).open(blob.file.name) }) else {
            return .missing
        }
        var hash = SHA256()
        var offset = 0
        var isBlank = true
        while offset < id.length {
            let chunk = try Self.present { try Self.read(file, at: offset, count: id.length - offset) }
            guard let chunk else { return .missing }
            if chunk.isEmpty { return .incomplete(blob.peer, UInt64(offset)) }
            if offset == 0 { isBlank = chunk.prefix(64).allSatisfy { $0 == 0 } }
            chunk.withUnsafeBytes { hash.update(bufferPointer: $0) }
            try body(chunk)
            offset += chunk.count
        }
        if Array(hash.finalize()) == id.hash { return .sound(blob) }
        // Room was made for it, and nothing written yet.
        return isBlank ? .incomplete(blob.peer, 0) : .damaged(blob.peer)
    }

    private static func read(_ file: any ReadableFile, at offset: Int, count: Int) throws -> [UInt8] {
        do throws(FileSystemError) {
            return try file.read(at: UInt64(offset), count: min(chunkLength, count))
        } catch {
            throw error.explained(kept: FileSource.kept)
        }
    }

    /// nil where a file has gone, or cannot be read yet: another folder may have it.
    private static func present<T>(_ body: () throws -> T) throws -> T? {
        do {
            return try body()
        } catch let error as LogSyncError where error.code == .ioError {
            return nil
        }
    }

    private func examine(_ blob: FoundBlob, _ id: BlobID) throws -> Verdict {
        let key = Key(peer: blob.peer, id: id)
        let time = now()
        if let entry = shelf[key], entry.file == blob.file {
            if case .sound = entry.verdict { return entry.verdict }
            if time - entry.since > ContentLibrary.fileClockStep { return entry.verdict }
        }
        let since = shelf[key].flatMap { $0.file == blob.file ? $0.since : nil } ?? time
        let verdict: Verdict
        if blob.file.size == UInt64(id.length) {
            verdict = try stream(blob, id) { _ in }
        } else {
            verdict =
                blob.file.size < UInt64(id.length)
                ? .incomplete(blob.peer, blob.file.size) : .damaged(blob.peer)
        }
        shelf[key] = Entry(file: blob.file, since: since, verdict: verdict)
        return verdict
    }
}

extension PeerFolder {
    /// The path of the log file, snapshot or blob file that a held item names.
    func path(named file: String) -> String {
        BlobName(file).map { path($0) } ?? SnapshotName(file).map { path($0) }
            ?? "\(path(of: LogFileName.self))/\(file)"
    }
}

extension BlobName {
    init(_ id: BlobID) { self.init(FileHash(digest: id.hash)) }
}
