import LogSyncModel
import LogSyncStore

/// Keeping the folder small, and saying who takes part no more.
extension Replicator {
    /// Syncs, merges small log files, and deletes what a snapshot stands for, every live peer has, and is old enough.
    ///
    /// What goes is asked about first: it takes until the others have synced once more after a mark was set.
    ///
    /// - Parameters:
    ///   - grace: how old a log file has to be at the least.
    ///   - dryRun: says what it would do, and does nothing at all.
    /// - Throws: `containerUnavailable`; what ``sync()`` and ``snapshot()`` throw.
    public func compact(grace: Duration? = nil, dryRun: Bool = false) async throws -> CompactReport {
        let grace = grace ?? ReplicatedStore.defaultGrace
        if dryRun { return try look { try $0.compact(grace: grace, isDry: true) } }
        _ = try await sync()
        let report = try await step { try $0.compact(grace: grace, isDry: false) }
        // Publishes what was recorded for a snapshot's sake, and the mark.
        _ = try await export()
        return report
    }

    /// Says that a peer takes part no more: it blocks collection no longer, and anyone may delete what it published and a
    /// snapshot stands for. What it publishes later is imported still.
    ///
    /// - Parameter dryRun: whether only to check that it could be said.
    /// - Throws: `usage` where it is not known, or is this store's own.
    public func retire(_ peer: PeerID, dryRun: Bool = false) async throws {
        if dryRun { return try look { try $0.checkRetirement(of: peer) } }
        try await writeDirectly { store in
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
