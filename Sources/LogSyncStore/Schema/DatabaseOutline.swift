package import LogSyncModel
import LogSyncSQLite

/// A database's tables as far as a recipe names them: by names in lower case.
package struct DatabaseOutline: Sendable {
    package struct Table: Sendable {
        /// As the schema spells it.
        package var name: String
        package var columns: Set<String>
        /// The column sets that are unique.
        package var uniqueSets: Set<Set<String>>
    }

    package var applicationID: Int64
    package var userVersion: Int64
    /// By name in lower case.
    package var tables: [String: Table]
    /// Columns that, by what Core Data notes in the database, hold integers of other tables' rows.
    package var entityReferences: [(table: String, column: String, parent: String)]

    package subscript(table: String) -> Table? { tables[table.folded] }

    package func has(_ column: ColumnName) -> Bool {
        self[column.table]?.columns.contains(column.column.folded) ?? false
    }

    init(_ connection: Connection) throws {
        applicationID = try connection.integer("PRAGMA application_id") ?? 0
        userVersion = try connection.integer("PRAGMA user_version") ?? 0
        tables = [:]
        for schema in try TableSchema.all(on: connection) {
            var sets = Set(
                schema.uniqueIndexes.compactMap { index in index.columns.map { Set($0.map(\.name.folded)) } })
            if let key = schema.integerKey { sets.insert([key.folded]) }
            tables[schema.name.folded] = Table(
                name: schema.name, columns: Set(schema.columns.map(\.name.folded)), uniqueSets: sets)
        }
        entityReferences = try EntityTables(connection).references()
    }
}

/// The tables of Core Data's entities, as its table `Z_PRIMARYKEY` names them.
///
/// An entity `Employee` has the table `ZEMPLOYEE`; one that inherits from another has its rows in the other's table. A
/// table `Z_2PROJECTS` joins rows, and its column `Z_3PROJECTS` holds integers of the entity with the number 3.
struct EntityTables {
    static let table = "Z_PRIMARYKEY"
    static let key = "Z_PK"

    private let connection: Connection
    /// By the entity's number: its own name and its table's. Empty where the database is none of Core Data's.
    private(set) var entities: [Int64: (name: String, table: String)] = [:]

    init(_ connection: Connection) throws {
        self.connection = connection
        guard let schema = try TableSchema.read(Self.table, on: connection),
            ["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"].allSatisfy({ schema.column($0) != nil })
        else { return }
        var named: [Int64: (name: String, parent: Int64)] = [:]
        for row in try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY") {
            guard case .integer(let number) = row[0], case .text = row[1] else { continue }
            named[number] = (String(text: row[1]), row[2].isNull ? 0 : row[2].asInteger)
        }
        for (number, entity) in named {
            var root = entity
            var seen: Set<Int64> = [number]
            while let parent = named[root.parent], seen.insert(root.parent).inserted { root = parent }
            let table = "Z" + root.name.uppercased()
            guard let schema = try TableSchema.read(table, on: connection), schema.column(Self.key) != nil else {
                continue
            }
            entities[number] = (entity.name, schema.name)
        }
    }

    /// What the columns of joining tables refer to, and those of entities that are named as an entity's table.
    func references() throws -> [(table: String, column: String, parent: String)] {
        guard !entities.isEmpty else { return [] }
        let tables = Set(entities.values.map(\.table))
        var found: [(table: String, column: String, parent: String)] = []
        for schema in try TableSchema.all(on: connection) {
            let name = schema.name
            for column in schema.columns {
                if number(name) != nil {
                    // An ordered relationship's place is no row.
                    guard !column.name.hasPrefix("Z_FOK_"), let number = number(column.name),
                        let parent = entities[number]?.table
                    else { continue }
                    found.append((name, column.name, parent))
                } else if tables.contains(name), tables.contains(column.name), column.declaredType == "INTEGER",
                    try isWhollyOf(column.name, column.name, in: name)
                {
                    found.append((name, column.name, column.name))
                }
            }
        }
        return found
    }

    /// The columns of entities that Core Data has made an index for, as it does for each to-one relationship, as
    /// `table.column` in lower case. An attribute that was declared as indexed may have one that looks the same.
    func relationColumns() throws -> Set<String> {
        let tables = Set(entities.values.map(\.table))
        guard !tables.isEmpty else { return [] }
        var found: Set<String> = []
        for row in try connection.rows("SELECT tbl_name, name FROM sqlite_master WHERE type = 'index'") {
            let (table, index) = (String(text: row[0]), String(text: row[1]))
            guard tables.contains(table), index.hasPrefix(table + "_"), index.hasSuffix("_INDEX") else { continue }
            let column = index.dropFirst(table.count + 1).dropLast("_INDEX".count)
            guard try TableSchema.read(table, on: connection)?.column(String(column))?.declaredType == "INTEGER" else {
                continue
            }
            found.insert("\(table).\(column)".folded)
        }
        return found
    }

    /// Whether a column holds nothing but integers of rows of a table.
    private func isWhollyOf(_ parent: String, _ column: String, in table: String) throws -> Bool {
        try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM \(SQL.name(table)) AS child WHERE \(SQL.name(column)) IS NOT NULL
            AND NOT EXISTS(SELECT 1 FROM \(SQL.name(parent)) AS parent
                           WHERE parent.\(Self.key) = child.\(SQL.name(column))))
            """) == 0
    }

    /// 3 of `Z_3PROJECTS`.
    private func number(_ name: String) -> Int64? {
        guard name.hasPrefix("Z_") else { return nil }
        let digits = name.dropFirst(2).prefix { $0.isNumber }
        return digits.isEmpty || digits.endIndex == name.endIndex ? nil : Int64(digits)
    }
}
