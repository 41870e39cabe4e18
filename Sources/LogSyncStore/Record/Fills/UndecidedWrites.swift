import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// When programs have written the rows of a table with columns of which it has been decided now what they are.
///
/// Nothing of such columns is recorded as long as they are undecided. When rows were written, in whatever column, is noted
/// meanwhile, so that what is in them does not count as written when it is decided. Of a counter it is noted what it showed:
/// what is more or less by then was added here, whatever other peers have added.
struct UndecidedWrites: Sendable, Equatable {
    /// Beside what rows hold (``HeldValues``), by names in logs, none of which begins so.
    private static let times = "\u{1D}"
    private static let anyRow = RowIdentity(unchecked: [])
    private static let sums = "\u{1C}"

    /// By id.
    private let columns: Set<Int>
    private let captured: CapturedTimes
    private let rows: [RowIdentity: Int64]
    /// When it came to be undecided.
    private let first: Int64
    /// What counters showed then, by the columns' ids.
    private var sums: [Int: [RowIdentity: Value]] = [:]

    /// - Parameter columns: by id.
    /// - Returns: nil where nothing is known of any row.
    init?(of columns: Set<Int>, in table: TrackedTable, _ store: OpenStore) throws {
        let connection = store.connection
        guard !columns.isEmpty, try TableSchema.read("logsync_undecided", on: connection) != nil else { return nil }
        let noted = try connection.rows(
            "SELECT identity, digest FROM logsync_undecided WHERE table_id = ? AND column = ?", .integer(table.id),
            .text(Self.times))
        var rows: [RowIdentity: Int64] = [:]
        for row in noted {
            guard case .blob(let bytes) = row[0] else { continue }
            rows[RowIdentity(unchecked: bytes)] = row[1].asInteger
        }
        guard let first = rows.removeValue(forKey: Self.anyRow) else { return nil }
        self.columns = columns
        self.rows = rows
        self.first = first
        captured = try CapturedTimes(
            in: table.pending, after: table.recorded, table.capturesKey ? table.key.map(\.collation) : [],
            on: connection)
        for id in columns {
            let noted = try connection.rows(
                "SELECT identity, digest FROM logsync_undecided WHERE table_id = ? AND column = ?", .integer(table.id),
                .text(Self.sums + table.columnNames[id].folded))
            for row in noted {
                guard case .blob(let bytes) = row[0] else { continue }
                sums[id, default: [:]][RowIdentity(unchecked: bytes)] = row[1]
            }
        }
    }

    /// What a counter showed when its column was left alone; nil where it is none, or had nothing then.
    func sum(of column: Int, in identity: RowIdentity) -> Value? { sums[column]?[identity] }

    /// When a cell was written last, in milliseconds since 1970; nil in other columns.
    ///
    /// - Parameter key: where the row is in its table, which may spell something else than the identity that it keeps.
    func time(of column: Int, in identity: RowIdentity, at key: RowKey?) -> Int64? {
        guard columns.contains(column) else { return nil }
        let keys = [identity, key?.natural].compactMap(\.self)
        return captured[keys: keys, rowid: key?.rowid] ?? rows[identity] ?? first
    }

    /// Whether a cell has an entry that is later than all that a program has written to the row here.
    func areOlder(than cell: CellState, of column: Int, in identity: RowIdentity, at key: RowKey?) -> Bool {
        guard let latest = cell.stamps.map(\.time).max(), let written = time(of: column, in: identity, at: key)
        else { return false }
        return HybridTime(milliseconds: written) < latest
    }

    // MARK: Noting them

    /// Notes what a counter shows, as its column is left alone.
    ///
    /// - Parameter column: the name in logs.
    static func note(
        sum: Value, of column: String, in identity: RowIdentity, _ table: TrackedTable, on connection: Connection
    ) throws {
        try connection.run(
            "INSERT OR REPLACE INTO logsync_undecided(table_id, column, identity, digest) VALUES(?, ?, ?, ?)",
            .integer(table.id), .text(sums + column.folded), .blob(identity.bytes), sum)
    }

    /// Notes when programs have written rows last, as they are recorded.
    static func note(
        _ rows: [TableRecording.StagedRow], of table: TrackedTable, on connection: Connection
    ) throws {
        for row in rows where !row.touched.isFound {
            try note(row.touched.milliseconds, of: row.identity, in: table, on: connection)
        }
    }

    /// Notes that columns are undecided by now; what was written before counts as written at the first of these times.
    static func noteBeginning(in table: TrackedTable, _ store: OpenStore) throws {
        let begun = try store.connection.integer(
            "SELECT digest FROM logsync_undecided WHERE table_id = ? AND column = ? AND identity = ?",
            .integer(table.id), .text(times), .blob(anyRow.bytes))
        guard begun == nil else { return }
        try note(store.configuration.clock.now(), of: anyRow, in: table, on: store.connection)
    }

    private static func note(
        _ milliseconds: Int64, of identity: RowIdentity, in table: TrackedTable, on connection: Connection
    ) throws {
        try connection.run(
            """
            INSERT INTO logsync_undecided(table_id, column, identity, digest) VALUES(?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET digest = max(digest, ?4)
            """, .integer(table.id), .text(times), .blob(identity.bytes), .integer(milliseconds))
    }
}
