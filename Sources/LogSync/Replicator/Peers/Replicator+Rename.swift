import LogSyncModel
import LogSyncStore

extension ReplicatedStore {
    /// Looks in the folder, too, as far as it is there: a peer that has published may not have been imported from yet.
    ///
    /// - Throws: `usage` where another peer is called so.
    fileprivate func checkFree(_ name: String) throws {
        _ = try? scan(.changes)
        let own = registration.succeeds + [peer]
        guard let other = try names().names.first(where: { $0.value == name && !own.contains($0.key) }) else { return }
        throw LogSyncError(
            .usage, "the name \(name.debugDescription) is taken by the peer \(other.key); nothing was changed",
            help: "Choose another name; logsync peers list shows those that are taken")
    }
}

extension Replicator {
    /// Renames this peer. Throws `usage` where another has the name, or it cannot be one.
    public func rename(to name: String) async throws {
        try PeerName.check(name)
        try await settledStep { store in
            try store.checkFree(name)
            try store.store.renamePeer(name)
        }
    }
}
