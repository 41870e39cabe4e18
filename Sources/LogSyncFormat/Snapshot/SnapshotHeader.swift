import Crypto
package import LogSyncModel

/// What stands at the start of a snapshot file. Documentation/snapshot-format.md gives its bytes.
package struct SnapshotHeader: Hashable, Sendable {
    /// The content name that the file belongs to.
    package var content: String
    /// The peer that took it.
    package var peer: PeerID
    /// That peer's own sequence in it.
    package var sequence: UInt64
    /// Whether it says that it lacks values without saying which, as before ``SnapshotManifest/lost`` was there: then it is
    /// partial for everybody.
    package internal(set) var isPartial = false
    /// The length of the header itself; the first block follows.
    package internal(set) var headerLength: Int

    /// No header is longer; read this much of a file (or all of a shorter one) before parsing.
    package static let maximumLength = 4096
    /// The format version that this module writes, and the newest it reads.
    package static let formatVersion: UInt16 = 1

    static let prefixLength = 16
    private static let partial: UInt8 = 1
    static let magic: [UInt8] = [0x89, 0x74, 0x73, 0x6E, 0x70, 0x0D, 0x0A, 0x1A]
    static let closingMagic = [UInt8](magic.reversed())
    /// Total length, SHA-256, closing magic.
    static let trailerLength = 8 + 32 + 8

    /// Whether bytes begin as a snapshot does, for telling it from a log file.
    package static func isSnapshot(prefix: [UInt8]) -> Bool { prefix.starts(with: magic) }

    /// Reads a header.
    ///
    /// - Parameter prefix: the file's first ``maximumLength`` bytes, or all of it where it is shorter.
    /// - Throws: ``LogFileError``: `incomplete` where the header is not all there, `damaged` where its check hash is
    ///   wrong or it is none, `newerFormat` where it is intact and has an unknown version or flag.
    package static func parse(prefix: [UInt8]) throws -> SnapshotHeader {
        guard prefix.starts(with: magic.prefix(prefix.count)) else {
            throw LogFileError.damaged("this is not a snapshot", offset: 0)
        }
        guard prefix.count >= prefixLength else { throw LogFileError.incomplete(found: prefix.count, expected: nil) }
        let (version, flags, headerLength) = prefix.withUnsafeBytes { bytes in
            (
                UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self)),
                UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self)),
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
            )
        }
        guard headerLength >= prefixLength + 8, headerLength <= maximumLength else {
            throw LogFileError.damaged("a header cannot be \(headerLength) bytes long", offset: 12)
        }
        let length = Int(headerLength)
        guard prefix.count >= length else { throw LogFileError.incomplete(found: prefix.count, expected: nil) }
        guard Array(prefix[(length - 8)..<length]) == check(prefix[..<(length - 8)]) else {
            throw LogFileError.damaged("the header's hash does not match its bytes", offset: 0)
        }
        guard version >= 1 else { throw LogFileError.damaged("there is no format version 0", offset: 8) }
        guard version == formatVersion else { throw LogFileError.newerFormat("format version \(version)", offset: 8) }
        guard flags == 0 else { throw LogFileError.newerFormat("file flags \(flags)", offset: 10) }
        return try prefix[..<(length - 8)].withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, offset: 0)
            _ = try reader.take(prefixLength)
            guard let peer = PeerID(bytes: reader.bytes(try reader.take(16))) else {
                throw reader.damaged("no peer id")
            }
            let sequence = try reader.word()
            let name = reader.bytes(try reader.take(Int(try reader.byte())))
            guard let content = String(validating: name, as: UTF8.self), LogFileHeader.isContentName(content) else {
                throw reader.damaged("the content name is none")
            }
            let isPartial = reader.isAtEnd ? false : try reader.byte() & Self.partial != 0
            // What follows was added by a later version that this one may read without.
            return SnapshotHeader(
                content: content, peer: peer, sequence: sequence, isPartial: isPartial, headerLength: length)
        }
    }

    /// A header of today's version.
    init(content: String, peer: PeerID, sequence: UInt64) {
        self.init(
            content: content, peer: peer, sequence: sequence, isPartial: false,
            headerLength: Self.prefixLength + 16 + 8 + 1 + content.utf8.count + 8)
    }

    private init(content: String, peer: PeerID, sequence: UInt64, isPartial: Bool, headerLength: Int) {
        self.content = content
        self.peer = peer
        self.sequence = sequence
        self.isPartial = isPartial
        self.headerLength = headerLength
    }

    var encoded: [UInt8] {
        var bytes = Self.magic
        withUnsafeBytes(of: Self.formatVersion.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt16(0).littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt32(headerLength).littleEndian) { bytes.append(contentsOf: $0) }
        bytes += peer.bytes
        withUnsafeBytes(of: sequence.littleEndian) { bytes.append(contentsOf: $0) }
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
