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
    /// What would become of the rows in a content that has rows already; nil but for a dry run that would join one.
    public var join: JoinCounts?

    /// What becomes of a table's rows where their database joins a content.
    public struct JoinCounts: Hashable, Sendable, Codable {
        /// Rows that the content has, with the same values.
        public var same: Int
        /// Rows that the content does not have.
        public var new: Int
        /// Rows that may be the same as others of the content or not: those of the same key with other values, which
        /// become one row, and those of the same integer with other values, which stay two.
        public var doubt: Int

        public init(same: Int, new: Int, doubt: Int) {
            self.same = same
            self.new = new
            self.doubt = doubt
        }
    }

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
