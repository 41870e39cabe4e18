import LogSyncModel
import LogSyncSQLite

/// Brings the tables of stores that older versions made up to date, in the write transaction that opens them.
extension StoreSchema {
    /// Brings the tables of an older store up to date.
    ///
    /// - Parameter version: the format that it says it has.
    static func upgrade(from version: Int64, on connection: Connection) throws {
        if version < 2 { try addBranches(on: connection) }
        if version < 3 { try connection.execute(blobs) }
        if version < 4 { try connection.execute(shown) }
        if version < 5 { try keepKeys(on: connection) }
        if version < 6 { try keepChoices(on: connection) }
        if version < 8 { try shortenCommits(on: connection) }
        try StoreFacts(connection).set("format", .integer(formatVersion))
    }

    private static func addBranches(on connection: Connection) throws {
        try connection.execute(
            """
            ALTER TABLE logsync_peer ADD COLUMN joined INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE logsync_peer ADD COLUMN files INTEGER;
            ALTER TABLE logsync_transaction ADD COLUMN mark INTEGER;
            ALTER TABLE logsync_transaction ADD COLUMN dependencies BLOB;
            \(branches)
            -- Which transactions were imported before nobody noted.
            UPDATE logsync_peer SET joined = sequence;
            INSERT INTO logsync_joined SELECT * FROM logsync_dependency;
            """)
    }

    /// What a store leaves out is its own choice from here on, and identities may be kept beside keys that have become
    /// others, of which an older logsync knows nothing.
    private static func keepChoices(on connection: Connection) throws {
        try connection.execute(
            """
            INSERT OR IGNORE INTO logsync_store(key, value)
                SELECT kind || ' ' || lower(target), 1 FROM logsync_setting WHERE kind IN ('local', 'skip')
            """)
    }

    /// Has a transaction that is recorded write fewer pages: its bytes and its rows stand with it, and no index has to say that
    /// it waits.
    private static func shortenCommits(on connection: Connection) throws {
        try connection.execute(
            """
            \(history)
            ALTER TABLE logsync_outbox ADD COLUMN bytes BLOB;
            ALTER TABLE logsync_transaction ADD COLUMN rows BLOB;
            ALTER TABLE logsync_peer ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
            DROP INDEX IF EXISTS logsync_outbox_waiting;
            UPDATE logsync_peer SET sent = \(sent);
            \(TableExtent.upgrade)
            """)
    }

    /// Keeps the keys of rows whose records are found by their digests, for when the rows are gone. What went before that,
    /// or was written behind the triggers' back, has no name.
    private static func keepKeys(on connection: Connection) throws {
        for table in try Catalog.load(on: connection).tables where table.findsByKeyDigest {
            let rows = try connection.prepare(
                """
                SELECT c.row, \(SQL.list(table.keyColumnNames)) FROM \(table.clock) AS c
                JOIN \(table.quoted) AS t ON t.\(table.rowid) = c.row WHERE c.identity IS NULL
                """)
            defer { rows.reset() }
            while try rows.step() {
                let row = rows.integer(0)
                let parts = table.key.enumerated().compactMap { index, key in
                    KeyPart(rows.value(index + 1), collation: key.collation)
                }
                guard parts.count == table.key.count else { continue }
                let identity = RowIdentity(natural: parts)
                guard
                    try connection.integer(
                        "SELECT 1 FROM \(table.unique) WHERE digest = ? AND row = ?",
                        .integer(Int64(table.keyDigest(identity))), .integer(row)) != nil
                else { continue }
                try connection.run(
                    "UPDATE \(table.clock) SET uniques = ?2 WHERE row = ?1", .integer(row), .blob(identity.bytes))
            }
        }
    }
}
