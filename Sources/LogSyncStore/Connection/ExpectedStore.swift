package import LogSyncFormat
package import LogSyncModel

/// Which store it has to be that a transaction writes: a backup that SQLite itself restores into the file, in one
/// transaction, leaves the file that it was, and may come between a look at the store and the transaction.
package struct ExpectedStore: Sendable {
    package var peer: PeerID
    package var path: String
    package var inode: UInt64
    /// How far that peer is known to have recorded, and the chain hash there.
    package var sequence: UInt64
    package var chain: ChainHash?

    package init(peer: PeerID, path: String, inode: UInt64, sequence: UInt64, chain: ChainHash?) {
        (self.peer, self.path, self.inode) = (peer, path, inode)
        (self.sequence, self.chain) = (sequence, chain)
    }

    /// Whether a store is that peer, and not an older state of it.
    func isThere(_ store: OpenStore) -> Bool {
        let own = store.peers.entries[store.own]
        let recorded = own?.sequence ?? 0
        guard own?.id == peer, recorded >= sequence else { return false }
        return recorded > sequence || chain == nil || own?.chain == chain
    }
}

/// The store is not the one that was expected when a transaction began; nothing was written.
package struct UnexpectedStore: Error {
    package init() {}
}
