import Foundation
package import LogSyncModel
import LogSyncSQLite

/// Making stores, and making them plain databases again.
extension Store {
    /// The kind of the setting that names the recipe of the content's application.
    package static let recipeSetting = "recipe"

    /// What tables a database has; it is only read.
    package static func outline(_ path: String, configuration: StoreConfiguration) throws -> DatabaseOutline {
        let database = try StoreConnection(path, configuration: configuration)
        defer { closeQuietly(database) }
        return try database.withConnection { try DatabaseOutline($0) }
    }

    /// What `init` would do, without doing it, and all that keeps it from doing so.
    package static func examine(
        _ path: String, plan: InitializePlan, configuration: StoreConfiguration
    ) throws -> FoundingReport {
        let database = try StoreConnection(path, configuration: configuration)
        defer { closeQuietly(database) }
        struct Undo: Error { var report: FoundingReport }
        do {
            // The work is done and undone: what is said is what would happen.
            return try database.writeRaw { connection in
                throw Undo(report: try found(connection, plan: plan, configuration: configuration, records: false))
            }
        } catch let undo as Undo {
            return undo.report
        }
    }

    /// Makes an existing database a store: schema, triggers, settings, and its rows recorded as the first transaction.
    package static func initialize(
        _ path: String, plan: InitializePlan, configuration: StoreConfiguration
    ) throws -> (store: Store, tables: [TableReport]) {
        // What is refused is refused before the journal changes: the file is to stay as it was.
        if let obstacle = try examine(path, plan: plan, configuration: configuration).refusal { throw obstacle }
        let database = try StoreConnection(path, configuration: configuration)
        do {
            let journal = try prepareJournal(database, keepJournal: plan.keepJournal)
            do {
                let reports = try database.writeRaw { connection in
                    let report = try found(connection, plan: plan, configuration: configuration, records: true)
                    try StoreFacts(connection).set("journal", .text(journal))
                    return report.tables
                }
                return (Store(database), reports)
            } catch {
                restoreJournal(database, journal)
                throw error
            }
        } catch {
            closeQuietly(database)
            throw error
        }
    }

    /// Makes a new file from a schema (``schemaText()`` of another peer), ready to merge everything. Never overwrites.
    ///
    /// What is not made of the schema is what ``Store/unmadeObjects()`` says.
    ///
    /// - Parameter functions: what of this user's own programs triggers and views may call.
    /// - Throws: `invalidStore` where the schema tries what none needs; `cannotCreate` where the file exists.
    package static func create(
        _ path: String, schema: String, plan: InitializePlan, functions: Set<String> = [],
        configuration: StoreConfiguration
    ) throws -> Store {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw LogSyncError(
                .cannotCreate, "\(path) is there already; it was left as it is",
                help: "Choose another path, or `logsync init` it to merge what it holds.")
        }
        let schema = try ForeignSchema(schema)
        try reserve(path)
        let database = try StoreConnection(path, configuration: configuration, mayCreate: true)
        do {
            let unmade = try database.withConnection { try schema.make(on: $0, functions: functions) }
            let journal = try prepareJournal(database, keepJournal: plan.keepJournal)
            try database.writeRaw { connection in
                _ = try found(connection, plan: plan, configuration: configuration, records: true)
                try StoreFacts(connection).set("journal", .text(journal))
                try UnmadeObjects(connection).add(unmade)
            }
            return Store(database)
        } catch {
            closeQuietly(database)
            throw error
        }
    }

    /// Makes the file, for nobody but its owner to read, and through no symbolic link.
    private static func reserve(_ path: String) throws {
        let file = Foundation.open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw OpenFailure.error(path, message: String(cString: strerror(errno))) }
        Foundation.close(file)
    }

    /// Removes every trace of replication and no row or object of the program's; puts the journal mode back.
    package func leave() throws {
        let journal = try registration().originalJournalMode
        try database.writeRaw { try OwnObjects(connection: $0).drop() }
        Self.restoreJournal(database, journal)
        try database.close()
    }

    /// Removes what is left of a store whose tables another program dropped, so that the database can be written again.
    ///
    /// - Parameter dryRun: whether only to say what that is.
    /// - Returns: the names; empty where nothing is left, or it is a store.
    package static func removeLeftovers(
        _ path: String, dryRun: Bool = false, configuration: StoreConfiguration
    ) throws -> [String] {
        let database = try StoreConnection(path, configuration: configuration)
        defer { closeQuietly(database) }
        let left = try database.withConnection { try OwnObjects(connection: $0).leftovers() }
        if !left.isEmpty, !dryRun { try database.writeRaw { try OwnObjects(connection: $0).dropLeftovers() } }
        return left
    }

    private static func restoreJournal(_ database: StoreConnection, _ journal: String) {
        // It cannot be changed while others have the database open; then it stays WAL, which any SQLite reads.
        try? database.withConnection { connection in
            connection.finalizeStatements()
            _ = try connection.scalar("PRAGMA journal_mode = \(journal)")
        }
    }

    private static func closeQuietly(_ database: StoreConnection) {
        // The error that brought us here says more than one about closing; the process's end closes the rest.
        try? database.close()
    }

    private static func prepareJournal(_ database: StoreConnection, keepJournal: Bool) throws -> String {
        try database.withConnection { connection in
            let before = String(text: try connection.scalar("PRAGMA journal_mode") ?? .null)
            if !keepJournal && before != "wal" {
                let now = String(text: try connection.scalar("PRAGMA journal_mode = WAL") ?? .null)
                guard now == "wal" || now == "memory" else {
                    throw LogSyncError(
                        .locked,
                        "the journal of \(database.path) cannot be turned to WAL while others have it open; nothing was changed",
                        help: "Close the programs that use it for a moment, or pass --keep-journal.")
                }
            }
            return before
        }
    }

    /// Lets a clone's AUTOINCREMENT go on where the founder's was, so that no number comes twice.
    /// Called when everything has been imported.
    package func continueSequences() throws {
        try database.write { store in
            let connection = store.connection
            for (name, value) in try Settings(store).values("sequence") {
                guard let number = Int64(value), let table = store.catalog[name], table.schema.isAutoincrement
                else { continue }
                try connection.run(
                    "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1 AND seq < ?2", .text(table.schema.name),
                    .integer(number))
                try connection.run(
                    """
                    INSERT INTO sqlite_sequence(name, seq) SELECT ?1, ?2
                    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)
                    """, .text(table.schema.name), .integer(number))
            }
        }
    }

    // MARK: Founding

    /// Founds replication in an open write transaction.
    static func found(
        _ connection: Connection, plan: InitializePlan, configuration: StoreConfiguration, records: Bool
    ) throws -> FoundingReport {
        guard try !isReplicated(connection) else {
            throw LogSyncError(
                .configuration, "the database is a store already; it was left as it is",
                help: "`logsync status` says of what; `logsync leave` ends it.")
        }
        var report = FoundingReport()
        report.leftovers = try OwnObjects(connection: connection).leftovers()
        try OwnObjects(connection: connection).checkNoneIsThere()
        try connection.execute(StoreSchema.sql)
        let peer = try writeFacts(connection, plan: plan, configuration: configuration)
        try checkPolicies(plan.policies, on: connection, configuration: configuration)
        try TableRegistration(connection: connection, plan: plan).checkNames()
        let plan = plan.withContentSettings()
        let registering = TableRegistration(connection: connection, plan: plan)
        let choices = try registering.choices()
        let (tracked, left) = (choices.tracked, choices.left)
        report.refusals = choices.refused
        if records, let refusal = report.refusal { throw refusal }
        try UnmadeObjects(connection).add(choices.unfit)
        for setting in plan.settings where setting.kind == "rename" {
            try connection.run(
                "INSERT INTO logsync_setting(kind, target, value) VALUES(?, ?, ?)", .text(setting.kind),
                .text(setting.target), .text(setting.value))
        }
        if let settings = try TableSchema.read("logsync_setting", on: connection) {
            try registering.register(
                TableRegistration.Choice(schema: settings, kind: .natural, key: settings.keyColumns.map(\.name)))
        }
        for choice in tracked { try registering.register(choice) }
        try writeSettings(connection, plan: plan, peer: peer, tracked: tracked, left: left)

        var catalog = try Catalog.load(on: connection)
        for table in catalog.tables where table.epoch != nil {
            try KeyHistory.keepIdentities(of: table.id, on: connection)
        }
        catalog = try Catalog.load(on: connection)
        try Capture.equip(catalog.tables, on: connection)
        let store = try OpenStore(connection, configuration: configuration)
        try checkKeys(store.catalog)
        report.tables =
            try store.catalog.tables.filter { $0.name != "logsync_setting" }.map(registering.report)
            + leftReports(left)
        if records {
            try recordFound(store)
        } else {
            report.references = try registering.references(store.catalog)
            report.undecided = registering.undecided(report.references)
        }
        try store.acceptSchemaVersion()
        try store.saveDigest()
        return report
    }

    private static func recordFound(_ store: OpenStore) throws {
        for rule in try BrokenReferences(store: store).all() {
            try store.connection.run(
                "INSERT OR IGNORE INTO logsync_setting(kind, target, value) VALUES(?, ?, ?)",
                .text(ReferenceRule.setting), .text(rule.target), .text(ReferenceRule.unenforced))
        }
        _ = try store.reloadPolicies()
        let recorder = Recorder(store)
        try InitialRows(store: store, recorder: recorder).record(store.catalog.tables)
        _ = try recorder.transaction().finish()
    }

    private static func writeFacts(
        _ connection: Connection, plan: InitializePlan, configuration: StoreConfiguration
    ) throws -> PeerID {
        let facts = StoreFacts(connection)
        let peer = PeerID(high: configuration.random(), low: configuration.random())
        let salt = (0..<2).flatMap { _ in withUnsafeBytes(of: configuration.random(), Array.init) }
        try facts.set("format", .integer(StoreSchema.formatVersion))
        try facts.set("peer", .blob(peer.bytes[...]))
        try facts.set("salt", .blob(salt[...]))
        try facts.set("name", .text(plan.peerName))
        try facts.set("content", .text(plan.content))
        try facts.set("container", .text(plan.container))
        try facts.set("created", .integer(configuration.clock.now()))
        try facts.set("machine", plan.machineID.map { .text($0) } ?? .null)
        try facts.set("generation", .integer(1))
        try ForgottenColumns.begin(facts)
        return peer
    }

    private static func writeSettings(
        _ connection: Connection, plan: InitializePlan, peer: PeerID, tracked: [TableRegistration.Choice],
        left: [(table: String, why: String)]
    ) throws {
        func set(_ kind: String, _ target: String, _ value: String) throws {
            try connection.run(
                "INSERT OR REPLACE INTO logsync_setting(kind, target, value) VALUES(?, ?, ?)", .text(kind),
                .text(target), .text(value))
        }
        for setting in plan.settings { try set(setting.kind, setting.target, setting.value) }
        try set("peer", peer.description, plan.peerName)
        for choice in tracked {
            let names = Renames(connection)
            let table = try names.currentLogName(choice.schema.name)
            let key = try choice.key.map { try names.logName(ofColumn: $0, in: table) }
            let columns = choice.kind == .natural ? "" : "=" + (try KeyList.encode(key))
            try set("identity", table, choice.kind.rawValue + (choice.kind == .columns ? columns : ""))
        }
        for choice in tracked where choice.schema.isAutoincrement {
            let number = try connection.integer(
                "SELECT seq FROM sqlite_sequence WHERE name = ?", .text(choice.schema.name))
            if let number { try set("sequence", choice.schema.name, String(number)) }
        }
        for (table, column, parent) in plan.references { try set("reference", "\(table).\(column)", parent) }
        for (target, parent) in plan.referencePatterns { try set("reference", target, parent) }
        for (target, policy) in plan.policies { try set(Policies.kind(of: policy), target, policy) }
        for allocator in plan.allocators { try set(ProgramAllocator.setting, allocator.target, allocator.text()) }
        if let recipe = plan.recipe { try set(Self.recipeSetting, "content", recipe) }
        // Tables that note migrations, too: other versions know others.
        for (table, why) in left {
            let choice: AppSchema.Left = why == "local" ? .local : .skip
            try set(choice.rawValue, table, "1")
            try StoreFacts(connection).set(choice.key(table), .integer(1))
        }
    }

    static func checkPolicies(
        _ policies: [(target: String, policy: String)], on connection: Connection, configuration: StoreConfiguration
    ) throws {
        for (target, policy) in policies {
            let isKnown =
                MergePolicy(named: policy) != nil || configuration.policies[policy] != nil
                || Policies.tablePolicies.contains(policy)
            guard isKnown else {
                throw LogSyncError(
                    .usage, "the policy \(policy) is not one that this version knows; nothing was changed",
                    help:
                        "It knows last-writer, first-writer, last-writer-row, prefer NAME,…, max, min, sum, union, manual, "
                        + "delete-wins, delete-loses, unique-park and unique-merge.")
            }
            let parts = target.split(separator: ".", maxSplits: 1).map(String.init)
            let schema = try TableSchema.read(target, on: connection) ?? TableSchema.read(parts[0], on: connection)
            guard let schema, schema.name.folded == target.folded || parts.count == 2 else {
                throw LogSyncError(
                    .usage, "there is no table \(parts[0]) to set a policy for; nothing was changed",
                    help: "Write TABLE=POLICY or TABLE.COLUMN=POLICY, with names as in the database")
            }
            if schema.name.folded != target.folded, schema.column(parts[1]) == nil {
                throw LogSyncError(
                    .usage, "\(schema.name) has no column \(parts[1]); nothing was changed",
                    help: "Its columns are: \(schema.columns.map(\.name).joined(separator: ", ")).")
            }
            if schema.name.folded != target.folded, Policies.isOfTables(policy) {
                throw LogSyncError(
                    .usage, "\(policy) is a policy of whole tables, not of the column \(target); nothing was changed",
                    help: "Set it for \(schema.name).")
            }
        }
    }

    /// An identity made of a reference to its own table's integer would have no end.
    private static func checkKeys(_ catalog: Catalog) throws {
        for table in catalog.tables where table.kind == .columns {
            for key in table.key where table.columns[key.index].reference == table.name {
                throw LogSyncError(
                    .usage, "the identity of \(table.name) refers to \(table.name) itself; nothing was changed",
                    help: "Choose columns that do not refer to the same table.")
            }
        }
    }

    private static func leftReports(_ left: [(table: String, why: String)]) -> [TableReport] {
        left.map {
            TableReport(table: $0.table, identity: $0.why, columns: [], references: [:], suggestions: [], rows: 0)
        }
    }
}
