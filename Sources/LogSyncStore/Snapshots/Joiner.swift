import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Joins a snapshot's rows into the store, entry by entry (Documentation/model.md, joining a snapshot), within the
/// caller's write transaction, when nothing local is pending.
///
/// Rows are given one after the other, rows that refer to rows still to come a second time at the end.
final class Joiner {
    let store: OpenStore
    let shownRows: ShownRows
    let terms: SnapshotTerms
    let coverage: JoinCoverage
    /// Gives the bytes of values that the snapshot names.
    let blobs: BlobSource?
    private let dangling: DanglingReferences
    private var undecided: [UndecidedRow] = []
    /// What they are called: the snapshot may have a row twice, and nothing else finds one of these.
    private var undecidedNames: Set<SnapshotRowName> = []
    private var formerRows: [FormerRow] = []
    /// Rows that the snapshot's deletions took though this peer had edited them (`delete-loses`).
    private var lost: [OverriddenRow] = []
    private let notes = ChangeNotes()
    var tables: [String: TableChanges] { notes.tables }
    /// The columns whose values the snapshot's author had lost, of what was taken from it.
    private(set) var lostColumns: Set<ColumnName> = []
    /// The columns of which it has lost values, as it says itself.
    private let listed: Set<ColumnName>

    /// Whether the store has nothing but settings and what this has put there.
    private let isFilling: Bool

    /// What the cells of keys that the snapshot leaves out add to its digest, and names that are spelled otherwise here.
    private(set) var completed: UInt64 = 0

    private var connection: Connection { store.connection }

    init(_ store: OpenStore, _ manifest: SnapshotManifest, blobs: BlobSource?, isFilling: Bool = false) throws {
        self.store = store
        self.blobs = blobs
        self.isFilling = isFilling
        listed = manifest.lost
        shownRows = ShownRows(store)
        dangling = DanglingReferences(store)
        terms = try SnapshotTerms(manifest, store)
        coverage = JoinCoverage(
            ours: Coverage(store.peers.vector, peers: store.peers),
            theirs: Coverage(manifest.vector, peers: store.peers))
    }

    /// Joins one row; nothing in it says that the snapshot does not have the row.
    ///
    /// - Parameter mayDefer: whether a row that refers to one that is not here is left alone.
    /// - Returns: false where it was left alone.
    @discardableResult
    func join(_ given: RowState, mayDefer: Bool) throws -> Bool {
        var theirs = given
        guard let table = store.catalog[given.table] else {
            theirs.table = try HiddenRows(store).name(ofAbsent: given.table)
            if !theirs.table.hasSameBytes(as: given.table) { count(given, as: theirs) }
            theirs = try theirs.whole(blobs)
            let key = spellOutKey(of: &theirs)
            try joinHidden(theirs, key, in: nil)
            return true
        }
        try store.checkIdentities([theirs.identity], in: table)
        let isRenamed = theirs.rename(as: table)
        if table.holdsSettings, let value = theirs.state.cellsByName["value"]?.versions.first?.value {
            try UnreadyTable.check(theirs.identity, value, store.catalog)
        }
        if mayDefer, theirs.isAlive, try refersToMissing(theirs, in: table) { return false }
        if isRenamed { count(given, as: theirs) }
        theirs = try theirs.whole(blobs)
        let key = spellOutKey(of: &theirs)
        if let position = try shownRows.locate(theirs.identity, in: table) {
            // The content's settings are there before.
            if isFilling, !table.holdsSettings { throw SnapshotStage.repeatedRow(in: table.name) }
            try joinShown(theirs, key, at: position, in: table)
        } else {
            try joinHidden(theirs, key, in: table)
        }
        return true
    }

    /// - Returns: the key that rows of the table had first; nil where identities say none.
    private func spellOutKey(of theirs: inout RowState) -> FirstKey? {
        let before = theirs
        guard let key = KeyNames(store).key(of: theirs.table) else { return nil }
        if theirs.spellOutKey(key) { count(before, as: theirs) }
        return key
    }

    /// Notes that this store counts a row otherwise than the snapshot's digest does.
    private func count(_ given: RowState, as own: RowState) {
        let digest = store.stateDigest
        store.countFull(-1, given)
        store.countFull(1, own)
        completed &+= store.stateDigest &- digest
        store.stateDigest = digest
    }

    /// Promises integers to rows that others refer to before they are here.
    func reserve(_ identity: RowIdentity, _ integer: Int64?, in tableName: String) throws {
        guard let table = store.catalog[tableName], table.localInteger != nil else { return }
        let identities = IdentityMap(store: store)
        guard try identities.integer(of: identity, in: table) == nil else { return }
        try identities.reserve(
            try shownRows.integers.next(hint: integer, for: identity, in: table), for: identity, in: table)
    }

    /// Decides which rows stand. Call it when all rows of this transaction are joined.
    func settle() throws {
        // What stands depends on policies and on which keys are enforced.
        if tables[SettingTable.name] != nil { try PolicyChange(store: store, shownRows: shownRows).apply() }
        _ = try EditReinsertion(store, shownRows: shownRows).reinsert(lost, in: &undecided)
        try ShownRowsPass(store, shownRows: shownRows)
            .run(undecided, formerRows: formerRows, notes: notes)
        (undecided, undecidedNames, formerRows, lost) = ([], [], [], [])
        if !lostColumns.isEmpty { try ForgottenColumns(store).add(lostColumns) }
        try dangling.settle()
    }

    // MARK: Where the row is

    /// What both sides have. Where what said a key is among what neither has any more, the identity says it, as it does to
    /// everybody who reads a snapshot of this.
    private func joined(_ ours: RowState, _ theirs: RowState, _ key: FirstKey?) -> RowState {
        var joined = ours
        joined.join(theirs, coverage)
        if let key { _ = joined.spellOutKey(key) }
        return joined
    }

    private func joinShown(_ theirs: RowState, _ key: FirstKey?, at position: Int64, in table: TrackedTable) throws {
        guard let (ours, record, row) = try shownRows.full(at: position, in: table) else {
            throw LogSyncError(
                .invalidStore, "a row of \(table.name) has no clock record; nothing was imported",
                help: "Run `logsync rescan` on the store.")
        }
        let joined = joined(ours, theirs, key)
        guard !joined.hasSameEntries(as: ours) else { return }
        noteLost(joined, formerly: ours)
        store.countFull(-1, ours)
        store.countFull(1, joined)
        let former = FormerRow(table: table, integer: position, values: row.values)
        if joined.isAlive {
            notes.note(table.name, .update, table.primaryKey(of: row, at: position))
            if try shownRows.updateUncontested(joined, from: record, row, at: position, in: table) {
                if store.referenceRules.to(table).contains(where: { !$0.isByInteger }) { formerRows.append(former) }
            } else {
                try shownRows.hide(joined, at: position, uniques: record.uniques, in: table)
                try addUndecided(UndecidedRow(full: joined, former: former))
            }
            return
        }
        formerRows.append(former)
        try notes.noteDelete(of: row, at: position, in: table, store)
        try shownRows.hide(joined, at: position, uniques: record.uniques, in: table)
        let comesBack = try joined.hasCells && lose(joined, formerly: ours, in: table)
        if !comesBack, let integer = joined.integer {
            try IdentityMap(store: store).release(integer, in: table)
            dangling.note(integer, joined.identity, in: table)
            shownRows.integers.free(integer, of: joined.identity, in: table)
        }
    }

    /// Keeps the edits that a deletion took, or remembers the row where this peer brings it back: then returns true.
    private func lose(_ full: RowState, formerly former: RowState, in table: TrackedTable) throws -> Bool {
        guard former.isAlive, store.policies.reinsertsEdits(table.name), full.hasEdits(of: store.own) else {
            try keep(full, .dead)
            return false
        }
        lost.append(OverriddenRow(table: table, full: full, former: former))
        return true
    }

    private func joinHidden(_ theirs: RowState, _ key: FirstKey?, in table: TrackedTable?) throws {
        let kept = try HiddenRows(store).row(theirs.table, theirs.identity)
        if isFilling, theirs.table != SettingTable.name,
            kept != nil || undecidedNames.contains(SnapshotRowName(table: theirs.table, identity: theirs.identity))
        {
            throw SnapshotStage.repeatedRow(in: theirs.table)
        }
        let ours = kept.map {
            RowState(table: $0.table, identity: $0.identity, state: $0.clock, integer: $0.integer)
        }
        let joined = joined(ours ?? RowState(table: theirs.table, identity: theirs.identity), theirs, key)
        if let ours, joined.hasSameEntries(as: ours) { return }
        noteLost(joined, formerly: ours)
        if kept != nil { _ = try HiddenRows(store).remove(theirs.table, theirs.identity) }
        if table == nil && !joined.isAlive { try AbsentTombstones(store).note(joined.identity, of: joined.table) }
        guard joined.isAlive || joined.hasCells else {
            if kept?.state == .parked { notes.note(theirs.table, .delete) }
            return
        }
        store.countFull(1, joined)
        guard let table else { return try keep(joined, .unknownTable) }
        guard joined.isAlive else {
            _ = try lose(joined, formerly: ours ?? joined, in: table)
            return
        }
        if try shownRows.showUncontested(joined, in: table) {
            notes.note(table.name, .insert, try shownRows.primaryKey(of: joined.identity, in: table))
        } else {
            let wasParked = kept?.state == .parked
            if !wasParked { notes.note(table.name, .insert) }
            try addUndecided(UndecidedRow(full: joined, isCounted: !wasParked))
        }
    }

    private func keep(_ full: RowState, _ state: HiddenRows.State) throws {
        try HiddenRows(store).put(
            HiddenRows.Row(
                table: full.table, identity: full.identity, state: state, clock: full.state, integer: full.integer))
    }

    /// Where a version's value is known to neither side, the table shows the column's default in its place. So does its
    /// author, who may have got it from another in the same way and gives it as the value: all that is taken of a column on
    /// its list counts as lost.
    private func noteLost(_ full: RowState, formerly former: RowState?) {
        for column in full.state.cellsByName.lostColumns { lostColumns.insert(ColumnName(full.table, column)) }
        guard !listed.isEmpty else { return }
        for (name, cell) in full.state.cellsByName {
            let column = ColumnName(full.table, name)
            guard listed.contains(column), !lostColumns.contains(column) else { continue }
            let known = Set(former?.state.cellsByName[name]?.versions.map(\.stamp) ?? [])
            if cell.versions.contains(where: { !known.contains($0.stamp) }) { lostColumns.insert(column) }
        }
    }

    /// A row of a store that is being filled, that a constraint refused; it is decided about with the others.
    ///
    /// - Throws: `malformedLog` where the snapshot had the row before.
    func addUndecided(_ full: RowState, in table: TrackedTable) throws {
        guard try shownRows.locate(full.identity, in: table) == nil,
            try HiddenRows(store).row(table.name, full.identity) == nil
        else { throw SnapshotStage.repeatedRow(in: table.name) }
        try addUndecided(UndecidedRow(full: try full.whole(blobs), isCounted: false))
    }

    /// Looks for what the clock table does not refuse: rows that are shown nowhere, or not yet.
    ///
    /// - Throws: `malformedLog` where the snapshot had one of these rows before.
    func checkAreNotHidden(_ identities: [RowIdentity], of table: TrackedTable) throws {
        let hidden = HiddenRows(store)
        guard try !undecidedNames.isEmpty || hidden.hasAny(of: table) else { return }
        for identity in identities
        where try undecidedNames.contains(SnapshotRowName(table: table.name, identity: identity))
            || hidden.row(table.name, identity) != nil
        {
            throw SnapshotStage.repeatedRow(in: table.name)
        }
    }

    private func addUndecided(_ row: UndecidedRow) throws {
        let name = SnapshotRowName(table: row.full.table, identity: row.full.identity)
        guard undecidedNames.insert(name).inserted else { throw SnapshotStage.repeatedRow(in: row.full.table) }
        undecided.append(row)
    }

    // MARK: References

    func refersToMissing(_ full: RowState, in table: TrackedTable) throws -> Bool {
        if table.keyHasReference, try shownRows.localKey(full.identity, in: table) == nil { return true }
        for column in table.columns {
            guard let reference = column.reference, let cell = full.state.cellsByName[column.name] else { continue }
            for version in cell.versions {
                guard let value = version.value else { continue }
                if try shownRows.local(value, reference) == nil { return true }
            }
        }
        return false
    }
}

extension RowState {
    /// Spells its table and columns as this store has them; returns whether that is otherwise.
    fileprivate mutating func rename(as table: TrackedTable) -> Bool {
        var isOther = !table.name.hasSameBytes(as: self.table)
        self.table = table.name
        for name in Array(state.cellsByName.keys) {
            guard let position = table.positions[name.folded] else { continue }
            let own = table.columns[position].name
            guard !own.hasSameBytes(as: name) else { continue }
            state.cellsByName[own] = state.cellsByName.removeValue(forKey: name)
            isOther = true
        }
        return isOther
    }
}
