import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Clock records under another table's name.
struct FormerRecords {
    let table: TrackedTable
    let name: String
    /// See ``ClockTable/record(at:sql:keepsKey:)``.
    let keepsKey: Bool

    func record(at row: Int64, _ connection: Connection) throws -> ClockRecord? {
        try ClockTable(table: table, connection: connection)
            .record(at: row, sql: table.selectClock.replacing(table.clock, with: name), keepsKey: keepsKey)
    }
}
