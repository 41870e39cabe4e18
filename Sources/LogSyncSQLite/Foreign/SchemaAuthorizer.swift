import LogSyncModel
import GRDBSQLite

/// What a statement of a foreign schema may do, asked by SQLite while it is prepared.
///
/// Source: <https://www.sqlite.org/c3ref/set_authorizer.html>, <https://www.sqlite.org/c3ref/c_alter_table.html>.
final class SchemaAuthorizer {
    /// What is being prepared: a statement of the schema, or a question about an object that it made.
    enum Purpose: Equatable {
        case statement(ForeignSchema.Kind)
        case inspection
    }

    var purpose = Purpose.inspection
    /// What the statement wanted and no schema needs; the first of it.
    private(set) var transgression: String?
    /// In lower case.
    private let functions: Set<String>

    init(functions: Set<String>) {
        self.functions = functions
    }

    /// Asks for every statement that `connection` prepares from now on.
    func attach(to connection: Connection) {
        sqlite3_set_authorizer(
            connection.handle,
            { context, action, first, second, database, _ in
                guard let context else { return SQLITE_DENY }
                func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
                return Unmanaged<SchemaAuthorizer>.fromOpaque(context).takeUnretainedValue()
                    .answer(action, text(first).folded, text(second).folded, database.map { text($0) })
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    static func detach(from connection: Connection) {
        sqlite3_set_authorizer(connection.handle, nil, nil)
    }

    private func answer(_ action: Int32, _ first: String, _ second: String, _ database: String?) -> Int32 {
        // One that is not there is no transgression: what calls it is left out.
        if action == SQLITE_FUNCTION { return functions.contains(second) ? SQLITE_OK : SQLITE_DENY }
        if database ?? "main" == "main", !first.hasPrefix("logsync_"), allows(action, first) { return SQLITE_OK }
        if transgression == nil {
            transgression = "wants what no schema needs (\(Self.name(of: action)) \(first.prefix(40)))"
        }
        return SQLITE_DENY
    }

    private func allows(_ action: Int32, _ name: String) -> Bool {
        switch purpose {
        case .inspection:
            // Nothing of it is run. A virtual table that is connected asks a little on its own.
            return Self.reading.contains(action) || Self.writing.contains(action)
                || action == SQLITE_PRAGMA && Self.modulePragmas.contains(name)
        case .statement(.virtualTable):
            // The module makes its own tables, and writes into them.
            return [SQLITE_CREATE_VTABLE, SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_SELECT, SQLITE_READ]
                .contains(action)
                || Self.writing.contains(action) || action == SQLITE_PRAGMA && Self.modulePragmas.contains(name)
        case .statement(.table): return creates(SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, action, name)
        case .statement(.index): return creates(SQLITE_CREATE_INDEX, SQLITE_REINDEX, action, name)
        case .statement(.view): return creates(SQLITE_CREATE_VIEW, SQLITE_CREATE_VIEW, action, name)
        case .statement(.trigger): return creates(SQLITE_CREATE_TRIGGER, SQLITE_CREATE_TRIGGER, action, name)
        case .statement(.pragma): return action == SQLITE_PRAGMA
        case .statement(.insert(let table)):
            return action == SQLITE_READ || action == SQLITE_INSERT && name == table && !name.hasPrefix("sqlite_")
        }
    }

    /// SQLite notes a new object in tables of its own.
    private func creates(_ action: Int32, _ another: Int32, _ asked: Int32, _ name: String) -> Bool {
        asked == action || asked == another || asked == SQLITE_READ
            || Self.writing.contains(asked) && name.hasPrefix("sqlite_")
    }

    private static let reading = [SQLITE_SELECT, SQLITE_READ, SQLITE_RECURSIVE]
    private static let writing = [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE]
    /// What FTS and R*Tree ask of the database that they are in.
    private static let modulePragmas: Set<String> = ["data_version", "page_size"]

    private static func name(of action: Int32) -> String {
        switch action {
        case SQLITE_ATTACH: "ATTACH"
        case SQLITE_SELECT: "SELECT"
        case SQLITE_PRAGMA: "PRAGMA"
        case SQLITE_TRANSACTION: "a transaction"
        case SQLITE_READ, SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE: "the table"
        default: "action \(action) on"
        }
    }
}
