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
            if let change = try? await accountChange() { continuation.yield(change) }
            for await change in await storeChanges() {
                for told in (try? await told(change)) ?? [] { continuation.yield(told) }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    private func storeChanges() async -> AsyncStream<StoreChange> {
        // A database that waits for its folder has no history, and a store whose history was forgotten goes on from now.
        if let changes = try? await replicator.changes(after: beginning) { return changes }
        return replicator.changes
    }

    private func told(_ change: StoreChange) async throws -> [KeyValueChange] {
        var told: [KeyValueChange] = []
        if let account = try await accountChange() { told.append(account) }
        guard let rows = change.tables["entry"] else { return told }
        var keys = Set((rows.inserted + rows.updated + rows.deleted).compactMap { $0.first?.string })
        if rows.isTruncated { keys.formUnion(try dictionaryRepresentation.keys) }
        guard !keys.isEmpty else { return told }
        let isFirst = try await takeFirstImport()
        let isInitial = isFirst || change.cause == .joinedSnapshot
        told.append(KeyValueChange(reason: isInitial ? .initialSyncChange : .serverChange, keys: keys))
        let excess = Set(try usage.excess)
        if !excess.isEmpty { told.append(KeyValueChange(reason: .quotaViolationChange, keys: excess)) }
        return told
    }

    // MARK: What this machine remembers

    /// Whether nothing was imported before, which is so once.
    private func takeFirstImport() async throws -> Bool {
        try await database.write { db in
            guard try db.tableExists("local_account") else { return false }
            try db.execute(sql: "INSERT OR IGNORE INTO local_account(name, value) VALUES('imported', '1')")
            return db.changesCount > 0
        }
    }

    /// All keys, where the store is another peer's, or its content elsewhere, than when this was last asked.
    private func accountChange() async throws -> KeyValueChange? {
        let status = try await replicator.account()
        let isChanged = try await database.write { db in
            guard try db.tableExists("local_account") else { return false }
            let former = try String.fetchOne(db, sql: "SELECT value FROM local_account WHERE name = 'account'")
            guard former != status else { return false }
            try db.execute(
                sql: "INSERT OR REPLACE INTO local_account(name, value) VALUES('account', ?)", arguments: [status])
            return former != nil
        }
        return isChanged ? KeyValueChange(reason: .accountChange, keys: Set(try dictionaryRepresentation.keys)) : nil
    }
}
