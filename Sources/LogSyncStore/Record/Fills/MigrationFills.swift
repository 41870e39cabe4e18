import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What migrations have put into columns, and what they had seen.
struct MigrationFills {
    /// What a migration has put into a column.
    private struct Fill {
        /// nil where rows were given different ones.
        private(set) var value: Value?

        init(_ value: Value) { self.value = value }

        mutating func add(_ value: Value) {
            if self.value != value { self.value = nil }
        }
    }

    private let store: OpenStore
    /// By table and column id.
    private var fills: [Int64: [Int: Fill]] = [:]
    /// What transactions had seen, by one of their stamps at time 0.
    private var coverages: [Stamp: Coverage?] = [:]
    /// By table id, and by such a stamp, whether rows of other tables have been written since.
    private var elsewhere: [Int64: [Stamp: Bool]] = [:]

    init(_ store: OpenStore) {
        self.store = store
    }

    /// Notes what was put into a row.
    mutating func note(_ value: Value, of column: Int, in table: TrackedTable) {
        fills[table.id, default: [:]][column, default: Fill(value)].add(value)
    }

    /// What all rows were given in a column, by its id; nil where they were given nothing, or different values.
    func value(of column: Int, in table: TrackedTable) -> Value? { fills[table.id]?[column]?.value }

    /// Whether rows of other tables are known to have been written that the transaction of a fill had not seen.
    mutating func isMadeOfLess(_ fill: Stamp, in table: TrackedTable) throws -> Bool {
        if let known = elsewhere[table.id]?[fill] { return known }
        let isLess = try coverage(of: fill).map { seen in
            let peers = try store.connection.rows("SELECT DISTINCT peer FROM logsync_transaction")
            return try peers.contains { peer in
                let covered = Int64(clamping: seen.sequence(of: peer[0].asInteger))
                return try store.connection.integer(
                    """
                    SELECT EXISTS(
                        SELECT 1 FROM logsync_transaction AS t, json_each(CAST(t.changes AS TEXT)) AS change
                        WHERE t.peer = ?1 AND t.sequence > ?2 AND change.key NOT IN (?3, ?4))
                    """, peer[0], .integer(covered), .text(table.name), .text(SettingTable.name)) == 1
            }
        }
        elsewhere[table.id, default: [:]][fill] = isLess ?? false
        return isLess ?? false
    }

    /// What the transaction of a fill had seen, itself included; nil where too little is known of it.
    mutating func coverage(of fill: Stamp) throws -> Coverage? {
        if let known = coverages[fill] { return known }
        let seen = try store.peers.dependencies(of: fill.peer, at: fill.sequence, on: store.connection)
        var coverage = seen.map { Coverage($0, peers: store.peers) }
        coverage?.raise(fill.peer, to: fill.sequence)
        coverages[fill] = .some(coverage)
        return coverage
    }
}
