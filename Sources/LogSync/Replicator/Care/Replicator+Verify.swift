import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Reads every byte of a content folder, replays it into a scratch database, and compares the outcome with what the
    /// peers' receipts say and, given a store, with the store.
    ///
    /// Nothing is changed but for the scratch database, which is made in the temporary directory and goes again; it gets
    /// about as large as a store.
    ///
    /// - Parameters:
    ///   - path: a store; or a container, or a content folder.
    ///   - refill: whether columns that have come back in the store without their values get first what the replay has of
    ///     them, where nobody has written since. The store is changed, then.
    ///   - progress: is told after each step of the replay.
    /// - Throws: `noStore`, `notReplicated`, `invalidStore`; `containerUnavailable` where there is nothing to read;
    ///   `noPermission` where it may not be read; `ioError` or `cannotCreate` where the scratch database cannot be
    ///   written. What is wrong with the folder is a finding.
    public static func verify(
        _ path: String, configuration: SyncConfiguration, refill: Bool = false,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> VerifyReport {
        let finder = Founder(configuration: configuration, container: path, content: "")
        if await finder.isDirectory(path) {
            guard !refill else {
                throw LogSyncError(
                    .usage, "\(path) is a folder; columns of a store are refilled, so nothing was done",
                    help: "Name the store that lacks their values")
            }
            let (path, target) = await finder.target()
            var report = VerifyReport(path: path)
            if let failure = target.failure {
                guard !target.folders.isEmpty else { throw failure }
                report.findings.append(target.finding(failure, at: path))
            }
            for folder in target.folders {
                let founder = Founder(
                    configuration: configuration, container: folder.container, content: folder.name.description)
                do {
                    try await founder.verify(nil, &report, progress)
                } catch let error as LogSyncError where target.folders.count > 1 && foldersOwn.contains(error.code) {
                    // What is wrong with one content keeps nobody from knowing of the others.
                    report.findings.append(FolderExamination.unavailable(error, at: folder.path))
                }
            }
            guard !target.folders.isEmpty else {
                throw LogSyncError(
                    .containerUnavailable, "no content folder is at \(path); nothing was verified",
                    help: "logsync doctor \(path.asShellArgument) says what is there")
            }
            return report
        }
        let replicator = try await Replicator.open(store: path, configuration: configuration)
        await replicator.close()
        var report = VerifyReport(path: replicator.path)
        let place = try StorePlace(path)
        let (container, content) = try registered(place, configuration)
        let founder = Founder(configuration: configuration, container: container, content: content)
        if refill { report.refilled = try await founder.refill(place.path, progress) }
        try await founder.verify(place.path, &report, progress)
        return report
    }

    /// What keeps one content from being read, and no other.
    private static let foldersOwn: Set<LogSyncError.Code> = [
        .containerUnavailable, .noPermission, .newerFormat, .configuration,
    ]

    private static func registered(
        _ place: StorePlace, _ configuration: SyncConfiguration
    ) throws -> (container: String, content: String) {
        let store = try Store.open(place.path, configuration: configuration.storeConfiguration)
        let registration = try store.registration()
        try store.close()
        return (registration.container, registration.content)
    }
}

extension Founder {
    fileprivate func target() -> (path: String, target: FolderTarget) {
        (container, FolderTarget(container, fileSystem: configuration.fileSystem))
    }

    fileprivate func verify(
        _ store: String?, _ report: inout VerifyReport, _ progress: @Sendable (SyncProgress) -> Void
    ) async throws {
        let folder = ContentFolder(
            container: container, name: try ContentName(checking: content), fileSystem: configuration.fileSystem)
        let scanner = ContainerScanner(content: folder)
        var scan = try scanner.scan(full: true)
        // It is read from one end to the other, and the replay needs memory, too.
        var reading = configuration
        reading.pageCache = 4 << 20
        let compared = try store.map {
            try ReplicatedStore(
                path: $0, configuration: reading, stateDirectory: StateDirectory(configuration.stateDirectory),
                nonce: "verify")
        }
        defer { if let compared { closeQuietly(compared.store) } }
        var examination = FolderExamination(folder: folder, configuration: configuration)
        if let compared {
            examination.own = compared.peer
            examination.names = try compared.names()
            examination.retired = try compared.store.retiredPeers()
            examination.branches = Set(try compared.store.branches())
            examination.shown = try compared.coverage.shownColumns(scan)
        }
        report.findings += examination.findings {
            scan = try scanner.scan(full: true)
            return scan
        }
        do {
            try await replay(folder, scan, compared, &report, progress)
        } catch let error as LogSyncError where [.containerUnavailable, .invalidStore].contains(error.code) {
            // Settings or schemas have not arrived, are in files that are damaged, or are none.
            report.findings.append(
                Finding(
                    "no-replay", .trouble, "the history could not be replayed", at: folder.path, why: error.message,
                    help: error.help ?? "run logsync doctor on the folder"))
        }
    }

    private func replay(
        _ folder: ContentFolder, _ scan: ContainerScan, _ compared: ReplicatedStore?,
        _ report: inout VerifyReport, _ progress: @Sendable (SyncProgress) -> Void
    ) async throws {
        let scratch = try ScratchFolder("verify", kept: "nothing was verified")
        defer { scratch.remove() }

        let (ended, findings) = try await replay(folder, scan, compared, in: scratch, progress)
        defer { closeQuietly(ended.replica.store) }
        report.findings += findings.filter { new in
            !report.findings.contains { $0 == new || $0.place == new.place && $0.severity == .damage }
        }
        report.store = ended.agreesWithStore
        report.notCompared = ended.unrecorded
        report.contents.append(try ended.content())
    }

    /// Replays a history into a scratch database, which is the caller's to close.
    func replay(
        _ folder: ContentFolder, _ scan: ContainerScan, _ compared: ReplicatedStore?,
        in scratch: ScratchFolder, _ progress: @Sendable (SyncProgress) -> Void
    ) async throws -> (Replay, [Finding]) {
        let path = scratch.path + "/replay.db"
        var scan = scan
        let (schema, settings) = try folder.readAll(&scan) { scan in
            // A store shows what its own schema makes of the history, whatever other peers have by now.
            (try compared?.store.schemaText().text ?? self.schema(in: folder, scan), try contentSettings(scan, folder))
        }
        let made = try Store.createForReplay(
            path, schema: schema, plan: try plan(InitializeOptions(), name: "replay", settings),
            configuration: configuration.storeConfiguration)
        var known: Set<SchemaFingerprint> = []
        try folder.readAll(&scan) { try made.learnKeys($0, in: folder, known: &known, configuration.logger) }
        closeQuietly(made)
        // What the store has by now is in the folder or in its outbox; what of it has come there since the scan, the replay
        // finds when it lists the folder anew.
        let state: Replay.Compared? = if let compared { try await Replay.Compared(compared) } else { nil }
        // Nothing is to be known of it where that of stores is kept, which may be a directory that cannot be made.
        let stateDirectory = StateDirectory(scratch.path + "/state")
        try stateDirectory.create()
        var replay = try Replay(path, scan, configuration: configuration, stateDirectory: stateDirectory)
        do {
            let findings = try await replay.run(comparing: state, progress)
            return (replay, findings)
        } catch {
            closeQuietly(replay.replica.store)
            throw error
        }
    }
}
