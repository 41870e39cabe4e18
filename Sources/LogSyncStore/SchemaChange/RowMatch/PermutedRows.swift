// Which rows have exchanged their integers in a rebuild.
//
// The problem. `INSERT INTO p_new SELECT 7 - id, name FROM p` leaves the integers that there are, each with another row.
// Taken by their integers, all rows have been edited, and what refers to them refers to others. No trigger says which it
// was, and a program may as well have written names anew under integers that mean what they did.
//
// The steps. Some rows are compared with the records of their integers; where all hold the same, nothing else is looked at.
// Otherwise rows and records that differ are paired by all that they hold, by what they hold beside references, by the
// columns whose values are there as before in whatever order, and by what is UNIQUE; then what is left by single columns.
//
// The rule. A row speaks for it where it agrees with the record of another integer in more columns than with that of its
// own, in values that tell rows apart. Rows have exchanged their integers where most of the pairs say so: in
// two columns, or in one, if half of the table's rows have moved. Where rows that refer to them have gone on naming the same
// integers, integers are what says which row is which, and rows were edited.
//
// An example. Records 1 = (Ann, 1990) and 2 = (Bob, 1985). Rows 1 = (Bob, 1985) and 2 = (Ann, 1990) have exchanged their
// integers, and what refers to Ann by 1 is expected to say 2; where it still says 1, the two were put right.

import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Rows and records of a table that has lost its triggers, and has rows under the same integers as before.
struct PermutedRows {
    let store: OpenStore
    let table: TrackedTable

    private var connection: Connection { store.connection }

    typealias Move = (from: Int64, to: Int64)

    /// So many rows tell whether any have moved, and whether rows that refer to them have followed.
    private static let enough = 1_000

    /// Whether some row holds something else than the record of its integer, as far as few rows say, spread over all: of those
    /// that no program has written, where there are any.
    func mayBeSome() throws -> Bool {
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        let all = try clock.allRows()
        let passes = try CapturedPasses(
            over: table.clock, in: table.pending, after: table.recorded, on: connection)
        let written = Set(
            try connection.rows(
                "SELECT row, number FROM \(table.pending) WHERE number > \(table.recorded) AND row IS NOT NULL"
            ).filter { !passes.contains($0[1].asInteger) }.map(\.[0].asInteger))
        var isAnyTold = false
        for index in stride(from: 0, to: all.count, by: max(1, all.count / Self.enough)) {
            guard !written.contains(all[index]), let record = try clock.record(at: all[index])?.digests,
                let row = try reader.row(at: all[index])?.digests
            else { continue }
            if !table.columns.indices.allSatisfy({ agree(row, record, $0) }) { return true }
            isAnyTold = true
        }
        return !isAnyTold && !all.isEmpty
    }

    /// - Parameters:
    ///   - rows: the digests of what they hold, by integer; rows that differ from their records.
    ///   - records: the same of records.
    func moves(_ rows: [Int64: [UInt64]], _ records: [Int64: [UInt32]]) throws -> [Move] {
        let pairs = pairs(rows, records)
        let telling = try tellingColumns(rows)
        let none = table.valueDigest.of(.null)
        var moves: [Move] = []
        var (certain, strong) = (0, 0)
        for (row, record) in pairs where row != record {
            guard let values = rows[row], let found = records[record] else { continue }
            var (more, fewer) = (0, 0)
            for index in table.columns.indices where values[index] != none {
                let isAgreed = agree(values, found, index)
                let isOwn = records[row].map { agree(values, $0, index) } ?? false
                if isOwn && !isAgreed { fewer += 1 }
                if isAgreed && !isOwn && telling.contains(index) { more += 1 }
            }
            guard more >= fewer else { continue }
            certain += more > fewer ? 1 : 0
            strong += more > fewer + 1 ? 1 : 0
            moves.append((record, row))
        }
        guard certain > 0, certain * 2 >= pairs.count(where: { $0.row != $0.record }) else { return [] }
        let all = try connection.integer("SELECT count(*) FROM \(table.clock)") ?? 0
        guard strong * 2 >= moves.count || Int64(moves.count) * 2 >= all,
            try !areNamedAsBefore(moves)
        else { return [] }
        return moves
    }

    private func agree(_ row: [UInt64], _ record: [UInt32], _ index: Int) -> Bool {
        let id = table.columns[index].id
        return id >= record.count || record[id] == UInt32(truncatingIfNeeded: row[index])
    }

    // MARK: Pairs

    private func pairs(_ rows: [Int64: [UInt64]], _ records: [Int64: [UInt32]]) -> [(row: Int64, record: Int64)] {
        var (rows, records) = (rows, records)
        var pairs: [(row: Int64, record: Int64)] = []
        func pair(by columns: [Int], isUnique: Bool = false) {
            guard !columns.isEmpty else { return }
            for (row, record) in ContentMatch(table: table).pairs(rows, records, by: columns, isUnique: isUnique) {
                rows[row] = nil
                records[record] = nil
                pairs.append((row, record))
            }
        }
        func isReference(_ index: Int) -> Bool { table.columns[index].reference != nil }
        let columns = Array(table.columns.indices)
        let steady = columns.filter { isSteady($0, rows, records) }
        pair(by: columns)
        pair(by: columns.filter { !isReference($0) })
        pair(by: steady)
        pair(by: steady.filter { !isReference($0) })
        for slot in table.uniqueSlots { pair(by: slot.map(\.index), isUnique: true) }
        guard pairs.contains(where: { $0.row != $0.record }) else { return pairs }
        // A row that is left, and whose integer no other row or record has, may only have been edited.
        let moved = Set(pairs.flatMap { [$0.row, $0.record] })
        for integer in rows.keys where records[integer] != nil && !moved.contains(integer) {
            rows[integer] = nil
            records[integer] = nil
        }
        for index in steady where !isReference(index) { pair(by: [index], isUnique: true) }
        return pairs
    }

    /// Whether most of what records say of a column is there, under whatever integers.
    private func isSteady(_ index: Int, _ rows: [Int64: [UInt64]], _ records: [Int64: [UInt32]]) -> Bool {
        let id = table.columns[index].id
        let none = UInt32(truncatingIfNeeded: table.valueDigest.of(.null))
        var known: [UInt32: Int] = [:]
        var count = 0
        for record in records.values where id < record.count && record[id] != none {
            known[record[id], default: 0] += 1
            count += 1
        }
        var same = 0
        for row in rows.values {
            let digest = UInt32(truncatingIfNeeded: row[index])
            guard let left = known[digest], left > 0 else { continue }
            known[digest] = left - 1
            same += 1
        }
        return same * 2 > count
    }

    /// The columns that hold what rows without anything in common do not hold alike.
    private func tellingColumns(_ rows: [Int64: [UInt64]]) throws -> Set<Int> {
        let reader = TableReader(table: table, store: store)
        var telling: Set<Int> = []
        for row in rows.keys.sorted().prefix(Self.enough) {
            guard let values = try reader.row(at: row)?.values else { continue }
            telling.formUnion(
                table.columns.indices.filter { table.columns[$0].reference == nil && values[$0].tellsRows })
        }
        return telling
    }

    // MARK: References

    /// Whether rows that refer to those which would have moved name the integers that they named before.
    private func areNamedAsBefore(_ moves: [Move]) throws -> Bool {
        let moved = Set(moves.map(\.from))
        var (same, others) = (0, 0)
        for (child, column) in store.catalog.referrers(of: table) where child.id != table.id && child.hasRowid {
            guard let position = child.columns.firstIndex(where: { $0.id == column.id }) else { continue }
            let clock = ClockTable(table: child, connection: connection)
            let reader = TableReader(table: child, store: store)
            for row in try connection.rows("SELECT row FROM \(child.clock) LIMIT \(Self.enough)") {
                let row = row[0].asInteger
                guard let record = try clock.record(at: row)?.digests, column.id < record.count,
                    case .integer(let named)? = try reader.row(at: row)?.values[position]
                else { continue }
                let isSame = record[column.id] == UInt32(truncatingIfNeeded: child.valueDigest.of(.integer(named)))
                if isSame, moved.contains(named) { same += 1 }
                if !isSame { others += 1 }
            }
        }
        return same > others
    }
}
