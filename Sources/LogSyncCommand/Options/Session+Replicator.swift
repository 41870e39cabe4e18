import Foundation
import InotifyEvents
import LogSync
import Logging

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
    ///
    /// - Parameter warningsOnly: whether notices are left out, because the subcommand says itself what they would.
    func open(_ store: String, warningsOnly: Bool = false) async throws -> Replicator {
        var configuration = configuration()
        // With --verbose, each step is said.
        if warningsOnly, configuration.logger.logLevel == .notice { configuration.logger.logLevel = .warning }
        let opening = configuration
        return try await blocking { try Replicator(store: store, configuration: opening) }
    }
}
