import LogSyncModel
import LogSyncState

/// The identities of rows that came with their table, which a program has made, or filled, since the last recording.
final class ArrivedRows {
    private unowned let recorder: Recorder
    private lazy var found = FoundIdentities(
        recorder.store, recorder, byValues: recorder.findings.tablesByValues,
        byKey: Set(recorder.store.catalog.tables.map(\.id)).subtracting(recorder.findings.tablesByValues),
        known: { [unowned self] integer, table in
            if let identity = early[table.id]?[integer] { return identity }
            return try recorder.recording(of: table)?.identity(at: integer)
                ?? IdentityMap(store: recorder.store).knownIdentity(of: integer, in: table)
        },
        assign: { [unowned self] table, rowid, _, identity in early[table.id, default: [:]][rowid] = identity })
    /// Rows that were given theirs before their turn, because others refer to them, by table and rowid.
    private var early: [Int64: [Int64: RowIdentity]] = [:]
    private var moved: [Int64: MovedRows] = [:]
    private var respelled: [Int64: RespelledRows] = [:]

    init(_ recorder: Recorder) {
        self.recorder = recorder
    }

    /// The identity that a row has by what it holds.
    func foundIdentity(of row: TableReader.Row, _ rowid: Int64, _ table: TrackedTable) throws -> RowIdentity {
        if let identity = try found.identity(of: row, rowid, table) { return identity }
        guard let identity = early[table.id]?[rowid] else {
            throw LogSyncError(.invalidStore, "a row of \(table.name) has no identity; nothing was recorded")
        }
        return identity
    }

    /// The identity of the row of another peer's table that a row is; nil where it is none.
    func movedIdentity(of row: TableReader.Row, _ table: TrackedTable) throws -> RowIdentity? {
        guard recorder.findings.tablesByValues.contains(table.id) else { return nil }
        let rows = try moved[table.id] ?? MovedRows(of: table, in: recorder.store)
        moved[table.id] = rows
        return try rows.identity(of: row) { try recorder.translated(row.values[$0], $0, in: table) }
    }

    /// The identity of the row of another peer's table that a key names; nil where it is that of none.
    func respelledIdentity(of spelled: RowIdentity, _ table: TrackedTable) throws -> RowIdentity? {
        guard recorder.findings.newTables.contains(table.id) else { return nil }
        let rows = try respelled[table.id] ?? RespelledRows(of: table, in: recorder.store)
        respelled[table.id] = rows
        return rows[spelled]
    }
}
