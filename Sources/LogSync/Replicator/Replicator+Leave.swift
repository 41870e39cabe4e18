import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Ends replication and keeps the data; what this peer has published stays for the others.
    ///
    /// Local changes are published first where the container is there. Other processes are asked to let go of the store.
    ///
    /// - Throws: `locked` where one does not within ``SyncConfiguration/wait``.
    public func leave() async throws {
        var isAvailable = true
        do {
            _ = try await export()
        } catch let error as LogSyncError where error.code == .containerUnavailable {
            isAvailable = false
            configuration.logger.warning("\(path) leaves without publishing its last changes: \(error)")
        }
        try await takeAlone()
        defer {
            giveBack()
            close()
        }
        try await step { [isAvailable] store in
            if isAvailable { try store.ownFolder.leave() }
            try store.store.leave()
            try store.stateDirectory.remove(store.peer)
            store.logger.info("\(store.place.path) is an ordinary database again, with all its rows")
        }
    }
}
