import Foundation
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
        // Observers may take their time, and other processes have their turn meanwhile.
        defer { postImports() }
        var prepared: Set<UnreadyTable> = []
        do {
            while true {
                do {
                    return try await lockedStep(settles: settles, body)
                } catch is UnexpectedStore where settles {
                    // A backup was restored into the store's file since the step had looked which peer that is.
                    return try await lockedStep(settles: settles, body)
                } catch let unready as UnreadyTable {
                    try await prepare(unready, isAgain: !prepared.insert(unready).inserted)
                }
            }
        } catch let error as LogSyncError {
            throw error.about(.store(path))
        } catch is UnexpectedStore {
            throw LogSyncError(
                .locked,
                "\(path) became another peer, or an older state of itself, in the middle of the work; what was done is kept",
                help: "Run the command again", subject: .store(path))
        }
    }

    /// Makes a table ready for rows that came before it, without which nothing that programs have written can be recorded.
    ///
    /// - Parameter isAgain: whether that was done before, for nothing.
    /// - Throws: `invalidStore` where it cannot be.
    private func prepare(_ unready: UnreadyTable, isAgain: Bool) async throws {
        try await lockedStep(settles: false) { store in
            do {
                guard !isAgain else { throw RefusedTransaction(unready) }
                try store.store.prepare(unready)
                try store.identity.noteRecorded()
            } catch let refused as RefusedTransaction {
                throw LogSyncError(
                    .invalidStore,
                    "\(path): \(refused.detail); nothing was changed, and what programs have written is kept",
                    help: "Run logsync doctor \(path.asShellArgument): it names the peers with another schema. "
                        + "Migrate these, or undo the migration here, and run the command again")
            }
        }
    }

    private func lockedStep<T>(settles: Bool, _ body: (ReplicatedStore) throws -> T) async throws -> T {
        let store = try store()
        guard let locks else { throw CancellationError() }
        try await locks.step.acquire(wait: configuration.wait, of: path)
        // Another process may have been given the store meanwhile.
        guard opened === store else {
            locks.step.release()
            return try await lockedStep(settles: settles, body)
        }
        defer { locks.step.release() }
        // Where the state directory was removed, other processes take the locks of the one that was made since.
        if access == .shared, !locks.step.isInPlace {
            self.locks = try madeLocks(for: store)
            return try await lockedStep(settles: settles, body)
        }
        // Files that were replaced are not to be read either.
        let isCurrent = store.isCurrent
        if isCurrent {
            try store.refresh()
            if try store.hasOtherStateDirectory {
                closeStore()
                return try await lockedStep(settles: settles, body)
            }
            try store.identity.refresh()
            if settles { try store.resumeRelocation() }
        }
        guard settles || store.identity.state != nil, isCurrent else {
            if !isCurrent { closeReplaced() }
            throw LogSyncError(
                .locked, "\(path) was replaced or became another peer in the middle of the work; what was done is kept",
                help: "Run the command again")
        }
        let result = try tellingChanges(of: store) { try body(store) }
        if let state = store.identity.state {
            programRecording.expect(state, in: store.stateDirectory, settles: settles)
        }
        return result
    }

    /// Does one step on a store that is known to be the peer that it is, and notes what that recorded.
    ///
    /// The folder is asked which peer the store is where this process has not done so; where it is not there, the state file
    /// has to do.
    func settledStep<T>(_ body: (ReplicatedStore) throws -> T) async throws -> T {
        try await step(settles: true) { store in
            // A container that is not there tells nothing.
            let scan = store.identity.isSettledWithFolder ? nil : try? store.scan(.changes)
            try settleIdentity(of: store, scan)
            let result = try body(store)
            try store.identity.noteRecorded()
            return result
        }
    }

    /// Looks at the store without keeping others out.
    func inspect<T>(_ body: (ReplicatedStore) throws -> T) throws -> T {
        do {
            let store = try store()
            try store.refresh()
            return try body(store)
        } catch let error as LogSyncError {
            throw error.about(.store(path))
        }
    }

    // MARK: Opening and closing

    /// The store, opened where it is not, or where another file has taken its path.
    func store() throws -> ReplicatedStore {
        guard access != .lettingGo else {
            throw LogSyncError(
                .locked, "another logsync process has \(path) for itself; nothing was changed",
                help: "Try again when it has finished")
        }
        if let opened {
            if opened.isCurrent { return opened }
            closeReplaced()
        }
        notReplicated = nil
        try awaitReturn()
        let store = try openedStore()
        stateDirectory = store.stateDirectory
        locks = try madeLocks(for: store)
        opened = store
        // What others import from now on is news, also before the first step.
        if seenToken == nil { seenToken = try store.store.lastToken() }
        return store
    }

    private func madeLocks(for store: ReplicatedStore) throws -> StoreLocks {
        try store.stateDirectory.create()
        return try StoreLocks(store.stateDirectory, store: store.place.path, wait: configuration.wait)
    }

    private func openedStore() throws -> ReplicatedStore {
        let files = RestingFiles(path)
        do {
            return try ReplicatedStore(
                path: path, configuration: configuration, stateDirectory: StateDirectory(configuration.stateDirectory),
                nonce: nonce)
        } catch let error as LogSyncError where error.code == .notReplicated {
            notReplicated = files
            // To be made one is not the program's to do a second time.
            guard let founding else { throw error }
            throw LogSyncError(
                .containerUnavailable,
                "\(path) is no store yet: it becomes one when \(founding.container) is there; what is written stays",
                help: "Mount the shared folder, or wait for its sync engine to deliver it",
                subject: .container(founding.container))
        }
    }

    /// Lets go of the store's file; it is opened again when it is needed.
    public func close() {
        notifying?.cancel()
        notifying = nil
        programRecording.expectNothing()
        closeStore()
    }

    /// Lets go of the store's file alone.
    func closeStore() {
        do {
            try opened?.store.close()
        } catch {
            configuration.logger.warning("\(path) could not be closed: \(error)")
        }
        opened = nil
        locks = nil
    }

    /// Lets go of files that are no longer those of the store's path, and writes nothing into what has taken their place.
    private func closeReplaced() {
        let removeStrandedLog = isRunning && notifying == nil ? opened?.store.strandedLogRemoval() : nil
        closeStore()
        guard isRunning else { return }
        // A program in this process that has it open would lose its locks.
        if let removeStrandedLog, !KernelLocks.shared.isStillInUse(path), removeStrandedLog() {
            configuration.logger.notice(
                "\(path) is another database now; the -wal of the one before it stood beside it, and was removed")
        }
        storeReturn = storeReturn ?? StoreReturn(path)
        isReplaced = true
        owesReturn = true
        configuration.logger.warning(
            """
            \(path) was replaced or removed, or its -wal or -shm was, while it was open; \
            it is opened again when it is whole
            """)
    }

    /// Where the store has come back, or may yet, while ``run()`` is under way, sees to it that it is not opened half.
    ///
    /// - Throws: `locked` where its files are still being put into place; `noStore` where there are none.
    private func awaitReturn() throws {
        guard isRunning else { return }
        if storeReturn == nil {
            // Nobody has been told that it was missing: it is opened as at the start.
            guard !FileManager.default.fileExists(atPath: path) else { return }
            storeReturn = StoreReturn(path)
        }
        while storeReturn?.observe() == false {
            guard storeReturn?.isWaiting ?? false else {
                // One that has come since that look may be half there.
                _ = try StorePlace(path)
                continue
            }
            throw LogSyncError(
                .locked,
                """
                \(path) is being put into place; it is opened when nothing beside it has changed for two seconds, or \
                for ten where it has no -wal yet, or programs are seen to write it for ten
                """,
                help: "Stop the daemon before a restore")
        }
        // Whatever comes of opening it now, it is no longer waited for.
        storeReturn = nil
    }

    /// Waits until no other process has the store open; ``giveBack()`` lets them in again.
    func takeAlone() async throws {
        _ = try store()
        access = .alone
        do {
            try await locks?.takeAlone(wait: configuration.wait, of: path)
        } catch {
            access = .shared
            throw error
        }
    }

    func giveBack() {
        access = .shared
        locks?.giveBack()
    }
}
