import GRDBSQLite
import LogSyncModel

/// What a condition on a table's rows may do, asked by SQLite while it is prepared: read this database's tables and views
/// that are not logsync's or SQLite's own, and call functions that SQLite holds harmless.
///
/// Source: <https://www.sqlite.org/c3ref/set_authorizer.html>.
package final class ConditionAuthorizer {
    /// In lower case.
    private let tables: Set<String>
    private let functions: Set<String>
    /// What was refused, for people; the first of it.
    private(set) var transgression: String?

    private init(_ connection: Connection) throws {
        let names = try connection.rows("SELECT lower(name) FROM main.sqlite_master WHERE type IN ('table', 'view')")
        tables = Set(
            names.map { String(text: $0[0]) }.filter { !$0.hasPrefix("logsync_") && !$0.hasPrefix("sqlite_") })
        functions = try connection.harmlessFunctions()
    }

    /// Prepares a statement with a condition in it.
    ///
    /// - Throws: `usage` where the condition wants more than it may, or is none that SQLite understands.
    package static func prepare(_ sql: String, condition: String, on connection: Connection) throws -> Statement {
        let authorizer = try ConditionAuthorizer(connection)
        authorizer.attach(to: connection)
        defer { sqlite3_set_authorizer(connection.handle, nil, nil) }
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v2(connection.handle, sql, -1, &handle, nil)
        sqlite3_finalize(handle)
        guard code == SQLITE_OK else {
            let reason = authorizer.transgression ?? String(cString: sqlite3_errmsg(connection.handle))
            throw LogSyncError(
                .usage, "the condition \(condition.debugDescription) cannot be used: \(reason); nothing was changed",
                help: "Write one as after WHERE, over the columns of the table, such as: done = 0 AND priority >= 3")
        }
        return try Statement(sql, on: connection)
    }

    /// - Throws: `usage` where a text is not one expression, but for what only SQLite can tell.
    package static func check(_ condition: String) throws {
        let tokens = SQLTokens(condition)
        var depth = 0
        var fault: String? = tokens.count == 0 ? "it is empty" : nil
        for index in 0..<tokens.count {
            switch tokens.word(index) {
            case "(": depth += 1
            case ")": depth -= 1
            case ";": fault = fault ?? "it is more than one statement"
            case "?", "@", ":": fault = fault ?? "it has a parameter"
            case let word where word.hasPrefix("$"): fault = fault ?? "it has a parameter"
            default: break
            }
            if depth < 0 { fault = fault ?? "its parentheses do not match" }
        }
        if depth > 0 { fault = fault ?? "its parentheses do not match" }
        if condition.utf8.contains(0) { fault = "it has a zero byte in it" }
        guard let fault else { return }
        throw LogSyncError(
            .usage, "the condition \(condition.debugDescription) cannot be used: \(fault); nothing was changed",
            help: "Write one as after WHERE, over the columns of the table, such as: done = 0 AND priority >= 3")
    }

    private func attach(to connection: Connection) {
        sqlite3_set_authorizer(
            connection.handle,
            { context, action, first, second, database, _ in
                guard let context else { return SQLITE_DENY }
                func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
                return Unmanaged<ConditionAuthorizer>.fromOpaque(context).takeUnretainedValue()
                    .answer(action, text(first).folded, text(second).folded, database.map { text($0) })
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func answer(_ action: Int32, _ first: String, _ second: String, _ database: String?) -> Int32 {
        switch action {
        case SQLITE_SELECT: return SQLITE_OK
        case SQLITE_READ where database ?? "main" == "main" && tables.contains(first): return SQLITE_OK
        case SQLITE_READ: return refuse("it reads \(first), which is no table of the program's")
        case SQLITE_FUNCTION where functions.contains(second): return SQLITE_OK
        case SQLITE_FUNCTION: return refuse("it calls \(second), which SQLite does not hold harmless")
        default: return refuse("it does more than read tables")
        }
    }

    private func refuse(_ why: String) -> Int32 {
        transgression = transgression ?? why
        return SQLITE_DENY
    }
}
