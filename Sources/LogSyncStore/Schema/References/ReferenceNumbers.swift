import LogSyncModel
import LogSyncSQLite

/// Whether the numbers in a column can be integers of a table's rows.
///
/// What is said of a wrong column makes other numbers of them on each peer, and no digest differs.
struct ReferenceNumbers {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// - Throws: `usage` where the column has numbers, and no row has one of them.
    func check(_ column: String, of table: String, are parent: String) throws {
        guard let schema = try TableSchema.read(table, on: connection), schema.column(column) != nil,
            let key = try TableSchema.read(parent, on: connection)?.integerKey
        else { return }
        let number = "child.\(SQL.name(column))"
        let counts = try connection.rows(
            """
            SELECT count(*), count(parent.\(SQL.name(key))) FROM \(SQL.name(table)) AS child
            LEFT JOIN \(SQL.name(parent)) AS parent ON parent.\(SQL.name(key)) = \(number)
            WHERE typeof(\(number)) = 'integer' AND \(number) <> 0
            """)[0].map(\.asInteger)
        guard counts[0] > 0, counts[1] == 0 else { return }
        throw LogSyncError(
            .usage,
            "\(table).\(column) has \(Int(counts[0]).counted("number")), and no row of \(parent) has one of them: it seems to "
                + "refer to something else; nothing was changed",
            help:
                "Name the table that it refers to, or say --no-reference \(table).\(column); a column whose rows are all "
                + "gone can be emptied first")
    }

    /// The same of what `init` is told, beside what a recipe says.
    func check(_ plan: InitializePlan) throws {
        for (table, column, parent) in plan.references
        where !plan.recipeReferences.contains("\(table).\(column)".folded) {
            try check(column, of: table, are: parent)
        }
    }
}
