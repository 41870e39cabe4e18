package import LogSyncModel
import LogSyncSQLite

/// What changed in the tables, for programs that show them.
extension Store {
    /// The token of the last transaction that was recorded or imported here; 0 where there is none.
    package func lastToken() throws -> Int64 {
        try database.read { try $0.lastHistoryToken() }
    }

    /// The token of the first entry of the history whose rows were not forgotten; 0 where none were.
    package func historyStart() throws -> Int64 {
        try database.read { try $0.facts.value(HistoryRows.start)?.asInteger ?? 0 }
    }

    /// Forgets which rows the entries before this one changed. What peers have to know of transactions stays.
    package func forgetHistory(before token: Int64) throws {
        try database.write { store in
            // What is forgotten is told first.
            if store.hasSubscriptions { try Subscriptions(store: store).serve() }
            try HistoryRows(connection: store.connection).forget(before: token)
        }
    }

    /// The history with the rows that changed, oldest first: transactions, joined snapshots and what was settled here.
    ///
    /// - Parameter body: returns whether to go on.
    package func forEachHistoryEntry(after token: Int64, _ body: (HistoryEntry) throws -> Bool) throws {
        try database.read { try $0.forEachHistoryEntry(after: token, body) }
    }

    /// - Parameter tables: as the database or logs call them.
    /// - Throws: `usage` where this store has never heard of one.
    package func checkKnows(tables: Set<String>) throws {
        guard !tables.isEmpty else { return }
        try database.read { store in for table in tables.sorted() { _ = try store.logNames(of: table) } }
    }

    /// The names of the columns of tables' primary keys, by the tables' names in logs, as this store has them.
    package func primaryKeyColumns() throws -> [String: [String]] {
        try database.read { store in
            store.catalog.tables.reduce(into: [:]) { names, table in
                names[table.name] =
                    table.schema.integerKey.map { [$0] } ?? table.primaryKeyPositions.map { table.columns[$0].local }
            }
        }
    }

    /// Up to which token the rows of tables went by other keys than these, by the tables' names in logs.
    package func keysSince() throws -> [String: Int64] { try database.read { try $0.keysSince() } }

    /// Of which columns these are; none where the table is not here.
    package func tombstoneColumns(of name: String) throws -> [String] {
        try database.read { store in
            guard let table = try store.tables(named: name).first else { return [] }
            return try store.tombstoneColumns(of: table).map { table.columns[$0].local }
        }
    }

    /// From now on these columns' values are kept, in the history, of rows that others delete.
    ///
    /// - Throws: `usage` where the store has no such table, or the table no such column.
    package func keepTombstones(of name: String, columns: [String]) throws {
        try database.write { store in
            guard let table = try store.tables(named: name).first else {
                throw LogSyncError(.usage, "the table \(name) is not here; nothing was changed", subject: .table(name))
            }
            for column in columns where table.localPositions[column.folded] == nil {
                throw LogSyncError(
                    .usage, "\(name) has no column \(column.debugDescription) that is replicated; nothing was changed",
                    subject: .column(column, table: name))
            }
            try store.setTombstoneColumns(columns, of: table)
        }
    }

    /// The rows that changed by something else than an import, by table, since this was last asked for.
    package func takeSettled() throws -> [String: TableChanges] { try database.takeSettled() }
}
