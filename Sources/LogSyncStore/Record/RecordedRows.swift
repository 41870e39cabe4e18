import LogSyncModel
import LogSyncSQLite

/// Which rows the clock records of a table are of, as the table has them now, with references by the identities that are known
/// so far.
struct RecordedRows {
    let table: TrackedTable
    let store: OpenStore

    private var clock: ClockTable { ClockTable(table: table, connection: store.connection) }
    private var reader: TableReader { TableReader(table: table, store: store) }

    /// Whether a record's row is there.
    func isPresent(_ record: Int64) throws -> Bool {
        if table.hasRowid {
            guard table.kind == .natural, table.schema.integerKey == nil, !table.key.isEmpty else {
                return try reader.exists(record)
            }
            // A rebuild may have put another row under the number.
            return try reader.row(at: record).map { try isNamed(record, $0.values) } ?? false
        }
        guard let identity = try clock.identity(at: record) else { return false }
        if table.mapsKeys {
            // Under its key another row may stand, which compares as equal since a migration.
            guard let row = try ShownRows(store).currentRow(identity, at: record, in: table) else { return false }
            let holder = try self.identity(of: row.values).flatMap(FoldedKeys(store: store, table: table).row(of:))
            return holder == nil || holder == record
        }
        guard let key = try ShownRows(store).localKey(identity, in: table) else { return false }
        return try reader.row(withKey: key) != nil
    }

    /// Whether the record of a rowid says that it is of the row there, as far as it says anything.
    func isNamed(_ record: Int64, _ row: [Value]) throws -> Bool {
        let known = try clock.name(at: record)
        if known == nil, !table.storesIdentity { return true }
        let identity = try identity(of: row)
        let spelled = try known.map { try FoldedKeys(store: store, table: table).identity(of: $0, at: record) }
        return identity == nil ? known?.isSurrogate ?? true : identity == spelled
    }

    /// The identity that a row's key makes; nil where it has none.
    func identity(of row: [Value]) throws -> RowIdentity? {
        let shownRows = ShownRows(store)
        return try reader.naturalIdentity { try shownRows.knownValue(row[$0], $0, in: table) }
    }
}
