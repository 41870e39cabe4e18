import LogSyncModel
import LogSyncSQLite

/// What a column's name says of the table that it may refer to.
struct ReferringName {
    /// Without what only says that it is a reference.
    private(set) var words: Words
    /// The name as one word.
    private let whole: String
    /// Whether the name says that it is a reference.
    private(set) var saysSo = false
    /// Whether it says that it is of rows, and of no table's: `row_id`.
    private var saysRow = false
    /// Whether the name says that it is a reference and not of what: `id`, `owner_id`, `next_id`.
    var isAnyReference: Bool {
        saysSo && (words.all.allSatisfy(Self.relations.contains) || words.all == ["foreign"])
    }
    /// Whether it may stand beside a column that says of what.
    var saysOwner: Bool { saysSo && (saysRow || !words.all.isEmpty) }
    /// Whether it says that it is a reference, of this program's.
    var saysOurs: Bool { saysOwner && Words.strangers.isDisjoint(with: words.all) }
    /// Whether it says who did something: `created_by`, `author`, `assigned_to_id`.
    var isAgent: Bool {
        guard let last = words.all.last, !isFlag else { return false }
        return Self.agents.contains(last) || words.all.count > 1 && last == "by"
            || words.all.suffix(2) == ["assigned", "to"]
    }
    /// Whether it says whether a row is something, and not which: `is_owner`.
    var isFlag: Bool { words.all.count > 1 && Words.flags.contains(words.all[0]) }
    /// Whether what stands before its last word says that it is a row: `parentFolder`, and not `lastOrder`.
    var isKin: Bool { words.all.count > 1 && words.all.dropLast().allSatisfy(Self.kin.contains) }
    /// Whether it says how one row stands to another, and does not say that it is a reference: `next`, `ancestor`.
    ///
    /// Without what all columns of its table begin with, what may stand before a table's name says that alone: `page_latest`,
    /// `pl_from`.
    ///
    /// So does one of which the last word alone says it, behind words that may stand before a table's name: `first_child`.
    ///
    /// And so does what was done with a row: `inherited_from`, `merged_into`.
    var isRelative: Bool {
        guard !saysSo, let last = words.all.last else { return false }
        if words.all.count == 2, ["from", "into"].contains(last), words.all[0].hasSuffix("ed") { return true }
        return words.all.allSatisfy {
            Self.relatives.contains($0) || Self.relations.contains($0) && (isBare || Self.relatives.contains(last))
        }
    }
    /// Whether it is without what all columns of its table begin with.
    let isBare: Bool
    /// Whether it says that there are several of what it names, and not that it is a reference: `tracks`.
    var isPlural: Bool {
        guard !saysSo, unmarked == nil, let last = words.all.last, last.hasSuffix("s") else { return false }
        return !["ss", "us", "is"].contains { last.hasSuffix($0) }
    }
    /// Whether it may say of such a column what it is: `rev_id` is a row's own, and `cat_pages` counts.
    var saysWhat: Bool {
        guard let last = words.all.last else { return false }
        return saysSo || !last.hasSuffix("s") || ["ss", "us", "is"].contains { last.hasSuffix($0) }
    }
    /// Whether it says that it is the row under which this one is: `parent`, and in `comments` also `comment_parent`.
    func isParent(in table: TrackedTable) -> Bool {
        isParent(words, of: table) || unmarked.map { isParent($0, of: table) } ?? false
    }

    /// Words before a table's name that leave it a reference to one row.
    static let relations: Set = [
        "from", "to", "parent", "source", "target", "src", "dst", "last", "first", "prev", "previous", "next",
        "original", "main", "default", "current", "root", "own", "owner", "old", "new", "other", "fk", "id", "z",
        "primary", "latest", "opener", "referrer", "duplicate", "in", "of", "master", "related", "linked", "sibling",
        "child",
        "head", "leaf", "cover", "dest", "destination", "opposite", "inverse",
    ]
    /// Those of them before a table's name that say of nothing else than of a row, and not of a time or a number of them.
    private static let kin: Set = [
        "from", "to", "parent", "source", "target", "src", "dst", "root", "owner", "original", "master", "sibling",
        "child",
        "linked", "related", "duplicate", "head", "leaf", "cover", "dest", "destination", "opener", "referrer",
    ]
    /// Words that are a row as another stands to it.
    private static let relatives: Set = [
        "sibling", "next", "prev", "previous", "head", "tail", "root", "ancestor", "descendant", "child", "leaf",
        "original", "duplicate", "successor", "predecessor", "owner", "entity", "item", "record", "object", "subject",
        "mgr",
        "manager", "boss", "supervisor", "mother", "father",
        "member", "thread", "container",
    ]
    /// Words for the people who do something with rows.
    private static let agents: Set = [
        "author", "creator", "owner", "assignee", "reporter", "sender", "recipient", "receiver", "editor", "reviewer",
        "approver", "modifier", "updater", "uploader", "poster", "captain", "winner", "loser", "scorer", "organizer",
    ]
    /// The two ends of what joins rows of one table.
    private static let ends: [String: String] = {
        let pairs = [
            ("from", "to"), ("src", "dst"), ("source", "target"), ("source", "destination"), ("ancestor", "descendant"),
            ("parent", "child"), ("a", "b"), ("u", "v"), ("id1", "id2"), ("head", "tail"), ("origin", "destination"),
            ("predecessor", "successor"), ("subject", "object"),
        ]
        return Dictionary(pairs + pairs.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }()
    /// Names that rows of any table may be numbered by.
    private static let keys: Set = [
        "id", "pk", "rowid", "key", "uid", "no", "nr", "num", "number", "index", "idx", "seq", "oid", "fid", "gid",
        "code", "value", "name", "position", "ord", "date", "time", "timestamp",
    ]
    /// Those of them that say what is numbered, where few tables' keys are called so: `uid` of users.
    static let shortKeys: Set = ["uid", "fid", "gid", "oid"]
    private static let parents: Set = ["parent", "parents"]

    /// Whether a key of any table may be called so.
    static func isAnyKey(_ name: String) -> Bool {
        let any = keys.union(Words.marks).union(relations).union(Words.things)
            .union(["rec", "obj", "local", "db", "auto", "entry"])
        return ReferringName(name).words.all.allSatisfy { word in
            any.contains(word) || word.hasSuffix("id") && any.contains(String(word.dropLast(2)))
        }
    }

    init(_ name: String, isBare: Bool = false) {
        self.isBare = isBare
        words = Words(name)
        whole = words.all.joined()
        while let last = words.all.last, Words.marks.contains(last) || saysSo && last == "row" {
            words.all.removeLast()
            saysSo = true
            saysRow = saysRow || last == "row"
        }
        if words.all.count > 1, let first = words.all.first, ["fk", "id"].contains(first) {
            words.all.removeFirst()
            saysSo = true
        }
        // `issue_from_id`
        if saysSo, words.all.count > 1, let last = words.all.last, ["from", "to"].contains(last),
            words.all.first != "assigned", words.all.dropLast().last != "assigned"
        {
            words.all.removeLast()
        }
        // `unit_id_stock`
        if !saysSo, let last = words.all.last, !Words.isOwn(last),
            let mark = words.all.dropLast().lastIndex(of: "id"), mark > 0
        {
            words.all.removeSubrange(mark...)
            saysSo = true
        }
        // `bookid`, which has no border.
        if !saysSo, let last = words.all.last, last.count > 4, last.hasSuffix("id") {
            unmarked = Words(last.dropLast(2).description)
            unmarked?.all = words.all.dropLast() + [last.dropLast(2).description]
        }
    }

    private(set) var unmarked: Words?

    /// Whether it says that it is one end of something.
    var isEnd: Bool { Self.ends[whole] != nil || lastEnd != nil }

    /// What the other end ends as: `to` of `step_from`, for `step_to`.
    private var lastEnd: String? { words.all.count > 1 && !saysSo ? words.all.last.flatMap { Self.ends[$0] } : nil }

    /// Whether another column is the other end of what this one is an end of.
    func isEnd(beside other: String) -> Bool {
        let other = Words(other)
        if Self.ends[whole] == other.all.joined() { return true }
        guard let end = lastEnd else { return false }
        return other.all.last == end && other.all.dropLast() == words.all.dropLast()
    }

    /// A table that a name may mean.
    struct Candidate {
        let parent: TrackedTable
        /// How far the names are from each other.
        let rank: Rank
        /// Whether the name alone says it.
        let isSure: Bool
    }

    /// How far a column's name is from a table's: 0 the same, or its key's; 1 the last words of the table's, 2 with words
    /// before it, 3 less than that.
    struct Rank: Comparable {
        var distance: Int
        /// Of the same distance, the fewer words either has that the other has not, the better.
        var rest = 0

        static func < (a: Rank, b: Rank) -> Bool { (a.distance, a.rest) < (b.distance, b.rest) }
    }

    /// The tables that the name may mean, the likeliest first.
    ///
    /// - Parameter isKey: whether it is the table's own key, which may be called as others are.
    func candidates(among parents: [NamedTable], of table: TrackedTable, isKey: Bool = false) -> [Candidate] {
        let forms = [ColumnWords(words, saysSo: saysSo)] + (unmarked.map { [ColumnWords($0, saysSo: true)] } ?? [])
        lazy var own = NamedTable(table)
        var ranked: [(rank: Rank, parent: TrackedTable)] = []
        for named in parents {
            let parent = named.table
            let ranks = forms.compactMap { $0.rank(named) }
            // A season's `season` is its number.
            let isOwnName = parent === table && !saysSo && unmarked == nil
            if parent === table, isChild(in: table) || isRelated(toKeyOf: named) {
                ranked.append((Rank(distance: 1, rest: 1), parent))
            } else if !isKey, parent !== table, isCalledAsKey(of: named) {
                ranked.append((Rank(distance: 0, rest: 1), parent))
            } else if let rank = ranks.min(), !isOwnName || rank.distance == 2, !isProperty(rank, of: own, in: named),
                !isStrange(to: named)
            {
                // `permission_id` of `user_permissions` is a row of another table, if there is one.
                let isOther = parent === table && rank.distance == 1 && !isKey
                ranked.append((isOther ? Rank(distance: 3) : rank, parent))
            } else if parent !== table, isParent(ofRows: named, in: table) {
                ranked.append((Rank(distance: 1), parent))
            } else if isParent(in: table), parent === table {
                ranked.append((Rank(distance: 1, rest: 1), parent))
            } else if isParent(words, of: table), parent !== table, isPart(table, of: named) {
                ranked.append((Rank(distance: 1), parent))
            } else if !isKey, let rank = withoutBorders(named) {
                ranked.append((rank, parent))
            } else if saysSo, !isFlag, !isAnyReference, named.kinds.contains(words.all.joined()) {
                ranked.append((Rank(distance: 2, rest: 3), parent))
            } else if words.all == ["pid"], parent === table || named.names(table) {
                ranked.append((Rank(distance: 3), parent))
            } else if saysSo, words.all.count == 1, Words.things.contains(words.all[0]), named.names(table) {
                ranked.append((Rank(distance: 3), parent))
            } else if !isKey, parent !== table, isCalledAsWhatKeyNumbers(of: named) {
                ranked.append((Rank(distance: 3), parent))
            }
        }
        // `pid` is the row above, or another table's key.
        if words.all == ["pid"], let best = ranked.map(\.rank).min(), best.distance == 0 {
            ranked = ranked.map { ($0.parent === table ? best : $0.rank, $0.parent) }
        }
        if ranked.isEmpty, !isKey {
            ranked = parents.filter { isShort(for: $0) && !isStrange(to: $0) }
                .map { (Rank(distance: 2, rest: 4), $0.table) }
        }
        // A name with words before the table's is sure where it says that it is a reference.
        let isOurs = (saysSo || unmarked != nil) && Words.strangers.isDisjoint(with: words.all)
        let sure = isOurs ? 2 : 1
        return ordered(ranked, among: parents, of: table)
            .map { Candidate(parent: $0.parent, rank: $0.rank, isSure: $0.rank.distance <= sure) }
    }

    /// Whether the column is called as the table's key is, which is called as no other table's: `deptno` of `dept(deptno)`,
    /// `user_no` of `users(no)`.
    private func isCalledAsKey(of named: NamedTable) -> Bool {
        guard let key = named.key, key.count > 1 else { return false }
        if whole == key || whole == named.bareKey {
            return !Self.keys.contains(whole) || named.isKeyRare && Self.shortKeys.contains(whole)
        }
        guard whole.hasSuffix(key), !Words.marks.contains(key) else { return false }
        let table = String(whole.dropLast(key.count))
        return table.count > 2
            && (named.whole?.contains(table) ?? false || named.shortened.contains { $0.contains(table) })
    }

    /// Whether the column is called as what the table's key numbers, which the table itself is not called:
    /// `file_source` of `filecache(fileid)`.
    private func isCalledAsWhatKeyNumbers(of named: NamedTable) -> Bool {
        guard let key = named.table.localInteger, !Self.isAnyKey(key) else { return false }
        let name = ReferringName(key)
        guard let numbered = name.unmarked ?? (name.saysSo ? name.words : nil) else { return false }
        let own = words.all.filter { !Self.relations.contains($0) }
        return !own.isEmpty && own == numbered.all
    }

    /// `status` is none of `issue_statuses`, but for an issue's; `version` is a number, and so is `parent_version`.
    private func isProperty(_ rank: Rank, of own: NamedTable, in parent: NamedTable) -> Bool {
        guard rank.distance > 0, !saysSo, unmarked == nil, let last = words.all.last else { return false }
        if Words.quantities.contains(last) { return !(parent.whole?.contains(last) ?? false) }
        return rank.distance == 1 && words.all.count == 1 && Words.properties.contains(last)
            && !own.names(parent.table)
    }

    /// Whether the name says that it is another program's, and the table's does not: `discogs_album_id`.
    func isStrange(to parent: NamedTable) -> Bool {
        let strange = Words.strangers.intersection(words.all)
        return !strange.isEmpty && strange.isDisjoint(with: parent.words.all)
    }

    /// `parent`, and in `comments` also `comment_parent`; so is `recurrence_parent`, where no table is called so.
    private func isParent(_ words: Words, of table: TrackedTable) -> Bool {
        guard let last = words.all.last, Self.parents.contains(last) else { return false }
        return words.all.count < 2 || !Words.flags.contains(words.all[0]) && !Words.isCount(words)
    }

    /// `feedParentId` of an article is the row above its feed.
    private func isParent(ofRows named: NamedTable, in table: TrackedTable) -> Bool {
        guard words.all.count > 1, isParent(words, of: table), let whole = named.whole else { return false }
        return !whole.isDisjoint(with: Words.singular(words.all.dropLast().joined()))
    }

    /// Whether the name is that of the row below, beside that of the row above: `recurrence_child` beside
    /// `recurrence_parent`.
    private func isChild(in table: TrackedTable) -> Bool {
        guard words.all.count > 1, words.all.last == "child" else { return false }
        return table.columns.contains { column in
            let other = ReferringName(column.local).words.all
            return other.last == "parent" && other.dropLast() == words.all.dropLast()
        }
    }

    /// The rank of a name in which the table's, or that of what its key numbers, follows other words without a border:
    /// `lastseenmessageid`, and short `lastseenmsgid`.
    private func withoutBorders(_ named: NamedTable) -> Rank? {
        guard let unmarked, unmarked.all.count == 1, let name = unmarked.all.first, !isStrange(to: named) else {
            return nil
        }
        for ending in named.numbered where name.count > ending.count && name.hasSuffix(ending) {
            let rest = String(name.dropLast(ending.count))
            if Self.areRelations(rest) { return Rank(distance: 2, rest: 2) }
            if ending.count > 3 { return Rank(distance: 3, rest: 2) }
        }
        return nil
    }

    /// Whether letters are words that may stand before a table's name, one after the other.
    private static func areRelations(_ letters: String) -> Bool {
        letters.isEmpty
            || relations.union(participles).contains { word in
                letters.hasPrefix(word) && areRelations(String(letters.dropFirst(word.count)))
            }
    }

    /// What was done with a row, before the table's name or `id`.
    private static let participles: Set = [
        "seen", "read", "unread", "sent", "received", "played", "viewed", "visited", "used", "opened", "closed",
        "edited", "selected", "marked", "marker", "line", "active", "start", "end", "my", "max", "min",
    ]

    /// Whether the name says that it is a reference, and is short for the table's or for what its key numbers: `repo_id` of
    /// `repository`, `msgid` of `backlog(messageid)`, `qu_id` of `quantity_units`.
    private func isShort(for named: NamedTable) -> Bool {
        guard saysSo || unmarked != nil else { return false }
        let own = (saysSo ? words : unmarked ?? words).all.filter { !Self.relations.contains($0) }
        guard own.count == 1, let short = own.first else { return false }
        return named.long.contains { Words.isShort(short, for: $0) } || named.words.initials == short
    }

    /// `folder_items` are what is in `folders`.
    private func isPart(_ table: TrackedTable, of whole: NamedTable) -> Bool {
        guard whole.names(table), let last = Words(table.schema.name).all.last else { return false }
        return !Words.singular(last).isDisjoint(with: Words.parts)
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
        /// Its words one by one, where they are several and it says that it is a reference.
        private let several: [Set<String>]

        init(_ words: Words, saysSo: Bool) {
            self.saysSo = saysSo
            whole = words.endings.first.map(Words.singular)
            let endings = words.endings.dropFirst().filter { $0.count > 2 }
            self.endings = endings.map(Words.singular)
            let last = endings.last ?? (saysSo ? words.endings.first : nil)
            end = last.flatMap { $0.count > (saysSo ? 3 : 4) ? Words.singular($0) : nil }
            isRelated = words.all.dropLast().allSatisfy(ReferringName.relations.contains)
            several = saysSo && words.all.count > 1 ? words.all.map(Words.singular) : []
        }

        func rank(_ parent: NamedTable) -> Rank? {
            guard let table = parent.whole, let whole else { return nil }
            func isWhole(_ name: Set<String>) -> Bool { !whole.isDisjoint(with: name) }
            if isWhole(table) || parent.shortened.first.map(isWhole) ?? false { return Rank(distance: 0) }
            if parent.endings.contains(where: isWhole) { return Rank(distance: 1, rest: parent.words.all.count) }
            // `attribute_id` of `attribute_definitions`.
            let isBeginning = saysSo && parent.beginnings.contains(where: isWhole)
            guard saysSo || isRelated else { return nil }
            // `global_message_id` of `message_global_data`, and not of `messages`.
            if !several.isEmpty, several.allSatisfy(parent.hasWord) {
                return Rank(distance: 1, rest: parent.words.all.count)
            }
            for (used, ending) in endings.enumerated() {
                // `managed_role_id` of `roles`, rather than of `member_roles`.
                if !ending.isDisjoint(with: table) { return Rank(distance: 2, rest: 2 * used) }
                if parent.endings.contains(where: { !ending.isDisjoint(with: $0) }) {
                    return Rank(distance: 2, rest: 2 * used + 1)
                }
            }
            // `from_visit` of `historyvisits`, `show_id` of `tvshow`.
            let isEnd = end.map { end in table.contains { form in end.contains(where: form.hasSuffix) } } ?? false
            return isEnd || isBeginning ? Rank(distance: 3) : nil
        }
    }
}
