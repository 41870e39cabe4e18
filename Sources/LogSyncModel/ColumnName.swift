/// A column by two names, in logs or in a database; upper and lower case are the same, as in SQLite.
public struct ColumnName: Sendable, Comparable, CustomStringConvertible {
    public var table: String
    public var column: String

    public init(_ table: String, _ column: String) {
        self.table = table
        self.column = column
    }

    public var description: String { "\(table).\(column)" }

    public static func < (a: ColumnName, b: ColumnName) -> Bool { (a.table, a.column) < (b.table, b.column) }
}

extension ColumnName {
    /// What `TABLE.COLUMN` may mean, shorter tables first: either name may have a dot in it.
    package static func readings(of text: String) -> [ColumnName] {
        text.indices.filter { text[$0] == "." }.map { dot in
            ColumnName(String(text[..<dot]), String(text[text.index(after: dot)...]))
        }
    }

    /// The column that is meant where dots stand in its name or its table's: this one if it is there, else the first
    /// reading that is; nil where none is.
    package func reading(where isThere: (ColumnName) throws -> Bool) rethrows -> ColumnName? {
        if try isThere(self) { return self }
        return try Self.readings(of: description).first(where: isThere)
    }
}

extension ColumnName: Hashable {
    private var folded: [String] { [table.folded, column.folded] }

    public static func == (a: ColumnName, b: ColumnName) -> Bool { a.folded == b.folded }
    public func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}
