import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What a table's rows held in undecided columns at the last look: it tells where a migration has put these since.
struct UndecidedCells {
    private let table: TrackedTable
    private let store: OpenStore
    private var connection: Connection { store.connection }
    private var clock: ClockTable { ClockTable(table: table, connection: connection) }

    init(_ table: TrackedTable, in store: OpenStore) {
        (self.table, self.store) = (table, store)
    }

    /// Beside what is noted by names in logs (``HeldValues``), none of which begins so: what rows held at the last look.
    private static let prefix = "\u{1F}"
    /// And what they held when it was first undecided what the column is.
    private static let firstPrefix = "\u{1E}"

    /// By the records' places.
    ///
    /// - Parameter column: as the database called it at the last look.
    func digests(of column: String) throws -> [Int64: UInt32] {
        guard try TableSchema.read("logsync_undecided", on: connection) != nil else { return [:] }
        var digests: [Int64: UInt32] = [:]
        for row in try connection.rows(
            "SELECT identity, digest FROM logsync_undecided WHERE table_id = ? AND column = ?", .integer(table.id),
            .text(Self.prefix + column.folded))
        {
            guard case .blob(let bytes) = row[0], let place = try place(of: RowIdentity(unchecked: bytes)) else {
                continue
            }
            digests[place] = UInt32(truncatingIfNeeded: row[1].asInteger)
        }
        return digests
    }

    /// What a row held in a column when it was first undecided what that is; nil where the row was not there.
    ///
    /// - Parameter column: as the database calls it.
    func first(of column: String, in identity: RowIdentity) throws -> UInt32? {
        try HeldValues(of: table, on: connection).digest(of: Self.firstPrefix + column, in: identity)
    }

    /// Forgets what rows held first in columns of which it was known at the last look what they are.
    static func forgetDecided(in store: OpenStore) throws {
        let connection = store.connection
        guard try TableSchema.read("logsync_undecided", on: connection) != nil else { return }
        let undecided = try UndecidedColumns(connection).all()
        let held = try connection.rows(
            "SELECT DISTINCT table_id, column FROM logsync_undecided WHERE substr(column, 1, 1) = ?", .text(firstPrefix)
        )
        for row in held {
            let isOpen = undecided[row[0].asInteger]?.contains { firstPrefix + $0.name.folded == String(text: row[1]) }
            guard isOpen != true else { continue }
            try connection.run("DELETE FROM logsync_undecided WHERE table_id = ? AND column = ?", row[0], row[1])
        }
    }

    /// Where a record is, which is not laid out anew yet where the key has become another.
    private func place(of identity: RowIdentity) throws -> Int64? {
        if let row = try clock.row(of: identity) { return row }
        if let parts = identity.naturalParts, parts.count == 1, case .integer(let integer) = parts[0],
            try clock.name(at: integer) == nil, try clock.exists(integer)
        {
            return integer
        }
        guard try TableSchema.read(table.unique, on: connection) != nil else { return nil }
        let rows = try clock.rows(withUnique: TrackedTable.keyDigest(identity))
        return rows.count == 1 ? rows[0] : nil
    }

    /// Notes what all rows hold by now, when the records are matched with them.
    func note(_ columns: [UndecidedColumns.Column]) throws {
        let held = HeldValues(of: table, on: connection)
        try held.makeTable()
        try connection.run(
            "DELETE FROM logsync_undecided WHERE table_id = ? AND substr(column, 1, 1) = ?", .integer(table.id),
            .text(Self.prefix))
        try UndecidedWrites.noteBeginning(in: table, store)
        let continued = try ContinuedRows(of: table, in: store)
        let cells = HeldCells(columns: columns.map(\.name), table: table, connection: connection)
        for place in try clock.allRows() {
            guard let record = try clock.record(at: place), let (row, rowid) = try continued.row(of: record, at: place),
                let identity = try record.named ?? ShownRows(store).spelledIdentity(row, in: table)
            else { continue }
            for (column, value) in zip(columns, try cells.values(row, rowid)) {
                let digest = cells.digest(value)
                try held.note(digest, of: Self.prefix + column.name, in: identity)
                if try first(of: column.name, in: identity) == nil {
                    try held.note(digest, of: Self.firstPrefix + column.name, in: identity)
                }
            }
        }
    }
}
