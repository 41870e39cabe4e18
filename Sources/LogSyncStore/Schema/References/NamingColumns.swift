import LogSyncModel
import LogSyncSQLite

/// By which columns of other rows the columns of a store's tables name these, where that is not their integer.
///
/// A foreign key says `p REFERENCES p(uid)`, and a program's next release `p REFERENCES p(num)`: its migration puts another value
/// of the same row there. So that it is known that the row meant is the same, a store notes what its columns name rows by, and
/// a migration that changes it tells the content all columns that were or are used (the setting ``setting``). Peers that have
/// not migrated yet, or have before, find the row by these.
struct NamingColumns {
    /// The kind of the setting. Its target is `TABLE.COLUMN`, its value a list of columns of the table that this refers to, all in
    /// names of logs.
    static let setting = "named"
    /// So many columns count, the ones that were told last.
    static let most = 16
    private static let prefix = "names "

    /// A column of a table, by names in logs.
    struct Name: Equatable {
        var table: String
        var column: String
    }

    /// By table and column id: the table and the column in turn; empty for what names no rows so.
    private let names: [Int64: [String]]

    init(_ connection: Connection) throws {
        var names: [Int64: [String]] = [:]
        for (table, columns) in try StoreFacts(connection).values(under: Self.prefix) {
            guard let table = Int64(table) else { continue }
            names[table] = try KeyList.decode(String(text: columns))
        }
        self.names = names
    }

    /// Whether nothing was noted yet, as in a store that an earlier version made.
    var isEmpty: Bool { names.isEmpty }

    /// What a column named rows by when it was looked at last; nil where it named none so.
    func name(of column: Int, in table: Int64) -> Name? {
        guard let names = names[table], names.count > 2 * column + 1, !names[2 * column].isEmpty else { return nil }
        return Name(table: names[2 * column], column: names[2 * column + 1])
    }

    /// Notes what the tables' columns name rows by now. A column that is not here for a while is what it was.
    static func note(_ catalog: Catalog, on connection: Connection) throws {
        let noted = try NamingColumns(connection).names
        for table in catalog.tables {
            var names = noted[table.id] ?? []
            while names.count < 2 * table.columnCount { names.append("") }
            for column in table.columns {
                let name = catalog.naming(column, in: table)
                (names[2 * column.id], names[2 * column.id + 1]) = (name?.table ?? "", name?.column ?? "")
            }
            if names != noted[table.id] {
                try StoreFacts(connection).set(prefix + String(table.id), .text(try KeyList.encode(names)))
            }
        }
    }

    static func forget(_ table: Int64, on connection: Connection) throws {
        try StoreFacts(connection).remove(prefix + String(table))
    }
}

extension Catalog {
    /// The column of another table by whose values a column names rows; nil where it names them by their integers, or none.
    func naming(_ column: TrackedTable.Column, in table: TrackedTable) -> NamingColumns.Name? {
        guard column.declaredReference == nil, let (parent, position) = namedKey(column, in: table) else { return nil }
        return NamingColumns.Name(table: parent.name, column: parent.columns[position].name)
    }
}
