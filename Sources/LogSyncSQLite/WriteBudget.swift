import GRDBSQLite
import LogSyncModel

/// How much work a statement that writes rows may be while triggers of the program's fire with it: those of a clone are
/// out of a schema that anybody may have written into the shared folder, and one of them may have no end.
///
/// In instructions of SQLite's virtual machine, which counts a few for each row and column. Source:
/// <https://www.sqlite.org/c3ref/progress_handler.html>.
final class WriteBudget {
    /// Of one row, or of a few that are written together: about two seconds.
    static let rows = 200_000_000
    /// Of a statement that may write a whole table.
    static let table = 20 * rows

    /// After how many instructions it is asked again.
    private static let interval = 1_000_000

    /// Whether there is one, now.
    fileprivate var isOn = true
    private var left: Int?
    private(set) var isSpent = false

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
    }

    private func spends() -> Bool {
        guard let left else { return false }
        self.left = left - Self.interval
        isSpent = left < 0
        return isSpent
    }

    func begin(_ instructions: Int) { (left, isSpent) = (isOn ? instructions : nil, false) }
    func end() { left = nil }
}

extension Connection {
    /// Has statements that write rows end after a while, whatever fires with them; until ``unboundWrites()``.
    package func boundWrites() {
        budget = budget ?? WriteBudget(on: handle)
        budget?.isOn = true
    }

    package func unboundWrites() { budget?.isOn = false }
}
