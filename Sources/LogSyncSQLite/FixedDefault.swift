/// What a column's default comes to, the same on every machine and at any time.
///
/// `CURRENT_TIMESTAMP`, `datetime('now')` and `random()` come to something else wherever and whenever they are asked, so no two
/// peers would show the same where nothing says what a row holds. There time has not begun, and lots are not drawn: it is the
/// beginning of 1970, and 0 or as many zero bytes.
///
/// Source: <https://www.sqlite.org/lang_datefunc.html>, <https://www.sqlite.org/lang_corefunc.html#random>.
package struct FixedDefault {
    private static let beginning = "'1970-01-01 00:00:00'"
    private static let words = [
        "CURRENT_TIMESTAMP": beginning, "CURRENT_DATE": "'1970-01-01'", "CURRENT_TIME": "'00:00:00'",
    ]
    private static let times: Set = ["DATE", "TIME", "DATETIME", "JULIANDAY", "UNIXEPOCH", "STRFTIME"]

    /// The expression that stands for the declared one.
    package let sql: String
    /// Whether the declared one comes to something else at each time.
    package let isMomentary: Bool

    package init(_ declared: String) {
        let tokens = SQLTokens(declared)
        /// What stands in place of tokens, from the first of which to the last.
        var parts: [(text: String, first: Int, last: Int)] = []
        var index = 0
        /// Whether these tokens come next, each either as it is spelled or any at all.
        func comes(_ next: String?..., from start: Int) -> Bool {
            start + next.count <= tokens.count
                && next.indices.allSatisfy { next[$0] == nil || tokens.word(start + $0) == next[$0] }
        }
        let asksTime = (0..<tokens.count).contains { Self.times.contains(tokens.word($0)) && comes("(", from: $0 + 1) }
        while index < tokens.count {
            let (word, text) = (tokens.word(index), tokens.text(index..<index + 1))
            let first = index
            var part = Self.words[word] ?? text
            switch word {
            case "RANDOM" where comes("(", ")", from: index + 1):
                part = "0"
                index += 2
            case "RANDOMBLOB" where comes("(", from: index + 1): part = "zeroblob"
            case _ where Self.times.contains(word) && comes("(", ")", from: index + 1):
                part = "\(text)(\(Self.beginning))"
                index += 2
            case "STRFTIME" where comes("(", nil, ")", from: index + 1):
                part = "\(text)(\(tokens.text(index + 2..<index + 3)), \(Self.beginning))"
                index += 3
            case "'NOW'" where asksTime: part = Self.beginning
            default: break
            }
            parts.append((part, first, index))
            index += 1
        }
        isMomentary = parts.map(\.text) != (0..<tokens.count).map { tokens.text($0..<$0 + 1) }
        // Nothing comes between two tokens where nothing did: a number may be several.
        sql = parts.indices.reduce("") { sql, index in
            guard index > 0 else { return parts[index].text }
            let (before, after) = (parts[index - 1].last, parts[index].first)
            let both = tokens.text(before..<before + 1) + tokens.text(after..<after + 1)
            return sql + (tokens.text(before..<after + 1) == both ? "" : " ") + parts[index].text
        }
    }
}
