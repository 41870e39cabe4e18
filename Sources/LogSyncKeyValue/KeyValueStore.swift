import Foundation
public import GRDB
public import LogSync
import LogSyncModel

/// Settings shared between machines: small values by name, without a schema.
///
/// ```swift
/// let settings = try await KeyValueStore.open("settings.db", container: "~/Sync", content: "reader-settings")
/// try await settings.set(12, for: "pageNumber")
/// for await change in settings.changes where change.keys.contains("pageNumber") { reload() }
/// ```
///
/// Each key is a row of the table `entry(key, value)` of an ordinary store, so everything that works on a store works on it:
/// the daemon, `logsync status`, history. Of two values that had not seen each other the last written shows, everywhere the
/// same one.
public final class KeyValueStore: Sendable {
    /// The database's path.
    public let path: String
    public let limits: KeyValueLimits
    /// What keeps it in step; for everything that is not about keys.
    public let replicator: Replicator
    let database: KeyValueDatabase
    /// What was known when it was opened, from which each loop over ``changes`` begins.
    let beginning: KeyValueState

    init(_ database: KeyValueDatabase, _ replicator: Replicator, _ limits: KeyValueLimits, beginning: KeyValueState) {
        path = replicator.path
        self.database = database
        self.replicator = replicator
        self.limits = limits
        self.beginning = beginning
    }

    // MARK: Opening

    /// Opens a key-value store, made where it is not there; the one call for every start.
    ///
    /// - Parameters:
    ///   - path: the database; its folder has to be there.
    ///   - container: the shared folder. Where it is away, the store opens all the same.
    ///   - content: which settings these are, the same at every peer; a content of their own.
    ///   - peer: what this peer is called, where it is made; nil for the machine's name.
    ///   - limits: what ``set(_:for:)`` refuses to exceed.
    ///   - runs: whether it is kept in step from now on; false for tests and scripts, which call ``synchronize()``.
    /// - Throws: `LogSyncError`: `invalidStore` where the database is something else; what ``Replicator/open`` throws.
    public static func open(
        _ path: String, container: String, content: String, peer: String? = nil, limits: KeyValueLimits = .default,
        runs: Bool = true, configuration: SyncConfiguration = SyncConfiguration()
    ) async throws -> KeyValueStore {
        try await checkEmpty(path, configuration)
        let isThere = FileManager.default.fileExists(atPath: path)
        let database = try await made(path, configuration)
        do {
            return try await open(
                database, container, content, peer, limits, runs: runs, configuration: configuration)
        } catch {
            // What another process has open meanwhile refuses it, and stays.
            if !isThere { try? database.remove() }
            throw error
        }
    }

    private static func made(_ path: String, _ configuration: SyncConfiguration) async throws -> KeyValueDatabase {
        while true {
            let database = try KeyValueDatabase(path, configuration)
            try await database.makeTables()
            if FileManager.default.fileExists(atPath: path) { return database }
            // Another process had made the file for nothing, and removed it.
            try database.close()
        }
    }

    private static func open(
        _ database: KeyValueDatabase, _ container: String, _ content: String, _ peer: String?,
        _ limits: KeyValueLimits, runs: Bool, configuration: SyncConfiguration
    ) async throws -> KeyValueStore {
        let isNew = try database.read { try !$0.tableExists("logsync_store") }
        try check(database)
        let replicator = try await Replicator.open(
            database.writer, container: container, content: content, peer: peer, runs: false,
            configuration: configuration
        ) { $0.keepLocal("local_account") }
        return try await begin(database, replicator, limits, isNew: isNew, runs: runs)
    }

    /// Opens a key-value store that has been made.
    ///
    /// - Throws: `LogSyncError`: `noStore`, `notReplicated`, `invalidStore` where the database is something else.
    public static func open(
        _ path: String, limits: KeyValueLimits = .default, runs: Bool = false,
        configuration: SyncConfiguration = SyncConfiguration()
    ) async throws -> KeyValueStore {
        let replicator = try await Replicator.open(store: path, configuration: configuration)
        let database = try KeyValueDatabase(path, configuration)
        try check(database)
        return try await begin(database, replicator, limits, isNew: false, runs: runs)
    }

    private static func begin(
        _ database: KeyValueDatabase, _ replicator: Replicator, _ limits: KeyValueLimits, isNew: Bool, runs: Bool
    ) async throws -> KeyValueStore {
        // What came when it was made is told, too; a database that waits for its folder has no history yet.
        let token = isNew ? .zero : (try? await replicator.historyToken()) ?? .zero
        let beginning = try await KeyValueState(token, database, replicator)
        let store = KeyValueStore(database, replicator, limits, beginning: beginning)
        if runs { await replicator.start() }
        return store
    }

    /// A database of another program gets no table of ours.
    private static func checkEmpty(_ path: String, _ configuration: SyncConfiguration) async throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        var reading = Configuration()
        reading.readonly = true
        reading.busyMode = .timeout(configuration.wait / .seconds(1))
        guard let database = try? DatabaseQueue(path: path, configuration: reading) else { return }
        let tables = try await database.read { db in
            try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        }
        try database.close()
        if !tables.isEmpty, !tables.contains("entry") { throw otherDatabase(path) }
    }

    private static func otherDatabase(_ path: String) -> LogSyncError {
        LogSyncError(
            .invalidStore, "\(path) is a database, but no key-value store; nothing was changed",
            help: "logsync kv init makes one of its own")
    }

    private static func check(_ database: KeyValueDatabase) throws {
        let columns = try database.read { db in
            try db.tableExists("entry") ? try db.columns(in: "entry").map(\.name) : []
        }
        guard columns == ["key", "value"] else {
            throw otherDatabase(database.path)
        }
    }

    /// Ends what keeps it in step. What was set and not published yet waits in the store. What is asked of it afterwards throws
    /// `LogSyncError`, `usage`.
    public func close() async {
        await replicator.stop()
        await replicator.close()
        // Only a connection that is in use refuses this, and it closes when it is let go of.
        try? database.close()
    }

    // MARK: Reading

    /// The value of a key; nil where there is none, or it is of another type.
    public func value<T: DatabaseValueConvertible>(_ type: T.Type = T.self, for key: String) throws -> T? {
        try databaseValue(for: key).flatMap(T.fromDatabaseValue)
    }

    /// The value of a key as SQLite has it; nil where there is none.
    public func databaseValue(for key: String) throws -> DatabaseValue? {
        try database.read { db in
            try Row.fetchOne(
                db, sql: "SELECT \(WholeText.columns("value")) FROM entry WHERE key = \(WholeText.parameter)",
                arguments: [WholeText.argument(key)]
            ).map { WholeText.value($0, at: 0) }
        }
    }

    /// A value that ``encode(_:for:)`` has set; nil where there is none.
    ///
    /// - Throws: `DecodingError` where it is something else.
    public func decode<T: Decodable>(_ type: T.Type = T.self, for key: String) throws -> T? {
        guard let value = try databaseValue(for: key) else { return nil }
        guard case .string(let text) = value.storage else {
            throw DecodingError.typeMismatch(
                T.self, DecodingError.Context(codingPath: [], debugDescription: "\(key.debugDescription) holds no text")
            )
        }
        return try JSONDecoder().decode(T.self, from: Data(text.utf8))
    }

    /// Other programs, and other peers, may write what is no text, which nobody asks for by a key.
    static let isKey = "typeof(key) = 'text'"

    /// Every key with its value. To Swift, keys of the same letters in other bytes are one, and one of them is here.
    public var dictionaryRepresentation: [String: DatabaseValue] {
        get throws { Dictionary(try entries.map { ($0.key, $0.value) }) { first, _ in first } }
    }

    /// Every key with its value, by the keys' bytes.
    package var entries: [(key: String, value: DatabaseValue)] {
        get throws {
            try database.read { db in
                try Row.fetchAll(
                    db,
                    sql: """
                        SELECT CAST(key AS BLOB), \(WholeText.columns("value")) FROM entry WHERE \(Self.isKey) ORDER BY key
                        """
                ).map { (WholeText.text($0[0]), WholeText.value($0, at: 1)) }
            }
        }
    }

    /// What it holds, compared with the limits.
    public var usage: KeyValueUsage {
        get throws {
            let limits = limits
            return try database.read { try KeyValueUsage($0, limits) }
        }
    }

    // MARK: Writing

    /// Sets a value; nil removes the key.
    ///
    /// - Throws: `LogSyncError`: `quota` where the limits would be exceeded, `usage` for a number that is none (NaN), which SQLite
    ///   does not keep, `locked` where another program writes for as long as `configuration.wait`, and nothing is written;
    ///   GRDB's `DatabaseError`.
    public func set<T: DatabaseValueConvertible & Sendable>(_ value: T?, for key: String) async throws {
        guard let value = value?.databaseValue, !value.isNull else {
            _ = try await remove(key)
            return
        }
        if case .double(let number) = value.storage, number.isNaN {
            throw LogSyncError(
                .usage, "\(key.debugDescription) was not set: SQLite keeps no NaN", help: "Remove the key in its place")
        }
        let limits = limits
        try await database.write { db in
            let before = try KeyValueUsage(db, limits)
            try db.execute(
                sql: """
                    INSERT INTO entry(key, value) VALUES(\(WholeText.parameter), \(WholeText.parameter(for: value)))
                    ON CONFLICT(key) DO UPDATE SET value = excluded.value WHERE value IS NOT excluded.value
                    """, arguments: [WholeText.argument(key), WholeText.argument(value)])
            try limits.check(key, from: before, to: KeyValueUsage(db, limits))
        }
    }

    /// Sets a value as JSON.
    ///
    /// - Throws: as ``set(_:for:)``; `EncodingError`.
    public func encode<T: Encodable & Sendable>(_ value: T?, for key: String) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try await set(try value.map { String(decoding: try encoder.encode($0), as: UTF8.self) }, for: key)
    }

    /// Removes a key.
    ///
    /// - Returns: whether it was there.
    /// - Throws: `LogSyncError.locked` as ``set(_:for:)``; GRDB's `DatabaseError`.
    @discardableResult
    public func remove(_ key: String) async throws -> Bool {
        try await database.write { db in
            try db.execute(
                sql: "DELETE FROM entry WHERE key = \(WholeText.parameter)", arguments: [WholeText.argument(key)])
            return db.changesCount > 0
        }
    }

    /// Publishes what was set, and imports what has arrived, now. Nothing needs it where the store is kept in step.
    ///
    /// - Returns: false where the shared folder is away; what was set waits.
    /// - Throws: `LogSyncError`, but not `containerUnavailable`.
    @discardableResult
    public func synchronize() async throws -> Bool {
        do {
            _ = try await replicator.sync()
            return true
        } catch let error as LogSyncError where error.code == .containerUnavailable {
            return false
        }
    }
}
