package import LogSyncModel
import LogSyncSQLite

/// The tables and columns of a schema as it calls them, in lower case.
package typealias SchemaColumns = [String: Set<String>]

/// A schema's tables with their columns but generated ones, in order; all names in lower case.
package typealias SchemaOutline = [(table: String, columns: [String])]

/// What a store has lost that others show: its app dropped a column or a table, and SQLite threw the values away.
extension Store {
    /// The columns of which entries may be here whose values are not.
    package func lostColumns() throws -> Set<ColumnName> {
        try database.read { try ForgottenColumns($0).all() }
    }

    /// The columns that this store shows, those left out of which it has lost values.
    package func shownColumns() throws -> Set<ColumnName> {
        try database.read { store in
            let shown = store.catalog.tables.flatMap { table in table.columns.map { ColumnName(table.name, $0.name) }
            }
            return Set(shown).subtracting(try ForgottenColumns(store).all())
        }
    }

    /// The columns that schemas of another peer's seem to show, by their names in logs.
    ///
    /// A name in them may be one that logs have, or one that a column was given later: both count.
    ///
    /// - Parameter without: what that peer says it does not show, as ``namesWithout()`` gives it there.
    package func shownColumns(in schemas: [SchemaColumns], without: [[String]]) throws -> Set<ColumnName> {
        try database.read { store in
            let names = try FirstNames(store)
            let absent = Set(without.filter { $0.count == 1 }.map { $0[0].folded })
            var shown: Set<ColumnName> = []
            for (table, columns) in schemas.joined() {
                for first in names.of(table: table) where !absent.contains(first) {
                    for column in columns {
                        shown.formUnion(names.of(column: column, in: first).map { ColumnName(first, $0) })
                    }
                }
            }
            return shown.subtracting(without.filter { $0.count == 2 }.map { ColumnName($0[0], $0[1]) })
        }
    }

    /// What this store's schema seems to show and the store does not: names in logs that another table or column bears by
    /// now, and columns that have come back without their former values. A table and a column, or a table alone.
    package func namesWithout() throws -> [[String]] {
        try database.read { store in
            let names = try FirstNames(store)
            let lost = try ForgottenColumns(store).all()
            var without: Set<[String]> = []
            for table in store.catalog.programTables {
                for name in names.of(table: table.schema.name) where store.catalog[name] == nil {
                    without.insert([name])
                }
                for column in table.columns {
                    for name in names.of(column: column.local, in: table.name)
                    where table.positions[name] == nil || lost.contains(ColumnName(table.name, name)) {
                        without.insert([table.name.folded, name])
                    }
                }
                // The integers of this store's own have the name of a column that went, or was the key.
                guard let integer = table.localInteger else { continue }
                let first = store.catalog.keys.firstKey(of: table.name)?.map(\.folded) ?? []
                for name in names.of(column: integer, in: table.name)
                where lost.contains(ColumnName(table.name, name))
                    || first.contains(name) && table.positions[name] == nil
                {
                    without.insert([table.name.folded, name])
                }
            }
            return without.sorted { $0.lexicographicallyPrecedes($1) }
        }
    }

    /// Makes a schema in memory, to see whether it is one.
    ///
    /// - Throws: `invalidStore` where it tries what no schema needs; `ioError` where no temporary database could be made.
    package static func checkSchema(_ schema: String, configuration: StoreConfiguration) throws {
        let schema = try ForeignSchema(schema)
        try Connection.inMemory(extensions: configuration.extensions) { _ = try schema.make(on: $0) }
    }

    /// The tables and columns that a schema makes, as far as this machine's SQLite understands it; none where it tries
    /// what no schema needs.
    ///
    /// - Throws: `ioError` where no temporary database could be made.
    package static func columns(
        ofSchema schema: String, configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> SchemaColumns {
        Dictionary(
            try outline(ofSchema: schema, configuration: configuration).map { ($0.table, Set($0.columns)) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The same in the order in which they stand there.
    package static func outline(
        ofSchema schema: String, configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> SchemaOutline {
        try Connection.inMemory(extensions: configuration.extensions) { connection in
            do {
                try ForeignSchema(schema).makeTables(on: connection)
            } catch let error as LogSyncError where error.code == .invalidStore {
                return []
            }
            let places = try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
                .map { String(text: $0[0]).folded }
            let tables = try TableSchema.all(on: connection).map { table in
                (table.name.folded, table.columns.filter { !$0.isGenerated }.map { $0.name.folded })
            }
            let columns = Dictionary(tables, uniquingKeysWith: { first, _ in first })
            return places.compactMap { table in columns[table].map { (table, $0) } }
        }
    }
}

/// The names in logs that tables and columns may have, by what schemas call them; all in lower case.
private struct FirstNames {
    private var names: [String: String] = [:]

    init(_ store: OpenStore) throws {
        for (target, name) in try Settings(store).values("rename") {
            names[target.folded] = name.folded
        }
    }

    func of(table: String) -> Set<String> {
        let table = table.folded
        return [table, names[table] ?? table]
    }

    func of(column: String, in table: String) -> Set<String> {
        let column = column.folded
        return [column, names["\(table.folded).\(column)"] ?? column]
    }
}
