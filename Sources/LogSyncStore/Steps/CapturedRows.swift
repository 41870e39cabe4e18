import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What is pending of a row that a former self's transaction changes, too.
struct Repetition {
    /// When it was last written after the restore, in milliseconds since 1970; nil where it was not, as far as times tell.
    let writtenAgain: Int64?
    /// Whether the last write up to the transaction's time was captured in the very millisecond that the transaction says.
    let isSameTime: Bool
    /// Whether nothing but one insert was captured of the row until then.
    let isInsertAlone: Bool

    /// nil where the row was not written until then, or otherwise than by being inserted and updated.
    init?(of row: IncomingRow, _ found: CapturedRows.Row) {
        let recorded = row.stamp.time.milliseconds
        // That a row was looked at says nothing of when it was written.
        let writes = found.entries.filter { $0.kind != .found || $0.milliseconds <= recorded }
        let former = writes.filter { $0.milliseconds <= recorded }
        guard let latest = former.last?.milliseconds,
            former.allSatisfy({ [.insert, .update, .found].contains($0.kind) }),
            writes.allSatisfy({ [.insert, .update, .delete, .found].contains($0.kind) })
        else { return nil }
        writtenAgain = writes.lazy.map(\.milliseconds).filter { $0 > recorded }.max()
        isSameTime = latest == recorded
        isInsertAlone = former.count == 1 && former[0].kind == .insert
    }
}

/// The pending rows of one table, by the row that they name.
struct CapturedRows {
    /// What is pending of one row.
    struct Row {
        var key: RowKey
        /// The surrogate identity that it would be given; nil where the first that was captured of it is no insert.
        var identity: RowIdentity?
        /// By their numbers.
        var entries: [(number: Int64, kind: Capture.Kind, milliseconds: Int64)] = []
        /// Where it was when it was written last; nil where the table has no rowid.
        var rowid: Int64?
        let reader: TableReader

        /// Where it is; nil where it is gone, or the table has no rowid. A backup may have numbered the rows of a table anew.
        var position: Int64? {
            get throws {
                guard reader.table.hasRowid else { return nil }
                return key.natural == nil ? rowid ?? key.rowid : try reader.rowid(withKey: key.values)
            }
        }

        /// The row as it is.
        var present: TableReader.Row? {
            get throws {
                try reader.table.hasRowid
                    ? position.flatMap { try reader.row(at: $0) } : reader.row(withKey: key.values)
            }
        }
    }

    private var rows: [RowKey: Row] = [:]
    private var keysByIdentity: [RowIdentity: RowKey] = [:]
    /// By what they hold; made when it is first asked for.
    private var keysByValues: [[Value]: [RowKey]]?

    init(of table: TrackedTable, _ store: OpenStore) throws {
        let keys = table.capturesKey ? table.key.indices.map { ", k\($0)" }.joined() : ""
        let statement = try store.connection.prepare(
            "SELECT number, kind, row, ms\(keys) FROM \(table.pending) WHERE number > ? ORDER BY number")
        statement.bind(table.recorded, at: 1)
        defer { statement.reset() }
        let reader = TableReader(table: table, store: store)
        var surrogates = SurrogateHash(store, table)
        while try statement.step() {
            let rowid = statement.isNull(2) ? nil : statement.integer(2)
            guard let key = CapturedChanges.key(in: table, rowid: rowid, value: { statement.value(4 + $0) }) else {
                continue
            }
            let kind = Capture.Kind(rawValue: statement.integer(1)) ?? .found
            let (number, milliseconds) = (statement.integer(0), statement.integer(3))
            var row = rows[key] ?? Row(key: key, reader: reader)
            if row.entries.isEmpty, kind == .insert {
                let identity = surrogates.identity(number: number, milliseconds: milliseconds)
                row.identity = identity
                keysByIdentity[identity] = key
            }
            row.entries.append((number, kind, milliseconds))
            row.rowid = rowid
            rows[key] = row
        }
    }

    func row(_ key: RowKey?) -> Row? { key.flatMap { rows[$0] } }

    /// The row that was captured as the insert which the former self recorded as this one.
    func row(of row: IncomingRow) -> Row? {
        row.group.kind == .insert ? self.row(keysByIdentity[row.identity]) : nil
    }

    mutating func row(holding values: [Value]) throws -> Row? {
        let keysByValues = try keysByValues ?? keysOfRows()
        self.keysByValues = keysByValues
        return keysByValues[values]?.first { rows[$0] != nil }.flatMap { rows[$0] }
    }

    private func keysOfRows() throws -> [[Value]: [RowKey]] {
        var keys: [[Value]: [RowKey]] = [:]
        for (key, row) in rows {
            if let present = try row.present { keys[present.values, default: []].append(key) }
        }
        return keys.mapValues { $0.sorted { ($0.rowid ?? 0) < ($1.rowid ?? 0) } }
    }

    mutating func remove(_ row: Row) { rows[row.key] = nil }
}
