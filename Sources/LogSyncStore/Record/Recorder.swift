// How captured rows become a transaction (Documentation/model.md, recording).
//
// The problem. Pending rows name the keys that programs wrote to. Clock records say which row stood where at the last
// recording or import, under which identity. A transaction has to say what was inserted, updated and deleted, under
// identities that mean the same rows on every peer. Since then rows may have taken the places (rowids) and the names
// (identities, keys) of each other: after `UPDATE t SET id = id + 1` each row is where its neighbour's record is.
//
// The phases. No record may be overwritten before what it says is known, so each phase is done for all tables before
// the next begins:
//
//   what was captured is read, and rows that REPLACE displaced are added   while records still say what was
//   records of deleted rows are removed, then those of moved rows follow   old places are free before rows move there
//   rows are given identities, then former identities are released         old names are free before rows are called so
//   deletes are written, then inserts and updates                          as a transaction is merged elsewhere
//   values are written back, pending rows are cleared                      once every row has its record
//
// The exception. Rows that were written once, and to which nothing else happened, need none of that: `SimpleChanges`
// takes them out at the beginning, and they are recorded in batches where deletes, inserts and updates have their turn.
//
// An example. `parent` has rows 1 = P and 2 = Q by their integers, `child` a row c that refers to 1.
//
//   DELETE FROM parent WHERE id = 1; UPDATE parent SET id = 1 WHERE id = 2
//
// P's record is removed, Q's moves from 2 to 1. The integer 1 means Q now, so c is recorded again, though no program
// touched it. The transaction deletes P and lets c refer to Q; it does not say that Q has another integer here.

import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Turns captured rows into a transaction, within the caller's write transaction.
final class Recorder {
    let store: OpenStore
    let findings: SchemaFindings
    let milliseconds: Int64
    /// Parents before children, as far as cycles allow.
    private var tables: [TableRecording] = []
    private var tablesByID: [Int64: TableRecording] = [:]
    /// The integers of rows that have gone, which rows may still refer to.
    let dangling: DanglingReferences
    private var writer: TransactionWriter?
    /// What migrations have put into new columns, by table and column id.
    private(set) var fills: [Int64: [Int: MigrationFill]] = [:]
    /// Rows of tables that came with rows in them.
    private lazy var found = FoundIdentities(
        store, self, byValues: findings.tablesByValues,
        known: { [unowned self] integer, table in
            if let identity = foundEarly[table.id]?[integer] { return identity }
            return try recording(of: table)?.identity(at: integer)
                ?? identities.knownIdentity(of: integer, in: table)
        },
        assign: { [unowned self] table, rowid, _, identity in
            foundEarly[table.id, default: [:]][rowid] = identity
        })
    /// Such rows that were found before their turn, because others refer to them, by table and rowid.
    private var foundEarly: [Int64: [Int64: RowIdentity]] = [:]
    private var movedRows: [Int64: MovedRows] = [:]
    private let author: String?
    private let context: String?
    /// The keys of rows that columns name, by column and table id, and by digest.
    private var namedKeys: [Int: [Int64: [UInt32: Value]]] = [:]
    /// The rows that have got other integers, or refer to such rows, as this store's programs know them.
    private var moved: [String: TableChanges] = [:]
    /// What transactions had seen, by one of their stamps at time 0.
    private var coverages: [Stamp: Coverage?] = [:]

    private var connection: Connection { store.connection }
    private var identities: IdentityMap { IdentityMap(store: store) }

    /// - Parameter findings: of the schema, in the same write transaction.
    init(
        _ store: OpenStore, findings: SchemaFindings = SchemaFindings(), author: String? = nil, context: String? = nil
    ) {
        self.store = store
        self.findings = findings
        self.author = author
        self.context = context
        milliseconds = store.configuration.clock.now()
        dangling = DanglingReferences(store)
    }

    /// Whether anything was captured since the last recording.
    static func hasPending(_ store: OpenStore) throws -> Bool {
        try !PendingRows(store).isEmpty
    }

    /// Records what was captured; nil where nothing differs from what is recorded already.
    func record(_ pending: PendingRows) throws -> RecordedTransaction? {
        guard
            !findings.orphanScans.isEmpty || findings.newReferences.values.contains(where: { !$0.rows.isEmpty })
                || findings.formerReferenceRows.values.contains(where: { !$0.isEmpty })
                || ParkedRowRecorder.isNeeded(store, findings) || !pending.isEmpty
        else { return nil }
        // Which record a row had is asked by its place and its key: first of all, while records are as they were.
        try read(pending)
        // A displaced row has no pending row of its own. Added now, it is deleted like other rows, or goes on as the
        // row that displaced it.
        for table in tables { try table.addDisplacedRows() }
        // What was deleted and inserted as it was is no delete.
        for table in tables { try table.keepRowsInsertedAgain() }
        for table in tables { try table.addChangedReferences() }
        // A setting says that a reference is enforced no more, and is a row to be recorded like other rows. Whether a
        // program's rows break one is asked while they are as it left them.
        try stopEnforcingBrokenReferences()
        // What names a row by its key is recorded with the key that the row is going to show.
        for table in tables { try table.renewFormerReferences() }
        // From here on records change their places: keys made of integers are looked up by what these meant.
        for table in tables { try table.keepFormerIdentities() }
        // Old places are freed …
        for table in tables { try table.removeClocksOfDeletedRows() }
        // … before rows move there.
        for table in tables { try table.moveClocksOfMovedRows() }
        // An integer that rows still hold means the deleted row; a new row of that integer takes this identity next.
        try dangling.settle()
        // Parents first, because a key may hold the parent's identity. An integer that means another row now adds the
        // rows that hold it, in any table, so until there are no more.
        while try tables.contains(where: { try $0.assignIdentities() }) {}
        // Old names are freed before any row is written under one.
        for table in tables.reversed() { try table.releaseFormerIdentities() }
        // Deletes come first, children before parents: what they free is taken by inserts of the same transaction.
        for table in tables.reversed() { try table.writeDeletes() }
        try writer?.flush()
        // What is left differs from its record or does not.
        for table in tables { try table.writeInsertsAndUpdates() }
        try ParkedRowRecorder(recorder: self).record()
        // A value that is written back may refer to any row, so when all have their records.
        for table in tables { try table.writeBack() }
        // Last, since simple rows were read from them twice.
        for table in tables { try table.clearPending() }
        defer { writer = nil }
        if let writer { return try writer.finish(moved) }
        // Nothing that other peers could hear of.
        try store.keepHistory(moved, cause: .moved, time: milliseconds)
        return nil
    }

    /// The transaction being written, begun with the first change.
    func transaction() throws -> TransactionWriter {
        if let writer { return writer }
        let fingerprint = try store.schemaFingerprint()
        let writer = try TransactionWriter(
            store, milliseconds: milliseconds, schema: fingerprint, author: author, context: context)
        self.writer = writer
        return writer
    }

    /// Notes that a row has another integer, which says nothing to other peers.
    func noteMove(of table: TrackedTable, from former: Int64, to integer: Int64) {
        moved[table.name, default: TableChanges()].note(.delete, [.integer(former)])
        moved[table.name, default: TableChanges()].note(.insert, [.integer(integer)])
    }

    /// Notes that a row goes on under another key, which holds the integer of such a row: what it was has gone. What it is
    /// now is written.
    func noteFormerKey(_ key: [Value], of table: TrackedTable) {
        moved[table.name, default: TableChanges()].note(.delete, key)
    }

    /// Notes that a row refers to such rows, as it did before.
    ///
    /// - Parameter positions: of the columns that do.
    func noteOtherIntegers(at positions: [Int], key: [Value], in table: TrackedTable) {
        guard !positions.isEmpty else { return }
        moved[table.name, default: TableChanges()].note(
            .update, key, columns: positions.map { table.columns[$0].local })
    }

    /// Encodes the changes collected so far; a table's changes stay together.
    func flush() throws { try writer?.flush() }

    /// Notes what a migration has put into a row.
    func noteFill(_ value: Value, of column: Int, in table: TrackedTable) {
        fills[table.id, default: [:]][column, default: MigrationFill(value)].add(value)
    }

    /// The key of that digest which a column names a row by.
    func key(_ digest: UInt32, in column: TrackedTable.Column, of table: TrackedTable) throws -> Value? {
        guard let (parent, position) = store.catalog.namedKey(column, in: table) else { return nil }
        if let keys = namedKeys[column.id]?[table.id] { return keys[digest] }
        var keys: [UInt32: Value] = [:]
        try TableReader(table: parent, store: store).forEachRow { _, values in
            let value = values[position]
            if !value.isNull { keys[UInt32(truncatingIfNeeded: table.valueDigest.of(value))] = value }
        }
        namedKeys[column.id, default: [:]][table.id] = keys
        return keys[digest]
    }

    /// What the transaction of a fill had seen, itself included; nil where too little is known of it.
    func coverage(of fill: Stamp) throws -> Coverage? {
        if let known = coverages[fill] { return known }
        let seen = try store.peers.dependencies(of: fill.peer, at: fill.sequence, on: connection)
        var coverage = seen.map { Coverage($0, peers: store.peers) }
        coverage?.raise(fill.peer, to: fill.sequence)
        coverages[fill] = .some(coverage)
        return coverage
    }

    // MARK: Phases of all tables

    private func read(_ pending: PendingRows) throws {
        tables = try store.catalog.tables.map { try TableRecording($0, pending, self) }
        tablesByID = Dictionary(uniqueKeysWithValues: tables.map { ($0.table.id, $0) })
    }

    /// Gives up the references that this store's own data broke, in the transaction that tells other peers so.
    private func stopEnforcingBrokenReferences() throws {
        let broken = try BrokenReferences(store: store).since(tables)
        guard !broken.isEmpty, let settings = store.catalog[SettingTable.name] else { return }
        for rule in broken { try Settings(store).set(ReferenceRule.setting, rule.target, ReferenceRule.unenforced) }
        try recording(of: settings)?.readPendingRows()
    }

    // MARK: What integers mean

    /// nil while pending rows are being read, and where the rows that a store begins with are recorded.
    func recording(of table: TrackedTable) -> TableRecording? { tablesByID[table.id] }

    /// What an integer that a reference holds means, as logs have it, once all that was captured is recorded.
    func logged(_ integer: Int64, in parent: TrackedTable) throws -> Value {
        if let identity = recording(of: parent)?.identity(at: integer) { return .reference(identity) }
        return try identities.logged(integer, in: parent)
    }

    /// A value as logs have it: the integer of a referenced row becomes its identity.
    func translated(_ value: Value, _ position: Int, in table: TrackedTable) throws -> Value {
        guard case .integer(let integer) = value, let name = table.columns[position].reference,
            let parent = store.catalog[name]
        else { return value }
        return try logged(integer, in: parent)
    }

    /// The identity of a row of a table that came with rows in it.
    func foundIdentity(of row: TableReader.Row, _ rowid: Int64, _ table: TrackedTable) throws -> RowIdentity {
        if let identity = try found.identity(of: row, rowid, table) { return identity }
        guard let identity = foundEarly[table.id]?[rowid] else {
            throw LogSyncError(.invalidStore, "a row of \(table.name) has no identity; nothing was recorded")
        }
        return identity
    }

    /// The identity of another peer's row that a row of a table which has just come is.
    func movedIdentity(of row: TableReader.Row, _ table: TrackedTable) throws -> RowIdentity? {
        guard findings.tablesByValues.contains(table.id) else { return nil }
        let rows = try movedRows[table.id] ?? MovedRows(of: table, in: store)
        movedRows[table.id] = rows
        return try rows.identity(of: row) { try translated(row.values[$0], $0, in: table) }
    }

    /// A row's cells as the log has them.
    ///
    /// - Parameter leavesOutKey: whether a key column is left out whose spelling is the identity's.
    func cells(
        of row: TableReader.Row, _ identity: RowIdentity, at positions: some Sequence<Int>,
        leavesOutKey: Bool = false, in table: TrackedTable
    ) throws -> [TransactionWriter.Cell] {
        let parts = leavesOutKey ? identity.naturalParts ?? [] : []
        var cells: [TransactionWriter.Cell] = []
        for position in positions {
            let value = try translated(row.values[position], position, in: table)
            if let part = table.key.firstIndex(where: { $0.index == position }), parts.indices.contains(part),
                parts[part].value == value
            {
                continue
            }
            let column = table.columns[position]
            cells.append(TransactionWriter.Cell(column: column.name, reference: column.reference, value: value))
        }
        return cells
    }

    // MARK: Times

    /// The time of a row change: when it was captured, no later than now and above everything that it supersedes.
    func time(captured: Int64, above stamps: [Stamp]) -> HybridTime {
        time(captured: captured, above: stamps.lazy.map(\.time).max())
    }

    /// - Parameter latest: the latest time of what it supersedes; nil where that is nothing.
    func time(captured: Int64, above latest: HybridTime?) -> HybridTime {
        let limit = milliseconds + store.configuration.maximumDrift
        let base = captured > limit ? milliseconds : min(captured, milliseconds)
        let time = HybridTime(milliseconds: base)
        guard let latest, latest >= time else { return time }
        return latest.successor
    }
}
