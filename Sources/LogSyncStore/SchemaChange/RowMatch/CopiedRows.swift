// Whether a table that was made anew has the rows that it had.
//
// The problem. A rebuild copies rows into a table without triggers, and may change what they hold; programs write to it
// before anybody looks. `DROP TABLE t; CREATE TABLE t` looks the same afterwards, and rows that have nothing to do with the
// former ones stand under their integers. Taken for copies they would inherit what other peers have written to those.
//
// The rule. Of pairs of a row and the record that stands for it, by integer or by order, rows are copies where half of the
// pairs hold the same, or where they do in one column whose values tell rows apart, more often than by chance. Where ALTER
// TABLE has given the table its name, as it does at the end of a rebuild, one such pair is enough, and a single row is
// a copy whatever it holds.
//
// An example. Records 1 = (Ann, 3) and 2 = (Bob, 4). Rows 1 = (ANN, 3) and 2 = (Bob, 5) are copies, since Bob is there again;
// rows 1 = (Cy, 3) and 2 = (Di, 4) are not: small numbers tell nothing.

import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Pairs of rows and records, as far as they speak for or against the rows' being copies.
struct CopiedRows {
    private let columns: [TrackedTable.Column]
    private let valueDigest: ValueDigest
    /// Whether ALTER TABLE has given the table its name.
    private let isRenamed: Bool
    private var count = 0
    private var sameRows = 0
    private var tallies: [Tally]

    /// How often rows and records hold the same in a column, and how often they hold each value.
    private struct Tally {
        var same = 0
        var rows: [UInt32: Int] = [:]
        var records: [UInt32: Int] = [:]

        /// How many pairs would hold the same by chance.
        func expected(_ count: Int) -> Double {
            rows.reduce(0.0) { $0 + Double($1.value) * Double(records[$1.key] ?? 0) } / Double(count)
        }
    }

    /// - Parameter columns: the ones that speak for or against it.
    init(_ columns: [TrackedTable.Column], of table: TrackedTable) {
        self.columns = columns
        valueDigest = table.valueDigest
        isRenamed = false
        tallies = Array(repeating: Tally(), count: columns.count)
    }

    init(_ table: TrackedTable, on connection: Connection) throws {
        columns = table.columns
        valueDigest = table.valueDigest
        let sql = try connection.scalar(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE", .text(table.schema.name))
        // So ALTER TABLE leaves it.
        isRenamed = sql.map { String(text: $0).hasPrefix("CREATE TABLE \(SQL.name(table.schema.name))") } ?? true
        tallies = Array(repeating: Tally(), count: table.columns.count)
    }

    /// - Parameters:
    ///   - row: its values by column position.
    ///   - record: its digests by column id.
    mutating func add(_ row: [Value], _ record: [UInt32]) {
        count += 1
        var isSame = true
        for (position, column) in columns.enumerated() where column.id < record.count {
            let value = row[position]
            let known = record[column.id]
            let holds = Self.holds(value, known, valueDigest)
            isSame = isSame && holds
            guard value.tellsRows else { continue }
            let digest = holds ? known : UInt32(truncatingIfNeeded: valueDigest.of(value))
            tallies[position].same += holds ? 1 : 0
            tallies[position].rows[digest, default: 0] += 1
            tallies[position].records[known, default: 0] += 1
        }
        sameRows += isSame ? 1 : 0
    }

    /// Whether a row holds what a record says in a column, be it as another type.
    private static func holds(_ value: Value, _ known: UInt32, _ valueDigest: ValueDigest) -> Bool {
        ([value] + value.otherTypes).contains { UInt32(truncatingIfNeeded: valueDigest.of($0)) == known }
    }

    /// Whether a row holds what a record says, as far as that knows the columns.
    func isSame(_ row: [Value], _ record: [UInt32]) -> Bool {
        columns.enumerated().allSatisfy { position, column in
            column.id >= record.count || Self.holds(row[position], record[column.id], valueDigest)
        }
    }

    var isEmpty: Bool { count == 0 }

    var areLikely: Bool {
        guard count > 0, sameRows * 2 < count else { return true }
        if count == 1 { return isRenamed || tallies.contains { $0.same > 0 } }
        return tallies.contains { tally in
            let expected = tally.expected(count)
            return (isRenamed || tally.same * 2 >= count) && Double(tally.same) > expected
                && (expected <= 1 || Double(tally.same) - expected >= 2 * expected.squareRoot())
        }
    }
}
