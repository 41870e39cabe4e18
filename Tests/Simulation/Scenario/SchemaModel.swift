import LogSyncModel

/// A schema as values, from which its SQL is made and which the oracle knows it by.
struct SchemaModel: Sendable {
    var tables: [TableModel]
    /// Tables and triggers beside the replicated tables.
    var extras: [String] = []

    subscript(name: String) -> TableModel? { tables.first { $0.name == name } }

    var sql: [String] {
        tables.flatMap { [$0.sql] + $0.indexSQL } + extras
    }
}

struct TableModel: Sendable {
    enum Identity: Sendable, Hashable {
        /// `id INTEGER PRIMARY KEY`, local to each peer.
        case surrogate
        /// The key's columns.
        case natural
        /// A UNIQUE column set of a table with `id INTEGER PRIMARY KEY`.
        case columns
    }

    var name: String
    /// Its name in logs, where it was called that before.
    var loggedAs: String?
    var identity: Identity
    /// The columns that identify a row; none where it is a surrogate.
    var key: [String] = []
    /// Whether the one key column is the rowid: `key INTEGER PRIMARY KEY`.
    var keyIsRowid = false
    var isAutoincrement = false
    var isStrict = false
    var isWithoutRowid = false
    /// Without the local integer, with generated ones.
    var columns: [ColumnModel]
    var uniques: [UniqueModel] = []
    /// Foreign keys of several columns.
    var composites: [CompositeModel] = []
    var checks: [String] = []

    /// Whether rows have an integer that is local to each peer, in a column named `id`.
    var hasLocalInteger: Bool { identity != .natural }

    subscript(column: String) -> ColumnModel? { columns.first { $0.name == column } }

    var replicated: [ColumnModel] { columns.filter { $0.generated == nil } }

    /// Whether rows are links and nothing else, each of which is to be there once.
    var isSetOfLinks: Bool {
        identity == .surrogate
            && replicated.allSatisfy { column in
                column.reference != nil || composites.contains { $0.columns.contains(column.name) }
            }
            && uniques.contains { unique in
                unique.condition == nil && Set(unique.parts.map(\.sql)) == Set(replicated.map(\.name))
            }
    }
}

struct ColumnModel: Sendable {
    /// What programs write to it.
    enum Domain: Sendable { case integers, texts, reals, anything, arrays, references }

    var name: String
    /// Its name in logs, where it was called that before.
    var loggedAs: String?
    var type: String
    var domain: Domain
    var isNotNull = false
    var defaultSQL: String?
    /// What the default is; NULL where there is none.
    var defaultValue = Value.null
    var collation = Collation.binary
    var reference: ReferenceModel?
    /// The expression of a generated column.
    var generated: String?
}

struct ReferenceModel: Sendable {
    enum OnDelete: String, Sendable {
        case noAction = "NO ACTION", cascade = "CASCADE", setNull = "SET NULL", setDefault = "SET DEFAULT"
    }

    var parent: String
    /// The parent's column that it names, a UNIQUE one; nil where it is its key.
    var parentColumn: String?
    var onDelete = OnDelete.noAction
    /// Otherwise it is told by `--reference`.
    var isDeclared = true
    var isDeferred = false
}

struct CompositeModel: Sendable {
    var columns: [String]
    var parent: String
    var parentColumns: [String]
    var onDelete = ReferenceModel.OnDelete.noAction
}

struct UniqueModel: Sendable {
    struct Part: Sendable {
        /// A column, or an expression in parentheses.
        var sql: String
        var collation: Collation?
    }

    var name: String
    var parts: [Part]
    var condition: String?
}

// MARK: Soundness

extension SchemaModel {
    /// Whether what foreign keys refer to is there and unique; SQLite would refuse some statements otherwise.
    var isSound: Bool {
        tables.allSatisfy { table in
            table.columns.allSatisfy { column in
                column.reference.map { isUnique($0.parentColumn.map { [$0] }, of: $0.parent) } ?? true
            } && table.composites.allSatisfy { isUnique($0.parentColumns, of: $0.parent) }
        }
    }

    /// - Parameter columns: nil for the key.
    private func isUnique(_ columns: [String]?, of parent: String) -> Bool {
        guard let table = self[parent] else { return false }
        guard let columns else { return table.hasLocalInteger || table.key.count == 1 }
        guard columns.allSatisfy({ table[$0] != nil }) else { return false }
        return Set(columns) == Set(table.key)
            || table.uniques.contains { $0.condition == nil && Set($0.parts.map(\.sql)) == Set(columns) }
    }
}

// MARK: SQL

extension TableModel {
    var sql: String {
        var lines: [String] = []
        if hasLocalInteger { lines.append("id INTEGER PRIMARY KEY\(isAutoincrement ? " AUTOINCREMENT" : "")") }
        lines += columns.map { $0.sql(isRowid: keyIsRowid && key == [$0.name]) }
        if identity == .natural, !keyIsRowid { lines.append("PRIMARY KEY(\(key.joined(separator: ", ")))") }
        lines += checks.map { "CHECK(\($0))" }
        for column in columns {
            guard let reference = column.reference, reference.isDeclared else { continue }
            lines.append(
                "FOREIGN KEY(\(column.name)) REFERENCES \(reference.parent)"
                    + (reference.parentColumn.map { "(\($0))" } ?? "") + " ON DELETE \(reference.onDelete.rawValue)"
                    + (reference.isDeferred ? " DEFERRABLE INITIALLY DEFERRED" : ""))
        }
        for key in composites {
            lines.append(
                "FOREIGN KEY(\(key.columns.joined(separator: ", "))) REFERENCES \(key.parent)"
                    + "(\(key.parentColumns.joined(separator: ", "))) ON DELETE \(key.onDelete.rawValue)")
        }
        let options = [isStrict ? "STRICT" : nil, isWithoutRowid ? "WITHOUT ROWID" : nil].compactMap { $0 }
        return "CREATE TABLE \(name)(\(lines.joined(separator: ", "))) \(options.joined(separator: ", "))"
    }

    var indexSQL: [String] {
        uniques.map {
            "CREATE UNIQUE INDEX \($0.name) ON \(sqlName)(\($0.list))\($0.condition.map { " WHERE " + $0 } ?? "")"
        }
    }
}

extension ColumnModel {
    func sql(isRowid: Bool) -> String {
        var text = "\(name) \(type)"
        if isRowid { text += " PRIMARY KEY" }
        if collation != .binary { text += " COLLATE \(collation.rawValue)" }
        if isNotNull { text += " NOT NULL" }
        if let defaultSQL { text += " DEFAULT \(defaultSQL)" }
        if let generated { text += " GENERATED ALWAYS AS (\(generated)) VIRTUAL" }
        return text
    }
}

extension UniqueModel {
    var list: String {
        parts.map { "\($0.sql)\($0.collation.map { " COLLATE " + $0.rawValue } ?? "")" }.joined(separator: ", ")
    }
}

// MARK: References

extension TableModel {
    /// A reference of one column or several.
    struct Key {
        var columns: [String]
        var parent: String
        /// What it names the parent by; nil where that is its one key column, or its integer.
        var parentColumns: [String]?
        var onDelete: ReferenceModel.OnDelete
        var isDeclared: Bool
    }

    /// In the order of the columns, those of several columns last.
    var references: [Key] {
        columns.compactMap { column in
            column.reference.map {
                Key(
                    columns: [column.name], parent: $0.parent, parentColumns: $0.parentColumn.map { [$0] },
                    onDelete: $0.onDelete, isDeclared: $0.isDeclared)
            }
        }
            + composites.map {
                Key(
                    columns: $0.columns, parent: $0.parent, parentColumns: $0.parentColumns, onDelete: $0.onDelete,
                    isDeclared: true)
            }
    }
}

extension SchemaModel {
    /// Whether the deletion of one of a table's rows may delete or change others of its rows with it.
    func changesItself(_ table: TableModel) -> Bool {
        var found: Set<String> = []
        var next = [table]
        while let child = next.popLast() {
            for key in child.references where key.onDelete != .noAction {
                if key.parent == table.name { return true }
                if found.insert(key.parent).inserted, let parent = self[key.parent] { next.append(parent) }
            }
        }
        return false
    }
}

extension TableModel {
    var logName: String { loggedAs ?? name }
    /// A numbered name in logs has a space in it.
    var sqlName: String { name.contains(" ") ? "\"\(name)\"" : name }
}

extension ColumnModel {
    var logName: String { loggedAs ?? name }
}

extension TableModel {
    /// Whether a column says which row is meant: its own, or another.
    func namesRows(_ column: ColumnModel) -> Bool { column.reference != nil || key.contains(column.name) }
}
