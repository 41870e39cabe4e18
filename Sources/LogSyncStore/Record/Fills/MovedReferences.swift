import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// When programs have written references of columns that have gone, in place of which columns have come that refer to other
/// tables.
///
/// What a migration puts into such a column says where a row of one table is in another, so it is as old as the reference from
/// which it is: of a column whose value it is, or of the one written last, where numbers are other ones. So is that there is
/// none, where the row refers to another table now.
struct MovedReferences: Sendable, Equatable {
    private struct Reference: Equatable {
        /// What the row held.
        var digest: UInt32
        /// In milliseconds since 1970; 0 where an insert or a migration has given it.
        var time: Int64
    }

    /// By id.
    private let gone: [Int]
    private let new: Set<Int>
    /// Those of which at least one was edited, by the places of the records.
    private var rows: [Int64: [Reference]] = [:]
    /// The places of the records that had no reference in any of them, as nobody has written one.
    private var without: Set<Int64> = []

    /// - Parameters:
    ///   - gone: the columns, by id, as are the new ones.
    /// - Returns: nil where there are none.
    init?(of gone: [Int], in new: [Int]) {
        guard !gone.isEmpty, !new.isEmpty else { return nil }
        self.gone = gone
        self.new = Set(new)
    }

    /// - Parameters:
    ///   - record: what was recorded of a row, with the columns that have gone.
    ///   - position: the record's.
    ///   - none: the digest of NULL.
    mutating func add(_ record: ClockRecord, at position: Int64, none: UInt32) {
        let references = gone.filter(record.digests.indices.contains).map { id in
            var times: GoneValues.Times = [:]
            times.note(record.digests[id], record.state.cell(id), record.state)
            return Reference(digest: record.digests[id], time: times[record.digests[id]] ?? 0)
        }
        if references.contains(where: { $0.time > 0 }) {
            rows[position] = references
        } else if references.allSatisfy({ $0.digest == none || $0.digest == 0 }) {
            without.insert(position)
        }
    }

    func contains(_ column: Int) -> Bool { new.contains(column) }

    /// Whether a row that refers to nothing in a new column has referred to something, or does so in another.
    ///
    /// - Parameter record: the place of its record.
    func areElsewhere(_ row: TableReader.Row, at record: Int64?, in table: TrackedTable) -> Bool {
        guard let record, !without.contains(record) else {
            return table.columns.indices.contains { new.contains(table.columns[$0].id) && row.values[$0] != .null }
        }
        return true
    }

    /// When a program has written what a migration has put into a new column: 0 where no edit of it is known.
    ///
    /// - Parameters:
    ///   - digest: of what the row holds there.
    ///   - record: the place of the row's record.
    func time(of digest: UInt32, at record: Int64?) -> Int64 {
        guard let references = record.flatMap({ rows[$0] }) else { return 0 }
        return references.first { $0.digest == digest }?.time ?? references.map(\.time).max() ?? 0
    }
}
