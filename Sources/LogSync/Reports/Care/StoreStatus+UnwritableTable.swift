extension StoreStatus {
    /// A replicated table that needs a function or collation which only its own program has.
    public struct UnwritableTable: Codable, Sendable, Hashable {
        public var table: String
        /// What needs which, as a sentence without its end.
        public var reason: String

        /// For people.
        public var line: String { "\(table) cannot be written by logsync: \(reason)" }
    }
}
