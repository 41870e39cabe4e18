/// The letters of names, read byte by byte: a listing may be of a hundred thousand.
enum NameGrammar {
    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    static func isNameByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_")].contains(byte)
    }

    /// Reads all of a name, or nothing.
    static func read<Parts>(_ name: String, _ body: (inout NameBytes) -> Parts?) -> Parts? {
        var name = name
        return name.withUTF8 { buffer in
            var bytes = NameBytes(rest: buffer[...])
            let parts = body(&bytes)
            return bytes.rest.isEmpty ? parts : nil
        }
    }

    static func twelveDigits(_ value: UInt64) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }
}

/// What is left of a name that is being read.
struct NameBytes {
    fileprivate(set) var rest: Slice<UnsafeBufferPointer<UInt8>>

    /// Takes exactly `text`.
    mutating func take(_ text: StaticString) -> Bool {
        guard text.withUTF8Buffer({ rest.prefix($0.count).elementsEqual($0) }) else { return false }
        rest = rest.dropFirst(text.utf8CodeUnitCount)
        return true
    }

    /// Takes twelve decimal digits.
    mutating func twelveDigits() -> UInt64? {
        guard rest.count >= 12 else { return nil }
        var value: UInt64 = 0
        for byte in rest.prefix(12) {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + UInt64(byte - UInt8(ascii: "0"))
        }
        rest = rest.dropFirst(12)
        return value
    }

    /// Takes 32 lower-case hex digits.
    mutating func hash() -> FileHash? {
        guard rest.count >= 32 else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for byte in rest.prefix(32) {
            let digit: UInt8
            if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
                digit = byte - UInt8(ascii: "0")
            } else if byte >= UInt8(ascii: "a"), byte <= UInt8(ascii: "f") {
                digit = byte - UInt8(ascii: "a") + 10
            } else {
                return nil
            }
            words.high = words.high << 4 | words.low >> 60
            words.low = words.low << 4 | UInt64(digit)
        }
        rest = rest.dropFirst(32)
        return FileHash(high: words.high, low: words.low)
    }
}
