extension StringProtocol {
    /// A name as SQLite compares names: the letters A to Z in lower case, and nothing else changed.
    ///
    /// Source: <https://www.sqlite.org/faq.html#q18> (only ASCII is folded).
    package var folded: String {
        guard utf8.contains(where: { 0x41...0x5A ~= $0 }) else { return String(self) }
        return String(decoding: utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
