import Foundation
package import GRDB
import LogSyncModel
import LogSyncSQLite

/// Rows that a program deletes and that an undo of its own brings back (Documentation/model.md, particular rules).
///
/// The problem. A row with a surrogate identity that is inserted is a new one, whatever it holds. Where its deletion has
/// been published, an edit that another peer has lost to that would stay lost, though the row is there again.
///
/// The way. A trigger asks which identity the row has as it is deleted: nobody has recorded that yet. Who brings it back
/// promises an integer to that identity, as to a row that others refer to, and says of the pending row that it returns: the
/// recorder lets it take up what was edited meanwhile. The integer is the one that it had, unless another row has that.
package struct ReturnedRows {
    private let id: Int64
    /// Whether an integer is this store's own name for a row, and may be another row's at another time.
    package let isSurrogate: Bool

    /// - Parameter table: as the program calls it. nil where the database is no store, or does not replicate the table.
    package init?(_ table: String, _ db: Database) throws {
        guard
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE name = 'logsync_table')") == true,
            let row = try Row.fetchOne(
                db, sql: "SELECT id, identity FROM main.logsync_table WHERE name = ? COLLATE NOCASE", arguments: [table]
            )
        else { return nil }
        id = row[0]
        isSurrogate = row[1] == TrackedTable.IdentityKind.surrogate.rawValue
        let made = try Int.fetchOne(
            db, sql: "SELECT count(*) FROM main.sqlite_master WHERE name IN (?, ?)",
            arguments: ["logsync_clock_\(id)", "logsync_pending_\(id)"])
        guard made == 2 else { return nil }
    }

    // MARK: Identities

    /// An SQL function of a table's name and an integer: the identity of the row that stood there when it was recorded last.
    /// NULL where the database is no store, and where the key says which row is which.
    package static let function = "logsync_identity"

    /// Gives a connection the function. Its triggers may not name logsync's tables: these go when the store leaves.
    package static func addFunction(to db: Database) {
        // SQLite calls the connection's functions on its own queue, and not after it is closed.
        nonisolated(unsafe) unowned let database = db
        db.add(
            function: DatabaseFunction(function, argumentCount: 2) { values in
                guard let handle = database.sqliteConnection, let table = String.fromDatabaseValue(values[0]),
                    let integer = Int64.fromDatabaseValue(values[1])
                else { return nil }
                // Past GRDB, which is in the middle of the statement whose trigger asks.
                let connection = Connection(handle)
                do {
                    let id = try connection.integer(
                        "SELECT id FROM main.logsync_table WHERE name = ? COLLATE NOCASE AND identity = ?",
                        .text(table), .text(TrackedTable.IdentityKind.surrogate.rawValue))
                    guard let id else { return nil }
                    let identity = try connection.scalar(
                        "SELECT identity FROM main.logsync_clock_\(id) WHERE row = ?", .integer(integer))
                    if case .blob(let bytes)? = identity { return Data(bytes) }
                } catch {
                    // Without an identity the row would come back as another one.
                    let isStore = try connection.integer(
                        "SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE name = 'logsync_table')")
                    if isStore == 1 { throw error }
                }
                return nil
            })
    }

    /// The identity of the row that stands at an integer, as far as that is recorded.
    package func identity(at integer: DatabaseValue, _ db: Database) throws -> DatabaseValue? {
        guard isSurrogate else { return nil }
        let statement = try db.cachedStatement(sql: "SELECT identity FROM main.logsync_clock_\(id) WHERE row = ?")
        return try DatabaseValue.fetchOne(statement, arguments: [integer])
    }

    /// The integer at which a row stands, as far as that is recorded.
    package func integer(of identity: DatabaseValue, _ db: Database) throws -> Int64? {
        guard isSurrogate else { return nil }
        return try Int64.fetchOne(
            db, sql: "SELECT row FROM main.logsync_clock_\(id) WHERE identity = ?", arguments: [identity])
    }

    /// Whether an integer is promised to another row.
    package func isPromised(_ integer: Int64, toOtherThan identity: DatabaseValue, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM main.logsync_reserved
                    WHERE table_id = ? AND integer = ? AND identity IS NOT ?)
                """, arguments: [id, integer, identity]) == true
    }

    // MARK: Bringing back

    /// The number of the last pending row, for ``note(after:at:as:_:)``.
    package func lastNumber(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT max(number) FROM main.logsync_pending_\(id)") ?? 0
    }

    /// Says of the row that was inserted last that it returns.
    ///
    /// - Parameters:
    ///   - number: of the last pending row before it was inserted.
    ///   - integer: its integer key, where it has one.
    ///   - identity: the one that it had.
    package func note(
        after number: Int64, at integer: DatabaseValue?, as identity: DatabaseValue?, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                UPDATE main.logsync_pending_\(id) SET kind = \(Capture.Kind.returned.rawValue)
                WHERE number = (
                    SELECT min(number) FROM main.logsync_pending_\(id)
                    WHERE number > ? AND kind = \(Capture.Kind.insert.rawValue)
                        AND (row IS NULL OR row = last_insert_rowid()))
                """, arguments: [number])
        guard isSurrogate, let integer, let identity, !identity.isNull else { return }
        // Where its deletion is not recorded yet, its record is still there, and it is the same row in any case.
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO main.logsync_reserved(table_id, integer, identity) SELECT ?1, ?2, ?3
                WHERE NOT EXISTS (SELECT 1 FROM main.logsync_clock_\(id) WHERE row = ?2 OR identity = ?3)
                """, arguments: [id, integer, identity])
    }
}
