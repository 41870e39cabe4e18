import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What went with tables and columns that a migration has dropped. It may have been put into columns of other tables: then an
/// edit of it is one of them, too.
struct GoneValues: Sendable, Equatable {
    /// When values of a column were written, in milliseconds since 1970, by their digests: of equal ones the first. 0 for those
    /// that an insert or a migration has given.
    typealias Times = [UInt32: Int64]

    struct Column: Sendable, Equatable {
        /// Its name in logs.
        var name: String
        var times: Times
    }

    /// Dropped tables, by their names in logs.
    var tables: [String] = []
    /// Of columns that were dropped, by the ids of their tables.
    var columns: [Int64: [Column]] = [:]
    /// When programs first wrote, in milliseconds since 1970, to one of these tables what nobody has recorded; nil for never.
    var unrecorded: Int64?

    var isEmpty: Bool { tables.isEmpty && columns.isEmpty }

    mutating func formUnion(_ other: GoneValues) {
        tables += other.tables.filter { !tables.contains($0) }
        columns.merge(other.columns) { $0 + $1 }
        noteUnrecorded(other.unrecorded)
    }

    mutating func noteUnrecorded(_ milliseconds: Int64?) {
        guard let milliseconds else { return }
        unrecorded = min(unrecorded ?? .max, milliseconds)
    }

    /// When programs first wrote to a table what nobody has recorded, in milliseconds since 1970; nil for never.
    static func firstUnrecorded(of table: TrackedTable, after recorded: Int64, on connection: Connection) throws
        -> Int64?
    {
        let first = try connection.scalar(
            "SELECT min(ms) FROM \(table.pending) WHERE number > ? AND kind = \(Capture.Kind.update.rawValue)",
            .integer(recorded))
        return first.flatMap { if case .integer(let milliseconds) = $0 { milliseconds } else { nil } }
    }
}

extension GoneValues.Times {
    /// - Parameter cell: what a row's record said of a value.
    mutating func note(_ digest: UInt32, _ cell: CellState, _ row: RowClock) {
        // That of a column which had gone before.
        guard digest != 0 else { return }
        let isEdited = !cell.isInserted(row) && !cell.isFilled(row)
        let time = isEdited ? cell.stamps.map(\.time.milliseconds).max() ?? 0 : 0
        self[digest] = Swift.min(self[digest] ?? .max, time)
    }
}
