import LogSyncModel

/// Finds out whether a CHECK constraint lets an INTEGER PRIMARY KEY have a single value, so that its table has one row at most
/// (`id INTEGER PRIMARY KEY CHECK (id = 1)`, for settings).
package struct OnlyInteger {
    private let tokens: SQLTokens
    /// The key's column, by which conditions name it, and the table, by which they may qualify it; folded.
    private let names: (key: String, table: String)

    /// - Returns: nil where no constraint says so in a way that is known here.
    package static func find(of key: String, in table: String, declared tokens: SQLTokens) -> Int64? {
        let search = OnlyInteger(tokens: tokens, names: (key.folded, table.folded))
        for index in 0..<tokens.count where tokens.word(index) == "CHECK" {
            guard index + 1 < tokens.count, tokens.word(index + 1) == "(", let end = tokens.closing(index + 1),
                let found = search.integer(in: index + 2..<end)
            else { continue }
            return found
        }
        return nil
    }

    /// The value that a condition demands.
    private func integer(in condition: Range<Int>) -> Int64? {
        if let inner = inner(condition) { return integer(in: inner) }
        var (parts, depth, start) = ([Range<Int>](), 0, condition.lowerBound)
        for index in condition {
            switch tokens.word(index) {
            case "(": depth += 1
            case ")": depth -= 1
            // What holds in one of several cases does not hold in all, and these have an AND of their own.
            case "OR", "BETWEEN", "CASE": if depth == 0 { return nil }
            case "AND" where depth == 0:
                parts.append(start..<index)
                start = index + 1
            default: break
            }
        }
        guard !parts.isEmpty else { return comparison(condition) }
        return (parts + [start..<condition.upperBound]).lazy.compactMap { integer(in: $0) }.first
    }

    /// What stands within a pair of parentheses that is all of the condition.
    private func inner(_ condition: Range<Int>) -> Range<Int>? {
        guard let first = condition.first, tokens.word(first) == "(",
            tokens.closing(first) == condition.upperBound - 1
        else { return nil }
        return first + 1..<condition.upperBound - 1
    }

    /// `id = 1`, `1 = (id)`, `id IS 1`, `id IN (1)`
    private func comparison(_ condition: Range<Int>) -> Int64? {
        let operators = condition.filter { ["=", "IS", "IN"].contains(tokens.word($0)) }
        guard let first = operators.first, let last = operators.last, last - first == operators.count - 1,
            case let (left, right) = (condition.lowerBound..<first, last + 1..<condition.upperBound)
        else { return nil }
        switch operators.map(tokens.word) {
        case ["="], ["=", "="], ["IS"]:
            return isKey(left) ? number(right) : isKey(right) ? number(left) : nil
        case ["IN"]: return isKey(left) && inner(right) != nil ? number(right) : nil
        default: return nil
        }
    }

    private func isKey(_ part: Range<Int>) -> Bool {
        if let inner = inner(part) { return isKey(inner) }
        guard let last = part.last, !tokens.word(last).hasPrefix("'"), tokens.name(last).folded == names.key else {
            return false
        }
        if part.count == 1 { return true }
        return part.count == 3 && tokens.word(last - 1) == "." && tokens.name(last - 2).folded == names.table
    }

    private func number(_ part: Range<Int>) -> Int64? {
        if let inner = inner(part) { return number(inner) }
        guard let last = part.last, part.count == 1 || part.count == 2 && tokens.word(last - 1) == "-",
            let number = Int64(tokens.word(last))
        else { return nil }
        return part.count == 1 ? number : -number
    }
}
