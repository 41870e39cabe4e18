import LogSyncModel
import LogSyncSQLite

extension ReferringName {
    /// The tables after which the name's last words are called, with words before them that say anything: `home_team` of
    /// `teams`, `referring_visit` of `visits`. A name as this is a number as well as a row, so what the column holds has to
    /// say it.
    ///
    /// `unread_messages` counts, and so does what its words say to be a count, a place or a mark.
    func looseParents(among parents: [NamedTable]) -> [TrackedTable] {
        guard isLoose else { return [] }
        return parents.filter { parent in
            guard let table = parent.whole, !isStrange(to: parent) else { return false }
            return endsAsKey(of: parent)
                || looseEndings.contains { ending in
                    !table.isDisjoint(with: ending) || parent.shortened.contains { !$0.isDisjoint(with: ending) }
                }
        }.map(\.table)
    }

    /// Whether it is called as a table's own key is, with words that say how another row stands to it:
    /// `iParentClientIndex` beside `iClientIndex`.
    func isRelated(toKeyOf named: NamedTable) -> Bool {
        guard !saysSo, let column = named.table.localInteger, let key = named.key, key.count > 3,
            !Self.isAnyKey(column)
        else { return false }
        let own = words.all.filter { !Self.relations.contains($0) }
        return own.count < words.all.count && own.joined() == key
    }

    /// Whether it is a table's own short key with a letter before it, or with one for the row above in place of its first:
    /// `tnid` beside `nid`, `plid` beside `mlid`.
    func isBesideKey(of table: TrackedTable) -> Bool {
        guard !saysSo, words.all.count == 1, let name = words.all.first, let key = table.localInteger?.folded,
            3...4 ~= key.count, !Self.isAnyKey(key)
        else { return false }
        return name.count == key.count + 1 && name.hasSuffix(key)
            || name.count == key.count && name.first == "p" && key.first != "p" && name.dropFirst() == key.dropFirst()
    }

    /// Whether its last word is a table's key, and few others': `last_comment_uid`, `field_tags_tid`.
    private func endsAsKey(of named: NamedTable) -> Bool {
        guard named.isKeyRare, let key = named.key, key.count > 2, words.all.last == key else { return false }
        return named.table.localInteger.map { !Self.isAnyKey($0) || Self.shortKeys.contains(key) } ?? false
    }

    /// Whether its last words may be a table's name.
    private var isLoose: Bool {
        guard !saysSo, unmarked == nil, words.all.count > 1, let last = words.all.last, saysWhat else { return false }
        return !isFlag && !Words.isCount(words) && !Words.isOfRow(last) && Self.measures.isDisjoint(with: words.all)
    }

    /// Words that leave what follows a number.
    private static let measures: Set = ["sort", "rank", "weight", "day", "year", "month", "hour", "minute"]

    private var looseEndings: [Set<String>] {
        words.endings.dropFirst().filter { $0.count > 2 }.map(Words.singular)
    }
}

extension ReferringName {
    /// Tables by how far their names are from this one, and of the same distance first tables with which the column's own
    /// shares a word (the `extension_groups` of `extensions`), and then tables that are called just so (`groups`).
    func ordered(
        _ ranked: [(rank: Rank, parent: TrackedTable)], among parents: [NamedTable], of table: TrackedTable
    ) -> [(rank: Rank, parent: TrackedTable)] {
        guard ranked.count > 1 else { return ranked }
        let own = Set(
            (parents.first { $0.table === table }?.ownWords ?? Words(table.schema.name).all).flatMap(Words.singular)
        )
        .subtracting(words.all.flatMap(Words.singular))
        func strangeness(_ parent: TrackedTable) -> Int {
            if parent === table { return 0 }
            guard let named = parents.first(where: { $0.table === parent }) else { return 2 }
            if named.ownWords.contains(where: { !Words.singular($0).isDisjoint(with: own) }) { return 0 }
            return named.whole?.isDisjoint(with: Words.singular(words.all.joined())) ?? true ? 2 : 1
        }
        let strange = ranked.map { strangeness($0.parent) }
        return ranked.indices.sorted { (ranked[$0].rank, strange[$0], $0) < (ranked[$1].rank, strange[$1], $1) }
            .map { ranked[$0] }
    }
}

extension UndeclaredReferences {
    /// Whether a name that says that it is a reference, and no table's, has to be decided for what the column holds. A
    /// recipe's author has looked at the columns.
    func mayBeUnnamed(_ name: ReferringName) -> Bool { name.saysOurs && !hasRecipe }

    /// The reports without tables whose own integers are those of another that is offered for the same column, as far as
    /// names say so, too: that one says it all.
    func withoutShares(
        _ reports: [ReferenceReport], _ shared: [ReferenceReport], _ all: ReferredTables
    ) -> [ReferenceReport] {
        var owners: [String: String] = [:]
        for share in shared {
            guard let table = all.names.first(where: { $0.table.schema.name == share.table })?.table,
                let owner = all.names.first(where: { $0.table.schema.name == share.parent })
            else { continue }
            let called = ReferringName(share.column).candidates(among: [owner], of: table, isKey: true)
            if owner.names(table) || called.contains(where: { $0.rank.distance == 0 }) {
                owners[share.table.folded] = share.parent.folded
            }
        }
        let offered = Set(reports.map { "\($0.table).\($0.column) \($0.parent)".folded })
        return reports.filter { report in
            guard let owner = owners[report.parent.folded] else { return true }
            return !offered.contains("\(report.table).\(report.column) \(owner)".folded)
        }
    }

    /// Whether a column is UNIQUE together with others, and all of them say that they are references: what joins rows says
    /// so by that, however few it joins (`UNIQUE(principal_id, member_id)`).
    func isOfLink(_ column: String, in table: TrackedTable) -> Bool {
        table.schema.uniqueIndexes.contains { index in
            guard let columns = index.columns?.map(\.name), columns.count > 1, columns.contains(column) else {
                return false
            }
            return columns.allSatisfy {
                table.schema.affinity(of: $0) == .integer && ReferringName($0).saysOurs
            }
        }
    }

    /// The table that a column is called after, where it holds integers of rows that have all gone, as a note of deleted
    /// rows does: none of them is there, and its counter has passed them all.
    func goneParent(
        _ called: [ReferringName.Candidate], _ named: ReferringName, _ column: String, in table: TrackedTable
    ) throws -> TrackedTable? {
        guard !hasRecipe, let first = called.first, first.rank.distance == 0, first.parent !== table,
            named.saysSo || named.unmarked != nil, named.saysOurs || named.unmarked != nil
        else { return nil }
        return try integers.areGone(column, in: table, from: first.parent) ? first.parent : nil
    }

    /// The table without a key whose rowids a column holds, by its name and by what it holds.
    func keylessParent(
        _ named: ReferringName, _ column: String, in table: TrackedTable, _ all: ReferredTables
    ) throws -> TrackedTable? {
        guard let parent = keylessParents(named, column, in: table, all).first,
            try integers.holdsValues(column, in: table), try !integers.values(of: column, in: table).hasOthers,
            try integers.isWhollyOf(parent, column, in: table)
        else { return nil }
        return parent
    }

    /// The tables without a key after which a column is called.
    func keylessParents(
        _ named: ReferringName, _ column: String, in table: TrackedTable, _ all: ReferredTables
    ) -> [TrackedTable] {
        named.candidates(among: all.keyless, of: table).filter(\.isSure).map(\.parent)
            .filter { $0 !== table && $0.localPositions[column.folded] == nil }
    }

    /// Of a table that is called after the two whose rows it joins, the one that no column is called after: `KeywordImage(image,
    /// tag)` of `Keyword`.
    func linkedParent(_ column: String, in table: TrackedTable, _ all: ReferredTables) throws -> TrackedTable? {
        guard let parent = unnamedEnd(of: table, all) else { return nil }
        return try integers.isWhollyOf(parent, column, in: table) && integers.hasSeveral(column, in: table)
            ? parent : nil
    }

    /// Whether a table has such a column.
    func unnamedEnd(of table: TrackedTable, _ all: ReferredTables) -> TrackedTable? {
        let words = Words(table.schema.name).all
        guard !hasRecipe, words.count > 1 else { return nil }
        func isMeant(_ named: NamedTable) -> Bool {
            table.columns.contains { other in
                other.reference?.folded == named.table.name.folded
                    || table.schema.affinity(of: other.local) == .integer
                        && ReferringName(other.local).candidates(among: [named], of: table).contains {
                            $0.rank.distance < 3
                        }
            }
        }
        let parents = all.names.filter { first in
            guard first.table !== table, first.names(table) else { return false }
            let rest = Words.singular(words.dropFirst(first.words.all.count).joined())
            return !isMeant(first)
                && all.names.contains { last in
                    last.table !== first.table && last.table !== table
                        && (last.endings + [last.whole ?? []]).contains { !$0.isDisjoint(with: rest) } && isMeant(last)
                }
        }
        return parents.count == 1 ? parents[0].table : nil
    }

    /// The table that a column's last words are called after, where the column holds its rows and nothing else.
    func looseParent(
        _ named: ReferringName, _ column: String, in table: TrackedTable, _ all: ReferredTables
    ) throws -> TrackedTable? {
        guard !hasRecipe else { return nil }
        if named.isBesideKey(of: table), try integers.isWhollyOf(table, column, in: table),
            try integers.hasSeveral(column, in: table, atLeast: 2)
        {
            return table
        }
        return try named.looseParents(among: all.names).first { parent in
            try integers.isWhollyOf(parent, column, in: table) && integers.hasSeveral(column, in: table, atLeast: 2)
        }
    }
}
