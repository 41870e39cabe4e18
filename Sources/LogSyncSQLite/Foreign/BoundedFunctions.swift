import GRDBSQLite
import LogSyncModel

/// SQLite's functions that hold two values of a row against each other, byte by byte, and cannot be interrupted meanwhile: of
/// two long values one call takes days, and a CHECK, an index or a generated column of the program's may be such a call.
///
/// Each is replaced by one that says beforehand what the call may come to, and has SQLite's own do it on a connection of its
/// own: what it returns is the same to the byte, as an index needs it. Source: <https://www.sqlite.org/lang_corefunc.html>.
final class BoundedFunctions {
    /// How many bytes may be compared for one row: a few seconds at the most.
    static let row = 100_000_000_000
    /// For a statement that may write a whole table.
    static let table = 20 * row
    /// What the error of a call says that was not made.
    static let refusal = "takes longer than a row may"

    /// A function by its name and number of arguments.
    private struct Kind {
        var name: String
        var arguments: Int32
        /// The time of one comparison, of `instr`'s.
        var weight: Int
    }

    private static let kinds = [
        Kind(name: "instr", arguments: 2, weight: 1), Kind(name: "replace", arguments: 3, weight: 1),
        Kind(name: "like", arguments: 2, weight: 30), Kind(name: "like", arguments: 3, weight: 30),
        Kind(name: "glob", arguments: 2, weight: 30), Kind(name: "trim", arguments: 2, weight: 250),
        Kind(name: "ltrim", arguments: 2, weight: 250), Kind(name: "rtrim", arguments: 2, weight: 250),
    ]

    private final class Function {
        let functions: BoundedFunctions
        let kind: Kind
        let statement: OpaquePointer

        init(_ functions: BoundedFunctions, _ kind: Kind, _ statement: OpaquePointer) {
            self.functions = functions
            self.kind = kind
            self.statement = statement
        }

        deinit { sqlite3_finalize(statement) }

        func call(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
            guard let values, count == kind.arguments else { return }
            guard functions.takes(kind, values) else {
                return sqlite3_result_error(
                    context, "\(kind.name)() of values that are so long \(BoundedFunctions.refusal)", -1)
            }
            defer {
                sqlite3_reset(statement)
                sqlite3_clear_bindings(statement)
            }
            for index in 0..<count {
                let code = sqlite3_bind_value(statement, index + 1, values[Int(index)])
                guard code == SQLITE_OK else { return sqlite3_result_error_code(context, code) }
            }
            guard sqlite3_step(statement) == SQLITE_ROW else {
                let code = sqlite3_errcode(functions.scratch)
                sqlite3_result_error(context, sqlite3_errmsg(functions.scratch), -1)
                return sqlite3_result_error_code(context, code)
            }
            sqlite3_result_value(context, sqlite3_column_value(statement, 0))
        }
    }

    /// Has SQLite's own functions.
    private let scratch: OpaquePointer
    /// How many comparisons are left; nil where there may be any number.
    var left: Int?

    /// - Parameters:
    ///   - connection: has no statement that is under way. The functions keep this object as long as it is open.
    ///   - replaced: names of functions that are not SQLite's own there, but an extension's: they are left as they are.
    /// - Throws: what SQLite says where one cannot be replaced; it is out of memory, or a statement is under way.
    init(on connection: Connection, except replaced: Set<String>) throws {
        var opened: OpaquePointer?
        guard sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw SQLiteFailure.error(code: SQLITE_NOMEM, message: "out of memory", file: connection.path, sql: "")
        }
        scratch = opened
        for kind in Self.kinds where !replaced.contains(kind.name) {
            let places = Array(repeating: "?", count: Int(kind.arguments)).joined(separator: ", ")
            var statement: OpaquePointer?
            let sql = "SELECT \(kind.name)(\(places))"
            var code = sqlite3_prepare_v3(scratch, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
            guard code == SQLITE_OK, let statement else {
                throw SQLiteFailure.error(
                    code: code, message: String(cString: sqlite3_errmsg(scratch)), file: connection.path, sql: sql)
            }
            code = sqlite3_create_function_v2(
                connection.handle, kind.name, kind.arguments, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                Unmanaged.passRetained(Function(self, kind, statement)).toOpaque(),
                { context, count, values in
                    guard let function = sqlite3_user_data(context) else { return }
                    Unmanaged<Function>.fromOpaque(function).takeUnretainedValue().call(context, count, values)
                }, nil, nil, { $0.map { Unmanaged<Function>.fromOpaque($0).release() } })
            guard code == SQLITE_OK else { throw connection.failure(code, kind.name) }
        }
    }

    deinit { sqlite3_close_v2(scratch) }

    /// Whether a call may go on: what is left has room for its comparisons at the worst.
    private func takes(_ kind: Kind, _ values: UnsafeMutablePointer<OpaquePointer?>) -> Bool {
        guard let left else { return true }
        func length(_ index: Int) -> Int { Int(sqlite3_value_bytes(values[index])) }
        // Lengths are at most 2³¹, so the product of two of them is within Int, and what it is weighed with may not be.
        let (cost, overflows) = (length(0) * length(1)).multipliedReportingOverflow(by: kind.weight)
        guard !overflows, cost <= left else { return false }
        self.left = left - cost
        return true
    }
}

extension Connection {
    /// Whether the schema calls any of ``BoundedFunctions``, as far as its text says.
    private static let callers = """
        SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE name NOT LIKE 'logsync\\_%' ESCAPE '\\' AND (
            sql LIKE '%instr%' OR sql LIKE '%replace%' OR sql LIKE '%like%' OR sql LIKE '%glob%' OR sql LIKE '%trim%'))
        """

    /// An index whose values one of these has made is sound with that one alone.
    private static let replaced = "SELECT DISTINCT lower(name) FROM pragma_function_list WHERE NOT builtin"

    /// Bounds what the functions that the schema calls may cost while rows are written. Call it when the schema has been read
    /// anew and no statement is under way.
    package func boundFunctions() throws {
        guard functions == nil, try integer(Self.callers) == 1 else { return }
        let replaced = try Set(rows(Self.replaced).map { String(text: $0[0]) })
        finalizeStatements()
        functions = try BoundedFunctions(on: self, except: replaced)
        isBounded = true
    }
}
