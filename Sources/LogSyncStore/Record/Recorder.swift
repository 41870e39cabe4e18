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
    /// The ids of tables with columns of which it is to be decided what they are.
    private(set) var undecidedTables: Set<Int64> = []
    private var writer: TransactionWriter?
    /// What migrations have put into columns.
    var fills: MigrationFills
    /// The identities of rows that came with their tables.
    private(set) lazy var arrived = ArrivedRows(self)
    /// The rows that columns name by their keys.
    private(set) lazy var named = NamedRows(store, findings.formerReferenceKeys)
    /// What migrations have put from one table into another.
    private(set) lazy var moved = MovedValues(self)
    /// The columns of which entries may be here without their values.
    private(set) lazy var forgotten = Result { try ForgottenColumns(store).all() }
    /// By the tables' ids and the columns'.
    private var referring: [Int64: [Int: ReferringRows]] = [:]
    /// What only this store's programs are told.
    var untold = UntoldChanges()
    private let author: String?
    private let context: String?

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
        fills = MigrationFills(store)
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
        try BrokenReferences(store: store).stopEnforcing(tables, self)
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
        // What others have deleted before this store's program has made it, too, is not inserted.
        for table in tables.reversed() { try table.removeRowsDeletedElsewhere() }
        // Deletes come first, children before parents: what they free is taken by inserts of the same transaction.
        for table in tables.reversed() { try table.writeDeletes() }
        try writer?.flush()
        // What is left differs from its record or does not.
        for table in tables { try table.writeInsertsAndUpdates() }
        try ParkedRowRecorder(recorder: self).record()
        // A value that is written back may refer to any row, so when all have their records.
        for table in tables { try table.writeBack() }
        for table in tables where !table.filled.isEmpty || !table.lateFills.isEmpty {
            try AwaitedFills(store).end(table.filled.union(table.lateFills), of: table.table.id)
        }
        // Last, since simple rows were read from them twice.
        for table in tables { try table.clearPending() }
        defer { writer = nil }
        if let writer { return try writer.finish(untold.changes) }
        // Nothing that other peers could hear of.
        try store.keepHistory(untold.changes, cause: .moved, time: milliseconds)
        return nil
    }

    /// The rows of a table by the integers that they hold in a column.
    func referring(_ child: TrackedTable, by column: TrackedTable.Column) -> ReferringRows {
        if let rows = referring[child.id]?[column.id] { return rows }
        let rows = ReferringRows(of: child, by: column, on: store.connection)
        referring[child.id, default: [:]][column.id] = rows
        return rows
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

    /// Encodes the changes collected so far; a table's changes stay together.
    func flush() throws { try writer?.flush() }

    private func read(_ pending: PendingRows) throws {
        undecidedTables = Set(try UndecidedColumns(store.connection).all().keys)
        tables = try store.catalog.tables.map { try TableRecording($0, pending, self) }
        tablesByID = Dictionary(uniqueKeysWithValues: tables.map { ($0.table.id, $0) })
    }

    /// nil while pending rows are being read, and where the rows that a store begins with are recorded.
    func recording(of table: TrackedTable) -> TableRecording? { tablesByID[table.id] }
}
