import LogSyncModel
import LogSyncStore
import SimulationVFS

/// A store and its program, either of which may die while the schema changes.
final class MigrationPeer {
    let name: String
    let id: PeerID
    private(set) var store: Store
    private(set) var app: AppConnection
    private let path: String
    private let clock: SimulatedClock
    private let configuration: StoreConfiguration

    /// - Parameter founder: whom it is like; nil where it founds the content with a database of its own.
    init(
        _ name: String, _ subject: MigrationCase, hasLog: Bool, founder: MigrationPeer?, clock: SimulatedClock,
        directory: String
    ) throws {
        self.name = name
        self.clock = clock
        path = "\(directory)/\(name).db"
        let randomness = SimulatedRandomness(seed: founder == nil ? 1 : 2)
        var configuration = StoreConfiguration()
        configuration.clock = clock
        configuration.random = { randomness.next() }
        self.configuration = configuration
        var plan = InitializePlan(content: "simulation", container: "/nowhere", peerName: name)
        if let founder {
            plan.settings = try founder.app.rows("SELECT kind, target, value FROM logsync_setting").map {
                ($0[0].string, $0[1].string, $0[2].string)
            }
            store = try Store.create(
                path, schema: founder.store.schemaText().text, plan: plan, configuration: configuration)
        } else {
            let database = try AppConnection(path)
            try database.execute("PRAGMA journal_mode = \(hasLog ? "WAL" : "DELETE")")
            for sql in subject.schema + subject.rows { try database.execute(sql) }
            database.close()
            plan.keepJournal = !hasLog
            store = try Store.initialize(path, plan: plan, configuration: configuration).store
        }
        id = try store.registration().peer
        app = try Self.program(path)
    }

    private static func program(_ path: String) throws -> AppConnection {
        let app = try AppConnection(path)
        try app.execute("PRAGMA foreign_keys = ON")
        return app
    }

    /// The program dies, and with it what it had not committed; where the power goes everything of the machine does.
    func buryProgram(cutsPower: Bool) throws {
        simulation_vfs_kill()
        app.close()
        // A dead connection closes with an error, which nobody is there to hear.
        if cutsPower { try? store.close() }
        if cutsPower { simulation_vfs_cut_power() }
        simulation_vfs_revive()
        if cutsPower { store = try Store.open(path, configuration: configuration) }
        app = try Self.program(path)
    }

    /// The process of logsync dies.
    func buryStore(cutsPower: Bool) throws {
        simulation_vfs_kill()
        // As above.
        try? store.close()
        if cutsPower { app.close() }
        if cutsPower { simulation_vfs_cut_power() }
        simulation_vfs_revive()
        store = try Store.open(path, configuration: configuration)
        if cutsPower { app = try Self.program(path) }
    }

    func write(_ statements: [String]) throws {
        try app.execute("BEGIN IMMEDIATE")
        for statement in statements { try app.execute(statement) }
        try app.execute("COMMIT")
    }

    /// Its tables' rows as a program sees them, but for integers that each peer gives.
    func dump() throws -> [String] {
        let tables = try app.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'logsync%' "
                + "AND name NOT LIKE 'sqlite%' ORDER BY name")
        return try tables.flatMap { table in
            let columns = try app.rows("SELECT name FROM pragma_table_info('\(table[0].string)') WHERE name <> 'id'")
            let list = columns.map { $0[0].string }.joined(separator: ", ")
            return try app.rows("SELECT \(list) FROM \(table[0].string)").map { row in
                "\(table[0].string): \(row.map(Spelling.value).joined(separator: ", "))"
            }.sorted()
        }
    }

    func close() {
        // What a failed run leaves open goes with its folder.
        try? store.close()
        app.close()
    }
}
