import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Syncs, merges small log files, and deletes what a snapshot stands for, every live peer has, and is old enough.
    ///
    /// The other peers are asked first about what goes: it takes until they have synced once more after a mark was set.
    ///
    /// - Parameters:
    ///   - grace: how old a log file has to be at the least.
    ///   - dryRun: says what it would do, and does nothing at all.
    /// - Throws: `containerUnavailable`; what ``sync()`` and ``snapshot()`` throw.
    public func compact(grace: Duration? = nil, dryRun: Bool = false) async throws -> CompactReport {
        let grace = grace ?? Compaction.defaultGrace
        if dryRun { return try inspect { try Compaction($0, grace: grace).run(isDry: true) } }
        _ = try await sync()
        let report = try await step { try Compaction($0, grace: grace).run(isDry: false) }
        // Publishes what was recorded for a snapshot's sake, and the mark.
        _ = try await export()
        return report
    }
}
