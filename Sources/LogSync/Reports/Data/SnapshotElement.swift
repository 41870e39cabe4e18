public import LogSyncModel

/// A piece of a snapshot, for `logsync show`, in the order of the file.
public enum SnapshotElement: Sendable {
    /// What the snapshot says of itself; comes first.
    case snapshot(Snapshot)
    case row(Row)
}

extension SnapshotElement {
    /// What a snapshot says before its rows.
    public struct Snapshot: Sendable, Encodable {
        public var content: String
        /// Who took it, and that peer's own sequence in it.
        public var peer: PeerName
        public var sequence: UInt64
        public var taken: Timestamp
        public var bytes: Int
        /// The digest of the replicated state.
        public var digest: String
        /// The schema's fingerprint.
        public var schema: String
        public var vector: VersionVector
    }
}

extension SnapshotElement {
    /// A row with all its entries.
    public struct Row: Sendable, Encodable {
        /// The dot and time of one entry.
        public struct Entry: Sendable, Encodable {
            public var peer: PeerName
            public var sequence: UInt64
            public var time: Timestamp
        }

        public struct Version: Sendable, Encodable {
            public var peer: PeerName
            public var sequence: UInt64
            public var time: Timestamp
            /// nil where the author does not know it any more, because it has dropped the column.
            public var value: JSONValue?
        }

        /// What one peer added to a counter since a base version.
        public struct Addition: Sendable, Encodable {
            public var peer: PeerName
            public var sequence: UInt64
            public var time: Timestamp
            public var base: Base
            public var amount: JSONValue
        }

        public struct Base: Sendable, Encodable {
            public var peer: PeerName
            public var sequence: UInt64
        }

        public struct Cell: Sendable, Encodable {
            public var column: String
            public var versions: [Version]
            public var additions: [Addition]
        }

        public var table: String
        /// The row's identity in hex.
        public var identity: String
        /// The natural key's values; nil for a surrogate identity.
        public var key: [JSONValue]?
        /// The row's integer at the author.
        public var integer: Int64?
        public var inserts: [Entry]
        /// Deletes that left edits standing.
        public var deletes: [Entry]
        public var cells: [Cell]
    }
}
