import Foundation
import GRDB
import LogSyncModel
import LogSyncStore
import SimulationVFS

/// One store, a program's connection to it, and what the oracle says of it.
final class StorePeer {
    /// How far ahead a transaction's time may lie, in milliseconds.
    static let drift: Int64 = 24 * 3600 * 1000

    let model: PeerModel
    private(set) var store: Store
    private(set) var app: AppProgram
    /// Of its program that embeds logsync: what it keeps in memory outlives the connections.
    private let recording: EmbeddedRecording
    let clock = SimulatedClock()
    let id: PeerID
    var skew: Int64
    /// What has come to it, from whom.
    var arrived = VersionVector()
    var oracle: OracleState
    /// Its program's schema as it is by now.
    var schema: SchemaModel
    /// What its program has changed of the schema and its store may not have looked at.
    var unseen: [Migration] = []
    /// The tables that its program has set aside and made anew.
    var renewed: Set<String> = []
    /// The death that its next sync meets.
    var death: Death?
    private let path: String
    private let configuration: StoreConfiguration

    init(
        _ model: PeerModel, index: Int, scenario: Scenario, directory: String, now: Int64, founder: StorePeer?
    ) throws {
        self.model = model
        skew = model.skew
        oracle = OracleState(keys: scenario.keys)
        schema = scenario.schema
        clock.set(now + skew)
        let randomness = SimulatedRandomness(seed: scenario.seed &* 31 &+ UInt64(index))
        var configuration = StoreConfiguration()
        configuration.clock = clock
        configuration.random = { randomness.next() }
        configuration.maximumDrift = Self.drift
        // Every third peer records and merges row by row, and has to come to what the rest come to.
        configuration.batches = !(scenario.seed &+ UInt64(index)).isMultiple(of: 3)
        path = "\(directory)/\(model.name).db"
        self.configuration = configuration
        recording = EmbeddedRecording(configuration)
        var plan = InitializePlan(content: "simulation", container: "/nowhere", peerName: model.name)
        if let founder {
            plan.settings = try founder.app.connection.rows("SELECT kind, target, value FROM logsync_setting").map {
                ($0[0].string, $0[1].string, $0[2].string)
            }
        } else {
            plan = scenario.plan(plan)
        }
        switch model.beginning {
        case .clones:
            guard let founder else { throw Failure(.program, "there is nobody to clone") }
            store = try Store.create(
                path, schema: founder.store.schemaText().text, plan: plan, configuration: configuration)
        case .founds, .joins:
            try AppProgram.makeDatabase(path, scenario.schema, rows: model.rows)
            try plan.answer(Store.examine(path, plan: plan, configuration: configuration))
            store = try Store.initialize(path, plan: plan, configuration: configuration).store
        }
        app = try AppProgram(path, foreignKeysAreOn: model.foreignKeysAreOn)
        id = try store.registration().peer
    }

    /// Makes its clock the one that counts.
    func awake(_ now: Int64) { clock.set(now + skew) }

    /// Picks up after a death.
    func bury(cutsPower: Bool) throws {
        simulation_vfs_kill()
        // A dead connection closes with an error, which nobody is there to hear.
        try? store.close()
        if cutsPower {
            app.close()
            simulation_vfs_cut_power()
        }
        simulation_vfs_revive()
        store = try Store.open(path, configuration: configuration)
        if cutsPower { app = try AppProgram(path, foreignKeysAreOn: model.foreignKeysAreOn) }
    }

    /// Another process of logsync takes over, which has seen nothing of what was.
    func reopen() throws {
        try store.close()
        store = try Store.open(path, configuration: configuration)
    }

    /// Writes as a program does that embeds logsync.
    func embed(_ statements: [String]) throws {
        let queue = try AppProgram.queue(path, foreignKeysAreOn: model.foreignKeysAreOn)
        do {
            let file = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64
            let expected = ExpectedStore(
                peer: try store.registration().peer, path: path, inode: file ?? 0, sequence: 0, chain: nil)
            try queue.inDatabase { database in
                try database.inTransaction(.immediate) {
                    try recording.record(on: database, expected, author: model.name, context: "simulation") {
                        try AppProgram.attempt(statements, database)
                    }
                    return .commit
                }
            }
        } catch let error as DatabaseError where AppProgram.isRefusedCommit(error) {
            // Nothing was written, as its program is told.
        }
        try queue.close()
    }

    func close() {
        // What a failed run leaves open goes with its folder.
        try? store.close()
    }
}

extension Value {
    /// The text of a text; nothing of another value.
    var string: String {
        if case .text(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { "" }
    }
}

extension SchemaModel {
    /// Key columns by table, in key order.
    var keys: [String: [String]] { Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0.key) }) }
}

extension InitializePlan {
    /// Says of columns that seem to hold other rows' integers that they hold none: those that do are told before.
    fileprivate mutating func answer(_ report: FoundingReport) {
        notReferences += report.undecided.map { ($0.table, $0.column) }
    }
}

extension Scenario {
    /// What `init` is told.
    func plan(_ plan: InitializePlan) -> InitializePlan {
        var plan = plan
        for table in schema.tables {
            if table.identity == .columns { plan.identities[table.name] = .columns(table.key) }
            if table.keyIsRowid, table.columns.first?.reference == nil { plan.identities[table.name] = .natural }
            for column in table.columns {
                guard let reference = column.reference, !reference.isDeclared else { continue }
                plan.references.append((table.name, column.name, reference.parent))
            }
        }
        plan.policies = policies
        if schema.extras.contains(where: { $0.contains("counter") }) { plan.local = ["counter"] }
        return plan
    }
}
