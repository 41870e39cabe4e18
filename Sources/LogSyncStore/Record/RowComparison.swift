import LogSyncModel
import LogSyncSQLite

/// What was found to differ of a table's rows and their clock records.
struct DifferingRows: Sendable {
    /// The rowids of rows that have no record, or another than they are.
    var rows: [Int64] = []
    /// The keys of such rows, of a table without rowids.
    var keys: [[Value]] = []
    /// The records whose rows are gone, and may be more.
    var orphans: [Int64] = []

    /// How many rows are remembered by their keys; where there are more, all are compared again when they are recorded.
    static let mostKeys = 20_000

    /// Lets the next recording compare them.
    func note(in table: TrackedTable, on connection: Connection) throws {
        for row in rows { try table.noteFound(at: [.integer(row)], on: connection) }
        for key in keys { try table.noteFound(at: key, on: connection) }
    }
}

/// Compares a table's rows with their clock records, by the digests of both: a portion at a time, each on one state of the store.
/// Programs write between two of them, whatever the journal; what they write is captured, and what is found is compared again
/// when it is recorded.
struct RowComparison {
    /// Where a comparison goes on.
    enum Place: Sendable {
        /// With the rows after this rowid, or key; empty for all.
        case rows(after: [Value])
        /// With the records after this one; nil for all.
        case records(after: Int64?)
    }

    let table: TrackedTable
    let store: OpenStore

    /// How many rows are compared at a time.
    private static let portion = 20_000

    private var connection: Connection { store.connection }

    /// Whether it can be told while programs write: a table without rowids is gone through in the order of its primary key, and
    /// a record's row is looked for by what its identity spells, which has to be what the row holds to the byte.
    static func isPossible(of table: TrackedTable) -> Bool {
        table.hasRowid
            || table.keyColumnNames.map(\.folded) == table.schema.keyColumns.map { $0.name.folded }
                && table.key.allSatisfy { $0.collation == .binary }
    }

    /// Whether a comparison of rows finds the records whose rows may be gone: a row that agrees with the record at its place has
    /// that record's key. It has not in a table without a key that tells rows apart, if its rows may change places.
    static func findsOrphansByRows(of table: TrackedTable) -> Bool {
        table.hasRowid && (!table.hasMovableRows || !table.key.isEmpty)
    }

    /// Compares the next portion.
    ///
    /// - Returns: where to go on; nil at the end.
    func compare(from place: Place, _ found: inout DifferingRows) throws -> Place? {
        switch place {
        case .rows(let former): try compareRows(after: former, &found)
        case .records(let former): try compareRecords(after: former, &found)
        }
    }

    // MARK: Rows

    private func compareRows(after former: [Value], _ found: inout DifferingRows) throws -> Place? {
        let statement = try rows(after: former)
        var differing: [Int64] = []
        var last = former
        var count = 0
        while try statement.step() {
            count += 1
            let isRecorded = try isRecorded(statement)
            if table.hasRowid {
                last = [statement.value(0)]
                if !isRecorded { differing.append(statement.integer(0)) }
            } else {
                last = table.key.map { statement.value($0.index + 1) }
                if !isRecorded { found.keys.append(last) }
            }
        }
        found.rows += differing
        let isLast = count < Self.portion
        guard Self.findsOrphansByRows(of: table) else { return isLast ? .records(after: nil) : .rows(after: last) }
        found.orphans += try orphans(above: former.first, to: isLast ? nil : last.first)
        if table.hasMovableRows { found.orphans += differing }
        return isLast ? nil : .rows(after: last)
    }

    /// The next rows: the rowid, or NULL, then the columns.
    private func rows(after former: [Value]) throws -> Statement {
        let place =
            table.hasRowid
            ? [table.rowid]
            : table.key.map { "\(SQL.name(table.columns[$0.index].local)) COLLATE \($0.collation.rawValue)" }
        let isAfter =
            former.isEmpty ? "" : "WHERE (\(place.joined(separator: ", "))) > (\(SQL.placeholders(place.count)))"
        let statement = try Statement(
            """
            SELECT \(table.hasRowid ? table.rowid : "NULL")\(table.columns.isEmpty ? "" : ", " + table.columnList)
            FROM \(table.quoted) \(isAfter) ORDER BY \(place.joined(separator: ", ")) LIMIT \(Self.portion)
            """, on: connection)
        for (index, value) in former.enumerated() { statement.bind(value, at: index + 1) }
        return statement
    }

    /// Whether a row has a record that agrees with it, and is its own.
    private func isRecorded(_ row: Statement) throws -> Bool {
        let rows = RecordedRows(table: table, store: store)
        var values: [Value] { table.columns.indices.map { row.value($0 + 1) } }
        let place: Int64?
        if table.hasRowid {
            place = row.integer(0)
        } else {
            place = try rows.identity(of: values).flatMap { try FoldedKeys(store: store, table: table).row(of: $0) }
        }
        guard let place, let record = try ClockTable(table: table, connection: connection).record(at: place),
            // A record that does not know all columns says nothing of the others.
            record.digests.count >= table.columnCount
        else { return false }
        let digests = table.columns.indices.map { row.digest($0 + 1, by: table.valueDigest) }
        guard TableReader(table: table, store: store).digest(digests) == record.digest else { return false }
        // The integer of a row that a key names may mean another one by now.
        return try !table.hasMovableRows || !table.keyHasReference || rows.isNamed(place, values)
    }

    // MARK: Records

    /// Records between two rowids that have no row.
    private func orphans(above first: Value?, to last: Value?) throws -> [Int64] {
        try connection.rows(
            """
            SELECT c.row FROM \(table.clock) AS c WHERE (?1 IS NULL OR c.row > ?1) AND (?2 IS NULL OR c.row <= ?2)
            AND NOT EXISTS (SELECT 1 FROM \(table.quoted) AS t WHERE t.\(table.rowid) = c.row)
            """, first ?? .null, last ?? .null
        ).map(\.[0].asInteger)
    }

    private func compareRecords(after former: Int64?, _ found: inout DifferingRows) throws -> Place? {
        let rows = RecordedRows(table: table, store: store)
        let records = try connection.rows(
            "SELECT row FROM \(table.clock) WHERE ?1 IS NULL OR row > ?1 ORDER BY row LIMIT \(Self.portion)",
            former.map { .integer($0) } ?? .null
        ).map(\.[0].asInteger)
        for record in records where try !rows.isPresent(record) { found.orphans.append(record) }
        return records.count < Self.portion ? nil : records.last.map { .records(after: $0) }
    }
}
