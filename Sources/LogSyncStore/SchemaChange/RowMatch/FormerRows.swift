import LogSyncModel
import LogSyncSQLite
import LogSyncState

// How many of the rows that clock records are of another table may hold.
//
// The problem. A rebuild may change what rows hold, several migrations may run before anybody looks, and then the table may
// be archived under another name, and another be made under its own. No integer and no key need be what it was.
//
// The rule. A row is there where another holds the same in all columns; and, since one changed column is enough to make all
// rows differ, also where it holds the same in one column whose values tell rows apart: no two records have the same, and
// it is no small number. The column in which most rows are found counts. Where a column is called otherwise or gone, the
// others alone say it, half of them at least.

/// What records of one table say of its columns.
struct FormerRows {
    private let connection: Connection
    private let valueDigest: ValueDigest
    /// What the table calls its columns, in the order of their ids.
    private let columns: [String]
    /// How many there are, of the first 100,000.
    private(set) var count = 0
    /// By how many of the columns they know, how often each has the same in all of these.
    private var whole: [Int: [[UInt32]: Int]] = [:]
    /// The values by column that one record alone has; nil where several have the same.
    private var single: [Set<UInt32>?]

    /// So many rows tell.
    private static let enough = 100_000

    /// - Parameters:
    ///   - table: that may be gone.
    ///   - deleted: the places of records that do not count.
    init(of table: TrackedTable, except deleted: Set<Int64> = [], on connection: Connection) throws {
        self.connection = connection
        valueDigest = try DigestKey.read(on: connection)
        let known = try connection.rows(
            "SELECT id, name FROM logsync_column WHERE table_id = ? AND NOT dropped ORDER BY id", .integer(table.id))
        let ids = known.map { Int($0[0].asInteger) }
        columns = known.map { String(text: $0[1]) }
        single = Array(repeating: [], count: ids.count)
        let none = UInt32(truncatingIfNeeded: valueDigest.of(.null))
        let clock = ClockTable(table: table, connection: connection)
        for row in try clock.allRows().prefix(Self.enough) where !deleted.contains(row) {
            guard let digests = try clock.record(at: row)?.digests else { continue }
            count += 1
            let known = ids.filter { $0 < digests.count }.map { digests[$0] }
            whole[known.count, default: [:]][known, default: 0] += 1
            for (index, digest) in known.enumerated() where digest != none {
                if single[index]?.insert(digest).inserted == false { single[index] = nil }
            }
        }
    }

    static func isEmpty(_ schema: TableSchema, on connection: Connection) throws -> Bool {
        try connection.rows("SELECT 1 FROM \(SQL.name(schema.name)) LIMIT 1").isEmpty
    }

    /// Whether there are any, and a table holds half of them at least.
    func areMost(in schema: TableSchema) throws -> Bool {
        try count > 0 && held(in: schema, isLenient: true) * 2 >= count
    }

    /// - Parameters:
    ///   - schema: of a table that may hold them.
    ///   - isLenient: whether rows count as well that hold the same in all columns which are there, where some are not.
    /// - Returns: how many it holds.
    func held(in schema: TableSchema, isLenient: Bool = false) throws -> Int {
        let present = columns.indices.filter { schema.column(columns[$0]) != nil }
        guard !present.isEmpty, isLenient || present.count * 2 >= columns.count else { return 0 }
        let statement = try Statement(
            "SELECT \(SQL.list(present.map { columns[$0] })) FROM \(SQL.name(schema.name)) LIMIT \(Self.enough)",
            on: connection)
        var whole = isLenient || present.count == columns.count ? self.whole(present) : [:]
        let counts = whole.keys.sorted(by: >)
        var single: [Set<UInt32>?] = present.map { self.single[$0] }
        var found = 0
        var foundSingle = Array(repeating: 0, count: present.count)
        while try statement.step() {
            let digests = present.indices.map { UInt32(truncatingIfNeeded: statement.digest($0, by: valueDigest)) }
            for known in counts {
                guard let times = whole[known]?[Array(digests.prefix(known))], times > 0 else { continue }
                whole[known]?[Array(digests.prefix(known))] = times - 1
                found += 1
                break
            }
            for index in present.indices where single[index]?.contains(digests[index]) == true {
                guard statement.value(index).tellsRows else { continue }
                single[index]?.remove(digests[index])
                foundSingle[index] += 1
            }
        }
        return max(found, foundSingle.max() ?? 0)
    }

    /// - Parameter present: indexes of the columns that count, ascending.
    private func whole(_ present: [Int]) -> [Int: [[UInt32]: Int]] {
        var projected: [Int: [[UInt32]: Int]] = [:]
        for (count, records) in whole {
            let present = present.filter { $0 < count }
            for (known, times) in records {
                projected[present.count, default: [:]][present.map { known[$0] }, default: 0] += times
            }
        }
        return projected
    }
}
