/// A new name that a migration gives by rebuilding, which nothing in the database says.
package struct Renaming: Hashable, Sendable {
    /// The table; where ``column`` is nil, by its former name.
    package var table: String
    /// The former name of the column; nil where the table itself is renamed.
    package var column: String?
    package var to: String

    package init(table: String, column: String?, to: String) {
        self.table = table
        self.column = column
        self.to = to
    }
}

/// What a migration did.
package struct MigrationResult: Sendable {
    package var statements = 0
    /// What was captured before and is recorded first; nil for nothing.
    package var pending: RecordedTransaction?
    /// What the migration changed in rows; nil for nothing.
    package var recorded: RecordedTransaction?
    /// What is called something else now: the table as it is called now, the names before and after.
    package var renamed: [(table: String, from: String, to: String)] = []
    /// Tables that came and that cannot be replicated.
    package var notReplicated: [String] = []
}
