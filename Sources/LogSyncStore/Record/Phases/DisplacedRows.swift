import LogSyncModel
import LogSyncSQLite

/// Phase `addDisplacedRows`: rows that are gone though no trigger said so, because REPLACE displaces a row that shares
/// a unique key with the row it writes.
struct DisplacedRows {
    private let recording: TableRecording

    private var table: TrackedTable { recording.table }
    private var store: OpenStore { recording.store }
    private var clock: ClockTable { recording.clock }
    private var reader: TableReader { recording.reader }
    private var rows: RecordedRows { RecordedRows(table: table, store: store) }

    init(_ recording: TableRecording) { self.recording = recording }

    func add() throws {
        for key in recording.captured.sortedKeys() {
            guard let row = try currentRow(key) else {
                recording.captured.removeAbsent(key)
                continue
            }
            if table.kind == .columns { try addSameIdentity(row, at: key) }
            guard !table.uniqueSlots.isEmpty, let touched = recording.captured.touched[key] else { continue }
            var displaced: [Int64] = []
            for digest in table.uniqueDigests({ row.values[$0] }) {
                for record in try clock.rows(withUnique: digest)
                where record != touched.origin && !isAccounted(record) && !displaced.contains(record) {
                    if try clock.exists(record), try !rows.isPresent(record) {
                        displaced.append(record)
                    }
                }
            }
            add(displaced, by: key)
        }
        try addDisplacedByRowid()
        try addOrphans()
    }

    /// Reads the row of a key, noting its rowid; nil where there is none.
    private func currentRow(_ key: RowKey) throws -> TableReader.Row? {
        if key.natural == nil {
            guard let rowid = key.rowid, let row = try reader.row(at: rowid) else { return nil }
            // A row without a NULL in its key has come since to where one with a NULL was.
            let isOther = try table.capturesKey && !table.key.isEmpty && rows.identity(of: row.values) != nil
            return isOther ? nil : row
        }
        guard table.hasRowid else { return try reader.row(withKey: key.values) }
        guard let rowid = try reader.rowid(withKey: key.values) else { return nil }
        recording.captured.update(key) { $0.rowid = rowid }
        return try reader.row(at: rowid)
    }

    /// Whether it is known already what became of a record's row.
    private func isAccounted(_ record: Int64) -> Bool {
        recording.captured.accounts(for: record) || recording.simple?.deleted(record) ?? false
    }

    // MARK: By a unique key

    /// A row with the identity of one that is gone continues that one, under its own integer.
    private func addSameIdentity(_ row: TableReader.Row, at key: RowKey) throws {
        guard let identity = try rows.identity(of: row.values),
            let record = try FoldedKeys(store: store, table: table).row(of: identity),
            let touched = recording.captured.touched[key], record != touched.origin, !isAccounted(record),
            try !rows.isPresent(record)
        else { return }
        if touched.origin == nil {
            recording.captured.setOrigin(record, of: key)
        } else {
            recording.captured.add(
                DeletedRow(record: record, milliseconds: touched.milliseconds, key: RowKey(rowid: record)))
        }
    }

    /// On a surrogate table a new row that displaced exactly one continues it; otherwise displaced rows are deleted.
    private func add(_ displaced: [Int64], by key: RowKey) {
        guard let touched = recording.captured.touched[key] else { return }
        if table.kind == .surrogate, displaced.count == 1, touched.origin == nil, !touched.isReinserted {
            recording.captured.setOrigin(displaced[0], of: key)
            return
        }
        for record in displaced {
            recording.captured.add(DeletedRow(record: record, milliseconds: touched.milliseconds, key: key))
        }
    }

    // MARK: By the rowid, or by nothing that is known

    /// Rows with keys of their own whose rowids other rows took.
    private func addDisplacedByRowid() throws {
        for rowid in recording.captured.touchedRowids.sorted() where try clock.exists(rowid) && !isAccounted(rowid) {
            guard let identity = try clock.name(at: rowid), identity.naturalParts != nil, try !rows.isPresent(rowid)
            else { continue }
            // VACUUM may have moved it.
            if let key = try shownKey(identity), try reader.rowid(withKey: key) != nil { continue }
            recording.captured.add(
                DeletedRow(record: rowid, milliseconds: recording.recorder.milliseconds, key: RowKey(natural: identity))
            )
        }
    }

    /// Records whose rows are gone with no pending row that could tell: displaced through a key that has no digest, or
    /// by a row that is itself gone again.
    private func addOrphans() throws {
        let captured = recording.captured
        let isSuspect =
            (table.hasSecondaryUnique || table.kind == .columns) && captured.hasWrites
            && (table.hasOpaqueUnique || captured.hasIntermediateKeys)
        let findings = recording.recorder.findings
        guard findings.orphanScans.contains(table.id) || isSuspect else { return }
        let known = isSuspect ? nil : findings.orphans[table.id]
        for record in try known ?? clock.allRows() {
            guard !isAccounted(record), try !rows.isPresent(record), let key = try keyOfOrphan(record) else { continue }
            recording.captured.add(
                DeletedRow(record: record, milliseconds: recording.recorder.milliseconds, key: key))
        }
    }

    /// Nil where nothing says any more which key the row had: such a record is kept as it is.
    private func keyOfOrphan(_ record: Int64) throws -> RowKey? {
        if table.storesIdentity || table.schema.integerKey != nil { return RowKey(rowid: record) }
        return try clock.name(at: record).map { RowKey(natural: $0) }
    }

    /// An identity's key as this store has it.
    private func shownKey(_ identity: RowIdentity) throws -> [Value]? {
        try ShownRows(store).localKey(identity, in: table)
    }
}
