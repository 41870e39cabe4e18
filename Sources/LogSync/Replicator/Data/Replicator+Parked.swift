public import LogSyncModel
import LogSyncStore

/// Rows that would break a constraint of their table, and rows that are shown though they break a CHECK.
extension Replicator {
    /// Gives a parked row another value, upon which it may stand, or a row that stands though it breaks a CHECK one that
    /// keeps it.
    ///
    /// - Parameters:
    ///   - identity: which row it is, as ``ConflictReport`` has it, where several have this key.
    ///   - dryRun: whether to only see that it can be done.
    /// - Throws: `usage` where there is no such row or column, or several rows, or where the value breaks a constraint.
    public func setParked(
        table: String, key: [Value], identity: String? = nil, column: String, value: Value, dryRun: Bool = false
    ) async throws {
        try await settledStep {
            try $0.store.setParked(
                table: table, key: key, identity: identity, column: column, value: value, isDry: dryRun)
        }
    }

    /// Deletes a parked row, or one that stands though it breaks a CHECK; or, of a row that is deleted already, takes the
    /// edits that were lost to that off the list.
    ///
    /// - Parameters:
    ///   - identity: which row it is, as ``ConflictReport`` has it, where several have this key.
    ///   - dryRun: whether to only see whether there is such a row.
    /// - Throws: `usage` where there is no such row, or several.
    public func dropParked(
        table: String, key: [Value], identity: String? = nil, dryRun: Bool = false
    ) async throws {
        if dryRun { return try inspect { try $0.store.findParked(table: table, key: key, identity: identity) } }
        try await settledStep { try $0.store.dropParked(table: table, key: key, identity: identity) }
    }
}
