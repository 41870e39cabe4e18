import LogSyncModel
import LogSyncSQLite

/// A table with what its name is made of: each column's name is held against it.
struct NamedTable {
    let table: TrackedTable
    /// Without what only says that it is a table.
    let words: Words
    /// Its words but for what all tables' names begin with.
    let ownWords: [String]
    /// All of its words as one, as it may stand for one thing; nil where that is too short to say anything.
    let whole: Set<String>?
    /// What its last words may be as one, without the whole name, in the forms of ``Words/singular(_:)``.
    let endings: [Set<String>]
    /// The same without what only says that it is a table, as far as that differs.
    let shortened: [Set<String>]
    /// What its first words may be as one.
    let beginnings: [Set<String>]
    /// Its key's name as one word.
    let key: String?
    /// Whether that says which table is meant, though it may be any's: `uid` of users alone.
    let isKeyRare: Bool
    /// The same without what all of its columns begin with.
    let bareKey: String?

    /// - Parameter prefix: what all tables' names begin with, so that it is no part of this one's: `phpbb` of `phpbb_users`.
    /// - Parameter isKeyRare: whether few other tables have a key of that name.
    init(_ table: TrackedTable, after prefix: String? = nil, isKeyRare: Bool = false) {
        self.table = table
        self.isKeyRare = isKeyRare
        let name = Words(table.schema.name)
        words = Words.table(table.schema.name)
        key = table.localInteger.map { Words($0).all.joined() }
        bareKey = table.localInteger.flatMap(ColumnPrefix(table).bare).map { Words($0).all.joined() }
        let own = name.endings.filter { $0.count > 2 }
        let others = words.endings.filter { $0.count > 2 && !own.contains($0) }
        var endings = own.dropFirst() + others
        // Core Data's names begin so.
        if let whole = own.first, whole.hasPrefix("z") { endings.append(String(whole.dropFirst())) }
        var wholes = own.first.map(Words.singular)
        let isPrefixed = name.all.count > 1 && name.all.first == prefix
        if isPrefixed { wholes?.formUnion(Words.singular(name.endings[1])) }
        whole = wholes
        ownWords = isPrefixed ? Array(name.all.dropFirst()) : name.all
        kinds = Set(
            table.columns.compactMap { column in
                let words = Words(column.local).all
                return words.count > 1 && words[0] == "is" ? words.dropFirst().joined() : nil
            })
        self.endings = endings.map(Words.singular)
        shortened = others.map(Words.singular)
        beginnings = name.beginnings.map(Words.singular)
    }

    /// Whether another table is named after it, as `item_attributes` is after `items`.
    func names(_ other: TrackedTable) -> Bool {
        let (words, first) = (Words(other.schema.name).all, words.all)
        guard words.count > first.count, let last = first.last, words.starts(with: first.dropLast()) else {
            return false
        }
        return Words.isSame(words[first.count - 1], last)
    }

    /// The same also without a border: `budgetrows` after `budget`.
    func isBeginning(of other: TrackedTable) -> Bool {
        let name = table.schema.name.folded
        return names(other) || name.count > 3 && other.schema.name.folded.hasPrefix(name)
    }

    /// Whether one of its words is another's, whose forms are given.
    func hasWord(_ forms: Set<String>) -> Bool { words.all.contains { !Words.singular($0).isDisjoint(with: forms) } }

    /// What other words may stand before without a border: the table's name, and what its key numbers, whole and without
    /// vowels.
    var numbered: [String] {
        var names = Array(whole ?? []).filter { $0.count > 3 }
        if let key, !ReferringName.isAnyKey(key), key.count > 4, key.hasSuffix("id") {
            names += [String(key.dropLast(2)), Words.consonants(String(key.dropLast(2)))].filter { $0.count > 2 }
        }
        return names.sorted { ($1.count, $0) < ($0.count, $1) }
    }

    /// What a name may be short for.
    var long: [String] {
        var names = words.all.count == 1 ? Array(Words.singular(words.all[0])) : []
        if let key, !ReferringName.isAnyKey(key), key.hasSuffix("id") { names.append(String(key.dropLast(2))) }
        return names
    }

    /// What each row is or is not: `folder` of `is_folder`.
    let kinds: Set<String>

    /// Whether its rows are people.
    var isOfPeople: Bool {
        guard let last = words.all.last else { return false }
        return !Words.singular(last).isDisjoint(with: [
            "user", "person", "account", "member", "contact", "employee", "staff", "author", "profile", "identity",
            "player", "student", "teacher", "customer", "patient", "participant",
        ])
    }
}

extension TrackedTable {
    /// Whether it is known of one of its columns that it refers to another table.
    func refers(to other: TrackedTable) -> Bool { columns.contains { $0.reference?.folded == other.name.folded } }
}
