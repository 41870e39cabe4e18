import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// What ``Replicator/acceptLoss(of:dryRun:)`` imported without its bytes, or would.
public struct LossReport: Sendable, Encodable {
    /// A large value that is lost.
    public struct LostValue: Hashable, Sendable, Encodable {
        /// The transaction that names it, of the peer.
        public var sequence: UInt64
        /// The name of the blob file that nobody has.
        public var file: String
        /// The value's length in bytes.
        public var bytes: Int
        /// The cell that it was written to; nil of what would be lost.
        public var cell: Cell?

        private enum CodingKeys: String, CodingKey {
            case sequence, file, bytes, cell
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(sequence, forKey: .sequence)
            try container.encode(file, forKey: .file)
            try container.encode(bytes, forKey: .bytes)
            try container.encode(cell, forKey: .cell)
        }
    }

    /// Where a value stood.
    public struct Cell: Hashable, Sendable, Encodable {
        public var table: String
        /// The values of the key's columns, as far as they are known.
        public var key: [JSONValue]
        public var column: String
    }

    public let format = 1
    /// The store's path.
    public var store: String
    public var peer: PeerName
    public var dryRun: Bool
    public var lost: [LostValue]
    /// The snapshot that lets the others go on; nil where nothing was done.
    public var snapshot: String?
    /// What is held still, as `sync` has it.
    public var held: [HeldItem]

    public var outcome: Outcome { dryRun ? .complete : Outcome(held: held) }

    private enum CodingKeys: String, CodingKey {
        case format, store, peer, dryRun, lost, snapshot, held
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(format, forKey: .format)
        try container.encode(store, forKey: .store)
        try container.encode(peer, forKey: .peer)
        try container.encode(dryRun, forKey: .dryRun)
        try container.encode(lost, forKey: .lost)
        try container.encode(snapshot, forKey: .snapshot)
        try container.encode(held, forKey: .held)
    }
}
