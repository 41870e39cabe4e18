/// A column by its names in logs; upper and lower case are the same, as in SQLite.
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

extension ColumnName: Hashable {
    private var folded: [String] { [table.folded, column.folded] }

    public static func == (a: ColumnName, b: ColumnName) -> Bool { a.folded == b.folded }
    public func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}
