public import LogSyncModel

/// Where a store stands: what `logsync status` prints.
public struct StoreStatus: Sendable, Encodable {
    public struct ContainerStatus: Hashable, Sendable, Encodable {
        public var path: String
        /// Whether the content's marker is there, and the folder of its peers can be read.
        public var available: Bool
    }

    /// Another peer, as its folder and its receipt show it.
    public struct Peer: Hashable, Sendable, Encodable {
        public var id: PeerID
        public var name: String
        /// The highest sequence it says it has published.
        public var published: UInt64
        /// The highest sequence of it that is in this store.
        public var imported: UInt64
        /// How many of its transactions are not in this store.
        public var behind: UInt64
        /// When its receipt was last seen to change; nil where it has none.
        public var seenAt: Timestamp?
        /// It takes no part any more: retired by hand, a former self of some peer, or gone from the folder.
        public var retired: Bool

        private enum CodingKeys: String, CodingKey {
            case id, name, published, imported, behind, seenAt, retired
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            try container.encode(name, forKey: .name)
            try container.encode(published, forKey: .published)
            try container.encode(imported, forKey: .imported)
            try container.encode(behind, forKey: .behind)
            try container.encode(seenAt, forKey: .seenAt)
            try container.encode(retired, forKey: .retired)
        }
    }

    /// What another peer's schema says otherwise than this store's.
    public struct PeerSchema: Hashable, Sendable, Encodable {
        public var peer: PeerName
        public var differences: [SchemaDifference]
    }

    public let format = 1
    public var store: String
    public var content: String
    public var container: ContainerStatus
    public var peer: PeerName
    /// Captured changes that have not been recorded.
    public var pending: Int
    /// Transactions that have not been published.
    public var outbox: Int
    /// Since when changes have waited to be recorded or published, by this machine's clock; nil where none do.
    @JSONValue.NullWhereNone public var waitingSince: Timestamp?
    /// The store's own sequence included.
    public var vector: VersionVector
    public var peers: [Peer]
    public var held: [HeldItem]
    /// When transactions of other peers were last imported, by this machine's clock; nil where none were.
    @JSONValue.NullWhereNone public var lastImport: Timestamp?
    public var conflicts: Int
    public var parked: Int
    /// Of the replicated state; the same on peers with the same vector.
    public var digest: String
    /// Cells kept for tables and columns that this store does not have yet.
    public var keptForSchema: Int
    /// Foreign keys that rows of this store break, as `TABLE.COLUMN`.
    public var unenforced: [String]
    /// The columns that came with a migration and seem to refer to other rows: they, or the tables that came with them, are
    /// left alone until `logsync migrate --reference` or `--no-reference` decides, here or on another peer.
    public var heldReferences: [HeldReference]
    /// The columns of which nothing tells whether a migration has renamed them, table by table: they are left alone until
    /// `logsync migrate --rename` says it, or another peer that can tell.
    public var undecided: [UndecidedTable]
    /// The tables that are others for other peers, who have archived theirs: what those write is not shown here, nor there
    /// what is written here.
    public var otherTables: [OtherTable]
    /// The peers this store was before it was copied or restored, newest last.
    public var succeeds: [PeerName]
    /// What was last found out about who this store is: that it was moved, copied or restored; nil where nothing was.
    public var identity: IdentityTrouble?
    /// For how long a daemon leaves this store alone; nil where none does.
    @JSONValue.NullWhereNone public var setBack: SetBack?

    /// What a snapshot of this store would lack of what live peers show, because its app dropped it.
    public var lacks: [LackedColumn]
    /// What of the content's schema this store does not make or does not run, and settings that it cannot follow.
    public var unmade: [UnmadeObject]
    /// The tables that logsync cannot write, because a migration has brought what only their program has: what other peers
    /// write there waits, and what these write after it.
    public var unwritable: [UnwritableTable]
    /// The recipe for its application that the content goes by; nil where there is none.
    @JSONValue.NullWhereNone public var recipe: String?
    /// The merge policies of the content that this process lacks: where it merges, `last-writer` is shown.
    public var missingPolicies: [MergePolicy.Setting]
    /// The peers that take part whose schemas differ from this store's, as far as they have arrived.
    public var schemas: [PeerSchema]

    private enum CodingKeys: String, CodingKey {
        case format, store, content, container, peer, pending, outbox, waitingSince, vector, peers, held, conflicts,
            parked, digest
        case keptForSchema, unenforced, heldReferences, undecided, otherTables, succeeds, identity, lacks, unmade,
            missingPolicies,
            lastImport,
            recipe
        case schemas, setBack, unwritable
    }
}

extension StoreStatus.PeerSchema {
    /// The differences, for people; each begins with the table or column.
    public var lines: [String] {
        differences.map { difference in
            let (name, peer) = (difference.name, peer.name)
            let here = difference.here ?? "none"
            let there = difference.there ?? "none"
            switch difference.kind {
            case .missingHere: return "\(name): \(peer) has it, this store has not"
            case .missingThere: return "\(name): this store has it, \(peer) has not"
            case .index, .trigger, .view:
                let object = difference.kind.words + (difference.object.map { " \($0)" } ?? "")
                if difference.here == nil { return "\(name): \(peer) has \(object), this store has not" }
                if difference.there == nil { return "\(name): this store has \(object), \(peer) has not" }
                return "\(name): \(object) is another at \(peer)"
            case .type, .collation, .default, .key, .unique, .foreignKeys, .notNull, .check, .generated, .options:
                return "\(name): \(difference.kind.words) is \(here) here and \(there) at \(peer)"
            }
        }
    }
}

extension SchemaDifference.Kind {
    fileprivate var words: String {
        switch self {
        case .type: "its type"
        case .collation: "its collation"
        case .notNull: "what is said of NULL"
        case .default: "its default"
        case .key: "the primary key"
        case .unique: "what is unique"
        case .foreignKeys: "what it refers to"
        case .check: "what is checked"
        case .generated: "what it is made of"
        case .options: "the kind of table"
        case .index: "the index"
        case .trigger: "the trigger"
        case .view: "the view"
        case .missingHere, .missingThere: "what is there"
        }
    }
}
