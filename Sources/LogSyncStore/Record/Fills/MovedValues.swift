import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Finds out which of the values that went a migration has put into a new column.
final class MovedValues {
    private unowned let recorder: Recorder
    private var gone: GoneValues { recorder.findings.gone }
    private var connection: Connection { recorder.store.connection }
    /// By table id and position of new columns; nil for a column that was made of something else.
    private var times: [[Int64]: GoneValues.Times?] = [:]
    private var known: [GoneValues.Times]?
    private var drops: [(name: String, drop: DroppedRows.Drop)]?
    private var latest: (identity: RowIdentity, rows: [FormerRow])?

    /// What a row held in a table that went.
    private struct FormerRow {
        /// The table's name in logs.
        var table: String
        /// Names in logs, in the order of the digests.
        var columns: [String]
        var digests: [UInt32]
    }

    init(_ recorder: Recorder) { self.recorder = recorder }

    /// When a program has written what a migration has put into a new column or a new table, in milliseconds since 1970: 0 for
    /// what was in no edit, nil where the column was made of something else. A value that did not go counts as an edit.
    func time(of row: RowRecorder.Row, in position: Int, of table: TrackedTable) throws -> Int64? {
        guard !gone.isEmpty else { return nil }
        if let time = try time(ofFormer: row, in: position, of: table) { return time }
        let key = [table.id, Int64(position)]
        let times = try self.times[key] ?? source(of: position, in: table)
        self.times[key] = .some(times)
        guard let times else { return nil }
        if let time = times[UInt32(truncatingIfNeeded: row.values.digests[position])] { return time }
        // No trigger may have seen it.
        return gone.unrecorded ?? (row.touched.milliseconds > 0 ? row.touched.milliseconds : recorder.milliseconds)
    }

    /// Whether a row of that key was in a table that went.
    func isFormer(_ row: RowRecorder.Row, of table: TrackedTable) throws -> Bool {
        try table.kind == .natural && !gone.tables.isEmpty && !formerRows(of: row.identity).isEmpty
    }

    /// The same where a row of that key in a table that went held the value: in a column of that name, or one that tells rows.
    func time(ofFormer row: RowRecorder.Row, in position: Int, of table: TrackedTable) throws -> Int64? {
        guard table.kind == .natural, !gone.tables.isEmpty else { return nil }
        let digest = UInt32(truncatingIfNeeded: row.values.digests[position])
        let name = table.columns[position].name.folded
        for former in try formerRows(of: row.identity) {
            let columns = zip(former.columns, former.digests).filter { column, held in
                held == digest && (column.folded == name || row[position].tellsRows)
            }.map(\.0)
            guard let column = columns.first(where: { $0.folded == name }) ?? columns.first,
                let clock = try HiddenRows(recorder.store).row(former.table, row.identity)?.clock
            else { continue }
            var times: GoneValues.Times = [:]
            times.note(digest, clock.cellsByName[column] ?? CellState(), clock)
            return times[digest]
        }
        return nil
    }

    /// The rows of a key in the tables that went; each column of a row asks for them.
    private func formerRows(of identity: RowIdentity) throws -> [FormerRow] {
        if let latest, latest.identity == identity { return latest.rows }
        let dropped = DroppedRows(recorder.store)
        let drops = try self.drops ?? gone.tables.compactMap { name in try dropped.drop(of: name).map { (name, $0) } }
        self.drops = drops
        let rows = try drops.compactMap { name, drop in
            try dropped.row(identity, in: name).map {
                FormerRow(table: name, columns: drop.columns, digests: $0.digests)
            }
        }
        latest = (identity, rows)
        return rows
    }

    /// When a program has written a value that went, into whichever column a migration has put it, in milliseconds since 1970:
    /// 0 where no edit of it is known.
    func time(ofAny row: RowRecorder.Row, in position: Int) throws -> Int64 {
        guard row[position].tellsRows else { return 0 }
        let digest = UInt32(truncatingIfNeeded: row.values.digests[position])
        return try all.compactMap { $0[digest] }.max() ?? 0
    }

    /// Of all columns that went.
    private var all: [GoneValues.Times] {
        get throws {
            if let known { return known }
            var all = gone.columns.values.joined().map(\.times)
            for name in gone.tables {
                for column in try DroppedRows(recorder.store).drop(of: name)?.columns.indices ?? 0..<0 {
                    all.append(try times(of: column, in: name))
                }
            }
            known = all
            return all
        }
    }

    /// The columns from which a new one's values are: one that held half of the first of them, or several that no other would;
    /// and of what it did not hold, another, where two tables have become one.
    private func source(of position: Int, in table: TrackedTable) throws -> GoneValues.Times? {
        var found: GoneValues.Times?
        while true {
            let sample = try Sample(position, of: table, recorder, except: found ?? [:])
            if found == nil, let times = namesake(of: position, in: table), sample.isTold(by: times) {
                found = times
                continue
            }
            guard sample.count >= (found == nil ? Sample.least : 2), let times = try source(of: sample, in: table)
            else {
                return found
            }
            found = (found ?? [:]).merging(times) { min($0, $1) }
        }
    }

    /// The column of the same name that went from the table of the rows which this one's key names.
    private func namesake(of position: Int, in table: TrackedTable) -> GoneValues.Times? {
        guard table.key.count == 1, case let key = table.columns[table.key[0].index].local.folded else { return nil }
        let parents = table.schema.foreignKeys.filter { $0.from.map(\.folded) == [key] }.map(\.parent.folded)
        let columns = recorder.store.catalog.tables.filter { parents.contains($0.schema.name.folded) }
            .flatMap { gone.columns[$0.id] ?? [] }
        return columns.first { $0.name.folded == table.columns[position].name.folded }?.times
    }

    private func source(of sample: Sample, in table: TrackedTable) throws -> GoneValues.Times? {
        let columns = gone.columns.filter { $0.key != table.id }.values.joined().map(\.times)
        var (most, found): (Int, GoneValues.Times?) = (0, nil)
        for column in columns {
            let matches = Set(column.keys).intersection(sample.digests)
            if sample.shows(matches), matches.count > most { (most, found) = (matches.count, column) }
        }
        for name in gone.tables {
            let matches = try matches(of: sample.digests, in: name)
            for (column, digests) in matches.sorted(by: { $0.key < $1.key })
            where sample.shows(digests) && digests.count > most {
                (most, found) = (digests.count, try self.times(of: column, in: name))
            }
        }
        return found
    }

    /// Different values of a new column.
    private struct Sample {
        /// Fewer different values may be in two columns by chance.
        static let least = 3
        private static let largest = 100

        private(set) var digests: Set<UInt32> = []
        /// Values among them that two columns hardly have by chance.
        private var telling: Set<UInt32> = []

        var count: Int { digests.count }

        /// - Parameter known: values of which it is known already where they are from.
        init(_ position: Int, of table: TrackedTable, _ recorder: Recorder, except known: GoneValues.Times) throws {
            let column = SQL.name(table.columns[position].local)
            // Rows that have come since are of no migration's making.
            let isNew = !table.hasRowid || recorder.findings.newTables.contains(table.id)
            let isKnown = isNew ? "" : " AND \(table.rowid) IN (SELECT row FROM \(table.clock))"
            let statement = try Statement(
                """
                SELECT DISTINCT \(column) FROM \(table.quoted) WHERE \(column) IS NOT NULL\(isKnown)
                """, on: recorder.store.connection)
            while try digests.count < Self.largest && statement.step() {
                let digest = UInt32(truncatingIfNeeded: statement.digest(0, by: table.valueDigest))
                guard known[digest] == nil else { continue }
                digests.insert(digest)
                if statement.value(0).tellsRows { telling.insert(digest) }
            }
        }

        /// Whether one value is enough to tell that all are from a column which bears the same name.
        func isTold(by times: GoneValues.Times) -> Bool { !telling.isDisjoint(with: times.keys) }

        /// Whether values that a column held are so many that these are from there.
        func shows(_ matches: Set<UInt32>) -> Bool {
            matches.count > 1
                && (matches.count * 2 >= count || telling.intersection(matches).count >= Self.least)
        }
    }

    /// Which digests columns of a dropped table held, by the place of the column.
    private func matches(of sample: Set<UInt32>, in table: String) throws -> [Int: Set<UInt32>] {
        var matches: [Int: Set<UInt32>] = [:]
        try forEachRow(of: table) { digests, _ in
            for (column, digest) in digests.enumerated() where sample.contains(digest) {
                matches[column, default: []].insert(digest)
            }
        }
        return matches
    }

    private func times(of column: Int, in table: String) throws -> GoneValues.Times {
        var times: GoneValues.Times = [:]
        guard let name = try DroppedRows(recorder.store).drop(of: table)?.columns[column] else { return times }
        try forEachRow(of: table) { digests, identity in
            guard digests.indices.contains(column),
                let clock = try HiddenRows(recorder.store).row(table, identity)?.clock
            else { return }
            times.note(digests[column], clock.cellsByName[name] ?? CellState(), clock)
        }
        return times
    }

    private func forEachRow(of table: String, _ body: ([UInt32], RowIdentity) throws -> Void) throws {
        let statement = try Statement(
            "SELECT digests, identity FROM logsync_dropped WHERE table_name = ?", on: connection)
        statement.bind(.text(table), at: 1)
        while try statement.step() {
            try body(statement.withBytes(0, ClockTable.digests), RowIdentity(unchecked: statement.bytes(1)))
        }
    }
}
