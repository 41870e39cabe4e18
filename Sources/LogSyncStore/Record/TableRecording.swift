import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// One table in one recording: what was captured of it, and what each phase leaves for those after it.
final class TableRecording {
    let table: TrackedTable
    let clock: ClockTable
    let reader: TableReader
    /// Which owns this.
    unowned let recorder: Recorder

    /// Rows that were written once and nothing else; nil where all rows go the general way.
    private(set) var simple: SimpleChanges?
    /// What happened to all other rows.
    var captured: CapturedChanges
    /// The deletes among the simple rows, from when their clock records are removed until they are written.
    var simpleDeletes: BatchDeleteRecorder?
    /// What integers stood for before any of this, where that changes; nil for nothing.
    var formerIdentities: [Int64: RowIdentity?] = [:]
    private lazy var formerIntegers = Dictionary(
        grouping: formerIdentities.filter { $0.value != nil }.keys, by: { formerIdentities[$0] ?? nil })
    /// Removed records, by their place, of which a row takes something along when its natural key changes: values of
    /// columns unknown here, or that it breaks a CHECK.
    var carriedValues: [Int64: ClockRecord] = [:]
    /// Identities that no clock record has any more: deleted, unless another row takes one in the same transaction.
    var tombstones: [RowIdentity: Tombstone] = [:]
    /// The identities of removed records, by what the keys of their rows spelled, where that is something else.
    var formerlySpelled: [RowIdentity: RowIdentity] = [:]
    /// The rows to compare with their records.
    var staged: [StagedRow] = []
    /// Rows that have to show what their records say.
    var writeBacks: [WriteBack] = []
    /// Columns, by id, that came some time ago, and over which a statement has gone since that may have filled them
    /// (``AwaitedFills``).
    private(set) var lateFills: Set<Int> = []
    /// Asked for where columns have just appeared.
    private var migration: MigrationPass?
    /// New columns, by position, and whether migrations have put something into them.
    private var filledColumns: [Int: Bool] = [:]
    /// New columns, by position, and whether another peer's migration has made the same of most rows (``RepeatedFills``).
    var repeatedFills: [Int: Bool] = [:]
    /// New columns, by id, into which the migration has put something.
    var filled: Set<Int> = []
    /// Of the rows that are captured here.
    lazy var surrogates = SurrogateHash(store, table)

    var store: OpenStore { recorder.store }
    var connection: Connection { store.connection }
    var identities: IdentityMap { IdentityMap(store: store) }

    struct Tombstone {
        /// Of all entries of the row.
        var stamps: [Stamp]
        /// When it was deleted.
        var milliseconds: Int64
        /// The integer that the row had, where that is local to this store.
        var integer: Int64?
        /// The primary key that the row had, where it is known.
        var key: [Value]?
        /// What was recorded of the row, and at which place then, where another key may say the same identity: integers in it are
        /// others than before, and mean the same rows.
        var record: ClockRecord?
        var place: Int64?
    }

    /// A touched row that is there, with the identity that it has now.
    struct StagedRow {
        var key: RowKey
        var touched: TouchedRow
        var identity: RowIdentity
        /// Its record under the identity that it has released.
        var released: ClockRecord?
    }

    /// Reads the pending rows, simple ones apart.
    init(_ table: TrackedTable, _ pending: PendingRows, _ recorder: Recorder) throws {
        self.table = table
        self.recorder = recorder
        let store = recorder.store
        clock = ClockTable(table: table, connection: store.connection)
        reader = TableReader(table: table, store: store)
        // Imported rows have integers, too.
        if let highest = pending.highestRows[table.id] { table.high = max(table.high, highest) }
        guard pending.has(table) else {
            let origins = OriginLookup(table: table, store: store, recorder: recorder)
            captured = CapturedChanges(nothingOf: table, origin: origins.record(of:rowid:))
            return
        }
        let awaited = store.awaitedFills(of: table)
        if try !awaited.isEmpty
            && !CapturedPasses(over: table.clock, in: table.pending, after: table.recorded, on: store.connection)
                .isEmpty
        {
            lateFills = awaited
        }
        // The one place where it is decided which way a recording goes.
        simple =
            try lateFills.isEmpty && Self.mayBatch(table, recorder)
            ? SimpleChanges(table, store, isOne: pending.hasOneAtMost(table)) : nil
        captured = try Self.read(table, besides: simple, recorder)
        try dateBeforeMigration()
        // Another process may have promised an integer since.
        if !captured.returned.isEmpty { store.hasReserved = true }
    }

    private static func mayBatch(_ table: TrackedTable, _ recorder: Recorder) throws -> Bool {
        let (store, findings) = (recorder.store, recorder.findings)
        // A row of a table that is recorded for the first time may have the identity that founders give to it; and
        // where rows may have gone unseen, their records are still there.
        guard store.batching(of: table).isSuperset(of: .recording), !findings.orphanScans.contains(table.id),
            findings.newReferences[table.id] == nil, findings.namingChanges[table.id] == nil,
            table.kind != .surrogate || !findings.newTables.contains(table.id),
            !findings.returnedTables.contains(table.id),
            // When a row was written tells what its undecided columns hold.
            !recorder.undecidedTables.contains(table.id),
            // What columns say that nobody has written is not always what they show.
            !store.policies.recordsWholeRows(table.name),
            // What went may have been put into it, and what has been deleted elsewhere.
            try !findings.newTables.contains(table.id) && (table.kind != .natural || findings.gone.tables.isEmpty)
                || findings.gone.isEmpty && AbsentTombstones(store).identities(of: table.name).isEmpty
        else { return false }
        return try !store.isContested(table)
    }

    /// Whether what a row holds in a column that has just appeared was put there by the migration.
    func isFilledByMigration(_ row: TouchedRow) throws -> Bool {
        try row.lastNumber <= migrationPass().end
    }

    /// Whether a program may have written to a row in a column that has gone since: what its migration has made of that is
    /// not what another peer's has made of the former value.
    func mayHaveLostEdit(_ key: RowKey) throws -> Bool {
        try recorder.findings.tablesWithoutColumns.contains(table.id) && migrationPass().edits.contains(key)
    }

    /// When a program has written what a migration has made of it in a new column; nil where no edit is known that did.
    ///
    /// - Parameters:
    ///   - isChanged: whether the row differs in other columns.
    ///   - known: when others last wrote there, in milliseconds since 1970; 0 where none did.
    func edit(of row: RowRecorder.Row, isChanged: Bool, behind position: Int, after known: Int64) throws -> Int64? {
        if let own = try programWrite(to: row.key, row.touched, in: position) { return own }
        // Of a row that holds in all other columns what it did, a column that has gone was written.
        if !isChanged || isMadeOfEdit(row, in: position, isSure: known > 0), let lost = try lostEdit(of: row.key) {
            return lost
        }
        if let time = movedReferenceTime(of: row, in: position) { return time > known ? time : nil }
        return try recorder.moved.time(of: row, in: position, of: table).flatMap { $0 > known ? $0 : nil }
    }

    /// When a program has written what a row holds in a new column that refers to other tables than one that has gone; nil in
    /// another column.
    private func movedReferenceTime(of row: RowRecorder.Row, in position: Int) -> Int64? {
        guard let moved = recorder.findings.movedReferences[table.id], moved.contains(table.columns[position].id) else {
            return nil
        }
        let digest = UInt32(truncatingIfNeeded: row.values.digests[position])
        return moved.time(of: digest, at: row.touched.origin ?? row.touched.formerRecord)
    }

    /// Whether a program has left nothing in a new column that refers to other tables than one that has gone: the row may have
    /// referred to a row of the one table, and refers to one of another.
    func isMovedElsewhere(_ row: RowRecorder.Row, in position: Int, at time: Int64?) throws -> Bool {
        guard let moved = recorder.findings.movedReferences[table.id], moved.contains(table.columns[position].id),
            try time != nil || mayHaveLostEdit(row.key)
        else { return false }
        return moved.areElsewhere(row.values, at: row.touched.origin ?? row.touched.formerRecord, in: table)
    }

    /// Whether a row holds in a new column what has been made of something that a program had written to one that has gone.
    ///
    /// - Parameter isSure: whether that has to be certain: what others have written to the new one they have.
    private func isMadeOfEdit(_ row: RowRecorder.Row, in position: Int, isSure: Bool) -> Bool {
        guard let record = row.touched.origin ?? row.touched.formerRecord,
            let found = recorder.findings.replacedValues[table.id]?[record],
            !table.key.contains(where: { $0.index == position })
        else { return false }
        let id = table.columns[position].id
        return isSure ? found.edited.contains(id) : !found.unedited.contains(id)
    }

    /// When a program has written a row before the migration's last pass, in a column that may have gone since.
    private func lostEdit(of key: RowKey) throws -> Int64? {
        try recorder.findings.tablesWithoutColumns.contains(table.id) ? migrationPass().programWrites[key] : nil
    }

    /// Gives rows over which a migration has gone since, together with all others, the times at which programs have written
    /// them before; where none has, nothing says when what differs after a rebuild was written.
    private func dateBeforeMigration() throws {
        guard recorder.findings.isAfterMigration || !lateFills.isEmpty, !captured.touched.isEmpty,
            // A rebuild alone has noted every row; most have no such statement before them.
            try !CapturedPasses(over: table.clock, in: table.pending, after: table.recorded, on: connection).isEmpty
        else { return }
        let pass = try migrationPass()
        for (key, milliseconds) in pass.writesBefore {
            captured.update(key) { row in
                row.isFound = milliseconds == nil
                row.milliseconds = milliseconds ?? (pass.isBeforeRebuild ? recorder.milliseconds : row.milliseconds)
            }
        }
    }

    private func migrationPass() throws -> MigrationPass {
        let pass = try migration ?? MigrationPass(table, on: connection)
        migration = pass
        return pass
    }

    /// When a program has written a row before the migration's last pass, if it is that write which has left something in a new
    /// column: no pass has put anything there into any row.
    private func programWrite(to key: RowKey, _ row: TouchedRow, in position: Int) throws -> Int64? {
        let pass = try migrationPass()
        guard let milliseconds = pass.programWrites[key] else { return nil }
        return try isFilled(position, by: pass) ? nil : milliseconds
    }

    /// Whether a program has written a row after the migration's last pass, which has put something into a new column, so that
    /// it is this write by which the row holds there what the column begins with.
    func isSetBack(_ key: RowKey, _ row: TouchedRow, in position: Int) throws -> Bool {
        let pass = try migrationPass()
        guard pass.end > 0, row.lastNumber > pass.end, pass.programWrites[key] != nil else { return false }
        return try isFilled(position, by: pass)
    }

    /// Whether a row that no program has written holds something in a new column.
    private func isFilled(_ position: Int, by pass: MigrationPass) throws -> Bool {
        let isFilled = try filledColumns[position] ?? holdsFill(position, by: pass)
        filledColumns[position] = isFilled
        return isFilled
    }

    private func holdsFill(_ position: Int, by pass: MigrationPass) throws -> Bool {
        let column = SQL.name(table.columns[position].local)
        let rowid = table.hasRowid ? table.rowid : "NULL"
        let statement = try Statement(
            "SELECT \(rowid), \(table.columnList) FROM \(table.quoted) WHERE \(column) IS NOT NULL", on: connection)
        let missing = store.defaultValue(of: table, position)
        while try statement.step() {
            let key = CapturedChanges.key(in: table, rowid: statement.isNull(0) ? nil : statement.integer(0)) {
                statement.value(table.key[$0].index + 1)
            }
            guard statement.value(position + 1) != missing, let key else { continue }
            if pass.programWrites[key] == nil && !pass.inserted.contains(key) { return true }
        }
        return false
    }

    /// Reads the pending rows again: there are more.
    func readPendingRows() throws {
        captured = try Self.read(table, besides: simple, recorder)
        migration = nil
        try dateBeforeMigration()
    }

    private static func read(
        _ table: TrackedTable, besides simple: SimpleChanges?, _ recorder: Recorder
    ) throws -> CapturedChanges {
        let origins = OriginLookup(table: table, store: recorder.store, recorder: recorder)
        return try CapturedChanges(
            table, besides: simple, on: recorder.store.connection, origin: origins.record(of:rowid:))
    }

    /// Whether nothing was captured.
    var isEmpty: Bool { captured.touched.isEmpty && captured.deleted.isEmpty && simple?.isEmpty ?? true }
    /// Whether rows may be there that were written.
    var hasWrites: Bool { !captured.touched.isEmpty || !(simple?.isEmpty ?? true) }

    /// The identity of the row that has been written at an integer; nil where none was.
    func identity(at integer: Int64) -> RowIdentity? {
        captured.touched[RowKey(rowid: integer)]?.identity ?? simple?.identity(at: integer)
    }

    /// The integers that stood for a row before any of this, as far as what they stand for changes. Call it when all identities
    /// are assigned.
    func formerIntegers(of identity: RowIdentity) -> [Int64] { formerIntegers[identity] ?? [] }

    /// The row as it is now; nil where it is gone.
    func currentRow(_ key: RowKey, _ touched: TouchedRow) throws -> TableReader.Row? {
        if table.hasRowid, let rowid = touched.rowid ?? key.rowid { return try reader.row(at: rowid) }
        return try reader.row(withKey: key.values)
    }

    /// Takes a row's entries out of the state digest and remembers that the identity is free.
    ///
    /// - Parameter place: that the record had at the last recording.
    func release(
        _ identity: RowIdentity, _ record: ClockRecord, from place: Int64, milliseconds: Int64, integer: Int64? = nil,
        key: [Value]? = nil
    ) {
        store.count(-1, record.state, row: store.rowDigest(table, identity), table: table)
        tombstones[identity] = Tombstone(
            stamps: record.state.allStamps, milliseconds: milliseconds, integer: integer, key: key,
            record: table.keyHasReference ? record : nil, place: place)
    }

    // MARK: Phases

    /// Phase `addDisplacedRows`.
    func addDisplacedRows() throws { try DisplacedRows(self).add() }

    /// Phase `keepRowsInsertedAgain`.
    func keepRowsInsertedAgain() throws { try RowsInsertedAgain(self)?.keep() }

    /// Phase `addChangedReferences`: rows that no program has touched, and that show a number which means a row now, or one
    /// that meant a row and is its key now.
    func addChangedReferences() throws {
        let findings = recorder.findings
        let rows = (findings.newReferences[table.id]?.rows ?? []) + (findings.formerReferenceRows[table.id] ?? [])
        for position in rows {
            let identity = try clock.identity(at: position)
            guard let row = try ShownRows(recorder.store).currentRow(ofRecord: identity, at: position, in: table),
                let key = CapturedChanges.key(
                    in: table, rowid: table.hasRowid ? position : nil, value: { row.values[table.key[$0].index] })
            else { continue }
            try captured.add(key, rowid: table.hasRowid ? position : nil, milliseconds: 0)
        }
    }

    /// Phase `renewFormerReferences`.
    func renewFormerReferences() throws {
        guard let ended = recorder.findings.namingChanges[table.id] else { return }
        let references = try FormerReferences(of: table, columns: Set(ended.keys), in: recorder.store)
        for (key, touched) in captured.touched {
            guard let row = try currentRow(key, touched) else { continue }
            try references.follow(row, key, rowid: touched.rowid ?? key.rowid)
        }
    }

    /// Phase `writeInsertsAndUpdates`: rows that differ from their records, then the simple ones.
    func writeInsertsAndUpdates() throws {
        let rows = RowRecorder(self)
        for row in staged { try rows.record(row) }
        if recorder.undecidedTables.contains(table.id) {
            try UndecidedWrites.note(staged, of: table, on: connection)
        }
        (staged, tombstones, formerlySpelled) = ([], [:], [:])
        try recorder.flush()
        guard let simple else { return }
        if !simple.updates.isEmpty { try BatchUpdateRecorder(simple, recorder).write() }
        if !simple.inserts.isEmpty { try BatchInsertRecorder(simple, recorder).write() }
    }

    /// Phase `writeBack`.
    func writeBack() throws {
        for row in writeBacks { try row.apply(store, table, except: recorder.findings.namingChanges) }
        writeBacks = []
    }

    /// Phase `clearPending`: forgets the pending rows that were recorded, all but the newest, which keeps their numbers
    /// from beginning anew.
    func clearPending() throws {
        simple?.raiseHigh()
        if captured.lastNumber > table.recorded {
            if let simple, simple.entries.count > 100 {
                try simple.forgetPending()
            } else {
                try connection.run("DELETE FROM \(table.pending) WHERE number < ?", .integer(captured.lastNumber))
            }
            table.recorded = captured.lastNumber
        }
        try table.keepExtent(on: connection)
    }
}
