import LogModel

/// A program that writes to a store with plain SQLite.
final class AppProgram {
    let connection: AppConnection

    init(_ path: String, foreignKeysAreOn: Bool) throws {
        connection = try AppConnection(path)
        try connection.execute("PRAGMA foreign_keys = \(foreignKeysAreOn ? "ON" : "OFF")")
    }

    static func makeDatabase(_ path: String, _ schema: SchemaModel, rows: [String]) throws {
        let connection = try AppConnection(path)
        try connection.execute("PRAGMA journal_mode = WAL")
        for sql in schema.sql { try connection.execute(sql) }
        for sql in rows { try connection.attempt(sql) }
    }

    /// Statements that a constraint refuses are left out; a commit that one refuses is undone.
    func transaction(_ statements: [String], ending: Step.Ending) throws {
        try connection.execute("BEGIN")
        for statement in statements {
            try connection.attempt(statement)
            // OR ROLLBACK, or a trigger's RAISE, ends it.
            if !connection.isInTransaction { return }
        }
        if ending == .commit, try connection.attempt("COMMIT") { return }
        try connection.execute("ROLLBACK")
    }
}
