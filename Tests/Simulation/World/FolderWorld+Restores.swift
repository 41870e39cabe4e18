import LogSyncModel
import LogSyncStore

/// What goes with a store when another takes its place.
extension FolderWorld {
    func unpublished(by peer: FolderPeer) throws -> [Dot] {
        try peer.openStore().outbox(unpublishedOnly: true).map(\.dot).filter { $0.peer == peer.id }
    }

    /// Whether its folder says less of it than others have seen, so that without its state files it goes on as if that had
    /// never been: a fork, which the oracle knows nothing of.
    func isDeceived(_ peer: FolderPeer) throws -> Bool {
        let own = try courier.reach(of: peer.id, in: peer.container)
        return try courier.hasReceipt(of: peer.id, in: peer.container) && own < heard(of: peer)
    }

    /// How far it has come as any copy of the folder, or anybody else, has it.
    private func heard(of peer: FolderPeer) throws -> UInt64 {
        let copies = try peers.map { try courier.reach(of: peer.id, in: $0.container) }
        let stores = try peers.filter { $0 !== peer }.map { try $0.openStore().vector()[peer.id] }
        return (copies + stores).max() ?? 0
    }

    /// What it had published lies in no copy of its folder any more, and nobody else has it.
    func unheard(of peer: FolderPeer) throws -> [Dot] {
        let (heard, last) = try (heard(of: peer), ledger.lasts[peer.id])
        return heard < last ? (heard + 1...last).map { Dot(peer.id, $0) } : []
    }

    /// Another store took this one's place: nobody ever hears of what only its outbox had.
    func forget(_ dots: [Dot], of peer: FolderPeer) throws {
        let vector = try peer.openStore().vector()
        ledger.forget(dots.filter { !vector.covers($0) })
        checks.forget()
    }
}
