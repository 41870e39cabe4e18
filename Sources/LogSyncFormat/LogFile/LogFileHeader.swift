import Crypto
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
    package static let maximumLength = 4096
    /// The format version that this module writes, and the newest it reads.
    package static let formatVersion: UInt16 = 1

    /// Magic, version, flags, header length and total length: they keep their places in every later version,
    /// as does the check hash at the header's end.
    static let prefixLength = 24
    static let magic: [UInt8] = [0x89, 0x74, 0x6C, 0x6F, 0x67, 0x0D, 0x0A, 0x1A]
    static let closingMagic = [UInt8](magic.reversed())
    static let trailerLength = 32 + 32 + 8

    /// Reads a header.
    ///
    /// - Parameter prefix: the file's first ``maximumLength`` bytes, or all of it where it is shorter.
    /// - Throws: ``LogFileError``: `incomplete` where the header is not all there, `damaged` where its check hash is
    ///   wrong or it is none, `newerFormat` where it is intact and has an unknown version or flag.
    package static func parse(prefix: [UInt8]) throws -> LogFileHeader {
        guard prefix.starts(with: magic.prefix(prefix.count)) else {
            throw LogFileError.damaged("this is not a log file", offset: 0)
        }
        guard prefix.count >= prefixLength else { throw LogFileError.incomplete(found: prefix.count, expected: nil) }
        let (version, flags, headerLength, totalLength) = prefix.withUnsafeBytes { bytes in
            (
                UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self)),
                UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self)),
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self)),
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
            )
        }
        guard headerLength >= prefixLength + 8, headerLength <= maximumLength, headerLength < totalLength else {
            throw LogFileError.damaged("a header cannot be \(headerLength) bytes long", offset: 12)
        }
        let length = Int(headerLength)
        guard prefix.count >= length else {
            throw LogFileError.incomplete(found: prefix.count, expected: Int(exactly: totalLength))
        }
        guard Array(prefix[(length - 8)..<length]) == check(prefix[..<(length - 8)]) else {
            throw LogFileError.damaged("the header's hash does not match its bytes", offset: 0)
        }
        guard version >= 1 else { throw LogFileError.damaged("there is no format version 0", offset: 8) }
        guard version == formatVersion else { throw LogFileError.newerFormat("format version \(version)", offset: 8) }
        guard flags == 0 else { throw LogFileError.newerFormat("file flags \(flags)", offset: 10) }
        guard let total = Int(exactly: totalLength), total > length + trailerLength else {
            throw LogFileError.damaged("a file cannot be \(totalLength) bytes long", offset: 16)
        }
        return try prefix[..<(length - 8)].withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, offset: 0)
            _ = try reader.take(prefixLength)
            guard let peer = PeerID(bytes: reader.bytes(try reader.take(16))) else {
                throw reader.damaged("no peer id")
            }
            let first = try reader.word()
            let last = try reader.word()
            guard first >= 1, first <= last else {
                throw reader.damaged("the sequences cannot be \(first) to \(last)")
            }
            guard let chain = ChainHash(bytes: reader.bytes(try reader.take(32))) else {
                throw reader.damaged("no chain hash")
            }
            let name = reader.bytes(try reader.take(Int(try reader.byte())))
            guard let content = String(validating: name, as: UTF8.self), isContentName(content) else {
                throw reader.damaged("the content name is none")
            }
            // What follows was added by a later version that this one may read without.
            return LogFileHeader(
                content: content, peer: peer, sequences: first...last, chainBefore: chain, totalLength: total,
                headerLength: length)
        }
    }

    /// Whether `name` is a content name: `[a-z0-9][a-z0-9._-]{0,62}` (DESIGN.md, section 7).
    static func isContentName(_ name: String) -> Bool {
        guard (1...63).contains(name.utf8.count), let first = name.utf8.first else { return false }
        func isAlphanumeric(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        return isAlphanumeric(first) && name.utf8.allSatisfy { isAlphanumeric($0) || "._-".utf8.contains($0) }
    }

    /// A header of today's version for a file whose segments have that many bytes.
    init(content: String, peer: PeerID, sequences: ClosedRange<UInt64>, chainBefore: ChainHash, segmentBytes: Int) {
        self.init(
            content: content, peer: peer, sequences: sequences, chainBefore: chainBefore, totalLength: 0,
            headerLength: Self.prefixLength + 16 + 8 + 8 + 32 + 1 + content.utf8.count + 8)
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
        var bytes = Self.magic
        withUnsafeBytes(of: Self.formatVersion.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt16(0).littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt32(headerLength).littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt64(totalLength).littleEndian) { bytes.append(contentsOf: $0) }
        bytes += peer.bytes
        withUnsafeBytes(of: sequences.lowerBound.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: sequences.upperBound.littleEndian) { bytes.append(contentsOf: $0) }
        bytes += chainBefore.bytes
        bytes.append(UInt8(content.utf8.count))
        bytes += Array(content.utf8)
        return bytes + Self.check(bytes[...])
    }

    private static func check(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var sha = SHA256()
        sha.update(bytes)
        return Array(sha.finalize().prefix(8))
    }
}
