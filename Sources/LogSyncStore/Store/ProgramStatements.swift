import GRDB
import LogSyncModel
import LogSyncSQLite

/// The statements that GRDB keeps prepared on a program's connection, and finalizes before it closes that: SQLite closes
/// none that has statements.
final class ProgramStatements: StatementSource {
    private(set) weak var database: Database?

    init(_ database: Database) { self.database = database }

    func statement(_ sql: String) throws -> (handle: OpaquePointer, keeper: AnyObject) {
        guard let database else {
            throw LogSyncError(.invalidStore, "the program's connection is closed; nothing was recorded")
        }
        do {
            let statement = try database.cachedStatement(sql: sql)
            return (statement.sqliteStatement, statement)
        } catch let error as DatabaseError {
            throw SQLiteFailure.error(
                code: error.extendedResultCode.rawValue, message: error.message ?? "",
                file: database.configuration.label ?? "the program's database", sql: sql)
        }
    }

    func forgetStatements() { database?.clearSchemaCache() }
}
