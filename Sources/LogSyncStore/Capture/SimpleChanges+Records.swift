import LogSyncModel
import LogSyncSQLite

extension SimpleChanges {
    /// Reads the clock records of simple rows, each of which has one.
    ///
    /// - Parameters:
    ///   - order: indexes of entries.
    ///   - sql: takes places in that order with rowids; gives the place first.
    ///   - body: is given the entry's index and what the statement gives; may change that record, and leaves the
    ///     statement where it is.
    /// - Throws: `invalidStore` where there is no record.
    func forEachRecord(_ order: [Int], _ sql: String, _ body: (Int, Statement) throws -> Void) throws {
        let select = try store.connection.prepare(sql, readingRowsOf: 2)
        let rows = RowsParameter(width: 2)
        var next = 0
        while next < order.count {
            rows.removeAll()
            let end = min(next + RowsParameter.batch, order.count)
            for place in next..<end {
                rows.append(Int64(place))
                rows.append(entries[order[place]].rowid)
            }
            try rows.read(with: select) {
                // They come in the order in which they are given.
                guard select.integer(0) == next else { throw Self.withoutRecord(table) }
                try body(order[next], select)
                next += 1
            }
            guard next == end else { throw Self.withoutRecord(table) }
        }
    }

    private static func withoutRecord(_ table: TrackedTable) -> LogSyncError {
        LogSyncError(
            .invalidStore, "a row of \(table.name) has no clock record; nothing was recorded",
            help: "Run `logsync rescan` on the store.")
    }

    /// What is at a row's place among the clock records.
    enum Record: Int64 {
        case none = 0
        /// Something out of the ordinary.
        case other = 1
        case simple = 2
    }
}

extension TrackedTable {
    /// Pending rows; whether the row is now where and under which key it was captured; what clock record stands there;
    /// and the row itself, where it has unique keys beside the table's own or is likely to have been inserted.
    ///
    /// - Parameter isByRow: whether they come in the order of rowids, or in the order of their numbers.
    func selectSimpleChanges(isByRow: Bool) -> String {
        if let made = simpleSelects[isByRow] { return made }
        let made = makeSelect(isByRow: isByRow)
        simpleSelects[isByRow] = made
        return made
    }

    private func makeSelect(isByRow: Bool) -> String {
        let keys = capturesKey ? key.indices.map { ", p.k\($0)" }.joined() : ""
        let cells = uniqueSlots.isEmpty && isByRow ? "" : columns.map { ", t.\(SQL.name($0.local))" }.joined()
        var isThere = ["t.\(rowid) IS NOT NULL"]
        if capturesKey {
            isThere += zip(key.indices, keyColumnNames).map { "t.\(SQL.name($1)) = p.k\($0)" }
        }
        let record = """
            CASE WHEN c.row IS NULL THEN \(SimpleChanges.Record.none.rawValue) \
            WHEN \(BatchClockUpdater.condition(self)) THEN \(SimpleChanges.Record.simple.rawValue) \
            ELSE \(SimpleChanges.Record.other.rawValue) END
            """
        // Without a limit SQLite may leave out an inner order that the outer query does not ask for.
        let sorted = "(SELECT * FROM \(pending) WHERE number > ? ORDER BY row LIMIT -1)"
        return """
            SELECT p.number, p.kind, p.row, p.ms, coalesce(\(isThere.joined(separator: " AND ")), 0),
                \(record)\(keys)\(cells)
            FROM \(isByRow ? sorted : pending) AS p LEFT JOIN \(quoted) AS t ON t.\(rowid) = p.row
                LEFT JOIN \(clock) AS c ON c.row = p.row
            \(isByRow ? "" : "WHERE p.number > ? ORDER BY p.number")
            """
    }
}
