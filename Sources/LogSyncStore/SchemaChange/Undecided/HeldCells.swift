import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What rows of one table hold in columns that are left alone, which the catalog does not have.
struct HeldCells {
    /// As the database has them.
    let columns: [String]
    let table: TrackedTable
    let connection: Connection

    /// - Parameter row: as ``ContinuedRows/row(of:at:)`` has it.
    /// - Returns: none where the row is gone.
    func values(_ row: TableReader.Row, _ rowid: Int64) throws -> [Value] {
        let keys = table.hasRowid ? [table.rowid] : table.key.map { SQL.name(table.columns[$0.index].local) }
        let key = table.hasRowid ? [.integer(rowid)] : table.key.map { row.values[$0.index] }
        let statement = try connection.prepare(
            "SELECT \(SQL.list(columns)) FROM \(table.quoted) "
                + "WHERE \(keys.map { "\($0) IS ?" }.joined(separator: " AND "))")
        for (index, value) in key.enumerated() { statement.bind(value, at: index + 1) }
        defer { statement.reset() }
        return try statement.step() ? columns.indices.map(statement.value) : []
    }

    func digest(_ value: Value) -> UInt32 { UInt32(truncatingIfNeeded: table.valueDigest.of(value)) }
}
