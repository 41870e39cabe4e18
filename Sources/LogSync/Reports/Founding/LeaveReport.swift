import LogSyncModel

/// What became, or would become, of a store's last changes when it left, by ``Replicator/leave(dryRun:)``.
public struct LeaveReport: Sendable, Hashable {
    /// Whether the folder has taken everything, and knows that the peer has left.
    public var published: Bool
    /// How many transactions reach no other peer.
    public var unpublished: Int
    /// How many rows were parked: in no table, and told by ``Replicator/conflicts(table:all:)`` alone.
    public var parked = 0
    /// The file beside the database that has these rows, as JSON; nil where there are none.
    public var parkedFile: String?
}

/// A peer whose store was not there any more, and was taken off the list, by ``Replicator/forget(_:dryRun:configuration:)``.
public struct ForgottenStore: Sendable, Hashable {
    public var content: String
    /// The shared folder that the content is in; nil where that is not known.
    public var container: String?
    public var peer: PeerName

    init(content: String, container: String?, peer: PeerID) {
        self.content = content
        self.container = container
        self.peer = PeerName(id: peer, name: nil)
    }
}
