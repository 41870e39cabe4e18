import LogSyncModel
import LogSyncSQLite

/// An expression over a table's columns, as far as it reads integers that each store gives to rows itself.
///
/// **The problem.** A UNIQUE index allows the same rows on every peer where what it compares is equal on one peer exactly where
/// it is equal on the others. `coalesce(parent, 0)` is so, whatever integer the parent has; `parent / 3` is not.
///
/// **The steps.** The expression is a list of symbols. One that reads such an integer, and tells two of them apart wherever they
/// differ, is replaced by a single symbol, from the inside out (``reduce()``). What is left says whether the integers count.
///
/// **The exception.** Whatever is not known here counts as one that tells integers from each other in another way.
struct IntegerExpression {
    /// What a table's columns are to its expressions.
    struct Columns {
        /// The table's name, by which expressions may qualify columns.
        var table: String
        /// The row's own integer, by all its names; folded.
        var own: Set<String> = []
        /// Columns of other rows' integers, folded.
        var references: Set<String> = []
        /// The expressions of generated columns, by folded name.
        var generated: [String: String] = [:]
    }

    private enum Symbol: Equatable {
        /// Tells integers apart. Whether something else than a digit stands before and behind it, so that what is joined to
        /// it there does not run into it.
        case integer(isClosedBefore: Bool, isClosedBehind: Bool)
        case text(String)
        /// Any other value that is the same on each peer, and no integer of a row.
        case constant
        case function(String)
        case other(String)

        var isInteger: Bool { if case .integer = self { true } else { false } }
        var isConstant: Bool { if case .text = self { true } else { self == .constant } }
        var isValue: Bool { isInteger || isConstant }
        func `is`(_ words: String...) -> Bool { isAny(of: words) }
        func isAny(of words: [String]) -> Bool {
            if case .other(let word) = self { words.contains(word) } else { false }
        }
    }

    private var symbols: [Symbol] = []
    /// The columns of integers that it reads, as they are written there; through generated columns, too.
    private(set) var columns: [String] = []
    private(set) var readsOwn = false
    private(set) var readsReferences = false

    init(_ sql: String, _ columns: Columns) {
        read(sql, columns, depth: 0)
        reduce()
    }

    /// Whether peers may come to other answers because their integers differ.
    ///
    /// - Parameter isTerm: whether it is compared with what it is for other rows; otherwise it is a condition.
    func dependsOnIntegers(isTerm: Bool) -> Bool {
        guard symbols.contains(where: \.isInteger), !(isTerm && isInteger) else { return false }
        // A row whose integer another's comes too close to is given another one.
        return !isTerm || readsReferences || symbols.contains { $0.isAny(of: Self.comparisons) }
    }

    /// Whether it tells any two rows apart that have other integers.
    var isInteger: Bool { symbols.count == 1 && symbols[0].isInteger }

    // MARK: Reading

    private static let comparisons = [
        "<", ">", "=", "!", "CASE", "IS", "IN", "LIKE", "GLOB", "BETWEEN", "NOT", "AND", "OR",
    ]
    /// What stands before a parenthesis and is no function.
    private static let operators: Set<String> = [
        "AND", "OR", "NOT", "IN", "IS", "LIKE", "GLOB", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "COLLATE",
    ]

    private mutating func read(_ sql: String, _ names: Columns, depth: Int) {
        let tokens = SQLTokens(sql)
        var index = 0
        while index < tokens.count {
            defer { index += 1 }
            let (word, name) = (tokens.word(index), tokens.name(index))
            if index + 2 < tokens.count, tokens.word(index + 1) == ".", name.folded == names.table.folded {
                index += 1
                continue
            }
            if word.hasPrefix("'") {
                symbols.append(.text(name))
            } else if index + 1 < tokens.count, tokens.word(index + 1) == "(", word == name.uppercased(),
                word.first?.isLetter ?? false, !Self.operators.contains(word)
            {
                symbols.append(.function(word))
            } else if names.own.contains(name.folded) || names.references.contains(name.folded) {
                let isOwn = names.own.contains(name.folded)
                readsOwn = readsOwn || isOwn
                readsReferences = readsReferences || !isOwn
                if !columns.contains(name) { columns.append(name) }
                symbols.append(.integer(isClosedBefore: false, isClosedBehind: false))
            } else if let generated = names.generated[name.folded], depth < 8 {
                symbols.append(.other("("))
                read(generated, names, depth: depth + 1)
                symbols.append(.other(")"))
            } else {
                symbols.append(word == "NULL" && !(symbols.last?.is("NOT", "IS") ?? false) ? .constant : .other(word))
            }
        }
    }

    // MARK: Reducing

    private mutating func reduce() {
        var before: [Symbol]
        repeat {
            before = symbols
            for place in symbols.indices.reversed() where place < symbols.count { reduce(at: place) }
        } while symbols != before
    }

    private mutating func reduce(at place: Int) {
        if let (end, value) = number(place) ?? parenthesis(place) ?? call(place) ?? selection(place) ?? nullTest(place)
            ?? comparison(place) ?? collation(place) ?? concatenation(place)
        {
            symbols.replaceSubrange(place..<end, with: [value])
        }
    }

    private func symbol(_ place: Int) -> Symbol? { symbols.indices.contains(place) ? symbols[place] : nil }
    private func isWord(_ place: Int, _ word: String) -> Bool { symbol(place)?.is(word) ?? false }
    private func isBoundary(_ place: Int) -> Bool {
        symbol(place)?.is("(", ")", ",", "AND", "OR", "NOT", "WHEN", "THEN", "ELSE", "END") ?? true
    }

    /// Zero or less, which is no row's integer.
    private func number(_ place: Int) -> (Int, Symbol)? {
        guard case .other(let word)? = symbol(place), !isWord(place - 1, "."), !isWord(place + 1, ".") else {
            return nil
        }
        if word == "0" { return (place + 1, .constant) }
        guard word == "-", case .other(let digits)? = symbol(place + 1), Int64(digits) != nil, !isWord(place + 2, "."),
            symbol(place - 1).map({ $0.is("(", ",", "=", "<", ">", "IS", "THEN", "ELSE") }) ?? true
        else { return nil }
        return (place + 2, .constant)
    }

    private func parenthesis(_ place: Int) -> (Int, Symbol)? {
        guard isWord(place, "("), let value = symbol(place + 1), value.isValue, isWord(place + 2, ")") else {
            return nil
        }
        if case .function? = symbol(place - 1) { return nil }
        return isWord(place - 1, "IN") ? nil : (place + 3, value)
    }

    /// A function of values that gives one of them, or writes one down.
    private func call(_ place: Int) -> (Int, Symbol)? {
        guard case .function(let name)? = symbol(place), isWord(place + 1, "("),
            let end = symbols[place...].firstIndex(where: { $0.is(")") })
        else { return nil }
        let inner = symbols[place + 2..<end]
        guard !inner.contains(where: { $0.is("(") }) else { return nil }
        let arguments = inner.split(omittingEmptySubsequences: false) { $0.is(",") }.map(Array.init)
        let values = arguments.compactMap { $0.count == 1 && $0[0].isValue ? $0[0] : nil }
        // Its value has nothing to do with integers.
        guard inner.contains(where: \.isInteger) else { return (end + 1, .other("VALUE")) }
        switch name {
        case "COALESCE", "IFNULL":
            return values.count == arguments.count ? Self.choice(values).map { (end + 1, $0) } : nil
        case "NULLIF":
            return values.count == 2 && values[0].isInteger && values[1] == .constant ? (end + 1, values[0]) : nil
        case "IIF", "IF":
            let isKnown = arguments.count == 3 && !arguments[0].contains(where: \.isInteger)
            let chosen = arguments.dropFirst().compactMap { $0.count == 1 && $0[0].isValue ? $0[0] : nil }
            return isKnown && chosen.count == 2 ? Self.choice(chosen).map { (end + 1, $0) } : nil
        case "CAST":
            guard inner.count > 2, let first = inner.first, first.isInteger, inner.dropFirst().first?.is("AS") ?? false
            else { return nil }
            return (end + 1, first)
        case "PRINTF", "FORMAT":
            guard values.count == 2, arguments.count == 2, case .text(let format) = values[0], values[1].isInteger,
                format.filter({ $0 == "%" }).count == 1, !format.contains("c")
            else { return nil }
            return (end + 1, values[1])
        default: return nil
        }
    }

    /// One of values; nil where integers of two columns would be taken for each other.
    private static func choice(_ values: [Symbol]) -> Symbol? {
        let integers = values.filter(\.isInteger)
        return integers.count > 1 ? nil : integers.first ?? .constant
    }

    private func selection(_ place: Int) -> (Int, Symbol)? {
        guard isWord(place, "CASE"), let end = symbols[place...].firstIndex(where: { $0.is("END") }),
            !symbols[(place + 1)..<end].contains(where: { $0.is("CASE") })
        else { return nil }
        var values: [Symbol] = []
        var index = place + 1
        while index < end {
            if symbols[index].is("THEN", "ELSE") {
                guard let value = symbol(index + 1), value.isValue,
                    symbol(index + 2)?.is("WHEN", "ELSE", "END") ?? false
                else { return nil }
                values.append(value)
                index += 2
            } else {
                if symbols[index].isInteger { return nil }
                index += 1
            }
        }
        return Self.choice(values).map { (end + 1, $0) }
    }

    /// Whether a value is NULL is the same everywhere.
    private func nullTest(_ place: Int) -> (Int, Symbol)? {
        guard symbol(place)?.isInteger ?? false else { return nil }
        for words in [["IS", "NOT", "NULL"], ["IS", "NULL"], ["NOT", "NULL"], ["ISNULL"], ["NOTNULL"]]
        where words.enumerated().allSatisfy({ isWord(place + 1 + $0.offset, $0.element) }) {
            return (place + 1 + words.count, .constant)
        }
        return nil
    }

    /// Rows' integers are greater than zero.
    private func comparison(_ place: Int) -> (Int, Symbol)? {
        func isCompared(_ symbol: Symbol) -> Bool { symbol.isInteger || symbol == .constant }
        guard let first = symbol(place), isCompared(first), isBoundary(place - 1) else { return nil }
        var end = place + 1
        while let next = symbol(end), next.is("=", "<", ">", "!", "IS", "NOT") { end += 1 }
        guard end > place + 1, let last = symbol(end), isCompared(last), first.isInteger != last.isInteger,
            isBoundary(end + 1)
        else { return nil }
        return (end + 1, .constant)
    }

    private func collation(_ place: Int) -> (Int, Symbol)? {
        guard let value = symbol(place), value.isInteger, isWord(place + 1, "COLLATE"), symbol(place + 2) != nil else {
            return nil
        }
        return (place + 3, value)
    }

    /// A text with an integer in it tells integers apart where no digit can be taken for one of the integer's.
    private func concatenation(_ place: Int) -> (Int, Symbol)? {
        guard let first = symbol(place), isWord(place + 1, "|"), isWord(place + 2, "|"), let second = symbol(place + 3)
        else { return nil }
        func isDigit(_ character: Character?) -> Bool { character?.isNumber ?? true }
        switch (first, second) {
        case (.integer(let before, _), .text(let text)):
            return isDigit(text.first) ? nil : (place + 4, .integer(isClosedBefore: before, isClosedBehind: true))
        case (.text(let text), .integer(_, let behind)):
            return isDigit(text.last) ? nil : (place + 4, .integer(isClosedBefore: true, isClosedBehind: behind))
        case (.integer(let before, true), .other(let word)) where Self.isName(word):
            return (place + 4, .integer(isClosedBefore: before, isClosedBehind: true))
        case (.other(let word), .integer(true, let behind)) where Self.isName(word):
            return (place + 4, .integer(isClosedBefore: true, isClosedBehind: behind))
        case (.integer(let before, let isClosed), .integer(let isOpen, let behind)) where isClosed || isOpen:
            return (place + 4, .integer(isClosedBefore: before, isClosedBehind: behind))
        default: return nil
        }
    }

    private static func isName(_ word: String) -> Bool {
        word.first.map { $0.isLetter || $0 == "\"" || $0 == "_" || $0 == "`" || $0 == "[" } ?? false
    }
}
