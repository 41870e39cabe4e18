/// What a transaction says of itself, before its row changes.
public struct TransactionHeader: Hashable, Sendable {
    public var dot: Dot
    /// When it was recorded.
    public var time: HybridTime
    /// The entries of the author's version vector that moved since its previous transaction, by peer; the author's own
    /// entry, always `sequence − 1`, is not among them. Added to the previous transaction's dependencies
    /// they give this one's.
    public var dependencyChanges: [Dependency]
    /// Names the app's schema at the author; nil where it is of no table (settings only).
    public var schema: SchemaFingerprint?
    public var author: String?
    public var context: String?

    public init(
        dot: Dot, time: HybridTime, dependencyChanges: [Dependency] = [], schema: SchemaFingerprint? = nil,
        author: String? = nil, context: String? = nil
    ) {
        self.dot = dot
        self.time = time
        self.dependencyChanges = dependencyChanges
        self.schema = schema
        self.author = author
        self.context = context
    }
}

/// The first 16 bytes of a SHA-256 over the app's schema as text.
public struct SchemaFingerprint: Hashable, Sendable, CustomStringConvertible {
    public let bytes: [UInt8]

    /// Returns nil unless there are 16 bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        self.bytes = Array(bytes)
    }

    public var description: String { Hex.encode(bytes) }
}

/// How many rows of one table a transaction inserted, updated and deleted.
public struct ChangeCounts: Hashable, Sendable, Codable {
    public var inserted: Int
    public var updated: Int
    public var deleted: Int

    public init(inserted: Int = 0, updated: Int = 0, deleted: Int = 0) {
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
    }

    /// Adds up; what exceeds the greatest integer is that, because the ends of log files may say anything.
    public static func += (a: inout ChangeCounts, b: ChangeCounts) {
        func sum(_ a: Int, _ b: Int) -> Int {
            let (sum, overflows) = a.addingReportingOverflow(b)
            return overflows ? .max : sum
        }
        a.inserted = sum(a.inserted, b.inserted)
        a.updated = sum(a.updated, b.updated)
        a.deleted = sum(a.deleted, b.deleted)
    }
}
