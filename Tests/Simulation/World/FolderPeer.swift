import Foundation
import GRDB
import LogSyncModel
import LogSyncStore
import LogSync
import Logging
import SimulationVFS

/// A machine: a store under a replicator of its own, a copy of the container, and what the oracle says of it.
final class FolderPeer {
    static let content = "simulation"

    let model: PeerModel
    let path: String
    let container: String
    let clock = SimulatedClock()
    let fileSystem: SimulatedFileSystem
    var skew: Int64
    var oracle: OracleState
    /// Its program's schema as it is by now, and as its backup has it.
    var schema: SchemaModel
    private var backupSchema: SchemaModel
    /// The death that its next sync meets.
    var death: Death?
    /// Its id: it only changes where a store was copied or restored.
    var id = nobody
    static let nobody = PeerID(high: 0, low: 0)

    private(set) var configuration: SyncConfiguration
    private(set) var replicator: Replicator?
    private(set) var store: Store?
    private(set) var app: AppProgram?

    init(_ model: PeerModel, index: Int, scenario: Scenario, directory: String, now: Int64) throws {
        self.model = model
        fileSystem = SimulatedFileSystem(clock: clock)
        skew = model.skew
        oracle = OracleState(keys: scenario.keys)
        schema = scenario.schema
        backupSchema = scenario.schema
        let home = "\(directory)/machines/\(model.name)"
        container = "\(directory)/folders/\(model.name)"
        path = home + "/app.db"
        for folder in [home, container] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        let randomness = SimulatedRandomness(seed: scenario.seed &* 31 &+ UInt64(index))
        configuration = SyncConfiguration(stateDirectory: home + "/state")
        configuration.clock = clock
        configuration.random = { randomness.next() }
        configuration.machineID = model.name
        configuration.maximumDrift = .milliseconds(StorePeer.drift)
        configuration.wait = .seconds(5)
        configuration.logger = Logger(label: model.name) { _ in SwiftLogNoOpLogHandler() }
        configuration.fileSystem = fileSystem
        clock.set(now + skew)
    }

    /// Makes its clock the one that counts.
    func awake(_ now: Int64) { clock.set(now + skew) }

    // MARK: Beginning

    /// Makes the database that it founds the content with, or joins with.
    func prepare(_ schema: SchemaModel) throws {
        if model.beginning != .clones { try AppProgram.makeDatabase(path, schema, rows: model.rows) }
    }

    /// Makes its store: the first peer founds the content, the others take part in it.
    func begin(_ scenario: Scenario) async throws {
        var options = InitializeOptions()
        if model.beginning == .founds { options = scenario.options }
        options.peerName = model.name
        let isThere = FileManager.default.fileExists(atPath: path)
        switch model.beginning {
        case .clones where isThere:
            // Made by one that died afterwards.
            _ = try await openReplicator().sync()
        case .clones:
            _ = try await Replicator.clone(
                to: path, container: container, content: Self.content, peerName: model.name,
                configuration: configuration)
        case .founds, .joins: try await initialize(options)
        }
        try openOthers()
        id = try openStore().registration().peer
    }

    /// Where rows cannot be shown beside those of the content, that has to be decided first, and so it has where columns seem to
    /// hold other rows' integers.
    private func initialize(_ options: InitializeOptions) async throws {
        func initialize(_ options: InitializeOptions) async throws -> InitializeReport {
            try await Replicator.initialize(
                path, container: container, content: Self.content, options: options, configuration: configuration)
        }
        var options = options
        var attempts = 0
        while true {
            do {
                _ = try await initialize(options)
                return
            } catch let error as LogSyncError where error.code == .configuration {
                attempts += 1
                var preview = options
                preview.dryRun = true
                let report = try await initialize(preview)
                // What does refer to rows is told before.
                options.notReferences += report.undecided.map { ($0.table, $0.column) }
                // What is parked lets others be shown, beside which others cannot be.
                let contested = report.contested.map(\.table)
                    .filter { table in !options.policies.contains { $0.target == table } }
                options.policies += contested.map { ($0, "unique-park") }
                // Which of two rows of one time is older depends on an id that is drawn: nothing may be contested the next time.
                guard attempts < Self.attempts else { throw error }
            }
        }
    }

    /// How often it is tried to make the database a store: each time more is told.
    private static let attempts = 20

    private func openOthers() throws {
        if app == nil { app = try AppProgram(path, foreignKeysAreOn: model.foreignKeysAreOn) }
        if store == nil { store = try Store.open(path, configuration: storeConfiguration) }
    }

    private var storeConfiguration: StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.clock = clock
        configuration.maximumDrift = StorePeer.drift
        return configuration
    }

    /// A connection beside the replicator's, to look at the store.
    func openStore() throws -> Store {
        try openOthers()
        guard let store else { throw Failure(.program, "\(model.name) has no store") }
        return store
    }

    func openApp() throws -> AppProgram {
        try openOthers()
        guard let app else { throw Failure(.program, "\(model.name) has no store") }
        return app
    }

    func openReplicator() throws -> Replicator {
        if let replicator { return replicator }
        let opened = try Replicator(store: path, configuration: configuration)
        replicator = opened
        return opened
    }

    /// Whether nothing is in doubt that a replicator would settle before it writes past capture, as ``Hand`` does.
    func knowsWhoItIs() throws -> Bool {
        let name = try "\(openStore().registration().peer).json"
        return FileManager.default.fileExists(atPath: "\(configuration.stateDirectory)/stores/\(name)")
    }

    /// Writes as a program does that embeds logsync.
    func embed(_ statements: [String]) async throws {
        let queue = try AppProgram.queue(path, foreignKeysAreOn: model.foreignKeysAreOn)
        let replicator = try openReplicator()
        var thrown: (any Error)?
        do {
            try await replicator.write(in: queue, author: model.name, context: "simulation") { database in
                try AppProgram.attempt(statements, database)
            }
        } catch let error as DatabaseError where AppProgram.isRefusedCommit(error) {
            // Nothing was written, as its program is told.
        } catch {
            thrown = error
        }
        // A dead connection closes with an error, which nobody is there to hear.
        let closed = Result { try queue.close() }
        if let thrown { throw thrown }
        try closed.get()
    }

    // MARK: Backups

    /// Whether a backup took the store's place.
    private(set) var wasRestored = false
    private var backup: String { path + ".backup" }

    func backUp(vacuums: Bool) throws {
        try loseBackup()
        backupSchema = schema
        let connection = try openApp().connection
        if vacuums { return try connection.execute("VACUUM INTO '\(backup)'") }
        _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.copyItem(atPath: path, toPath: backup)
    }

    func loseBackup() throws {
        if FileManager.default.fileExists(atPath: backup) { try FileManager.default.removeItem(atPath: backup) }
    }

    /// Puts the backup in the store's place. Returns whether there was one.
    func restore(losesState: Bool) async throws -> Bool {
        guard FileManager.default.fileExists(atPath: backup) else { return false }
        await close()
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
        try FileManager.default.copyItem(atPath: backup, toPath: path)
        if losesState, FileManager.default.fileExists(atPath: configuration.stateDirectory) {
            try FileManager.default.removeItem(atPath: configuration.stateDirectory)
        }
        wasRestored = true
        schema = backupSchema
        let connection = try AppConnection(path)
        try connection.execute("PRAGMA journal_mode = WAL")
        return true
    }

    /// Puts a copy of another machine's store in the place of this one's, which is with its own container from then on.
    func takeCopy(of other: FolderPeer, vacuums: Bool) async throws {
        let copy = path + ".copy"
        if FileManager.default.fileExists(atPath: copy) { try FileManager.default.removeItem(atPath: copy) }
        let connection = try other.openApp().connection
        if vacuums {
            try connection.execute("VACUUM INTO '\(copy)'")
        } else {
            _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
            try FileManager.default.copyItem(atPath: other.path, toPath: copy)
        }
        await close()
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
        try FileManager.default.moveItem(atPath: copy, toPath: path)
        wasRestored = true
        schema = other.schema
        let opened = try AppConnection(path)
        try opened.execute("PRAGMA journal_mode = WAL")
        isAtOthersContainer = true
    }

    /// Whether its store was copied and is with the other machine's container until it is told otherwise.
    var isAtOthersContainer = false

    // MARK: Ends

    /// Ends the replicator as a process does that has nothing left to do.
    func closeReplicator() async {
        await replicator?.close()
        replicator = nil
    }

    /// Picks up after a death: what was open is let go of as the kernel does it, without another write.
    func bury(cutsPower: Bool) async throws {
        simulation_vfs_kill()
        await closeReplicator()
        // A dead connection closes with an error, which nobody is there to hear.
        try? store?.close()
        store = nil
        if cutsPower {
            app?.close()
            app = nil
            simulation_vfs_cut_power()
            fileSystem.cutPower()
        }
        simulation_vfs_revive()
    }

    func close() async {
        await closeReplicator()
        // What a failed run leaves open goes with its folder.
        try? store?.close()
        store = nil
        app = nil
    }
}

extension HeldItem {
    /// Whether a store that another took the place of had published it in a file that was spoilt, before anyone had it.
    func isGoneForGood(_ scenario: Scenario, _ peers: [FolderPeer]) throws -> Bool {
        guard scenario.hasFaults, scenario.hasRestores, !peers.contains(where: { $0.id == peer.id }) else {
            return false
        }
        return try peers.allSatisfy { try $0.openStore().vector()[peer.id] < sequence }
    }
}

extension Scenario {
    /// What `init` is told of the content.
    fileprivate var options: InitializeOptions {
        let plan = plan(InitializePlan(content: "", container: "", peerName: ""))
        var options = InitializeOptions()
        options.identities = plan.identities.mapValues { identity in
            switch identity {
            case .natural: .natural
            case .surrogate: .surrogate
            case .columns(let columns): .columns(columns)
            }
        }
        options.references = plan.references.map {
            InitializeOptions.Reference(table: $0.table, column: $0.column, parent: $0.parent)
        }
        options.policies = plan.policies
        options.local = plan.local
        return options
    }
}
