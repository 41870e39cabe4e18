import Crypto
package import LogSyncContainer
package import LogSyncFormat
package import LogSyncModel

/// A transaction of which nothing is checked but what hashes say, as somebody can write it who has read the documentation.
package struct ForgedTransaction {
    package var dot: Dot
    package var time: HybridTime
    package var dependencies: [Dependency]
    /// The schema under which it says that it was made.
    package var schema: SchemaFingerprint?
    package var author: String?
    package var context: String?
    /// The payloads of its frames.
    package var frames: [[UInt8]]
    /// What its end says of each table.
    package var counts: [(table: String, inserted: UInt64, updated: UInt64, deleted: UInt64)]
    /// What its end says of blobs: their number, and each as hash and length.
    package var blobs: [UInt8] = []
    package var compresses = false

    package init(
        _ dot: Dot, time: HybridTime = HybridTime(milliseconds: 1_700_000_000_000), dependencies: [Dependency] = [],
        author: String? = nil, context: String? = nil, frames: [[UInt8]] = [],
        counts: [(table: String, inserted: UInt64, updated: UInt64, deleted: UInt64)] = []
    ) {
        self.dot = dot
        self.time = time
        self.dependencies = dependencies
        self.author = author
        self.context = context
        self.frames = frames
        self.counts = counts
    }

    /// One frame of these groups, which the end counts rightly.
    package init(_ dot: Dot, dependencies: [Dependency] = [], groups: [ForgedGroup]) {
        self.init(dot, dependencies: dependencies, frames: [Forge.joined(groups.map(\.bytes))])
        for group in groups {
            let rows = UInt64(group.identities.count)
            let counts =
                (
                    table: group.table, inserted: group.kind == .insert ? rows : 0,
                    updated: group.kind == .update ? rows : 0, deleted: group.kind == .delete ? rows : 0
                )
            if let index = self.counts.firstIndex(where: { $0.table == group.table }) {
                self.counts[index].inserted += counts.inserted
                self.counts[index].updated += counts.updated
                self.counts[index].deleted += counts.deleted
            } else {
                self.counts.append(counts)
            }
        }
        counts.sort { $0.table.utf8.lexicographicallyPrecedes($1.table.utf8) }
    }

    /// The header's payload.
    package var header: [UInt8] {
        let areMarked = dependencies.contains { $0.mark != nil }
        var bytes = Forge.littleEndian(dot.sequence) + Forge.littleEndian(time.rawValue)
        bytes.append((schema == nil ? 0 : 1) | (author == nil ? 0 : 2) | (context == nil ? 0 : 4) | (areMarked ? 8 : 0))
        bytes += Forge.varint(UInt64(dependencies.count))
        for dependency in dependencies {
            bytes += dependency.dot.peer.bytes + Forge.varint(dependency.dot.sequence)
            if areMarked { bytes += Forge.littleEndian(dependency.mark?.rawValue ?? 0) }
        }
        if let schema { bytes += schema.bytes }
        if let author { bytes += Forge.text(author) }
        if let context { bytes += Forge.text(context) }
        return bytes
    }

    /// The end's payload.
    package var end: [UInt8] {
        var bytes = Forge.varint(UInt64(frames.count)) + Forge.varint(UInt64(counts.count))
        for (table, inserted, updated, deleted) in counts {
            bytes += Forge.text(table) + [inserted, updated, deleted].flatMap(Forge.varint)
        }
        return bytes + blobs
    }

    /// Its segment, and the chain hash after it.
    package func segment(after previous: ChainHash = .zero) -> (bytes: [UInt8], chain: ChainHash) {
        var sha = SHA256()
        sha.update(data: Array("logsync chain 1\0".utf8) + previous.bytes + dot.peer.bytes)
        sha.update(data: Forge.littleEndian(dot.sequence))
        var bytes: [UInt8] = []
        for (type, payload) in [(Forge.header, header)] + frames.map({ (Forge.frame, $0) }) + [(Forge.end, end)] {
            bytes += Forge.blocks(type: type, payload, compresses: compresses)
            for start in stride(from: 0, to: max(payload.count, 1), by: 1 << 20) {
                let end = min(start + 1 << 20, payload.count)
                sha.update(data: [type, end < payload.count ? 1 : 0] + Forge.littleEndian(UInt32(end - start)))
                payload.withUnsafeBytes { sha.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
            }
        }
        return (bytes, ChainHash(bytes: Array(sha.finalize())) ?? .zero)
    }
}

/// A log file of forged transactions, all its hashes right.
package struct ForgedLogFile {
    package var bytes: [UInt8]
    /// nil where there is no such name.
    package var name: LogFileName?

    /// - Parameters:
    ///   - sequences: what the header says; nil for those of the transactions.
    ///   - previous: the chain hash before the first.
    package init(
        _ transactions: [ForgedTransaction], content: String = "notes", sequences: (UInt64, UInt64)? = nil,
        after previous: ChainHash = .zero
    ) {
        var chain = previous
        var segments: [UInt8] = []
        for transaction in transactions {
            let (bytes, next) = transaction.segment(after: chain)
            segments += bytes
            chain = next
        }
        let dots = transactions.map(\.dot)
        let (first, last) = sequences ?? (dots.first?.sequence ?? 1, dots.last?.sequence ?? 1)
        let peer = dots.first?.peer ?? PeerID(high: 0, low: 0)
        self.init(
            segments, content: content, peer: peer, sequences: (first, last), before: previous, after: chain)
    }

    package init(
        _ segments: [UInt8], content: String = "notes", peer: PeerID, sequences: (first: UInt64, last: UInt64),
        before: ChainHash, after: ChainHash
    ) {
        let magic: [UInt8] = [0x89, 0x74, 0x6C, 0x6F, 0x67, 0x0D, 0x0A, 0x1A]
        let length = 24 + 16 + 16 + 32 + 1 + content.utf8.count + 8
        var file = magic + [1, 0, 0, 0] + Forge.littleEndian(UInt32(length))
        file += Forge.littleEndian(UInt64(length + segments.count + 72)) + peer.bytes
        file += Forge.littleEndian(sequences.first) + Forge.littleEndian(sequences.last) + before.bytes
        file += [UInt8(content.utf8.count)] + Array(content.utf8)
        file += Forge.sha256(file).prefix(8)
        file += segments + after.bytes
        file += Forge.sha256(file) + magic.reversed()
        bytes = file
        name = LogFileName(
            first: sequences.first, last: sequences.last,
            fileHash: LogSyncContainer.FileHash(digest: Forge.sha256(file)))
    }
}
