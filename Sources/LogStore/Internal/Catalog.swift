import Foundation
import LogModel

/// The tracked tables of a store, as declared now.
struct Catalog {
    /// Referenced tables before those that refer to them, as far as cycles allow.
    let tables: [TrackedTable]
    private let byName: [String: TrackedTable]

    init(_ tables: [TrackedTable]) {
        self.tables = Self.sorted(tables)
        byName = Dictionary(tables.map { ($0.name.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
    }

    subscript(name: String) -> TrackedTable? { byName[name.lowercased()] }

    /// The columns whose integers name rows of `table`.
    func referrers(of table: TrackedTable) -> [(table: TrackedTable, column: TrackedTable.Column)] {
        tables.flatMap { child in
            child.columns.filter { $0.reference == table.name }.map { (child, $0) }
        }
    }

    private static func sorted(_ tables: [TrackedTable]) -> [TrackedTable] {
        var sorted: [TrackedTable] = []
        var visited: Set<String> = []
        let byName = Dictionary(tables.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        func visit(_ table: TrackedTable) {
            guard visited.insert(table.name).inserted else { return }
            for case let parent? in table.columns.map(\.reference) {
                if let parent = byName[parent] { visit(parent) }
            }
            sorted.append(table)
        }
        for table in tables.sorted(by: { $0.name < $1.name }) { visit(table) }
        return sorted
    }
}

extension Catalog {
    /// Reads the registered tables. A table that is registered but not there now is left out.
    static func load(on connection: Connection) throws -> Catalog {
        var schemas: [String: TableSchema] = [:]
        var kinds: [String: (kind: TrackedTable.IdentityKind, key: [String])] = [:]
        var rows: [(id: Int64, recorded: Int64, high: Int64, name: String)] = []
        for row in try connection.rows("SELECT id, name, identity, key_columns, recorded, high FROM logsync_table") {
            let name = String(text: row[1])
            guard let schema = try TableSchema.read(name, on: connection) else { continue }
            schemas[name.lowercased()] = schema
            let key = row[3].isNull ? [] : try KeyList.decode(String(text: row[3]))
            kinds[name.lowercased()] = (TrackedTable.IdentityKind(rawValue: String(text: row[2])) ?? .natural, key)
            rows.append((row[0].asInteger, row[4].asInteger, row[5].asInteger, name))
        }
        let resolver = ReferenceResolver(
            schemas: schemas, kinds: kinds.mapValues(\.kind), declared: try declaredReferences(on: connection))
        var tables: [TrackedTable] = []
        for row in rows {
            guard let schema = schemas[row.name.lowercased()], let choice = kinds[row.name.lowercased()] else { continue }
            tables.append(
                try table(
                    row.id, schema: schema, kind: choice.kind, keyNames: choice.key, recorded: row.recorded,
                    high: row.high, resolver: resolver, on: connection))
        }
        return Catalog(tables)
    }

    private static func table(
        _ id: Int64, schema: TableSchema, kind: TrackedTable.IdentityKind, keyNames: [String], recorded: Int64,
        high: Int64, resolver: ReferenceResolver, on connection: Connection
    ) throws -> TrackedTable {
        var ids: [String: Int] = [:]
        var names: [String] = []
        for row in try connection.rows(
            "SELECT id, name, dropped FROM logsync_column WHERE table_id = ? ORDER BY id", .integer(id))
        {
            names.append(String(text: row[1]))
            if row[2].asInteger == 0 { ids[String(text: row[1]).lowercased()] = Int(row[0].asInteger) }
        }
        let keyNames = keyNames.isEmpty && kind == .natural ? schema.keyColumns.map(\.name) : keyNames
        let keySet = Set(keyNames.map { $0.lowercased() })
        var columns: [TrackedTable.Column] = []
        for column in schema.columns where !column.isGenerated {
            if kind != .natural && column.name == schema.integerKey { continue }
            guard let columnID = ids[column.name.lowercased()] else { continue }
            columns.append(
                TrackedTable.Column(
                    id: columnID, name: column.name,
                    reference: resolver.parent(of: column.name, in: schema.name),
                    collation: Collation(rawValue: column.collation) ?? .binary,
                    isKey: keySet.contains(column.name.lowercased())))
        }
        let key = keyNames.compactMap { name in
            columns.firstIndex { $0.name.lowercased() == name.lowercased() }.map { index in
                TrackedTable.KeyColumn(
                    index: index, collation: Self.keyCollation(columns[index].name, keyNames: keySet, schema: schema))
            }
        }
        return TrackedTable(
            id: id, kind: kind, schema: schema, columns: columns, columnNames: names, key: key, recorded: recorded,
            high: high)
    }

    /// The collation under which a key column is unique: its index's, which may differ from the column's.
    private static func keyCollation(_ name: String, keyNames: Set<String>, schema: TableSchema) -> Collation {
        for index in schema.uniqueIndexes {
            guard let parts = index.columns, Set(parts.map { $0.name.lowercased() }) == keyNames else { continue }
            if let part = parts.first(where: { $0.name.lowercased() == name.lowercased() }) { return part.collation }
        }
        return schema.column(name).flatMap { Collation(rawValue: $0.collation) } ?? .binary
    }

    private static func declaredReferences(on connection: Connection) throws -> [String: String] {
        var declared: [String: String] = [:]
        for row in try connection.rows("SELECT target, value FROM logsync_setting WHERE kind = 'reference'") {
            declared[String(text: row[0]).lowercased()] = String(text: row[1])
        }
        return declared
    }
}

/// Finds the table whose local integers a column holds, through any number of keys in between.
struct ReferenceResolver {
    var schemas: [String: TableSchema]
    var kinds: [String: TrackedTable.IdentityKind]
    /// Undeclared references, `child.column` in lower case → parent.
    var declared: [String: String]

    func parent(of column: String, in table: String) -> String? {
        var visited: Set<String> = []
        return parent(of: column.lowercased(), in: table.lowercased(), visited: &visited)
    }

    private func parent(of column: String, in table: String, visited: inout Set<String>) -> String? {
        guard visited.insert("\(table).\(column)").inserted, let schema = schemas[table] else { return nil }
        if let parent = declared["\(table).\(column)"] { return schemas[parent.lowercased()]?.name }
        for foreignKey in schema.foreignKeys {
            guard let parent = schemas[foreignKey.parent.lowercased()] else { continue }
            for (index, from) in foreignKey.from.enumerated() where from.lowercased() == column {
                let to =
                    foreignKey.to.indices.contains(index)
                    ? foreignKey.to[index] : parent.keyColumns.dropFirst(index).first?.name
                guard let to = to?.lowercased() else { continue }
                let kind = kinds[parent.name.lowercased()]
                if kind != .natural, kind != nil, parent.integerKey?.lowercased() == to { return parent.name }
                if let found = self.parent(of: to, in: parent.name.lowercased(), visited: &visited) { return found }
            }
        }
        return nil
    }
}

/// Column names in one text, for `logsync_table.key_columns`: a JSON array, because a name may hold anything.
enum KeyList {
    static func encode(_ names: [String]) throws -> String {
        String(decoding: try JSONEncoder().encode(names), as: UTF8.self)
    }

    static func decode(_ text: String) throws -> [String] {
        try JSONDecoder().decode([String].self, from: Data(text.utf8))
    }
}
