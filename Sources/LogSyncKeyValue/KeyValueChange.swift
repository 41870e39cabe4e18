import GRDB
import LogSync
import LogSyncModel

/// Says which keys changed without this program's doing.
public struct KeyValueChange: Sendable, Hashable {
    /// Why, in NSUbiquitousKeyValueStore's words.
    public enum Reason: String, Sendable, Hashable, Encodable {
        /// Another peer has set or removed them.
        case serverChange
        /// They came with the first import after the store was made, or with a whole state that another peer published.
        case initialSyncChange
        /// Imports have filled the store beyond its limits; the keys are ``KeyValueUsage/excess``. They are kept.
        case quotaViolationChange
        /// The store became another peer, as a copy or an older state of itself does, or its content is elsewhere: all keys.
        case accountChange
    }

    public var reason: Reason
    public var keys: Set<String>

    public init(reason: Reason, keys: Set<String>) {
        self.reason = reason
        self.keys = keys
    }
}

extension KeyValueStore {
    /// What changes without this program's doing, from when the store was opened; each access is a stream of its own.
    /// It tells of imports of any process at the store while this one is kept in step, or calls ``synchronize()``.
    public var changes: AsyncStream<KeyValueChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: KeyValueChange.self)
        let task = Task {
            var known = beginning
            if let change = try? await accountChange(&known) { continuation.yield(change) }
            for await change in await storeChanges() {
                for told in await told(change, &known) { continuation.yield(told) }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    private func storeChanges() async -> AsyncStream<StoreChange> {
        // A database that waits for its folder has no history, and a store whose history was forgotten goes on from now.
        if let changes = try? await replicator.changes(after: beginning.token) { return changes }
        return replicator.changes
    }

    /// A change is told whatever cannot be read or noted beside it: the account is asked for again with the next change, and
    /// what was not noted is told as the first once more.
    private func told(_ change: StoreChange, _ known: inout KeyValueState) async -> [KeyValueChange] {
        var told: [KeyValueChange] = []
        if let account = try? await accountChange(&known) { told.append(account) }
        guard let rows = change.tables["entry"] else { return told }
        var keys = Set((rows.inserted + rows.updated + rows.deleted).compactMap { $0.first?.string })
        if rows.isTruncated, let all = try? dictionaryRepresentation.keys { keys.formUnion(all) }
        guard !keys.isEmpty else { return told }
        let isInitial = !known.hasImported || change.cause == .joinedSnapshot
        if !known.hasImported {
            known.hasImported = true
            try? await KeyValueState.keep("imported", "1", database)
        }
        told.append(KeyValueChange(reason: isInitial ? .initialSyncChange : .serverChange, keys: keys))
        let excess = Set((try? usage.excess) ?? [])
        if !excess.isEmpty { told.append(KeyValueChange(reason: .quotaViolationChange, keys: excess)) }
        return told
    }

    /// All keys, where the store is another peer's, or its content elsewhere, than is known.
    private func accountChange(_ known: inout KeyValueState) async throws -> KeyValueChange? {
        let account = try await replicator.account()
        guard known.account != account else { return nil }
        let isFirst = known.account == nil
        let keys = Set(try dictionaryRepresentation.keys)
        try await KeyValueState.keep("account", account, database)
        known.account = account
        return isFirst ? nil : KeyValueChange(reason: .accountChange, keys: keys)
    }
}

/// What a key-value store has told its program of so far: kept on this machine, in a table of its own, and taken up by each
/// loop over ``KeyValueStore/changes`` as it was when the store was opened.
struct KeyValueState: Sendable {
    /// Up to where the store's history was told.
    var token: HistoryToken
    /// Which peer the store was, and where its content; nil where it was none.
    var account: String?
    /// Whether anything was imported.
    var hasImported: Bool

    init(_ token: HistoryToken, _ database: KeyValueDatabase, _ replicator: Replicator) async throws {
        self.token = token
        let kept = try database.read { db in
            guard try db.tableExists("local_account") else { return [String: String]() }
            let rows = try Row.fetchAll(db, sql: "SELECT name, value FROM local_account WHERE value IS NOT NULL")
            return Dictionary(rows.map { ($0["name"], $0["value"]) }) { first, _ in first }
        }
        account = kept["account"]
        // Nobody may have listened when the first keys came. A history that cannot be read has none.
        let imported = HistoryFilter(tables: ["entry"], isLocal: false, limit: 1)
        let cameBefore = token == .zero ? nil : try? await replicator.history(imported)
        hasImported = kept["imported"] != nil || !(cameBefore ?? []).isEmpty
        // A database that waits for its folder is no peer yet.
        guard account == nil, let account = try? await replicator.account() else { return }
        self.account = account
        try await Self.keep("account", account, database)
    }

    static func keep(_ name: String, _ value: String, _ database: KeyValueDatabase) async throws {
        try await database.write { db in
            guard try db.tableExists("local_account") else { return }
            try db.execute(
                sql: """
                    INSERT INTO local_account(name, value) VALUES(?1, ?2)
                    ON CONFLICT(name) DO UPDATE SET value = excluded.value WHERE value IS NOT excluded.value
                    """, arguments: [name, value])
        }
    }
}
