public import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Lets transactions of this peer in, however far ahead of this machine's clock their times lie.
    public func acceptClock(of peer: PeerID) async throws {
        try await step(settles: true) { store in
            guard try store.names().names[peer] != nil else {
                throw LogSyncError(
                    .usage, "peer \(peer) is not known here", help: "logsync peers list shows them all")
            }
            try store.store.acceptClock(of: peer)
        }
    }
}
