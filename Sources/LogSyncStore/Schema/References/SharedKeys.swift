// Tables whose own integers are another table's: `items(id)` and `item_details(id)`, a row of the one for a row of the other.
//
// The problem. A row of `item_details` has no column that refers: its own key is the item's. Unless that is known, its rows
// get integers of their own on each peer, and the details of one item stand at another.
//
// The evidence, the strongest first. The key is called as another table (`imageid` of an image's metadata). A view or
// trigger compares the two keys. The key is called as the other table's, by a name that is not any key's (`fileid`): where
// one of the tables is named after the other, or has no integers but the other's. The integers are too large for chance.
// Last, both are called `id`, one table is named after the other, nothing in either refers to the other, and all integers of
// the one are the other's: at once where its name says that it holds more of the same rows (`item_details`), else where
// they are not simply what a counter of its own would give. A table that has nothing but its key says which rows are meant
// of the table that its name ends as (`visible_contacts`).
//
// The exception. Two tables that count from 1 have the same integers, and one is often named after the other: `item_types`
// after `items`. Names and integers are no evidence then; that the items have a column `type` says that they are two.

import LogSyncModel
import LogSyncSQLite

/// Finds tables whose own integers seem to be another table's.
struct SharedKeys {
    let all: ReferredTables
    let joins: JoinedColumns
    let integers: ColumnIntegers
    /// Whether a recipe says of what columns are.
    let hasRecipe: Bool

    private typealias Evidence = ReferenceReport.Evidence

    func found() throws -> [ReferenceReport] {
        try all.names.compactMap { named in
            let table = named.table
            // Tables of chosen identities have names of their own for their rows.
            guard table.kind == .surrogate, let key = table.localInteger,
                let (parent, evidence) = try evidence(forKey: key, of: named) ?? whole(ofSet: named, key)
            else { return nil }
            return ReferenceReport(
                table: table.schema.name, column: key, parent: parent.schema.name, evidence: evidence, taken: false)
        }
    }

    /// The table of which one that has nothing but integers says which rows are meant, as its name does: `visible_contacts`.
    private func whole(ofSet named: NamedTable, _ key: String) throws -> (TrackedTable, Evidence)? {
        let table = named.table
        guard !hasRecipe, table.columns.isEmpty, !table.schema.isAutoincrement, ReferringName.isAnyKey(key),
            !all.names.contains(where: { refers($0, to: named) })
        else { return nil }
        let parents = all.names.filter { $0.table !== table && $0.isEnd(of: named) }
        guard try integers.holdsValues(key, in: table) else { return parents.first.map { ($0.table, .name) } }
        return try parents.first { try integers.isMostlyOf($0.table, key, in: table) }.map { ($0.table, .nameAndData) }
    }

    private func evidence(forKey key: String, of named: NamedTable) throws -> (TrackedTable, Evidence)? {
        let table = named.table
        let names = [key, ColumnPrefix(table).bare(key)].compactMap { $0 }
        let called = names.lazy.map { ReferringName($0).candidates(among: all.names, of: table, isKey: true) }
            .first { !$0.isEmpty }
        // `restriction_id` of `move_restrictions` is its own, though another table is called so, too.
        let isOwn =
            called?.contains { ($0.parent === table && $0.rank.distance < 2) } ?? false || named.isAbbreviated(key)
        let isAny =
            called?.first.map { first in
                // `EntryID` numbers the rows of each table, and not those of `playlist_entries` alone.
                first.rank.distance > 0 && ReferringName.isAnyKey(key)
                    && all.names.contains { $0.table === first.parent && $0.key == named.key }
            } ?? false
        if let first = called?.first, first.isSure, first.parent !== table, !isAny,
            first.rank.distance == 0 && !isOwnToo(key, of: named, beside: first.parent) || !isOwn
        {
            guard try integers.holdsValues(key, in: table) else { return (first.parent, .name) }
            return try integers.isMostlyOf(first.parent, key, in: table) ? (first.parent, .nameAndData) : nil
        }
        // What triggers write into the key, or look for there.
        if let parent = joins.parent(ofKeyOf: table) {
            guard try integers.holdsValues(key, in: table) else { return (parent, .join) }
            if try integers.isMostlyOf(parent, key, in: table) { return (parent, .join) }
        }
        let joined = joins.sharing(with: table)
        if let parent = try best(all.names.filter { other in joined.contains { $0 === other.table } }, for: named) {
            return (parent, .join)
        }
        if !hasRecipe {
            let same = all.names.filter { $0.key == named.key && $0.table !== table }
            if isDistinct(key, same) {
                // `meta_id` of `commentmeta` is its own, whatever `postmeta` has.
                let isOwn = !ReferringName(key).candidates(among: [named], of: table, isKey: true).isEmpty
                let parents = isOwn ? same.filter { $0.addition(in: named) != nil } : same
                if let parent = try best(parents, for: named) {
                    return (parent, try integers.holdsValues(key, in: table) ? .nameAndData : .name)
                }
            } else if let parent = try same.first(where: { try isMore(named, of: $0) }) {
                return (parent.table, try integers.holdsValues(key, in: table) ? .nameAndData : .name)
            }
        }
        guard try integers.mayBeLarge(key, in: table) else { return nil }
        let holding = try all.names.filter { parent in
            try parent.table !== table && integers.isWhollyOf(parent.table, key, in: table) && adds(named, to: parent)
        }
        return holding.count == 1 ? (holding[0].table, .data) : nil
    }

    /// Whether a key that is called as another table is called just as that one's own, and as a part of its table's name:
    /// `group_id` of `extension_groups` beside that of `groups`, `word_id` of `word_list`.
    private func isOwnToo(_ key: String, of named: NamedTable, beside parent: TrackedTable) -> Bool {
        guard all.names.contains(where: { $0.table === parent && $0.key == named.key }) else { return false }
        let name = ReferringName(key)
        return (name.unmarked ?? name.words).all.allSatisfy { word in
            named.ownWords.contains { Words.isSame($0, word) || $0.hasPrefix(word) }
        }
    }

    /// Whether a key's name is not such as any table's may have, nor what this program calls them all.
    private func isDistinct(_ key: String, _ same: [NamedTable]) -> Bool {
        guard same.count < 2 || (same.count + 1) * 2 <= all.names.count else { return false }
        return !ReferringName.isAnyKey(key)
    }

    /// Of tables with which a table shares its key by what is known of them, the one whose rows its own are.
    private func best(_ parents: [NamedTable], for table: NamedTable) throws -> TrackedTable? {
        guard let key = table.table.localInteger else { return nil }
        let isEmpty = try !integers.holdsValues(key, in: table.table)
        var found: [(isNamed: Bool, count: Int64, table: TrackedTable)] = []
        for parent in parents where parent.table !== table.table {
            let isNamed = parent.addition(in: table) != nil
            guard
                try isNamed
                    ? isEmpty || integers.isMostlyOf(parent.table, key, in: table.table)
                    : !isEmpty && !table.table.schema.isAutoincrement
                        && integers.isWhollyOf(parent.table, key, in: table.table) && adds(table, to: parent)
            else { continue }
            found.append((isNamed, try integers.count(of: parent.table), parent.table))
        }
        // Where several add to one table, that has the most rows.
        return found.max { ($0.isNamed ? 1 : 0, $0.count) < ($1.isNamed ? 1 : 0, $1.count) }?.table
    }

    /// Of two tables with the same integers, whether the first adds to the second.
    private func adds(_ table: NamedTable, to parent: NamedTable) throws -> Bool {
        if parent.addition(in: table) != nil { return true }
        guard let other = parent.table.localInteger, table.addition(in: parent) == nil else { return false }
        guard try integers.isWhollyOf(table.table, other, in: parent.table) else { return true }
        let counts = (table.table.schema.isAutoincrement, parent.table.schema.isAutoincrement)
        if counts.0 != counts.1 { return counts.1 }
        let lengths = (table.table.name.count, parent.table.name.count)
        guard lengths.0 == lengths.1 else { return lengths.1 < lengths.0 }
        return all.tables.first { $0 === table.table || $0 === parent.table } === parent.table
    }

    // MARK: Keys that are called as any

    /// Whether a table's rows are another's, though its key is called as all keys are.
    private func isMore(_ table: NamedTable, of parent: NamedTable) throws -> Bool {
        // What SQLite counts is something by itself.
        guard let addition = parent.addition(in: table), let key = table.table.localInteger,
            !table.table.schema.isAutoincrement, !refers(table, to: parent), !refers(parent, to: table)
        else { return false }
        // A program that has SQLite count the rows of the one alone gives those of the other their integers.
        let isGiven = addition.endsSo && parent.table.schema.isAutoincrement && areCounted
        guard try !hasUnnamed(table, of: parent, evenEmpty: !isGiven) else { return false }
        let count = try integers.count(of: table.table)
        guard try integers.isWhollyOf(parent.table, key, in: table.table) else { return false }
        if isGiven { return true }
        guard count > 1 else { return false }
        if addition.saysMore { return true }
        // And so is what other tables refer to.
        guard count > 2, addition.isWords,
            !all.names.contains(where: { $0.table !== parent.table && refers($0, to: table) })
        else { return false }
        let isCounted = try integers.greatest(of: table.table) == count
        return try !isCounted || count >= Self.many && integers.count(of: parent.table) == count
    }

    /// Whether a program has SQLite count the rows of nearly all its tables.
    private var areCounted: Bool {
        let counted = all.tables.filter(\.schema.isAutoincrement).count
        return counted > 2 && counted * 4 >= all.tables.count * 3
    }

    /// How many rows two tables have to have that it is no chance that they are as many.
    private static let many: Int64 = 10

    /// Whether a column says that it is a reference and not of what, so that it may be the one to the other table, as far as
    /// what it holds agrees.
    private func hasUnnamed(_ child: NamedTable, of parent: NamedTable, evenEmpty: Bool) throws -> Bool {
        try child.table.columns.contains { column in
            let affinity = child.table.schema.affinity(of: column.local)
            guard column.reference == nil, affinity == .integer else { return false }
            let name = ReferringName(column.local)
            guard name.saysOurs, name.candidates(among: all.names, of: child.table).isEmpty else { return false }
            return try evenEmpty && !integers.holdsValues(column.local, in: child.table)
                || integers.isMostlyOf(parent.table, column.local, in: child.table)
        }
    }

    /// Whether a column of a table refers to another's rows, or is called so.
    private func refers(_ child: NamedTable, to parent: NamedTable) -> Bool {
        child.table.columns.contains { column in
            if let reference = column.reference { return reference.folded == parent.table.name.folded }
            guard [.integer, .blob].contains(child.table.schema.affinity(of: column.local)) else { return false }
            let bare = ColumnPrefix(child.table).bare(column.local)
            return [column.local, bare].compactMap { $0 }.contains { name in
                ReferringName(name).candidates(among: [parent], of: child.table).contains { $0.rank.distance < 3 }
            }
        }
    }
}

extension NamedTable {
    /// What a table's name adds to this one's.
    struct Addition {
        /// Whether it says that the table holds more of the same rows.
        let saysMore: Bool
        /// Whether its last word does: `media_info`.
        let endsSo: Bool
        /// Whether it is words of its own, after this table's.
        let isWords: Bool
    }

    /// Whether a key's name is short for the table's, word by word: `loc_log_id` of `location_log`.
    func isAbbreviated(_ key: String) -> Bool {
        let name = ReferringName(key)
        let short = (name.unmarked ?? name.words).all
        return name.saysSo && short.count > 1 && short.count == ownWords.count
            && zip(short, ownWords).allSatisfy { $1.hasPrefix($0) || Words.isSame($0, $1) }
    }

    /// Whether another table's name ends as this one's does: `visible_contacts` as `contacts`.
    func isEnd(of other: NamedTable) -> Bool {
        let (theirs, ours) = (Words(other.table.schema.name).all, words.all)
        guard theirs.count > ours.count, let last = ours.last else { return false }
        return theirs.suffix(ours.count).dropLast() == ours.dropLast() && Words.isSame(theirs[theirs.count - 1], last)
    }

    /// What another table's name adds to this one's: `details` of `item_details` to `items`; nil where it is not made of it.
    func addition(in other: NamedTable) -> Addition? {
        let (theirs, ours) = (Words(other.table.schema.name).all, words.all)
        if names(other.table) {
            let rest = theirs.dropFirst(ours.count)
            return Addition(
                saysMore: rest.allSatisfy(Words.saysMore), endsSo: rest.last.map(Words.saysMore) ?? false, isWords: true
            )
        }
        guard let last = ours.last else { return nil }
        // `extended_items`
        if theirs.count > ours.count, theirs.suffix(ours.count).dropLast() == ours.dropLast(),
            Words.isSame(theirs[theirs.count - 1], last), theirs.dropLast(ours.count).allSatisfy(Words.saysMore)
        {
            return Addition(saysMore: true, endsSo: true, isWords: false)
        }
        // `itemdetails`
        guard theirs.count == ours.count, theirs.dropLast() == ours.dropLast(), let end = theirs.last else {
            return nil
        }
        let isMore = Words.singular(last).contains { form in
            end.count > form.count && end.hasPrefix(form) && Words.saysMore(String(end.dropFirst(form.count)))
        }
        return isMore ? Addition(saysMore: true, endsSo: true, isWords: false) : nil
    }
}

extension Words {
    /// What a table's name has beside another's that holds more of the same rows.
    private static let additions: Set = [
        "detail", "extended", "extension", "ext", "extra", "more", "info", "information", "meta", "metadata", "data",
        "profile", "setting", "preference", "pref", "stat", "statistic", "content", "body", "text", "blob", "cache",
    ]

    fileprivate static func saysMore(_ word: String) -> Bool { !singular(word).isDisjoint(with: additions) }
}
