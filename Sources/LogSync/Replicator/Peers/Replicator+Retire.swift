public import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Says that a peer takes part no more: it blocks collection no longer, and any peer may delete what it published and a
    /// snapshot stands for. What it publishes later is imported still.
    ///
    /// - Parameter dryRun: whether only to check that it could be said.
    /// - Throws: `usage` where it is not known, or is this store's own.
    public func retire(_ peer: PeerID, dryRun: Bool = false) async throws {
        if dryRun { return try inspect { try $0.checkRetirement(of: peer) } }
        try await settledStep { store in
            try store.checkRetirement(of: peer)
            try store.store.retire(peer)
        }
        _ = try await export()
    }
}

extension ReplicatedStore {
    fileprivate func checkRetirement(of other: PeerID) throws {
        guard try names().names[other] != nil || store.vector()[other] > 0 else {
            throw LogSyncError(.usage, "peer \(other) is not known here", help: "logsync peers list shows them all")
        }
        guard other != peer else {
            throw LogSyncError(
                .usage, "a peer cannot retire itself; nothing was changed",
                help: "logsync leave ends replication here, and nobody waits for this peer then")
        }
    }
}
