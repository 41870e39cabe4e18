import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The names of key columns of tables that are not here, for the cells that logs of earlier versions leave to identities.
extension Store {
    /// Whether rows are kept whose natural keys nobody here can name the columns of.
    package func lacksKeys() throws -> Bool {
        try database.read { store in
            guard store.hasHidden else { return false }
            let tables = try store.connection.rows(
                "SELECT DISTINCT table_name FROM logsync_kept WHERE state = 'unknown'")
            return try tables.contains { row in
                guard KeyNames(store).names(of: String(text: row[0])) == nil else { return false }
                let sql = "SELECT identity FROM logsync_kept WHERE state = 'unknown' AND table_name = ? LIMIT 1"
                guard case .blob(let bytes)? = try store.connection.scalar(sql, row[0]) else { return false }
                return bytes.first == 1
            }
        }
    }

    /// Learns which columns the keys of tables consist of, from a schema as a peer has it, and completes what is kept.
    ///
    /// - Throws: `invalidStore` where the schema tries what none needs, or makes no table; then nothing is changed.
    package func learnKeys(from schema: String) throws {
        try database.write { store in
            let settings = try SettingTable(store.connection).all()
            for (table, names) in try KeyNames.names(in: schema, settings: settings, store.configuration)
            where store.catalog[table] == nil && KeyNames(store).names(of: table) == nil {
                try KeyNames(store).learn(names, of: table)
            }
        }
    }
}

extension KeyNames {
    /// The key columns of a schema's tables, by their names in logs.
    static func names(
        in schema: String, settings: [(kind: String, target: String, value: String)],
        _ configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> [String: [String]] {
        let schema = try ForeignSchema(schema)
        return try Connection.inMemory(extensions: configuration.extensions) { connection in
            try schema.makeTables(on: connection)
            return Dictionary(
                try catalog(settings: settings, on: connection).tables.filter { !$0.key.isEmpty }.map {
                    ($0.name, $0.orderedKeyNames)
                },
                uniquingKeysWith: { first, _ in first })
        }
    }

    /// The tables of a database that holds nothing else, as a store with these settings would track them.
    static func catalog(
        settings: [(kind: String, target: String, value: String)], on connection: Connection
    ) throws -> Catalog {
        try connection.execute(StoreSchema.sql)
        for setting in settings {
            try SettingTable(connection).write(setting.kind, setting.target, setting.value)
        }
        var plan = InitializePlan(content: "", container: "", peerName: "")
        plan.settings = settings
        let registering = TableRegistration(connection: connection, plan: plan.withContentSettings())
        for table in try TableSchema.all(on: connection) where !AppSchema.notesMigrations(table.name) {
            guard let choice = try? registering.choice(table) else { continue }
            // A table that cannot be replicated has no rows anywhere.
            try registering.register(choice)
        }
        return try Catalog.load(on: connection)
    }
}

extension Store {
    /// Makes a table ready for a row that it was not ready for.
    ///
    /// What was captured is recorded with it, for which another table may have to be made ready, too.
    ///
    /// - Throws: ``RefusedTransaction`` where it cannot be; then nothing is changed, and the row would not be merged however
    ///   often it came.
    package func prepare(_ unready: UnreadyTable) throws {
        var all = [unready]
        while true {
            do {
                return try database.write { try Self.prepare(all, in: $0) }
            } catch let another as UnreadyTable {
                guard !all.contains(another) else { throw RefusedTransaction(another) }
                all.append(another)
            }
        }
    }

    private static func prepare(_ all: [UnreadyTable], in store: OpenStore) throws {
        /// A table that comes with what is captured is not known yet.
        var new: Set<String> = []
        for unready in all {
            let table = store.catalog[unready.table]
            switch unready.need {
            case .withoutTrigger(let name, let reason):
                try AppTriggers.silence(name, reason, on: store.connection)
                try store.dropAppTriggerCopies()
            case .identities:
                if let table { try KeyHistory.keepIdentities(of: table.id, on: store.connection) }
                if table == nil { new.insert(unready.table.folded) }
            case .reference(let column, let parent):
                guard let table else { throw RefusedTransaction(unready) }
                // The setting that says so comes with the transaction that waits.
                try store.facts.set("\(ReferenceHistory.known)\(table.name).\(column)", .text(parent))
            }
        }
        guard all.contains(where: { !$0.table.isEmpty }) else { return }
        try store.reloadCatalog()
        _ = try RecordStep(store, reconciles: true, tablesOfOtherKeys: new).run()
        for unready in all where !unready.isMet(by: store.catalog) { throw RefusedTransaction(unready) }
    }

    /// Runs `body` again each time that a table turns out not to be ready for a row.
    ///
    /// - Throws: `invalidStore` where a table cannot be ready.
    func preparingTables<Result>(_ body: () throws -> Result) throws -> Result {
        while true {
            do {
                return try body()
            } catch let unready as UnreadyTable {
                do { try prepare(unready) } catch let refused as RefusedTransaction {
                    throw LogSyncError(.invalidStore, refused.detail)
                }
            }
        }
    }
}
