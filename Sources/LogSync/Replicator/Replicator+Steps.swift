import LogSyncModel
import LogSyncStore
import Logging

/// The store is opened when it is needed, and everything done to it is done in steps, between which other processes have their
/// turn.
extension Replicator {
    // MARK: Steps

    /// Does one step while no other process is at the store.
    ///
    /// - Parameter settles: whether the step settles the store's identity; the others need it settled.
    func step<T>(settles: Bool = false, _ body: (ReplicatedStore) throws -> T) async throws -> T {
        let store = try store()
        guard let locks else { throw CancellationError() }
        try await locks.step.acquire(wait: configuration.wait, of: path)
        defer { locks.step.release() }
        try store.refresh()
        guard settles || store.identity.state != nil, store.isCurrent else {
            if !store.isCurrent { close() }
            throw LogSyncError(
                .locked, "\(path) was replaced or became another peer in the middle of the work; what was done is kept",
                help: "Run the command again")
        }
        return try body(store)
    }

    /// Does one step on a store that is known to be the peer that it is, and notes what that recorded.
    ///
    /// The folder is asked which peer the store is where this process has not done so; where it is not there, the state file
    /// has to do.
    func settledStep<T>(_ body: (ReplicatedStore) throws -> T) async throws -> T {
        try await step(settles: true) { store in
            // A container that is not there tells nothing.
            let scan = store.identity.isSettledWithFolder ? nil : try? store.scan(.changes)
            try store.settleIdentity(scan)
            let result = try body(store)
            try store.identity.noteRecorded()
            return result
        }
    }

    /// Looks at the store without keeping others out.
    func look<T>(_ body: (ReplicatedStore) throws -> T) throws -> T {
        let store = try store()
        try store.refresh()
        return try body(store)
    }

    // MARK: Opening and closing

    /// The store, opened where it is not, or where another file has taken its path.
    func store() throws -> ReplicatedStore {
        guard !isLettingGo else {
            throw LogSyncError(
                .locked, "another logsync process has \(path) for itself; nothing was changed",
                help: "Try again when it has finished")
        }
        if let opened, opened.isCurrent { return opened }
        close()
        let store = try ReplicatedStore(
            path: path, configuration: configuration, stateDirectory: stateDirectory, nonce: nonce)
        locks = try StoreLocks(stateDirectory, store: store.place.path, wait: configuration.wait)
        opened = store
        return store
    }

    /// Lets go of the store's file; it is opened again when it is needed.
    public func close() {
        do {
            try opened?.store.close()
        } catch {
            configuration.logger.warning("\(path) could not be closed: \(error)")
        }
        opened = nil
        locks = nil
    }

    /// Waits until no other process has the store open; ``giveBack()`` lets them in again.
    func takeAlone() async throws {
        _ = try store()
        try await locks?.takeAlone(wait: configuration.wait, of: path)
    }

    func giveBack() { locks?.giveBack() }
}
