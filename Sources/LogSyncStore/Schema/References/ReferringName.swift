import LogSyncModel
import LogSyncSQLite

/// A column's or table's name in the words that it is made of.
struct Words {
    /// In lower case.
    var all: [String] = []

    init(_ name: String) {
        var word = ""
        var wasLower = false
        for character in name {
            let isBreak = !character.isLetter && !character.isNumber
            if isBreak || wasLower && character.isUppercase {
                if !word.isEmpty { all.append(word.folded) }
                word = ""
            }
            if !isBreak { word.append(character) }
            wasLower = character.isLowercase
        }
        if !word.isEmpty { all.append(word.folded) }
        // `Z_3PROJECTS`
        if all.count > 1, let last = all.last, let first = last.firstIndex(where: \.isLetter) {
            all[all.count - 1] = String(last[first...])
        }
    }

    /// What the last words may be as one, from all of them down to the last alone.
    var endings: [String] { all.indices.map { all[$0...].joined() } }

    /// A table's words, with and without what only says that it is a table.
    static func table(_ name: String) -> Words {
        var words = Words(name)
        guard let last = words.all.last else { return words }
        if words.all.count > 1, tables.contains(last) {
            words.all.removeLast()
        } else if let end = tables.first(where: { last.hasSuffix($0) && last.count > $0.count + 2 }) {
            words.all[words.all.count - 1] = String(last.dropLast(end.count))
        }
        return words
    }

    private static let tables = ["table", "tbl", "model", "entity"]

    /// Whether a column says of which table the row is that the integer of another is of.
    static func isType(_ type: String, beside column: String) -> Bool {
        let (type, column) = (Words(type).all, Words(column).all)
        return type.count == column.count && type.dropLast() == column.dropLast()
            && ["type", "class", "kind", "table", "model"].contains(type.last)
    }

    /// The same of Django's: `target_content_type_id` beside `target_object_id`.
    static func isContentType(_ type: String, beside column: String) -> Bool {
        let (type, column) = (Words(type).all, Words(column).all)
        return type.suffix(3) == ["content", "type", "id"] && column.suffix(2) == ["object", "id"]
            && type.dropLast(3) == column.dropLast(2)
    }

    /// Words that form no plural with an s.
    private static let irregular = [
        "people": "person", "children": "child", "men": "man", "women": "woman", "indices": "index",
        "vertices": "vertex", "criteria": "criterion", "media": "medium",
    ]

    /// What the first words may be as one, from the first alone to all but the last.
    var beginnings: [String] { all.indices.dropFirst().map { all[..<$0].joined() }.filter { $0.count > 3 } }

    /// A word as it may stand for one thing of several.
    static func singular(_ word: String) -> Set<String> {
        var forms: Set = [word]
        if let one = irregular[word] { forms.insert(one) }
        if word.hasSuffix("ves") { forms.formUnion([word.dropLast(3) + "f", word.dropLast(3) + "fe"]) }
        if word.hasSuffix("ies") { forms.insert(word.dropLast(3) + "y") }
        if word.hasSuffix("es") { forms.insert(String(word.dropLast(2))) }
        if word.hasSuffix("s") { forms.insert(String(word.dropLast())) }
        return forms
    }

    static func isSame(_ a: String, _ b: String) -> Bool { !singular(a).isDisjoint(with: singular(b)) }
}

/// What a column's name says of the table that it may refer to.
struct ReferringName {
    /// Without what only says that it is a reference.
    private var words: Words
    /// Whether the name says that it is a reference.
    private var saysSo = false
    /// Whether the name says that it is a reference and not of what: `id`, `owner_id`, `next_id`.
    var isAnyReference: Bool { saysSo && words.all.allSatisfy(Self.relations.contains) }
    /// Whether it may stand beside a column that says of what.
    var saysOwner: Bool { saysSo && !words.all.isEmpty }
    /// Whether it says that it is a reference, of this program's.
    var saysOurs: Bool { saysOwner && Self.strangers.isDisjoint(with: words.all) }

    /// Words that say it.
    private static let marks: Set = ["id", "ids", "fk", "pk", "ref", "key", "rowid"]
    /// Words before a table's name that leave it a reference to one row.
    private static let relations: Set = [
        "from", "to", "parent", "source", "target", "src", "dst", "last", "first", "prev", "previous", "next",
        "original",
        "main", "default", "current", "root", "own", "owner", "old", "new", "other", "fk", "id", "z", "primary",
        "opener", "referrer", "duplicate",
    ]
    /// What a row is called in a table that is named after that of the rows.
    private static let things: Set = ["entity", "object", "item", "record", "row", "element", "owner"]
    private static let parents: Set = ["parent", "parents"]
    /// Words before a table's name that leave it another program's rows.
    private static let strangers: Set = ["external", "remote", "server", "cloud", "originator", "foreign"]

    init(_ name: String) {
        words = Words(name)
        while let last = words.all.last, Self.marks.contains(last) || saysSo && last == "row" {
            words.all.removeLast()
            saysSo = true
        }
        if words.all.count > 1, let first = words.all.first, ["fk", "id"].contains(first) {
            words.all.removeFirst()
            saysSo = true
        }
        // `bookid`, which has no border.
        if !saysSo, let last = words.all.last, last.count > 4, last.hasSuffix("id") {
            unmarked = Words(last.dropLast(2).description)
            unmarked?.all = words.all.dropLast() + [last.dropLast(2).description]
        }
    }

    private var unmarked: Words?

    /// The tables that the name may mean, the likeliest first.
    ///
    /// - Returns: `isSure` where the name alone says it.
    func candidates(
        among parents: [NamedTable], of table: TrackedTable
    ) -> [(parent: TrackedTable, isSure: Bool)] {
        let forms = [ColumnWords(words, saysSo: saysSo)] + (unmarked.map { [ColumnWords($0, saysSo: true)] } ?? [])
        var ranked: [(rank: Int, parent: TrackedTable)] = []
        for named in parents {
            let parent = named.table
            let ranks = forms.compactMap { $0.rank(named) }
            // A season's `season` is its number.
            let isOwnName = parent === table && !saysSo && unmarked == nil
            if let rank = ranks.min(), !isOwnName || rank == 2 {
                ranked.append((rank, parent))
            } else if parent === table, isParent(words, of: table) || unmarked.map({ isParent($0, of: table) }) ?? false
            {
                ranked.append((1, parent))
            } else if parent === table, words.all == ["pid"] {
                ranked.append((3, parent))
            } else if saysSo, words.all.count == 1, Self.things.contains(words.all[0]), isNamed(table, after: named) {
                ranked.append((3, parent))
            }
        }
        // A name with words before the table's is sure where it says that it is a reference.
        let isOurs = (saysSo || unmarked != nil) && Self.strangers.isDisjoint(with: words.all)
        let sure = isOurs ? 2 : 1
        return ranked.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            .map { ($0.element.parent, $0.element.rank <= sure) }
    }

    /// `parent`, and in `comments` also `comment_parent`.
    private func isParent(_ words: Words, of table: TrackedTable) -> Bool {
        guard let last = words.all.last, Self.parents.contains(last) else { return false }
        guard words.all.count > 1 else { return true }
        var own = words
        own.all.removeLast()
        return ColumnWords(own, saysSo: false).rank(NamedTable(table)).map { $0 < 2 } ?? false
    }

    /// `item_attributes` is, after `items`.
    private func isNamed(_ table: TrackedTable, after parent: NamedTable) -> Bool {
        let (words, first) = (Words(table.schema.name).all, parent.words.all)
        guard words.count > first.count, let last = first.last, words.starts(with: first.dropLast()) else {
            return false
        }
        return Words.isSame(words[first.count - 1], last)
    }

    /// A column's name, as it is held against those of all tables.
    private struct ColumnWords {
        let saysSo: Bool
        /// What all of its words may be as one; nil where it has none.
        let whole: Set<String>?
        /// The same of its last words, without all.
        let endings: [Set<String>]
        /// What its end may be, where a table's name is long enough to end so; nil where it is too short.
        let end: Set<String>?
        /// Whether nothing but a relation stands before its last word.
        let isRelated: Bool

        init(_ words: Words, saysSo: Bool) {
            self.saysSo = saysSo
            whole = words.endings.first.map(Words.singular)
            let endings = words.endings.dropFirst().filter { $0.count > 2 }
            self.endings = endings.map(Words.singular)
            let last = endings.last ?? (saysSo ? words.endings.first : nil)
            end = last.flatMap { $0.count > (saysSo ? 3 : 4) ? Words.singular($0) : nil }
            isRelated = words.all.dropLast().allSatisfy(ReferringName.relations.contains)
        }

        /// How far it is from a table's: 0 the same, 1 the last words of the table's, 2 with words before it.
        func rank(_ parent: NamedTable) -> Int? {
            guard let table = parent.whole, let whole else { return nil }
            func isWhole(_ name: Set<String>) -> Bool { !whole.isDisjoint(with: name) }
            if isWhole(table) || parent.shortened.first.map(isWhole) ?? false { return 0 }
            if parent.endings.contains(where: isWhole) { return 1 }
            // `attribute_id` of `attribute_definitions`.
            let isBeginning = saysSo && parent.beginnings.contains(where: isWhole)
            guard saysSo || isRelated else { return nil }
            let isOneOf = endings.contains { ending in
                !ending.isDisjoint(with: table) || parent.endings.contains { !ending.isDisjoint(with: $0) }
            }
            if isOneOf { return 2 }
            // `from_visit` of `historyvisits`, `show_id` of `tvshow`.
            let isEnd = end.map { end in table.contains { form in end.contains(where: form.hasSuffix) } } ?? false
            return isEnd || isBeginning ? 3 : nil
        }
    }
}

/// A table with what its name is made of: each column's name is held against it.
struct NamedTable {
    let table: TrackedTable
    /// Without what only says that it is a table.
    let words: Words
    /// All of its words as one, as it may stand for one thing; nil where that is too short to say anything.
    let whole: Set<String>?
    /// What its last words may be as one, without the whole name, in the forms of ``Words/singular(_:)``.
    let endings: [Set<String>]
    /// The same without what only says that it is a table, as far as that differs.
    let shortened: [Set<String>]
    /// What its first words may be as one.
    let beginnings: [Set<String>]

    init(_ table: TrackedTable) {
        self.table = table
        let name = Words(table.schema.name)
        words = Words.table(table.schema.name)
        let own = name.endings.filter { $0.count > 2 }
        let others = words.endings.filter { $0.count > 2 && !own.contains($0) }
        var endings = own.dropFirst() + others
        // Core Data's names begin so.
        if let whole = own.first, whole.hasPrefix("z") { endings.append(String(whole.dropFirst())) }
        whole = own.first.map(Words.singular)
        self.endings = endings.map(Words.singular)
        shortened = others.map(Words.singular)
        beginnings = name.beginnings.map(Words.singular)
    }
}
