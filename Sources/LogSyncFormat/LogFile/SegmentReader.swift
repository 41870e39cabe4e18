package import LogSyncModel

/// Reads one transaction's segment, a frame at a time: from a log file, or from the blocks of an outbox.
///
/// Every block's hash is checked before its content is looked at. No more than one logical frame is held in memory.
///
/// ```swift
/// let segment = try SegmentReader(peer: peer, previous: chain) { try outbox.nextBlock() }
/// while let groups = try segment.nextFrame() { … }
/// let end = try segment.finish()
/// ```
package final class SegmentReader {
    package let header: TransactionHeader
    /// The peer's chain hash before this transaction.
    package let chainBefore: ChainHash

    private let nextBlock: () throws -> (bytes: Bytes, offset: Int)?
    private let onBlock: ((Bytes) throws -> Void)?
    private let decompressor: Decompressor
    private let budget: ExpansionBudget?
    private var chain: ChainHasher
    private var end: TransactionEnd?
    private var frames = 0
    private var counts: [String: ChangeCounts] = [:]
    /// The blobs named in the frames that were decoded so far.
    package private(set) var blobs: Set<BlobID> = []
    private var countsAreComplete = true
    private var position = 0

    /// Reads the header block.
    ///
    /// - Parameters:
    ///   - peer: whose transaction it is; the segment does not say.
    ///   - previous: the peer's chain hash before this transaction.
    ///   - onBlock: sees each block as it stands, before its content; to copy the segment while it is read.
    ///   - nextBlock: gives the segment's blocks, each whole, in order; nil after the last.
    /// - Throws: ``LogFileError``, and what the closures throw.
    package convenience init(
        peer: PeerID, previous: ChainHash, onBlock: ((Bytes) throws -> Void)? = nil,
        nextBlock: @escaping () throws -> [UInt8]?
    ) throws {
        var offset = 0
        try self.init(peer: peer, previous: previous, onBlock: onBlock, decompressor: Decompressor(), budget: nil) {
            guard let block = try nextBlock() else { return nil }
            defer { offset += block.count }
            return (block[...], offset)
        }
    }

    init(
        peer: PeerID, previous: ChainHash, onBlock: ((Bytes) throws -> Void)?, decompressor: Decompressor,
        budget: ExpansionBudget?, nextBlock: @escaping () throws -> (bytes: Bytes, offset: Int)?
    ) throws {
        let payloads = PayloadReader(
            nextBlock: nextBlock, onBlock: onBlock, decompressor: decompressor, budget: budget)
        // The chain begins with the sequence, which the header block tells; so its blocks are hashed when it is known.
        var blocks: [(continued: Bool, range: Range<Int>)] = []
        guard
            let payload = try payloads.next(onRaw: { _, continued, raw in
                let start = blocks.last?.range.upperBound ?? 0
                blocks.append((continued, start..<start + raw.count))
            })
        else { throw LogFileError.damaged("a transaction without blocks", offset: 0) }
        let header = try payload.header(peer: peer)
        var chain = ChainHasher(previous: previous, peer: peer, sequence: header.dot.sequence)
        payload.bytes.withUnsafeBytes { bytes in
            for block in blocks {
                chain.add(
                    .header, continued: block.continued, raw: UnsafeRawBufferPointer(rebasing: bytes[block.range]))
            }
        }
        self.chain = chain
        self.header = header
        chainBefore = previous
        self.nextBlock = nextBlock
        self.onBlock = onBlock
        self.decompressor = decompressor
        self.budget = budget
        position = payload.offset
    }

    /// Decodes the next frame's groups. Returns nil after the last.
    ///
    /// - Throws: ``LogFileError``, and what the closures throw. What was returned before is as its author made it, as
    ///   far as hashes can tell; whether the whole transaction is there shows only when nil is returned.
    package func nextFrame() throws -> [RowGroup]? {
        guard let payload = try nextPayload() else { return nil }
        let frame = try GroupDecoder.frame(payload.bytes, of: header, offset: payload.offset)
        try budget?.repeat(frame.repeatedBytes, offset: payload.offset)
        try budget?.name(frame.blobs, bytes: frame.blobBytes, offset: payload.offset)
        if !frame.blobs.isEmpty { blobs.formUnion(frame.blobs) }
        for group in frame.groups { counts[group.table, default: ChangeCounts()] += group.counts }
        return frame.groups
    }

    /// Reads what is left without decoding rows, and tells the end.
    ///
    /// - Throws: ``LogFileError``, and what the closures throw.
    package func finish() throws -> TransactionEnd {
        while true {
            if let end { return end }
            countsAreComplete = try nextPayload() == nil && countsAreComplete
        }
    }

    /// The next frame's payload; nil when the end block was read.
    private func nextPayload() throws -> PayloadReader.Payload? {
        guard end == nil else { return nil }
        let payloads = PayloadReader(
            nextBlock: nextBlock, onBlock: onBlock, decompressor: decompressor, budget: budget)
        guard let payload = try payloads.next(onRaw: { chain.add($0, continued: $1, raw: $2) }) else {
            throw LogFileError.damaged("transaction \(header.dot) has no end", offset: position)
        }
        position = payload.offset
        switch payload.type {
        case .header:
            throw LogFileError.damaged("transaction \(header.dot) has no end", offset: payload.offset)
        case .frame:
            frames += 1
            return payload
        case .end:
            try finish(payload)
            return nil
        }
    }

    private func finish(_ payload: PayloadReader.Payload) throws {
        let said = try payload.end()
        guard said.frames == frames, !countsAreComplete || said.counts == counts else {
            throw LogFileError.damaged(
                "transaction \(header.dot) has other frames or rows than its end says", offset: payload.offset)
        }
        guard !countsAreComplete || Set(said.blobs) == blobs else {
            throw LogFileError.damaged(
                "transaction \(header.dot) names other blobs than its end says", offset: payload.offset)
        }
        end = TransactionEnd(
            chain: chain.finalize(), frames: said.frames, counts: said.counts, blobs: said.blobs)
    }
}

/// What is known of a transaction when all of it has been read.
package struct TransactionEnd: Hashable, Sendable {
    /// The peer's chain hash after it.
    package var chain: ChainHash
    /// How many frames it has.
    package var frames: Int
    /// How many rows it changes, by table.
    package var counts: [String: ChangeCounts]
    /// The blobs that its values name, by ascending hash.
    package var blobs: [BlobID]
}
