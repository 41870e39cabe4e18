public import LogSyncModel

/// What `clone` made.
public struct CloneReport: Sendable, Encodable {
    public let format = 1
    public var store: String
    public var content: String
    /// The container's path.
    public var container: String
    public var peer: PeerName
    /// How many transactions were imported.
    public var imported = 0
    public var held: [HeldItem] = []
    /// What of the content's schema was not made, and why.
    public var unmade: [UnmadeObject] = []
    /// The tables that are here and are not replicated, because the content's settings say so.
    public var leftOut: [LeftOutTable] = []
    /// What may not be as it was meant, as sentences.
    public var warnings: [String] = []
    /// Whether a clone that was killed at its end had made the store, and this one brought it up to date.
    public internal(set) var resumed = false

    public var outcome: Outcome { Outcome(held: held) }

    private enum CodingKeys: String, CodingKey {
        case format, store, content, container, peer, imported, held, unmade, leftOut, warnings, resumed
    }
}

extension CloneReport {
    /// A table that a store has for itself.
    public struct LeftOutTable: Hashable, Sendable, Encodable {
        /// By its name in the schema.
        public var table: String
        /// `skip`, or `local` where its rows are copied to clones once.
        public var setting: String
    }
}

/// How far a long piece of work has come.
public struct SyncProgress: Sendable {
    /// Transactions imported so far, and how many are known to be there.
    public var imported: Int
    public var total: Int
    /// Parts of a snapshot that have been taken over, about a megabyte each; 0 where there is none.
    public var frames = 0
}
