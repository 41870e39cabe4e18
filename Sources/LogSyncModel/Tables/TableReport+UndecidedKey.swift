extension TableReport {
    /// An INTEGER PRIMARY KEY of which it has to be said whether it is the same everywhere, or a number of each machine's own;
    /// or a UNIQUE column that counts rows, of which it has to be said that it is the same everywhere all the same.
    public struct UndecidedKey: Sendable, Hashable, Codable {
        public var table: String
        public var column: String
        /// Why it may mean something, as the rest of a sentence that begins with the column.
        public var reason: String
        /// True where it is UNIQUE, no PRIMARY KEY, and counts rows; nil otherwise.
        public var isCounted: Bool?

        enum CodingKeys: String, CodingKey {
            case table, column, reason
            case isCounted = "counted"
        }

        public init(table: String, column: String, reason: String, isCounted: Bool? = nil) {
            self.table = table
            self.column = column
            self.reason = reason
            self.isCounted = isCounted
        }
    }
}
