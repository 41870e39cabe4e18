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
    package static let maximumLength = FileEnvelope.maximumHeaderLength
    /// The format version that this module writes, and the newest it reads.
    package static let formatVersion = FileEnvelope.formatVersion

    static let envelope = FileEnvelope(
        magic: [0x89, 0x74, 0x73, 0x6E, 0x70, 0x0D, 0x0A, 0x1A], name: "snapshot", hasTotalLength: false)
    private static let partial: UInt8 = 1
    /// Total length, SHA-256, closing magic.
    static let trailerLength = 8 + 32 + 8

    /// Reads a header.
    ///
    /// - Parameter prefix: the file's first ``maximumLength`` bytes, or all of it where it is shorter.
    /// - Throws: ``LogFileError``: `incomplete` where the header is not all there, `damaged` where its check hash is
    ///   wrong or it is none, `newerFormat` where it is intact and has an unknown version or flag.
    package static func parse(prefix: [UInt8]) throws -> SnapshotHeader {
        let header = try envelope.header(of: prefix)
        return try header.fields.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, offset: envelope.prefixLength)
            let peer = try reader.peer()
            let sequence = try reader.sequence(reader.word(), from: 0)
            let content = try reader.contentName()
            let isPartial = reader.isAtEnd ? false : try reader.byte() & Self.partial != 0
            // What follows was added by a later version that this one may read without.
            return SnapshotHeader(
                content: content, peer: peer, sequence: sequence, isPartial: isPartial, headerLength: header.length)
        }
    }

    /// A header of today's version.
    init(content: String, peer: PeerID, sequence: UInt64) {
        self.init(
            content: content, peer: peer, sequence: sequence, isPartial: false,
            headerLength: Self.envelope.headerLength(fields: 16 + 8 + 1 + content.utf8.count))
    }

    private init(content: String, peer: PeerID, sequence: UInt64, isPartial: Bool, headerLength: Int) {
        self.content = content
        self.peer = peer
        self.sequence = sequence
        self.isPartial = isPartial
        self.headerLength = headerLength
    }

    var encoded: [UInt8] {
        var fields = peer.bytes
        withUnsafeBytes(of: sequence.littleEndian) { fields.append(contentsOf: $0) }
        return Self.envelope.header(fields: fields + ContentNameField.encoded(content))
    }
}
