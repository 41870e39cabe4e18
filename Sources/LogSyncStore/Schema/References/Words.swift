import LogSyncModel
import LogSyncSQLite

/// A column's or table's name in the words that it is made of.
struct Words {
    /// In lower case; at least one, which is the whole name where no letter and no digit is in it.
    var all: [String] = []

    init(_ name: String) {
        var word = ""
        let letters = Array(name)
        for (index, character) in letters.enumerated() {
            let isBreak = !character.isLetter && !character.isNumber
            if isBreak || Self.begins(letters, at: index) {
                if !word.isEmpty { all.append(word.folded) }
                word = ""
            }
            if !isBreak { word.append(character) }
        }
        if !word.isEmpty || all.isEmpty { all.append(word.isEmpty ? name.folded : word.folded) }
        // `Z_3PROJECTS`
        if all.count > 1, let last = all.last, let first = last.firstIndex(where: \.isLetter) {
            all[all.count - 1] = String(last[first...])
        }
    }

    /// Whether a word begins with a letter: `albumId`, and after an abbreviation `ABPerson` and `cameraSNRef`, but not `IDs`.
    private static func begins(_ letters: [Character], at index: Int) -> Bool {
        guard index > 0, letters[index].isUppercase else { return false }
        if letters[index - 1].isLowercase { return true }
        guard letters[index - 1].isUppercase, index + 1 < letters.count, letters[index + 1].isLowercase else {
            return false
        }
        return letters[index + 1] != "s" || index + 2 < letters.count && letters[index + 2].isLowercase
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
        // `table_name` beside `row_id`
        if things.contains(column.first ?? ""), column.count == 2, type.first == "table" {
            return type.count == 1 || type == ["table", "name"]
        }
        return type.count == column.count && type.dropLast() == column.dropLast()
            && ["type", "class", "kind", "table", "model"].contains(type.last ?? "")
    }

    /// Whether a column says by a number of which table the row is that the integer of another is of, which may be of any
    /// (``isOfAnyTable(_:)``): `entity_kind` or `kind` beside `entity_id`, and not `device_type` beside `device_id`, which
    /// may be the device's.
    static func isNumberedType(_ type: String, beside column: String) -> Bool {
        let words = Words(type).all
        return words.count == 1 ? ["type", "kind"].contains(words[0]) : isType(type, beside: column)
    }

    /// Whether a column says that it is a row, and of which table another may say: `entity_id`, `taggable_id`.
    static func isOfAnyTable(_ column: String) -> Bool {
        let words = Words(column).all
        return words.count == 2 && marks.contains(words[1])
            && (others.contains(words[0]) || words[0].hasSuffix("able"))
    }

    /// What a row of any table is called in one that says something of it.
    private static let others: Set = ["entity", "object", "target", "subject"]

    /// What a row is called in a table that is named after that of the rows.
    static let things: Set = ["entity", "object", "item", "record", "row", "element", "owner"]

    /// The same of Django's: `target_content_type_id` beside `target_object_id`.
    static func isContentType(_ type: String, beside column: String) -> Bool {
        let (type, column) = (Words(type).all, Words(column).all)
        return type.suffix(3) == ["content", "type", "id"] && column.suffix(2) == ["object", "id"]
            && type.dropLast(3) == column.dropLast(2)
    }

    /// Words that say that a name is a reference.
    static let marks: Set = ["id", "ids", "fk", "pk", "ref", "key", "rowid", "fid"]
    /// Words before a table's name that leave it another program's rows.
    static let strangers: Set = [
        "external", "remote", "server", "cloud", "originator", "foreign", "discogs", "musicbrainz", "spotify", "imdb",
        "tmdb", "tvdb", "steam", "github", "gitlab", "google", "facebook", "twitter", "ldap", "oauth", "stripe",
    ]
    /// Words before what a row is or is not: `is_owner`.
    static let flags: Set = [
        "is", "has", "can", "was", "should", "not", "no", "use", "enable", "enabled", "disable", "allow", "show",
        "hide", "include", "exclude",
    ]
    /// What columns are called that say something of a row, and may be the end of a table's name, too.
    static let properties: Set = [
        "status", "type", "kind", "state", "level", "color", "mode", "flag", "priority", "rating", "permission",
        "format",
        "value", "key", "name", "date", "time",
    ]
    /// Whether a word is what each row may have of its own, and no row of another table.
    static func isOfRow(_ word: String) -> Bool {
        quantities.contains(word) || ["name", "date", "time", "value", "key", "format", "flag", "mode"].contains(word)
    }

    /// What columns are called that are numbers of the row itself, whatever tables there are.
    static let quantities: Set = ["version", "position", "order", "count", "size", "number", "index"]
    /// What the rows of a table are called that are within another's.
    static let parts: Set = [
        "item", "entry", "line", "link", "member", "element", "row", "child", "content", "file", "record", "detail",
    ]

    /// Whether a word is short for another: `repo` for `repository`, or `msg` for `message`, which has lost its vowels.
    static func isShort(_ short: String, for word: String) -> Bool {
        guard short.count > 2, short.count + 2 <= word.count, short.first == word.first else { return false }
        return word.hasPrefix(short) || consonants(word) == short
    }

    /// A word without its vowels, but for the first, and without letters that follow the same: `msg` of `message`.
    static func consonants(_ word: String) -> String {
        word.enumerated().reduce(into: "") { short, letter in
            guard letter.offset == 0 || !"aeiouy".contains(letter.element), short.last != letter.element else { return }
            short.append(letter.element)
        }
    }

    /// Whether a column's last word says that it is something of the row's own: a number, a time, a state.
    static func isOwn(_ word: String) -> Bool { quantities.contains(word) || properties.contains(word) }

    /// Whether a name says that it counts or orders something.
    static func isCount(_ words: Words) -> Bool {
        !quantities.union(["num", "total", "sum", "min", "max", "avg", "per"]).isDisjoint(with: words.all)
    }

    /// The first letters of its words; nil where there are too few.
    var initials: String? { all.count > 1 ? String(all.compactMap(\.first)) : nil }

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
