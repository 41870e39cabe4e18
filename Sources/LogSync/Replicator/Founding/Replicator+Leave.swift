import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Ends replication and keeps the data; what this peer has published stays for the others.
    ///
    /// Local changes are published first where the container is there; otherwise they stay in this database alone. Other
    /// processes are asked to let go of the store.
    /// What ``start()`` started ends. A program may go on writing by ``record(_:author:context:)`` and
    /// ``write(in:author:context:_:)``: nothing is recorded then.
    ///
    /// - Throws: `locked` where one does not within ``SyncConfiguration/wait``.
    public func leave() async throws {
        try await endReplication()
        access = .left
        programRecording.expectFounding()
        await stop()
    }

    private func endReplication() async throws {
        var isAvailable = true
        do {
            _ = try await export()
        } catch let error as LogSyncError where error.code == .containerUnavailable {
            isAvailable = false
        }
        try await takeAlone()
        defer {
            giveBack()
            close()
        }
        try await step { [isAvailable] store in
            if isAvailable {
                try store.ownFolder.leave()
            } else {
                try store.record()
                let count = try store.store.outbox(unpublishedOnly: true).count
                store.logger.warning(
                    """
                    \(store.content.path) is not there: \(store.place.path) leaves without publishing \
                    \(count.counted("transaction, which reaches", "transactions, which reach")) no other peer; what was \
                    written stays in this database
                    """)
            }
            try store.store.leave()
            // It may have been another peer before a restore.
            for peer in try store.stateDirectory.peers(at: store.place.path) + [store.peer] {
                try store.stateDirectory.remove(peer)
            }
            store.logger.info("\(store.place.path) is an ordinary database again, with all its rows")
        }
    }

    /// Removes what is left of a store whose tables another program dropped, or whose `init` or `leave` was interrupted, so that
    /// the database can be written again.
    ///
    /// - Parameter dryRun: whether only to say what that is.
    /// - Returns: the names of the triggers and tables; empty where nothing is left, or the database is a store.
    /// - Throws: `noStore`, `invalidStore`, `locked`.
    public static func removeLeftovers(
        _ store: String, dryRun: Bool = false, configuration: SyncConfiguration
    ) async throws -> [String] {
        let founder = Founder(configuration: configuration, container: "", content: "")
        return try await founder.removeLeftovers(store, dryRun: dryRun)
    }

    /// Takes a database that is no store any more off the list of stores: its `leave` was killed before it could.
    ///
    /// - Parameter dryRun: whether only to say whether there is anything to do.
    /// - Returns: the content that it was a store of; nil where it is a store, or is on no list.
    /// - Throws: `noStore`, `invalidStore`, `locked`; `ioError` where the state directory cannot be read.
    public static func finishLeaving(
        _ store: String, dryRun: Bool = false, configuration: SyncConfiguration
    ) async throws -> String? {
        let founder = Founder(configuration: configuration, container: "", content: "")
        return try await founder.finishLeaving(store, dryRun: dryRun)
    }
}

extension Founder {
    fileprivate func finishLeaving(_ path: String, dryRun: Bool) async throws -> String? {
        let (place, stateDirectory) = (try StorePlace(path), StateDirectory(configuration.stateDirectory))
        func listed() throws -> [StateFile] {
            guard try registration(of: place) == nil else { return [] }
            return try stateDirectory.all(at: place.path).filter { $0.hasLeft != true }
        }
        guard let content = try listed().last?.content else { return nil }
        guard !dryRun else { return content }
        try stateDirectory.create()
        // Another process may be making it a store.
        let locks = try StoreLocks(stateDirectory, store: place.path, wait: configuration.wait)
        try await locks.step.acquire(wait: configuration.wait, of: place.path)
        defer { locks.step.release() }
        for var state in try listed() {
            state.hasLeft = true
            try stateDirectory.save(state)
        }
        return content
    }

    func removeLeftovers(_ path: String, dryRun: Bool) async throws -> [String] {
        let (path, store) = (try StorePlace(path).path, configuration.storeConfiguration)
        guard try !dryRun && Store.isUnfinished(path, configuration: store) else {
            return try Store.removeLeftovers(path, dryRun: dryRun, configuration: store)
        }
        // Another process may be at it.
        let stateDirectory = StateDirectory(configuration.stateDirectory)
        try stateDirectory.create()
        let locks = try StoreLocks(stateDirectory, store: path, wait: configuration.wait)
        try await locks.step.acquire(wait: configuration.wait, of: path)
        defer { locks.step.release() }
        guard try Store.isUnfinished(path, configuration: store) else { return [] }
        return try Store.removeLeftovers(path, dryRun: dryRun, configuration: store)
    }
}
