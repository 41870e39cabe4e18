import CLogSyncSQLite
import GRDBSQLite
import LogSyncModel
import LogSyncSQLite

/// The app's own triggers while logsync writes the app's rows.
///
/// What they write into tracked tables is in the log already. What they write into others, such as a full-text index, is
/// written anew: by TEMP copies on logsync's connection, whose main schema's triggers are off, without the statements
/// that write tracked tables. What a trigger writes is asked of SQLite itself: the authorizer names the trigger on whose
/// behalf a statement reads or writes (<https://www.sqlite.org/c3ref/set_authorizer.html>).
struct AppTriggers {
    let catalog: Catalog
    let connection: Connection
    /// What triggers may call beside SQLite's own functions.
    var extensions: [LoadableExtension] = []

    private struct Trigger {
        var name: String
        var table: String
        var sql: String
    }

    /// Makes the TEMP copies anew; they go with the transaction if it is undone.
    ///
    /// - Returns: the triggers that are not copied, because they need what only their own program has: an import that
    ///   fired them would fail as a whole.
    static func install(
        _ catalog: Catalog, extensions: [LoadableExtension], on connection: Connection
    ) throws -> [UnmadeObject] {
        let triggers = AppTriggers(catalog: catalog, connection: connection, extensions: extensions)
        try remove(on: connection)
        let candidates = try triggers.candidates()
        var unmade: [UnmadeObject] = []
        let silent = try Self.silent(on: connection)
        let withClauses = try triggers.tablesWithClauses()
        if !candidates.isEmpty {
            connection.boundWrites()
            let writes = try triggers.tablesWritten()
            for trigger in candidates {
                if let (reason, sql) = silent[trigger.name.folded], sql.hasSameBytes(as: trigger.sql) {
                    unmade.append(UnmadeObject(object: trigger.name, reason: reason))
                    continue
                }
                guard let body = triggers.copiedBody(of: trigger, writing: writes[trigger.name.folded]) else {
                    continue
                }
                // What a row's author was allowed to write stands.
                var copied = TriggerBody.withoutRaise(body)
                if withClauses.contains(trigger.table.folded) {
                    copied = TriggerBody.text(copied, when: connection.switchCondition()) ?? copied
                }
                if let reason = try triggers.copy(trigger, copied) {
                    unmade.append(UnmadeObject(object: trigger.name, reason: reason))
                }
            }
        }
        try triggers.setConflicts()
        return unmade
    }

    private static let copyPrefix = "logsync_copy_"
    private static let silentPrefix = "silent_trigger "

    static func name(ofCopy copy: String) -> String? {
        copy.hasPrefix(copyPrefix) ? String(copy.dropFirst(copyPrefix.count)) : nil
    }

    /// Has a trigger that failed not fire any more when logsync writes rows, until it is another.
    static func silence(_ name: String, _ reason: String, on connection: Connection) throws {
        let sql = try connection.scalar(
            "SELECT sql FROM main.sqlite_master WHERE type = 'trigger' AND name = ? COLLATE NOCASE", .text(name))
        try StoreFacts(connection).set(
            silentPrefix + name.asciiFolded,
            .text(Array(try KeyList.encode([reason, sql.map { String(text: $0) } ?? ""]).utf8)[...]))
    }

    /// Why such triggers do not fire, and what they are, by folded name.
    private static func silent(on connection: Connection) throws -> [String: (reason: String, sql: String)] {
        var silent: [String: (reason: String, sql: String)] = [:]
        for (name, value) in try StoreFacts(connection).values(under: silentPrefix) {
            let parts = try KeyList.decode(String(text: value))
            if parts.count == 2 { silent[name.folded] = (parts[0], parts[1]) }
        }
        return silent
    }

    /// - Returns: why there can be no copy; nil where it is made.
    private func copy(_ trigger: Trigger, _ body: String) throws -> String? {
        let copy = SQL.name(Self.copyPrefix + trigger.name)
        var body = body
        while true {
            try connection.execute("CREATE TEMP TRIGGER \(copy)\(body)")
            guard let reason = complaint(about: trigger) else { return nil }
            try connection.execute("DROP TRIGGER temp.\(copy)")
            guard let other = Self.withText(of: reason, in: body) else { return reason }
            body = other
        }
    }

    /// A program's trigger may have texts in double quotes, which SQLite does not take in what is run here; see
    /// ``Connection/takingTexts(_:)``.
    ///
    /// - Returns: the body with the text that SQLite takes for a column; nil where it speaks of something else.
    private static func withText(of reason: String, in body: String) -> String? {
        let beginning = "no such column: "
        guard reason.hasPrefix(beginning) else { return nil }
        var name = String(reason.dropFirst(beginning.count))
        // Later versions quote it, and ask whether it is one.
        if name.hasPrefix("\""), let end = name.firstRange(of: "\" - ")?.lowerBound {
            name = String(name[name.index(after: name.startIndex)..<end])
        }
        let other = body.replacing(SQL.name(name), with: SQL.literal(name))
        return other == body ? nil : other
    }

    /// What follows the name in a trigger's copy; nil where there is nothing to copy.
    ///
    /// - Parameter written: the tables that it writes, as SQLite says; nil where that could not be asked, because this
    ///   trigger or another of its table needs what only their program has.
    private func copiedBody(of trigger: Trigger, writing written: Set<String>?) -> String? {
        let tracked = Set(catalog.tables.map { $0.schema.name.folded })
        if let written, written.isEmpty { return nil }
        if let written, written.isDisjoint(with: tracked) { return SQLName.rest(of: trigger.sql, after: "TRIGGER") }
        return TriggerBody(trigger.sql)?.text(withoutWritesTo: tracked)
    }

    /// Why statements that fire a trigger's copy cannot be prepared; nil where they can.
    private func complaint(about trigger: Trigger) -> String? {
        guard let table = catalog.tables.first(where: { $0.schema.name.folded == trigger.table.folded })
        else { return nil }
        for sql in Self.firing(table) {
            do {
                _ = try Statement(sql, on: connection)
            } catch let error as LogSyncError {
                // What SQLite says stands between the file's name and the code.
                let words = error.message.replacing("\(connection.path): ", with: "")
                return words.firstRange(of: " (SQLite code").map { String(words[..<$0.lowerBound]) } ?? words
            } catch {
                return String(describing: error)
            }
        }
        return nil
    }

    /// Statements that fire a table's triggers.
    private static func firing(_ table: TrackedTable) -> [String] {
        let columns = table.schema.columns.filter { !$0.isGenerated }.map { SQL.name($0.name) }
        let assignments = columns.map { "\($0) = \($0)" }.joined(separator: ", ")
        return [
            "INSERT INTO \(table.quoted) DEFAULT VALUES", "UPDATE \(table.quoted) SET \(assignments)",
            "DELETE FROM \(table.quoted)",
        ]
    }

    /// What an import's statement says of conflicts goes before what the statements of a trigger say, which it fires:
    /// an INSERT OR REPLACE that keeps a count would fail. It says nothing where triggers fire.
    ///
    /// Source: <https://www.sqlite.org/lang_createtrigger.html>.
    func setConflicts() throws {
        let withClauses = try tablesWithClauses()
        let fired = Set(
            try connection.rows("SELECT tbl_name FROM temp.sqlite_master WHERE type = 'trigger'")
                .map { String(text: $0[0]).folded })
        for table in catalog.tables {
            let name = table.schema.name.folded
            table.conflicts =
                !fired.contains(name) ? .abort : withClauses.contains(name) ? .probed : .unsaid
        }
    }

    /// The tables whose constraints may have clauses of their own for conflicts, by folded name.
    private func tablesWithClauses() throws -> Set<String> {
        Set(
            try connection.rows("SELECT name FROM main.sqlite_master WHERE type = 'table' AND sql LIKE '%CONFLICT%'")
                .map { String(text: $0[0]).folded })
    }

    /// What is thrown where a program's trigger has refused a row that its table takes; nil where none fired.
    static func refusal(of table: TrackedTable, on connection: Connection) -> LogSyncError? {
        connection.failedTrigger.flatMap(name).map { name in
            LogSyncError(
                .invalidStore,
                "\(beginning(name)) a row of \(table.name): \(connection.triggersFailure); nothing was changed",
                help: "Mend the trigger, or what is in the way in the table that it writes")
        }
    }

    /// Whether an error is ``refusal(of:on:)`` of the last row that was written.
    static func isRefusal(_ error: LogSyncError, on connection: Connection) -> Bool {
        connection.failedTrigger.flatMap(name).map { error.message.hasPrefix(beginning($0)) } ?? false
    }

    private static func beginning(_ trigger: String) -> String { "the trigger \(trigger) refuses" }

    static func remove(on connection: Connection) throws {
        connection.unboundWrites()
        for name in try connection.rows("SELECT name FROM temp.sqlite_master WHERE type = 'trigger'") {
            let name = String(text: name[0])
            if name.hasPrefix(copyPrefix) { try connection.execute("DROP TRIGGER temp.\(SQL.name(name))") }
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
    private func tablesWritten() throws -> [String: Set<String>] {
        let second = try SecondConnection(connection.path, flags: SQLITE_OPEN_READONLY, extensions: extensions)
        let handle = second.connection.handle
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
            for sql in Self.firing(table) {
                var statement: OpaquePointer?
                // One that cannot be prepared fires no trigger; its trigger is then unknown, and stays silent.
                sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
                sqlite3_finalize(statement)
            }
        }
        withExtendedLifetime((observed, second)) {}
        return observed.writes
    }
}

/// What an import's statement that writes one row of a program's table says of conflicts.
enum WrittenConflicts {
    /// `OR ABORT`, lest clauses of the table's own act.
    case abort
    /// Nothing: the statements of triggers that fire may have clauses, and the table has none.
    case unsaid
    /// Nothing either, and the table has clauses: that they do not act is found out first (``RowStatement``).
    case probed

    static let abortClause = "OR ABORT "
}
