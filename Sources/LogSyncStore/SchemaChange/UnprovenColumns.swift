import LogSyncModel
import LogSyncSQLite

/// Tables whose columns came to be called otherwise before any row was recorded, so that they are what they are called here by
/// their names and places alone.
///
/// A rebuild may have given a column's name to a new one. What another peer has found the columns of precisely this schema to
/// be counts for such a table whenever it comes (``LateRenames``).
struct UnprovenColumns {
    private static let prefix = "unproven columns "

    private let facts: StoreFacts

    init(_ connection: Connection) { facts = StoreFacts(connection) }

    /// Notes the columns that a table has now.
    func note(_ table: TrackedTable) throws {
        let last = try facts.connection.integer(
            "SELECT max(id) FROM logsync_column WHERE table_id = ?", .integer(table.id))
        if let last { try facts.set(Self.prefix + String(table.id), .integer(last)) }
    }

    func contains(_ column: TrackedTable.Column, of table: TrackedTable) throws -> Bool {
        guard let last = try facts.value(Self.prefix + String(table.id)) else { return false }
        return Int64(column.id) <= last.asInteger
    }
}
