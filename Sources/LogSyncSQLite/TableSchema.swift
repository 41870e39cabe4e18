import CLogSyncSQLite
import GRDBSQLite
package import LogSyncModel

/// A table as the database declares it now.
package struct TableSchema: Equatable {
    package struct Column: Equatable {
        package var name: String
        package var declaredType: String
        package var isNotNull: Bool
        package var defaultSQL: String?
        /// From 1 within the primary key, 0 outside it.
        package var keyIndex: Int
        package var isGenerated: Bool
        /// As declared; one of SQLite's three, or the name of another.
        package var collation: String

        package init(
            name: String, declaredType: String, isNotNull: Bool, defaultSQL: String? = nil, keyIndex: Int,
            isGenerated: Bool, collation: String
        ) {
            self.name = name
            self.declaredType = declaredType
            self.isNotNull = isNotNull
            self.defaultSQL = defaultSQL
            self.keyIndex = keyIndex
            self.isGenerated = isGenerated
            self.collation = collation
        }
    }

    package struct UniqueIndex: Equatable {
        package var name: String
        package var isPrimaryKey: Bool
        /// The columns with their collations; nil where the index has expressions or a WHERE clause.
        package var columns: [IndexColumn]?
        /// Collations of the index that logsync does not have.
        package var foreignCollations: [String]

        package init(name: String, isPrimaryKey: Bool, columns: [IndexColumn]? = nil, foreignCollations: [String]) {
            self.name = name
            self.isPrimaryKey = isPrimaryKey
            self.columns = columns
            self.foreignCollations = foreignCollations
        }
    }

    package struct IndexColumn: Equatable {
        package var name: String
        package var collation: Collation

        package init(name: String, collation: Collation) {
            self.name = name
            self.collation = collation
        }
    }

    package struct ForeignKey: Equatable {
        package var parent: String
        package var from: [String]
        /// The parent's columns; its primary key where the declaration leaves them out.
        package var to: [String]
        package var onDelete: String

        package init(parent: String, from: [String], to: [String], onDelete: String) {
            self.parent = parent
            self.from = from
            self.to = to
            self.onDelete = onDelete
        }
    }

    package var name: String
    package var columns: [Column] { didSet { positions = Self.positions(of: columns) } }
    /// Of the columns, by their folded names.
    private var positions: [String: Int]
    package var isWithoutRowid: Bool
    package var isStrict: Bool
    package var isAutoincrement: Bool
    /// The INTEGER PRIMARY KEY column, which is the rowid.
    package var integerKey: String?
    /// The only value that a CHECK constraint lets that have; nil where none is known to.
    package var onlyInteger: Int64?
    /// A name by which SQL reaches the rowid, where one is not taken by a column.
    package var rowidName: String?
    package var uniqueIndexes: [UniqueIndex]
    package var foreignKeys: [ForeignKey]
    /// Whether the database gives back bytes that are no text as they are: one in UTF-16 makes other characters of them.
    package var keepsAnyText = true

    package init(
        name: String, columns: [Column], isWithoutRowid: Bool, isStrict: Bool, isAutoincrement: Bool,
        integerKey: String? = nil, rowidName: String? = nil, uniqueIndexes: [UniqueIndex], foreignKeys: [ForeignKey]
    ) {
        self.name = name
        self.columns = columns
        positions = Self.positions(of: columns)
        self.isWithoutRowid = isWithoutRowid
        self.isStrict = isStrict
        self.isAutoincrement = isAutoincrement
        self.integerKey = integerKey
        self.rowidName = rowidName
        self.uniqueIndexes = uniqueIndexes
        self.foreignKeys = foreignKeys
    }

    package var keyColumns: [Column] {
        columns.filter { $0.keyIndex > 0 }.sorted { $0.keyIndex < $1.keyIndex }
    }

    package func column(_ name: String) -> Column? { positions[name.folded].map { columns[$0] } }

    /// Whether a UNIQUE index lets no two rows have the same in a column, whatever the others hold.
    package func isUnique(_ column: String) -> Bool {
        uniqueIndexes.contains { $0.columns.map { $0.map(\.name.folded) == [column.folded] } ?? false }
    }

    private static func positions(of columns: [Column]) -> [String: Int] {
        Dictionary(columns.enumerated().map { ($0.element.name.folded, $0.offset) }) { first, _ in first }
    }
}

extension TableSchema {
    /// Reads one table. Returns nil where there is no such table (a view, a virtual table, none).
    ///
    /// - Parameter declarations: what the database declares now, for those who read many tables.
    package static func read(
        _ name: String, on connection: Connection, among declarations: TableDeclarations? = nil
    ) throws -> TableSchema? {
        let declarations = try declarations ?? TableDeclarations(of: name, on: connection)
        guard let declared = try declarations.table(name, on: connection) else { return nil }
        let table = declared.name
        let options = options(declared.tokens)
        var schema = TableSchema(
            name: table, columns: [], isWithoutRowid: options.contains("WITHOUT"), isStrict: options.contains("STRICT"),
            isAutoincrement: false, integerKey: nil, rowidName: nil, uniqueIndexes: [], foreignKeys: [])
        try schema.readColumns(on: connection)
        try schema.readIndexes(on: connection)
        try schema.readForeignKeys(on: connection)
        schema.keepsAnyText = try !connection.isUTF16()
        if !schema.isWithoutRowid {
            let keys = schema.keyColumns
            if keys.count == 1, keys[0].declaredType.uppercased() == "INTEGER",
                !schema.uniqueIndexes.contains(where: \.isPrimaryKey)
            {
                schema.integerKey = keys[0].name
                schema.onlyInteger = OnlyInteger.find(of: keys[0].name, in: table, declared: declared.tokens)
            }
            schema.rowidName =
                schema.integerKey ?? ["rowid", "_rowid_", "oid"].first { schema.column($0) == nil }
        }
        return schema
    }

    /// The words after a declaration's last parenthesis.
    private static func options(_ declaration: SQLTokens) -> Set<String> {
        guard let last = (0..<declaration.count).last(where: { declaration.word($0) == ")" }) else { return [] }
        return Set((last + 1..<declaration.count).map(declaration.word))
    }

    /// The ordinary tables of the main database: no views, virtual tables, their shadows, or SQLite's and our own.
    package static func tableNames(on connection: Connection) throws -> [String] {
        try connection.rows(
            """
            SELECT name FROM pragma_table_list
            WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
              AND name NOT LIKE 'logsync\\_%' ESCAPE '\\'
            ORDER BY name
            """
        ).map { String(text: $0[0]) }
    }

    /// Reads the tables of ``tableNames(on:)``, in their order.
    package static func all(on connection: Connection) throws -> [TableSchema] {
        let declarations = try TableDeclarations(on: connection)
        return try tableNames(on: connection).compactMap { try read($0, on: connection, among: declarations) }
    }

    private mutating func readColumns(on connection: Connection) throws {
        let rows = try connection.rows(
            "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?) ORDER BY cid",
            .text(name))
        columns = rows.map { row in
            let column = String(text: row[0])
            var collation: UnsafePointer<CChar>?
            var autoincrement: Int32 = 0
            sqlite3_table_column_metadata(
                connection.handle, "main", name, column, nil, &collation, nil, nil, &autoincrement)
            isAutoincrement = isAutoincrement || autoincrement != 0
            return Column(
                name: column, declaredType: String(text: row[1]), isNotNull: row[2] == .integer(1),
                defaultSQL: row[3].isNull ? nil : String(text: row[3]), keyIndex: Int(row[4].asInteger),
                isGenerated: row[5].asInteger >= 2,
                collation: collation.map { String(cString: $0).uppercased() } ?? "BINARY")
        }
    }

    private mutating func readIndexes(on connection: Connection) throws {
        let indexes = try connection.rows(
            "SELECT name, origin, partial FROM pragma_index_list(?) WHERE \"unique\" ORDER BY seq", .text(name))
        for index in indexes {
            let columns = try connection.rows(
                "SELECT cid, name, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno", index[0])
            var parts: [IndexColumn]? = []
            var foreign: [String] = []
            for column in columns {
                let name = String(text: column[2]).uppercased()
                guard let collation = Collation(rawValue: name) else {
                    foreign.append(name)
                    continue
                }
                if column[0].asInteger < 0 || index[2] == .integer(1) {
                    parts = nil
                } else {
                    parts?.append(IndexColumn(name: String(text: column[1]), collation: collation))
                }
            }
            uniqueIndexes.append(
                UniqueIndex(
                    name: String(text: index[0]), isPrimaryKey: index[1] == .text("pk"), columns: parts,
                    foreignCollations: foreign))
        }
    }

    private mutating func readForeignKeys(on connection: Connection) throws {
        let rows = try connection.rows(
            "SELECT id, \"table\", \"from\", \"to\", on_delete FROM pragma_foreign_key_list(?) ORDER BY id, seq",
            .text(name))
        var byID: [(id: Int64, key: ForeignKey)] = []
        for row in rows {
            let to = row[3].isNull ? [] : [String(text: row[3])]
            if let last = byID.indices.last, byID[last].id == row[0].asInteger {
                byID[last].key.from.append(String(text: row[2]))
                byID[last].key.to += to
            } else {
                byID.append(
                    (
                        row[0].asInteger,
                        ForeignKey(
                            parent: String(text: row[1]), from: [String(text: row[2])], to: to,
                            onDelete: String(text: row[4]))
                    ))
            }
        }
        foreignKeys = byID.map(\.key)
    }
}
