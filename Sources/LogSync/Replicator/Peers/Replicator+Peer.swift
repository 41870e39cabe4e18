import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Finds a peer by its id, by its name where that is unique, or by what its id begins with, four digits at least, as
    /// reports have it.
    ///
    /// - Throws: `usage` where there is none, or more than one.
    public func peer(named text: String) async throws -> PeerName {
        try inspect { store in
            // Names in the folder help where the content's settings have not come yet; without it, they have to do.
            if store.inbox.folderPeers.isEmpty { _ = try? store.scan(.changes) }
            let names = try store.names()
            if let id = PeerID(text) { return names[id] }
            // A peer that has no name is called in reports what its id begins with.
            let peers = try store.inbox.folderPeers.union(store.store.vector().sequences.keys).union(names.names.keys)
            // Anybody may call a peer what another's id begins with: then the name says nothing.
            let found = peers.filter { id in
                names.names[id] == text || text.count >= 4 && id.description.hasPrefix(text.lowercased())
            }.sorted()
            switch found.count {
            case 1: return names[found[0]]
            case 0:
                throw LogSyncError(
                    .usage, "no peer is named \(text.debugDescription)", help: "logsync peers list shows them all")
            default:
                throw LogSyncError(
                    .usage, "\(found.count) peers are called \(text.debugDescription)",
                    help: "Give one's id: \(found.map(\.description).joined(separator: ", "))")
            }
        }
    }
}
