import LogSyncContainer
public import LogSyncModel
import LogSyncStore

extension ReplicatedStore {
    /// - Throws: `usage` for a peer that has neither a name nor a folder.
    func checkKnown(_ peer: PeerID) throws {
        guard try names().names[peer] == nil, try scan(.cached).peers[peer] == nil else { return }
        throw LogSyncError(.usage, "peer \(peer) is not known here", help: "logsync peers list shows them all")
    }
}

extension Replicator {
    /// Lets transactions of this peer in, however far ahead of this machine's clock their times lie.
    public func acceptClock(of peer: PeerID) async throws {
        try await step(settles: true) { store in
            try store.checkKnown(peer)
            try store.store.acceptClock(of: peer)
        }
    }
}
