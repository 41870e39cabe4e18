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

    init(_ recorder: Recorder) { self.recorder = recorder }

    /// When a program has written what a migration has put into a new column, in milliseconds since 1970; nil where it was in
    /// no edit.
    func time(of row: TableReader.Row, in position: Int, of table: TrackedTable) throws -> Int64? {
        guard !gone.isEmpty else { return nil }
        let key = [table.id, Int64(position)]
        let times = try self.times[key] ?? source(of: position, in: table)
        self.times[key] = .some(times)
        guard let times else { return nil }
        guard let time = times[UInt32(truncatingIfNeeded: row.digests[position])] else { return gone.unrecorded }
        return time > 0 ? time : nil
    }

    /// The column from which a new one's values are: one that held most of the first of them.
    private func source(of position: Int, in table: TrackedTable) throws -> GoneValues.Times? {
        let sample = try sample(position, of: table)
        guard sample.count >= Self.leastSample else { return nil }
        func isSource(_ matches: Int) -> Bool { matches > 1 && matches * 2 > sample.count }
        let columns = gone.columns.filter { $0.key != table.id }.values.joined()
        var (most, found): (Int, GoneValues.Times?) = (0, nil)
        for column in columns {
            let matches = sample.count { column[$0] != nil }
            if isSource(matches), matches > most { (most, found) = (matches, column) }
        }
        for name in gone.tables {
            let matches = try matches(of: sample, in: name)
            for (column, digests) in matches.sorted(by: { $0.key < $1.key })
            where isSource(digests.count) && digests.count > most {
                (most, found) = (digests.count, try self.times(of: column, in: name))
            }
        }
        return found
    }

    /// Fewer different values may be in two columns by chance.
    private static let leastSample = 3
    private static let largestSample = 100

    private func sample(_ position: Int, of table: TrackedTable) throws -> Set<UInt32> {
        let column = SQL.name(table.columns[position].local)
        let statement = try Statement(
            "SELECT DISTINCT \(column) FROM \(table.quoted) WHERE \(column) IS NOT NULL LIMIT \(Self.largestSample)",
            on: connection)
        var digests: Set<UInt32> = []
        while try statement.step() {
            digests.insert(UInt32(truncatingIfNeeded: statement.digest(0, by: table.valueDigest)))
        }
        return digests
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
