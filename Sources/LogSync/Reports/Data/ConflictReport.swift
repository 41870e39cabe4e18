import Foundation
import LogSyncModel

/// What `conflicts list` says: cells whose versions had not seen each other, and rows that cannot stand.
public struct ConflictReport: Sendable, Encodable {
    public struct Conflict: Sendable, Encodable {
        public struct Version: Sendable, Encodable {
            public var value: JSONValue
            public var peer: PeerName
            public var sequence: UInt64
            public var time: Timestamp
            /// Whether the value is what the peer has added to a counter since its base.
            public var isAddition = false

            private enum CodingKeys: String, CodingKey {
                case value, peer, sequence, time, isAddition = "added"
            }
        }

        /// The delete that an edit was lost to.
        public struct Deletion: Sendable, Encodable {
            public var peer: PeerName
            public var sequence: UInt64
            public var time: Timestamp
        }

        public var table: String
        /// The key's columns, as far as they are known.
        public var key: [JSONValue]
        /// The row's identity in hex: where several rows have this key, it says which one it is.
        public var identity: String
        public var column: String
        /// What the table shows; nil for an edit that was lost to a delete.
        public var shown: JSONValue?
        public var versions: [Version]
        /// Nil where the edit came after the row was gone, and nothing says any more who deleted it.
        public var deleted: Deletion?

        private enum CodingKeys: String, CodingKey {
            case table, key, identity, column, shown, versions, deleted
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(table, forKey: .table)
            try container.encode(key, forKey: .key)
            try container.encode(identity, forKey: .identity)
            try container.encode(column, forKey: .column)
            try container.encode(shown, forKey: .shown)
            try container.encode(versions, forKey: .versions)
            if shown == nil { try container.encode(deleted, forKey: .deleted) }
        }
    }

    public struct Parked: Sendable, Encodable {
        public var table: String
        public var key: [JSONValue]
        /// The row's identity in hex: where several rows have this key, it says which one it is.
        public var identity: String
        /// Why it cannot stand, such as `unique`.
        public var reason: String
        public var row: [String: JSONValue]
        /// By column, the table of a row that it names and that is not here.
        public var missing: [String: String] = [:]
    }

    public let format = 1
    public var store: String
    public var conflicts: [Conflict]
    public var parked: [Parked]

    private enum CodingKeys: String, CodingKey {
        case format, store, conflicts, parked
    }
}
