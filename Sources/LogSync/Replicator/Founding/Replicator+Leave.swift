import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Ends replication and keeps the data; what this peer has published stays for the others.
    ///
    /// Local changes are published first where the folder takes them; otherwise they stay in this database alone. Other
    /// processes are asked to let go of the store.
    /// Rows that are parked, in no table, are written to a file beside the database (``LeaveReport/parkedFile``).
    /// Where the database joins the content again, rows that have no key of their own are there twice, and ``open`` refuses that.
    /// What ``start()`` started ends. A program may go on writing by ``record(_:author:context:)`` and
    /// ``write(in:author:context:_:)``: nothing is recorded then.
    ///
    /// - Parameter dryRun: whether only to say what would become of local changes, as far as it shows without writing.
    /// - Throws: `locked` where one does not within ``SyncConfiguration/wait``; `ioError` or `noPermission` where the
    ///   file of parked rows cannot be written: the store is as it was then.
    @discardableResult
    public func leave(dryRun: Bool = false) async throws -> LeaveReport {
        if dryRun { return try inspect { try $0.prospectOfLeaving() } }
        let report = try await endReplication()
        access = .left
        programRecording.expectFounding()
        await stop()
        return report
    }

    private func endReplication() async throws -> LeaveReport {
        var refusal: LogSyncError?
        do {
            _ = try await export()
        } catch let error as LogSyncError where error.isOfContainer {
            refusal = error
        }
        try await takeAlone()
        defer {
            giveBack()
            close()
        }
        return try await step { [refusal] store in
            let parked = try ParkedRowsFile(store)
            try parked?.write()
            let refusal = try refusal ?? store.leavingRefusal()
            var report = try refusal.map(store.leaveSilently) ?? LeaveReport(published: true, unpublished: 0)
            report.note(parked)
            try store.store.leave()
            for var state in try store.stateDirectory.all(at: store.place.path) where state.hasLeft != true {
                if state.peer == store.peer {
                    // Who joins the content again is told that it has its rows already.
                    state.hasLeft = true
                    try store.stateDirectory.save(state)
                } else {
                    // It was another peer before a restore.
                    try store.stateDirectory.remove(state.peer)
                }
            }
            store.logger.info("\(store.place.path) is an ordinary database again, with all its rows")
            return report
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

    /// Takes a store whose file is there no more off the list of stores: nothing can be read of it, and nothing is written
    /// into its folder, where ``retire(_:dryRun:)`` on another store says that it has gone.
    ///
    /// - Parameter dryRun: whether only to say whether there is anything to do.
    /// - Returns: the peers that it was, each with its content and folder; empty where a file is there, or the path is on no list.
    /// - Throws: `noPermission` where it cannot be seen whether the file is there; `ioError` where the state directory cannot be
    ///   read.
    public static func forget(
        _ store: String, dryRun: Bool = false, configuration: SyncConfiguration
    ) async throws -> [ForgottenStore] {
        let founder = Founder(configuration: configuration, container: "", content: "")
        return try await founder.forget(store, dryRun: dryRun)
    }
}

extension ReplicatedStore {
    /// What can be said of a leave beforehand.
    fileprivate func prospectOfLeaving() throws -> LeaveReport {
        var report = try prospectOfPublishing()
        report.note(try ParkedRowsFile(self))
        return report
    }

    private func prospectOfPublishing() throws -> LeaveReport {
        let waiting = try store.outbox(unpublishedOnly: true)
        let size = waiting.reduce(UInt64(0)) { $0 + UInt64($1.byteCount) }
        // What is not yet recorded will be one.
        let count = waiting.count + (try store.hasPendingChanges() ? 1 : 0)
        do {
            try content.checkAvailable()
            try content.peer(peer).checkWritable(room: size)
            return LeaveReport(published: true, unpublished: 0)
        } catch {
            return LeaveReport(published: false, unpublished: count)
        }
    }

    /// Says in the folder that this peer leaves it. Returns why it does not take that; nil where it does.
    func leavingRefusal() throws -> LogSyncError? {
        do {
            try ownFolder.leave()
            return nil
        } catch let error as LogSyncError where error.isOfContainer {
            return error
        }
    }

    /// Notes that the folder is left without a word.
    fileprivate func leaveSilently(_ refusal: LogSyncError) throws -> LeaveReport {
        try record()
        let count = try store.outbox(unpublishedOnly: true).count
        let unpublished =
            count > 0
            ? """
            without publishing \(count.counted("transaction, which reaches", "transactions, which reach")) no other peer; \
            what was written stays in this database
            """ : "without saying so in the folder"
        logger.warning(
            """
            \(place.path) leaves \(unpublished). The others go on keeping files for it, until `logsync peers retire` on one of \
            them says that it has gone: \(refusal.messageAlone)
            """)
        return LeaveReport(published: false, unpublished: count)
    }
}

extension LeaveReport {
    fileprivate mutating func note(_ file: ParkedRowsFile?) {
        parked = file?.count ?? 0
        parkedFile = file?.path
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

    fileprivate func forget(_ store: String, dryRun: Bool) async throws -> [ForgottenStore] {
        guard try isMissing(store) else { return [] }
        let stateDirectory = StateDirectory(configuration.stateDirectory)
        // What lies on a disk that is not mounted is there again with it, and then goes on as the peer that it was.
        let states = try stateDirectory.all(at: StorePlace.absolute(store)).filter {
            $0.hasLeft != true && $0.isCloning != true
        }
        for var state in states where !dryRun {
            state.hasLeft = true
            try stateDirectory.save(state)
        }
        return states.map { ForgottenStore(content: $0.content, container: $0.container, peer: $0.peer) }
    }

    private func isMissing(_ store: String) throws -> Bool {
        do {
            _ = try StorePlace(store)
            return false
        } catch {
            guard error.code == .noStore else { throw error }
            return true
        }
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
