import CLogSyncZstd
import Crypto

/// The pieces of which log files and snapshots are made (Documentation/log-format.md), whatever they say.
package enum Forge {
    package static func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian, Array.init)
    }

    package static func varint(_ number: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    package static func zigzag(_ number: Int64) -> [UInt8] { varint(UInt64(bitPattern: number << 1 ^ number >> 63)) }

    /// Each as its difference from the one before.
    package static func differences(_ numbers: [Int64]) -> [UInt8] {
        zip(numbers, [0] + numbers).flatMap { zigzag($0 &- $1) }
    }

    /// A count, then the bytes.
    package static func counted(_ bytes: [UInt8]) -> [UInt8] { varint(UInt64(bytes.count)) + bytes }

    package static func text(_ text: String) -> [UInt8] { counted(Array(text.utf8)) }

    /// One after the other: what is put together may be a hundred megabytes, in a debug build.
    package static func joined(_ parts: [[UInt8]]) -> [UInt8] { parts.reduce(into: []) { $0 += $1 } }

    package static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    // MARK: Blocks

    package static let header: UInt8 = 1
    package static let frame: UInt8 = 2
    package static let end: UInt8 = 3

    /// A block whose check hash is right.
    ///
    /// - Parameters:
    ///   - rawLength: what it says; nil for the length of `stored`.
    ///   - stored: the bytes after its header.
    package static func block(
        type: UInt8, codec: UInt8 = 0, flags: UInt8 = 0, rawLength: Int? = nil, _ stored: [UInt8]
    ) -> [UInt8] {
        let start =
            [type, codec, flags] + littleEndian(UInt32(rawLength ?? stored.count)) + littleEndian(UInt32(stored.count))
        return start + sha256(start + stored).prefix(8) + stored
    }

    /// A payload's blocks, compressed where that makes them shorter.
    package static func blocks(type: UInt8, _ payload: [UInt8], compresses: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = []
        var start = 0
        repeat {
            let end = min(start + 1 << 20, payload.count)
            let raw = payload.withUnsafeBytes { [UInt8](UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
            let packed = compresses ? compressed(raw) : nil
            bytes += block(
                type: type, codec: packed == nil ? 0 : 1, flags: end < payload.count ? 1 : 0, rawLength: raw.count,
                packed ?? raw)
            start = end
        } while start < payload.count
        return bytes
    }

    private static func compressed(_ raw: [UInt8]) -> [UInt8]? {
        var packed = [UInt8](repeating: 0, count: ZSTD_compressBound(raw.count))
        let count = ZSTD_compress(&packed, packed.count, raw, raw.count, 3)
        guard ZSTD_isError(count) == 0, count < raw.count else { return nil }
        return Array(packed[..<count])
    }
}
