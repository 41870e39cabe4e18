import Crypto
package import LogSyncModel

/// Writes a snapshot as a stream, a group of rows at a time.
///
/// ```swift
/// let writer = try SnapshotWriter(content: "notes", peer: peer, manifest: manifest) { try file.write($0) }
/// try writer.append(.plain(rows))
/// let hash = try writer.finish()
/// ```
package final class SnapshotWriter {
    /// What stands at the file's start.
    package let header: SnapshotHeader
    private let peers: [SnapshotManifest.Peer]
    private let write: ([UInt8]) throws -> Void
    private let packer = BlockPacker(compresses: true)
    private let payload = ByteWriter(capacity: 64 * 1024)
    private var sha = SHA256()
    private var length = 0
    private var frames = 0
    private var counts: [String: Int] = [:]

    /// Writes the header and the manifest.
    ///
    /// - Parameter write: takes the file's bytes, in order.
    /// - Throws: `LogSyncError.Code.usage` where `content` is not a content name, `malformedLog` or `unsupportedTable`
    ///   where the manifest could not be read back, and what `write` throws.
    package init(
        content: String, peer: PeerID, manifest: SnapshotManifest, write: @escaping ([UInt8]) throws -> Void
    ) throws {
        guard ContentNameField.isValid(content) else {
            throw LogSyncError(.usage, "\(content.debugDescription) is not a content name")
        }
        header = SnapshotHeader(content: content, peer: peer, sequence: manifest.vector[peer])
        peers = manifest.peers
        self.write = write
        try put(header.encoded)
        try manifest.encode(to: payload)
        try flush(.header)
    }

    /// Writes rows of one table, as one frame.
    ///
    /// Give it about a megabyte at a time; a reader holds as much in memory.
    ///
    /// - Throws: `LogSyncError.Code.unsupportedTable` for a name that is empty or holds a NUL or a row larger than a
    ///   frame may be, `malformedLog` for entries that the manifest's vector does not cover, and what `write` throws.
    package func append(_ rows: SnapshotRows) throws {
        try SnapshotRowsEncoder(out: payload, peers: peers).encode(rows)
        guard payload.count <= Limits.frameLength else {
            throw LogSyncError(
                .unsupportedTable,
                "Rows of \(rows.table.debugDescription) have \(payload.count) bytes, more than a snapshot can hold")
        }
        counts[rows.table, default: 0] += rows.count
        frames += 1
        try flush(.frame)
    }

    /// Writes the end. The writer is of no use afterwards.
    ///
    /// - Returns: the hash that names the file.
    package func finish() throws -> FileHash {
        SnapshotEnd(frames: frames, counts: counts).encode(to: payload)
        guard payload.count <= Limits.recordLength else { throw LogSyncError.tooManyBlobs }
        try flush(.end)
        let total = UInt64(length + SnapshotHeader.trailerLength)
        try put(withUnsafeBytes(of: total.littleEndian, Array.init))
        try put(Array(sha.finalize()))
        try put(SnapshotHeader.envelope.closingMagic)
        return FileHash(sha.finalize())
    }

    private func flush(_ type: BlockType) throws {
        try packer.pack(type, payload.bytes) { try put($0.bytes) }
        payload.removeAll()
    }

    private func put(_ bytes: [UInt8]) throws {
        sha.update(bytes)
        length += bytes.count
        try write(bytes)
    }
}
