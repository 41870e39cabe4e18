import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Finds a peer by its id, or by its name where that is unique.
    ///
    /// - Throws: `usage` where there is none, or more than one.
    public func peer(named text: String) async throws -> PeerName {
        try inspect { store in
            // Names in the folder help where the content's settings have not come yet; without it, they have to do.
            if store.inbox.folderNames.isEmpty { _ = try? store.scan(.changes) }
            let names = try store.names()
            if let id = PeerID(text) { return names[id] }
            let found = names.names.filter { $0.value == text }.keys.sorted()
            switch found.count {
            case 1: return names[found[0]]
            case 0:
                throw LogSyncError(
                    .usage, "no peer is named \(text.debugDescription)", help: "logsync peers list shows them all")
            default:
                throw LogSyncError(
                    .usage, "\(found.count) peers are named \(text.debugDescription)",
                    help: "Give one's id: \(found.map(\.description).joined(separator: ", "))")
            }
        }
    }
}
