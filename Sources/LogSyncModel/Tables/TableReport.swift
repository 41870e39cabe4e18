/// What `init` says of a table.
public struct TableReport: Sendable, Equatable, Codable {
    public var table: String
    /// `natural`, `surrogate`, `columns`, `local` or `skipped`.
    public var identity: String
    /// The columns that identify a row; empty for a surrogate identity.
    public var columns: [String]
    /// Foreign-key columns that are translated, as `COLUMN` → parent table.
    public var references: [String: String]
    /// Advice: a better UNIQUE column set, or columns that look like undeclared references.
    public var suggestions: [String]
    public var rows: Int

    public init(
        table: String, identity: String, columns: [String], references: [String: String], suggestions: [String],
        rows: Int
    ) {
        self.table = table
        self.identity = identity
        self.columns = columns
        self.references = references
        self.suggestions = suggestions
        self.rows = rows
    }
}
