import LogSyncModel
import LogSyncSQLite

/// Remembers the integers of rows that went away, so that rows which still refer to them keep meaning the same row:
/// the integer stays promised to the identity.
final class DanglingReferences {
    let store: OpenStore
    private var gone: [Int64: [Int64: RowIdentity]] = [:]

    private var connection: Connection { store.connection }

    init(_ store: OpenStore) { self.store = store }

    func note(_ integer: Int64, _ identity: RowIdentity, in table: TrackedTable) {
        guard table.localInteger != nil, store.catalog.hasReferrers(table) else { return }
        gone[table.id, default: [:]][integer] = identity
    }

    /// Promises the integers that something still refers to. Call it when the transaction's rows are as they will be.
    func settle() throws {
        for table in store.catalog.tables {
            guard let integers = gone[table.id], !integers.isEmpty else { continue }
            try fill(integers.keys)
            for (child, column) in store.catalog.referrers(of: table) {
                let name = SQL.name(column.local)
                let rows = try connection.rows(
                    """
                    SELECT DISTINCT \(name) FROM \(child.quoted)
                    WHERE \(name) IN (SELECT integer FROM temp.logsync_gone)
                    """)
                for row in rows {
                    guard case .integer(let integer) = row[0], let identity = integers[integer] else { continue }
                    try reserve(integer, identity, in: table)
                }
            }
        }
        gone = [:]
    }

    private func fill(_ integers: some Sequence<Int64>) throws {
        try connection.execute("CREATE TEMP TABLE IF NOT EXISTS logsync_gone(integer INTEGER PRIMARY KEY)")
        try connection.execute("DELETE FROM temp.logsync_gone")
        for integer in integers {
            try connection.run("INSERT INTO temp.logsync_gone(integer) VALUES(?)", .integer(integer))
        }
    }

    private func reserve(_ integer: Int64, _ identity: RowIdentity, in table: TrackedTable) throws {
        let clock = ClockTable(table: table, connection: connection)
        let isTaken = try TableReader(table: table, store: store).exists(integer)
        let isElsewhere = try clock.row(of: identity) != nil
        let identities = IdentityMap(store: store)
        // Another row that is nowhere may have been promised it since: then that is who is meant.
        guard !isTaken, !isElsewhere, try identities.reservedIdentity(of: integer, in: table) == nil else { return }
        try identities.reserve(integer, for: identity, in: table)
    }
}
