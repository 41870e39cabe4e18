import Crypto
package import LogSyncModel

/// Reads a log file.
///
/// ``verify()`` says whether the bytes are what their author wrote; ``nextTransaction(onBlock:)`` goes through the
/// transactions in order and checks, besides, that they make sense: consecutive sequences, canonical identities,
/// counts that agree, and the chain hash from the header to the trailer.
///
/// ```swift
/// let reader = try LogFileReader(source)
/// let hash = try reader.verify()
/// while let transaction = try reader.nextTransaction() {
///     while let groups = try transaction.nextFrame() { … }
///     let chain = try transaction.finish().chain
/// }
/// ```
///
/// After it threw, a reader is of no more use; make another.
package final class LogFileReader {
    package let header: LogFileHeader
    private let source: any ByteSource
    private let blocks: FileBlocks
    private let decompressor = Decompressor()
    private let budget: ExpansionBudget
    private var current: SegmentReader?
    private var chain: ChainHash
    private var nextSequence: UInt64

    /// Reads the header, and compares the file's length with what it says.
    ///
    /// - Parameter maximumExpansion: how many bytes its transactions may come to, unpacked and again with their repeated
    ///   values written out; nil for ``Limits/expansion(ofFile:)``.
    /// - Throws: ``LogFileError``, and what the source throws.
    package init(_ source: any ByteSource, maximumExpansion: Int? = nil) throws {
        let length = source.count
        header = try LogFileHeader.parse(
            prefix: try source.exactly(at: 0, count: min(length, LogFileHeader.maximumLength)))
        guard length >= header.totalLength else {
            throw LogFileError.incomplete(found: length, expected: header.totalLength)
        }
        guard length == header.totalLength else {
            throw LogFileError.damaged("bytes after the end", offset: header.totalLength)
        }
        self.source = source
        budget = ExpansionBudget(maximumExpansion ?? Limits.expansion(ofFile: length))
        blocks = FileBlocks(source, header.segments)
        chain = header.chainBefore
        nextSequence = header.sequences.lowerBound
    }

    /// Reads every byte once and compares each block's hash, the trailer and the hash of the whole.
    ///
    /// It does not decompress anything; ``nextTransaction(onBlock:)`` checks what the blocks say.
    ///
    /// - Returns: the hash that names the file.
    /// - Throws: ``LogFileError``, and what the source throws.
    package func verify() throws -> FileHash {
        var sha = SHA256()
        sha.update(try source.exactly(at: 0, count: header.headerLength))
        let blocks = FileBlocks(source, header.segments)
        while let (bytes, offset) = try blocks.next() {
            sha.update(bytes)
            _ = try CheckedBlock(bytes, offset: offset)
        }
        let trailer = try readTrailer()
        sha.update(trailer.chainAfter.bytes)
        guard Array(sha.finalize()) == trailer.sha else {
            throw LogFileError.damaged("the file's hash does not match its bytes", offset: blocks.end + 32)
        }
        sha.update(trailer.sha)
        sha.update(LogFileHeader.envelope.closingMagic)
        return FileHash(sha.finalize())
    }

    /// The next transaction in sequence; nil after the last, when the chain hash has proved to be the trailer's.
    ///
    /// What was not read of the transaction before is passed over, its rows undecoded.
    ///
    /// - Parameter onBlock: sees each block of the segment as it stands, before its content; to copy it while it is read.
    /// - Throws: ``LogFileError``, and what the source or the closure throws.
    package func nextTransaction(onBlock: ((Bytes) throws -> Void)? = nil) throws -> SegmentReader? {
        if let current {
            chain = try current.finish().chain
            nextSequence = current.header.dot.sequence + 1
            self.current = nil
        }
        let start = blocks.offset
        guard start < blocks.end else {
            try checkLast()
            return nil
        }
        let blocks = blocks
        let segment = try SegmentReader(
            peer: header.peer, previous: chain, onBlock: onBlock, decompressor: decompressor, budget: budget
        ) { try blocks.next() }
        guard segment.header.dot.sequence == nextSequence, header.sequences.contains(segment.header.dot.sequence) else {
            throw LogFileError.damaged(
                "transaction \(segment.header.dot.sequence) stands where \(nextSequence) belongs", offset: start)
        }
        current = segment
        return segment
    }

    /// The chain hash after the last transaction, as the trailer says.
    ///
    /// - Throws: ``LogFileError``, and what the source throws.
    package func chainAfter() throws -> ChainHash {
        try readTrailer().chainAfter
    }

    /// Goes through the transactions from the start, reading only their headers and ends.
    ///
    /// Frames are passed over unread, so this proves nothing about them. The byte range in each summary is what
    /// a merge of files copies.
    ///
    /// - Throws: ``LogFileError``, and what the source or `body` throws.
    package func forEachSummary(_ body: (TransactionSummary) throws -> Void) throws {
        let blocks = FileBlocks(source, header.segments)
        let payloads = PayloadReader(
            nextBlock: blocks.next, onBlock: nil, decompressor: decompressor,
            budget: ExpansionBudget(Limits.expansion(ofFile: source.count)))
        while blocks.offset < blocks.end {
            let start = blocks.offset
            let transaction = try payloads.next()?.header(peer: header.peer)
            var frames = 0
            while let block = try blocks.peek(), block.type == BlockType.frame.rawValue {
                if block.flags & BlockHeader.continuedFlag == 0 { frames += 1 }
                blocks.skip(block)
            }
            guard let transaction, let end = try payloads.next()?.end(), end.frames == frames else {
                throw LogFileError.damaged("a transaction has no end, or other frames than it says", offset: start)
            }
            try body(
                TransactionSummary(
                    header: transaction, frames: frames, counts: end.counts, blobs: end.blobs,
                    range: start..<blocks.offset))
        }
    }

    /// How many bytes the segments have together.
    package var segmentBytes: Int { header.segments.count }

    /// Streams the segments' blocks as they stand, each checked, so that files can be put together without decoding.
    ///
    /// - Throws: ``LogFileError``, and what the source or `body` throws.
    package func forEachBlock(_ body: ([UInt8]) throws -> Void) throws {
        let blocks = FileBlocks(source, header.segments)
        while let (bytes, offset) = try blocks.next() {
            _ = try CheckedBlock(bytes, offset: offset)
            try body(Array(bytes))
        }
    }

    private func checkLast() throws {
        let trailer = try readTrailer()
        let last = header.sequences.upperBound
        guard nextSequence == last + 1 else {
            throw LogFileError.damaged("transaction \(nextSequence) is missing", offset: blocks.end)
        }
        guard trailer.chainAfter == chain else {
            throw LogFileError.damaged("the chain hash is not the trailer's", offset: blocks.end)
        }
    }

    private func readTrailer() throws -> (chainAfter: ChainHash, sha: [UInt8]) {
        let trailer = try source.exactly(at: blocks.end, count: LogFileHeader.trailerLength)
        guard trailer.suffix(8) == LogFileHeader.envelope.closingMagic[...],
            let chain = ChainHash(bytes: trailer.prefix(32))
        else { throw LogFileError.damaged("the trailer is none", offset: blocks.end) }
        return (chain, Array(trailer[32..<64]))
    }
}

extension LogFileHeader {
    /// Where the segments stand in the file.
    var segments: Range<Int> { headerLength..<totalLength - Self.trailerLength }
}

/// What a transaction's header and end say.
package struct TransactionSummary: Hashable, Sendable {
    package var header: TransactionHeader
    package var frames: Int
    package var counts: [String: ChangeCounts]
    /// The blobs that its values name, by ascending hash.
    package var blobs: [BlobID]
    /// Where the segment stands in its file.
    package var range: Range<Int>
}
