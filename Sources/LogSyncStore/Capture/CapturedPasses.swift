import LogSyncModel
import LogSyncSQLite

/// Statements that have gone over all rows of a table, as those of migrations do that fill a column or prepare a rebuild.
///
/// Triggers say when a row was written, and not by what. A statement goes over rows in the order of their rowids, or of their
/// keys where there are none; all of it has one time. What writes all rows in another order, or at more than one time, may
/// be a program that has written them one by one.
struct CapturedPasses: Sendable, Equatable {
    /// The numbers of the pending rows, ascending.
    private(set) var numbers: [ClosedRange<Int64>] = []

    /// - Parameters:
    ///   - records: the table of the clock records of all rows that there were.
    ///   - pending: the table of what was captured.
    ///   - recorded: up to which number that is recorded.
    init(
        over records: String, in pending: String, after recorded: Int64, on connection: Connection
    ) throws {
        let update = Capture.Kind.update.rawValue
        let (inserted, deleted) = (Capture.Kind.insert.rawValue, Capture.Kind.delete.rawValue)
        let count = try connection.integer(
            "SELECT count(*) FROM \(pending) WHERE number > ? AND kind IN (\(update), \(deleted))", .integer(recorded))
        // Few writes are told from many rows without counting these.
        guard let count, count > 1,
            try connection.integer("SELECT 1 FROM \(records) LIMIT 1 OFFSET ?", .integer(count)) == nil
        else { return }
        let all = try connection.integer("SELECT count(*) FROM \(records)") ?? 0
        guard all > 1 else { return }
        let keys = try connection.rows("SELECT name FROM pragma_table_info(?) WHERE name LIKE 'k%'", .text(pending))
            .map { String(text: $0[0]) }.filter { $0 != "kind" }
        let formerKeys = keys.map { "lag(\($0)) OVER o" }.joined(separator: ", ")
        let isNext = keys.isEmpty ? "0" : "row IS NULL AND (\(keys.joined(separator: ", "))) > (\(formerKeys))"
        let rows = try connection.rows(
            """
            SELECT min(number), max(number) FROM (
                SELECT number, kind, fewer, sum(NOT coalesce(follows, 0)) OVER (ORDER BY number) AS statement FROM (
                    SELECT number, kind, sum((kind = \(deleted)) - (kind = \(inserted))) OVER o AS fewer,
                        ms = lag(ms) OVER o AND kind = lag(kind) OVER o AND number = lag(number) OVER o + 1
                        AND (row > lag(row) OVER o OR \(isNext)) AS follows
                    FROM \(pending) WHERE number > ? WINDOW o AS (ORDER BY number)))
            WHERE kind = \(update) GROUP BY statement
            HAVING count(*) > 1 AND count(*) >= ?2 - max(0, min(fewer)) ORDER BY 1
            """, .integer(recorded), .integer(all))
        numbers = rows.map { $0[0].asInteger...$0[1].asInteger }
    }

    var isEmpty: Bool { numbers.isEmpty }

    func contains(_ number: Int64) -> Bool { numbers.contains { $0.contains(number) } }
}
