extension TableReport {
    /// An INTEGER PRIMARY KEY of which it has to be said whether it is the same everywhere, or a number of each machine's own.
    public struct UndecidedKey: Sendable, Hashable, Codable {
        public var table: String
        public var column: String
        /// Why it may mean something, as the rest of a sentence that begins with the column.
        public var reason: String

        public init(table: String, column: String, reason: String) {
            self.table = table
            self.column = column
            self.reason = reason
        }
    }
}
