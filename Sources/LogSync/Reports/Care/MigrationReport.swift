public import LogSyncModel

/// What ``Replicator/migrate(_:renames:references:notReferences:identities:dryRun:)`` did.
public struct MigrationReport: Sendable, Encodable {
    /// A column or table with its names before and after.
    public struct Renamed: Hashable, Sendable, Encodable {
        /// As it is called now.
        public var table: String
        public var from: String
        public var to: String
    }

    public let format = 1
    public var store: String
    public var dryRun: Bool
    public var statements: Int
    /// What had been captured before and was recorded first, by table.
    public var pending: [String: ChangeCounts]
    /// What the migration changed in rows, by table as logs have it.
    public var recorded: [String: ChangeCounts]
    public var renamed: [Renamed]
    /// Tables that came without a primary key.
    public var notReplicated: [String]

    private enum CodingKeys: String, CodingKey {
        case format, store, dryRun, statements, pending, recorded, renamed, notReplicated
    }
}
