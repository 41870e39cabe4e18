import Foundation
import LogSyncModel
import LogSyncSQLite

/// What columns hold, as far as it tells whether their integers are rows of a table.
final class ColumnIntegers {
    /// Integers from here on are dates in milliseconds, or drawn by lot, rather than counted.
    static let large: Int64 = 1 << 24
    /// How many rows are looked at for what holds of most of them.
    private static let sample = 10_000

    private let connection: Connection
    private var spreads: [ObjectIdentifier: Spread] = [:]

    init(_ connection: Connection) { self.connection = connection }

    struct Values {
        /// Whether there is a value that is no integer.
        var hasOthers: Bool
        /// The greatest integer above 0; nil where there is none.
        var greatest: Int64?
    }

    func values(of column: String, in table: TrackedTable) throws -> Values {
        let name = SQL.name(column)
        let row = try connection.rows(
            """
            SELECT coalesce(max(typeof(\(name)) NOT IN ('integer', 'null') AND \(name) <> ''), 0),
            max(CASE WHEN typeof(\(name)) = 'integer' AND \(name) > 0 THEN \(name) END)
            FROM \(table.quoted)
            """)[0]
        var greatest: Int64?
        if case .integer(let integer) = row[1] { greatest = integer }
        return Values(hasOthers: row[0] == .integer(1), greatest: greatest)
    }

    func holdsValues(_ column: String, in table: TrackedTable) throws -> Bool {
        try connection.integer("SELECT EXISTS(SELECT 1 FROM \(table.quoted) WHERE \(SQL.name(column)) > 0)") == 1
    }

    /// Whether a column holds so many integers that it is hardly a chance that they are all there as keys.
    func hasSeveral(_ column: String, in table: TrackedTable, atLeast count: Int64 = 3) throws -> Bool {
        let name = SQL.name(column)
        return try connection.integer(
            "SELECT count(*) FROM (SELECT DISTINCT \(name) FROM \(table.quoted) WHERE \(name) > 0 LIMIT \(count))"
        ) == count
    }

    /// Whether the first values of a column are as large as it takes.
    func mayBeLarge(_ column: String, in table: TrackedTable) throws -> Bool {
        let name = SQL.name(column)
        return try connection.integer(
            """
            SELECT max(first) >= \(Self.large) FROM
            (SELECT \(name) AS first FROM \(table.quoted) WHERE \(name) > 0 LIMIT 100)
            """) == 1
    }

    /// Whether each integer that a column holds is one of the parent's, but for 0 and less.
    func isWhollyOf(_ parent: TrackedTable, _ column: String, in table: TrackedTable) throws -> Bool {
        let name = "child.\(SQL.name(column))"
        return try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM \(table.quoted) AS child WHERE typeof(\(name)) = 'integer' AND \(name) > 0
            AND NOT EXISTS(SELECT 1 FROM \(parent.quoted) AS parent WHERE parent.\(parent.rowid) = \(name)))
            """) == 0
    }

    /// Whether a column holds integers, and each of them is in another column, but for 0 and less.
    func isWholly(
        _ column: String, in table: TrackedTable, of key: String, in parent: TrackedTable
    ) throws -> Bool {
        let name = "child.\(SQL.name(column))"
        return try holdsValues(column, in: table)
            && connection.integer(
                """
                SELECT EXISTS(SELECT 1 FROM \(table.quoted) AS child WHERE typeof(\(name)) = 'integer' AND \(name) > 0
                AND NOT EXISTS(SELECT 1 FROM \(parent.quoted) AS parent WHERE parent.\(SQL.name(key)) = \(name)))
                """) == 0
    }

    /// Whether half of the integers that a column holds are the parent's: rows are deleted, and nothing forgets their
    /// integers where no key is declared.
    func isMostlyOf(_ parent: TrackedTable, _ column: String, in table: TrackedTable) throws -> Bool {
        let name = SQL.name(column)
        let row = try connection.rows(
            """
            SELECT count(*), coalesce(sum(value IN (SELECT \(parent.rowid) FROM \(parent.quoted))), 0) FROM
            (SELECT DISTINCT value FROM (SELECT \(name) AS value FROM \(table.quoted)
            WHERE typeof(\(name)) = 'integer' AND \(name) > 0 LIMIT \(Self.sample)))
            """)[0]
        return row[0].asInteger > 0 && row[1].asInteger * 2 >= row[0].asInteger
    }

    /// The tables that have all integers of a column, or else half of them.
    func holders(
        among parents: [TrackedTable], of column: String, in table: TrackedTable
    ) throws -> [TrackedTable] {
        let whole = try parents.filter { try isWhollyOf($0, column, in: table) }
        return try whole.isEmpty ? parents.filter { try isMostlyOf($0, column, in: table) } : whole
    }

    /// Whether two rows have the same integer.
    func areRepeated(_ column: String, in table: TrackedTable) throws -> Bool {
        let name = SQL.name(column)
        return try connection.integer(
            "SELECT EXISTS(SELECT 1 FROM \(table.quoted) WHERE \(name) > 0 GROUP BY \(name) HAVING count(*) > 1)") == 1
    }

    /// Whether a row refers to itself, which is no row's parent.
    func hasLoop(_ column: String, in table: TrackedTable) throws -> Bool {
        try connection.integer(
            "SELECT EXISTS(SELECT 1 FROM \(table.quoted) WHERE \(SQL.name(column)) = \(table.rowid))") == 1
    }

    // MARK: Chance

    /// How a table's integers lie.
    private struct Spread {
        var count: Int64
        var greatest: Int64
        /// Whether others than these are left out, as where one counter serves several tables.
        var hasGaps: Bool { count > 2 && greatest / 4 * 3 > count }
    }

    private func spread(of table: TrackedTable) throws -> Spread {
        if let known = spreads[ObjectIdentifier(table)] { return known }
        let row = try connection.rows(
            "SELECT count(*), coalesce(max(\(table.rowid)), 0) FROM \(table.quoted) WHERE \(table.rowid) > 0")[0]
        let spread = Spread(count: row[0].asInteger, greatest: row[1].asInteger)
        spreads[ObjectIdentifier(table)] = spread
        return spread
    }

    /// Whether none of a column's integers is a row of a table that has some, and each was counted past.
    func areGone(_ column: String, in table: TrackedTable, from parent: TrackedTable) throws -> Bool {
        let name = SQL.name(column)
        var counted = try greatest(of: parent)
        guard counted > 0 else { return false }
        if parent.schema.isAutoincrement {
            counted = max(
                counted,
                try connection.integer(
                    "SELECT seq FROM sqlite_sequence WHERE name = ?", .text(parent.schema.name)) ?? 0)
        }
        return try connection.integer(
            """
            SELECT count(*) > 0 AND max(\(name)) <= \(counted)
            AND NOT max(\(name) IN (SELECT \(parent.rowid) FROM \(parent.quoted)))
            FROM \(table.quoted) WHERE typeof(\(name)) = 'integer' AND \(name) > 0
            """) == 1
    }

    /// How many integers above 0 a table's rows have.
    func count(of table: TrackedTable) throws -> Int64 { try spread(of: table).count }

    func greatest(of table: TrackedTable) throws -> Int64 { try spread(of: table).greatest }

    /// How little likely it has to be that a column holds a table's integers by chance: there are many columns, and many
    /// tables. As a natural logarithm.
    private static let chance = 21.0

    /// The tables of which a column holds so many integers, and no others, that it is no chance: each integer from 1 on is
    /// as likely.
    func certainHolders(
        among parents: [TrackedTable], of column: String, in table: TrackedTable
    ) throws -> [TrackedTable] {
        let gapped = try parents.filter { try spread(of: $0).hasGaps }
        guard !gapped.isEmpty else { return [] }
        let name = SQL.name(column)
        let values = try connection.rows(
            """
            SELECT DISTINCT value FROM (SELECT \(name) AS value FROM \(table.quoted)
            WHERE typeof(\(name)) = 'integer' AND \(name) > 0 LIMIT 1000) LIMIT 64
            """
        ).map { $0[0].asInteger }
        guard values.count > 2, let greatest = values.max() else { return [] }
        return try gapped.filter { parent in
            let count = try connection.integer(
                "SELECT count(*) FROM \(parent.quoted) WHERE \(parent.rowid) BETWEEN 1 AND ?", .integer(greatest))
            guard let count, count > 0 else { return false }
            let share = Double(greatest) / Double(count)
            return try Double(values.count) * log(share) > Self.chance && isWhollyOf(parent, column, in: table)
        }
    }
}
