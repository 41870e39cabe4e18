import LogSyncModel
import LogSyncSQLite

/// What a migration has made, in columns that have come, of each value of columns that have gone.
///
/// A trigger says that a row was written, and not in which columns. Whether it was written in one that has gone, rows tell
/// which held the same there and were not written: the migration has made the same of them all. Where it has made the same of a
/// written row, that one had the same value by then, and where it has made something else, another one. Where no other row had
/// the same, what has been made of several values says nothing, and anything else is taken for written.
///
/// An example. Records say "open" of rows 1, 2 and 3, and "shut" of row 4; row 1 was written. The migration has put 7 into rows
/// 2 and 3, and 8 into rows 1 and 4: row 1 was shut before.
struct ReplacedValues {
    /// So many values of a column are looked at: one that has more is hardly the same in two rows.
    private static let most = 1_000

    /// By ids: of a column that has gone, and of one that has come.
    private struct Pair: Hashable {
        let gone: Int
        let new: Int
    }

    /// Of one row, as digests.
    private struct Written {
        let record: Int64
        let pair: Pair
        let former: UInt32
        let present: UInt32
    }

    private let table: TrackedTable
    /// By id.
    private let gone: [Int]
    /// By position.
    private let new: [Int]
    /// The rows that programs have written before.
    private let edits: Set<RowKey>

    /// What has been made of a value, by digests; nil where rows differ in that.
    private var made: [Pair: [UInt32: UInt32?]] = [:]
    private var written: [Written] = []
    /// Of which rows that held the same have got the same: so the one says something of the other.
    private var repeated: Set<Pair> = []

    /// - Parameters:
    ///   - gone: the columns, by id, as are the new ones.
    ///   - table: as it is now.
    /// - Returns: nil where no program has written a row before.
    init?(of gone: [Int], by new: [Int], in table: TrackedTable, on connection: Connection) throws {
        guard !gone.isEmpty, !new.isEmpty else { return nil }
        edits = try MigrationPass(table, on: connection).edits
        guard !edits.isEmpty else { return nil }
        self.table = table
        self.gone = gone
        self.new = table.columns.indices.filter { new.contains(table.columns[$0].id) }
    }

    /// - Parameters:
    ///   - record: what was recorded of a row, with the columns that have gone.
    ///   - position: the record's.
    ///   - row: what it holds now.
    ///   - rowid: where the table has none, any number.
    mutating func add(_ record: ClockRecord, at position: Int64, _ row: TableReader.Row, rowid: Int64) {
        let key = CapturedChanges.key(in: table, rowid: rowid) { row.values[table.key[$0].index] }
        let isWritten = key.map(edits.contains) ?? false
        for gone in gone where record.digests.indices.contains(gone) {
            let former = record.digests[gone]
            for index in new {
                let pair = Pair(gone: gone, new: table.columns[index].id)
                let present = UInt32(truncatingIfNeeded: row.digests[index])
                if isWritten {
                    written.append(Written(record: position, pair: pair, former: former, present: present))
                } else if let known = made[pair]?[former] {
                    if known == present { repeated.insert(pair) } else { made[pair]?[former] = .some(nil) }
                } else if made[pair]?.count ?? 0 < Self.most {
                    made[pair, default: [:]][former] = present
                }
            }
        }
    }

    /// Columns that have come, by id, of one row that a program has written.
    struct Findings: Equatable {
        /// Those in which it holds what has been made of the value that was recorded, or may well do so. What is in the others a
        /// program has written.
        var unedited: Set<Int> = []
        /// Those in which it holds something else than rows that others have not written, which is no guess.
        var edited: Set<Int> = []
    }

    /// By the places of the records.
    var findings: [Int64: Findings] {
        /// Of how many values the same has been made, by pairs: a column may say nothing of another.
        let functions = made.filter { !$1.values.contains(nil) }.mapValues { values in
            values.values.reduce(into: [UInt32: Int]()) { counts, made in
                if let made { counts[made, default: 0] += 1 }
            }
        }
        var found: [Int64: [Int: Bool]] = [:]
        var edited: [Int64: Set<Int>] = [:]
        for row in written {
            let isEdited: Bool
            if let counts = functions[row.pair] {
                if let known = made[row.pair]?[row.former] {
                    isEdited = known != row.present
                } else {
                    isEdited = counts[row.present] ?? 0 < 2
                }
            } else if made[row.pair] == nil {
                isEdited = true
            } else {
                continue
            }
            if isEdited, functions[row.pair] != nil, repeated.contains(row.pair) {
                edited[row.record, default: []].insert(row.pair.new)
            }
            found[row.record, default: [:]][row.pair.new, default: false] =
                isEdited
                || found[row.record]?[row.pair.new] ?? false
        }
        return found.reduce(into: [:]) { findings, row in
            findings[row.key] = Findings(
                unedited: Set(row.value.filter { !$1 }.keys), edited: edited[row.key] ?? [])
        }
    }
}
