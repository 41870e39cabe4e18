import LogSyncModel
import LogSyncSQLite

/// Rows of a table of local integers that a program has dropped and created anew: under the integers of the former ones are
/// other rows.
///
/// They are noted as the triggers note a DELETE and an INSERT, so that one which holds what the former one held is that one
/// all the same. What stands in a table that was made anew is found there, as in one that has just come.
struct RemadeRows {
    let store: OpenStore
    let table: TrackedTable

    private var connection: Connection { store.connection }

    /// So many pairs tell.
    private static let enough = 1_000

    /// - Parameter moves: rows that a rebuild has put under other integers.
    /// - Returns: whether the table's rows are others than they were.
    func note(besides moves: [(from: Int64, to: Int64)]) throws -> Bool {
        guard table.kind == .surrogate, table.localInteger != nil else { return false }
        guard try hasRecords() else { return false }
        let copies = try copies(besides: moves)
        // Where none has the integer of a former row nothing is in anybody's place.
        if copies.isEmpty && moves.isEmpty { return try !hasCommonIntegers() }
        guard !copies.areLikely else { return false }
        try noteOthers(besides: moves, copies)
        return true
    }

    private func hasRecords() throws -> Bool {
        try connection.integer("SELECT EXISTS(SELECT 1 FROM \(table.clock))") == 1
    }

    private func hasCommonIntegers() throws -> Bool {
        try connection.integer(
            "SELECT EXISTS(SELECT 1 FROM \(table.clock) WHERE row IN (SELECT \(table.rowid) FROM \(table.quoted)))")
            == 1
    }

    private func copies(besides moves: [(from: Int64, to: Int64)]) throws -> CopiedRows {
        var copies = try CopiedRows(table, on: connection)
        let moved = Set(moves.flatMap { [$0.from, $0.to] })
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        // A row that was written before holds something else.
        let found = try connection.rows(
            """
            SELECT row FROM \(table.clock) WHERE row IN (SELECT \(table.rowid) FROM \(table.quoted))
            AND row NOT IN (SELECT row FROM \(table.pending) WHERE number > \(table.recorded) AND row IS NOT NULL)
            LIMIT \(Self.enough)
            """)
        for row in found.map(\.[0].asInteger) where !moved.contains(row) {
            guard let record = try clock.record(at: row), let values = try reader.row(at: row)?.values else { continue }
            copies.add(values, record.digests)
        }
        return copies
    }

    private func noteOthers(besides moves: [(from: Int64, to: Int64)], _ copies: CopiedRows) throws {
        let moved = Set(moves.flatMap { [$0.from, $0.to] })
        let clock = ClockTable(table: table, connection: connection)
        var others: [Int64] = []
        try TableReader(table: table, store: store).forEachRow { rowid, values in
            guard let rowid, !moved.contains(rowid), let record = try clock.record(at: rowid),
                !copies.isSame(values, record.digests)
            else { return }
            others.append(rowid)
        }
        let statement = try connection.prepare("INSERT INTO \(table.pending)(kind, row, ms) VALUES (?, ?, ?)")
        let now = store.configuration.clock.now()
        for row in others {
            for (kind, milliseconds) in [(Capture.Kind.delete, now), (.insert, 0)] {
                statement.bind(kind.rawValue, at: 1)
                statement.bind(row, at: 2)
                statement.bind(milliseconds, at: 3)
                try statement.run()
            }
        }
    }
}
