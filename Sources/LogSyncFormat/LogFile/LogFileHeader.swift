package import LogSyncModel

/// What stands at the start of a log file. Documentation/log-format.md gives its bytes.
package struct LogFileHeader: Hashable, Sendable {
    /// The content name that the file belongs to.
    package var content: String
    /// The peer whose transactions it holds.
    package var peer: PeerID
    /// The sequences of its first and its last transaction.
    package var sequences: ClosedRange<UInt64>
    /// The chain hash before its first transaction.
    package var chainBefore: ChainHash
    /// The length of the whole file, so that one still arriving can be told from one that is damaged.
    package var totalLength: Int
    /// The length of the header itself; the first block follows.
    package internal(set) var headerLength: Int
    /// The length of all segments together.
    package var segmentBytes: Int { totalLength - headerLength - Self.trailerLength }

    /// No header is longer; read this much of a file (or all of a shorter one) before parsing.
    package static let maximumLength = FileEnvelope.maximumHeaderLength
    /// The format version that this module writes, and the newest it reads.
    package static let formatVersion = FileEnvelope.formatVersion

    static let envelope = FileEnvelope(
        magic: [0x89, 0x74, 0x6C, 0x6F, 0x67, 0x0D, 0x0A, 0x1A], name: "log file", hasTotalLength: true)
    /// Chain hash, SHA-256, closing magic.
    static let trailerLength = 32 + 32 + 8

    /// Reads a header.
    ///
    /// - Parameter prefix: the file's first ``maximumLength`` bytes, or all of it where it is shorter.
    /// - Throws: ``LogFileError``: `incomplete` where the header is not all there, `damaged` where its check hash is
    ///   wrong or it is none, `newerFormat` where it is intact and has an unknown version or flag.
    package static func parse(prefix: [UInt8]) throws -> LogFileHeader {
        let header = try envelope.header(of: prefix)
        guard let total = Int(exactly: header.totalLength), total > header.length + trailerLength else {
            throw LogFileError.damaged("a file cannot be \(header.totalLength) bytes long", offset: 16)
        }
        return try header.fields.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, offset: envelope.prefixLength)
            let peer = try reader.peer()
            let first = try reader.word()
            let last = try reader.word()
            guard first >= 1, first <= last, last <= Limits.sequence else {
                throw reader.damaged("the sequences cannot be \(first) to \(last)")
            }
            guard let chain = ChainHash(bytes: reader.bytes(try reader.take(32))) else {
                throw reader.damaged("no chain hash")
            }
            // What follows was added by a later version that this one may read without.
            return LogFileHeader(
                content: try reader.contentName(), peer: peer, sequences: first...last, chainBefore: chain,
                totalLength: total, headerLength: header.length)
        }
    }

    /// A header of today's version for a file whose segments have that many bytes.
    init(content: String, peer: PeerID, sequences: ClosedRange<UInt64>, chainBefore: ChainHash, segmentBytes: Int) {
        self.init(
            content: content, peer: peer, sequences: sequences, chainBefore: chainBefore, totalLength: 0,
            headerLength: Self.envelope.headerLength(fields: 16 + 8 + 8 + 32 + 1 + content.utf8.count))
        totalLength = headerLength + segmentBytes + Self.trailerLength
    }

    private init(
        content: String, peer: PeerID, sequences: ClosedRange<UInt64>, chainBefore: ChainHash, totalLength: Int,
        headerLength: Int
    ) {
        self.content = content
        self.peer = peer
        self.sequences = sequences
        self.chainBefore = chainBefore
        self.totalLength = totalLength
        self.headerLength = headerLength
    }

    var encoded: [UInt8] {
        var fields = peer.bytes
        withUnsafeBytes(of: sequences.lowerBound.littleEndian) { fields.append(contentsOf: $0) }
        withUnsafeBytes(of: sequences.upperBound.littleEndian) { fields.append(contentsOf: $0) }
        fields += chainBefore.bytes
        fields += ContentNameField.encoded(content)
        return Self.envelope.header(totalLength: totalLength, fields: fields)
    }
}
