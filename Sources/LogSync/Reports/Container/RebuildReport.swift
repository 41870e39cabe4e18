/// What ``Replicator/rebuild(dryRun:)`` wrote, or would write.
public struct RebuildReport: Sendable, Encodable {
    /// Transactions of another peer that are in the store and not in the folder.
    public struct Missing: Hashable, Sendable, Encodable {
        public var peer: PeerName
        public var transactions: UInt64
    }

    public let format = 1
    public var store: String
    public var content: String
    public var container: String
    public var dryRun: Bool
    /// The marker was missing or could not be read.
    public var marker: Bool
    /// How many transactions of this peer the folder did not hold, or not soundly.
    public var transactions: UInt64
    /// The snapshot that was written because logs alone would not give the whole state; nil where none was needed.
    public var snapshot: String?
    /// Whether a snapshot was, or would be, written; nil where only writing the marker will tell.
    public var needsSnapshot: Bool?
    /// What is in the store, and in neither logs nor snapshots in the folder; normally nothing.
    public var missing: [Missing]
    public var result: SyncResult

    public var outcome: Outcome { result.outcome }

    private enum CodingKeys: String, CodingKey {
        case format, store, content, container, dryRun, marker, transactions, snapshot, needsSnapshot, missing, recorded
        case published, imported, held
    }

    public func encode(to encoder: any Encoder) throws {
        var document = encoder.container(keyedBy: CodingKeys.self)
        try document.encode(format, forKey: .format)
        try document.encode(store, forKey: .store)
        try document.encode(content, forKey: .content)
        try document.encode(container, forKey: .container)
        try document.encode(dryRun, forKey: .dryRun)
        try document.encode(marker, forKey: .marker)
        try document.encode(transactions, forKey: .transactions)
        try document.encode(snapshot, forKey: .snapshot)
        try document.encode(needsSnapshot, forKey: .needsSnapshot)
        try document.encode(missing, forKey: .missing)
        try document.encode(result.recorded, forKey: .recorded)
        try document.encode(result.published, forKey: .published)
        try document.encode(result.imported, forKey: .imported)
        try document.encode(result.held, forKey: .held)
    }
}
