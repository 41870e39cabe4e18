import LogSyncModel
import LogSyncSQLite

/// Columns that are what they are called here by their names and places alone.
///
/// Nothing tells more of a table whose columns came to be called otherwise before any row was recorded: a rebuild may have given
/// a column's name to a new one. Nor does it of a column that came to a table: it may have had another name in a release that
/// this store has skipped. What another peer has found the columns of precisely this schema to be counts for them whenever it
/// comes (``LateRenames``).
struct UnprovenColumns {
    private static let tables = "unproven columns "
    private static let columns = "unproven column "

    private let facts: StoreFacts

    init(_ connection: Connection) { facts = StoreFacts(connection) }

    /// Notes the columns that a table has now.
    func note(_ table: TrackedTable) throws {
        let last = try facts.connection.integer(
            "SELECT max(id) FROM logsync_column WHERE table_id = ?", .integer(table.id))
        if let last { try facts.set(Self.tables + String(table.id), .integer(last)) }
    }

    /// Notes a column that has come.
    func note(_ id: Int, of table: TrackedTable) throws {
        try facts.set(Self.columns + "\(table.id) \(id)", .integer(1))
    }

    func contains(_ column: TrackedTable.Column, of table: TrackedTable) throws -> Bool {
        if try facts.value(Self.columns + "\(table.id) \(column.id)") != nil { return true }
        guard let last = try facts.value(Self.tables + String(table.id)) else { return false }
        return Int64(column.id) <= last.asInteger
    }
}
