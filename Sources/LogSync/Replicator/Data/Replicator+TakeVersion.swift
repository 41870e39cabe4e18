public import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Settles a cell by an ordinary write of one of its versions.
    ///
    /// - Parameters:
    ///   - identity: which row it is, as ``ConflictReport`` has it, where several have this key; the version may say so as
    ///     well.
    ///   - dryRun: whether to only see that it can be done.
    /// - Throws: `usage` where there is no such cell or version, or where several rows have it.
    public func takeVersion(
        _ dot: Dot, table: String, key: [Value], identity: String? = nil, column: String, dryRun: Bool = false
    ) async throws {
        try await settledStep {
            try $0.store.takeVersion(
                table: table, key: key, identity: identity, column: column, dot: dot, isDry: dryRun)
        }
    }
}
