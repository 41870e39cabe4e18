public import GRDB
import LogSyncModel
import LogSyncStore

/// The persistent history: what changed in the store, by whom, and which rows, also while the program was not running.
extension Replicator {
    /// What changed, oldest first.
    ///
    /// ```swift
    /// let others = try await replicator.history(HistoryFilter(after: lastSeen, authors: .except(["todo"])))
    /// for change in others.flatMap(\.changes) { print(change.table, change.kind, change.key.values) }
    /// ```
    ///
    /// - Throws: `historyExpired` where what came after ``HistoryFilter/after`` was forgotten (``deleteHistory(before:)``), or
    ///   that is of another history, as the store was made anew or restored since: read the tables anew, and go on from
    ///   ``historyToken()``. `usage` where this store has never heard of one of ``HistoryFilter/tables``.
    public func history(_ filter: HistoryFilter = HistoryFilter()) throws -> [HistoryTransaction] {
        try inspect { store in
            try store.checkHistory(reaches: filter.after)
            try store.store.checkKnows(tables: filter.tables ?? [])
            return try store.history(filter)
        }
    }

    /// The place of what came last: before a program reads the tables anew, to go on from there.
    public func historyToken() throws -> HistoryToken { try inspect { $0.token(try $0.store.lastToken()) } }

    /// Forgets which rows changed before a place in the history; that and what came after it stays. What peers have to know
    /// of transactions stays, too.
    ///
    /// - Throws: `historyExpired` where that place is of another history; `locked`, `ioError`.
    public func deleteHistory(before token: HistoryToken) async throws {
        try await settledStep { store in
            try store.checkHistory(isOf: token)
            try store.store.forgetHistory(before: token.value)
        }
    }

    /// From now on, what rows held in these columns stays in the history when others delete them
    /// (``HistoryTransaction/Change/tombstone``). What a program at this store deletes it can read before.
    ///
    /// - Parameter columns: none to keep nothing any more.
    /// - Throws: `usage` where the store does not have the table, or the table no such column; `locked`, `ioError`.
    public func keepTombstones(of table: String, columns: [String]) async throws {
        try await settledStep { try $0.store.keepTombstones(of: table, columns: columns) }
    }

    /// A reader of one moment, and the place in the history that it shows: ``history(_:)`` after it says what a newer one
    /// will show.
    ///
    /// - Parameter pool: the program's own connection to the store.
    /// - Throws: what GRDB throws where there is no such file.
    public nonisolated func generation(
        of pool: DatabasePool
    ) throws -> (snapshot: DatabaseSnapshot, token: HistoryToken) {
        let snapshot = try pool.makeSnapshot()
        let token = try snapshot.read { db in
            let last = try Int64.fetchOne(db, sql: "SELECT max(token) FROM logsync_transaction") ?? 0
            return max(last, try Int64.fetchOne(db, sql: "SELECT max(token) FROM logsync_history") ?? 0)
        }
        return (snapshot, HistoryToken(token, of: programRecording.peer))
    }
}

extension ReplicatedStore {
    /// - Throws: `historyExpired` where some of what came after a token was forgotten, or it is of another history.
    func checkHistory(reaches token: HistoryToken) throws {
        // All there is comes after the beginning.
        guard token != .zero else { return }
        try checkHistory(isOf: token)
        // A store that was restored is told from what it was by the number, until it has found out.
        guard token.value <= (try store.lastToken()) else { throw otherHistory(token) }
        let start = try store.historyStart()
        guard token.value + 1 < start else { return }
        throw LogSyncError(
            .historyExpired,
            "what changed in \(place.path) after \(token.value) was forgotten up to \(start - 1); nothing was read",
            help: "Read the tables anew, and go on from the present token")
    }

    /// - Throws: `historyExpired`.
    func checkHistory(isOf token: HistoryToken) throws {
        if let former = token.peer, former != peer { throw otherHistory(token) }
    }

    private func otherHistory(_ token: HistoryToken) -> LogSyncError {
        LogSyncError(
            .historyExpired,
            "\(place.path) has another history than the one in which \(token.value) was: it was made anew, restored or "
                + "copied since; nothing was read or forgotten",
            help: "Read the tables anew, and go on from the present token")
    }

    func history(_ filter: HistoryFilter) throws -> [HistoryTransaction] {
        let (names, tableNames) = (try names(), try store.tableNames())
        let keys = Dictionary(try store.primaryKeyColumns().map { (tableNames[$0.key] ?? $0.key, $0.value) }) { $1 }
        let since = Dictionary(try store.keysSince().map { (tableNames[$0.key] ?? $0.key, $0.value) }) { $1 }
        var found: [HistoryTransaction] = []
        let start = max(filter.after.value, try store.historyStart() - 1)
        guard filter.limit ?? 1 > 0 else { return [] }
        try store.forEachHistoryEntry(after: start) { entry in
            let transaction = HistoryTransaction(
                token: token(entry.token), cause: cause(of: entry), dot: entry.dot, peer: names[entry.dot.peer],
                author: entry.author, context: entry.context, time: Timestamp(milliseconds: entry.time.milliseconds),
                tables: (entry.rows ?? entry.counts.mapValues(TableChanges.init(unlisted:))).named(tableNames),
                keys: since.isEmpty ? keys : keys.filter { since[$0.key, default: -1] < entry.token })
            if filter.contains(transaction) { found.append(transaction) }
            return found.count < filter.limit ?? .max
        }
        return found
    }

    private func cause(of entry: HistoryEntry) -> StoreChange.Cause {
        switch entry.cause {
        case .transaction: entry.dot.peer == peer ? .recorded : .imported
        case .snapshot: .joinedSnapshot
        case .settled: .settled
        case .moved: .recorded
        }
    }
}
