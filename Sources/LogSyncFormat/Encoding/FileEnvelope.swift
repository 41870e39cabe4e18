import Crypto
import LogSyncModel

/// What log files and snapshots have in the same places, in every version to come: magic, format version, flags and
/// header length at the start, a check hash at the header's end, and the magic backwards at the file's end.
///
/// A reader that does not know a file's version can still tell whether the file is one, is whole, and is newer.
struct FileEnvelope {
    let magic: [UInt8]
    /// How errors name such a file, as in "this is not a log file".
    let name: String
    /// Whether the file's length stands behind the header's, as a writer can have it that knows it beforehand.
    let hasTotalLength: Bool

    /// The format version that this module writes, and the newest that it reads.
    static let formatVersion: UInt16 = 1
    /// No header is longer, its check hash included.
    static let maximumHeaderLength = 4096
    static let checkLength = 8

    var closingMagic: [UInt8] { magic.reversed() }

    /// How many bytes keep their places at the start.
    var prefixLength: Int { hasTotalLength ? 24 : 16 }

    /// A header whose check hash is right and whose version is known.
    struct Header {
        /// Its own length; the first block follows.
        var length: Int
        /// What it says of the file's; 0 where it says nothing.
        var totalLength: UInt64
        /// The bytes between what every version has and the check hash. A later version may have added to them.
        var fields: ArraySlice<UInt8>
    }

    /// Reads what every version has.
    ///
    /// - Parameter start: the file's first ``maximumHeaderLength`` bytes, or all of it where it is shorter.
    /// - Throws: ``LogFileError``: `incomplete` where the header is not all there, `damaged` where its check hash is
    ///   wrong or it is none, `newerFormat` where it is intact and has an unknown version or flag.
    func header(of start: [UInt8]) throws -> Header {
        guard start.starts(with: magic.prefix(start.count)) else {
            throw LogFileError.damaged("this is not a \(name)", offset: 0)
        }
        guard start.count >= prefixLength else { throw LogFileError.incomplete(found: start.count, expected: nil) }
        let (version, flags, headerLength, totalLength) = start.withUnsafeBytes { bytes in
            (
                UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self)),
                UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self)),
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self)),
                hasTotalLength ? UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)) : 0
            )
        }
        guard headerLength >= prefixLength + Self.checkLength, headerLength <= Self.maximumHeaderLength,
            !hasTotalLength || headerLength < totalLength
        else { throw LogFileError.damaged("a header cannot be \(headerLength) bytes long", offset: 12) }
        let length = Int(headerLength)
        guard start.count >= length else {
            throw LogFileError.incomplete(
                found: start.count, expected: hasTotalLength ? Int(exactly: totalLength) : nil)
        }
        let end = length - Self.checkLength
        guard Array(start[end..<length]) == Self.check(start[..<end]) else {
            throw LogFileError.damaged("the header's hash does not match its bytes", offset: 0)
        }
        guard version >= 1 else { throw LogFileError.damaged("there is no format version 0", offset: 8) }
        guard version == Self.formatVersion else {
            throw LogFileError.newerFormat("format version \(version)", offset: 8)
        }
        guard flags == 0 else { throw LogFileError.newerFormat("file flags \(flags)", offset: 10) }
        return Header(length: length, totalLength: totalLength, fields: start[prefixLength..<end])
    }

    /// How long a header is with so many bytes of fields.
    func headerLength(fields: Int) -> Int { prefixLength + fields + Self.checkLength }

    /// A header of today's version.
    ///
    /// - Parameter totalLength: the file's; of no effect where such files do not say it.
    func header(totalLength: Int = 0, fields: [UInt8]) -> [UInt8] {
        var bytes = magic
        withUnsafeBytes(of: Self.formatVersion.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt16(0).littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt32(headerLength(fields: fields.count)).littleEndian) { bytes.append(contentsOf: $0) }
        if hasTotalLength { withUnsafeBytes(of: UInt64(totalLength).littleEndian) { bytes.append(contentsOf: $0) } }
        bytes += fields
        return bytes + Self.check(bytes[...])
    }

    private static func check(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var sha = SHA256()
        sha.update(bytes)
        return Array(sha.finalize().prefix(checkLength))
    }
}

/// The content name in a header: `[a-z0-9][a-z0-9._-]{0,62}` (Documentation/container-format.md, names).
enum ContentNameField {
    static func isValid(_ name: String) -> Bool {
        guard (1...63).contains(name.utf8.count), let first = name.utf8.first else { return false }
        func isAlphanumeric(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        return isAlphanumeric(first) && name.utf8.allSatisfy { isAlphanumeric($0) || "._-".utf8.contains($0) }
    }

    static func encoded(_ name: String) -> [UInt8] { [UInt8(name.utf8.count)] + Array(name.utf8) }
}

extension ByteReader {
    mutating func contentName() throws -> String {
        let name = bytes(try take(Int(try byte())))
        guard let content = String(validating: name, as: UTF8.self), ContentNameField.isValid(content) else {
            throw damaged("the content name is none")
        }
        return content
    }
}
