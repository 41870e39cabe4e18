import LogSyncModel
import LogSyncSQLite

/// What of the content's schema this store did not make or does not run, noted among its facts.
struct UnmadeObjects {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    private static let prefix = "unmade "

    func add(_ objects: [UnmadeObject]) throws {
        for unmade in objects { try StoreFacts(connection).set(Self.prefix + unmade.object, .text(unmade.reason)) }
    }

    /// The objects that have not come to be since, by name.
    func all() throws -> [UnmadeObject] {
        try connection.rows(
            """
            SELECT substr(key, ?2), value FROM logsync_store
            WHERE substr(key, 1, ?2 - 1) = ?1
              AND NOT EXISTS (SELECT 1 FROM main.sqlite_master WHERE name = substr(key, ?2) COLLATE NOCASE)
            ORDER BY key
            """, .text(Self.prefix), .integer(Int64(Self.prefix.utf8.count + 1))
        ).map { UnmadeObject(object: String(text: $0[0]), reason: String(text: $0[1])) }
    }
}
