import LogSyncStore

/// What an operator tells of a program's migrations.
extension FolderWorld {
    /// A peer's store, in which it is decided whether columns were renamed, as far as it was asked.
    func decidedStore(of peer: FolderPeer) throws -> Store {
        let store = try peer.openStore()
        let features = scenario.features
        guard features.contains(.migrations), !features.contains(.keyMigrations), try peer.knowsWhoItIs() else {
            return store
        }
        _ = try Hand.decideColumns(store, peer.schema)
        return store
    }
}
