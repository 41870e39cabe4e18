import Crypto

/// Puts lengths and hashes right, so that what was changed is looked at and not refused at the door
/// (Documentation/log-format.md and snapshot-format.md).
enum Hashes {
    /// - Parameters:
    ///   - trailerLength: how many bytes the trailer has, its SHA-256 and closing magic included.
    ///   - totalLength: where the file's whole length stands; counted from the end where it is negative.
    /// - Returns: nil where the bytes are too few for a header and a trailer.
    static func repaired(_ bytes: [UInt8], trailerLength: Int, totalLength: Int) -> [UInt8]? {
        var bytes = bytes
        guard bytes.count >= 24 + trailerLength else { return nil }
        let headerLength = Int(number(bytes, at: 12))
        guard headerLength >= 24, headerLength <= 4096, headerLength + trailerLength <= bytes.count else { return nil }
        let place = totalLength < 0 ? bytes.count + totalLength : totalLength
        put(UInt64(bytes.count), into: &bytes, at: place)
        replace(&bytes, at: headerLength - 8, with: SHA256.hash(data: bytes[..<(headerLength - 8)]).prefix(8))

        let end = bytes.count - trailerLength
        var offset = headerLength
        while end - offset > 19 {
            let isRaw = bytes[offset + 1] == 0
            let stored = min(Int(number(bytes, at: offset + 7)), end - offset - 19)
            put(UInt32(stored), into: &bytes, at: offset + 7)
            if isRaw { put(UInt32(stored), into: &bytes, at: offset + 3) }
            var hash = SHA256()
            hash.update(data: bytes[offset..<offset + 11])
            hash.update(data: bytes[offset + 19..<offset + 19 + stored])
            replace(&bytes, at: offset + 11, with: hash.finalize().prefix(8))
            offset += 19 + stored
        }
        replace(&bytes, at: bytes.count - 8, with: bytes.prefix(8).reversed())
        replace(&bytes, at: bytes.count - 40, with: SHA256.hash(data: bytes.dropLast(40)))
        return bytes
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        bytes.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    }

    private static func put(_ number: some FixedWidthInteger, into bytes: inout [UInt8], at offset: Int) {
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: number.littleEndian, toByteOffset: offset, as: type(of: number))
        }
    }

    private static func replace(_ bytes: inout [UInt8], at offset: Int, with new: some Sequence<UInt8>) {
        for (index, byte) in new.enumerated() { bytes[offset + index] = byte }
    }
}
