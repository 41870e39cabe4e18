import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Makes a new store from the container.
    ///
    /// The store is made beside its place and put there when everything that can be imported is in it; one that was
    /// killed before leaves nothing at the place, and the next one goes on where it was. So it does with one that was killed
    /// after, and says so (``CloneReport/resumed``).
    ///
    /// Triggers, views and indexes that call functions which SQLite does not hold harmless are not made, nor what needs a
    /// module that is not here; the report names them, and the tables that the content's settings leave out.
    ///
    /// - Parameters:
    ///   - functions: functions of this user's own programs that they may call all the same.
    ///   - recipes: what is known here of applications: those of the one that the content goes by may be called, too.
    ///   - progress: is told after each step.
    /// - Throws: `invalidStore` where the schema in the folder is none; `cannotCreate` where the file exists; `containerUnavailable` where the content is not there or no
    ///   peer has published its schema yet; `configuration` where the place is in a shared folder or on a network file
    ///   system.
    public static func clone(
        to store: String, container: String, content: String, peerName: String? = nil, functions: Set<String> = [],
        recipes: [Recipe] = [], configuration: SyncConfiguration,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> CloneReport {
        let founder = Founder(configuration: configuration, container: container, content: content)
        var report = try await founder.clone(to: store, peerName: peerName, functions, recipes, progress)
        let peer = report.peer.id
        // Tells the others that there is one more, and takes what has come meanwhile.
        let replicator = try await Replicator.open(store: report.store, configuration: configuration)
        do {
            let result = try await replicator.sync()
            report.imported += result.imported
            report.held = result.held
        } catch let error as LogSyncError {
            configuration.logger.warning(
                "\(report.store) is made, and the others do not know of it yet: \(error). Then run logsync sync on it")
        }
        await replicator.close()
        // Nothing comes after it: until here another clone goes on with what this one has made.
        try await founder.noteCloned(peer, at: report.store)
        return report
    }
}

extension Founder {
    fileprivate func clone(
        to path: String, peerName: String?, _ functions: Set<String>, _ recipes: [Recipe],
        _ progress: @Sendable (SyncProgress) -> Void
    ) async throws -> CloneReport {
        let target = StorePlace.absolute(path)
        let folder = ContentFolder(
            container: container, name: try ContentName(checking: content), fileSystem: configuration.fileSystem,
            purpose: .founding)
        try StorePlace.checkSuitable(target, container: container, fileSystem: configuration.fileSystem)
        try folder.checkAvailable()
        try checkPublishing(into: folder)
        let stateDirectory = StateDirectory(configuration.stateDirectory)
        try stateDirectory.create()
        let locks = try StoreLocks(stateDirectory, store: target, wait: configuration.wait)
        try await locks.step.acquire(wait: configuration.wait, of: target)
        defer { locks.step.release() }
        if let made = try made(at: target, asked: peerName, stateDirectory) { return made }
        try refuseExisting(target)

        var scan = try ContainerScanner(content: folder).scan(full: true)
        let name = try self.peerName(peerName, scan)
        let settings = try folder.readAll(&scan) { try contentSettings($0, folder) }
        let plan = try plan(InitializeOptions(), name: name, settings)
        let recipe = settings.value(Store.recipeSetting, "content")
        // The folder says which application it is, and only this machine what that defines.
        let functions = functions.union(recipes.first { $0.name == recipe }?.functions ?? [])
        let temporary = Self.temporary(target)
        // From the newest whole snapshot that proves sound, else from the logs alone. What only a partial one has, the new
        // store waits for like any other; whether one is, shows when there is a store to ask.
        let snapshots: [FoundSnapshot?] = SnapshotLibrary(content: folder).found(scan).filter { !$0.isPartial }
        for snapshot in snapshots + [nil] {
            if let snapshot, let doubt = doubt(about: snapshot, settings) {
                configuration.logger.warning(
                    "A snapshot was passed over: \(folder.peer(snapshot.peer).path(snapshot.name)): \(doubt)")
                continue
            }
            do {
                let resumes = try resumes(temporary, plan, asked: peerName, snapshot)
                if !resumes {
                    try discard(temporary, target, stateDirectory)
                    let schema = try schema(in: folder, scan, snapshot)
                    closeQuietly(
                        try Store.create(
                            temporary, schema: schema, plan: plan, functions: functions,
                            configuration: configuration.storeConfiguration))
                }
                let filled = try await fill(temporary, target, scan, snapshot, stateDirectory, progress)
                try Self.putInPlace(temporary, target)
                return try report(of: target, imported: filled, settings.doubtfulRenames)
            } catch let error as CancellationError {
                // The next clone goes on from here.
                throw error
            } catch let error as UnusableSnapshot {
                try discard(temporary, target, stateDirectory)
                configuration.logger.warning("A snapshot was passed over: \(error.reason)")
            } catch {
                // What went wrong first says more than that its traces could not be removed.
                try? discard(temporary, target, stateDirectory)
                throw error
            }
        }
        throw LogSyncError(
            .containerUnavailable, "\(folder.path) has nothing to make a store of; nothing was done",
            help:
                "Wait for the sync engine to deliver it; logsync doctor \(folder.path.asShellArgument) says what is there",
            subject: .container(folder.path))
    }

    private func report(
        of target: String, imported: Int, _ warnings: [String] = []
    ) throws -> CloneReport {
        let store = try Store.open(target, configuration: configuration.storeConfiguration)
        defer { closeQuietly(store) }
        let registration = try store.registration()
        return CloneReport(
            store: target, content: content, container: container,
            peer: PeerName(id: registration.peer, name: registration.name), imported: imported,
            unmade: try store.unmadeObjects(),
            leftOut: try store.tablesLeftOut().map { CloneReport.LeftOutTable(table: $0.table, setting: $0.setting) },
            warnings: [try store.untendedTables()].compactMap(\.self) + warnings)
    }

    /// What a clone made that was killed before it said so; nil where there is nothing of the kind.
    ///
    /// It is known by the state file, which that clone wrote before it put the store in its place.
    private func made(at target: String, asked: String?, _ stateDirectory: StateDirectory) throws -> CloneReport? {
        // What is at the place and no store is refused as that.
        guard let place = try? StorePlace(target), let registration = try? registration(of: place),
            registration.content == content, Self.isSame(registration.container, container),
            asked == nil || asked == registration.name, let state = try stateDirectory.load(registration.peer),
            state.isCloning ?? false, state.path == place.path, state.inode == place.inode
        else { return nil }
        let temporary = Self.temporary(target)
        // The other name of the same file.
        if (try? StorePlace(temporary))?.inode == place.inode { Self.removeStore(temporary) }
        var report = try report(of: target, imported: 0)
        report.resumed = true
        return report
    }

    /// Notes that a clone has come to its end.
    fileprivate func noteCloned(_ peer: PeerID, at target: String) async throws {
        let stateDirectory = StateDirectory(configuration.stateDirectory)
        let locks = try StoreLocks(stateDirectory, store: target, wait: configuration.wait)
        try await locks.step.acquire(wait: configuration.wait, of: target)
        defer { locks.step.release() }
        guard var state = try stateDirectory.load(peer) else { return }
        state.isCloning = nil
        try stateDirectory.save(state, mayBeUndone: true)
    }

    /// What the folder says against a snapshot. One that cannot be read shows so when a store is filled from it.
    private func doubt(about snapshot: FoundSnapshot, _ settings: ContentSettings) -> String? {
        (try? settings.doubts.doubt(about: snapshot)) ?? nil
    }

    /// A snapshot turned out not to be what it seemed.
    private struct UnusableSnapshot: Error {
        var reason: String
    }

    /// Whether what a clone that was interrupted has left can be gone on with.
    private func resumes(
        _ temporary: String, _ plan: InitializePlan, asked: String?, _ snapshot: FoundSnapshot?
    ) throws -> Bool {
        guard try isOwn(temporary) else { return false }
        // What cannot be opened was killed while it was made.
        guard let store = try? Store.open(temporary, configuration: configuration.storeConfiguration) else {
            return false
        }
        defer { closeQuietly(store) }
        let registration = try store.registration()
        guard registration.content == plan.content, registration.container == plan.container,
            asked == nil || asked == registration.name
        else { return false }
        guard let filling = try store.fillingHash() else {
            // It has been filled, or is one that goes without a snapshot.
            return try snapshot == nil || store.vector().sequences.count > 1
        }
        return filling.hasPrefix(snapshot?.name.fileHash.description ?? "none")
    }

    /// Whether this user's own clone was interrupted here.
    ///
    /// - Throws: `cannotCreate` where something else bears the name: in a folder that others write it may be theirs.
    private func isOwn(_ temporary: String) throws -> Bool {
        var status = stat()
        guard lstat(temporary, &status) == 0 else { return false }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            throw LogSyncError(
                .cannotCreate, "\(temporary) is in the way and is no file of this user's; nothing was done",
                help: "Remove it, or choose a folder that others cannot write")
        }
        return true
    }

    /// Imports everything there is, and says in the store and beside it where that is going to be.
    ///
    /// - Returns: how many transactions were imported.
    private func fill(
        _ temporary: String, _ target: String, _ scan: ContainerScan, _ snapshot: FoundSnapshot?,
        _ stateDirectory: StateDirectory, _ progress: @Sendable (SyncProgress) -> Void
    ) async throws -> Int {
        let store = try ReplicatedStore(
            path: temporary, configuration: configuration.unshared, stateDirectory: stateDirectory, nonce: "clone")
        defer { closeQuietly(store.store) }
        try store.store.beginFilling()
        store.library.blobs.update(scan, forgetsDoubts: true)
        if let snapshot { try fill(store, from: snapshot, scan, progress) }
        let plan = try store.inbox.plan(scan)
        var imported = Int(clamping: snapshot?.reach ?? 0)
        loop: while true {
            switch try store.inbox.importNext(plan) {
            case .imported(let step):
                imported += step.imported.count
                progress(SyncProgress(imported: imported, total: imported + plan.remaining()))
            case .undone: continue
            case .finished: break loop
            }
            try Task.checkCancellation()
            await Task.yield()
        }
        try store.store.continueSequences()
        // Its inode goes along when it is renamed, so that it is known for itself at its place.
        try store.store.setLocation(
            path: target, inode: store.place.inode, machineID: configuration.machineID,
            stateDirectory: stateDirectory.path)
        // Before it is in its place, so that a process killed in between leaves a store that is at home there.
        var place = store.place
        place.path = target
        try saveState(of: store.store, at: place, in: stateDirectory, isCloning: true)
        return imported
    }

    private func fill(
        _ store: ReplicatedStore, from snapshot: FoundSnapshot, _ scan: ContainerScan,
        _ progress: @Sendable (SyncProgress) -> Void
    ) throws {
        // A store whose filling was interrupted later has been filled from the snapshot.
        guard try store.store.fillingHash() != nil || store.store.vector().sequences.count <= 1 else { return }
        guard try !store.coverage.shownColumns(scan).show(snapshot.manifest.lost, besides: snapshot.peer) else {
            throw UnusableSnapshot(reason: "\(snapshot.name) lacks values that are shown")
        }
        let library = store.library
        do {
            guard case .ready = try store.store.joinability(of: snapshot.manifest) else { return }
            guard try library.snapshots.isIntact(snapshot.name, of: snapshot.peer) else {
                throw LogFileError.damaged("its bytes do not have the hash that its name says", offset: 0)
            }
            let reader = try library.snapshots.reader(snapshot.name, of: snapshot.peer)
            for id in try reader.blobs() where !library.blobs.isListed(id) {
                throw LogFileError.damaged("the blob \(id) that it names is not here", offset: 0)
            }
            let total = Int(clamping: snapshot.reach)
            try store.store.fill(
                from: try reader.verify(), blobs: { [blobs = library.blobs] in try blobs.read($0) },
                { try library.snapshots.reader(snapshot.name, of: snapshot.peer) }
            ) { frames in
                // How many frames there are shows at the end only; what was done counts.
                progress(SyncProgress(imported: 0, total: total, frames: frames))
                try Task.checkCancellation()
            }
            store.inbox.logJoined(snapshot, transactions: snapshot.reach)
        } catch let error as LogFileError {
            throw UnusableSnapshot(reason: "\(error)")
        } catch let ahead as SnapshotAhead {
            throw UnusableSnapshot(
                reason: "\(library.content.peer(snapshot.peer).path(snapshot.name)): \(ahead.detail)")
        } catch let unwritable as UnwritableSnapshot {
            throw UnusableSnapshot(
                reason: "\(library.content.peer(snapshot.peer).path(snapshot.name)): \(unwritable.detail)")
        } catch let error as LogSyncError where [.malformedLog, .ioError].contains(error.code) {
            throw UnusableSnapshot(reason: "\(error)")
        }
    }

    private func refuseExisting(_ target: String) throws {
        // A symbolic link that leads nowhere exists too.
        var status = stat()
        guard lstat(target, &status) == 0 else { return }
        // What cannot be opened is no store to speak of.
        if let place = try? StorePlace(target), let registration = try? registration(of: place) {
            throw LogSyncError(
                .cannotCreate,
                "\(target) is a store of \(registration.content) in \(registration.container) already, as "
                    + "\(registration.name.debugDescription); nothing was overwritten",
                help: "logsync sync brings it up to date; choose another name for one more store")
        }
        throw LogSyncError(
            .cannotCreate, "\(target) exists; nothing was overwritten",
            help: "Choose another name, or make it a store with logsync init")
    }

    /// Gives the finished file its name, and never the name of another.
    private static func putInPlace(_ temporary: String, _ target: String) throws {
        // Closing says nothing of a checkpoint that could not be made, and the journal stays behind under its old name.
        for suffix in ["-wal", "-journal"] {
            var status = stat()
            guard lstat(temporary + suffix, &status) == 0, status.st_size > 0 else { continue }
            throw LogSyncError(
                .ioError, "\(target) could not be made: what was written is not all in \(temporary); nothing is there",
                help: "Free some space, close whatever has \(temporary) open, and run the command again")
        }
        if link(temporary, target) == 0 {
            unlink(temporary)
        } else if [EPERM, ENOTSUP, ENOSYS, EOPNOTSUPP, EMLINK].contains(errno) {
            // A file system without hard links; the lock keeps other logsync processes out.
            var status = stat()
            guard lstat(target, &status) != 0, rename(temporary, target) == 0 else { throw failure(target) }
        } else {
            throw failure(target)
        }
        let directory = Foundation.open(
            (target as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw failure(target) }
        defer { Foundation.close(directory) }
        guard fsync(directory) == 0 else { throw failure(target) }
    }

    private static func failure(_ target: String) -> LogSyncError {
        LogSyncError(
            .cannotCreate, "\(target) could not be made: \(String(cString: strerror(errno))); nothing is there",
            help: "Choose a place that this user may write, with room for the whole database")
    }

    /// Removes what was made of a store that is not in its place yet, and its state files.
    private func discard(_ temporary: String, _ target: String, _ stateDirectory: StateDirectory) throws {
        Self.removeStore(temporary)
        var status = stat()
        guard lstat(target, &status) != 0 else { return }
        for state in try stateDirectory.all(at: target) where state.isCloning ?? false {
            try stateDirectory.remove(state.peer)
        }
    }

    /// Where a store is made before it is put in its place.
    private static func temporary(_ target: String) -> String { target + ".logsync-clone" }

    /// Removes what a clone that was killed has left.
    private static func removeStore(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
    }
}
