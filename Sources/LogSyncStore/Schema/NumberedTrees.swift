// Tables whose rows are numbered in the order of a tree.
//
// A program that keeps a tree as nested sets gives each row two numbers, between which are those of all rows below it
// (`lft`, `rgt`). It works them out from all rows: a row that is added or moved changes those of others. Two machines
// that add a row at the same time have each numbered a tree without the other's row. Merged cell by cell, their numbers
// are no tree: a row is found below another one, or below none, and nothing in the database says so.
//
// An example. Under Toys (4, 5), desk adds a book further left and makes it (6, 7), and laptop adds a ball and makes it
// (4, 7). What both show, (6, 7), has no ball in it.
//
// A path that is counted (`00010002`, of treebeard) is given to two rows below the same one. It is UNIQUE, so that one of
// them is parked.

import LogSyncModel
import LogSyncSQLite

/// Finds them.
struct NumberedTrees {
    let catalog: Catalog
    let connection: Connection

    private static let bounds = [("lft", "rgt"), ("lft", "rght"), ("treeleft", "treeright")]
    /// What may as well be the sides of something.
    private static let sides = [("left", "right")]

    /// A sentence a table.
    func warnings() throws -> [String] {
        try catalog.programTables.compactMap { table in
            if let bounds = try bounds(of: table) {
                return
                    "\(table.schema.name): \(bounds.0) and \(bounds.1) number all rows in the order of a tree, which the "
                    + "program works out from all of them: what two machines add or move at once does not fit together, and "
                    + "rows are found below others than their own; let one machine alone do that, or have the program number "
                    + "the tree anew when both have met"
            }
            if let path = path(of: table) {
                return
                    "\(table.schema.name): \(path) says by numbers where a row stands in a tree: of two rows that two "
                    + "machines add below the same one at once, one is parked; let one machine alone add and move them"
            }
            return nil
        }
    }

    private func bounds(of table: TrackedTable) throws -> (String, String)? {
        for (pairs, isSure) in [(Self.bounds, true), (Self.sides, false)] {
            for (left, right) in pairs {
                guard let left = column(left, of: table), let right = column(right, of: table),
                    try areBounds(left, right, in: table, isSure: isSure)
                else { continue }
                return (left, right)
            }
        }
        return nil
    }

    private func column(_ name: String, of table: TrackedTable) -> String? {
        table.columns.first { column in
            column.reference == nil && table.schema.affinity(of: column.local) == .integer
                && Words(column.local).all.joined() == name
        }?.local
    }

    /// Whether each row's first number is less than its second.
    ///
    /// - Parameter isSure: whether the names leave no doubt; otherwise the rows have to have all numbers that a tree has.
    private func areBounds(
        _ left: String, _ right: String, in table: TrackedTable, isSure: Bool
    ) throws -> Bool {
        let (l, r) = (SQL.name(left), SQL.name(right))
        let rows = try connection.rows(
            """
            SELECT count(*), coalesce(sum(\(l) >= \(r)), 0), coalesce(max(\(r)) - min(\(l)) + 1 = 2 * count(*), 0)
            FROM \(table.quoted) WHERE \(l) IS NOT NULL AND \(r) IS NOT NULL
            """)
        guard let row = rows.first else { return isSure }
        let (count, wrong, isWhole) = (row[0].asInteger, row[1].asInteger, row[2].asInteger == 1)
        return wrong == 0 && (isSure || count > 2 && isWhole)
    }

    /// The column of paths that are counted: UNIQUE, beside a depth and a number of rows below.
    private func path(of table: TrackedTable) -> String? {
        guard column("depth", of: table) != nil, column("numchild", of: table) != nil else { return nil }
        return table.schema.uniqueIndexes.lazy.compactMap { index in
            index.columns?.count == 1 ? index.columns?.first?.name : nil
        }.first { Words($0).all == ["path"] }
    }
}
