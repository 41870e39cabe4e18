import Foundation
import LogSyncContainer
public import LogSyncModel
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
    ///   - progress: is told after each step of the replay.
    /// - Throws: `noStore`, `notReplicated`, `invalidStore`; `containerUnavailable` where there is nothing to read;
    ///   `noPermission` where it may not be read; `ioError` or `cannotCreate` where the scratch database cannot be
    ///   written. What is wrong with the folder is a finding.
    public static func verify(
        _ path: String, configuration: SyncConfiguration,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> VerifyReport {
        if FolderTarget.isDirectory(path) {
            let path = StorePlace.absolute(path)
            var report = VerifyReport(path: path)
            let target = FolderTarget(path, fileSystem: configuration.fileSystem)
            if let failure = target.failure {
                guard !target.folders.isEmpty else { throw failure }
                report.findings.append(target.finding(failure, at: path))
            }
            for folder in target.folders {
                let founder = Founder(
                    configuration: configuration, container: folder.container, content: folder.name.description)
                try await founder.verify(nil, &report, progress)
            }
            guard !target.folders.isEmpty else {
                throw LogSyncError(
                    .containerUnavailable, "no content folder is at \(path); nothing was verified",
                    help: "logsync doctor \(path) says what is there")
            }
            return report
        }
        let replicator = try Replicator(store: path, configuration: configuration)
        await replicator.close()
        var report = VerifyReport(path: replicator.path)
        let place = try StorePlace(path)
        let (container, content) = try registered(place, configuration)
        let founder = Founder(configuration: configuration, container: container, content: content)
        try await founder.verify(place.path, &report, progress)
        return report
    }

    private static func registered(
        _ place: StorePlace, _ configuration: SyncConfiguration
    ) throws -> (container: String, content: String) {
        let store = try Store.open(place.path, configuration: configuration.storeConfiguration)
        let registration = try store.registration()
        try store.close()
        return (registration.container, registration.content)
    }
}

/// What ``Replicator/verify(_:configuration:progress:)`` read and compared.
public struct VerifyReport: Sendable, Encodable {
    public struct Content: Sendable, Encodable {
        public var content: String
        public var container: String
        public var files = 0
        public var bytes: UInt64 = 0
        /// How many transactions were replayed.
        public var transactions = 0
        /// How far the replay came, and the digest of the state there.
        public var vector = VersionVector()
        public var digest = ""
        /// The peers whose receipts speak of a state that the replay passed through, and whether it was the same.
        public var compared: [Comparison] = []
    }

    public struct Comparison: Hashable, Sendable, Encodable {
        public var peer: PeerName
        public var equal: Bool
    }

    public let format = 1
    public var path: String
    public var contents: [Content] = []
    /// Whether the store agrees with the replay; nil where no store was given, or none of the same vector was reached.
    public var store: Bool?
    public var findings: [Finding] = []

    public var outcome: Outcome { Outcome(findings: findings) }

    init(path: String) {
        self.path = path
    }

    private enum CodingKeys: String, CodingKey {
        case format, path, contents, store, findings
    }

    public func encode(to encoder: any Encoder) throws {
        var document = encoder.container(keyedBy: CodingKeys.self)
        try document.encode(format, forKey: .format)
        try document.encode(path, forKey: .path)
        try document.encode(contents, forKey: .contents)
        try document.encode(store, forKey: .store)
        try document.encode(findings, forKey: .findings)
    }
}

extension Founder {
    fileprivate func verify(
        _ store: String?, _ report: inout VerifyReport, _ progress: @Sendable (SyncProgress) -> Void
    ) async throws {
        let folder = ContentFolder(
            container: container, name: try ContentName(checking: content), fileSystem: configuration.fileSystem)
        let scan = try ContainerScanner(content: folder).scan(full: true)
        let files = StateFiles(directory: configuration.stateDirectory)
        try files.create()
        let compared = try store.map {
            try ReplicatedStore(path: $0, configuration: configuration, files: files, nonce: "verify")
        }
        defer { if let compared { closeQuietly(compared.store) } }
        var examination = FolderExamination(folder: folder, configuration: configuration)
        if let compared {
            examination.names = try compared.names()
            examination.retired = try compared.store.retiredPeers()
            examination.shown = try compared.shown(scan)
        }
        report.findings += examination.findings(scan) + examination.otherFiles(scan)
        do {
            try await replay(folder, scan, compared, files, &report, progress)
        } catch let error as LogSyncError where error.code == .containerUnavailable {
            // Settings or schemas have not arrived, or are in files that are damaged.
            report.findings.append(
                Finding(
                    "no-replay", .trouble, "the history could not be replayed", at: folder.path, why: error.message,
                    help: error.help ?? "run logsync doctor on the folder"))
        }
    }

    private func replay(
        _ folder: ContentFolder, _ scan: ContainerScan, _ compared: ReplicatedStore?, _ files: StateFiles,
        _ report: inout VerifyReport, _ progress: @Sendable (SyncProgress) -> Void
    ) async throws {
        let scratch = try ScratchFolder("verify", kept: "nothing was verified")
        defer { scratch.remove() }

        let path = scratch.path + "/replay.db"
        let made = try Store.createForReplay(
            path, schema: try schema(in: folder, scan),
            plan: try plan(InitializeOptions(), name: "replay", scan, folder),
            configuration: configuration.storeConfiguration)
        var known: Set<SchemaFingerprint> = []
        try made.learnKeys(scan, in: folder, known: &known)
        closeQuietly(made)
        var replay = try Replay(path, folder: folder, scan, configuration: configuration, files: files)
        defer { closeQuietly(replay.replica.store) }
        let found = try await replay.run(comparing: compared, progress)
        report.findings += found.filter { new in
            !report.findings.contains { $0.place == new.place && $0.severity == .damage }
        }
        report.store = replay.agreesWithStore
        report.contents.append(replay.content(of: scan))
    }
}
