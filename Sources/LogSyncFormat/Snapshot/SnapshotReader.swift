import Crypto
package import LogSyncModel

/// Reads a snapshot as a stream, a frame at a time.
///
/// ``verify()`` says whether the bytes are what their author wrote; ``next()`` goes through the rows and checks,
/// besides, that they make sense: canonical identities, entries within the vector, counts that agree.
///
/// ```swift
/// let reader = try SnapshotReader(source)
/// let hash = try reader.verify()
/// while let rows = try reader.next() { … }
/// ```
///
/// After it threw, a reader is of no more use; make another.
package final class SnapshotReader {
    package let header: SnapshotHeader
    package let manifest: SnapshotManifest
    /// How many frames ``next()`` or ``skip(_:)`` has gone past.
    package private(set) var frame = 0

    private let source: any ByteSource
    private let blocks: FileBlocks
    private let decompressor = Decompressor()
    private let budget: ExpansionBudget
    private var counts: [String: Int] = [:]
    private var named: Set<BlobID> = []
    private var countsAreComplete = true
    private var isAtEnd = false

    /// Reads the header and the manifest.
    ///
    /// - Parameter maximumExpansion: how many bytes it may come to, unpacked and again with repeated values written out;
    ///   nil for ``Limits/expansion(ofFile:)``.
    /// - Throws: ``LogFileError``, and what the source throws.
    package init(_ source: any ByteSource, maximumExpansion: Int? = nil) throws {
        let length = source.count
        header = try SnapshotHeader.parse(
            prefix: try source.exactly(at: 0, count: min(length, SnapshotHeader.maximumLength)))
        let end = length - SnapshotHeader.trailerLength
        guard end > header.headerLength else { throw LogFileError.incomplete(found: length, expected: nil) }
        let trailer = try source.exactly(at: end, count: SnapshotHeader.trailerLength)
        guard trailer.suffix(8) == SnapshotHeader.envelope.closingMagic[...] else {
            throw LogFileError.incomplete(found: length, expected: nil)
        }
        let total = trailer.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
        guard total == UInt64(length) else {
            throw LogFileError.damaged("the file has \(length) bytes and says \(total)", offset: end)
        }
        self.source = source
        blocks = FileBlocks(source, header.headerLength..<end)
        budget = ExpansionBudget(maximumExpansion ?? Limits.expansion(ofFile: length))
        let payloads = PayloadReader(
            nextBlock: blocks.next, onBlock: nil, decompressor: decompressor, budget: budget, isLog: false)
        guard let payload = try payloads.next(), payload.type == .header else {
            throw LogFileError.damaged("a snapshot does not start with its manifest", offset: header.headerLength)
        }
        manifest = try payload.bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, offset: payload.offset)
            return try SnapshotManifest(from: &reader)
        }
        guard manifest.vector[header.peer] == header.sequence else {
            throw LogFileError.damaged("the vector does not have the header's sequence", offset: payload.offset)
        }
    }

    /// Reads every byte once and compares each block's hash, the trailer and the hash of the whole.
    ///
    /// - Returns: the hash that names the file.
    /// - Throws: ``LogFileError``, and what the source throws.
    package func verify() throws -> FileHash {
        var sha = SHA256()
        sha.update(try source.exactly(at: 0, count: header.headerLength))
        let blocks = FileBlocks(source, header.headerLength..<self.blocks.end)
        while let (bytes, offset) = try blocks.next() {
            sha.update(bytes)
            _ = try CheckedBlock(bytes, offset: offset)
        }
        let trailer = try source.exactly(at: blocks.end, count: SnapshotHeader.trailerLength)
        sha.update(trailer.prefix(8))
        guard Array(sha.finalize()) == Array(trailer[8..<40]) else {
            throw LogFileError.damaged("the file's hash does not match its bytes", offset: blocks.end + 8)
        }
        sha.update(trailer.dropFirst(8))
        return FileHash(sha.finalize())
    }

    /// Decodes the next frame. Returns nil after the last, when all that the end says has proved right.
    ///
    /// - Throws: ``LogFileError``, and what the source throws.
    package func next() throws -> SnapshotRows? {
        guard let payload = try nextPayload() else { return nil }
        let rows = try payload.bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, offset: payload.offset)
            let rows = try SnapshotRowsDecoder(payload: payload.bytes, peers: manifest.peers).decode(from: &reader)
            try budget.repeat(reader.repeatedBytes, offset: payload.offset)
            try budget.name(reader.blobs, bytes: reader.blobBytes, offset: payload.offset)
            if !reader.blobs.isEmpty { named.formUnion(reader.blobs) }
            return rows
        }
        counts[rows.table, default: 0] += rows.count
        return rows
    }

    /// Passes over frames without decoding them, up to the end; the rows' counts are not compared then.
    ///
    /// - Throws: ``LogFileError``, and what the source throws.
    package func skip(_ count: Int) throws {
        for _ in 0..<count {
            guard try nextPayload() != nil else { return }
            countsAreComplete = false
        }
    }

    /// The blobs that its values name, by ascending hash, as its end says; frames are passed over unread.
    ///
    /// - Throws: ``LogFileError``, and what the source throws.
    package func blobs() throws -> [BlobID] {
        let blocks = FileBlocks(source, header.headerLength..<self.blocks.end)
        while let block = try blocks.peek(), block.type != BlockType.end.rawValue { blocks.skip(block) }
        let payloads = PayloadReader(
            nextBlock: blocks.next, onBlock: nil, decompressor: decompressor,
            budget: ExpansionBudget(Limits.expansion(ofFile: source.count)), isLog: false)
        guard let payload = try payloads.next(), payload.type == .end else {
            throw LogFileError.damaged("a snapshot without an end", offset: blocks.end)
        }
        return try payload.bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, offset: payload.offset)
            return try SnapshotEnd(from: &reader).blobs
        }
    }

    private func nextPayload() throws -> PayloadReader.Payload? {
        guard !isAtEnd else { return nil }
        let payloads = PayloadReader(
            nextBlock: blocks.next, onBlock: nil, decompressor: decompressor, budget: budget, isLog: false)
        guard let payload = try payloads.next() else {
            throw LogFileError.damaged("a snapshot without an end", offset: blocks.end)
        }
        switch payload.type {
        case .header:
            throw LogFileError.damaged("a second manifest", offset: payload.offset)
        case .frame:
            frame += 1
            return payload
        case .end:
            let said = try payload.bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes, offset: payload.offset)
                return try SnapshotEnd(from: &reader)
            }
            guard said.frames == frame, !countsAreComplete || said.counts == counts, try blocks.peek() == nil else {
                throw LogFileError.damaged(
                    "a snapshot has other frames or rows than its end says", offset: payload.offset)
            }
            guard !countsAreComplete || Set(said.blobs) == named else {
                throw LogFileError.damaged("a snapshot names other blobs than its end says", offset: payload.offset)
            }
            isAtEnd = true
            return nil
        }
    }
}
