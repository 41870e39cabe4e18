import CLogSyncSQLite
import GRDBSQLite
import LogSyncModel
import LogSyncSQLite

/// The app's own triggers during an import.
///
/// What they write into tracked tables is in the log already. What they write into others, such as a full-text index, is
/// written anew: by TEMP copies on the importing connection, whose main schema's triggers are off, without the statements
/// that write tracked tables. What a trigger writes is asked of SQLite itself: the authorizer names the trigger on whose behalf a statement
/// reads or writes (<https://www.sqlite.org/c3ref/set_authorizer.html>).
struct AppTriggers {
    let catalog: Catalog
    let connection: Connection

    private struct Trigger {
        var name: String
        var table: String
        var sql: String
    }

    /// Makes the TEMP copies anew; they go with the transaction if it is undone.
    static func install(_ catalog: Catalog, path: String, on connection: Connection) throws {
        let triggers = AppTriggers(catalog: catalog, connection: connection)
        try remove(on: connection)
        let candidates = try triggers.candidates()
        guard !candidates.isEmpty else { return }
        let writes = try triggers.tablesWritten(path: path)
        let tracked = Set(catalog.tables.map { $0.schema.name.folded })
        for trigger in candidates {
            guard let written = writes[trigger.name.folded], !written.isEmpty,
                let body = written.isDisjoint(with: tracked)
                    ? SQLName.rest(of: trigger.sql, after: "TRIGGER")
                    : TriggerBody(trigger.sql)?.text(withoutWritesTo: tracked)
            else { continue }
            try connection.execute("CREATE TEMP TRIGGER \(SQL.name("logsync_copy_" + trigger.name))\(body)")
        }
    }

    static func remove(on connection: Connection) throws {
        for name in try connection.rows("SELECT name FROM temp.sqlite_master WHERE type = 'trigger'") {
            let name = String(text: name[0])
            if name.hasPrefix("logsync_copy_") { try connection.execute("DROP TRIGGER temp.\(SQL.name(name))") }
        }
    }

    private func candidates() throws -> [Trigger] {
        try connection.rows(
            """
            SELECT name, tbl_name, sql FROM main.sqlite_master
            WHERE type = 'trigger' AND name NOT LIKE 'logsync\\_%' ESCAPE '\\'
            """
        ).map { Trigger(name: String(text: $0[0]), table: String(text: $0[1]), sql: String(text: $0[2])) }
            .filter { catalog.hasLocal($0.table) }
    }

    // MARK: What triggers write

    private final class Observed {
        var writes: [String: Set<String>] = [:]
    }

    /// Prepares writes to every tracked table on a connection of its own, and notes what each trigger would write.
    private func tablesWritten(path: String) throws -> [String: Set<String>] {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, nil) == SQLITE_OK, let handle else { return [:] }
        try Connection.defend(handle, trustsSchema: true)
        let observed = Observed()
        let context = Unmanaged.passUnretained(observed).toOpaque()
        sqlite3_set_authorizer(
            handle,
            { context, action, table, _, _, trigger in
                guard let context, let trigger,
                    [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE].contains(action), let table
                else { return SQLITE_OK }
                let observed = Unmanaged<Observed>.fromOpaque(context).takeUnretainedValue()
                observed.writes[String(cString: trigger).folded, default: []]
                    .insert(String(cString: table).folded)
                return SQLITE_OK
            }, context)
        for table in catalog.tables {
            let columns = table.schema.columns.filter { !$0.isGenerated }.map { SQL.name($0.name) }
            let assignments = columns.map { "\($0) = \($0)" }.joined(separator: ", ")
            for sql in [
                "INSERT INTO \(table.quoted) DEFAULT VALUES", "UPDATE \(table.quoted) SET \(assignments)",
                "DELETE FROM \(table.quoted)",
            ] {
                var statement: OpaquePointer?
                // One that cannot be prepared fires no trigger; its trigger is then unknown, and stays silent.
                sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
                sqlite3_finalize(statement)
            }
        }
        withExtendedLifetime(observed) {}
        return observed.writes
    }
}
