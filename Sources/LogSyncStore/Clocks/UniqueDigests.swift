import LogSyncModel
import LogSyncSQLite

/// The digests of a table's unique keys, by which records and displaced rows are found, in a table of their own.
///
/// Clock records hold them, too: where another program has dropped the table, it is made again.
struct UniqueDigests {
    let table: TrackedTable
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// Whether the table is to be there and is not. Where the records are to be laid out anew, that makes it.
    func areGone() throws -> Bool {
        guard table.hasUniqueDigests else { return false }
        return try connection.integer(
            """
            SELECT shape = ?2 AND NOT EXISTS(SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?3)
            FROM logsync_table WHERE id = ?1
            """, .integer(table.id), .text(table.shape), .text(table.unique)) == 1
    }

    /// Makes the table again where it is gone.
    func restore() throws {
        guard try areGone() else { return }
        connection.finalizeStatements()
        try connection.execute(StoreSchema.uniqueTable(table.id))
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        for row in try clock.allRows() {
            guard let record = try clock.record(at: row) else { continue }
            guard table.findsByKeyDigest else {
                try clock.addUniques(record.uniques, row: row)
                continue
            }
            // A record that says no key is that of the row in its place, as far as can be told.
            let key = try record.key ?? reader.row(at: row).flatMap { row in reader.naturalIdentity { row.values[$0] } }
            if let key { try clock.addUniques([table.keyDigest(key)], row: row) }
        }
    }
}
