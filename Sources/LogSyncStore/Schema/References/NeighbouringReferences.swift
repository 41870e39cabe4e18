// Columns that say little by themselves, and are references by what is beside them.
//
// The problem. `lastseenmsgid` is no table's name, and `position` is a number in most tables and a row in one.
//
// The evidence. A column that ends as one of its table which is known to refer (`lastmsgid`) is that table's, too, where it
// holds nothing else. And where rows of a table belong to rows of this one (`track.book_id`), a column of this one that
// holds in each row integers of just the rows that belong to it (`book.position`) names one of these.
//
// The exception. A count may be the number of a row that belongs to it, as in the first row of two tables that both count
// from 1, and so may a position be where both tables have as many rows. So there has to be a row other than the first, and
// less than one chance in three that all rows agree.

import Foundation
import LogSyncModel
import LogSyncSQLite

/// Finds them.
struct NeighbouringReferences {
    let integers: ColumnIntegers
    let connection: Connection
    /// A column that is known to refer, or seems to.
    struct Known {
        let table: TrackedTable
        let column: String
        let parent: TrackedTable
    }
    let known: [Known]

    /// The table that a column refers to; nil where nothing says that it does.
    func parent(of column: String, in table: TrackedTable) throws -> (TrackedTable, ReferenceReport.Evidence)? {
        let words = Words(column)
        guard table.schema.affinity(of: column) == .integer, !Words.isCount(words) || words.all == ["position"],
            !Words.flags.contains(words.all[0]), Words.strangers.isDisjoint(with: words.all)
        else { return nil }
        if let parent = try sibling(of: column, in: table) {
            return (parent, try integers.holdsValues(column, in: table) ? .nameAndData : .name)
        }
        return try owned(column, in: table).map { ($0, .data) }
    }

    /// The table to which another column refers that ends as this one does.
    private func sibling(of column: String, in table: TrackedTable) throws -> TrackedTable? {
        if let parent = above(column, in: table) {
            let values = try integers.values(of: column, in: table)
            if try !values.hasOthers && (values.greatest == nil || integers.isMostlyOf(parent, column, in: table)) {
                return parent
            }
        }
        for other in known where other.table === table && other.column.folded != column.folded {
            if ReferringName.begins(column, with: other.column), try isMore(column, in: table, of: other.parent) {
                return other.parent
            }
            guard let core = ReferringName.core(of: other.column), ReferringName.ends(column, with: core) else {
                continue
            }
            let values = try integers.values(of: column, in: table)
            guard !values.hasOthers else { continue }
            if try values.greatest == nil || integers.isMostlyOf(other.parent, column, in: table) {
                return other.parent
            }
        }
        return nil
    }

    /// Of a table that has no rows of its own that others may refer to, the one that its only reference is to, where a column
    /// says that it is the row above: `hierarchy(tid, parent)`.
    private func above(_ column: String, in table: TrackedTable) -> TrackedTable? {
        guard table.localInteger == nil, ReferringName(column).isParent(in: table), Words(column).all.count < 3 else {
            return nil
        }
        let parents = known.filter { $0.table === table && $0.column.folded != column.folded }.map(\.parent)
        return parents.count == 1 ? parents[0] : nil
    }

    /// Whether a column that is called as a reference, with words after it, holds rows of the same table and nothing else.
    private func isMore(_ column: String, in table: TrackedTable, of parent: TrackedTable) throws -> Bool {
        try !integers.values(of: column, in: table).hasOthers && integers.hasSeveral(column, in: table)
            && integers.isWhollyOf(parent, column, in: table)
    }

    /// The table of which a column holds, in each row, one of the rows that belong to that row.
    private func owned(_ column: String, in table: TrackedTable) throws -> TrackedTable? {
        guard table.localInteger != nil else { return nil }
        for child in known
        where child.parent === table && child.table !== table && child.table.localInteger != nil {
            if try isOwned(column, in: table, by: child) { return child.table }
        }
        return nil
    }

    private func isOwned(_ column: String, in table: TrackedTable, by child: Known) throws -> Bool {
        let (name, id) = ("owner.\(SQL.name(column))", "owner.\(table.rowid)")
        let reference = "child.\(SQL.name(child.column))"
        let row = try connection.rows(
            """
            SELECT EXISTS(SELECT 1 FROM \(table.quoted) AS owner WHERE \(name) > 0 AND \(name) <> \(id)),
            EXISTS(SELECT 1 FROM \(table.quoted) AS owner WHERE (\(name) > 0 OR typeof(\(name)) NOT IN ('integer', 'null'))
            AND NOT EXISTS(SELECT 1 FROM \(child.table.quoted) AS child
            WHERE child.\(child.table.rowid) = \(name) AND \(reference) = \(id)))
            """)[0]
        guard row[0] == .integer(1), row[1] == .integer(0) else { return false }
        let shares = try connection.rows(
            """
            SELECT count(*), min(child.\(child.table.rowid)) FROM \(table.quoted) AS owner
            JOIN \(child.table.quoted) AS child ON \(reference) = \(id) WHERE \(name) > 0 GROUP BY \(id) LIMIT 64
            """)
        let first = try connection.integer("SELECT min(\(child.table.rowid)) FROM \(child.table.quoted)") ?? 0
        let all = Double(try integers.count(of: child.table))
        let chance = shares.map { log(Double($0[0].asInteger) / all) }.reduce(0, +)
        return chance < log(1.0 / 3) && shares.contains { $0[1].asInteger > first }
    }
}

extension ReferringName {
    /// What a column's name says of what it refers to, without words of how: `msgid` of `lastmsgid`. Nil where that is not
    /// much.
    static func core(of column: String) -> String? {
        var words = Words(column).all
        while words.count > 1, relations.contains(words[0]), !Words.marks.contains(words[0]) { words.removeFirst() }
        var core = words.joined()
        if words.count == 1 {
            // Without a border, one word that says how.
            let before = relations.filter { $0.count > 3 && core.hasPrefix($0) && core.count - $0.count > 3 }
            core = String(core.dropFirst(before.map(\.count).max() ?? 0))
        }
        let isMarked = ["id", "fk", "ref"].contains { core.hasSuffix($0) && core.count > $0.count + 2 }
        return isMarked && !isAnyKey(core) ? core : nil
    }

    /// Whether a column's name is a reference's, with words after it that say of which time or kind that is:
    /// `origin_current` beside `origin`.
    static func begins(_ column: String, with reference: String) -> Bool {
        let (words, first) = (Words(column).all, Words(reference).all)
        guard words.count > first.count, words.starts(with: first), first.joined().count > 3 else { return false }
        return !words.dropFirst(first.count).contains(where: Words.isOwn)
    }

    /// Whether a column's name is other words before a core.
    static func ends(_ column: String, with core: String) -> Bool {
        let whole = Words(column).all.joined()
        return whole.count > core.count + 1 && whole.hasSuffix(core)
    }
}
