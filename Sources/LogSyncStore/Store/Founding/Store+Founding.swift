import Foundation
import LogSyncModel
import LogSyncSQLite

/// A database becomes a store: logsync's tables and triggers, what the content has settled, and a record of every row.
extension Store {
    /// What a database is about to be as a store.
    struct StoreDraft {
        let store: OpenStore
        fileprivate let registering: TableRegistration
        fileprivate let left: [(table: String, why: String)]
        fileprivate var found: FoundingReport

        /// Reads every row, for what they tell.
        ///
        /// - Parameter withReferences: whether columns are searched for references that nobody has declared.
        func report(withReferences: Bool) throws -> FoundingReport {
            var report = found
            let counters = Dictionary(grouping: found.counters) { $0.table.folded }
            report.tables =
                try store.catalog.programTables.map { table in
                    var reported = try registering.report(
                        table, in: store.catalog, counters: counters[table.schema.name.folded] ?? [])
                    reported.suggestions += found.counted.filter { $0.table == table.schema.name }.map(\.suggestion)
                    return reported
                } + Store.leftReports(left)
            for table in report.tables where table.rows > 0 {
                guard let tracked = store.catalog[local: table.table],
                    !store.policies.saysOfUniqueKeys(tracked.name)
                else { continue }
                let keys = try UniqueKey.others(of: tracked, on: store.connection)
                if !keys.isEmpty { report.contestable[table.table] = keys }
            }
            guard withReferences else { return report }
            report.references = try registering.references(store.catalog)
            report.warnings += registering.warnings(report.references)
            report.warnings += try registering.foreignDefaults(store.catalog)
            report.warnings += store.catalog.generatedForeignKeys().map {
                "\($0.child): \($0.complaint), because \($0.consequence): \($0.remedy)"
            }
            report.warnings += try NumberedTrees(catalog: store.catalog, connection: store.connection).warnings()
            report.undecidedKeys = try registering.undecidedKeys(store.catalog, report.references)
            report.undecided = registering.undecided(report.references, keys: report.undecidedKeys)
            return report
        }
    }

    /// Founds replication, and records what the database holds.
    @discardableResult
    static func make(
        _ database: StoreConnection, plan: InitializePlan, configuration: StoreConfiguration, journal: String,
        unmade: [(object: UnmadeObject, sql: String?)] = []
    ) throws -> StoreDraft {
        try database.writeInPortions { connection, portions in
            let draft = try found(connection, plan: plan, configuration: configuration, records: true)
            let facts = StoreFacts(connection)
            try facts.set("journal", .text(journal))
            try UnmadeObjects(connection).add(unmade)
            try facts.set("format", .integer(StoreSchema.unfinishedFormat))
            // A rollback journal lets nobody write while a second connection reads: there it is all one portion.
            if try connection.isLogged {
                let pinned = try PinnedRows(database.path, extensions: configuration.extensions)
                try withExtendedLifetime(pinned) {
                    try recordFound(draft.store, reading: pinned.connection, portions)
                }
            } else {
                try recordFound(draft.store, reading: connection, nil)
            }
            try facts.set("format", .integer(StoreSchema.formatVersion))
            try draft.store.save(generation: Self.firstGeneration)
            return draft
        }
    }

    /// Founds replication in an open write transaction, and records nothing yet.
    ///
    /// - Parameter records: whether everything is to be recorded; what keeps it from being so is thrown then.
    static func found(
        _ connection: Connection, plan: InitializePlan, configuration: StoreConfiguration, records: Bool = false
    ) throws -> StoreDraft {
        guard try !isWhole(connection) else {
            throw LogSyncError(
                .configuration, "the database is a store already; it was left as it is",
                help: "`logsync status` says of what; `logsync leave` ends it.")
        }
        var report = FoundingReport()
        report.leftovers =
            try isUnfinished(connection) ? [] : OwnObjects(connection: connection).leftovers()
        try OwnObjects(connection: connection).checkNoneIsThere()
        try connection.execute(StoreSchema.sql)
        let peer = try writeFacts(connection, plan: plan, configuration: configuration)
        try checkPolicies(plan.policies, on: connection, configuration: configuration)
        try TableRegistration(connection: connection, plan: plan).checkNames()
        let plan = try plan.withContentSettings().withoutMixedReferences(on: connection)
        for setting in plan.settings where ["rename", Renames.list].contains(setting.kind) {
            try SettingTable(connection).write(setting.kind, setting.target, setting.value)
        }
        let registering = TableRegistration(connection: connection, plan: plan)
        let choices = try registering.choices()
        let (tracked, left) = (choices.tracked, choices.left)
        report.refusals = choices.refused
        if records, let refusal = report.refusal { throw refusal }
        try UnmadeObjects(connection).add(choices.unfit.map { ($0, nil) })
        if let settings = try TableSchema.read(SettingTable.name, on: connection) {
            try registering.register(
                TableRegistration.Choice(schema: settings, kind: .natural, key: settings.keyColumns.map(\.name)))
        }
        for choice in tracked { try registering.register(choice) }
        try UnfollowedRename.note(plan.unfollowed, on: connection)
        try writeSettings(connection, plan: plan, peer: peer, tracked: tracked, left: left)

        var catalog = try Catalog.load(on: connection)
        for table in catalog.tables where table.epoch != nil {
            try KeyHistory.keepIdentities(of: table.id, on: connection)
        }
        try HeldReferences(connection).takeUp(in: catalog)
        catalog = try Catalog.load(on: connection)
        if plan.settings.isEmpty {
            let tables = catalog.tables.map(\.schema.name) + left.filter { $0.why == "local" }.map(\.table)
            let known = Set(plan.allocators.map(\.target.folded))
            report.counters = try ProgramCounters(catalog, on: connection).found(in: tables)
                .filter { !known.contains($0.target.folded) }
            try writeAllocators(report.counters, connection)
            let chosen = plan.policies.filter { !Policies.tablePolicies.contains($0.policy) }.map { $0.target.folded }
            report.counted = try CountedColumns(catalog, on: connection).found(except: Set(chosen))
            for column in report.counted {
                try SettingTable(connection).write("policy", column.target, MergePolicy.sum.name)
            }
            if records { try LaterColumns(connection).noteUnanswered(in: catalog, plan) }
        }
        try StoreFacts(connection).addOwn(SettingTable(connection).allocators())
        try Capture.equip(catalog.tables, on: connection)
        let store = try OpenStore(connection, configuration: configuration)
        for (target, policy) in plan.policies {
            report.warnings += try checkAmounts(target, policy, store.catalog).map { [$0] } ?? []
        }
        try checkKeys(store.catalog)
        try ReferenceHistory.note(store.catalog, on: connection)
        try NamingColumns.note(store.catalog, on: connection)
        try store.acceptSchemaVersion()
        try store.save(generation: firstGeneration)
        if !records {
            report.refusals += try UndecidableIndex.all(in: store.catalog, on: connection).map(registering.refusal)
            report.warnings += try [UntendedTables(on: connection).warning].compactMap(\.self)
            report.warnings += try store.unmadeTriggersNow().map { trigger in
                "the trigger \(trigger.object) cannot be done for rows that come (\(trigger.reason)): what it keeps has to be "
                    + "brought up to date by its program"
            }
        }
        return StoreDraft(store: store, registering: registering, left: left, found: report)
    }

    /// - Parameters:
    ///   - source: on which the program's rows are read.
    ///   - portions: nil where all is recorded in one write transaction.
    private static func recordFound(
        _ store: OpenStore, reading source: Connection, _ portions: WritePortions?
    ) throws {
        for rule in try BrokenReferences(store: store).all(reading: source) {
            try store.connection.run(
                "INSERT OR IGNORE INTO logsync_setting(kind, target, value) VALUES(?, ?, ?)",
                .text(ReferenceRule.setting), .text(rule.target), .text(ReferenceRule.unenforced))
        }
        _ = try store.reloadPolicies()
        let recorder = Recorder(store)
        try InitialRows(store: store, recorder: recorder, source: source, portions: portions)
            .record(store.catalog.tables)
        _ = try recorder.transaction().finish()
    }

    private static let firstGeneration: Int64 = 1

    private static func writeFacts(
        _ connection: Connection, plan: InitializePlan, configuration: StoreConfiguration
    ) throws -> PeerID {
        let facts = StoreFacts(connection)
        let peer = PeerID(high: configuration.random(), low: configuration.random())
        let salt = (0..<2).flatMap { _ in withUnsafeBytes(of: configuration.random(), Array.init) }
        try facts.set("format", .integer(StoreSchema.formatVersion))
        try facts.set("peer", .blob(peer.bytes[...]))
        try facts.set("salt", .blob(salt[...]))
        try DigestKey.make(salt: salt[...], on: connection)
        try facts.set("name", .text(plan.peerName))
        try facts.set("content", .text(plan.content))
        try facts.set("container", .text(plan.container))
        try facts.set("created", .integer(configuration.clock.now()))
        try facts.set("machine", plan.machineID.map { .text($0) } ?? .null)
        try ForgottenColumns.begin(facts)
        return peer
    }

    private static func writeSettings(
        _ connection: Connection, plan: InitializePlan, peer: PeerID, tracked: [TableRegistration.Choice],
        left: [(table: String, why: String)]
    ) throws {
        let settings = SettingTable(connection)
        for setting in plan.settings { try settings.write(setting.kind, setting.target, setting.value) }
        try settings.write("peer", peer.description, plan.peerName)
        for choice in tracked {
            let names = Renames(connection)
            let table = try names.currentLogName(choice.schema.name)
            let key = try choice.key.map { try names.logName(ofColumn: $0, in: table) }
            let setting =
                choice.isOfChosenColumns
                ? "columns=" + (try KeyList.encode(key)) : choice.kind.rawValue
            try settings.write("identity", table, setting)
            // Who joins may have a key by then, which is not what rows are named by.
            if plan.settings.isEmpty, choice.kind == .natural, choice.key.isEmpty {
                try settings.write(KeyHistory.setting, table, KeyList.encode([]))
            }
            // Those who join what others have founded without it find rows as these did.
            if plan.settings.isEmpty, choice.kind == .surrogate, choice.schema.onlyInteger != nil {
                try settings.write(LaterRows.setting, table, LaterRows.byKey)
            }
        }
        for choice in tracked where choice.schema.isAutoincrement {
            let number = try connection.integer(
                "SELECT seq FROM sqlite_sequence WHERE name = ?", .text(choice.schema.name))
            if let number { try settings.write("sequence", choice.schema.name, String(number)) }
        }
        for (table, column, parent) in plan.references { try settings.write("reference", "\(table).\(column)", parent) }
        try writeDeclined(plan.notReferences, tracked.map(\.schema), connection)
        for (target, parent) in plan.referencePatterns { try settings.write("reference", target, parent) }
        for (target, policy) in plan.policies { try settings.write(Policies.kind(of: policy), target, policy) }
        try writeAllocators(plan.allocators, connection)
        if let recipe = plan.recipe { try settings.write(recipeSetting, "content", recipe) }
        // Tables that note migrations, too: other versions know others.
        for (table, why) in left {
            let choice: AppSchema.Left = why == "local" ? .local : .skip
            try settings.write(choice.rawValue, table, "1")
            try StoreFacts(connection).set(choice.key(table), .integer(1))
        }
        try writeLater(plan.later, connection)
    }

    /// What is left out of tables that come later is known by a setting, and by a fact of the store's own.
    private static func writeLater(_ later: LaterTables, _ connection: Connection) throws {
        let (settings, facts) = (SettingTable(connection), StoreFacts(connection))
        for (choice, names, beginnings) in [
            (AppSchema.Left.local, later.local, later.allLocal),
            (AppSchema.Left.skip, later.skip, later.allSkip),
        ] {
            for name in names.sorted() {
                try settings.write(choice.rawValue, name, "1")
                try facts.set(choice.key(name), .integer(1))
            }
            for beginning in beginnings.sorted() where !beginning.isEmpty {
                try settings.write(choice.all, beginning, "1")
                try facts.set(choice.key(ofAll: beginning), .integer(1))
            }
        }
        for (target, policy) in later.policies { try settings.write(Policies.kind(of: policy), target, policy) }
    }

    /// A foreign key goes on saying that a column of texts or real numbers refers to rows, where the founder has said that it does
    /// not.
    private static func writeDeclined(
        _ columns: [(table: String, column: String)], _ schemas: [TableSchema], _ connection: Connection
    ) throws {
        for (table, column) in columns {
            guard let schema = schemas.first(where: { $0.name.folded == table.folded }),
                [.text, .real].contains(schema.affinity(of: column)),
                schema.foreignKeys.contains(where: { $0.from.contains { $0.folded == column.folded } })
            else { continue }
            let names = Renames(connection)
            let logTable = try names.currentLogName(schema.name)
            let target = try "\(logTable).\(names.logName(ofColumn: column, in: logTable))"
            try SettingTable(connection).write(LaterColumns.declined, target, "1")
        }
    }

    private static func writeAllocators(_ allocators: [ProgramAllocator], _ connection: Connection) throws {
        for allocator in allocators {
            try SettingTable(connection).write(ProgramAllocator.setting, allocator.target, allocator.text())
        }
    }

    /// Refuses a policy of amounts for a column that names rows, and says which columns of a table it leaves out.
    ///
    /// - Parameter target: as in the database.
    static func checkAmounts(_ target: String, _ policy: String, _ catalog: Catalog) throws -> String? {
        guard Policies.ofAmounts.contains(policy) else { return nil }
        if let table = catalog.tables.first(where: { $0.schema.name.folded == target.folded }) {
            let left = table.columns.filter(\.namesRows).map(\.local)
            guard !left.isEmpty else { return nil }
            return "\(policy) leaves out what says which row is meant, where the last writer's shows: "
                + "\(left.joined(separator: ", ")) of \(table.schema.name)"
        }
        for table in catalog.tables {
            for column in table.columns where column.namesRows {
                guard "\(table.schema.name).\(column.local)".folded == target.folded else { continue }
                throw LogSyncError(
                    .usage,
                    "\(target) says which row is meant, by integers that are others in each store or as a key: that is no "
                        + "amount, and \(policy) cannot be its policy; nothing was changed",
                    help: "first-writer, last-writer, prefer NAME,… and manual pick one peer's row.")
            }
        }
        return nil
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
            guard let (schema, column) = try policyPlace(target, on: connection) else {
                let table = ColumnName.readings(of: target).first?.table ?? target
                throw LogSyncError(
                    .usage, "there is no table \(table) to set a policy for; nothing was changed",
                    help: "Write TABLE=POLICY or TABLE.COLUMN=POLICY, with names as in the database",
                    subject: .table(table))
            }
            guard let column else { continue }
            if schema.column(column) == nil {
                throw LogSyncError(
                    .usage, "\(schema.name) has no column \(column); nothing was changed",
                    help: "Its columns are: \(schema.columns.map(\.name).joined(separator: ", ")).",
                    subject: .column(column, table: schema.name))
            }
            // Other keys may be spelled in several ways, which are versions of a cell.
            if let key = schema.integerKey, key.folded == column.folded {
                throw LogSyncError(
                    .usage,
                    "\(schema.name).\(key) is the key of \(schema.name): it says which row is meant, and two peers' rows of "
                        + "other keys are other rows; nothing was changed",
                    help:
                        "Set a policy for another column. Whether the integers of \(schema.name) are the same everywhere is "
                        + "said at `init`, by --identity \(schema.name.asShellArgument)=natural or =surrogate.")
            }
            if Policies.isOfTables(policy) {
                throw LogSyncError(
                    .usage, "\(policy) is a policy of whole tables, not of the column \(target); nothing was changed",
                    help: "Set it for \(schema.name).")
            }
        }
    }

    /// The table that a policy is for, and the column, where it is for one; nil where there is no such table.
    private static func policyPlace(
        _ target: String, on connection: Connection
    ) throws -> (schema: TableSchema, column: String?)? {
        if let schema = try TableSchema.read(target, on: connection) { return (schema, nil) }
        let places = try ColumnName.readings(of: target).compactMap { split in
            try TableSchema.read(split.table, on: connection).map { (schema: $0, column: Optional(split.column)) }
        }
        return places.first { $0.schema.column($0.column ?? "") != nil } ?? places.first
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
