import LogSyncModel
import LogSyncSQLite

/// Columns that are what they are called here by their names and places alone.
///
/// Nothing tells more of a table whose columns came to be called otherwise before any row was recorded: a rebuild may have given
/// a column's name to a new one, as it may where columns came and no row is left with what was recorded of that one. Nor does it
/// of a column that came to a table: it may have had another name in a release that this store has skipped. What another peer
/// has found the columns of precisely this schema to be counts for them whenever it comes (``LateRenames``).
struct UnprovenColumns {
    private let facts: StoreFacts

    init(_ connection: Connection) { facts = StoreFacts(connection) }

    /// Notes the columns that a table has now.
    func note(_ table: TrackedTable) throws {
        let columns = try facts.connection.rows(
            "SELECT id FROM logsync_column WHERE table_id = ? AND NOT dropped", .integer(table.id))
        for column in columns { try note(Int(column[0].asInteger), of: table) }
    }

    /// Notes a column that has come.
    func note(_ id: Int, of table: TrackedTable) throws { try facts.set(Self.fact(id, table), .integer(1)) }

    func contains(_ column: TrackedTable.Column, of table: TrackedTable) throws -> Bool {
        try facts.value(Self.fact(column.id, table)) != nil
    }

    private static func fact(_ id: Int, _ table: TrackedTable) -> String { "unproven column \(table.id) \(id)" }
}
