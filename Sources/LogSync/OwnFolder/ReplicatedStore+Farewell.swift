import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// Leaving a folder for good: by `move` for another, by `leave` altogether (DESIGN.md, section 7, collection).
extension ReplicatedStore {
    /// Says in the folder that this peer keeps it no longer: nobody waits for its word there, and anyone may delete what it
    /// published and a snapshot stands for.
    ///
    /// A peer that comes back says the opposite with its next receipt.
    func takeLeave() throws {
        try acknowledge(nil, leaving: true)
    }

    /// The peers of whom nothing is expected in the folder: those that the content's settings retire, and those that have
    /// left it.
    func retiredPeers(_ scan: ContainerScan) throws -> Set<PeerID> {
        try store.retiredPeers().union(scan.peersThatLeft.filter { $0 != peer })
    }
}

extension ContainerScan {
    /// The peers whose receipts say that they have left the folder.
    var peersThatLeft: Set<PeerID> {
        Set(peers.values.filter { $0.said?.hasLeft ?? false }.map(\.id))
    }
}
