public import GRDB
import LogSyncModel
import LogSyncStore

/// Telling a program what changed in its store that it did not write itself.
extension Replicator {
    /// Rows that change from now on without the program's doing: by imports, also those of other processes at this store
    /// as far as this replicator is running or syncs, and by what is settled on this machine. Each access is a stream of
    /// its own, which keeps the last 10,000 changes for a loop that has not come to them.
    public nonisolated var changes: AsyncStream<StoreChange> { changeHub.stream() }

    /// What changed since a moment that the program remembers, without its doing, and then as it happens: one loop, and
    /// nothing falls between. A loop that is more than 10,000 changes behind misses the oldest; begun anew it has them.
    ///
    /// ```swift
    /// for await change in try await replicator.changes(after: lastSeen) {
    ///     show(change)
    ///     lastSeen = change.token ?? lastSeen
    /// }
    /// ```
    ///
    /// - Parameter token: of a transaction that the program has seen, as ``HistoryTransaction/token``.
    /// - Throws: `historyExpired` where what came after it was forgotten (``deleteHistory(before:)``), or it is of another
    ///   history: read the tables anew, and begin with ``historyToken()``.
    public func changes(after token: HistoryToken) throws -> AsyncStream<StoreChange> {
        let later = changeHub.stream()
        let (former, last) = try inspect { store in
            try store.checkHistory(reaches: token)
            return (try store.changes(after: token), try store.store.lastToken())
        }
        let (stream, continuation) = AsyncStream.makeStream(of: StoreChange.self)
        for change in former { continuation.yield(change) }
        let task = Task {
            for await change in later {
                // What another process did meanwhile may be told a second time.
                if let token = change.token, token.value <= last { continue }
                continuation.yield(change)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Has the observations of a connection notice what ``changes`` tells of, until the task is cancelled: GRDB sees nothing
    /// of what another connection writes.
    ///
    /// ```swift
    /// let notifying = Task { try await replicator.notifyObservations(of: queue) }
    /// ```
    ///
    /// - Parameter writer: the program's own connection to the store, which its observations are of.
    /// - Throws: what GRDB throws where the connection is closed.
    public nonisolated func notifyObservations(of writer: any DatabaseWriter) async throws {
        try await Self.notifyObservations(of: writer, changes)
    }

    static func notifyObservations(
        of writer: any DatabaseWriter, _ changes: AsyncStream<StoreChange>
    ) async throws {
        // What came before anybody listened.
        try await Self.notify(writer) { try $0.notifyChanges(in: .fullDatabase) }
        for await change in changes {
            try await Self.notify(writer) { db in
                for table in change.tables.keys.sorted() where try db.tableExists(table) {
                    try db.notifyChanges(in: Table(table))
                }
            }
        }
    }

    /// Observers are told at a commit; of a transaction that writes nothing, so that it waits for nobody.
    private static func notify(
        _ writer: any DatabaseWriter, _ body: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        try await writer.writeWithoutTransaction { db in
            try db.inTransaction(.deferred) {
                try body(db)
                return .commit
            }
        }
    }

    // MARK: Finding them

    /// Tells of what other processes have imported since the last step, and of what this one has settled in `body`.
    ///
    /// Within a step: nobody else is at the store.
    func tellingChanges<T>(of store: ReplicatedStore, _ body: () throws -> T) throws -> T {
        try tellOfOthers(store)
        // Also where it throws: what was imported before that has been told, and is not another's.
        defer {
            seenToken = (try? store.store.lastToken()) ?? seenToken
            tellOfSettled(store)
            if (try? store.store.lastFiring()) ?? nil != nil { firingHub.send(()) }
        }
        return try body()
    }

    private func tellOfOthers(_ store: ReplicatedStore) throws {
        let token = try store.store.lastToken()
        defer { seenToken = token }
        guard let seen = seenToken, token > seen else { return }
        for change in try store.changes(after: HistoryToken(seen)) { changeHub.send(change) }
    }

    private func tellOfSettled(_ store: ReplicatedStore) {
        // A store that cannot be asked says so at the next step, and has what it settled until then.
        guard let names = try? store.store.tableNames(), let tables = try? store.store.takeSettled(), !tables.isEmpty
        else { return }
        changeHub.send(
            StoreChange(
                cause: .settled, isElsewhere: false, store: store.place.path, tables: tables.named(names),
                transactions: []))
    }
}

extension ReplicatedStore {
    /// What changed after a token in the store's history without this store's programs having written it: imports that came
    /// one after the other are one change.
    fileprivate func changes(after token: HistoryToken) throws -> [StoreChange] {
        var changes: [StoreChange] = []
        for entry in try history(HistoryFilter(after: token, isLocal: false)) {
            if entry.cause == .imported, changes.last?.cause == .imported {
                changes[changes.count - 1].add(DidImport.Transaction(entry))
            } else {
                var change = StoreChange(
                    cause: entry.cause, isElsewhere: true, store: place.path, tables: entry.tables, transactions: [])
                if entry.cause == .imported { change.transactions = [DidImport.Transaction(entry)] }
                change.settledToken = entry.token
                changes.append(change)
            }
        }
        return changes
    }
}

extension StoreChange {
    fileprivate mutating func add(_ transaction: DidImport.Transaction) {
        transactions.append(transaction)
        tables.merge(transaction.tables) { $0.adding($1) }
    }
}

extension DidImport.Transaction {
    fileprivate init(_ entry: HistoryTransaction) {
        self.init(
            peer: entry.peer, sequence: entry.dot.sequence, time: entry.time, author: entry.author,
            context: entry.context, token: entry.token, tables: entry.tables)
    }
}
