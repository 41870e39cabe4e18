import Foundation
import GRDBSQLite
import LogSyncModel

/// How much work a statement that writes rows may be while triggers of the program's fire with it: those of a clone are
/// out of a schema that anybody may have written into the shared folder, and one of them may have no end. It knows, too,
/// which trigger fired last.
///
/// In instructions of SQLite's virtual machine, which counts a few for each row and column. Sources:
/// <https://www.sqlite.org/c3ref/progress_handler.html>, <https://www.sqlite.org/c3ref/trace_v2.html>.
final class WriteBudget {
    /// Of one row, or of a few that are written together, and of each time that a trigger fires: about two seconds.
    static let rows = 200_000_000
    /// Of a statement that may write a whole table.
    static let table = 20 * rows

    /// After how many instructions it is asked again.
    private static let interval = 1_000_000

    /// Whether there is one, now.
    fileprivate var isOn = true
    private var left: Int?
    /// Since a trigger fired.
    private var leftOfTrigger = WriteBudget.rows
    private(set) var isSpent = false
    /// The trigger that fired last in the statement at hand.
    private var fired: [CChar] = []
    /// The trigger that had fired last when a statement failed.
    fileprivate(set) var failedTrigger: String?
    /// What SQLite said then.
    fileprivate(set) var failure = ""

    /// Has the connection's statements ask. A function that nobody calls keeps this object as long as SQLite's connection
    /// is open, which may be longer than ours is there.
    init(on handle: OpaquePointer) {
        let object = Unmanaged.passRetained(self).toOpaque()
        sqlite3_create_function_v2(
            handle, "logsync_budget", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, object,
            { context, _, _ in
                sqlite3_result_null(context)
            }, nil, nil, { $0.map { Unmanaged<WriteBudget>.fromOpaque($0).release() } })
        sqlite3_progress_handler(
            handle, Int32(Self.interval),
            { $0.map { Unmanaged<WriteBudget>.fromOpaque($0).takeUnretainedValue().spends() ? 1 : 0 } ?? 0 }, object)
        sqlite3_trace_v2(
            handle, UInt32(SQLITE_TRACE_STMT),
            { _, object, _, text in
                guard let object, let text else { return 0 }
                Unmanaged<WriteBudget>.fromOpaque(object).takeUnretainedValue()
                    .note(text.assumingMemoryBound(to: CChar.self))
                return 0
            }, object)
    }

    private func spends() -> Bool {
        guard let left else { return false }
        self.left = left - Self.interval
        leftOfTrigger -= Self.interval
        isSpent = left < 0 || !fired.isEmpty && leftOfTrigger < 0
        return isSpent
    }

    /// What SQLite says begins: a statement, or a comment that names a trigger. Within a virtual table's own statements it is a
    /// comment in a comment.
    private func note(_ text: UnsafePointer<CChar>) {
        var text = text
        while strncmp(text, "-- ", 3) == 0 { text += 3 }
        guard left != nil, strncmp(text, Self.word, Self.word.utf8.count) == 0 else { return }
        text += Self.word.utf8.count
        fired.removeAll(keepingCapacity: true)
        fired.append(contentsOf: UnsafeBufferPointer(start: text, count: min(strlen(text), 200)))
        leftOfTrigger = Self.rows
    }

    private static let word = "TRIGGER "

    func begin(_ instructions: Int) {
        (left, isSpent, failedTrigger) = (isOn ? instructions : nil, false, nil)
        fired.removeAll(keepingCapacity: true)
    }

    func end() { left = nil }

    fileprivate func fail() {
        let name = String(decoding: fired.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        failedTrigger = name.isEmpty ? nil : name
    }
}

extension Connection {
    /// One step of a statement that may write a whole table, if it writes anything.
    @usableFromInline
    func boundedStep(_ statement: OpaquePointer) -> Int32 {
        guard sqlite3_stmt_readonly(statement) == 0 else { return sqlite3_step(statement) }
        budget?.begin(WriteBudget.table)
        functions?.left = BoundedFunctions.table
        defer { endRow() }
        return sqlite3_step(statement)
    }

    /// Begins a statement that writes one row, or a few.
    func beginRow() {
        budget?.begin(WriteBudget.rows)
        functions?.left = BoundedFunctions.row
    }

    func endRow() {
        budget?.end()
        functions?.left = nil
    }

    /// Has statements that write rows end after a while, whatever fires with them; until ``unboundWrites()``.
    package func boundWrites() {
        budget = budget ?? WriteBudget(on: handle)
        isBounded = true
        budget?.isOn = true
    }

    package func unboundWrites() { budget?.isOn = false }

    /// The trigger that had fired last when the last statement that writes rows failed; nil where none had, or none failed.
    package var failedTrigger: String? { budget?.failedTrigger }

    /// What SQLite said then.
    package var triggersFailure: String { budget?.failure ?? "" }

    /// Notes that a constraint has refused what a statement writes: the table's own, or one of a table that a trigger writes.
    func noteRefusal() {
        budget?.fail()
        budget?.failure = String(cString: sqlite3_errmsg(handle))
    }

    /// What a trigger is to blame for; nil where that is not said.
    func triggerFailure(_ code: Int32, _ sql: String) -> LogSyncError? {
        guard let budget else { return nil }
        budget.fail()
        let trigger = budget.failedTrigger.map { "the trigger \($0)" } ?? "a trigger of the program's"
        if code & 0xFF == SQLITE_INTERRUPT, budget.isSpent {
            return LogSyncError(
                .invalidStore,
                "what \(trigger) does for one row does not come to an end (in: \(sql.prefix(80))); nothing was written",
                help:
                    "Look at the triggers (sqlite3 \(path.asShellArgument) .schema), and drop the one that has no end.")
        }
        guard sqlite3_extended_errcode(handle) == Self.unsoundTable, budget.failedTrigger != nil else { return nil }
        return LogSyncError(
            .invalidStore,
            "what \(trigger) writes is not as the trigger takes it to be: \(String(cString: sqlite3_errmsg(handle))); nothing "
                + "was written",
            help: "Where it keeps a full-text index, bring that up to date: INSERT INTO name(name) VALUES('rebuild').")
    }

    /// SQLITE_CORRUPT_VTAB, which is a macro that Swift does not see: a virtual table is damaged, and the file is not.
    static var unsoundTable: Int32 { SQLITE_CORRUPT | (1 << 8) }
}
