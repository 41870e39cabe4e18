// Columns in which a program counts rows.
//
// Two machines that each add a row to one parent both write what they have counted, and neither has counted the other's: of
// two last writers' counts none is right. What each of them has added is. So `init` gives such a column the policy `sum`,
// where the program's own triggers or the data say that it is one:
//
// - triggers both add to it and take away (`n = n + 1` after an insert, `n = n - 1` after a delete). What is only added
//   to may be a number that is never to be given twice.
// - a trigger sets it to what a query counts or adds up (`n = (SELECT count(*) FROM ...)`)
// - it is called as a table's count (`posts_count`, `num_posts` or `postCount`, where `posts` refers to its table), and
//   the data do not say otherwise: in no row is it more than that, for some rows may not count (what is in the bin, what
//   waits for approval), and it is not 0 in all of them where there are rows to count. Nearly every program begins with
//   a table that is empty, and so does its count.
//
// An example. Desk and laptop each insert a message into a thread of 2. Both set the count to 3; recorded is that each
// added 1, and both show 4. Where both delete the same message, each takes 1 away, and the count is too low by one.

import Foundation
import LogSyncModel
import LogSyncSQLite

/// Finds the columns in which a program counts rows.
struct CountedColumns {
    struct Column: Sendable {
        /// By names in the database.
        var table: String
        var column: String

        var target: String { "\(table).\(column)" }

        var suggestion: String {
            "\(column) is taken for a count of rows: what is added to it and taken away on several machines adds up; "
                + "where the last write is to be shown: --policy \(table.asShellArgument).\(column.asShellArgument)=last-writer"
        }
    }

    private let catalog: Catalog
    private let connection: Connection

    /// - Parameter catalog: what is replicated.
    init(_ catalog: Catalog, on connection: Connection) {
        self.catalog = catalog
        self.connection = connection
    }

    /// - Parameter said: the tables and columns, as `TABLE` and `TABLE.COLUMN` in lower case, whose policies are chosen.
    func found(except said: Set<String>) throws -> [Column] {
        let kept = try Self.countedByTriggers(on: connection)
        var found: [Column] = []
        for table in catalog.tables where !said.contains(table.schema.name.folded) {
            for column in table.columns
            where !column.namesRows && table.schema.affinity(of: column.local) != .text {
                let counted = Column(table: table.schema.name, column: column.local)
                guard !said.contains(counted.target.folded) else { continue }
                let isKept = kept[table.schema.name.folded]?.contains(column.local.folded) ?? false
                if try isKept || isRowCount(column.local, of: table) { found.append(counted) }
            }
        }
        return found
    }

    /// The columns that the program's triggers count rows in since a migration, by their names in logs, where nobody has said
    /// what their policies are, nor of their tables: who founds a content has looked at the columns of that time.
    func later(except said: Set<String>) throws -> [String] {
        let kept = try Self.countedByTriggers(on: connection)
        return catalog.tables.filter { !said.contains($0.name.folded) }.flatMap { table in
            table.columns.filter { column in
                kept[table.schema.name.folded]?.contains(column.local.folded) ?? false && !column.namesRows
                    && table.schema.affinity(of: column.local) != .text
            }.map { "\(table.name).\($0.name)" }
        }.filter { !said.contains($0.folded) }
    }

    /// Whether a column is called as the count of another table's rows, and its rows do not say otherwise.
    private func isRowCount(_ column: String, of table: TrackedTable) throws -> Bool {
        guard let counted = Self.counted(column) else { return false }
        for child in catalog.tables
        where Words(child.schema.name).endings.contains(where: { Words.isSame($0, counted) }) {
            for reference in child.columns where reference.reference?.folded == table.schema.name.folded {
                if try mayCount(column, of: table, by: reference, of: child) { return true }
            }
        }
        return false
    }

    /// What a column is called as the count of: `posts` of `posts_count`; nil where it is not called as a count of anything.
    private static func counted(_ column: String) -> String? {
        let words = Words(column).all
        guard words.count > 1 else { return nil }
        if ["count", "counter", "cnt", "num", "nb"].contains(words[words.count - 1]) {
            return words.dropLast().joined()
        }
        if ["num", "nb", "count"].contains(words[0]) { return words.dropFirst().joined() }
        return nil
    }

    private func mayCount(
        _ column: String, of table: TrackedTable, by reference: TrackedTable.Column, of child: TrackedTable
    ) throws -> Bool {
        let (name, key) = (SQL.name(column), SQL.name(reference.local))
        return try connection.integer(
            """
            SELECT coalesce(min(coalesce(p.\(name), 0) BETWEEN 0 AND coalesce(c.n, 0)), 1)
                AND (coalesce(max(c.n), 0) = 0 OR max(p.\(name)) > 0)
            FROM \(table.quoted) AS p
            LEFT JOIN (SELECT \(key) AS parent, count(*) AS n FROM \(child.quoted) GROUP BY 1) AS c
              ON c.parent = p.\(table.rowid)
            """) == 1
    }

    // MARK: Triggers

    /// The columns that triggers keep, by table, all in lower case.
    static func countedByTriggers(on connection: Connection) throws -> [String: Set<String>] {
        var signs: [String: [String: Set<String>]] = [:]
        for trigger in try connection.rows(
            "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name NOT LIKE 'logsync\\_%' ESCAPE '\\'")
        {
            let tokens = SQLTokens(String(text: trigger[0]))
            for index in 0..<tokens.count where index > 0 && tokens.word(index) == "SET" {
                let table = tableName(tokens, before: index)
                for assignment in assignments(tokens, after: index) {
                    let column = tokens.name(assignment.lowerBound).folded
                    let value = assignment.lowerBound + 2..<assignment.upperBound
                    if isQueried(tokens, value) {
                        signs[table, default: [:]][column, default: []].formUnion(["+", "-"])
                    } else if let sign = sign(tokens, value, column) {
                        signs[table, default: [:]][column, default: []].insert(sign)
                    }
                }
            }
        }
        return signs.mapValues { Set($0.filter { $0.value.count == 2 }.keys) }
    }

    /// The table of which a SET writes columns: `UPDATE t SET`, `INSERT INTO t ... DO UPDATE SET`.
    private static func tableName(_ tokens: SQLTokens, before set: Int) -> String {
        let into = tokens.word(set - 1) == "UPDATE" ? (0..<set).last { tokens.word($0) == "INTO" } : nil
        return tokens.name(into.map { $0 + 1 } ?? set - 1).folded
    }

    /// The tokens of each `column = value` behind a SET.
    private static func assignments(_ tokens: SQLTokens, after set: Int) -> [Range<Int>] {
        let limit = tokens.firstIndex(of: ";", from: set) ?? tokens.count
        var depth = 0
        let end =
            (set + 1..<max(set + 1, limit)).first { index in
                if tokens.word(index) == "(" { depth += 1 }
                if tokens.word(index) == ")" { depth -= 1 }
                return depth == 0 && ["WHERE", "FROM"].contains(tokens.word(index))
            } ?? limit
        guard set + 1 < end else { return [] }
        var found: [Range<Int>] = []
        var start = set + 1
        for comma in tokens.commas(in: set + 1..<end) + [end] {
            if start + 2 < comma, tokens.word(start + 1) == "=" { found.append(start..<comma) }
            start = comma + 1
        }
        return found
    }

    /// Whether a value is what a query counts or adds up.
    private static func isQueried(_ tokens: SQLTokens, _ value: Range<Int>) -> Bool {
        let words = value.map { tokens.word($0) }.drop { ["(", "COALESCE", "IFNULL"].contains($0) }
        guard words.first == "SELECT" else { return false }
        let chosen = words.dropFirst().drop { ["(", "COALESCE", "IFNULL"].contains($0) }
        return ["COUNT", "SUM", "TOTAL"].contains(chosen.first)
    }

    /// What is done to a column in a value: `n + ...`, `coalesce(n, 0) - ...`; nil where it is something else.
    private static func sign(_ tokens: SQLTokens, _ value: Range<Int>, _ column: String) -> String? {
        for index in value.dropFirst() where ["+", "-"].contains(tokens.word(index)) {
            if tokens.name(index - 1).folded == column { return tokens.word(index) }
            let call = index - 6
            if call >= value.lowerBound, ["COALESCE", "IFNULL"].contains(tokens.word(call)),
                tokens.name(call + 2).folded == column, tokens.word(call + 4) == "0"
            {
                return tokens.word(index)
            }
        }
        return nil
    }
}
