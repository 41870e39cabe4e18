// Where a program notes the integers that it gives to rows, in a row of a table of names and values.
//
// Some programs take the next integer of a row from a place of their own: Lightroom from the row `Adobe_entityIDCounter` of
// its settings, for all tables. Rows that come have integers above those of their table; the program's next would be one
// of them. So the place is found, and kept above what comes, as any other allocator is (``OpenStore/raiseAllocators()``).
//
// The evidence is both of what such a row is called (`next_id`, `last_note_id`, `orders_seq`, `entityIDCounter`) and what it
// holds: no table that it counts has a greater integer. A name without a table's counts those whose greatest integer it
// is; or all, where no two of them have an integer in common, as one counter makes them. Where it is taken for a counter and
// is none, some integers are left out.

import LogSyncModel
import LogSyncSQLite

/// Finds rows in which programs note the integers that they have given.
struct ProgramCounters {
    private let catalog: Catalog
    private let connection: Connection
    /// The tables that are counted, with their greatest integers.
    private let counted: [(named: NamedTable, greatest: Int64)]

    /// - Parameter catalog: what is replicated.
    init(_ catalog: Catalog, on connection: Connection) throws {
        self.catalog = catalog
        self.connection = connection
        counted = try catalog.tables.filter { $0.localInteger != nil }.map { table in
            let greatest = try connection.integer("SELECT max(\(table.rowid)) FROM \(table.quoted)")
            return (NamedTable(table), max(0, greatest ?? 0))
        }
    }

    /// - Parameter tables: the tables that may have such rows, by name.
    func found(in tables: [String]) throws -> [ProgramAllocator] {
        guard counted.contains(where: { $0.greatest > 0 }) else { return [] }
        var found: [ProgramAllocator] = []
        for name in tables {
            guard let schema = try TableSchema.read(name, on: connection) else { continue }
            for allocator in try allocators(in: schema)
            where !found.contains(where: { $0.target == allocator.target }) { found.append(allocator) }
        }
        return found
    }

    /// More rows are no table of settings.
    private static let limit: Int64 = 2000

    private func allocators(in schema: TableSchema) throws -> [ProgramAllocator] {
        let count = try connection.integer(
            "SELECT count(*) FROM (SELECT 1 FROM \(SQL.name(schema.name)) LIMIT \(Self.limit))")
        guard let count, count > 0, count < Self.limit else { return [] }
        let table = CounterName(schema.name)
        guard let names = nameColumn(of: schema) else {
            // `hibernate_sequence(next_val)`
            return table.isCounter && count == 1 ? try allocators(table, in: schema, row: [:]) : []
        }
        var found: [ProgramAllocator] = []
        for row in try connection.rows(
            "SELECT \(SQL.name(names)) FROM \(SQL.name(schema.name)) WHERE typeof(\(SQL.name(names))) = 'text'")
        {
            let text = String(text: row[0])
            let name = CounterName(text, in: table.isCounter)
            if name.isCounter { found += try allocators(name, in: schema, row: [names: .text(text)]) }
        }
        return found
    }

    private func allocators(
        _ name: CounterName, in schema: TableSchema, row: [String: ProgramAllocator.Key]
    ) throws -> [ProgramAllocator] {
        var values: [(column: String, value: Int64)] = []
        for column in schema.columns where column.keyIndex == 0 && !column.isGenerated && row[column.name] == nil {
            guard column.name != schema.integerKey, let value = try value(of: column.name, in: schema, row: row) else {
                continue
            }
            values.append((column.name, value))
        }
        let valued = values.filter { !Self.values.isDisjoint(with: Words($0.column).all) }
        guard let noted = valued.first ?? (values.count == 1 ? values[0] : nil) else { return [] }
        return try tables(countedBy: name, noted.value).compactMap { table in
            table.named.table.localInteger.map { key in
                ProgramAllocator(
                    table: schema.name, column: noted.column, key: row, countedTable: table.named.table.schema.name,
                    countedColumn: key, ahead: table.greatest == noted.value ? 0 : 1)
            }
        }
    }

    /// What the column is called that has the integer.
    private static let values: Set = [
        "value", "val", "next", "last", "current", "counter", "number", "seq", "sequence", "max", "hi", "id",
    ]

    /// The column of texts that names the rows.
    private func nameColumn(of schema: TableSchema) -> String? {
        let unique = schema.uniqueIndexes.compactMap { $0.columns?.count == 1 ? $0.columns?.first?.name : nil }
        let named = schema.columns.filter { schema.affinity(of: $0.name) == .text || $0.declaredType.isEmpty }
            .map(\.name)
        func isName(_ column: String) -> Bool {
            ["name", "key", "setting", "property", "k", "variable"].contains(Words(column).all.last ?? "")
        }
        return named.first { unique.contains($0) && isName($0) } ?? named.first(where: isName)
            ?? named.first(where: unique.contains)
    }

    /// The integer that a row has there, however it is written; nil where it has none, or there are several rows.
    private func value(
        of column: String, in schema: TableSchema, row: [String: ProgramAllocator.Key]
    ) throws -> Int64? {
        let quoted = SQL.name(column)
        var conditions = [ProgramAllocator.isInteger(quoted)]
        var names: [Value] = []
        for case (let name, .text(let text)) in row {
            conditions.append("\(SQL.name(name)) = ?")
            names.append(.text(text))
        }
        let sql = """
            SELECT CAST(\(quoted) AS INTEGER) FROM \(SQL.name(schema.name))
            WHERE \(conditions.joined(separator: " AND "))
            """
        let rows = try names.first.map { try connection.rows(sql, $0) } ?? connection.rows(sql)
        guard rows.count == 1, rows[0][0].asInteger > 0 else { return nil }
        return rows[0][0].asInteger
    }

    /// The tables whose integers a counter gives that has given this one last, or gives it next.
    private func tables(
        countedBy name: CounterName, _ value: Int64
    ) throws -> [(named: NamedTable, greatest: Int64)] {
        let below = counted.filter { $0.greatest <= value }
        let called = ReferringName(name.rest + "_id")
            .candidates(among: below.map(\.named), of: counted[0].named.table, isKey: true).filter {
                $0.rank.distance < 2
            }
        if let parent = called.first?.parent { return below.filter { $0.named.table === parent && $0.greatest > 0 } }
        // What else it counts may be anything.
        guard name.isOfAll(counted.map(\.named)) else { return [] }
        let filled = below.filter { $0.greatest > 0 }
        guard filled.count == counted.filter({ $0.greatest > 0 }).count else {
            return below.filter { $0.greatest == value || $0.greatest == value - 1 }
        }
        if try filled.count == 1 || areApart(filled.map(\.named.table)) { return below }
        return below.filter { $0.greatest == value || $0.greatest == value - 1 }
    }

    /// Whether no two tables have an integer in common.
    private func areApart(_ tables: [TrackedTable]) throws -> Bool {
        let all = tables.map { "SELECT \($0.rowid) AS number FROM \($0.quoted)" }
        // SQLite takes no more parts in one.
        guard all.count <= 400 else { return false }
        return try connection.integer(
            "SELECT count(*) = count(DISTINCT number) AND count(*) > 2 FROM (\(all.joined(separator: " UNION ALL ")))")
            == 1
    }
}

extension ProgramAllocator {
    /// The condition that a program's note is an integer, as some write it: `57`, `57.0` and `'57'`.
    static func isInteger(_ column: String) -> String {
        """
        (typeof(\(column)) = 'integer' OR typeof(\(column)) = 'real' AND \(column) = CAST(\(column) AS INTEGER)
        OR typeof(\(column)) = 'text' AND \(column) <> '' AND length(\(column)) < 19
           AND \(column) NOT GLOB '*[^0-9]*')
        """
    }
}

/// What a row's name says of what it counts.
private struct CounterName {
    let isCounter: Bool
    /// Without what only says that it counts.
    let rest: String
    private let words: [String]

    /// - Parameter isOfCounters: whether the table that has the row says so already.
    init(_ name: String, in isOfCounters: Bool = false) {
        var words = Words(name).all
        var (saysNext, saysID, saysSo) = (false, false, isOfCounters)
        words = words.flatMap { word -> [String] in
            // `entityIDCounter`
            for end in ["idcounter", "idsequence", "idseq"] where word.hasSuffix(end) && word.count >= end.count {
                let start = String(word.dropLast(end.count))
                return (start.isEmpty ? [] : [start]) + ["id", "counter"]
            }
            for start in ["next", "last", "max"] where word == start + "id" { return [start, "id"] }
            return [word]
        }
        words.removeAll { word in
            saysNext = saysNext || Self.orders.contains(word)
            saysID = saysID || Self.numbers.contains(word)
            saysSo = saysSo || Self.counters.contains(word)
            return Self.orders.contains(word) || Self.numbers.contains(word) || Self.counters.contains(word)
                || Self.fillers.contains(word)
        }
        self.words = words
        isCounter = saysSo || saysNext && saysID
        rest = words.joined(separator: "_")
    }

    /// Whether it is no thing of its own: nothing is left of the name, or what all tables' names begin with.
    func isOfAll(_ tables: [NamedTable]) -> Bool {
        words.allSatisfy { word in tables.contains { $0.words.all.count > 1 && $0.words.all.first == word } }
    }

    private static let orders: Set = ["next", "last", "max", "highest", "greatest"]
    private static let numbers: Set = ["id", "ids", "pk", "rowid", "key", "oid"]
    private static let counters: Set = [
        "counter", "sequence", "sequences", "seq", "generator", "allocator", "autoincrement", "autoid", "hilo",
    ]
    private static let fillers: Set = [
        "entity", "object", "row", "record", "global", "local", "primary", "used", "given", "assigned", "value", "val",
        "db",
        "database", "unique", "hibernate",
    ]
}
