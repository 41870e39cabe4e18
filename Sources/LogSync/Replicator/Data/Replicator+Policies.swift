import LogSyncModel
import LogSyncStore

extension Replicator {
    /// The merge policies that are set; everything else is `last-writer`, `delete-wins` and `unique-park`.
    public func policies() async throws -> [PolicyEntry] {
        try inspect { try $0.store.policies().map { PolicyEntry(target: $0.target, policy: $0.policy) } }
    }

    /// Sets a merge policy of the content; it is in force on every peer that has imported it.
    ///
    /// - Throws: `usage` for a policy, table or column that is not known.
    public func setPolicy(_ policy: String, for target: String) async throws {
        try await settledStep { try $0.store.setPolicy(target, policy) }
    }
}
