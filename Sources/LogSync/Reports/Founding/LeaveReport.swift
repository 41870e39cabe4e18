/// What became, or would become, of a store's last changes when it left, by ``Replicator/leave(dryRun:)``.
public struct LeaveReport: Sendable, Hashable {
    /// Whether the folder has taken everything, and knows that the peer has left.
    public var published: Bool
    /// How many transactions reach no other peer.
    public var unpublished: Int
}
