import LogSyncModel
import LogSyncStore

extension Replicator {
    /// The merge policies that are set; everything else is `last-writer`, `delete-wins` and `unique-park`.
    public func policies() async throws -> [MergePolicy.Setting] {
        try inspect { try $0.store.policies().map { MergePolicy.Setting(target: $0.target, policy: $0.policy) } }
    }

    /// Sets a merge policy of the content; it is in force on every peer that has imported it.
    ///
    /// - Returns: which columns of a table the policy leaves out, because they say which row is meant, and which of the peers
    ///   that it prefers nobody is called, as sentences without their ends.
    /// - Throws: `usage` for a policy, table or column that is not known, and for `sum`, `max` and `min` of a column of
    ///   references or of a key.
    @discardableResult
    public func setPolicy(_ policy: String, for target: String) async throws -> [String] {
        try await settledStep { try $0.store.setPolicy(target, policy) }
    }
}
