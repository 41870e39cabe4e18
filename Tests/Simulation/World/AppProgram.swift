import GRDB
import GRDBSQLite
import LogSyncModel

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

    /// Ends it as a process ends.
    func close() { connection.close() }

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

    /// Changes the schema as a program does that knows the twelve steps. Returns false where a constraint refused it.
    func migrate(_ statements: [String], foreignKeysAreOn: Bool) throws -> Bool {
        try connection.execute("PRAGMA foreign_keys = OFF")
        defer { if foreignKeysAreOn { sqlite3_exec(connection.handle, "PRAGMA foreign_keys = ON", nil, nil, nil) } }
        for statement in statements {
            guard try connection.attempt(statement) else {
                if connection.isInTransaction { try connection.execute("ROLLBACK") }
                return false
            }
        }
        return true
    }

    // MARK: Programs that embed logsync

    static func queue(_ path: String, foreignKeysAreOn: Bool) throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        configuration.foreignKeysEnabled = foreignKeysAreOn
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Whether SQLite refused a commit for a deferred key. It does for some that `foreign_key_check` finds nothing wrong
    /// with, such as a row that REPLACE put in the place of one whose name it refers to in another spelling.
    static func isRefusedCommit(_ error: DatabaseError) -> Bool {
        error.resultCode == .SQLITE_CONSTRAINT && error.sql?.hasPrefix("COMMIT") ?? false
    }

    /// The same statements through GRDB. A broken key that would refuse the commit undoes them all.
    static func attempt(_ statements: [String], _ database: Database) throws {
        try database.execute(sql: "SAVEPOINT simulation")
        for statement in statements {
            do {
                try database.execute(sql: statement)
            } catch let error as DatabaseError
                where [.SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_FULL].contains(error.resultCode)
                || AppConnection.isAhead(error.message ?? "")
            {
                continue
            }
        }
        let isBroken = try Row.fetchOne(database, sql: "PRAGMA foreign_key_check") != nil
        if isBroken, try Int.fetchOne(database, sql: "PRAGMA foreign_keys") == 1 {
            try database.execute(sql: "ROLLBACK TO simulation")
        }
        try database.execute(sql: "RELEASE simulation")
    }
}
