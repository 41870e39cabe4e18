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
            return looseEndings.contains { ending in
                !table.isDisjoint(with: ending) || parent.shortened.contains { !$0.isDisjoint(with: ending) }
            }
        }.map(\.table)
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

extension UndeclaredReferences {
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

    /// The table that a column's last words are called after, where the column holds its rows and nothing else.
    func looseParent(
        _ named: ReferringName, _ column: String, in table: TrackedTable, _ all: ReferredTables
    ) throws -> TrackedTable? {
        guard !hasRecipe else { return nil }
        return try named.looseParents(among: all.names).first { parent in
            try integers.isWhollyOf(parent, column, in: table) && integers.hasSeveral(column, in: table, atLeast: 2)
        }
    }
}
