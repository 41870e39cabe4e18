import LogSyncModel
import LogSyncSQLite

/// Rows that a rebuild has copied under other integers, as `INSERT INTO p_new SELECT id * 10, … FROM p` does.
///
/// No trigger sees that, and a row under another integer is another row: all would be deleted and inserted, and where two
/// peers run the migration, be there twice. So rows whose integers have no record are looked for, by what they hold, among
/// the records whose integers have no row; a row that took the integer of another is looked for, too. Where no integer has
/// come or gone, rows may have exchanged theirs (``PermutedRows``). Where columns were chosen that say which row it is, they
/// tell it. Such rows are noted as the triggers note `UPDATE p SET id = …`.
struct RenumberedRows {
    let store: OpenStore
    let table: TrackedTable
    /// What programs have done before: a record stands under the integer that its row had at the last recording.
    private let continued: ContinuedRows

    private var connection: Connection { store.connection }

    init(store: OpenStore, table: TrackedTable) throws {
        self.store = store
        self.table = table
        continued = try ContinuedRows(of: table, in: store)
    }

    /// - Returns: which rows they are.
    func note() throws -> [(from: Int64, to: Int64)] {
        guard table.localInteger != nil else { return [] }
        if table.kind == .columns {
            let moves = try movesByIdentity()
            try note(moves)
            return moves
        }
        guard try areSome() else {
            let permuted = PermutedRows(store: store, table: table)
            guard try permuted.mayBeSome() else { return [] }
            let (rows, records) = try apart()
            let moves = try permuted.moves(rows, records)
            try note(moves)
            return moves
        }
        var (rows, records) = try apart()
        let columns = Array(table.columns.indices)
        let match = ContentMatch(table: table)
        var moves: [(from: Int64, to: Int64)] = []
        // What a row refers to may have another integer, too; and one that was edited before is known by what is UNIQUE.
        let contents = [columns, columns.filter { table.columns[$0].reference == nil }].map { ($0, false) }
        for (columns, isUnique) in contents + table.uniqueSlots.map({ ($0.map(\.index), true) }) {
            for (row, record) in match.pairs(rows, records, by: columns, isUnique: isUnique) {
                rows[row] = nil
                records[record] = nil
                // One that is where it was has not moved.
                if record != row { moves.append((record, row)) }
            }
        }
        try note(moves)
        return moves
    }

    private func movesByIdentity() throws -> [(from: Int64, to: Int64)] {
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        let shownRows = ShownRows(store)
        var moves: [(from: Int64, to: Int64)] = []
        try reader.forEachRow { rowid, values in
            guard let rowid,
                let identity = try reader.naturalIdentity({ try shownRows.knownValue(values[$0], $0, in: table) }),
                let record = try clock.row(of: identity), continued.place(ofRecord: record) != rowid
            else { return }
            moves.append((continued.place(ofRecord: record), rowid))
        }
        guard table.keepsIdentities else { return moves }
        // An identity that comes from a former key is not what the columns say; what the record has of these is.
        var (rows, records) = try apart()
        for move in moves {
            rows[move.to] = nil
            records[move.from] = nil
        }
        let pairs = ContentMatch(table: table).pairs(rows, records, by: table.key.map(\.index), isUnique: true)
        return moves + pairs.filter { $0.row != $0.record }.map { ($0.record, $0.row) }
    }

    private func areSome() throws -> Bool {
        if continued.areAnyNew {
            let places = continued.places(try ClockTable(table: table, connection: connection).allRows())
            let rows = Set(try connection.rows("SELECT \(table.rowid) FROM \(table.quoted)").map(\.[0].asInteger))
            return !places.isSubset(of: rows) && !rows.isSubset(of: places)
        }
        return try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM \(table.clock) WHERE row NOT IN (SELECT \(table.rowid) FROM \(table.quoted)))
            AND EXISTS(SELECT 1 FROM \(table.quoted) WHERE \(table.rowid) NOT IN (SELECT row FROM \(table.clock)))
            """) == 1
    }

    /// The digests of rows, by integer, and of records, that do not say the same under one integer.
    private func apart() throws -> (rows: [Int64: [UInt64]], records: [Int64: [UInt32]]) {
        let clock = ClockTable(table: table, connection: connection)
        let shownRows = ShownRows(store)
        var rows: [Int64: [UInt64]] = [:]
        var records: [Int64: [UInt32]] = [:]
        try TableReader(table: table, store: store).forEachRow { rowid, values in
            guard let rowid else { return }
            let digests = TableReader.Row(values: values, of: table).digests
            let known = try continued.record(at: rowid).flatMap { try clock.record(at: $0)?.digests }
            let isSame = known.map { known in
                table.columns.indices.allSatisfy { index in
                    let id = table.columns[index].id
                    return id >= known.count || known[id] == UInt32(truncatingIfNeeded: digests[index])
                }
            }
            guard isSame != true else { return }
            rows[rowid] = digests
            records[rowid] = known
        }
        let gone = try connection.rows(
            "SELECT row FROM \(table.clock) WHERE row NOT IN (SELECT \(table.rowid) FROM \(table.quoted))")
        for row in gone.map(\.[0].asInteger) + continued.moved.keys {
            let place = continued.place(ofRecord: row)
            guard records[place] == nil, try place == row || shownRows.reader(table).row(at: place) == nil else {
                continue
            }
            records[place] = try clock.record(at: row)?.digests
        }
        return (rows, records)
    }

    /// Each goes by an integer that no row has: another row may be where it goes, and be one that goes, too.
    private func note(_ moves: [(from: Int64, to: Int64)]) throws {
        guard !moves.isEmpty else { return }
        let places = [
            FreeNumbers.Place(table: table.quoted, column: table.rowid), .init(table: table.clock),
            .init(table: table.pending),
        ]
        var free = try FreeNumbers(besides: places, on: connection)
        // An edit from before the rebuild keeps its time.
        let times = try CapturedTimes(
            in: table.pending, after: table.recorded, [], migrating: table.clock, on: connection)
        let now = store.configuration.clock.now()
        let statement = try connection.prepare("INSERT INTO \(table.pending)(kind, row, ms) VALUES (?, ?, ?)")
        func note(_ from: Int64, _ to: Int64, _ milliseconds: Int64) throws {
            for (kind, row) in [(Capture.Kind.rekeyedFrom, from), (.rekeyedTo, to)] {
                statement.bind(kind.rawValue, at: 1)
                statement.bind(row, at: 2)
                statement.bind(milliseconds, at: 3)
                try statement.run()
            }
        }
        var between: [(integer: Int64, milliseconds: Int64)] = []
        for move in moves {
            let place = (integer: try free.next(), milliseconds: times[keys: [], rowid: move.from] ?? now)
            between.append(place)
            try note(move.from, place.integer, place.milliseconds)
        }
        for (place, move) in zip(between, moves) { try note(place.integer, move.to, place.milliseconds) }
    }
}
