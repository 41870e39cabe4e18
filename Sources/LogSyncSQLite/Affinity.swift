public import LogSyncModel

/// A column's type affinity. Source: <https://www.sqlite.org/datatype3.html#determination_of_column_affinity>.
@usableFromInline
package enum Affinity {
    case integer, text, blob, real, numeric

    /// A declared type that has it.
    package var name: String {
        switch self {
        case .integer: "INTEGER"
        case .text: "TEXT"
        case .blob: "BLOB"
        case .real: "REAL"
        case .numeric: "NUMERIC"
        }
    }

    package init(_ declaredType: String) {
        let type = declaredType.uppercased()
        if type.contains("INT") {
            self = .integer
        } else if type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") {
            self = .text
        } else if type.isEmpty || type.contains("BLOB") {
            self = .blob
        } else if type.contains("REAL") || type.contains("FLOA") || type.contains("DOUB") {
            self = .real
        } else {
            self = .numeric
        }
    }

    /// What a column of this affinity makes of a constant default, or of a value that is compared with it.
    ///
    /// A real number in a text column stays as it is: how it is written out is SQLite's own affair.
    package func apply(to value: Value) -> Value {
        switch (self, value) {
        case (.real, .integer(let integer)): .real(Double(integer))
        case (.text, .integer(let integer)): .text(String(integer))
        case (.integer, .real(let real)), (.numeric, .real(let real)):
            Int64(exactly: real).map { .integer($0) } ?? value
        case (.integer, .text(let text)), (.numeric, .text(let text)), (.real, .text(let text)):
            Self.number(text).map(apply) ?? value
        default: value
        }
    }

    /// Whether a column of this affinity makes one value of another.
    ///
    /// - Parameters:
    ///   - value: that is there.
    ///   - other: a value of another type that says the same.
    package func makes(_ value: Value, of other: Value) -> Bool {
        // How a real number is written out is SQLite's own affair.
        if case (.text, .real) = (self, other) { return true }
        return apply(to: other) == value
    }

    /// Whether a column of this affinity certainly gives back what is written to it: false, too, where that would take a
    /// closer look.
    @inlinable
    package func keeps(_ value: Value) -> Bool {
        switch value {
        case .null, .blob: true
        case .integer, .reference: self != .text && self != .real
        case .external: self == .text || self == .blob
        case .real(let real):
            switch self {
            case .text: false
            case .integer, .numeric: !real.isNaN && Int64(exactly: real) == nil
            // SQLite knows neither a number that is none nor a zero with a sign.
            case .real, .blob: !real.isNaN && !(real == 0 && real.sign == .minus)
            }
        case .text(let text): self == .text || self == .blob || !(text.first.map(Self.mayBegin) ?? false)
        }
    }

    /// Whether a number, or white space before one, may begin with a byte.
    @inlinable
    static func mayBegin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x2B, 0x2D, 0x2E, 0x09...0x0D, 0x20: true
        default: false
        }
    }

    /// The number that a text is, as a whole; nil where it is none.
    private static func number(_ text: Bytes) -> Value? {
        let trimmed = String(decoding: text, as: UTF8.self).trimmingPrefix { " \t\n\u{0B}\u{0C}\r".contains($0) }
        let end = trimmed.lastIndex { !" \t\n\u{0B}\u{0C}\r".contains($0) }
        guard let end else { return nil }
        let digits = trimmed[...end]
        // What Swift takes besides: hexadecimal numbers, infinity.
        guard digits.allSatisfy({ "0123456789+-.eE".contains($0) }) else { return nil }
        return Int64(digits).map { .integer($0) } ?? Double(digits).map { .real($0) }
    }
}

extension TableSchema {
    /// Tells whether a column certainly gives back what is written to it; ``Affinity/keeps(_:)``.
    package func keeper(of column: String) -> (Value) -> Bool {
        let affinity = affinity(of: column)
        return keepsAnyText ? { affinity.keeps($0) } : { affinity.keeps($0) && $0.isUnicode }
    }

    /// A column's affinity. In a STRICT table ANY takes everything as it is.
    package func affinity(of column: String) -> Affinity {
        let type = self.column(column)?.declaredType ?? ""
        return isStrict && type.uppercased() == "ANY" ? .blob : Affinity(type)
    }
}

extension Value {
    /// Whether it is no text, or one that UTF-16 has as it is.
    ///
    /// Source: SQLite takes U+FFFE and U+FFFF for U+FFFD where it makes UTF-16 of UTF-8.
    fileprivate var isUnicode: Bool {
        guard case .text(let bytes) = self else { return true }
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return !text.unicodeScalars.contains("\u{FFFE}") && !text.unicodeScalars.contains("\u{FFFF}")
    }
}
