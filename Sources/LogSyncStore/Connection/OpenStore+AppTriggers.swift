import LogSyncModel
import LogSyncSQLite

/// The copies of the app's triggers (``AppTriggers``) that the connection has.
struct AppTriggerCopies {
    /// The schema version for which they were made; nil where they have to be made anew.
    private var version: Int64?
    /// The app's triggers that could not be copied.
    private(set) var unmade: [UnmadeObject] = []
    /// The tables that have copies, by folded name, once it was asked for.
    private var tables: Set<String>?

    var areMade: Bool { version != nil }

    /// Makes them where they are not those of the schema as it is.
    mutating func make(_ catalog: Catalog, extensions: [LoadableExtension], on connection: Connection) throws {
        let current = try connection.integer("PRAGMA main.schema_version") ?? 0
        guard current != version else { return }
        unmade = try AppTriggers.install(catalog, extensions: extensions, on: connection)
        (version, tables) = (current, nil)
    }

    mutating func remove(on connection: Connection) throws {
        (version, tables) = (nil, nil)
        try AppTriggers.remove(on: connection)
    }

    /// Whether a table of that folded name has copies.
    mutating func fire(on table: String, _ connection: Connection) throws -> Bool {
        if let tables { return tables.contains(table) }
        let names = try connection.rows("SELECT tbl_name FROM temp.sqlite_master WHERE type = 'trigger'")
        let tables = Set(names.map { String(text: $0[0]).folded })
        self.tables = tables
        return tables.contains(table)
    }
}

extension OpenStore {
    /// Sees to it that the app's triggers on untracked tables fire when logsync writes the app's rows: an import, a
    /// parked row that can be shown again, a conflict that is settled, another policy. Every write transaction of that
    /// kind begins with it, most by ``RecordStep``. A database that no program uses has nobody who asks for what they keep.
    func copyAppTriggers() throws {
        guard configuration.firesTriggers else { return }
        try triggerCopies.make(catalog, extensions: configuration.extensions, on: connection)
    }

    /// The app's triggers that do not fire though they should.
    func unmadeTriggersNow() throws -> [UnmadeObject] {
        try copyAppTriggers()
        return triggerCopies.unmade
    }

    /// Whether the app's triggers fire when logsync writes the table.
    func hasCopiedTriggers(on table: TrackedTable) throws -> Bool {
        try triggerCopies.fire(on: table.schema.name.folded, connection)
    }

    /// Drops those copies, for writes of which the triggers themselves are to hear; an import makes them again.
    func dropAppTriggerCopies() throws {
        try triggerCopies.remove(on: connection)
    }
}
