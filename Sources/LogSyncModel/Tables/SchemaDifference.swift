/// A point in which another peer's schema says something else than this store's.
public struct SchemaDifference: Hashable, Sendable, Codable {
    public enum Kind: String, Hashable, Sendable, Codable {
        /// The table or column is there and not here.
        case missingHere = "missing-here"
        /// The table or column is here and not there.
        case missingThere = "missing-there"
        case type
        case collation
        case notNull = "not-null"
        case `default`
        /// The columns of the primary key.
        case key
        /// The sets of columns that are unique beside the key.
        case unique
        case foreignKeys = "foreign-keys"
        /// The CHECK constraints.
        case check
        /// What a generated column is made of.
        case generated
        /// What stands behind the columns, as STRICT.
        case options
        /// An index that is not UNIQUE and that both have, with other terms.
        case index
        case trigger
        case view
    }

    /// By its name in logs, which is its first one; of a view, its name.
    public var table: String
    /// By its name in logs; nil where the table as a whole differs.
    public var column: String?
    public var kind: Kind
    /// The name of an index or trigger; nil for everything else.
    public var object: String?
    /// What this store's schema says, as SQL has it; nil for nothing.
    public var here: String?
    /// What the other peer's says.
    public var there: String?

    public init(
        table: String, column: String? = nil, kind: Kind, object: String? = nil, here: String? = nil,
        there: String? = nil
    ) {
        self.object = object
        self.table = table
        self.column = column
        self.kind = kind
        self.here = here
        self.there = there
    }

    /// As `TABLE.COLUMN`.
    public var name: String { column.map { "\(table).\($0)" } ?? table }
}
