import Foundation
import LogSyncModel
import Logging

extension Replicator {
    /// Every store that this state directory knows of, by path, and how it is.
    ///
    /// A store is known from when it was made or first used here until it leaves. It changes nothing; a store that cannot be
    /// asked is listed as what is known of it without.
    ///
    /// - Throws: `ioError` where the state directory cannot be read, `noPermission` where this user may not read it or one of
    ///   its files.
    public static func list(configuration: SyncConfiguration) async throws -> ListReport {
        var stores: [String: ListedStore] = [:]
        for file in try StateDirectory(configuration.stateDirectory).all(isWhole: true) where file.hasLeft != true {
            // A clone that was killed may not have come to that.
            if file.isCloning ?? false, !FileManager.default.fileExists(atPath: file.path) { continue }
            // A store that became another peer has left the former one's state file behind.
            if let known = stores[file.path], known.state != .missing { continue }
            stores[file.path] = try await listed(file, configuration)
        }
        return ListReport(stores: stores.values.sorted { $0.store < $1.store })
    }

    private static func listed(_ file: StateFile, _ configuration: SyncConfiguration) async throws -> ListedStore {
        var quiet = configuration
        // That a container is not there is the answer here.
        quiet.logger.logLevel = .error
        let lister = Founder(configuration: quiet, container: "", content: file.content)
        do {
            let replicator = try await lister.open(file.path)
            let status = await Result { try await replicator.status() }
            await replicator.close()
            return ListedStore(try status.get())
        } catch let error as LogSyncError {
            let isMissing = error.code == .noStore || error.code == .notReplicated
            return ListedStore(file.path, content: file.content, peer: file.peer, isMissing ? .missing : .unavailable)
        }
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
