// Columns that hold integers of other tables' rows though no key declares it.
//
// The problem. Integers of surrogate rows are local: a column that holds one and is not known to has the author's number
// everywhere, and there it means another row. Nothing shows it but the program's behaviour, later. Many programs declare no
// keys, so what is known is searched for evidence; a column with some has to be decided before there is a store.
//
// The evidence, the strongest first. What a column is called (`book`, `book_id`, `parentId`, `from_visit`), together with
// what it holds: nothing but integers of that table's rows, or 0 and less for none. A view or trigger that compares it
// with the table's key. Integers of one table's rows alone, some too large for that to be chance. The name alone,
// where there are no values yet. In Core Data's stores, the index that each relationship has: then it refers to an entity
// of which the values may be rows, and which one has to be said.
//
// The exception. Small integers that happen to be there as keys, too, as quantities and years are, are no evidence by
// themselves, or hardly a column would have to be decided upon less than every other.

import LogSyncModel
import LogSyncSQLite

/// Finds columns that seem to refer to tables whose integers are local.
struct UndeclaredReferences {
    let catalog: Catalog
    let connection: Connection

    private typealias Evidence = ReferenceReport.Evidence

    /// Integers from here on are dates in milliseconds, or drawn by lot, rather than counted.
    private static let large: Int64 = 1 << 24

    /// - Returns: one a column and parent, in the order of the tables.
    func found() throws -> [ReferenceReport] {
        let parents = catalog.tables.filter { $0.localInteger != nil }
        guard !parents.isEmpty else { return [] }
        let joins = try JoinedColumns(catalog, connection)
        let relations = try Relations(EntityTables(connection))
        var reports: [ReferenceReport] = []
        for table in catalog.tables where table.name != "logsync_setting" {
            for column in table.columns where column.reference == nil && column.local != table.schema.integerKey {
                for (parent, evidence) in try evidence(for: column, in: table, parents, joins, relations) {
                    reports.append(
                        ReferenceReport(
                            table: table.schema.name, column: column.local, parent: parent.schema.name,
                            evidence: evidence, taken: false))
                }
            }
        }
        return reports
    }

    private func evidence(
        for column: TrackedTable.Column, in table: TrackedTable, _ parents: [TrackedTable], _ joins: JoinedColumns,
        _ relations: Relations
    ) throws -> [(TrackedTable, Evidence)] {
        let affinity = table.schema.affinity(of: column.local)
        guard affinity != .text && affinity != .real else { return [] }
        let named = ReferringName(column.local)
        let called = named.candidates(among: parents, of: table)
        let joined = joins.parents(of: column, in: table)
        let isRelation = relations.columns.contains("\(table.schema.name).\(column.local)".folded)
        if called.isEmpty, joined.isEmpty, !named.isAnyReference, !isRelation {
            // Most columns: to say that they are nothing must not take a look at each of their values.
            guard affinity == .integer, try mayBeLarge(column, in: table) else { return [] }
        }
        let values = try values(of: column, in: table)
        guard !values.hasOthers else { return [] }
        guard let greatest = values.greatest else {
            guard affinity == .integer || !joined.isEmpty else { return [] }
            if !joined.isEmpty { return joined.map { ($0, .join) } }
            if let parent = called.first(where: \.isSure)?.parent { return [(parent, .name)] }
            return isRelation ? parents.filter(relations.isEntity).map { ($0, .index) } : []
        }
        for candidate in called where try isWhollyOf(candidate.parent, column, in: table) {
            return [(candidate.parent, .nameAndData)]
        }
        for parent in joined where try isWhollyOf(parent, column, in: table) { return [(parent, .join)] }
        if isRelation {
            return try parents.filter { try relations.isEntity($0) && isWhollyOf($0, column, in: table) }
                .map { ($0, .index) }
        }
        if named.isAnyReference {
            return try parents.filter { try isWhollyOf($0, column, in: table) }.map { ($0, .nameAndData) }
        }
        guard greatest >= Self.large else { return [] }
        let holding = try parents.filter { parent in
            try parent !== table && isWhollyOf(parent, column, in: table)
        }
        return holding.count == 1 ? [(holding[0], .data)] : []
    }

    /// Whether the first values of a column are as large as it takes.
    private func mayBeLarge(_ column: TrackedTable.Column, in table: TrackedTable) throws -> Bool {
        let name = SQL.name(column.local)
        return try connection.integer(
            """
            SELECT max(first) >= \(Self.large) FROM
            (SELECT \(name) AS first FROM \(table.quoted) WHERE \(name) > 0 LIMIT 100)
            """) == 1
    }

    /// What Core Data's tables say of relationships.
    private struct Relations {
        let columns: Set<String>
        private let tables: Set<String>

        init(_ entities: EntityTables) throws {
            columns = try entities.relationColumns()
            tables = Set(entities.entities.values.map(\.table.folded))
        }

        func isEntity(_ table: TrackedTable) -> Bool { tables.contains(table.schema.name.folded) }
    }

    private struct Values {
        /// Whether there is a value that is no integer.
        var hasOthers: Bool
        /// The greatest integer above 0; nil where there is none.
        var greatest: Int64?
    }

    private func values(of column: TrackedTable.Column, in table: TrackedTable) throws -> Values {
        let name = SQL.name(column.local)
        let row = try connection.rows(
            """
            SELECT coalesce(max(typeof(\(name)) NOT IN ('integer', 'null')), 0), max(CASE WHEN \(name) > 0 THEN \(name) END)
            FROM \(table.quoted)
            """)[0]
        var greatest: Int64?
        if case .integer(let integer) = row[1] { greatest = integer }
        return Values(hasOthers: row[0] == .integer(1), greatest: greatest)
    }

    /// Whether each integer that a column holds is one of the parent's, but for 0 and less.
    private func isWhollyOf(
        _ parent: TrackedTable, _ column: TrackedTable.Column, in table: TrackedTable
    ) throws -> Bool {
        let name = "child.\(SQL.name(column.local))"
        return try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM \(table.quoted) AS child WHERE \(name) > 0
            AND NOT EXISTS(SELECT 1 FROM \(parent.quoted) AS parent WHERE parent.\(parent.rowid) = \(name)))
            """) == 0
    }
}

// MARK: Names

/// A column's or table's name in the words that it is made of.
private struct Words {
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

    /// A word as it may stand for one thing of several.
    static func singular(_ word: String) -> Set<String> {
        var forms: Set = [word]
        if word.hasSuffix("ies") { forms.insert(word.dropLast(3) + "y") }
        if word.hasSuffix("es") { forms.insert(String(word.dropLast(2))) }
        if word.hasSuffix("s") { forms.insert(String(word.dropLast())) }
        return forms
    }

    static func isSame(_ a: String, _ b: String) -> Bool { !singular(a).isDisjoint(with: singular(b)) }
}

/// What a column's name says of the table that it may refer to.
private struct ReferringName {
    /// Without what only says that it is a reference.
    private var words: Words
    /// Whether the name says that it is a reference.
    private var saysSo = false
    /// Whether the name says that it is a reference and not of what.
    var isAnyReference: Bool { words.all.isEmpty && saysSo }

    /// Words that say it.
    private static let marks: Set = ["id", "ids", "fk", "pk", "ref", "key", "rowid"]
    /// Words before a table's name that leave it a reference to one row.
    private static let relations: Set = [
        "from", "to", "parent", "source", "target", "src", "dst", "last", "first", "prev", "previous", "next",
        "original",
        "main", "default", "current", "root", "own", "owner", "old", "new", "other", "fk", "id", "z",
    ]
    /// What a row is called in a table that is named after that of the rows.
    private static let things: Set = ["entity", "object", "item", "record", "row", "element", "owner"]
    private static let parents: Set = ["parent", "parents"]

    init(_ name: String) {
        words = Words(name)
        while let last = words.all.last, Self.marks.contains(last) {
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
        among parents: [TrackedTable], of table: TrackedTable
    ) -> [(parent: TrackedTable, isSure: Bool)] {
        var ranked: [(rank: Int, parent: TrackedTable)] = []
        for parent in parents {
            let ranks = [rank(words, saysSo, parent), unmarked.flatMap { rank($0, true, parent) }].compactMap { $0 }
            if let rank = ranks.min() {
                ranked.append((rank, parent))
            } else if parent === table, words.all.count == 1, Self.parents.contains(words.all[0]) {
                ranked.append((1, parent))
            } else if saysSo, words.all.count == 1, Self.things.contains(words.all[0]), isNamed(table, after: parent) {
                ranked.append((3, parent))
            }
        }
        return ranked.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            .map { ($0.element.parent, $0.element.rank < 2) }
    }

    /// `item_attributes` is, after `items`.
    private func isNamed(_ table: TrackedTable, after parent: TrackedTable) -> Bool {
        let (words, first) = (Words(table.schema.name).all, Words(parent.schema.name).all)
        guard words.count > first.count, let last = first.last, words.starts(with: first.dropLast()) else {
            return false
        }
        return Words.isSame(words[first.count - 1], last)
    }

    /// How far a name is from a table's: 0 the same, 1 the last words of the table's, 2 with words before it.
    private func rank(_ words: Words, _ saysSo: Bool, _ parent: TrackedTable) -> Int? {
        var table = Words(parent.schema.name).endings.filter { $0.count > 2 }
        guard let whole = table.first, let column = words.endings.first else { return nil }
        if Words.isSame(column, whole) { return 0 }
        // Core Data's names begin so.
        if whole.hasPrefix("z") { table.append(String(whole.dropFirst())) }
        if table.dropFirst().contains(where: { Words.isSame(column, $0) }) { return 1 }
        guard saysSo || words.all.dropLast().allSatisfy(Self.relations.contains) else { return nil }
        let endings = words.endings.dropFirst().filter { $0.count > 2 }
        if endings.contains(where: { ending in table.contains { Words.isSame(ending, $0) } }) { return 2 }
        // `from_visit` of `historyvisits`.
        guard let last = endings.last, last.count > 4 else { return nil }
        return Words.singular(whole).contains { form in Words.singular(last).contains(where: form.hasSuffix) } ? 3 : nil
    }
}

// MARK: Joins

/// The columns that views and triggers compare with the keys of other tables.
private struct JoinedColumns {
    private let catalog: Catalog
    /// By `table.column`, in lower case.
    private var parentsByColumn: [String: [TrackedTable]] = [:]

    init(_ catalog: Catalog, _ connection: Connection) throws {
        self.catalog = catalog
        let objects = try connection.rows(
            """
            SELECT tbl_name, sql FROM main.sqlite_master
            WHERE type IN ('view', 'trigger') AND sql IS NOT NULL AND name NOT LIKE 'logsync\\_%' ESCAPE '\\'
            """)
        for object in objects { read(SQLTokens(String(text: object[1])), of: String(text: object[0])) }
    }

    func parents(of column: TrackedTable.Column, in table: TrackedTable) -> [TrackedTable] {
        parentsByColumn["\(table.schema.name).\(column.local)".folded] ?? []
    }

    /// Notes each `a = b` of which one side is a table's integer key and the other a column of another.
    private mutating func read(_ tokens: SQLTokens, of owner: String) {
        var start = 0
        for index in 0..<tokens.count where tokens.word(index) == ";" || index == tokens.count - 1 {
            read(tokens, start..<index + 1, of: owner)
            start = index + 1
        }
    }

    private mutating func read(_ tokens: SQLTokens, _ statement: Range<Int>, of owner: String) {
        let names = Names(tokens, statement, owner: owner, catalog)
        for index in statement where tokens.word(index) == "=" {
            let start = index > 3 && tokens.word(index - 2) == "." ? index - 3 : index - 1
            let sides = [names.columns(at: start), names.columns(at: index + 1)]
            for (child, parent) in [(sides[0], sides[1]), (sides[1], sides[0])] {
                // Where it cannot be told whose column it is, it says nothing.
                let keys = parent.filter { $0.table.localInteger?.folded == $0.column }
                let columns = child.filter { $0.table.localInteger?.folded != $0.column }
                guard keys.count == 1, columns.count == 1,
                    keys[0].table !== columns[0].table || names.isTwice(keys[0].table)
                else { continue }
                parentsByColumn["\(columns[0].table.schema.name.folded).\(columns[0].column)", default: []]
                    .append(keys[0].table)
            }
        }
    }

    /// What names in one statement may mean.
    private struct Names {
        private let tokens: SQLTokens
        /// The tables that the text mentions, by the names that it gives them, in lower case.
        private var tables: [String: TrackedTable] = [:]

        init(_ tokens: SQLTokens, _ statement: Range<Int>, owner: String, _ catalog: Catalog) {
            self.tokens = tokens
            let known = Dictionary(
                catalog.tables.map { ($0.schema.name.folded, $0) }, uniquingKeysWith: { first, _ in first })
            if let table = known[owner.folded] {
                for name in ["new", "old"] { tables[name] = table }
            }
            for index in statement.dropFirst() {
                guard ["FROM", "JOIN", "INTO", "UPDATE", ","].contains(tokens.word(index - 1)),
                    let table = known[Self.name(tokens, index)]
                else { continue }
                tables[Self.name(tokens, index)] = table
                let next = index + 1 < tokens.count && tokens.word(index + 1) == "AS" ? index + 2 : index + 1
                guard next < tokens.count, !Self.keywords.contains(tokens.word(next)) else { continue }
                tables[Self.name(tokens, next)] = table
            }
        }

        private static let keywords: Set = [
            "ON", "WHERE", "JOIN", "LEFT", "INNER", "CROSS", "NATURAL", "ORDER", "GROUP", "SET", "USING", "LIMIT", ",",
            ";",
            ")", "(", "VALUES", "SELECT", "UNION", "OUTER", "FULL", "RIGHT", "DEFAULT", "END", "BEGIN",
        ]

        /// Whether a table has two names, so that it may be joined with itself.
        func isTwice(_ table: TrackedTable) -> Bool { tables.values.filter { $0 === table }.count > 1 }

        /// The columns that a name may mean, qualified or not.
        func columns(at index: Int) -> [(table: TrackedTable, column: String)] {
            guard index >= 0, index < tokens.count else { return [] }
            if index + 2 < tokens.count, tokens.word(index + 1) == "." {
                let column = Self.name(tokens, index + 2)
                guard let table = tables[Self.name(tokens, index)], has(table, column) else { return [] }
                return [(table, column)]
            }
            let column = Self.name(tokens, index)
            var found: [(table: TrackedTable, column: String)] = []
            for (name, table) in tables where name != "new" && name != "old" && has(table, column) {
                if !found.contains(where: { $0.table === table }) { found.append((table, column)) }
            }
            return found
        }

        private func has(_ table: TrackedTable, _ column: String) -> Bool {
            table.localPositions[column] != nil || table.localInteger?.folded == column
        }

        private static func name(_ tokens: SQLTokens, _ index: Int) -> String {
            let text = tokens.text(index..<index + 1)
            guard let quote = text.first, ["\"", "`", "["].contains(quote), text.count >= 2 else {
                return text.folded
            }
            return String(text.dropFirst().dropLast()).folded
        }
    }
}
