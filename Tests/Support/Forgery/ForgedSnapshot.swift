package import LogSyncContainer
import LogSyncFormat
package import LogSyncModel

/// A snapshot of which nothing is checked but what hashes say.
package struct ForgedSnapshot {
    package var content = "notes"
    package var peer: PeerID
    package var taken: UInt64 = 1_700_000_000_000
    package var digest: UInt64 = 0
    package var fingerprint = [UInt8](repeating: 7, count: 16)
    package var schema = ""
    /// The vector, by ascending id.
    package var peers: [(id: PeerID, sequence: UInt64)]
    package var sequences: [(table: String, number: Int64)] = []
    /// What follows in the manifest: branches, marks, lost columns.
    package var rest: [UInt8] = []
    /// The manifest's payload, in the place of what is said here.
    package var manifestPayload: [UInt8]?
    /// The payloads of its frames.
    package var frames: [[UInt8]] = []
    /// What its end says of each table.
    package var counts: [(table: String, rows: UInt64)] = []
    package var compresses = false

    package init(by peer: PeerID, vector peers: [(id: PeerID, sequence: UInt64)]) {
        self.peer = peer
        self.peers = peers
    }

    /// The manifest's payload.
    package var manifest: [UInt8] {
        var bytes = Forge.varint(taken) + Forge.littleEndian(digest) + fingerprint + Forge.text(schema)
        bytes += Forge.varint(UInt64(peers.count))
        for peer in peers {
            bytes += peer.id.bytes + Forge.varint(peer.sequence) + [UInt8](repeating: 1, count: 32)
        }
        // Nobody depends on anybody.
        bytes += [UInt8](repeating: 0, count: peers.count)
        bytes += Forge.varint(UInt64(sequences.count))
        for sequence in sequences { bytes += Forge.text(sequence.table) + Forge.zigzag(sequence.number) }
        return bytes + rest
    }

    package var bytes: [UInt8] {
        let magic: [UInt8] = [0x89, 0x74, 0x73, 0x6E, 0x70, 0x0D, 0x0A, 0x1A]
        let length = 16 + 16 + 8 + 1 + content.utf8.count + 8
        var file = magic + [1, 0, 0, 0] + Forge.littleEndian(UInt32(length)) + peer.bytes
        file += Forge.littleEndian(peers.first { $0.id == peer }?.sequence ?? 0)
        file += [UInt8(content.utf8.count)] + Array(content.utf8)
        file += Forge.sha256(file).prefix(8)
        file += Forge.blocks(type: Forge.header, manifestPayload ?? manifest, compresses: compresses)
        for frame in frames { file += Forge.blocks(type: Forge.frame, frame, compresses: compresses) }
        var end = Forge.varint(UInt64(frames.count)) + Forge.varint(UInt64(counts.count))
        for count in counts { end += Forge.text(count.table) + Forge.varint(count.rows) }
        file += Forge.blocks(type: Forge.end, end, compresses: compresses)
        file += Forge.littleEndian(UInt64(file.count + 48))
        return file + Forge.sha256(file) + magic.reversed()
    }

    /// The name of a file of these bytes; nil where there is no such name.
    package func name(_ bytes: [UInt8]) -> SnapshotName? {
        SnapshotName(
            sequence: peers.first { $0.id == peer }?.sequence ?? 0,
            fileHash: LogSyncContainer.FileHash(digest: Forge.sha256(bytes)))
    }
}
