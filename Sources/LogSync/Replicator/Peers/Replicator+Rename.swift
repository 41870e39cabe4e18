import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Renames this peer. Throws `usage` where another has the name, or it cannot be one.
    public func rename(to name: String) async throws {
        try PeerName.check(name)
        try await settledStep { try $0.store.renamePeer(name) }
    }
}
