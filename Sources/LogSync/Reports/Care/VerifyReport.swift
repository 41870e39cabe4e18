public import LogSyncModel

/// What ``Replicator/verify(_:configuration:refill:progress:)`` read and compared.
public struct VerifyReport: Sendable, Encodable {
    public struct Content: Sendable, Encodable {
        public var content: String
        public var container: String
        public var files = 0
        public var bytes: UInt64 = 0
        /// How many transactions were replayed.
        public var transactions = 0
        /// How far the replay came, and the digest of the state there.
        public var vector = VersionVector()
        public var digest = ""
        /// The peers whose receipts speak of a state that the replay passed through, and whether it was the same.
        public var compared: [Comparison] = []
    }

    public struct Comparison: Hashable, Sendable, Encodable {
        public var peer: PeerName
        public var equal: Bool
    }

    /// A column that has come back here without its values, and what has been given to it.
    public struct Refill: Hashable, Sendable, Encodable {
        /// TABLE.COLUMN.
        public var column: String
        /// How many cells have got their values.
        public var cells: Int
        /// Whether no value of it is lost any more.
        public var isWhole: Bool

        private enum CodingKeys: String, CodingKey {
            case column, cells
            case isWhole = "whole"
        }
    }

    public let format = 1
    public var path: String
    public var contents: [Content] = []
    /// Whether the store agrees with the replay; nil where no store was given, or none of the same vector was reached.
    public var store: Bool?
    /// The store's tables that were not compared, because programs' changes waited to be recorded.
    public var notCompared: [String] = []
    /// The columns that were to be refilled; nil where that was not asked for.
    public var refilled: [Refill]?
    public var findings: [Finding] = []

    public var outcome: Outcome { Outcome(findings: findings) }

    init(path: String) {
        self.path = path
    }

    private enum CodingKeys: String, CodingKey {
        case format, path, contents, store, notCompared, refilled, findings
    }

    public func encode(to encoder: any Encoder) throws {
        var document = encoder.container(keyedBy: CodingKeys.self)
        try document.encode(format, forKey: .format)
        try document.encode(path, forKey: .path)
        try document.encode(contents, forKey: .contents)
        try document.encode(store, forKey: .store)
        try document.encode(notCompared, forKey: .notCompared)
        try document.encodeIfPresent(refilled, forKey: .refilled)
        try document.encode(findings, forKey: .findings)
    }
}
