import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Makes stores, and does what needs none, off Swift's threads, because SQLite and the file system block.
actor Founder {
    let configuration: SyncConfiguration
    /// As it was given.
    private let givenContainer: String
    /// Its absolute path.
    private(set) lazy var container = StorePlace.absolute(container: givenContainer, configuration.fileSystem)
    let content: String
    private nonisolated let executor = QueueExecutor(label: "logsync.founder")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(configuration: SyncConfiguration, container: String, content: String) {
        self.configuration = configuration
        givenContainer = container
        self.content = content
    }

    /// - Parameter isCloning: whether a clone is about to put the store in its place.
    func saveState(
        of store: Store, at place: StorePlace, in stateDirectory: StateDirectory, isCloning: Bool? = nil
    ) throws {
        let registration = try store.registration()
        try stateDirectory.save(
            StateFile(
                peer: registration.peer, content: registration.content, container: registration.container,
                path: place.path, inode: place.inode, machine: configuration.machineID,
                sequence: try store.vector()[registration.peer],
                chain: try store.chain(of: registration.peer).description, isCloning: isCloning))
    }

    /// Sees to it that a peer which is to be made can publish: what is refused leaves nothing behind.
    ///
    /// - Throws: `noPermission`, `ioError`, `containerUnavailable`.
    func checkPublishing(into folder: ContentFolder) throws {
        do throws(FileSystemError) {
            try folder.peer(PeerID(high: 0, low: 0)).checkWritable()
        } catch {
            throw error.explained(kept: "nothing was done", isRoot: true)
        }
    }

    /// What the content has settled.
    func contentSettings(_ scan: ContainerScan, _ folder: ContentFolder) throws -> ContentSettings {
        var settings = try ContentSettings(scan, ContentLibrary(folder), configuration)
        try settings.checkRenames(scan, folder)
        if scan.peers.values.contains(where: { $0.overview.published > 0 }), settings.rows.isEmpty {
            if let doubted = settings.doubts.doubted.first {
                throw LogSyncError(
                    .containerUnavailable,
                    "what the content has settled is in no snapshot and no log file of \(folder.path): the snapshot \(doubted) "
                        + "lacks it; nothing was done",
                    help:
                        "Run logsync snapshot at a peer that works, and the command again; where it goes on so, who can write "
                        + "the folder has deleted the settings: make another content of that peer's store, with logsync leave and "
                        + "then logsync init with another --content, and clone the other peers' stores from that",
                    subject: .container(folder.path))
            }
            throw LogSyncError(
                .containerUnavailable,
                "what the content has settled has not arrived in \(folder.path) yet; nothing was done",
                help:
                    "Wait for the sync engine to deliver the other peers' log files, and run the command again; where some never come, "
                    + "run logsync snapshot at a peer that works",
                subject: .container(folder.path))
        }
        return settings
    }

    /// What the store is told, in agreement with what the content has settled.
    ///
    /// - Throws: `configuration` where the options contradict that.
    func plan(_ options: InitializeOptions, name: String, _ settings: ContentSettings?) throws -> InitializePlan {
        try settings?.check(options)
        var plan = InitializePlan(content: content, container: container, peerName: name)
        plan.identities = options.identities.mapValues { identity in
            switch identity {
            case .natural: .natural
            case .surrogate: .surrogate
            case .columns(let columns): .columns(columns)
            }
        }
        plan.references = options.references.map { ($0.table, $0.column, $0.parent) }
        plan.notReferences = options.notReferences
        plan.policies = options.policies
        plan.local = options.local
        plan.skip = options.skip
        plan.later = options.later
        plan.allocators = options.allocators
        plan.keepJournal = options.keepJournal
        plan.machineID = configuration.machineID
        plan.settings = settings?.rows ?? []
        plan.unfollowed = settings?.unfollowed ?? []
        return plan
    }

    /// The app's schema as the other peers have it: the newest by its version and its file's time, of the schemas that peers
    /// have now where they say so.
    func schema(in folder: ContentFolder, _ scan: ContainerScan, _ snapshot: FoundSnapshot? = nil) throws -> String {
        // A database may have joined before its program has made any table: nobody's is made after it.
        var best: (text: String, tables: Int, version: Int, modified: Int64)?
        if let snapshot {
            let text = snapshot.manifest.schemaText
            best = (text, Self.hasTables(text), Self.userVersion(text), snapshot.file.modified)
        }
        func choose(_ counts: (PeerScan, FoundFile<SchemaFileName>) -> Bool) {
            for peer in scan.peers.values {
                for file in peer.schemas where counts(peer, file) {
                    guard let text = folder.schema(file.name, of: peer.id) else { continue }
                    let (tables, version) = (Self.hasTables(text), Self.userVersion(text))
                    if let best, (best.tables, best.version, best.modified) >= (tables, version, file.modified) {
                        continue
                    }
                    best = (text, tables, version, file.modified)
                }
            }
        }
        // A schema that a peer came back to has an old file.
        choose { peer, file in
            peer.description.value?.schema.map { $0 == file.name.fingerprint } ?? true
        }
        if best == nil { choose { _, _ in true } }
        guard let best else {
            throw LogSyncError(
                .containerUnavailable,
                "\(folder.path) has no schema yet, so no store can be made of it; nothing was done",
                help: "Wait for the sync engine to deliver another peer's files, and run the command again",
                subject: .container(folder.path))
        }
        return best.text
    }

    /// 1 where it has tables, 0 where it has none.
    private static func hasTables(_ schema: String) -> Int { schema.contains("CREATE ") ? 1 : 0 }

    private static func userVersion(_ schema: String) -> Int {
        let line = schema.split(separator: "\n").first { $0.hasPrefix("PRAGMA user_version = ") }
        return line.flatMap { Int($0.dropFirst("PRAGMA user_version = ".count).dropLast()) } ?? 0
    }

    /// A name that no other peer of the content has.
    ///
    /// - Parameter former: peers that this store was, whose names are its own.
    /// - Throws: `configuration` where the name that was asked for is taken; `usage` where it cannot be one.
    func peerName(_ asked: String?, _ scan: ContainerScan?, former: [PeerID] = []) throws -> String {
        let peers = scan?.peers.values.filter { !former.contains($0.id) } ?? []
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

    nonisolated func closeQuietly(_ store: Store) {
        do {
            try store.close()
        } catch {
            configuration.logger.warning("\(store.path) could not be closed: \(error)")
        }
    }
}
