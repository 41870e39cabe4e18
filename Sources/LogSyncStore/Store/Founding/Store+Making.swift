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
        struct Undo: Error {}
        var draft: StoreDraft?
        var collisions: FoundingReport?
        do {
            // The work is done and undone: what is said is what would happen.
            try database.writeRaw { connection in
                collisions = try isWhole(connection) ? nil : OwnObjects(connection: connection).collisions()
                if collisions != nil { throw Undo() }
                try TableRegistration(connection: connection, plan: plan).checkSpellings()
                draft = try found(connection, plan: plan, configuration: configuration)
                throw Undo()
            }
        } catch is Undo {
            // What reads every row keeps no program from writing meanwhile.
        }
        if let collisions { return collisions }
        return try database.withConnection { _ in try draft?.report(withReferences: true) } ?? FoundingReport()
    }

    /// Makes an existing database a store: schema, triggers, settings, and its rows recorded as the first transaction.
    ///
    /// With a write-ahead log programs go on writing meanwhile. The first transaction holds the rows as they were when the
    /// triggers were made; what is written from then on is captured. Until all rows are recorded the database is no store
    /// yet (``StoreSchema/unfinishedFormat``).
    package static func initialize(
        _ path: String, plan: InitializePlan, configuration: StoreConfiguration
    ) throws -> (store: Store, tables: [TableReport]) {
        // What is refused is refused before the journal changes: the file is to stay as it was.
        if let obstacle = try examine(path, plan: plan, configuration: configuration).refusal { throw obstacle }
        let database = try StoreConnection(path, configuration: configuration)
        do {
            let journal = try prepareJournal(database, keepJournal: plan.keepJournal)
            let draft = try make(database, plan: plan, configuration: configuration, journal: journal)
            let report = try database.withConnection { _ in try draft.report(withReferences: false) }
            return (Store(database), report.tables)
        } catch {
            // Where the disk is full, say, what is left is removed by the next that is asked to.
            try? removeUnfinished(database)
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
            try make(
                database, plan: plan, configuration: configuration, journal: journal,
                unmade: unmade.map { ($0, schema.statement(making: $0.object)) })
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
        try database.writeInPortions { connection, portions in
            try StoreFacts(connection).set("format", .integer(StoreSchema.unfinishedFormat))
            try OwnObjects(connection: connection).drop(portions)
        }
        try Self.finishLeaving(database)
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
        if !left.isEmpty, !dryRun { try dropLeftovers(database) }
        return left
    }

    /// Whether making the database a store, or a plain database again, was begun and has not ended: by a process that is
    /// still at it, or was killed.
    package static func isUnfinished(_ path: String, configuration: StoreConfiguration) throws -> Bool {
        let database = try StoreConnection(path, configuration: configuration)
        defer { closeQuietly(database) }
        return try database.withConnection(isUnfinished)
    }

    private static func removeUnfinished(_ database: StoreConnection) throws {
        if try database.withConnection(isUnfinished) { try dropLeftovers(database) }
    }

    private static func dropLeftovers(_ database: StoreConnection) throws {
        try database.writeInPortions { try OwnObjects(connection: $0).dropLeftovers($1) }
        try finishLeaving(database)
    }

    /// Puts the journal mode back, and then removes the facts, which say what it was: a process that goes on after this one
    /// died has to know it.
    private static func finishLeaving(_ database: StoreConnection) throws {
        // It cannot be changed while others have the database open; then it stays WAL, which any SQLite reads.
        try? database.withConnection { connection in
            guard let journal = try OwnObjects(connection: connection).noted() else { return }
            connection.finalizeStatements()
            _ = try connection.scalar("PRAGMA journal_mode = \(SQL.name(journal))")
        }
        try database.writeRaw { try OwnObjects(connection: $0).dropFacts() }
    }

    static func closeQuietly(_ database: StoreConnection) {
        // The error that brought us here says more than one about closing; the process's end closes the rest.
        try? database.close()
    }

    /// Turns the journal to WAL.
    ///
    /// - Returns: what it was before the database was made a store, or an `init` that was interrupted began to.
    private static func prepareJournal(_ database: StoreConnection, keepJournal: Bool) throws -> String {
        let (now, noted) = try database.withConnection { connection in
            (
                String(text: try connection.scalar("PRAGMA journal_mode") ?? .null),
                try OwnObjects(connection: connection).noted()
            )
        }
        guard !keepJournal && now != "wal" else { return noted ?? now }
        // An `init` that begins anew after this one was killed would take WAL for the database's own.
        if noted == nil { try database.writeRaw { try OwnObjects(connection: $0).note(journal: now) } }
        try database.withConnection { connection in
            connection.finalizeStatements()
            let changed = String(text: try connection.scalar("PRAGMA journal_mode = WAL") ?? .null)
            guard changed == "wal" || changed == "memory" else {
                throw LogSyncError(
                    .locked,
                    "the journal of \(database.path) cannot be turned to WAL while others have it open; nothing was changed",
                    help: "Close the programs that use it for a moment, or pass --keep-journal.")
            }
        }
        return noted ?? now
    }

    /// Lets a clone, which no program has seen yet, give rows any integer that is free, also where AUTOINCREMENT gives none
    /// twice: none has been given. ``continueSequences()`` ends it.
    package func beginFilling() throws {
        try database.write { store in
            try store.facts.set(StoreFacts.isBeingFilled, .integer(1))
            store.isBeingFilled = true
        }
    }

    /// Lets a clone's AUTOINCREMENT go on where the founder's was, so that no number comes twice.
    /// Called when everything has been imported.
    package func continueSequences() throws {
        try database.write { store in
            try store.facts.remove(under: StoreFacts.isBeingFilled)
            store.isBeingFilled = false
            for (name, value) in try Settings(store).values("sequence") {
                guard let number = Int64(value), let table = store.catalog[name], table.schema.isAutoincrement
                else { continue }
                try store.raiseSequence(of: table, to: number)
            }
        }
    }
}
