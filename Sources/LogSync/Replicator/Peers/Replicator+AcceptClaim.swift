import LogSyncModel

extension Replicator {
    /// Believes the folder that this store is an older state of itself, or that another process writes under its id: with the
    /// next sync it goes on as a new peer.
    ///
    /// A folder is believed by itself once a day, because anybody who writes it can say so.
    ///
    /// - Throws: `usage` where the folder says nothing of the kind, or was believed already.
    public func acceptClaim() async throws {
        try await settledStep { store in
            guard store.identity.state?.claim != nil else {
                throw LogSyncError(
                    .usage, "the folder says nothing of \(path) that is not believed; nothing was changed",
                    help: "logsync status says what is known of who the store is")
            }
            try store.identity.update { $0.acceptsClaim = true }
        }
    }
}
