import Foundation

extension StringProtocol {
    /// A name as logsync compares names: the letters A to Z in lower case, and letters put together in one way.
    ///
    /// To SQLite "é" and "e" with an accent after it are two names. To Swift they are equal, and to programs and file systems,
    /// too; so here they are one, whatever compares them, and of two columns of one table that are so called one is replicated.
    package var folded: String { String(self).folded }

    /// A name as SQLite compares names: the letters A to Z in lower case, and nothing else changed.
    ///
    /// Source: <https://www.sqlite.org/faq.html#q18> (only ASCII is folded).
    package var asciiFolded: String {
        guard utf8.contains(where: { 0x41...0x5A ~= $0 }) else { return String(self) }
        return String(decoding: utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// Whether two names are the same to a digest.
    package func hasSameBytes(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Which of two spellings of one name all peers take, whichever comes first.
    package func isLesserSpelling(than other: Self) -> Bool {
        self < other || self == other && utf8.lexicographicallyPrecedes(other.utf8)
    }
}

extension String {
    /// As of any `StringProtocol`; asked of every row of some tables.
    package func hasSameBytes(as other: String) -> Bool {
        var (own, other) = (self, other)
        return own.withUTF8 { own in other.withUTF8 { own.elementsEqual($0) } }
    }

    /// As of any `StringProtocol`, in one pass over the bytes: most names are ASCII and many of them lower case.
    package var folded: String {
        var name = self
        let (hasCapitals, isASCII) = name.withUTF8 { bytes in
            var (hasCapitals, all) = (false, UInt8(0))
            for byte in bytes {
                hasCapitals = hasCapitals || 0x41...0x5A ~= byte
                all |= byte
            }
            return (hasCapitals, all < 0x80)
        }
        guard isASCII else { return precomposedStringWithCanonicalMapping.asciiFolded }
        return hasCapitals ? asciiFolded : name
    }
}
