import LogSyncModel
import LogSyncSQLite

extension TableReader {
    /// Reads all rows: the rowid, where the table has one, and the values by column position.
    ///
    /// - Parameter inOrder: whether they come in the order of their rowids.
    func forEachRow(inOrder: Bool = false, _ body: (Int64?, [Value]) throws -> Void) throws {
        let columns = table.columns.isEmpty ? "" : ", " + table.columnList
        let order = inOrder && table.hasRowid ? "ORDER BY \(table.rowid)" : ""
        let statement = try Statement(
            "SELECT \(table.hasRowid ? table.rowid : "NULL")\(columns) FROM \(table.quoted) \(order)",
            on: connection)
        while try statement.step() {
            let values = table.columns.indices.map { statement.value($0 + 1) }
            try body(statement.isNull(0) ? nil : statement.integer(0), values)
        }
    }
}
