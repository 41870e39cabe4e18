import LogSyncModel

/// The text of a trigger from its name on, taken apart as far as its copy needs it.
///
/// The grammar is that of <https://www.sqlite.org/lang_createtrigger.html>: within a trigger no statement begins with
/// WITH, and a semicolon ends one wherever it stands.
package struct TriggerBody {
    private let tokens: SQLTokens
    /// The token after BEGIN, and that of the END that closes the body.
    private let start: Int
    private let end: Int

    /// nil where it is no trigger.
    package init?(_ sql: String) {
        let tokens = SQLTokens(sql)
        guard let begin = tokens.firstIndex(of: "BEGIN"), tokens.count > begin + 1, tokens.word(0) == "CREATE",
            tokens.word(1) == "TRIGGER",
            let end = (begin + 1..<tokens.count).last(where: { tokens.word($0) == "END" })
        else { return nil }
        self.tokens = tokens
        start = begin + 1
        self.end = end
    }

    /// All that follows the name, without the statements that write certain tables.
    ///
    /// - Parameter tables: in lower case.
    /// - Returns: nil where no statement that writes anything is left, or it cannot be told what one writes.
    package func text(withoutWritesTo tables: Set<String>) -> String? {
        var kept: [String] = []
        var writes = false
        for statement in statements {
            switch target(of: statement) {
            case .nothing: kept.append(tokens.text(statement))
            case .table(let name) where tables.contains(name): continue
            case .table:
                writes = true
                kept.append(tokens.text(statement))
            case .unknown: return nil
            }
        }
        guard writes else { return nil }
        return " \(tokens.text(3..<start)) \(kept.map { "\($0); " }.joined())END"
    }

    /// A trigger's text, or the end of it, whose conditions refuse nothing: each `RAISE(…)` is NULL.
    ///
    /// Source: <https://www.sqlite.org/lang_createtrigger.html#the_raise_function>.
    package static func withoutRaise(_ sql: String) -> String {
        let tokens = SQLTokens(sql)
        var (text, first) = ("", 0)
        for index in 0..<tokens.count where tokens.word(index) == "RAISE" && index + 1 < tokens.count {
            guard index >= first, tokens.word(index + 1) == "(", let last = tokens.closing(index + 1) else { continue }
            text += tokens.text(first..<index) + " NULL "
            first = last + 1
        }
        return first == 0 ? sql : " " + text + tokens.text(first..<tokens.count)
    }

    /// The end of a trigger's text, from behind its name, with one condition more.
    ///
    /// - Returns: nil where it is no trigger's.
    package static func text(_ sql: String, when condition: String) -> String? {
        let tokens = SQLTokens(sql)
        guard let begin = tokens.firstIndex(of: "BEGIN") else { return nil }
        let body = tokens.text(begin..<tokens.count)
        guard let when = tokens.firstIndex(of: "WHEN"), when < begin else {
            return " \(tokens.text(0..<begin)) WHEN \(condition) \(body)"
        }
        return " \(tokens.text(0..<when)) WHEN \(condition) AND (\(tokens.text(when + 1..<begin))) \(body)"
    }

    private var statements: [Range<Int>] {
        var found: [Range<Int>] = []
        var first = start
        for index in start..<end where tokens.word(index) == ";" {
            if first < index { found.append(first..<index) }
            first = index + 1
        }
        return found
    }

    private enum Target {
        case nothing
        case table(String)
        case unknown
    }

    private func target(of statement: Range<Int>) -> Target {
        var index = statement.lowerBound
        func skip(_ word: String) -> Bool {
            guard index < statement.upperBound, tokens.word(index) == word else { return false }
            index += 1
            return true
        }
        if skip("SELECT") || skip("VALUES") { return .nothing }
        let isInsert = skip("INSERT")
        let isUpdate = !isInsert && skip("UPDATE")
        if isInsert || isUpdate, skip("OR") { index += 1 }
        guard isUpdate || (isInsert || skip("REPLACE")) && skip("INTO") || skip("DELETE") && skip("FROM"),
            index < statement.upperBound
        else { return .unknown }
        return .table(tokens.name(index).folded)
    }
}
