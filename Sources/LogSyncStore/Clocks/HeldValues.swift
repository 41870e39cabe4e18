import LogSyncModel
import LogSyncSQLite

/// What rows held in undecided columns when these were left alone, as digests: where a row holds it still when it is decided
/// what the column is, nobody has written there since, and what other peers have written meanwhile is shown.
struct HeldValues {
    private let connection: Connection
    private let table: TrackedTable

    init(of table: TrackedTable, on connection: Connection) {
        self.table = table
        self.connection = connection
    }

    /// - Parameter column: the name in logs.
    func note(_ digest: UInt32, of column: String, in identity: RowIdentity) throws {
        try connection.run(
            "INSERT OR REPLACE INTO logsync_undecided(table_id, column, identity, digest) VALUES(?, ?, ?, ?)",
            .integer(table.id), .text(column.folded), .blob(identity.bytes), .integer(Int64(digest)))
    }

    func digest(of column: String, in identity: RowIdentity) throws -> UInt32? {
        try connection.integer(
            "SELECT digest FROM logsync_undecided WHERE table_id = ? AND column = ? AND identity = ?",
            .integer(table.id), .text(column.folded), .blob(identity.bytes)
        ).map { UInt32(truncatingIfNeeded: $0) }
    }

    /// Before the name of a column, in which none begins so.
    private static let writtenPrefix = "\u{1B}"

    /// Notes that a row did not hold any more, when a column was left alone, what had been recorded of it there: a program had
    /// written it.
    func noteWritten(_ column: String, in identity: RowIdentity) throws {
        try note(0, of: Self.writtenPrefix + column, in: identity)
    }

    func forgetWritten(_ column: String) throws { try forget(Self.writtenPrefix + column) }

    func isWritten(_ column: String, in identity: RowIdentity) throws -> Bool {
        try digest(of: Self.writtenPrefix + column, in: identity) != nil
    }

    func forget(_ column: String) throws {
        try connection.run(
            "DELETE FROM logsync_undecided WHERE table_id = ? AND column = ?", .integer(table.id), .text(column.folded))
    }

    func makeTable() throws {
        try connection.execute(StoreSchema.undecided)
    }

    func forget() throws {
        try connection.run("DELETE FROM logsync_undecided WHERE table_id = ?", .integer(table.id))
    }
}
