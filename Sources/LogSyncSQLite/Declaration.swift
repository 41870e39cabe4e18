import LogSyncModel

/// What a schema's statement declares, so that two of them can be compared: without spaces, comments, quotes and the case of
/// names and keywords, which differ where the same was written by another program, or by ALTER TABLE.
package struct Declaration {
    package enum Kind: Hashable, Sendable { case table, index, uniqueIndex, view, trigger }

    package let kind: Kind
    package let name: String
    /// The table of an index, a table or view of a trigger; else the name.
    package let table: String
    private let tokens: SQLTokens

    /// - Returns: nil for a statement that declares something else.
    package init?(_ sql: String) {
        let tokens = SQLTokens(sql)
        guard tokens.count > 3, tokens.word(0) == "CREATE" else { return nil }
        var place = 2
        switch tokens.word(1) {
        case "TABLE": kind = .table
        case "INDEX": kind = .index
        case "UNIQUE": (kind, place) = (.uniqueIndex, 3)
        case "VIEW": kind = .view
        case "TRIGGER": kind = .trigger
        default: return nil
        }
        name = tokens.name(place)
        if kind == .table || kind == .view {
            table = name
        } else {
            guard let on = tokens.firstIndex(of: "ON", from: place + 1), on + 1 < tokens.count else { return nil }
            table = tokens.name(on + 1)
        }
        self.tokens = tokens
    }

    /// How many tokens it has.
    package var count: Int { tokens.count }

    /// The names that it mentions, and its words beside them, in lower case.
    package var words: Set<String> { Set((0..<tokens.count).map { tokens.name($0).folded }) }

    /// All of it but its own name, in words.
    ///
    /// - Parameter rename: gives the name that logs have for another, in lower case.
    package func text(_ rename: (String) -> String) -> String {
        text(of: (kind == .uniqueIndex ? 4 : 3)..<tokens.count, rename)
    }

    /// The terms of an index and its condition.
    package func terms(_ rename: (String) -> String) -> String {
        guard let open = tokens.firstIndex(of: "("), let close = tokens.closing(open) else { return "" }
        let condition = text(of: close + 1..<tokens.count, rename)
        return text(of: open..<close + 1, rename) + (condition.isEmpty ? "" : " " + condition)
    }

    /// What a table's declaration says beside names, types and keys.
    package struct Details {
        /// The CHECK constraints, of columns and of the table, in order of their texts.
        package var checks: [String] = []
        /// The expressions of generated columns, by name as it is declared.
        package var generated: [(name: String, expression: String)] = []
        /// What stands behind the columns, as STRICT.
        package var options = ""
    }

    package func details(_ rename: (String) -> String) -> Details {
        var found = Details()
        guard kind == .table, let open = tokens.firstIndex(of: "("), let close = tokens.closing(open) else {
            return found
        }
        found.options = text(of: close + 1..<tokens.count, rename).uppercased()
        var depth = 0
        var (column, isFirst, start) = ("", true, 0)
        for index in open + 1..<close {
            let word = tokens.word(index)
            if depth == 0, isFirst { (column, isFirst) = (tokens.name(index), false) }
            if word == "(" {
                if depth == 0 { start = index }
                depth += 1
            }
            if word == ")" { depth -= 1 }
            guard depth == 0 else { continue }
            if word == "," { isFirst = true }
            guard word == ")" else { continue }
            switch tokens.word(start - 1) {
            case "CHECK": found.checks.append(text(of: start..<index + 1, rename))
            case "AS":
                let isStored = tokens.word(index + 1) == "STORED"
                found.generated.append(
                    (column, text(of: start..<index + 1, rename) + (isStored ? " STORED" : "")))
            default: break
            }
        }
        found.checks.sort()
        return found
    }

    private func text(of range: Range<Int>, _ rename: (String) -> String) -> String {
        var (first, end) = (range.lowerBound, range.upperBound)
        // One more pair around an expression says nothing.
        for _ in 0..<Self.pairs where end - first > 3 && tokens.word(first) == "(" && tokens.word(first + 1) == "(" {
            guard tokens.closing(first) == end - 1, tokens.closing(first + 1) == end - 2 else { break }
            (first, end) = (first + 1, end - 1)
        }
        var words: [String] = []
        while first < end {
            let text = tokens.text(first..<first + 1)
            let name = tokens.name(first).folded
            // A column of its own table is called so or by its name alone.
            if kind != .trigger, kind != .view, name == table.folded, first + 1 < end, tokens.word(first + 1) == "." {
                first += 2
                continue
            }
            // The order that every index has.
            if text.folded == "asc", first + 1 < end, [",", ")"].contains(tokens.word(first + 1)) {
                first += 1
                continue
            }
            let word = text.hasPrefix("'") ? text : rename(name)
            switch (words.last, word) {
            case ("!", "="), ("<", ">"): words[words.count - 1] = "<>"
            case ("=", "="): break
            default: words.append(word)
            }
            first += 1
        }
        return Self.joined(words)
    }

    /// How many pairs of parentheses are taken away.
    private static let pairs = 8

    private static func joined(_ words: [String]) -> String {
        var text = ""
        var last = "("
        for word in words {
            let isClose = ["(", "."].contains(last) || [")", ",", ";", "."].contains(word)
            text += isClose ? word : " " + word
            last = word
        }
        return text
    }
}
