import Glibc
import LogSyncModel

/// Reads the objects from peer ids to integers of a receipt as receipts are written, many times faster than a JSON
/// decoder: where a content has a thousand peers, each of a thousand receipts names them all.
enum VectorText {
    /// Cuts the content of the object under `key` out of a JSON document, so that an empty one is left.
    ///
    /// - Returns: nil, and the document as it was, where the object does not stand exactly as logsync writes it, or the
    ///   key stands there twice: that is for a JSON decoder to judge.
    static func cut(_ key: StaticString, from document: inout [UInt8]) -> [PeerID: UInt64]? {
        guard let (vector, content) = document.withUnsafeBytes({ read(key, in: $0) }) else { return nil }
        document.removeSubrange(content)
        return vector
    }

    private static func read(
        _ key: StaticString, in bytes: UnsafeRawBufferPointer
    ) -> (vector: [PeerID: UInt64], content: Range<Int>)? {
        let opening = Array("\"\(key)\":{".utf8)
        guard let start = position(of: opening, in: bytes, from: 0),
            position(of: opening, in: bytes, from: start) == nil
        else { return nil }
        var vector: [PeerID: UInt64] = [:]
        // An entry has 37 bytes at least.
        vector.reserveCapacity((bytes.count - start) / 40)
        var offset = start
        if offset < bytes.count, bytes[offset] == UInt8(ascii: "}") { return ([:], start..<start) }
        while true {
            guard let peer = peer(in: bytes, at: offset), let (sequence, end) = number(in: bytes, at: offset + 35),
                vector.updateValue(sequence, forKey: peer) == nil, end < bytes.count
            else { return nil }
            if bytes[end] == UInt8(ascii: "}") { return (vector, start..<end) }
            guard bytes[end] == UInt8(ascii: ",") else { return nil }
            offset = end + 1
        }
    }

    /// Where the bytes after `opening` begin, the first time that it stands there from `start` on. It ends with a brace, of
    /// which there are few in such a document.
    private static func position(of opening: [UInt8], in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        var offset = start
        while offset < bytes.count,
            let found = memchr(base + offset, CInt(UInt8(ascii: "{")), bytes.count - offset)
        {
            offset = UnsafeRawPointer(found) - base + 1
            if offset >= opening.count, bytes[offset - opening.count..<offset].elementsEqual(opening) { return offset }
        }
        return nil
    }

    /// A peer id in quotes, and a colon: 35 bytes.
    private static func peer(in bytes: UnsafeRawBufferPointer, at offset: Int) -> PeerID? {
        guard offset + 35 <= bytes.count, bytes[offset] == UInt8(ascii: "\""),
            bytes[offset + 33] == UInt8(ascii: "\""), bytes[offset + 34] == UInt8(ascii: ":")
        else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for byte in bytes[offset + 1..<offset + 33] {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            default: return nil
            }
            words.high = words.high << 4 | words.low >> 60
            words.low = words.low << 4 | UInt64(digit)
        }
        return PeerID(high: words.high, low: words.low)
    }

    /// A whole number without a sign or leading zeros, and where it ends.
    private static func number(in bytes: UnsafeRawBufferPointer, at start: Int) -> (value: UInt64, end: Int)? {
        var value: UInt64 = 0
        var end = start
        while end < bytes.count, bytes[end] >= UInt8(ascii: "0"), bytes[end] <= UInt8(ascii: "9") {
            let (tenfold, overflows) = value.multipliedReportingOverflow(by: 10)
            let (next, carries) = tenfold.addingReportingOverflow(UInt64(bytes[end] - UInt8(ascii: "0")))
            if overflows || carries { return nil }
            value = next
            end += 1
        }
        let digits = end - start
        return digits == 0 || (digits > 1 && bytes[start] == UInt8(ascii: "0")) ? nil : (value, end)
    }
}
