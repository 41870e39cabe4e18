import LogSyncModel

/// Peers' names for people.
struct PeerNames {
    var names: [PeerID: String]

    subscript(peer: PeerID) -> PeerName { PeerName(id: peer, name: names[peer]) }
}
