import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Clock records under another table's name.
struct FormerRecords {
    let table: TrackedTable
    let name: String
    /// How they were laid out.
    let shape: TrackedTable.Shape

    /// - Returns: with its row's identity, unless nothing but a key that is gone has said it. The row that goes on as this one
    ///   may spell another by now; other peers know it by the one that it was given.
    func record(at row: Int64, _ connection: Connection) throws -> ClockRecord? {
        var record = try ClockTable(table: table, connection: connection)
            .record(
                at: row, sql: table.selectClock.replacing(table.clock, with: name), keepsKey: shape.findsByKeyDigest)
        if shape.areNamedByPlaces, record?.named == nil { record?.identity = RowIdentity(natural: [.integer(row)]) }
        return record
    }
}
