import Foundation
import InotifyEvents
import LogSync
import LogSyncContainer
import Logging

extension Session {
    /// What the library takes from outside.
    func configuration() -> SyncConfiguration {
        var configuration = SyncConfiguration()
        configuration.logger = logger
        configuration.events = InotifyFolderEvents.shared
        configuration.extensions = extensions
        configuration.fileSystem = TimedFileSystem(configuration.fileSystem, calls: folderCalls)
        if let wait { configuration.wait = wait.duration }
        return configuration
    }

    /// Opens a store.
    ///
    /// - Parameter warningsOnly: whether notices are left out, because the subcommand says itself what they would.
    func open(_ store: String, warningsOnly: Bool = false) async throws -> Replicator {
        var configuration = configuration()
        // With --verbose, each step is said.
        if warningsOnly, configuration.logger.logLevel == .notice { configuration.logger.logLevel = .warning }
        return try await Replicator.open(store: store, configuration: configuration)
    }
}
