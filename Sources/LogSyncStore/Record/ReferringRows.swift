import LogSyncModel
import LogSyncSQLite

/// The rows of a table that hold an integer in a column.
///
/// A migration that gives other integers to all rows of a table asks for each of these. Where no index is of the column, each
/// question would read all rows, so that they are read once, when there is more than one question.
final class ReferringRows {
    private let child: TrackedTable
    private let column: TrackedTable.Column
    private let connection: Connection
    private var isAsked = false
    /// nil as long as that is not needed.
    private var isIndexed: Bool?
    /// What rows held when they were read, in ascending order.
    private var held: [(integer: Int64, rowid: Int64)] = []
    /// What rows held before, by what they hold since.
    private var former: [Int64: [Int64]] = [:]

    init(of child: TrackedTable, by column: TrackedTable.Column, on connection: Connection) {
        self.child = child
        self.column = column
        self.connection = connection
    }

    private var name: String { SQL.name(column.local) }

    /// - Returns: their keys, and their rowids, where they have any; in ascending order of these.
    func rows(holding integer: Int64) throws -> [(key: RowKey, rowid: Int64?)] {
        defer { isAsked = true }
        let condition = "\(name) = ?1"
        guard isAsked, child.hasRowid, try isRead(condition) else {
            return try rows(where: condition, .integer(integer))
        }
        return try rowids(holding: integer).flatMap { rowid in
            try rows(where: "\(condition) AND \(child.rowid) = ?2", .integer(integer), .integer(rowid))
        }
    }

    /// Notes that all rows that hold an integer come to hold another one.
    func note(_ integer: Int64, became other: Int64) { former[other, default: []].append(integer) }

    private func rows(where condition: String, _ values: Value...) throws -> [(key: RowKey, rowid: Int64?)] {
        let keys = child.capturesKey ? child.keyColumnNames.map { ", \(SQL.name($0))" }.joined() : ""
        let rowid = child.hasRowid ? child.rowid : "NULL"
        let statement = try connection.prepare("SELECT \(rowid)\(keys) FROM \(child.quoted) WHERE \(condition)")
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        defer { statement.reset() }
        var found: [(key: RowKey, rowid: Int64?)] = []
        while try statement.step() {
            let rowid = statement.isNull(0) ? nil : statement.integer(0)
            guard let key = CapturedChanges.key(in: child, rowid: rowid, value: { statement.value(1 + $0) })
            else { continue }
            found.append((key, rowid))
        }
        return found
    }

    /// Whether the table's rows have been read, because no index is of the column.
    private func isRead(_ condition: String) throws -> Bool {
        if isIndexed == nil {
            let plan = try connection.rows(
                "EXPLAIN QUERY PLAN SELECT 1 FROM \(child.quoted) WHERE \(condition)", .integer(0))
            isIndexed = !plan.contains { String(text: $0[3]).hasPrefix("SCAN") }
            if isIndexed == false { held = try read() }
        }
        return isIndexed == false
    }

    private func read() throws -> [(integer: Int64, rowid: Int64)] {
        var read: [(integer: Int64, rowid: Int64)] = []
        let statement = try Statement(
            "SELECT \(name), \(child.rowid) FROM \(child.quoted) WHERE \(name) IS NOT NULL", on: connection)
        while try statement.step() {
            guard let integer = statement.value(0).asWritten else { continue }
            read.append((integer, statement.integer(1)))
        }
        return read.sorted { $0 < $1 }
    }

    private func rowids(holding integer: Int64) -> [Int64] {
        var (seen, next): (Set<Int64>, [Int64]) = ([integer], [integer])
        var rowids: [Int64] = []
        while let integer = next.popLast() {
            rowids += range(of: integer)
            next += (former[integer] ?? []).filter { seen.insert($0).inserted }
        }
        return rowids.sorted()
    }

    private func range(of integer: Int64) -> [Int64] {
        var (low, high) = (0, held.count)
        while low < high {
            let middle = (low + high) / 2
            if held[middle].integer < integer { low = middle + 1 } else { high = middle }
        }
        return held[low...].prefix { $0.integer == integer }.map(\.rowid)
    }
}

extension Value {
    /// The integer that a column of some type may hold this in place of; nil where SQLite finds it equal to none.
    fileprivate var asWritten: Int64? {
        switch self {
        case .integer(let integer): integer
        case .real(let real): Int64(exactly: real)
        case .text: Int64(String(text: self))
        default: nil
        }
    }
}
