import LogSyncFormat
import LogSyncModel
import LogSyncState

/// Merges one transaction of another peer into the store (Documentation/model.md, replicated state), within the caller's write
/// transaction, when nothing local is pending.
///
/// A transaction is a set of row changes, at most one a row, that comes group by group: rows of one table that have the same
/// kind and the same columns. What it does to the replicated state does not depend on their order; what this store can show of
/// it on the way does, because a row may refer to one that comes later, and may hold a unique value that another row of the
/// same transaction is to give up. So it is done in four rounds:
///
/// 1. **Batches.** Rows of a group that contest nothing (nearly all) are found and written many at a time
///    (``BatchInsertMerge``, ``BatchChangeMerge``). Which those are, ``TrackedTable`` and the group say; a row that turns out
///    to be another is left.
/// 2. **Row by row** (``RowMerge``). A row that refers to a row that is not here waits until all groups have come.
/// 3. **Rows that waited for others** (``WaitingRows``), each when what it refers to has been. Where none is left that could be
///    tried, the rows that SQLite has refused so far are decided as if the transaction ended here: a tree need not be decided
///    for its root. What is left refers to each other in a circle or to nothing, and gets reserved integers.
/// 4. **Constraints.** A row that SQLite refused, or of which it could not be told whether its parents are shown, is beside
///    its table by then (``UndecidedRow``). With the whole transaction applied, ``ShownRowsPass`` decides which rows are shown.
///
/// The other exception to "apply, then decide": under `delete-loses` a delete that took edits of this peer is answered by an
/// insert of this peer's own, in the same SQLite transaction, before it is decided what is shown.
///
/// Example: a transaction inserts a note into a folder and the folder itself, and another row has the folder's unique name. The
/// note waits in round 2 (its folder is not here), the folder is refused in round 2 and undecided, the note is undecided in
/// round 3, and the pass shows the older of the two folders, and the note if its folder is shown.
final class TransactionMerge {
    let store: OpenStore
    let header: TransactionHeader
    let shownRows: ShownRows
    /// Of the transaction's own entries; each row has a time of its own.
    let stamp: Stamp
    /// What the author had seen.
    let coverage: Coverage
    let dependencies: VersionVector
    /// Whether its author's schema is another.
    let notes: ChangeNotes
    let dangling: DanglingReferences
    /// Gives the bytes of values that the transaction names.
    private(set) var blobs: BlobSource?
    /// The blobs among them that nobody has any more.
    private var lostBlobs: Set<BlobID> = []
    /// What was merged without its bytes.
    private(set) var lost: Set<LostValue> = []

    /// How many groups have come.
    private var groupCount = 0
    /// Rows that refer to rows still to come.
    var deferred: [IncomingRow] = []
    /// Rows that a constraint refused, or that were taken out to make room.
    var undecided: [UndecidedRow] = []
    var undecidedNames = UndecidedNames()
    /// Rows as they were shown, that are deleted or that a foreign key may name by another value now.
    var formerRows: [FormerRow] = []
    /// Rows that this transaction deleted though this peer had edited them (`delete-loses`).
    var overridden: [OverriddenRow] = []
    /// What was recorded to bring those rows back.
    private(set) var reinserted: RecordedTransaction?

    /// The rows that another merge of it has done already; nil where there is none. Other rows may differ from their records
    /// then.
    let early: Set<RowName>?
    /// The latest time that a row of it may have, but where its peer's clock was accepted.
    private let latestTime: LatestTime

    private(set) var counts: [String: ChangeCounts] = [:]
    /// The transaction's place in the history.
    private var token: Int64 = 0
    lazy var batches = TransactionBatches(self)

    /// - Parameters:
    ///   - early: the rows that another merge of it has done already.
    ///   - notes: what that one has noted.
    /// - Throws: `malformedLog` where the transaction depends on others that have not been imported.
    init(
        _ store: OpenStore, _ header: TransactionHeader, after early: Set<RowName>? = nil,
        _ notes: ChangeNotes = ChangeNotes()
    ) throws {
        self.store = store
        self.header = header
        self.early = early
        self.notes = notes
        shownRows = ShownRows(store)
        store.cached.namedRows = [:]
        dangling = DanglingReferences(store)
        guard case .seen(let dependencies) = try store.peers.dependencies(of: header, on: store.connection) else {
            throw LogSyncError(.malformedLog, "transaction \(header.dot) depends on others that are not here")
        }
        self.dependencies = dependencies
        let author = try store.peers.number(of: header.dot.peer, on: store.connection)
        coverage = store.peers.coverage(of: header) ?? Coverage(dependencies, peers: store.peers)
        stamp = Stamp(peer: author, sequence: header.dot.sequence, time: header.time)
        latestTime = LatestTime(store, of: header)
    }

    func run(_ incoming: IncomingTransaction) throws -> ImportedTransaction {
        takeBlobs(of: incoming)
        try incoming.forEachGroup { try applyGroup($0) }
        try batches.flush()
        if counts[SettingTable.name] != nil { store.forgetNamingColumns() }
        store.cached.namedRows = [:]
        try applyDeferredRows()
        try advanceVector(to: incoming.chain)
        try reinsertEditedRows()
        try updateShownRows()
        if counts[SettingTable.name] != nil, try KeyHistory(store.connection) != store.catalog.keys {
            try store.reloadCatalog()
        }
        try store.keepHistory(notes.tables, of: token)
        return ImportedTransaction(
            dot: header.dot, time: header.time, author: header.author, context: header.context, tables: notes.tables,
            token: token)
    }

    /// Merges one row before the rest of the transaction, which another merge does.
    ///
    /// - Returns: false where it has to wait for others.
    func mergeEarly(_ row: IncomingRow, of incoming: IncomingTransaction) throws -> Bool {
        takeBlobs(of: incoming)
        return try RowMerge(row: whole(row), transaction: self).apply(mayDefer: true)
    }

    /// The row with the bytes of its large values, before the transaction is merged.
    func whole(_ row: IncomingRow, of incoming: IncomingTransaction) throws -> IncomingRow {
        takeBlobs(of: incoming)
        return try whole(row)
    }

    // MARK: Groups

    private func applyGroup(_ given: RowGroup) throws {
        let group = try named(given)
        try latestTime.check(group)
        // A second insert is refused by the first one's record, many at a time as one by one.
        guard group.kind == .insert || !RowIdentity.repeats(in: group.identities) else {
            throw repeatedRow(in: group.table)
        }
        try store.checkIdentities(group.identities, in: store.catalog[group.table])
        counts[group.table, default: ChangeCounts()] += ChangeCounts(
            inserted: group.kind == .insert ? group.rowCount : 0,
            updated: group.kind == .update ? group.rowCount : 0,
            deleted: group.kind == .delete ? group.rowCount : 0)
        let target = GroupTarget(group, store.catalog[group.table])
        try target.check(group, store.catalog)
        groupCount += 1
        let left = try early == nil ? batches.apply(group, target) : Array(0..<group.rowCount)
        for index in left {
            let row = IncomingRow(group, index, target, stamp, number: groupCount)
            if !isMerged(row) { try apply(row, mayDefer: true) }
        }
        if group.table == SettingTable.name { store.forgetNamingColumns() }
    }

    private func isMerged(_ row: IncomingRow) -> Bool {
        guard let early, let table = row.table else { return false }
        return early.contains(RowName(table, row.identity))
    }

    /// The group with its table called as this store calls it where only rows of it are here.
    private func named(_ group: RowGroup) throws -> RowGroup {
        var names: Set<String> = []
        for column in group.columns where !names.insert(column.name.folded).inserted {
            throw LogSyncError(
                .malformedLog,
                "transaction \(header.dot) gives two columns of \(group.table) that are the same letters in other bytes, "
                    + "\(column.name.debugDescription); nothing of it was imported")
        }
        guard store.catalog[group.table] == nil else { return group }
        var named = group
        named.table = try HiddenRows(store).name(ofAbsent: group.table)
        return named
    }

    // MARK: Rows

    func apply(_ row: IncomingRow, mayDefer: Bool) throws {
        // A row that has to wait does so without its bytes.
        if try !RowMerge(row: whole(row), transaction: self).apply(mayDefer: mayDefer) { deferred.append(row) }
    }

    /// The row with the bytes of its large values.
    private func whole(_ row: IncomingRow) throws -> IncomingRow {
        guard let blobs, row.group.namesBlobs(at: row.index) else { return row }
        let replaced = lostBlobs.isEmpty ? row : try replacingLostValues(of: row)
        return IncomingRow(try replaced.group.whole(at: replaced.index, blobs), 0, row.target, stamp)
    }

    private func takeBlobs(of incoming: IncomingTransaction) {
        blobs = incoming.blobs
        lostBlobs = incoming.lost
    }

    private func replacingLostValues(of row: IncomingRow) throws -> IncomingRow {
        var replaced = row
        let beside = undecided.last { $0.full.identity == row.identity && $0.full.table == row.tableName }
        lost.formUnion(try LostValue.replace(in: &replaced, lostBlobs, beside?.full, shownRows))
        return replaced
    }

    var touchedTables: Set<Int64> { Set(counts.keys.compactMap { store.catalog[$0]?.id }) }

    /// Takes a row off the list of undecided rows; nil where it is not among them.
    func takeUndecided(_ identity: RowIdentity, in table: TrackedTable) -> UndecidedRow? {
        guard !undecided.isEmpty, undecidedNames.mayContain(identity, of: undecided),
            let position = undecided.lastIndex(where: { $0.full.identity == identity && $0.full.table == table.name })
        else { return nil }
        undecidedNames = UndecidedNames()
        return undecided.remove(at: position)
    }

    /// Remembers a row as it was shown, where a foreign key of another row may name it.
    func noteFormer(_ row: TableReader.Row?, at position: Int64, in table: TrackedTable) {
        guard let row, store.referenceRules.to(table).contains(where: { $0.strength != .unenforced }) else { return }
        formerRows.append(FormerRow(table: table, integer: position, values: row.values))
    }

    // MARK: When all rows are applied

    private func advanceVector(to chain: ChainHash) throws {
        let connection = store.connection
        if store.peers[header.dot.peer]?.sequence == 0 { try NewPeers(store: store).add() }
        try store.peers.advance(stamp.peer, to: header.dot.sequence, chain: chain, on: connection)
        try store.peers.keepDependencies(
            dependencies, hasNews: !header.dependencyChanges.isEmpty, of: stamp.peer, on: connection)
        token = try History.append(header, peer: stamp.peer, chain: chain, counts: counts, rows: nil, store)
    }

    private func reinsertEditedRows() throws {
        reinserted = try EditReinsertion(store, shownRows: shownRows).reinsert(overridden, in: &undecided)
    }

    private func updateShownRows() throws {
        // Which rows are shown is decided by the settings as they are with this transaction.
        if counts[SettingTable.name] != nil {
            store.cached.hasLateRenames = nil
            try PolicyChange(store: store, shownRows: shownRows).apply()
        }
        try ShownRowsPass(store, shownRows: shownRows)
            .run(undecided, formerRows: formerRows, touching: touchedTables, notes: notes)
        try dangling.settle()
    }
}
