import LogSyncModel
import LogSyncSQLite

/// A statement that writes one row of a program's table: what a constraint of the table does not allow is refused, whatever
/// clause the constraint has for conflicts, and the statements of triggers that fire have the clauses that they say.
///
/// **The problem.** SQLite has the clause of a statement go before those of the constraints that it meets, and before those of
/// the statements in triggers that fire with it. With `OR ABORT` no row is displaced, and a trigger's `INSERT OR IGNORE` fails;
/// without a clause it is the other way round. Source: <https://www.sqlite.org/lang_createtrigger.html>.
///
/// **The steps.** Where a table has such constraints and triggers fire on it (``WrittenConflicts/probed``), the row is written
/// with `OR ABORT` first, while no trigger fires, and that is undone: so it is known whether the table takes it. What it takes
/// is written without a clause, and no constraint of the table has anything to say about it.
///
/// **The exception.** Many rows at a time cannot be written so; such a table's rows are written one by one.
struct RowStatement {
    private let connection: Connection
    private let statement: Statement
    /// The same with `OR ABORT`, where that has to be run first.
    private let probe: Statement?

    /// - Parameter sql: the statement, given the clause that it has, with a space behind it.
    init(_ table: TrackedTable, on connection: Connection, _ sql: (String) -> String) throws {
        self.connection = connection
        statement = try connection.prepare(sql(table.conflicts == .abort ? WrittenConflicts.abortClause : ""))
        probe = try table.conflicts == .probed ? connection.prepare(sql(WrittenConflicts.abortClause)) : nil
    }

    /// - Parameter arguments: the first of them, in order; those of a former run stay bound beyond them.
    func write(_ arguments: [Value]) throws -> Statement.Written {
        if let probe {
            for (index, argument) in arguments.enumerated() { probe.bind(argument, at: index + 1) }
            guard try isTaken(probe) else { return .refused }
        }
        for (index, argument) in arguments.enumerated() { statement.bind(argument, at: index + 1) }
        return try statement.write()
    }

    private func isTaken(_ probe: Statement) throws -> Bool {
        try connection.execute("SAVEPOINT logsync_probe")
        let written = Result { try connection.withoutSwitchedTriggers { try probe.write() } }
        try connection.execute("ROLLBACK TO logsync_probe; RELEASE logsync_probe")
        return try written.get() != .refused
    }
}
