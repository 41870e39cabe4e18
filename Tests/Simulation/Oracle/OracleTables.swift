import GRDBSQLite
import LogSyncModel

/// The schema in memory, to ask SQLite itself whether rows can stand side by side.
///
/// Tables keep what constrains a row against others or by itself (UNIQUE, NOT NULL, STRICT) and leave out what does not
/// park (CHECK) and what the oracle decides by itself (keys, references). Each has a twin without any constraint, into
/// which potential rows go to be compared.
final class OracleTables {
    private let connection: AppConnection
    private let schema: SchemaModel
    private var inserts: [String: AppStatement] = [:]
    /// Integers that stand for identities, by parent table; the same for the whole run.
    private var integers: [String: [RowIdentity: Int64]] = [:]
    private var identities: [String: [Int64: RowIdentity]] = [:]
    /// The table whose integers a column holds, by `table.column`.
    let referenced: [String: String]

    init(_ schema: SchemaModel) throws {
        self.schema = schema
        var referenced: [String: String] = [:]
        for table in schema.tables {
            for column in table.columns {
                if let name = Self.referenced(table.name, column.name, schema) {
                    referenced["\(table.name).\(column.name)"] = name
                }
            }
        }
        self.referenced = referenced
        connection = try AppConnection(":memory:")
        for table in schema.tables {
            try connection.execute(Self.sql(table, isTwin: false))
            for sql in table.indexSQL { try connection.execute(sql) }
            if let key = Self.referringKey(of: table) {
                try connection.execute("CREATE UNIQUE INDEX \(key.name) ON \(table.sqlName)(\(key.list))")
            }
            try connection.execute(Self.sql(table, isTwin: true))
        }
    }

    /// The table whose local integers a column holds, through any number of keys in between.
    private static func referenced(_ table: String, _ column: String, _ schema: SchemaModel, depth: Int = 0) -> String?
    {
        guard depth < 8, let reference = schema[table]?[column]?.reference, reference.parentColumn == nil,
            let parent = schema[reference.parent]
        else { return nil }
        if parent.hasLocalInteger { return parent.name }
        return referenced(parent.name, parent.key[0], schema, depth: depth + 1)
    }

    private static func sql(_ table: TableModel, isTwin: Bool) -> String {
        let columns = table.columns.map { column in
            var column = column
            if isTwin { column.isNotNull = false }
            if table.key.contains(column.name) { column.isNotNull = false }
            return column.sql(isRowid: false)
        }
        let name = isTwin ? table.twinName : table.sqlName
        let more = isTwin ? ["sim_row INTEGER", "sim_variant INTEGER"] : ["sim_row INTEGER"]
        return
            "CREATE TABLE \(name)(\((more + columns).joined(separator: ", ")))\(table.isStrict && !isTwin ? " STRICT" : "")"
    }

    /// A key with references in it, which may become another row's where they follow a folded row.
    private static func referringKey(of table: TableModel) -> UniqueModel? {
        guard table.identity == .natural, table.key.contains(where: { table[$0]?.reference != nil }) else { return nil }
        return UniqueModel(
            name: table.name.replacing(" ", with: "_") + "_key", parts: table.key.map { UniqueModel.Part(sql: $0) })
    }

    func begin() throws { try connection.execute("BEGIN") }
    func end() throws { try connection.execute("ROLLBACK") }
    func mark(_ name: String) throws { try connection.execute("SAVEPOINT \(name)") }
    func accept(_ name: String) throws { try connection.execute("RELEASE \(name)") }
    func undo(_ name: String) throws { try connection.execute("ROLLBACK TO \(name); RELEASE \(name)") }

    // MARK: Rows that stand

    /// Puts a row into its table. Returns false where a constraint refuses it.
    func stand(_ table: TableModel, row: Int, _ values: [String: Value]) throws -> Bool {
        try insert(table, into: table.sqlName, ["sim_row"], [.integer(Int64(row))], values)
    }

    /// The rows of a table as it returns them.
    func rows(_ table: TableModel) throws -> [(row: Int, values: [String: Value])] {
        let columns = table.replicated
        let list = (["sim_row"] + columns.map(\.name)).joined(separator: ", ")
        return try connection.rows("SELECT \(list) FROM \(table.sqlName)").map { row in
            var values: [String: Value] = [:]
            for (index, column) in columns.enumerated() {
                values[column.name] = identity(row[index + 1], table.name, column.name)
            }
            guard case .integer(let number) = row[0] else { return (0, values) }
            return (Int(number), values)
        }
    }

    // MARK: Rows that might

    /// Adds one way in which a row might stand.
    func imagine(_ table: TableModel, row: Int, variant: Int, _ values: [String: Value]) throws {
        _ = try insert(
            table, into: table.twinName, ["sim_row", "sim_variant"],
            [.integer(Int64(row)), .integer(Int64(variant))], values)
    }

    /// Pairs of rows of which some variants share a tuple of some UNIQUE index.
    func sharers(_ table: TableModel) throws -> [(Int, Int)] {
        let twin = table.twinName
        return try table.uniques.flatMap { unique in
            try pairs(table, unique, twin, twin).filter { $0.0 < $0.1 }
        }
    }

    /// The standing rows with which a row that has these values shares a tuple.
    func sharers(of values: [String: Value], row: Int, _ table: TableModel) throws -> Set<Int> {
        let twin = table.twinName
        try connection.execute("SAVEPOINT asked; DELETE FROM \(twin)")
        try imagine(table, row: row, variant: 0, values)
        let uniques = table.uniques + [Self.referringKey(of: table)].compactMap { $0 }
        let found = try uniques.flatMap { try pairs(table, $0, twin, table.sqlName).map(\.1) }
        try connection.execute("ROLLBACK TO asked; RELEASE asked")
        return Set(found)
    }

    /// Whether two rows that have these values share a tuple.
    func share(
        _ table: TableModel, _ one: (row: Int, values: [String: Value]), _ other: (row: Int, values: [String: Value])
    ) throws -> Bool {
        let twin = table.twinName
        try connection.execute("SAVEPOINT asked; DELETE FROM \(twin)")
        for (row, values) in [one, other] { try imagine(table, row: row, variant: 0, values) }
        let uniques = table.uniques + [Self.referringKey(of: table)].compactMap { $0 }
        let found = try uniques.contains { try pairs(table, $0, twin, twin).contains { $0.0 != $0.1 } }
        try connection.execute("ROLLBACK TO asked; RELEASE asked")
        return found
    }

    /// Rows of two tables made alike that share a tuple, as SQLite itself compares.
    private func pairs(
        _ table: TableModel, _ unique: UniqueModel, _ left: String, _ right: String
    ) throws -> [(Int, Int)] {
        let keys = unique.parts.indices
        func tuple(_ name: String) -> String {
            "SELECT sim_row, \(keys.map { "\(unique.parts[$0].sql) AS k\($0)" }.joined(separator: ", ")) "
                + "FROM \(name)\(unique.condition.map { " WHERE " + $0 } ?? "")"
        }
        let equal = keys.map { index in
            let part = unique.parts[index]
            // An expression has no collation but what its COLLATE says.
            let collation = part.collation ?? table[part.sql]?.collation ?? .binary
            return "a.k\(index) = b.k\(index) COLLATE \(collation.rawValue)"
        }
        let rows = try connection.rows(
            """
            SELECT DISTINCT a.sim_row, b.sim_row FROM (\(tuple(left))) AS a JOIN (\(tuple(right))) AS b
            ON \(equal.joined(separator: " AND "))
            """)
        return rows.compactMap { row in
            guard case .integer(let a) = row[0], case .integer(let b) = row[1] else { return nil }
            return (Int(a), Int(b))
        }
    }

    // MARK: Values

    private func insert(
        _ table: TableModel, into name: String, _ first: [String], _ given: [Value], _ values: [String: Value]
    ) throws -> Bool {
        let columns = table.replicated
        let statement: AppStatement
        if let known = inserts[name] {
            statement = known
        } else {
            let names = first + columns.map(\.name)
            statement = try AppStatement(
                "INSERT INTO \(name)(\(names.joined(separator: ", "))) VALUES(\(names.map { _ in "?" }.joined(separator: ", ")))",
                on: connection)
            inserts[name] = statement
        }
        return try statement.run(
            given + columns.map { integer(values[$0.name] ?? .null, table.name, $0.name) })
    }

    /// A reference as the integer that stands for it here.
    private func integer(_ value: Value, _ table: String, _ column: String) -> Value {
        guard case .reference(let identity) = value, let parent = referenced["\(table).\(column)"] else { return value }
        if let known = integers[parent]?[identity] { return .integer(known) }
        // Above all that programs write: a number may stand in such a column, too.
        let next = Int64((integers[parent]?.count ?? 0) + 1) + 1_000_000
        integers[parent, default: [:]][identity] = next
        identities[parent, default: [:]][next] = identity
        return .integer(next)
    }

    private func identity(_ value: Value, _ table: String, _ column: String) -> Value {
        guard case .integer(let integer) = value, let parent = referenced["\(table).\(column)"],
            let identity = identities[parent]?[integer]
        else { return value }
        return .reference(identity)
    }
}

extension TableModel {
    /// The same without any constraint.
    fileprivate var twinName: String { "\"twin_\(name)\"" }
}

extension SchemaModel {
    /// With each natural key as the constraint that it is: rows keep identities that were given under another key.
    var withKeysAsConstraints: SchemaModel {
        var schema = self
        for index in tables.indices where tables[index].identity == .natural {
            schema.tables[index].uniques.append(
                UniqueModel(
                    name: tables[index].name.replacing(" ", with: "_") + "_primary",
                    parts: tables[index].key.map { UniqueModel.Part(sql: $0) }))
        }
        return schema
    }

    /// With what the content has come to know of columns that were numbers: they refer to rows, whether or not this
    /// schema says so.
    func withReferences(_ references: [String: String]) -> SchemaModel {
        guard !references.isEmpty else { return self }
        var schema = self
        for table in tables.indices {
            for column in tables[table].columns.indices where tables[table].columns[column].reference == nil {
                let target = "\(tables[table].name).\(tables[table].columns[column].name)".lowercased()
                guard let parent = references[target], self[parent] != nil else { continue }
                schema.tables[table].columns[column].reference = ReferenceModel(parent: parent, isDeclared: false)
            }
        }
        return schema
    }
}
