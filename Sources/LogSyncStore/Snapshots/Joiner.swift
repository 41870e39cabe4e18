import LogSyncFormat
import LogSyncModel

/// Joins a snapshot's rows into the store, entry by entry (MODEL.md, joining a snapshot), within the caller's write
/// transaction, when nothing local is pending.
///
/// Rows are given one after the other, those that refer to rows still to come a second time at the end.
final class Joiner {
    let session: Session
    let standing: Standing
    let terms: SnapshotTerms
    let coverage: JoinCoverage
    /// Gives the bytes of values that the snapshot names.
    let blobs: BlobSource?
    private let dangling: Dangling
    private var floating: [FloatingRow] = []
    private var gone: [GoneRow] = []
    /// Rows that the snapshot's deletions took though this peer had edited them (`delete-loses`).
    private var lost: [LostRow] = []
    private(set) var tables: [String: TableChanges] = [:]
    /// The columns whose values the snapshot's author had lost, of what was taken from it.
    private(set) var lostColumns: Set<ColumnName> = []
    /// The columns of which it has lost values, as it says itself.
    private let listed: Set<ColumnName>

    /// What the cells of keys that the snapshot leaves out add to its digest.
    private(set) var completed: UInt64 = 0

    private var connection: Connection { session.connection }

    init(_ session: Session, _ manifest: SnapshotManifest, blobs: BlobSource?) throws {
        self.session = session
        self.blobs = blobs
        listed = manifest.lost
        standing = Standing(session)
        dangling = Dangling(session)
        terms = try SnapshotTerms(manifest, session)
        coverage = JoinCoverage(
            ours: Coverage(session.peers.vector, peers: session.peers),
            theirs: Coverage(manifest.vector, peers: session.peers))
    }

    /// Joins one row; nothing in it says that the snapshot does not have the row.
    ///
    /// - Parameter mayDefer: whether a row that refers to one that is not here is left alone.
    /// - Returns: false where it was left alone.
    @discardableResult
    func join(_ theirs: FullRow, mayDefer: Bool) throws -> Bool {
        guard let table = session.catalog[theirs.table] else {
            var theirs = try theirs.whole(blobs)
            if let names = KeyNames(session).names(of: theirs.table) { spellOutKey(of: &theirs, names) }
            try joinKept(theirs, in: nil)
            return true
        }
        var theirs = theirs.named(as: table)
        if mayDefer, theirs.isAlive, try refersToMissing(theirs, in: table) { return false }
        theirs = try theirs.whole(blobs)
        if !table.key.isEmpty { spellOutKey(of: &theirs, table.orderedKeyNames) }
        if let position = try standing.locate(theirs.identity, in: table) {
            try joinStanding(theirs, at: position, in: table)
        } else {
            try joinKept(theirs, in: table)
        }
        return true
    }

    private func spellOutKey(of theirs: inout FullRow, _ names: [String]) {
        let before = theirs
        guard theirs.spellOutKey(names) else { return }
        let digest = session.stateDigest
        session.countFull(-1, before)
        session.countFull(1, theirs)
        completed &+= session.stateDigest &- digest
        session.stateDigest = digest
    }

    /// Promises integers to rows that others refer to before they are here.
    func promise(_ identity: RowIdentity, _ integer: Int64?, in tableName: String) throws {
        guard let table = session.catalog[tableName], table.localInteger != nil else { return }
        let references = References(session: session)
        guard try references.integer(of: identity, in: table) == nil else { return }
        try references.reserve(
            try standing.freeInteger(hint: integer, for: identity, in: table), for: identity, in: table)
    }

    /// Decides which rows stand. Call it when all rows of this transaction are joined.
    func settle() throws {
        // What stands depends on policies and on which keys are enforced.
        if tables["logsync_setting"] != nil { try Redeciding(session: session, standing: standing).redecide() }
        _ = try Reviving(session, standing: standing).revive(lost, in: &floating)
        try Settling(session, standing: standing)
            .settle(floating, gone: gone) { table, kind, key, _ in note(table, kind, key) }
        (floating, gone, lost) = ([], [], [])
        if !lostColumns.isEmpty { try LostColumns(session).add(lostColumns) }
        try dangling.settle()
    }

    // MARK: Where the row is

    private func joinStanding(_ theirs: FullRow, at position: Int64, in table: TrackedTable) throws {
        guard let (ours, record, row) = try standing.full(at: position, in: table) else {
            throw LogSyncError(
                .invalidStore, "a row of \(table.name) has no clock record; nothing was imported",
                help: "Run `logsync rescan` on the store.")
        }
        var joined = ours
        joined.join(theirs, coverage)
        guard !joined.hasSameEntries(as: ours) else { return }
        noteLost(joined, formerly: ours)
        session.countFull(-1, ours)
        session.countFull(1, joined)
        let former = GoneRow(table: table, integer: position, values: row.values)
        if joined.isAlive {
            note(table.name, .update, table.primaryKey(of: row, at: position))
            if try standing.rewrite(joined, from: record, row, at: position, in: table) {
                if session.foreignRules.to(table).contains(where: { !$0.isByInteger }) { gone.append(former) }
            } else {
                try standing.float(joined, at: position, uniques: record.uniques, in: table)
                floating.append(FloatingRow(full: joined, former: former))
            }
            return
        }
        gone.append(former)
        note(table.name, .delete, table.primaryKey(of: row, at: position))
        try standing.float(joined, at: position, uniques: record.uniques, in: table)
        let comesBack = try joined.hasCells && lose(joined, formerly: ours, in: table)
        if !comesBack, let integer = joined.integer {
            try References(session: session).release(integer, in: table)
            dangling.note(integer, joined.identity, in: table)
            standing.free(integer, of: joined.identity, in: table)
        }
    }

    /// Keeps the edits that a deletion took, or remembers the row where this peer brings it back: then returns true.
    private func lose(_ full: FullRow, formerly former: FullRow, in table: TrackedTable) throws -> Bool {
        guard former.isAlive, session.policies.revives(table.name), full.hasEdits(of: session.own) else {
            try keep(full, .dead)
            return false
        }
        lost.append(LostRow(table: table, full: full, former: former))
        return true
    }

    private func joinKept(_ theirs: FullRow, in table: TrackedTable?) throws {
        let kept = try KeptRows(session).row(theirs.table, theirs.identity)
        let ours = kept.map {
            FullRow(table: $0.table, identity: $0.identity, state: $0.clock, integer: $0.integer)
        }
        var joined = ours ?? FullRow(table: theirs.table, identity: theirs.identity)
        joined.join(theirs, coverage)
        if let ours, joined.hasSameEntries(as: ours) { return }
        noteLost(joined, formerly: ours)
        if kept != nil { _ = try KeptRows(session).remove(theirs.table, theirs.identity) }
        guard joined.isAlive || joined.hasCells else {
            if kept?.state == .parked { note(theirs.table, .delete, nil) }
            return
        }
        session.countFull(1, joined)
        guard let table else { return try keep(joined, .unknownTable) }
        guard joined.isAlive else {
            _ = try lose(joined, formerly: ours ?? joined, in: table)
            return
        }
        note(table.name, kept?.state == .parked ? .update : .insert, nil)
        if try standing.stand(joined, in: table) {
            try noteKey(of: joined, in: table)
        } else {
            floating.append(FloatingRow(full: joined))
        }
    }

    private func keep(_ full: FullRow, _ state: KeptRows.State) throws {
        try KeptRows(session).put(
            KeptRows.Row(
                table: full.table, identity: full.identity, state: state, clock: full.state, integer: full.integer))
    }

    /// Where a version's value is known to neither side, the table shows the column's default in its place. So does its
    /// author, who may have got it from another in the same way and gives it as the value: all that is taken of a column on
    /// its list counts as lost.
    private func noteLost(_ full: FullRow, formerly former: FullRow?) {
        for column in full.state.unknown.lostColumns { lostColumns.insert(ColumnName(full.table, column)) }
        guard !listed.isEmpty else { return }
        for (name, cell) in full.state.unknown {
            let column = ColumnName(full.table, name)
            guard listed.contains(column), !lostColumns.contains(column) else { continue }
            let known = Set(former?.state.unknown[name]?.versions.map(\.stamp) ?? [])
            if cell.versions.contains(where: { !known.contains($0.stamp) }) { lostColumns.insert(column) }
        }
    }

    /// A row that a constraint refused; it is decided about with the others.
    func float(_ full: FullRow) throws { floating.append(FloatingRow(full: try full.whole(blobs))) }

    // MARK: References

    func refersToMissing(_ full: FullRow, in table: TrackedTable) throws -> Bool {
        if table.keyHasReference, try standing.localKey(full.identity, in: table) == nil { return true }
        for column in table.columns {
            guard let reference = column.reference, let cell = full.state.unknown[column.name] else { continue }
            for version in cell.versions {
                guard let value = version.value else { continue }
                if try standing.local(value, reference) == nil { return true }
            }
        }
        return false
    }

    // MARK: What changed, for those who listen

    func note(_ table: String, _ kind: RowGroup.Kind, _ key: [Value]?) {
        tables[table, default: TableChanges()].note(kind, key)
    }

    private func noteKey(of full: FullRow, in table: TrackedTable) throws {
        guard let position = try standing.locate(full.identity, in: table),
            let row = try standing.currentRow(full.identity, at: position, in: table)
        else { return }
        tables[table.name]?.noteKey(.insert, table.primaryKey(of: row, at: position))
    }
}

extension TableChanges {
    /// Counts a change, with the row's key where it is known.
    mutating func note(_ kind: RowGroup.Kind, _ key: [Value]?) {
        switch kind {
        case .insert: counts.inserted += 1
        case .update: counts.updated += 1
        case .delete: counts.deleted += 1
        }
        if let key { noteKey(kind, key) }
    }

    mutating func noteKey(_ kind: RowGroup.Kind, _ key: [Value]) {
        switch kind {
        case .insert: if inserted.count < Self.maximumKeys { inserted.append(key) }
        case .update: if updated.count < Self.maximumKeys { updated.append(key) }
        case .delete: if deleted.count < Self.maximumKeys { deleted.append(key) }
        }
    }
}

extension FullRow {
    /// The row with its table and columns spelled as this store has them.
    fileprivate func named(as table: TrackedTable) -> FullRow {
        var row = self
        row.table = table.name
        for name in state.unknown.keys {
            guard let position = table.positions[name.lowercased()] else { continue }
            let own = table.columns[position].name
            guard own != name else { continue }
            row.state.unknown[own] = row.state.unknown.removeValue(forKey: name)
        }
        return row
    }
}
