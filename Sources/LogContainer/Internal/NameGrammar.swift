/// The letters of names, read byte by byte: a listing may be of a hundred thousand.
enum NameGrammar {
    static let dash = UInt8(ascii: "-")

    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    static func isNameByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || byte == dash || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }

    /// Reads decimal digits only. Returns nil for anything else.
    static func decimal(_ digits: Substring.UTF8View) -> UInt64? {
        guard (1...18).contains(digits.count) else { return nil }
        var value: UInt64 = 0
        for byte in digits {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + UInt64(byte - UInt8(ascii: "0"))
        }
        return value
    }

    /// Reads exactly 32 lower-case hex digits. Returns nil for anything else.
    static func hexWords(_ digits: Substring.UTF8View) -> (high: UInt64, low: UInt64)? {
        guard digits.count == 32 else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for byte in digits {
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
        return words
    }

    static func twelveDigits(_ value: UInt64) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }
}
