extension TableReport {
    /// A table of which two machines have rows of one UNIQUE key that are not the same otherwise, and of which it is not said
    /// whether they are one: one of each two could not be shown.
    public struct Contested: Sendable, Hashable, Codable {
        public var table: String
        /// How many could not be shown.
        public var rows: Int
        /// The columns of each of the table's UNIQUE keys, as far as they are of columns alone.
        public var keys: [[String]]

        public init(table: String, rows: Int, keys: [[String]]) {
            self.table = table
            self.rows = rows
            self.keys = keys
        }
    }
}
