import LogSyncModel
import LogSyncSQLite
import LogSyncState

// Rows that have other rowids than they had.

extension SchemaReconciliation {
    /// VACUUM may number the rows of a table without INTEGER PRIMARY KEY anew: records are matched to rows by key.
    ///
    /// - Returns: whether records of the table may be left whose rows nothing names any more.
    func matchRowids(_ table: TrackedTable) throws -> Bool {
        guard table.hasRowid, table.schema.integerKey == nil, table.kind == .natural else { return false }
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        let shownRows = ShownRows(store)
        var moves: [(from: Int64, to: Int64, uniques: [Int32])] = []
        var unidentified: [OrderedMatch.Side] = []
        try reader.forEachRow { rowid, values in
            guard let rowid else { return }
            let identity = try reader.naturalIdentity { try shownRows.knownValue(values[$0], $0, in: table) }
            guard let identity else {
                let digests = reader.columnDigests(values.map(table.valueDigest.of))
                unidentified.append(OrderedMatch.Side(number: rowid, digests: digests))
                return
            }
            if table.storesIdentity {
                guard let row = try FoldedKeys(store: store, table: table).row(of: identity), row != rowid else {
                    return
                }
                moves.append((row, rowid, try clock.record(at: row)?.uniques ?? []))
            } else {
                let digest = table.keyDigest(identity)
                let rows = try clock.rows(withUnique: digest)
                guard let row = rows.first, !rows.contains(rowid) else { return }
                moves.append((row, rowid, [digest]))
            }
        }
        let unnamed = try matchUnidentified(unidentified, table, clock)
        moves += unnamed.moves
        // Where another row has taken a deleted row's number, the captured deletion may say no more than that number.
        var isInTheWay = try clock.move(moves)
        let taken = Set(unidentified.map(\.number))
        for record in unnamed.orphans
        where taken.contains(record) && !unnamed.moves.contains(where: { $0.to == record }) {
            isInTheWay = try clock.vacate(record) || isInTheWay
        }
        return try compareUnidentified(table) || isInTheWay
    }

    /// What was captured of rows with a NULL in their keys says where they were, and other rows may be there now: all
    /// rows are compared instead. That a row was written where one is, and when, is kept.
    ///
    /// - Returns: whether there was any.
    private func compareUnidentified(_ table: TrackedTable) throws -> Bool {
        // Without a key no row is told apart by it.
        let hasNull =
            table.key.isEmpty ? "1" : table.key.indices.map { "k\($0) IS NULL" }.joined(separator: " OR ")
        let stale = "number > \(table.recorded) AND kind <> \(Capture.Kind.found.rawValue) AND (\(hasNull))"
        guard
            let last = try connection.integer(
                "SELECT max(number) FROM \(table.pending) WHERE \(stale) HAVING max(number) > 0")
        else { return false }
        let keys = table.keyColumnNames.map { ", t.\(SQL.name($0))" }.joined()
        try connection.execute(
            """
            INSERT INTO \(table.pending)(kind, row, ms\(table.key.indices.map { ", k\($0)" }.joined()))
            SELECT \(Capture.Kind.update.rawValue), written.row, written.ms\(keys)
            FROM (SELECT row, max(ms) AS ms FROM \(table.pending) WHERE \(stale) GROUP BY row) AS written
            JOIN \(table.quoted) AS t ON t.\(table.rowid) = written.row
            """)
        try Capture.noteEverything(table, on: connection)
        // The newest stays in any case, so that numbers go on.
        try connection.execute(
            """
            DELETE FROM \(table.pending) WHERE number <= \(last) AND kind <> \(Capture.Kind.found.rawValue)
            AND (\(hasNull)) AND number < (SELECT max(number) FROM \(table.pending))
            """)
        return true
    }

    /// Finds the records of rows that no key tells apart.
    private func matchUnidentified(
        _ rows: [OrderedMatch.Side], _ table: TrackedTable, _ clock: ClockTable
    ) throws -> (moves: [(from: Int64, to: Int64, uniques: [Int32])], orphans: [Int64]) {
        guard !rows.isEmpty else { return ([], []) }
        var records: [OrderedMatch.Side] = []
        for row in try connection.rows(
            "SELECT row, identity, digests FROM \(table.clock) WHERE identity IS NOT NULL ORDER BY row")
        {
            guard case .blob(let bytes) = row[1], table.key.isEmpty || RowIdentity(unchecked: bytes).isSurrogate,
                case .blob(let digests) = row[2]
            else { continue }
            let known = digests.withUnsafeBytes(ClockTable.digests)
            records.append(OrderedMatch.Side(number: row[0].asInteger, digests: known))
        }
        let match = OrderedMatch(rows.sorted { $0.number < $1.number }, records, columns: table.columns.map(\.id))
        let moved = match.pairs.filter { $0.record != $0.row }
        try renumberCaptured(moved, in: table)
        return (
            try moved.map { ($0.record, $0.row, try clock.record(at: $0.record)?.uniques ?? []) }, match.orphans
        )
    }

    /// Lets what was captured of rows name them by the numbers that they have now.
    private func renumberCaptured(_ moved: [(record: Int64, row: Int64)], in table: TrackedTable) throws {
        let places = Dictionary(moved.map { ($0.record, $0.row) }) { first, _ in first }
        let condition = "number > \(table.recorded) AND kind <> \(Capture.Kind.found.rawValue)"
        guard !moved.isEmpty else { return }
        for row in try connection.rows("SELECT number, row FROM \(table.pending) WHERE \(condition)") {
            guard case .integer(let place) = row[1], let new = places[place] else { continue }
            try connection.run("UPDATE \(table.pending) SET row = ?2 WHERE number = ?1", row[0], .integer(new))
        }
    }
}
