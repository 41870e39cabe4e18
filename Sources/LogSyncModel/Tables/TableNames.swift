/// Names of tables, and what names of tables begin with; in lower case as SQLite folds it.
package struct TableNames: Hashable, Sendable {
    private var names: Set<String> = []
    private var beginnings: Set<String> = []

    package init(_ names: some Sequence<String> = [], beginningWith beginnings: some Sequence<String> = []) {
        self.names = Set(names.map(\.folded))
        self.beginnings = Set(beginnings.map(\.folded))
    }

    package mutating func formUnion(_ other: TableNames) {
        names.formUnion(other.names)
        beginnings.formUnion(other.beginnings)
    }

    package func union(_ other: TableNames) -> TableNames {
        var union = self
        union.formUnion(other)
        return union
    }

    package func contains(_ table: String) -> Bool { names.contains(table.folded) || hasBeginning(of: table) }

    /// Whether a name begins as one of them.
    package func hasBeginning(of table: String) -> Bool {
        let name = table.folded
        return beginnings.contains(where: name.hasPrefix)
    }
}
