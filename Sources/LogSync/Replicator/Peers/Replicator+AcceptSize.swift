public import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Lets transactions of this peer in, however much their log files come to when they are unpacked.
    ///
    /// - Throws: `usage` for a peer that is not known here.
    public func acceptSize(of peer: PeerID) async throws {
        try await step(settles: true) { store in
            try store.checkKnown(peer)
            try store.store.acceptSize(of: peer)
            store.library.logs.forgetDoubts()
        }
    }
}
