import LogSyncModel

/// Peers' names for people.
struct PeerNames {
    var names: [PeerID: String]

    subscript(peer: PeerID) -> PeerName { PeerName(id: peer, name: names[peer]) }

    /// What says the peer on a command line: its name, or its id where others have that name, as stores have that were restored.
    func argument(_ peer: PeerID) -> String {
        let name = self[peer].name
        return names.values.filter { $0 == name }.count > 1 ? peer.description : name.asShellArgument
    }
}
