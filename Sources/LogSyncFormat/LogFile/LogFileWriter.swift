import Crypto
package import LogSyncModel

/// Puts segments together into one log file.
///
/// The segments' blocks are copied as they are; whether they come from an outbox or from other files of the same peer
/// makes no difference. The header says how long the file is, so the segments' length has to be known beforehand.
///
/// ```swift
/// var writer = try LogFileWriter(
///     content: "notes", peer: peer, sequences: 1...3, chainBefore: .zero, segmentBytes: total
/// ) { try file.write($0) }
/// for block in blocks { try writer.append(block) }
/// let hash = try writer.finish(chainAfter: chain)
/// ```
package struct LogFileWriter {
    /// What stands at the file's start.
    package let header: LogFileHeader
    private let write: ([UInt8]) throws -> Void
    private var sha = SHA256()
    private var remaining: Int

    /// Writes the header.
    ///
    /// - Parameters:
    ///   - segmentBytes: how many bytes all blocks have together; at least one.
    ///   - write: takes the file's bytes, in order.
    /// - Throws: `LogSyncError.Code.usage` where `content` is not a content name, and what `write` throws.
    package init(
        content: String, peer: PeerID, sequences: ClosedRange<UInt64>, chainBefore: ChainHash, segmentBytes: Int,
        write: @escaping ([UInt8]) throws -> Void
    ) throws {
        precondition(segmentBytes > 0 && sequences.lowerBound >= 1 && sequences.upperBound <= Limits.sequence)
        guard ContentNameField.isValid(content) else {
            throw LogSyncError(.usage, "\(content.debugDescription) is not a content name")
        }
        header = LogFileHeader(
            content: content, peer: peer, sequences: sequences, chainBefore: chainBefore, segmentBytes: segmentBytes)
        self.write = write
        remaining = segmentBytes
        try put(header.encoded)
    }

    /// Copies a block, or several, or a part of one.
    ///
    /// - Throws: `LogSyncError.Code.malformedLog` where it is more than was announced, and what `write` throws.
    package mutating func append(_ bytes: [UInt8]) throws {
        guard bytes.count <= remaining else { throw lengthError }
        remaining -= bytes.count
        try put(bytes)
    }

    /// Writes the trailer.
    ///
    /// - Parameter chainAfter: the chain hash after the last transaction.
    /// - Returns: the hash that names the file.
    /// - Throws: `LogSyncError.Code.malformedLog` where blocks are missing, and what `write` throws.
    package mutating func finish(chainAfter: ChainHash) throws -> FileHash {
        guard remaining == 0 else { throw lengthError }
        try put(chainAfter.bytes)
        try put(Array(sha.finalize()))
        try put(LogFileHeader.envelope.closingMagic)
        return FileHash(sha.finalize())
    }

    private var lengthError: LogSyncError {
        LogSyncError(
            .malformedLog,
            "Transactions \(header.sequences.lowerBound) to \(header.sequences.upperBound) do not have the length "
                + "that was announced; no log file was made of them")
    }

    private mutating func put(_ bytes: [UInt8]) throws {
        sha.update(bytes)
        try write(bytes)
    }
}
