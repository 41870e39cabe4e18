/// A column that holds integers of another table's rows, or seems to.
public struct ReferenceReport: Sendable, Hashable, Codable {
    /// What says so.
    public enum Evidence: String, Sendable, Codable {
        /// The schema, or an option.
        case declared
        /// The recipe for the database's application.
        case recipe
        /// The column is named as the table, and all its values are integers of the table's rows.
        case nameAndData = "name-and-data"
        /// The column is named as the table, and has no values yet.
        case name
        /// All its values are integers of the table's rows, and so large that this is no chance.
        case data
        /// A view or trigger compares it with the table's key.
        case join
        /// Core Data has made an index for it, as it does for a relationship, and nothing says with which entity.
        case index
    }

    public var table: String
    public var column: String
    /// The table whose rows it names.
    public var parent: String
    public var evidence: Evidence
    /// Whether its integers are translated.
    public var taken: Bool
    /// The column beside it that says of which table each row's integer is one's, as `item_type` beside `item_id`.
    public var type: String?
    /// True where its integers are written out as texts, or lists of them: nothing translates these. Absent otherwise.
    public var asText: Bool?

    public init(
        table: String, column: String, parent: String, evidence: Evidence, taken: Bool, type: String? = nil,
        asText: Bool? = nil
    ) {
        self.table = table
        self.column = column
        self.parent = parent
        self.evidence = evidence
        self.taken = taken
        self.type = type
        self.asText = asText
    }
}

extension ReferenceReport {
    /// A column of which it has to be said whether it holds integers of another table's rows.
    public struct Undecided: Sendable, Hashable, Codable {
        public var table: String
        public var column: String
        public var parent: String
        /// As ``ReferenceReport/type``: then its integers may be several tables', of which one alone can be named.
        public var type: String?
        /// As ``ReferenceReport/asText``.
        public var asText: Bool?

        public init(table: String, column: String, parent: String, type: String? = nil, asText: Bool? = nil) {
            self.table = table
            self.column = column
            self.parent = parent
            self.type = type
            self.asText = asText
        }
    }
}
