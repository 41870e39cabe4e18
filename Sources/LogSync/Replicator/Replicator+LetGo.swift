extension Replicator {
    /// Closes the store until another process, which needs it alone, has finished; ``run()`` does so by itself.
    ///
    /// For what looks at a store again and again: it would keep ``leave(dryRun:)``, ``move(to:content:)`` and migrations of
    /// other processes waiting as long as it goes on.
    ///
    /// - Returns: whether another process has asked for it.
    @discardableResult
    package func letGoWhereAsked() async throws -> Bool {
        let limit = configuration.wait * 6
        // A request of its own is none to itself.
        guard access == .shared else { return false }
        guard StoreLocks.isRequested(stateDirectory, store: path, age: limit) else { return false }
        access = .lettingGo
        defer { access = .shared }
        closeStore()
        while StoreLocks.isRequested(stateDirectory, store: path, age: limit) {
            try await Task.sleep(for: .milliseconds(100))
        }
        return true
    }
}
