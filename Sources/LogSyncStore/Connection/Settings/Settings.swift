import LogSyncModel
import LogSyncSQLite

/// The content's settings: rows of a replicated table, so that what is shown depends on nothing but transactions.
struct Settings {
    let store: OpenStore

    init(_ store: OpenStore) { self.store = store }

    /// Sets one by an ordinary captured write; the next recording takes it along.
    func set(_ kind: String, _ target: String, _ value: String) throws {
        let connection = store.connection
        try connection.withTriggers {
            try connection.run(
                "UPDATE logsync_setting SET value = ?3 WHERE kind = ?1 AND target = ?2 AND value IS NOT ?3",
                .text(kind), .text(target), .text(value))
            try connection.run(
                """
                INSERT INTO logsync_setting(kind, target, value) SELECT ?1, ?2, ?3
                WHERE NOT EXISTS (SELECT 1 FROM logsync_setting WHERE kind = ?1 AND target = ?2)
                """, .text(kind), .text(target), .text(value))
        }
    }

    func values(_ kind: String) throws -> [String: String] {
        var values: [String: String] = [:]
        for row in try store.connection.rows(
            "SELECT target, value FROM logsync_setting WHERE kind = ?", .text(kind))
        {
            values[String(text: row[0])] = String(text: row[1])
        }
        return values
    }
}
