import Foundation
import InotifyEvents
import LogSync

extension Session {
    /// What the library takes from outside.
    func configuration() -> SyncConfiguration {
        var configuration = SyncConfiguration()
        configuration.logger = logger
        configuration.events = InotifyFolderEvents.shared
        configuration.extensions = extensions
        if let wait { configuration.wait = wait.duration }
        return configuration
    }

    /// Opens a store, waiting for SQLite off Swift's threads.
    func open(_ store: String) async throws -> Replicator {
        let configuration = configuration()
        return try await blocking { try Replicator(store: store, configuration: configuration) }
    }
}
