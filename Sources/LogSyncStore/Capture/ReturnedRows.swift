package import GRDB

/// Rows that a program deletes and that an undo of its own brings back (Documentation/model.md, particular rules).
///
/// The problem. A row with a surrogate identity that is inserted is a new one, whatever it holds. Where its deletion has
/// been published, an edit that another peer has lost to that would stay lost, though the row is there again.
///
/// The way. Who deletes asks which identity the row has, in the transaction of the deletion: nobody has recorded that yet.
/// Who brings it back promises its integer to that identity, as to a row that others refer to, and says of the pending
/// row that it returns: the recorder lets it take up what was edited meanwhile.
package struct ReturnedRows {
    private let id: Int64
    private let isSurrogate: Bool

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

    /// An SQL expression for the identity of the row that stood at an integer when it was recorded last; nil where the key says
    /// which row is which.
    ///
    /// - Parameter integer: an SQL expression.
    package func identity(at integer: String) -> String? {
        isSurrogate ? "(SELECT identity FROM main.logsync_clock_\(id) WHERE row = \(integer))" : nil
    }

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
