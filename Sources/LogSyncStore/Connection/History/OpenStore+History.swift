import Foundation
import LogSyncModel
import LogSyncSQLite

/// What a store keeps of transactions' rows for programs that were not there when these changed.
extension OpenStore {
    /// Keeps which rows a transaction changed.
    func keepHistory(_ tables: [String: TableChanges], of token: Int64) throws {
        try HistoryRows(connection: connection).keep(tables, of: token)
    }

    /// Keeps which rows changed without a transaction, and gives that a token of its own.
    ///
    /// - Parameter dot: what they are from; nil for this store itself.
    func keepHistory(
        _ tables: [String: TableChanges], cause: HistoryCause, from dot: Dot? = nil, time: Int64
    ) throws {
        let rows = tables.filter { $0.key != SettingTable.name }
        guard !rows.isEmpty else { return }
        try HistoryRows(connection: connection).keep(
            rows, of: try History.nextToken(self), cause: cause.rawValue,
            peer: try dot.map { try peers.number(of: $0.peer, on: connection) } ?? own, sequence: dot?.sequence ?? 0,
            time: time)
    }

    /// Keeps what something else than an import has changed since this was last called.
    func keepSettledHistory() throws {
        guard !unkept.isEmpty else { return }
        try keepHistory(unkept, cause: .settled, time: configuration.clock.now())
        unkept = [:]
    }

    /// Makes a table of logsync's own that a store which is older does not have; true in the end.
    func make(_ table: String, _ sql: String) throws -> Bool {
        guard try !has(table) else { return true }
        let isSettled = try connection.integer("PRAGMA schema_version") == schemaVersion
        try connection.execute(sql)
        // Nothing that a program made has changed.
        if isSettled { try acceptSchemaVersion() }
        return true
    }

    /// Whether the store has a table, which may be one of logsync's own.
    func has(_ table: String) throws -> Bool {
        try connection.integer("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", .text(table)) != nil
    }

    /// The token of what came last; 0 where nothing has.
    func lastHistoryToken() throws -> Int64 { try lastToken ?? History.lastToken(on: connection) }

    /// The history with the rows that changed, oldest first: transactions, joined snapshots and what was settled here.
    ///
    /// - Parameter body: returns whether to go on.
    func forEachHistoryEntry(after token: Int64, _ body: (HistoryEntry) throws -> Bool) throws {
        let statement = try connection.prepare(Self.history)
        statement.bind(token, at: 1)
        defer { statement.reset() }
        let decoder = JSONDecoder()
        while try statement.step() {
            let cause = statement.isNull(7) ? .transaction : HistoryCause(rawValue: statement.string(7)) ?? .settled
            let rows = statement.isNull(8) ? nil : HistoryRows.decode(statement.bytes(8))
            var counts = rows?.mapValues(\.counts) ?? [:]
            if rows == nil, !statement.isNull(6) {
                counts = try decoder.decode([String: ChangeCounts].self, from: Data(statement.bytes(6)))
                counts[SettingTable.name] = nil
            }
            let time = statement.integer(3)
            let entry = HistoryEntry(
                token: statement.integer(0),
                dot: Dot(peers.id(statement.integer(1)), UInt64(clamping: statement.integer(2))),
                time: cause == .transaction
                    ? HybridTime(rawValue: UInt64(bitPattern: time)) : HybridTime(milliseconds: time),
                author: statement.isNull(4) ? nil : statement.string(4),
                context: statement.isNull(5) ? nil : statement.string(5), counts: counts, rows: rows, cause: cause)
            guard try body(entry) else { return }
        }
    }

    private static let history = """
        SELECT t.token, t.peer, t.sequence, t.time, t.author, t.context, t.changes, NULL, coalesce(t.rows, h.rows)
        FROM logsync_transaction AS t LEFT JOIN logsync_history AS h ON h.token = t.token WHERE t.token > ?1
        UNION ALL
        SELECT token, peer, sequence, time, NULL, NULL, NULL, cause, rows FROM logsync_history
        WHERE token > ?1 AND cause IS NOT NULL
        ORDER BY 1
        """

    // MARK: Keys

    /// Up to which token the rows of tables went by other keys than today, by the tables' names in logs.
    func keysSince() throws -> [String: Int64] {
        try facts.values(under: Self.keySince).reduce(into: [:]) { $0[$1.name] = $1.value.asInteger }
    }

    /// From here on the rows of a table go by another key.
    func noteOtherKey(of table: TrackedTable) throws {
        try facts.set(Self.keySince + table.name, .integer(try lastHistoryToken()))
        try Subscriptions.noteOtherKey(of: table, self)
    }

    private static let keySince = "key_since "

    // MARK: Tombstones

    /// The positions of the columns of which a deleted row's values are kept.
    func tombstoneColumns(of table: TrackedTable) throws -> [Int] {
        if let known = cached.tombstones[table.id] { return known }
        let positions: [Int]
        if let names = try facts.text(Self.tombstone + table.name) {
            positions = try KeyList.decode(names).compactMap { name in
                table.columns.firstIndex { $0.name.folded == name.folded } ?? table.localPositions[name.folded]
            }
        } else {
            positions = []
        }
        cached.tombstones[table.id] = positions
        return positions
    }

    /// From now on these columns' values are kept of rows that imports delete; none for an empty list.
    ///
    /// - Parameter names: as the database has them. They are kept as logs have them, which stay where one is renamed.
    func setTombstoneColumns(_ names: [String], of table: TrackedTable) throws {
        let names = names.compactMap { table.localPositions[$0.folded].map { table.columns[$0].name } }
        try facts.set(Self.tombstone + table.name, names.isEmpty ? .null : .text(KeyList.encode(names)))
        cached.tombstones = [:]
    }

    private static let tombstone = "tombstone "
}
