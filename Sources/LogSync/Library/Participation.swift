import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// Which peers take part, as far as their folders say.
extension PeerScan {
    /// Whether this peer ever published anything that says that it takes part.
    var hasPublished: Bool {
        if !logs.isEmpty || !snapshots.isEmpty { return true }
        switch receipt {
        case .valid, .unread: return said?.published ?? 0 > 0
        case .missing: return false
        // Only a peer that takes part writes a receipt, whatever it says.
        case .damaged, .newerFormat, .outdated: return true
        }
    }

    /// Whether this peer ever published anything, or said that it imported something.
    var hasSpoken: Bool {
        if case .missing = receipt { return hasPublished }
        return true
    }

    /// The most that a snapshot of this peer may stand for, which cannot be read itself; nil where that is not known.
    func mostThatHolds(_ snapshot: SnapshotName) -> VersionVector? {
        guard let said = receipt.value?.content, said.published >= snapshot.sequence else { return nil }
        var vector = said.imported
        vector[id] = max(vector[id], said.published)
        return vector
    }

    /// Whether this is the folder of a seed: no store writes there, so none will ever acknowledge anything.
    var isSeed: Bool {
        guard case .missing = receipt, let description = description.value else { return false }
        return description.created == 0 && description.name == PeerDescription.seed(id).name
    }
}

extension ContainerScan {
    /// The peers whose receipts say that they have left the folder.
    var peersThatLeft: Set<PeerID> {
        Set(peers.values.filter { $0.said?.hasLeft ?? false }.map(\.id))
    }
}

extension PeerDescription {
    /// How the folder of a seed describes its pseudo-peer.
    static func seed(_ peer: PeerID) -> PeerDescription {
        PeerDescription(name: "seed-\(peer.description.prefix(8))", created: 0)
    }
}
