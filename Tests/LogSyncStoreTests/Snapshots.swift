import LogSyncFormat
import LogSyncModel
import Testing

@testable import LogSyncStore

/// A snapshot in memory.
struct Snapshot {
    var bytes: [UInt8]
    var taken: TakenSnapshot
    /// What it names.
    var blobs: [BlobID: [UInt8]] = [:]

    func open() throws -> SnapshotReader {
        let reader = try SnapshotReader(MemorySource(bytes))
        #expect(try reader.verify() == taken.hash)
        return reader
    }

    func blob(_ id: BlobID) throws -> LogSyncModel.Bytes { try #require(blobs[id])[...] }

    var manifest: SnapshotManifest {
        get throws { try open().manifest }
    }

    /// Every row that it holds.
    func rows() throws -> [SnapshotRows] {
        let reader = try open()
        var all: [SnapshotRows] = []
        while let rows = try reader.next() { all.append(rows) }
        return all
    }
}

private final class Bytes {
    var all: [UInt8] = []
    var blobs: [BlobID: [UInt8]] = [:]
}

extension TestPeer {
    func snapshot(telling places: [VersionVector] = []) throws -> Snapshot {
        let sink = Bytes()
        let taken = try store.writeSnapshot(telling: places, publishBlob: { sink.blobs[$0] = Array($1) }) {
            sink.all += $0
        }
        return Snapshot(bytes: sink.all, taken: taken, blobs: sink.blobs)
    }

    @discardableResult
    func join(_ snapshot: Snapshot) throws -> JoinedSnapshot {
        try store.join(blobs: { try snapshot.blob($0) }) { try snapshot.open() }
    }

    /// Joins another peer's snapshot where it brings anything.
    func joinNews(from other: TestPeer) throws {
        let snapshot = try other.snapshot()
        if case .ready = try store.joinability(of: snapshot.manifest) { try join(snapshot) }
    }

    /// Makes a store of a snapshot.
    convenience init(
        _ folder: TestFolder, _ name: String, filling snapshot: Snapshot, from peer: TestPeer,
        schema: String? = nil, seed: UInt64 = .random(in: 0 ... .max), step: Duration = .seconds(1),
        progress: (Int) throws -> Void = { _ in }
    ) throws {
        try self.init(folder, name, emptyLike: peer, schema: schema ?? snapshot.manifest.schemaText, seed: seed)
        try store.fill(
            from: snapshot.taken.hash, step: step, blobs: { try snapshot.blob($0) }, { try snapshot.open() },
            progress: progress)
    }
}
