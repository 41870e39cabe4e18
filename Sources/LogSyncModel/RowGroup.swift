/// Row changes of one table that have the same kind and the same columns, by column: the unit that a log frame encodes.
///
/// A transaction is a set of row changes with at most one per row, so their order means nothing; an author sorts them
/// by table, kind, columns and identity so that they pack well and merge in key order.
public struct RowGroup: Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// The row came to be. Covers what its author had seen of the row, then sets every column listed.
        case insert = 1
        /// Columns of a living row changed.
        case update = 2
        /// The row went away.
        case delete = 3
    }

    public var table: String
    public var kind: Kind
    public var columns: [Column]
    /// One a row; at least one.
    public var identities: [RowIdentity]
    /// One a row.
    public var times: [HybridTime]
    /// The rows' integers at their author, a hint for importers: empty, or one a row, nil where it has none that an
    /// importer could take over.
    public var integers: [Int64?]

    public init(
        table: String, kind: Kind, columns: [Column] = [], identities: [RowIdentity] = [], times: [HybridTime] = [],
        integers: [Int64?] = []
    ) {
        self.table = table
        self.kind = kind
        self.columns = columns
        self.identities = identities
        self.times = times
        self.integers = integers
    }

    public var rowCount: Int { identities.count }

    /// The latest time of a row or cell.
    package var latestTime: HybridTime {
        columns.reduce(times.max() ?? .zero) { max($0, $1.times.max() ?? .zero) }
    }

    /// One column's part of the group.
    public struct Column: Hashable, Sendable {
        public var name: String
        public var operation: Operation
        /// The table whose rows this column's ``Value/reference(_:)`` values name; nil where it has none.
        public var referencedTable: String?
        /// One a row.
        public var values: [Value]
        /// One a row where cells keep times of their own (a row inserted again as it was); otherwise empty.
        public var times: [HybridTime]
        /// One a row for ``Operation/add``: the version whose value the amounts are added to; otherwise empty.
        public var bases: [Dot]

        public init(
            name: String, operation: Operation = .set, referencedTable: String? = nil, values: [Value] = [],
            times: [HybridTime] = [], bases: [Dot] = []
        ) {
            self.name = name
            self.operation = operation
            self.referencedTable = referencedTable
            self.values = values
            self.times = times
            self.bases = bases
        }
    }

    /// What a column's values do to its cells (Documentation/model.md, replicated state).
    public enum Operation: UInt8, Hashable, Sendable, CaseIterable {
        /// Supersedes every version that the author had seen.
        case set = 1
        /// This peer's amounts added up since the base version; the value is numeric.
        case add = 2
        /// A value found when the column first appeared; supersedes nothing, at time 0.
        case fill = 3
    }
}
