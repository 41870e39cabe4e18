import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The rows that continue a table's clock records, before the recording lets the records follow them.
///
/// A record of a table of local integers stands under the integer that its row had at the last recording. Since then a
/// program may have given the row another one, or a rebuild have numbered all of them anew, which is noted as captured
/// (``RenumberedRows``). Another row may have the former integer by now.
struct ContinuedRows {
    private let table: TrackedTable
    private let shownRows: ShownRows
    /// The integers of rows that have others than their records, by those of the records.
    private(set) var moved: [Int64: Int64] = [:]
    /// The other way round.
    private var origins: [Int64: Int64] = [:]
    /// The integers of rows that have come since.
    private var inserted: Set<Int64> = []

    init(of table: TrackedTable, in store: OpenStore) throws {
        self.table = table
        shownRows = ShownRows(store)
        guard table.localInteger != nil else { return }
        let clock = ClockTable(table: table, connection: store.connection)
        let captured = try CapturedChanges(table, on: store.connection) { key, _ in
            try key.rowid.flatMap { try clock.exists($0) ? $0 : nil }
        }
        for (key, row) in captured.touched {
            guard let rowid = key.rowid, row.origin != rowid else { continue }
            guard let record = row.origin else {
                inserted.insert(rowid)
                continue
            }
            moved[record] = rowid
            origins[rowid] = record
        }
    }

    /// The integer by which the row that a value names was known at the last recording; another value as it is.
    func former(_ value: Value) -> Value {
        guard case .integer(let integer) = value else { return value }
        return origins[integer].map { .integer($0) } ?? value
    }

    /// Whether programs have given rows integers that no record has.
    var areAnyNew: Bool { !moved.isEmpty || !inserted.isEmpty }

    /// The integers of all rows, as far as programs say.
    ///
    /// - Parameter records: the positions of all records.
    func places(_ records: [Int64]) -> Set<Int64> { inserted.union(records.map(place)) }

    /// Where a record's row is, as far as programs have put it under another integer.
    func place(ofRecord position: Int64) -> Int64 { moved[position] ?? position }

    /// The record of the row that programs have put under an integer, or left there; nil where what is there has come since.
    func record(at place: Int64) -> Int64? { origins[place] ?? (moved[place] == nil ? place : nil) }

    /// - Parameter position: where the record is.
    /// - Returns: nil where the row is gone; with the rowid under which it is, where the table has those.
    func row(of record: ClockRecord, at position: Int64) throws -> (row: TableReader.Row, rowid: Int64)? {
        if moved[position] == nil && origins[position] != nil { return nil }
        let rowid = moved[position] ?? position
        let row =
            try table.hasRowid
            ? shownRows.reader(table).row(at: rowid)
            : shownRows.currentRow(ofRecord: record.identity, at: position, in: table)
        return row.map { ($0, rowid) }
    }
}
