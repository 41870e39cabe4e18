import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What tells which column is which.
extension SchemaReconciliation {
    /// Whether the schema has changed by one statement, which left the table's rows as they are: it cannot have dropped a
    /// column and added another.
    func isSingleStatement(on table: TrackedTable) throws -> Bool {
        try connection.integer("PRAGMA schema_version") == store.schemaVersion + 1
            && Capture.isInstalled(table, on: connection)
    }

    /// How many values of a column are what the records have of a known one, in any order. That both have no value in a
    /// row says nothing, nor do records of rows that were written since.
    func agreement(
        of column: KnownColumn, with name: String, in table: TrackedTable, _ schema: TableSchema
    ) throws -> (same: Int, rows: Int, records: Int, isEmpty: Bool) {
        var former: [UInt32: Int] = [:]
        let none = UInt32(truncatingIfNeeded: table.valueDigest.of(.null))
        let clock = ClockTable(table: table, connection: connection)
        let written = try writtenRecords(of: table)
        var records = 0
        for row in try connection.rows("SELECT row FROM \(table.clock) LIMIT 100000") {
            guard !written.contains(row[0].asInteger), let record = try clock.record(at: row[0].asInteger),
                record.digests.indices.contains(Int(column.id))
            else { continue }
            let digest = record.digests[Int(column.id)]
            guard digest != none else { continue }
            former[digest, default: 0] += 1
            records += 1
        }
        var rows = 0
        var same = 0
        var isEmpty = true
        let statement = try Statement(
            "SELECT \(SQL.name(name)) FROM \(SQL.name(schema.name)) LIMIT 100000", on: connection)
        while try statement.step() {
            isEmpty = false
            guard !statement.isNull(0) else { continue }
            rows += 1
            let digest = UInt32(truncatingIfNeeded: statement.digest(0, by: table.valueDigest))
            guard let left = former[digest], left > 0 else { continue }
            former[digest] = left - 1
            same += 1
        }
        return (same, rows, records, isEmpty)
    }

    /// The records of rows that are captured as written and have not been recorded since.
    private func writtenRecords(of table: TrackedTable) throws -> Set<Int64> {
        let captured = "FROM \(table.pending) WHERE number > \(table.recorded)"
        let names = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(table.pending))
        let keys = names.map { String(text: $0[0]) }.filter { $0.first == "k" && $0 != "kind" }.sorted()
        if table.hasRowid {
            let rows = try connection.rows("SELECT DISTINCT row \(captured) AND row IS NOT NULL")
            return Set(rows.map { $0[0].asInteger })
        }
        guard !keys.isEmpty, keys.count == table.key.count else { return [] }
        let folded = FoldedKeys(store: store, table: table)
        var written: Set<Int64> = []
        for row in try connection.rows("SELECT DISTINCT \(keys.joined(separator: ", ")) \(captured)") {
            let parts = zip(row, table.key).compactMap { KeyPart($0, collation: $1.collation) }
            guard parts.count == keys.count else { continue }
            if let record = try folded.row(of: RowIdentity(natural: parts)) { written.insert(record) }
        }
        return written
    }
}
