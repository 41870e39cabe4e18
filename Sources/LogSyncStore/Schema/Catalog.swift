import Foundation
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The tracked tables of a store, as declared now.
struct Catalog {
    /// Referenced tables before tables that refer to them, as far as cycles allow.
    let tables: [TrackedTable]
    private let byName: [String: TrackedTable]
    /// The names of the tables whose rows' integers some column holds.
    private let referred: Set<String>
    private let byLocalName: [String: TrackedTable]
    /// What the tables' keys were.
    let keys: KeyHistory
    /// Undeclared references by names in the database, `child.column` in lower case → parent.
    private let said: [String: String]
    /// Tables, by id, of which some column names rows: by this store's integers, or by keys.
    private(set) var namingTables: Set<Int64> = []

    init(_ tables: [TrackedTable], _ keys: KeyHistory, said: [String: String] = [:]) {
        self.keys = keys
        self.said = said
        self.tables = Self.sorted(tables)
        byName = Dictionary(tables.map { ($0.name.folded, $0) }, uniquingKeysWith: { first, _ in first })
        referred = Set(tables.flatMap { $0.columns.compactMap(\.reference) })
        byLocalName = Dictionary(
            self.tables.map { ($0.schema.name.folded, $0) }, uniquingKeysWith: { first, _ in first })
        namingTables = Set(
            self.tables.filter { table in
                table.columns.contains { $0.reference != nil || namedKey($0, in: table) != nil }
            }.map(\.id))
    }

    /// By the name in logs.
    subscript(name: String) -> TrackedTable? { byName[name.folded] }

    /// By the name in the database.
    subscript(local name: String) -> TrackedTable? { byLocalName[name.folded] }

    /// Whether a table of this name in the database is tracked.
    func hasLocal(_ name: String) -> Bool { self[local: name] != nil }

    /// The columns whose integers name rows of `table`.
    func referrers(of table: TrackedTable) -> [(table: TrackedTable, column: TrackedTable.Column)] {
        tables.flatMap { child in
            child.columns.filter { $0.reference == table.name }.map { (child, $0) }
        }
    }

    /// Whether some column holds integers of this table's rows: what becomes of those is of no concern otherwise.
    func hasReferrers(_ table: TrackedTable) -> Bool { referred.contains(table.name) }

    /// The tables, each after those whose rows it names, by their integers or by a key.
    var tablesAfterNamed: [TrackedTable] {
        Self.sorted(tables) { table in
            table.columns.compactMap { $0.reference ?? namedKey($0, in: table)?.parent.name }
        }
    }

    private static func sorted(
        _ tables: [TrackedTable], after parents: (TrackedTable) -> [String] = { $0.columns.compactMap(\.reference) }
    ) -> [TrackedTable] {
        var sorted: [TrackedTable] = []
        var visited: Set<String> = []
        let byName = Dictionary(tables.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        func visit(_ table: TrackedTable) {
            guard visited.insert(table.name).inserted else { return }
            for parent in parents(table) {
                if let parent = byName[parent] { visit(parent) }
            }
            sorted.append(table)
        }
        // What the settings say has to be known before the rows of other tables come.
        let settings = tables.filter(\.holdsSettings)
        for table in settings + tables.sorted(by: { $0.name < $1.name }) { visit(table) }
        return sorted
    }
}

extension Catalog {
    /// The table of a reference, where its rows have integers of this store's own: where keys name the rows, there are none to
    /// mean, whatever the author of a reference had.
    func numbered(_ reference: String?) -> TrackedTable? {
        reference.flatMap { self[$0] }.flatMap { $0.localInteger == nil && !$0.isNamedByRowid ? nil : $0 }
    }

    /// Reads the registered tables. A table that is registered but not there now is left out.
    static func load(on connection: Connection) throws -> Catalog {
        var registered: [Registered] = []
        let declarations = try TableDeclarations(on: connection)
        let extents = try TableExtent.all(on: connection)
        for row in try connection.rows(
            "SELECT id, name, log_name, identity, key_columns FROM logsync_table ORDER BY id")
        {
            let declared = try TableSchema.read(String(text: row[1]), on: connection, among: declarations)
            guard let schema = declared else { continue }
            let columns = try connection.rows(
                "SELECT name, log_name, dropped FROM logsync_column WHERE table_id = ? ORDER BY id", row[0])
            registered.append(
                Registered(
                    id: row[0].asInteger, name: String(text: row[2]), schema: schema,
                    kind: TrackedTable.IdentityKind(rawValue: String(text: row[3])) ?? .natural,
                    key: row[4].isNull ? [] : try KeyList.decode(String(text: row[4])),
                    columns: columns.map { (String(text: $0[0]), String(text: $0[1]), $0[2].asInteger != 0) },
                    extent: extents[row[0].asInteger] ?? TableExtent()))
        }
        let said = try declaredReferences(among: registered, on: connection)
        let resolver = ReferenceResolver(
            schemas: Dictionary(registered.map { ($0.local, $0.schema) }, uniquingKeysWith: { first, _ in first }),
            kinds: Dictionary(registered.map { ($0.local, $0.kind) }, uniquingKeysWith: { first, _ in first }),
            aliases: Dictionary(
                registered.map { ($0.name.folded, $0.local) }, uniquingKeysWith: { first, _ in first }),
            declared: said)
        let references = ColumnReferences(
            resolver: resolver,
            names: Dictionary(registered.map { ($0.local, $0.name) }, uniquingKeysWith: { first, _ in first }),
            history: try ReferenceHistory(connection),
            numbered: Set(
                registered.filter { $0.kind != .natural && $0.schema.integerKey != nil }.map { $0.name.folded }))
        let keys = try KeyHistory(connection)
        let digest = try DigestKey.read(on: connection)
        return Catalog(registered.map { table($0, references, keys: keys, valueDigest: digest) }, keys, said: said)
    }

    /// Registered tables that are not there any more, as far as their registration says what they were: which columns they
    /// had, and how their clock records are laid out.
    static func absentTables(on connection: Connection) throws -> [TrackedTable] {
        let declarations = try TableDeclarations(on: connection)
        return try connection.rows(
            "SELECT id, name, log_name, identity, key_columns, shape FROM logsync_table ORDER BY id"
        ).compactMap { row in
            let name = String(text: row[1])
            guard try TableSchema.read(name, on: connection, among: declarations) == nil else { return nil }
            let kind = TrackedTable.IdentityKind(rawValue: String(text: row[3])) ?? .natural
            let key = row[4].isNull ? [] : try KeyList.decode(String(text: row[4]))
            let columns = try connection.rows(
                "SELECT log_name FROM logsync_column WHERE table_id = ? ORDER BY id", row[0]
            ).map { String(text: $0[0]) }
            let shape = TrackedTable.Shape(String(text: row[5]))
            var schema = TableSchema(
                name: name, columns: [], isWithoutRowid: !shape.hasRowid, isStrict: false, isAutoincrement: false,
                integerKey: nil, rowidName: shape.hasRowid ? "rowid" : nil, uniqueIndexes: [], foreignKeys: [])
            if kind != .natural || shape.areNamedByPlaces { schema.integerKey = "rowid" }
            if shape.storesIdentity {
                schema.uniqueIndexes = [
                    TableSchema.UniqueIndex(name: "", isPrimaryKey: false, columns: nil, foreignCollations: [])
                ]
            }
            return TrackedTable(
                id: row[0].asInteger, name: String(text: row[2]), kind: kind, schema: schema, columns: [],
                columnNames: columns, formerKey: key)
        }
    }

    /// A row of `logsync_table` with its columns.
    private struct Registered {
        var id: Int64
        /// In logs.
        var name: String
        var schema: TableSchema
        var kind: TrackedTable.IdentityKind
        /// By names in logs.
        var key: [String]
        /// Of every column id ever given.
        var columns: [(local: String, name: String, isDropped: Bool)]
        var extent: TableExtent

        /// The name in the database, in lower case.
        var local: String { schema.name.folded }
    }

    private static func table(
        _ row: Registered, _ references: ColumnReferences, keys: KeyHistory, valueDigest: ValueDigest
    ) -> TrackedTable {
        // By bytes: two names may be the same letters.
        var ids: [[UInt8]: Int] = [:]
        for (id, column) in row.columns.enumerated() where !column.isDropped {
            ids[Array(column.local.asciiFolded.utf8)] = id
        }
        let keySet = Set(row.key.map { $0.folded })
        var columns: [TrackedTable.Column] = []
        for column in row.schema.columns where !column.isGenerated {
            if row.kind != .natural && column.name == row.schema.integerKey { continue }
            guard let id = ids[Array(column.name.asciiFolded.utf8)] else { continue }
            let name = row.columns[id].name
            let reference = references.of(column.name, id, in: row.schema.name, row.id)
            columns.append(
                TrackedTable.Column(
                    id: id, name: name, local: column.name, reference: reference.noted,
                    declaredReference: reference.declared,
                    collation: Collation(rawValue: column.collation) ?? .binary,
                    isKey: keySet.contains(name.folded)))
        }
        let keyNames = Set(columns.filter(\.isKey).map { $0.local.folded })
        let key = row.key.compactMap { name in
            columns.firstIndex { $0.name.folded == name.folded }.map { index in
                TrackedTable.KeyColumn(
                    index: index,
                    collation: Self.keyCollation(columns[index].local, keyNames: keyNames, schema: row.schema))
            }
        }
        return TrackedTable(
            id: row.id, name: row.name, kind: row.kind, schema: row.schema, columns: columns,
            columnNames: row.columns.map(\.name), key: key, keepsIdentities: keys.tables.contains(row.id),
            epoch: row.kind != .surrogate ? keys.epoch(of: row.name, key: key.map { columns[$0.index].name }) : nil,
            valueDigest: valueDigest, extent: row.extent)
    }

    /// The collation under which a key column is unique: its index's, which may differ from the column's.
    private static func keyCollation(_ name: String, keyNames: Set<String>, schema: TableSchema) -> Collation {
        for index in schema.uniqueIndexes {
            guard let parts = index.columns, Set(parts.map { $0.name.folded }) == keyNames else { continue }
            if let part = parts.first(where: { $0.name.folded == name.folded }) { return part.collation }
        }
        return schema.column(name).flatMap { Collation(rawValue: $0.collation) } ?? .binary
    }

    /// The number that stands in a name where a pattern has `#`, as programs number tables that they make as they go.
    private static func number(in name: String, as pattern: String) -> String? {
        let parts = pattern.split(separator: "#", omittingEmptySubsequences: false)
        guard parts.count == 2, name.count > parts[0].count + parts[1].count, name.hasPrefix(parts[0]),
            name.hasSuffix(parts[1])
        else { return nil }
        let number = name.dropFirst(parts[0].count).dropLast(parts[1].count)
        return number.allSatisfy(\.isNumber) ? String(number) : nil
    }

    /// Undeclared references by names in the database. Settings have names in logs.
    private static func declaredReferences(
        among registered: [Registered], on connection: Connection
    ) throws -> [String: String] {
        var columns: [String: String] = [:]
        var tables: [String: String] = [:]
        for table in registered {
            tables[table.name.folded] = table.local
            for column in table.columns where !column.isDropped {
                columns["\(table.name).\(column.name)".folded] = "\(table.local).\(column.local.folded)"
            }
        }
        var declared: [String: String] = [:]
        let said = try connection.rows("SELECT target, value FROM logsync_setting WHERE kind = 'reference'")
        let known = try connection.rows(
            "SELECT substr(key, 11), value FROM logsync_store WHERE key LIKE '\(ReferenceHistory.known)%'")
        // What a transaction that waits says counts, whatever was said before.
        for row in said + known {
            let (target, parent) = (String(text: row[0]).folded, String(text: row[1]).folded)
            if let column = columns[target] {
                if let parent = tables[parent] { declared[column] = parent }
                continue
            }
            for (column, local) in columns {
                guard let number = Self.number(in: column, as: target) else { continue }
                declared[local] = tables[parent.replacing("#", with: number)]
            }
        }
        return declared
    }
}

/// What columns refer to, by names in logs: as records mean it, and as the schema and settings say.
private struct ColumnReferences {
    var resolver: ReferenceResolver
    /// Tables' names in logs, by their lower-case names in the database.
    var names: [String: String]
    var history: ReferenceHistory
    /// The tables with integers of their own, by lower-case name in logs.
    var numbered: Set<String>

    func of(
        _ column: String, _ id: Int, in table: String, _ tableID: Int64
    ) -> (noted: String?, declared: String?) {
        let declared = resolver.parent(of: column, in: table).flatMap { names[$0.folded] }
        guard history.contains(id, of: tableID) else { return (declared, declared) }
        guard let noted = history.parent(of: id, in: tableID), noted != declared else {
            return (history.parent(of: id, in: tableID), declared)
        }
        // Of a table that has gone, or whose key is no integer any more, there are no integers to mean.
        return (numbered.contains(noted.folded) ? noted : nil, declared)
    }
}

/// Finds the table whose local integers a column holds, through the keys in between.
struct ReferenceResolver {
    var schemas: [String: TableSchema]
    var kinds: [String: TrackedTable.IdentityKind]
    /// Names by first names: a table renamed under `legacy_alter_table` goes on being referred to by the former one.
    var aliases: [String: String]
    /// Undeclared references, `child.column` in lower case → parent.
    var declared: [String: String]

    func parent(of column: String, in table: String) -> String? {
        var visited: Set<String> = []
        return parent(of: column.folded, in: table.folded, visited: &visited)
    }

    private func parent(of column: String, in table: String, visited: inout Set<String>) -> String? {
        guard visited.count < Limits.referenceChain, visited.insert("\(table).\(column)").inserted,
            let schema = schemas[table]
        else { return nil }
        for foreignKey in schema.foreignKeys {
            let name = foreignKey.parent.folded
            guard let parent = schemas[name] ?? aliases[name].flatMap({ schemas[$0] }) else { continue }
            for (index, from) in foreignKey.from.enumerated() where from.folded == column {
                let to =
                    foreignKey.to.indices.contains(index)
                    ? foreignKey.to[index] : parent.keyColumns.dropFirst(index).first?.name
                guard let to = to?.folded else { continue }
                let kind = kinds[parent.name.folded]
                if kind != .natural, kind != nil, parent.integerKey?.folded == to { return parent.name }
                if let found = self.parent(of: to, in: parent.name.folded, visited: &visited) { return found }
            }
        }
        guard let parent = declared["\(table).\(column)"].flatMap({ schemas[$0.folded] }) else { return nil }
        // A table whose key is another table's has no integers of its own, and keys that are the same everywhere are plain
        // values. Rows without a key have rowids.
        guard kinds[parent.name.folded] == .natural, let key = parent.keyColumns.first?.name else { return parent.name }
        guard parent.integerKey != nil else { return nil }
        return self.parent(of: key.folded, in: parent.name.folded, visited: &visited)
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

extension Catalog {
    /// The column, by position, whose values a column holds that names rows of another table by a key of one column; nil where
    /// it does not.
    func namedKey(_ column: TrackedTable.Column, in table: TrackedTable) -> (parent: TrackedTable, position: Int)? {
        for key in table.schema.foreignKeys where key.from.map({ $0.folded }) == [column.local.folded] {
            guard let parent = tables.first(where: { $0.schema.name.folded == key.parent.folded }) else { continue }
            let names = key.to.isEmpty ? parent.schema.keyColumns.map { $0.name.folded } : key.to.map { $0.folded }
            if names.count == 1, let position = parent.columns.firstIndex(where: { $0.local.folded == names[0] }) {
                return (parent, position)
            }
        }
        guard let name = said["\(table.schema.name).\(column.local)".folded], let parent = self[local: name],
            parent.localInteger == nil, parent.key.count == 1
        else { return nil }
        return (parent, parent.key[0].index)
    }
}
