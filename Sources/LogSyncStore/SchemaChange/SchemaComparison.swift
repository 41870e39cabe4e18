import LogSyncModel
import LogSyncSQLite

/// The replicated tables of a schema, by their names in logs, so that two schemas can be compared whatever each calls them.
struct ComparedSchema {
    struct Table {
        /// By lower-case name in logs.
        var columns: [String: (name: String, column: TableSchema.Column)] = [:]
        var key: [String] = []
        var uniques: Set<String> = []
        var foreignKeys: Set<String> = []
        var name = ""
    }

    /// By lower-case name in logs.
    var tables: [String: Table] = [:]

    /// - Parameter unmade: objects that the other schema has and that could not be made of it, of which nothing is said.
    init(_ catalog: Catalog, without unmade: Set<String> = [], on connection: Connection) throws {
        let names = Dictionary(
            catalog.tables.map { ($0.schema.name.folded, $0.name) }, uniquingKeysWith: { first, _ in first })
        for tracked in catalog.programTables {
            let schema = tracked.schema
            let columns = Dictionary(
                tracked.columns.map { ($0.local.folded, $0.name) }, uniquingKeysWith: { first, _ in first })
            func name(_ column: String) -> String { (columns[column.folded] ?? column).folded }
            var table = Table(name: tracked.name)
            for column in schema.columns where !column.isGenerated {
                table.columns[name(column.name)] = (columns[column.name.folded] ?? column.name, column)
            }
            table.key = schema.keyColumns.map { name($0.name) }
            table.uniques = Set(
                schema.uniqueIndexes.filter { !$0.isPrimaryKey && !unmade.contains($0.name.folded) }.map { index in
                    index.columns.map { parts in
                        parts.map { name($0.name) + ($0.collation == .binary ? "" : " \($0.collation.rawValue)") }
                            .sorted().joined(separator: ", ")
                    } ?? "an expression or a part of the rows"
                })
            table.foreignKeys = Set(
                schema.foreignKeys.map { key in
                    let action = key.onDelete == "NO ACTION" ? "" : " ON DELETE \(key.onDelete)"
                    return "\(key.from.map(name).joined(separator: ", ")) → "
                        + (names[key.parent.folded] ?? key.parent).folded + action
                })
            tables[tracked.name.folded] = table
        }
    }

    func differences(from other: ComparedSchema) -> [SchemaDifference] {
        var found: [SchemaDifference] = []
        for name in Set(tables.keys).union(other.tables.keys).sorted() {
            switch (tables[name], other.tables[name]) {
            case (let here?, let there?): found += Self.differences(here, there)
            case (let here?, nil): found.append(SchemaDifference(table: here.name, kind: .missingThere))
            case (nil, let there?): found.append(SchemaDifference(table: there.name, kind: .missingHere))
            case (nil, nil): break
            }
        }
        return found
    }

    private static func differences(_ here: Table, _ there: Table) -> [SchemaDifference] {
        var found: [SchemaDifference] = []
        func compare(_ kind: SchemaDifference.Kind, _ a: String?, _ b: String?, of column: String? = nil) {
            guard a != b else { return }
            found.append(SchemaDifference(table: here.name, column: column, kind: kind, here: a, there: b))
        }
        for name in Set(here.columns.keys).union(there.columns.keys).sorted() {
            guard let (column, own) = here.columns[name] else {
                let column = there.columns[name]?.name
                found.append(SchemaDifference(table: here.name, column: column, kind: .missingHere))
                continue
            }
            guard let (_, other) = there.columns[name] else {
                found.append(SchemaDifference(table: here.name, column: column, kind: .missingThere))
                continue
            }
            compare(.type, own.declaredType.uppercased(), other.declaredType.uppercased(), of: column)
            compare(.collation, own.collation.uppercased(), other.collation.uppercased(), of: column)
            compare(.default, own.defaultSQL, other.defaultSQL, of: column)
            // The columns of a key are not NULL in one table and may be in another without anybody having said so.
            if own.keyIndex == 0, other.keyIndex == 0 {
                compare(
                    .notNull, own.isNotNull ? "NOT NULL" : nil, other.isNotNull ? "NOT NULL" : nil, of: column)
            }
        }
        func list(_ names: some Sequence<String>) -> String? {
            let text = names.sorted().joined(separator: "; ")
            return text.isEmpty ? nil : text
        }
        func key(_ table: Table) -> String? { table.key.isEmpty ? nil : table.key.joined(separator: ", ") }
        compare(.key, key(here), key(there))
        compare(.unique, list(here.uniques), list(there.uniques))
        compare(.foreignKeys, list(here.foreignKeys), list(there.foreignKeys))
        return found
    }
}
