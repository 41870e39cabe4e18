/// SQL cut into tokens: names, literals and marks, without what lies between them.
///
/// Source: <https://www.sqlite.org/lang_keywords.html>, <https://www.sqlite.org/lang_comment.html>.
package struct SQLTokens {
    private let source: [UInt8]
    private var ranges: [Range<Int>] = []

    package init(_ sql: String) {
        source = Array(sql.utf8)
        var index = 0
        while index < source.count {
            let end = Self.end(of: source, from: index)
            if !Self.isBetween(source, index, end) { ranges.append(index..<end) }
            index = end
        }
    }

    package var count: Int { ranges.count }

    /// A token that is no quoted name or literal, in upper case.
    package func word(_ index: Int) -> String {
        String(decoding: source[ranges[index]], as: UTF8.self).uppercased()
    }

    package func text(_ tokens: Range<Int>) -> String {
        guard !tokens.isEmpty else { return "" }
        let bytes = source[ranges[tokens.lowerBound].lowerBound..<ranges[tokens.upperBound - 1].upperBound]
        return String(decoding: bytes, as: UTF8.self)
    }

    package func firstIndex(of token: String, from start: Int = 0) -> Int? {
        guard start < count else { return nil }
        return (start..<count).first { word($0) == token }
    }

    /// The tokens between semicolons; a trigger's body belongs to its statement, as for `sqlite3_complete`
    /// (<https://www.sqlite.org/c3ref/complete.html>).
    package var statements: [Range<Int>] {
        var found: [Range<Int>] = []
        var first = 0
        var isTrigger = false
        for index in 0..<count where isSemicolon(index) {
            if first == index {
                first += 1
                continue
            }
            if first + 1 < index, !isTrigger {
                isTrigger =
                    word(first) == "CREATE"
                    && (word(first + 1) == "TRIGGER" || first + 2 < index && word(first + 2) == "TRIGGER")
            }
            if isTrigger, !(word(index - 1) == "END" && isSemicolon(index - 2)) { continue }
            found.append(first..<index)
            first = index + 1
            isTrigger = false
        }
        if first < count { found.append(first..<count) }
        return found
    }

    private func isSemicolon(_ index: Int) -> Bool { source[ranges[index].lowerBound] == 0x3B }

    /// What closes the parenthesis at `open`.
    package func closing(_ open: Int) -> Int? {
        var depth = 0
        for index in open..<count {
            if word(index) == "(" { depth += 1 }
            if word(index) == ")" { depth -= 1 }
            if depth == 0 { return index }
        }
        return nil
    }

    /// What looks like calls of functions, from their names to what closes their parentheses, inner ones first; without those
    /// that have a query in them.
    package var calls: [Range<Int>] {
        var found: [Range<Int>] = []
        var open: [(index: Int, hasQuery: Bool)] = []
        for index in 0..<count {
            switch word(index) {
            case "(": open.append((index, false))
            case "SELECT", "VALUES": if !open.isEmpty { open[open.count - 1].hasQuery = true }
            case ")":
                guard let (start, hasQuery) = open.popLast() else { continue }
                if hasQuery {
                    if !open.isEmpty { open[open.count - 1].hasQuery = true }
                } else if start > 0, isName(start - 1) {
                    found.append(start - 1..<index + 1)
                }
            default: break
            }
        }
        return found
    }

    private func isName(_ index: Int) -> Bool {
        let first = source[ranges[index].lowerBound]
        return Self.isWord(first) || [0x22, 0x27, 0x60, 0x5B].contains(first)
    }

    /// The commas that stand outside any parenthesis.
    package func commas(in range: Range<Int>) -> [Int] {
        var depth = 0
        return range.filter { index in
            if word(index) == "(" { depth += 1 }
            if word(index) == ")" { depth -= 1 }
            return depth == 0 && word(index) == ","
        }
    }

    private static func isBetween(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Bool {
        if isSpace(bytes[start]) { return true }
        return end - start >= 2
            && (bytes[start...].starts(with: [0x2D, 0x2D]) || bytes[start...].starts(with: [0x2F, 0x2A]))
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0C, 0x0D].contains(byte) }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == 0x5F || byte == 0x24 || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }

    /// Where the token that begins at `start` ends.
    private static func end(of bytes: [UInt8], from start: Int) -> Int {
        let first = bytes[start]
        let rest = bytes[start...]
        switch first {
        case 0x22, 0x27, 0x60: return quoted(bytes, start, by: first)
        case 0x5B: return (rest.firstIndex(of: 0x5D) ?? bytes.count - 1) + 1
        case _ where rest.starts(with: [0x2D, 0x2D]): return (rest.firstIndex(of: 0x0A) ?? bytes.count - 1) + 1
        case _ where rest.starts(with: [0x2F, 0x2A]):
            var index = start + 2
            while index + 1 < bytes.count, !(bytes[index] == 0x2A && bytes[index + 1] == 0x2F) { index += 1 }
            return min(index + 2, bytes.count)
        case _ where isSpace(first): return rest.firstIndex { !isSpace($0) } ?? bytes.count
        case _ where isWord(first): return rest.firstIndex { !isWord($0) } ?? bytes.count
        default: return start + 1
        }
    }

    /// A doubled quote stands for itself.
    private static func quoted(_ bytes: [UInt8], _ start: Int, by quote: UInt8) -> Int {
        var index = start + 1
        while index < bytes.count {
            if bytes[index] == quote {
                guard index + 1 < bytes.count, bytes[index + 1] == quote else { return index + 1 }
                index += 1
            }
            index += 1
        }
        return bytes.count
    }
}

extension SQLTokens {
    /// A token as a name, without its quotes.
    package func name(_ index: Int) -> String {
        let name = text(index..<index + 1)
        guard let quote = name.first, ["\"", "`", "'", "["].contains(quote), name.count >= 2 else { return name }
        let inner = String(name.dropFirst().dropLast())
        return quote == "[" ? inner : inner.replacing("\(quote)\(quote)", with: "\(quote)")
    }
}

/// What stands behind the name in a `CREATE` statement as SQLite keeps it.
package enum SQLName {
    package static func rest(of sql: String, after kind: String) -> String? {
        let tokens = SQLTokens(sql)
        guard tokens.count > 2, tokens.word(0) == "CREATE", tokens.word(1) == kind else { return nil }
        return " " + tokens.text(3..<tokens.count)
    }
}
