public import LogSyncModel

/// A piece of a log file, for `logsync show`, in the order of the file.
public enum LogElement: Sendable {
    /// What the file says of itself; comes first, and only where a file is shown.
    case file(File)
    /// A transaction begins.
    case transaction(Transaction)
    /// A row of the transaction that began last.
    case row(Row)
}

extension LogElement {
    /// A log file's header.
    public struct File: Sendable, Encodable {
        public var content: String
        public var peer: PeerID
        public var first: UInt64
        public var last: UInt64
        public var bytes: Int
    }
}

extension LogElement {
    /// A transaction's header.
    public struct Transaction: Sendable, Encodable {
        public var peer: PeerID
        public var sequence: UInt64
        public var time: Timestamp
        public var author: String?
        public var context: String?
        /// The schema's fingerprint; nil where it is of no table.
        public var schema: String?
        /// The entries of its dependencies that moved since the peer's previous transaction.
        public var dependencyChanges: VersionVector
    }
}

extension LogElement {
    /// One row change, cell by cell.
    public struct Row: Sendable, Encodable {
        public struct Cell: Sendable, Encodable {
            public var column: String
            /// `set`, `add` or `fill`.
            public var operation: String
            public var value: JSONValue
            /// The table of the row that the value names; nil where it names none.
            public var references: String?
        }

        public var table: String
        /// `insert`, `update` or `delete`.
        public var kind: String
        /// The row's identity in hex.
        public var identity: String
        /// The natural key's values; nil for a surrogate identity.
        public var key: [JSONValue]?
        /// The row's integer at its author.
        public var integer: Int64?
        public var time: Timestamp
        public var cells: [Cell]
    }
}
