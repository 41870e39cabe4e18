import CLogSyncSQLite
import Foundation
import GRDBSQLite
import LogSyncModel

/// Runs the statements of a ``ForeignSchema`` on a connection that is bridled meanwhile.
struct SchemaLoader {
    private let connection: Connection
    private let authorizer: SchemaAuthorizer
    /// Of this user's programs; lower case.
    private let functions: Set<String>
    private let clock = SchemaClock()

    init(_ connection: Connection, functions: Set<String>) throws {
        self.connection = connection
        self.functions = Set(functions.map { $0.folded })
        authorizer = SchemaAuthorizer(functions: try connection.harmlessFunctions().union(self.functions))
    }

    func run(_ statements: [(kind: ForeignSchema.Kind, sql: String)]) throws -> [UnmadeObject] {
        try connection.takingTexts { try load(statements) }
    }

    private func load(_ statements: [(kind: ForeignSchema.Kind, sql: String)]) throws -> [UnmadeObject] {
        let stubs = SchemaStubs(connection, functions: functions)
        let before = try bridle()
        defer { unbridle(before) }
        defer { stubs.remove() }
        var unmade: [UnmadeObject] = []
        var tables: Set<String> = []
        var refused: [String: String] = [:]
        for (kind, sql) in statements {
            if case .insert(let table) = kind {
                guard tables.contains(table) else { continue }
                let reason = try insert(sql, kind, stubs)
                if refused[table] == nil { refused[table] = reason }
                continue
            }
            guard let reason = try create(sql, kind) else {
                if kind == .table { tables.insert(SQLTokens(sql).name(2).folded) }
                continue
            }
            if kind == .pragma { throw ForeignSchema.refusal("sets a pragma that SQLite refuses: \(reason)") }
            unmade.append(UnmadeObject(object: Self.objectName(sql, kind), reason: reason))
        }
        for (table, reason) in refused.sorted(by: { $0.key < $1.key }) {
            try empty(table)
            unmade.append(UnmadeObject(object: "rows of \(table)", reason: reason))
        }
        let wanted = statements.contains { $0.kind == .table }
        // A default that calls a function which is not here is sound SQL: its table waits for that.
        let waits = unmade.contains { $0.reason.contains(Self.isForeign) }
        if wanted, tables.isEmpty, !waits, let first = unmade.first {
            throw ForeignSchema.refusal("makes no table that SQLite understands (\(first.reason))")
        }
        // Those of a view go with it.
        let triggers = try objects("trigger")
        return try unmade + inspectViews() + inspect(triggers)
    }

    // MARK: Statements

    /// - Returns: why it was not made; nil where it was.
    private func create(_ sql: String, _ kind: ForeignSchema.Kind) throws -> String? {
        if kind == .trigger || kind == .view, Limits.schemaTokens < SQLTokens(sql).count {
            return "it is longer than any that people write"
        }
        authorizer.purpose = .statement(kind)
        if let reason = try perform(sql) { return reason }
        switch kind {
        case .table: return try inspectColumns(sql) ?? inspectDefaults(sql) ?? inspectSizes(sql, kind)
        case .index: return try inspectSizes(sql, kind)
        default: return nil
        }
    }

    /// Rows wait for their program where they cannot be brought into its order here.
    private func insert(_ sql: String, _ kind: ForeignSchema.Kind, _ stubs: SchemaStubs) throws -> String? {
        authorizer.purpose = .statement(kind)
        // A row of literals takes what its bytes take, and there may be many.
        return try clock.pausing {
            let reason = try perform(sql)
            let order = stubs.takeMissingOrder()
            return order.map { "the collation \($0) is not here" } ?? reason
        }
    }

    /// - Returns: what SQLite says against it; nil where it was run.
    /// - Throws: `invalidStore` where it transgresses, is too large or takes too long.
    private func perform(_ sql: String, runs: Bool = true) throws -> String? {
        try sql.withCString { start in
            var statement: OpaquePointer?
            var tail: UnsafePointer<CChar>?
            var code = sqlite3_prepare_v2(connection.handle, start, -1, &statement, &tail)
            defer { sqlite3_finalize(statement) }
            if code == SQLITE_OK, let tail, tail.pointee != 0 {
                throw ForeignSchema.refusal("has a statement that is two: \(sql.prefix(40))")
            }
            if code == SQLITE_OK, runs {
                repeat { code = sqlite3_step(statement) } while code == SQLITE_ROW
                if code == SQLITE_DONE { code = SQLITE_OK }
            }
            let message = String(cString: sqlite3_errmsg(connection.handle))
            if let transgression = authorizer.transgression { throw ForeignSchema.refusal(transgression) }
            try checkTime()
            switch code & 0xFF {
            case SQLITE_OK: return nil
            // There is no more memory than the steps may take.
            case SQLITE_NOMEM: return Self.isTooLong
            case SQLITE_TOOBIG: throw ForeignSchema.refusal("is larger than a schema may be: \(message)")
            case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY:
                throw connection.failure(code, String(sql.prefix(80)))
            default: return message
            }
        }
    }

    // MARK: Questions afterwards

    private static let isTooLong = "what reads or writes it is more than \(Limits.schemaSteps) steps for SQLite"

    /// What its columns would be to those who read all of them.
    private func inspectColumns(_ sql: String) throws -> String? {
        let name = SQLTokens(sql).name(2)
        let reason = try unguarded { () -> String? in
            let count = try connection.integer("SELECT count(*) FROM pragma_table_xinfo(?)", .text(name)) ?? 0
            if count > Limits.columns {
                return "it has \(count) columns: with what else is asked of a row they are more than SQLite selects"
            }
            if SchemaWeights.areColumnsTooHeavy(sql) { return Self.isTooLong }
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            let code = sqlite3_prepare_v2(
                connection.handle, "SELECT * FROM main.\(SQL.name(name))", -1, &statement, nil)
            return code & 0xFF == SQLITE_NOMEM ? Self.isTooLong : nil
        }
        try checkTime()
        guard let reason else { return nil }
        try unguarded { try connection.execute("DROP TABLE main.\(SQL.name(name))") }
        return reason
    }

    /// SQLite asks for the functions of a default when it is taken, not when it is declared.
    private func inspectDefaults(_ sql: String) throws -> String? {
        guard Self.hasDefaults(sql) else { return nil }
        let name = SQL.name(SQLTokens(sql).name(2))
        guard let reason = try inspect("INSERT INTO main.\(name) DEFAULT VALUES") else { return nil }
        try unguarded { try connection.execute("DROP TABLE main.\(name)") }
        return reason
    }

    /// What the expressions of a table or an index come to, of which SQLite asks no limit of a schema's any more when rows are
    /// filled in.
    private func inspectSizes(_ sql: String, _ kind: ForeignSchema.Kind) throws -> String? {
        authorizer.purpose = .inspection
        let name = Self.objectName(sql, kind)
        var defaults: Int64 = 0
        if kind == .table, Self.hasDefaults(sql) {
            // Literals are as long as they are written.
            defaults =
                try unguarded {
                    try connection.integer(
                        "SELECT sum(length(CAST(dflt_value AS BLOB))) FROM pragma_table_xinfo(?)", .text(name))
                } ?? 0
        }
        let isTooLarge = ConstantExpressions(sql, on: connection).exceed(
            Limits.schemaConstants - Int(clamping: defaults))
        try checkTime()
        guard isTooLarge else { return nil }
        try unguarded {
            try connection.execute("DROP \(kind == .table ? "TABLE" : "INDEX") main.\(SQL.name(name))")
        }
        return "its expressions come to more than \(Limits.schemaConstants) bytes for each row, whatever is in it"
    }

    private static func hasDefaults(_ sql: String) -> Bool {
        sql.range(of: "DEFAULT", options: .caseInsensitive) != nil
    }

    private func checkTime() throws {
        if clock.isOver { throw ForeignSchema.refusal("takes longer than a schema may") }
    }

    private func inspectViews() throws -> [UnmadeObject] {
        let views = try objects("view")
        let weights = SchemaWeights(views.map { ($0.name, $0.sql) })
        return try views.compactMap { view in
            let reason =
                try weights.isTooHeavy(view.name)
                ? SchemaWeights.reason : inspect("SELECT * FROM main.\(SQL.name(view.name))")
            guard let reason else { return nil }
            try unguarded { try connection.execute("DROP VIEW IF EXISTS main.\(SQL.name(view.name))") }
            return UnmadeObject(object: view.name, reason: reason)
        }
    }

    private func inspect(_ triggers: [SchemaObject]) throws -> [UnmadeObject] {
        try connection.setTriggersEnabled(true)
        defer { try? connection.setTriggersEnabled(false) }
        let weights = SchemaWeights(try (objects("view") + triggers).map { ($0.name, $0.sql) })
        var unmade: [UnmadeObject] = []
        func take(_ trigger: SchemaObject, _ reason: String) throws {
            try unguarded { try connection.execute("DROP TRIGGER IF EXISTS main.\(SQL.name(trigger.name))") }
            unmade.append(UnmadeObject(object: trigger.name, reason: reason))
        }
        // Each alone, for one that cannot be prepared hides all others of its table.
        for trigger in triggers {
            try unguarded { try connection.execute("DROP TRIGGER IF EXISTS main.\(SQL.name(trigger.name))") }
        }
        for trigger in triggers {
            if weights.isTooHeavy(trigger.name) {
                unmade.append(UnmadeObject(object: trigger.name, reason: SchemaWeights.reason))
                continue
            }
            authorizer.purpose = .statement(.trigger)
            if let reason = try perform(trigger.sql) {
                unmade.append(UnmadeObject(object: trigger.name, reason: reason))
                continue
            }
            guard let event = try firing(trigger) else {
                try take(trigger, "it cannot be told when it fires")
                continue
            }
            if let reason = try inspect(event) { try take(trigger, reason) }
        }
        return unmade
    }

    /// A statement that fires the trigger.
    private func firing(_ trigger: SchemaObject) throws -> String? {
        let tokens = SQLTokens(trigger.sql)
        var index = 3
        guard tokens.count > 6 else { return nil }
        if tokens.word(index) == "INSTEAD" { index += 2 }
        if ["BEFORE", "AFTER"].contains(tokens.word(index)) { index += 1 }
        let table = "main." + SQL.name(trigger.table)
        switch tokens.word(index) {
        case "INSERT": return "INSERT INTO \(table) DEFAULT VALUES"
        case "DELETE": return "DELETE FROM \(table)"
        case "UPDATE":
            let columns = try unguarded {
                try connection.rows(
                    "SELECT name FROM pragma_table_xinfo(?) WHERE hidden NOT IN (2, 3)", .text(trigger.table))
            }.map { SQL.name(String(text: $0[0])) }
            guard !columns.isEmpty else { return nil }
            return "UPDATE \(table) SET " + columns.map { "\($0) = \($0)" }.joined(separator: ", ")
        default: return nil
        }
    }

    private func inspect(_ sql: String) throws -> String? {
        authorizer.purpose = .inspection
        return try perform(sql, runs: false).map(Self.explanation)
    }

    private static let isForeign = "which is not one of SQLite's harmless functions"

    private static func explanation(_ message: String) -> String {
        let lacks = ["not authorized to use function: ", "no such function: ", "unknown function: ", "unsafe use of "]
        guard let lack = lacks.first(where: message.hasPrefix) else { return message }
        let name = message.dropFirst(lack.count).filter { $0 != "(" && $0 != ")" }
        return "it calls \(name), \(isForeign); a clone with --function \(name) has it, for a program that defines it"
    }

    private struct SchemaObject {
        var name: String
        var table: String
        var sql: String
    }

    private func objects(_ type: String) throws -> [SchemaObject] {
        try unguarded {
            try connection.rows(
                "SELECT name, tbl_name, sql FROM main.sqlite_master WHERE type = ? AND sql IS NOT NULL ORDER BY rowid",
                .text(type))
        }.map { SchemaObject(name: String(text: $0[0]), table: String(text: $0[1]), sql: String(text: $0[2])) }
    }

    private func empty(_ table: String) throws {
        try unguarded { try connection.execute("DELETE FROM main.\(SQL.name(table))") }
    }

    static func objectName(_ sql: String, _ kind: ForeignSchema.Kind) -> String {
        let tokens = SQLTokens(sql)
        let place = kind == .virtualTable || tokens.word(1) == "UNIQUE" ? 3 : 2
        return place < tokens.count ? tokens.name(place) : String(sql.prefix(40))
    }

    // MARK: The bridle

    /// Runs SQL of our own in between.
    private func unguarded<Result>(_ body: () throws -> Result) throws -> Result {
        SchemaAuthorizer.detach(from: connection)
        defer { authorizer.attach(to: connection) }
        do {
            return try body()
        } catch {
            // What is interrupted may be ours.
            try checkTime()
            throw error
        }
    }

    private struct Limit {
        var id: Int32
        var value: Int32
    }

    /// Source: <https://www.sqlite.org/c3ref/c_limit_attached.html>.
    private static let limits = [
        Limit(id: SQLITE_LIMIT_ATTACHED, value: 0), Limit(id: SQLITE_LIMIT_LENGTH, value: Int32(Limits.schemaLength)),
        Limit(id: SQLITE_LIMIT_VDBE_OP, value: Int32(Limits.schemaSteps)),
        Limit(id: SQLITE_LIMIT_EXPR_DEPTH, value: Int32(Limits.schemaExpressionDepth)),
        Limit(id: SQLITE_LIMIT_COMPOUND_SELECT, value: Int32(Limits.schemaCompound)),
        Limit(id: SQLITE_LIMIT_TRIGGER_DEPTH, value: Int32(Limits.schemaTriggerDepth)),
    ]

    private func bridle() throws -> [Limit] {
        try connection.setTriggersEnabled(false)
        authorizer.attach(to: connection)
        sqlite3_progress_handler(
            connection.handle, 10_000,
            { $0.map { Unmanaged<SchemaClock>.fromOpaque($0).takeUnretainedValue().isOver ? 1 : 0 } ?? 1 },
            Unmanaged.passUnretained(clock).toOpaque())
        return Self.limits.map { Limit(id: $0.id, value: sqlite3_limit(connection.handle, $0.id, $0.value)) }
    }

    private func unbridle(_ limits: [Limit]) {
        for limit in limits { sqlite3_limit(connection.handle, limit.id, limit.value) }
        sqlite3_progress_handler(connection.handle, 0, nil, nil)
        SchemaAuthorizer.detach(from: connection)
    }
}

/// Stand-ins for what a program on this machine has and this process has not.
private final class SchemaStubs {
    private let connection: Connection
    private let functions: Set<String>
    /// The collations by which rows could not be ordered since that was asked.
    private var missingOrders: Set<String> = []
    private var collations: [Substitute] = []

    /// One collation that is not here, which SQLite asks by its address.
    private final class Substitute {
        unowned let stubs: SchemaStubs
        let name: String

        init(_ stubs: SchemaStubs, _ name: String) {
            self.stubs = stubs
            self.name = name
        }
    }

    /// A collation that the last row could not be ordered by, if one was asked.
    func takeMissingOrder() -> String? {
        defer { missingOrders = [] }
        return missingOrders.min()
    }

    init(_ connection: Connection, functions: Set<String>) {
        self.connection = connection
        self.functions = functions
        for name in functions {
            sqlite3_create_function_v2(
                connection.handle, name, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nil,
                { context, _, _ in sqlite3_result_error(context, "this function is its program's", -1) }, nil, nil, nil)
        }
        sqlite3_collation_needed(
            connection.handle, Unmanaged.passUnretained(self).toOpaque(),
            { context, _, _, name in
                guard let context, let name else { return }
                Unmanaged<SchemaStubs>.fromOpaque(context).takeUnretainedValue().define(String(cString: name))
            })
    }

    private func define(_ name: String) {
        // SQLite makes its own for UTF-16 of those for UTF-8, when nobody else has them.
        guard Collation(rawValue: name.uppercased()) == nil else { return }
        let substitute = Substitute(self, name)
        collations.append(substitute)
        sqlite3_create_collation_v2(
            connection.handle, name, SQLITE_UTF8, Unmanaged.passUnretained(substitute).toOpaque(),
            { context, _, _, _, _ in
                guard let context else { return 0 }
                let substitute = Unmanaged<Substitute>.fromOpaque(context).takeUnretainedValue()
                substitute.stubs.missingOrders.insert(substitute.name)
                return 0
            }, nil)
    }

    func remove() {
        sqlite3_collation_needed(connection.handle, nil, nil)
        for collation in collations {
            sqlite3_create_collation_v2(connection.handle, collation.name, SQLITE_UTF8, nil, nil, nil)
        }
        for name in functions {
            sqlite3_create_function_v2(connection.handle, name, -1, SQLITE_UTF8, nil, nil, nil, nil, nil)
        }
    }
}
