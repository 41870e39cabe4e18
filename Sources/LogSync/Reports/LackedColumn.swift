/// A column that a store's app has dropped, and its values with it, while others still show them: as long as they do, no
/// log file goes because of a snapshot of this store's.
public struct LackedColumn: Hashable, Sendable, Encodable {
    /// By the names in logs.
    public var table: String
    public var column: String
    /// The peers that take part and show it, or of which nobody knows yet what they show.
    public var peers: [PeerName]

    /// As `TABLE.COLUMN`.
    public var name: String { "\(table).\(column)" }
}
