import LogSyncModel
import LogSyncSQLite
import LogSyncState

// Rows that have other rowids than they had.

extension SchemaReconciliation {
    /// VACUUM may number the rows of a table without INTEGER PRIMARY KEY anew: records are matched to rows by key.
    ///
    /// - Parameter isCaptured: whether the table has had its triggers all the while.
    /// - Returns: nil for a table whose rows go by something else; whether records of the table may be left whose rows nothing
    ///   names any more, and whether its rows are others than they were.
    func matchRowids(
        _ table: TrackedTable, isCaptured: Bool = true
    ) throws -> (isInDoubt: Bool, areRowsOthers: Bool)? {
        guard table.hasMovableRows else { return nil }
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
            if let former = try formerPlace(of: identity, at: rowid, in: table) {
                moves.append((former.row, rowid, former.uniques))
            }
        }
        let unidentifiedRecords = try unidentifiedRecords(of: table)
        let writes = try unidentifiedWrites(in: table)
        let places = CapturedPlaces(
            rows: unidentified.sorted { $0.number < $1.number }, records: unidentifiedRecords, writes: writes,
            columns: table.columns.map(\.id))
        var match = places.match(isRebuilt: !isCaptured)
        if match.isUnmoved {
            // What was captured says of each row what became of it.
            return (try clock.move(moves) || !match.orphans.isEmpty, false)
        }
        let areOthers = try !isCaptured && separate(&match, unidentified, unidentifiedRecords, in: table)
        moves += try match.pairs.filter { $0.record != $0.row }.map {
            ($0.record, $0.row, try clock.record(at: $0.record)?.uniques ?? [])
        }
        // Where another row has taken a deleted row's number, the captured deletion may say no more than that number.
        var isInTheWay = try clock.move(moves)
        let taken = Set(unidentified.map(\.number)).subtracting(moves.map(\.to))
        for record in match.orphans where taken.contains(record) {
            isInTheWay = try clock.vacate(record) || isInTheWay
        }
        if !writes.isEmpty { try compareUnidentified(table, writtenAt: match.times) }
        if areOthers {
            // They are found, as in a table that has just come.
            try connection.execute(
                """
                UPDATE \(table.pending) SET ms = 0
                WHERE number > \(table.recorded) AND kind = \(Capture.Kind.found.rawValue)
                """)
        }
        return (isInTheWay || !writes.isEmpty, areOthers)
    }

    /// Where the record of a row is that goes by its key, and the digests of its unique keys; nil where it is at the row's own
    /// place, or there is none.
    private func formerPlace(
        of identity: RowIdentity, at rowid: Int64, in table: TrackedTable
    ) throws -> (row: Int64, uniques: [Int32])? {
        let clock = ClockTable(table: table, connection: connection)
        if table.storesIdentity {
            let row = try FoldedKeys(store: store, table: table).row(of: identity)
            guard let row, row != rowid else { return nil }
            return (row, try clock.record(at: row)?.uniques ?? [])
        }
        let digest = table.keyDigest(identity)
        let rows = try clock.rows(withUnique: digest)
        guard let row = rows.first, !rows.contains(rowid) else { return nil }
        return (row, [digest])
    }

    /// Whether each of these rows has its record at its own place, or has none; false also where a row has no key.
    func areInPlace(_ rows: [Int64], of table: TrackedTable) throws -> Bool {
        let reader = TableReader(table: table, store: store)
        let shownRows = ShownRows(store)
        return try rows.allSatisfy { rowid in
            guard let row = try reader.row(at: rowid) else { return true }
            let identity = try reader.naturalIdentity { try shownRows.knownValue(row.values[$0], $0, in: table) }
            return try identity.map { try formerPlace(of: $0, at: rowid, in: table) == nil } ?? false
        }
    }

    /// Takes rows for new that were given the records of others only because of their places, where a program has dropped the
    /// table and created it anew.
    ///
    /// - Returns: whether it has.
    private func separate(
        _ match: inout CapturedPlaces.Match, _ rows: [OrderedMatch.Side], _ records: [OrderedMatch.Side],
        in table: TrackedTable
    ) throws -> Bool {
        let reader = TableReader(table: table, store: store)
        let known = Dictionary(records.map { ($0.number, $0.digests) }) { first, _ in first }
        let digests = Dictionary(rows.map { ($0.number, $0.digests) }) { first, _ in first }
        func isSame(_ pair: (record: Int64, row: Int64)) -> Bool {
            guard let known = known[pair.record], let digests = digests[pair.row] else { return false }
            return table.columns.allSatisfy { $0.id >= known.count || known[$0.id] == digests[$0.id] }
        }
        // Two that hold the same are one in any case.
        if match.pairs.isEmpty { return !rows.isEmpty && !records.isEmpty }
        guard match.pairs.contains(where: { !isSame($0) && match.times[$0.row] == nil }) else { return false }
        var copies = try CopiedRows(table, on: connection)
        for pair in match.pairs.prefix(Self.enough) where match.times[pair.row] == nil {
            guard let known = known[pair.record], let values = try reader.row(at: pair.row)?.values else { continue }
            copies.add(values, known)
        }
        guard !copies.areLikely else { return false }
        let others = match.pairs.filter { !isSame($0) }
        match.orphans += others.map(\.record)
        match.pairs.removeAll { !isSame($0) }
        for pair in others { match.times[pair.row] = nil }
        return true
    }

    /// So many pairs tell whether rows are copies.
    private static let enough = 1_000

    /// The records of rows that no key tells apart.
    private func unidentifiedRecords(of table: TrackedTable) throws -> [OrderedMatch.Side] {
        try connection.rows(
            "SELECT row, identity, digests FROM \(table.clock) WHERE identity IS NOT NULL ORDER BY row"
        ).compactMap { row in
            guard case .blob(let bytes) = row[1], table.key.isEmpty || RowIdentity(unchecked: bytes).isSurrogate,
                case .blob(let digests) = row[2]
            else { return nil }
            return OrderedMatch.Side(
                number: row[0].asInteger, digests: digests.withUnsafeBytes(ClockTable.digests))
        }
    }

    /// SQL for what was captured of such rows since the last recording.
    private func unidentifiedPending(of table: TrackedTable) -> String {
        // Without a key no row is told apart by it.
        let hasNull =
            table.key.isEmpty ? "1" : table.key.indices.map { "k\($0) IS NULL" }.joined(separator: " OR ")
        return "number > \(table.recorded) AND kind <> \(Capture.Kind.found.rawValue) AND (\(hasNull))"
    }

    private func unidentifiedWrites(in table: TrackedTable) throws -> [CapturedPlaces.Write] {
        try connection.rows(
            "SELECT kind, row, ms FROM \(table.pending) WHERE \(unidentifiedPending(of: table)) ORDER BY number"
        ).compactMap { row in
            guard let kind = Capture.Kind(rawValue: row[0].asInteger), case .integer(let number) = row[1] else {
                return nil
            }
            return CapturedPlaces.Write(kind: kind, row: number, milliseconds: row[2].asInteger)
        }
    }

    /// What was captured of rows that no key tells apart says where they were, and other rows may be there now: all rows
    /// are compared instead. That a row was written, and when, is kept.
    ///
    /// - Parameter times: by the rows' numbers.
    private func compareUnidentified(_ table: TrackedTable, writtenAt times: [Int64: Int64]) throws {
        let last = try connection.integer("SELECT max(number) FROM \(table.pending)") ?? 0
        let keys = table.keyColumnNames.map { ", \(SQL.name($0))" }.joined()
        let note = try connection.prepare(
            """
            INSERT INTO \(table.pending)(kind, row, ms\(table.key.indices.map { ", k\($0)" }.joined()))
            SELECT \(Capture.Kind.update.rawValue), \(table.rowid), ?2\(keys) FROM \(table.quoted)
            WHERE \(table.rowid) = ?1
            """)
        for (row, milliseconds) in times.sorted(by: { $0.key < $1.key }) {
            note.bind(row, at: 1)
            note.bind(milliseconds, at: 2)
            try note.run()
        }
        try Capture.noteEverything(table, on: connection)
        // The newest stays in any case, so that numbers go on.
        try connection.execute(
            """
            DELETE FROM \(table.pending) WHERE number <= \(last) AND \(unidentifiedPending(of: table))
            AND number < (SELECT max(number) FROM \(table.pending))
            """)
    }
}
