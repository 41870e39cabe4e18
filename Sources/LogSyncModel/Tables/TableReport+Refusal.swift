extension TableReport {
    /// A table that cannot be replicated as it is.
    public struct Refusal: Sendable, Hashable, Codable {
        public var table: String
        /// Why, as the rest of a sentence that begins with the table.
        public var reason: String
        /// The options that help, any of which does.
        public var remedies: [String]

        public init(table: String, reason: String, remedies: [String]) {
            self.table = table
            self.reason = reason
            self.remedies = remedies
        }
    }
}
