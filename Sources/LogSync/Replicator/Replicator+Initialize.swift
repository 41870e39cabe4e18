import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Making an existing database a store.
extension Replicator {
    /// Makes an existing database a store and joins the content where it exists already.
    ///
    /// It may be called again without harm. The container has to be there; the content's folder is made within it.
    ///
    /// - Throws: `configuration` where the options contradict what is there, or the store lies in a shared folder or on
    ///   a network file system; `containerUnavailable`; `noStore`; `invalidStore`; `unsupportedTable`; `usage`.
    public static func initialize(
        _ store: String, container: String, content: String, options: InitializeOptions = InitializeOptions(),
        configuration: SyncConfiguration
    ) async throws -> InitializeReport {
        let founder = Founder(configuration: configuration, container: container, content: content)
        var report = try await founder.initialize(store, options)
        guard !options.dryRun else { return report }
        let replicator = try await founder.open(store)
        let result = try await replicator.sync()
        let status = try await replicator.status()
        await replicator.close()
        report.peer = status.peer
        report.recorded += result.recorded
        report.published = result.published
        report.imported = result.imported
        report.held = result.held
        return report
    }
}

/// Makes stores, off Swift's threads, because SQLite and the file system block.
actor Founder {
    let configuration: SyncConfiguration
    let container: String
    let content: String
    private nonisolated let executor = QueueExecutor(label: "logsync.founder")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(configuration: SyncConfiguration, container: String, content: String) {
        self.configuration = configuration
        self.container = StorePlace.absolute(container)
        self.content = content
    }

    func open(_ store: String) throws -> Replicator { try Replicator(store: store, configuration: configuration) }

    func initialize(_ path: String, _ options: InitializeOptions) async throws -> InitializeReport {
        let folder = ContentFolder(
            container: container, name: try ContentName(checking: content), fileSystem: configuration.fileSystem,
            purpose: .founding)
        let place = try StorePlace(path)
        try StorePlace.checkSuitable(place.path, container: container, fileSystem: configuration.fileSystem)
        var report = InitializeReport(store: place.path, content: content, container: container)
        report.dryRun = options.dryRun
        if let registration = try registration(of: place) {
            return try again(report, place, registration, folder, options)
        }
        report.joined = try folder.exists()
        let scan = report.joined ? try ContainerScanner(content: folder).scan(full: true) : nil
        let plan = try plan(options, name: try peerName(options.peerName, scan), scan, folder)
        if options.dryRun {
            report.tables = try Store.examine(place.path, plan: plan, configuration: configuration.storeConfiguration)
            return report
        }
        let files = StateFiles(directory: configuration.stateDirectory)
        try files.create()
        let locks = try StoreLocks(files, store: place.path, wait: configuration.wait)
        try await locks.step.acquire(wait: configuration.wait, of: place.path)
        defer { locks.step.release() }
        // What would be refused leaves no trace in the container either.
        _ = try Store.examine(place.path, plan: plan, configuration: configuration.storeConfiguration)
        try folder.create()
        let made = try Store.initialize(place.path, plan: plan, configuration: configuration.storeConfiguration)
        defer { closeQuietly(made.store) }
        try made.store.setLocation(path: place.path, inode: place.inode, machineID: configuration.machineID)
        try saveState(of: made.store, at: place, in: files)
        report.tables = made.tables
        report.recorded = try made.store.vector()[made.store.registration().peer] > 0 ? 1 : 0
        configuration.logger.info(
            "\(place.path) is a store of \(content) now, and has recorded what it holds",
            metadata: [
                "tables": "\(made.tables.count)", "rows": "\(made.tables.reduce(0) { $0 + $1.rows })",
            ])
        return report
    }

    /// The database is a store already: says so, and finishes what an `init` that was killed had left.
    private func again(
        _ report: InitializeReport, _ place: StorePlace, _ registration: StoreRegistration, _ folder: ContentFolder,
        _ options: InitializeOptions
    ) throws -> InitializeReport {
        guard registration.content == content, Self.isSame(registration.container, container) else {
            throw LogSyncError(
                .configuration,
                "\(place.path) already is a store of \(registration.content) in \(registration.container); nothing was "
                    + "changed", help: "logsync leave ends that, logsync move takes it elsewhere")
        }
        if let name = options.peerName, name != registration.name {
            throw LogSyncError(
                .configuration,
                "this peer is named \(registration.name.debugDescription), not \(name.debugDescription); "
                    + "nothing was changed", help: "logsync peers rename gives it another name")
        }
        var report = report
        report.alreadyInitialized = true
        let store = try Store.open(place.path, configuration: configuration.storeConfiguration)
        defer { closeQuietly(store) }
        report.peer = PeerName(id: registration.peer, name: registration.name)
        report.tables = try store.tables()
        let hasPublished = try store.outbox(unpublishedOnly: false).contains { $0.isPublished }
        if !options.dryRun, !hasPublished, try store.vector().sequences.keys.allSatisfy({ $0 == registration.peer }) {
            // Nobody has seen anything of this store, so what is missing was never there.
            try folder.create()
        }
        return report
    }

    private func registration(of place: StorePlace) throws -> StoreRegistration? {
        do {
            let store = try Store.open(place.path, configuration: configuration.storeConfiguration)
            defer { closeQuietly(store) }
            return try store.registration()
        } catch let error as LogSyncError where error.code == .notReplicated {
            return nil
        }
    }

    func saveState(of store: Store, at place: StorePlace, in files: StateFiles) throws {
        let registration = try store.registration()
        try files.save(
            PeerState(
                peer: registration.peer, content: registration.content, path: place.path, inode: place.inode,
                machine: configuration.machineID, sequence: try store.vector()[registration.peer],
                chain: try store.chain(of: registration.peer).description))
    }

    /// What the store is told, in agreement with what the content has settled.
    ///
    /// - Throws: `configuration` where the options contradict that.
    func plan(
        _ options: InitializeOptions, name: String, _ scan: ContainerScan?, _ folder: ContentFolder
    ) throws -> InitializePlan {
        let settings = try scan.map {
            try ContentSettings($0, FileLibrary(content: folder), SnapshotLibrary(content: folder))
        }
        try settings?.check(options)
        let published = (scan?.peers ?? [:]).values.map(\.overview.published)
        if published.contains(where: { $0 > 0 }), settings?.rows.isEmpty != false {
            throw LogSyncError(
                .containerUnavailable,
                "what the content has settled has not arrived in \(folder.path) yet; nothing was done",
                help: "Wait for the sync engine to deliver the other peers' log files, and run the command again")
        }
        var plan = InitializePlan(content: content, container: container, peerName: name)
        plan.identities = options.identities.mapValues { identity in
            switch identity {
            case .natural: .natural
            case .surrogate: .surrogate
            case .columns(let columns): .columns(columns)
            }
        }
        plan.references = options.references.map { ($0.table, $0.column, $0.parent) }
        plan.policies = options.policies
        plan.local = options.local
        plan.skip = options.skip
        plan.keepJournal = options.keepJournal
        plan.machineID = configuration.machineID
        plan.settings = settings?.rows ?? []
        return plan
    }

    /// A name that no other peer of the content has.
    ///
    /// - Throws: `configuration` where the name that was asked for is taken; `usage` where it cannot be one.
    func peerName(_ asked: String?, _ scan: ContainerScan?) throws -> String {
        let peers = scan?.peers.values.map { $0 } ?? []
        let taken = Set(peers.compactMap { $0.description.value?.name })
        if let asked {
            try PeerName.check(asked)
            guard !taken.contains(asked) else {
                throw LogSyncError(
                    .configuration, "another peer is named \(asked.debugDescription); nothing was done",
                    help: "Choose another name with --peer")
            }
            return asked
        }
        let host = Self.hostName
        if !taken.contains(host) { return host }
        return (2...).lazy.map { "\(host)-\($0)" }.first { !taken.contains($0) } ?? host
    }

    /// This machine's name, up to the first dot.
    private static var hostName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        let code = gethostname(&buffer, buffer.count - 1)
        let bytes = buffer.map { UInt8(bitPattern: $0) }.prefix { $0 != 0 && $0 != UInt8(ascii: ".") }
        let name = String(decoding: bytes, as: UTF8.self)
        return code == 0 && !name.isEmpty ? name : "peer"
    }

    /// Whether two paths lead to the same directory.
    private static func isSame(_ a: String, _ b: String) -> Bool {
        func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
        return resolved(a) == resolved(b)
    }

    func closeQuietly(_ store: Store) {
        do {
            try store.close()
        } catch {
            configuration.logger.warning("\(store.path) could not be closed: \(error)")
        }
    }
}
