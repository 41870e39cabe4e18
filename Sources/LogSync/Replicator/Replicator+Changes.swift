public import GRDB
import LogSyncModel
import LogSyncStore

/// Telling a program what changed in its store that it did not write itself.
extension Replicator {
    /// Rows that change from now on without the program's doing: by imports, also those of other processes at this store
    /// as far as this replicator is running or syncs, and by what is settled on this machine. Each access is a stream of
    /// its own.
    public nonisolated var changes: AsyncStream<StoreChange> { changeHub.stream() }

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
        let changes = changes
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
        }
        return try body()
    }

    private func tellOfOthers(_ store: ReplicatedStore) throws {
        let token = try store.store.lastToken()
        defer { seenToken = token }
        guard let seen = seenToken, token > seen else { return }
        let entries = try store.store.history(limit: nil, after: seen, author: nil, peer: nil, table: nil)
            .filter { $0.dot.peer != store.peer }
        guard !entries.isEmpty else { return }
        let names = try store.names()
        let transactions = entries.map { entry in
            DidImport.Transaction(
                peer: names[entry.dot.peer], sequence: entry.dot.sequence,
                time: Timestamp(milliseconds: entry.time.milliseconds), author: entry.author, context: entry.context,
                tables: entry.counts.mapValues(TableChanges.init(unlisted:)))
        }
        changeHub.send(
            StoreChange(DidImport(store: store.place.path, transactions: transactions), isElsewhere: true))
    }

    private func tellOfSettled(_ store: ReplicatedStore) {
        // A store that cannot be asked says so at the next step, and has what it settled until then.
        guard let tables = try? store.store.takeSettled(), !tables.isEmpty else { return }
        changeHub.send(
            StoreChange(
                cause: .settled, isElsewhere: false, store: store.place.path, tables: tables, transactions: []))
    }
}
