import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Whether a snapshot has all that this store has of the transactions for which it stands.
///
/// **The problem.** Files go for snapshots, and anybody can write one without a fault that says that it stands for everything
/// and holds nothing, or other values. That it adds up to its own digest shows that it is whole, not that it is true.
///
/// **The steps.** Every row is held against this store's. An entry comes with its own transaction and with no other, so one
/// that is here and is of a transaction within the snapshot's vector was in the state that the snapshot is of: it has to be
/// in it, with the same value. What the snapshot has beyond that has to have been superseded here since, or it brings rows
/// back in clones that were deleted: it may be of no more rows of a table than the transactions deleted and changed that
/// have come since (``Superseded``). Where none have, the snapshot has just what is here.
///
/// **The exception.** Values of columns that the snapshot's author says to have lost may be missing: whether it stands for
/// log files all the same is decided elsewhere, by what peers show.
final class SnapshotAgreement {
    private let store: OpenStore
    private let terms: SnapshotTerms
    private let theirs: Coverage
    private let lost: Set<ColumnName>
    private let shownRows: ShownRows
    private let stage: SnapshotStage
    /// Rows of the snapshot that are kept beside their tables here.
    private var hiddenPresent: Set<SnapshotRowName> = []
    /// Rows of which the snapshot has more than this store, by the table's name in lower case.
    private var beyond: [String: Superseded] = [:]

    /// How many rows of a table were superseded, or would have to have been.
    struct Superseded {
        /// Living rows that are no more.
        var deleted = 0
        /// Rows of which an entry is no more, those included.
        var changed = 0
    }

    /// - Parameter manifest: of which everything has been imported here.
    init(_ store: OpenStore, _ manifest: SnapshotManifest) throws {
        self.store = store
        stage = try SnapshotStage()
        terms = try SnapshotTerms(manifest, store)
        theirs = Coverage(manifest.vector, peers: store.peers)
        lost = manifest.lost
        shownRows = ShownRows(store)
    }

    /// Whether these rows of the snapshot have what this store has of them.
    ///
    /// - Throws: `malformedLog` where it has one of them twice.
    func holds(_ rows: SnapshotRows) throws -> Bool {
        let table = store.catalog[rows.table]
        let key = KeyNames(store).key(of: rows.table)
        var holds = true
        try terms.forEachRow(of: rows) { _, row in
            guard holds else { return }
            let ours = try ours(of: row, in: table)
            var row = row
            // A snapshot may leave the cells of keys to identities.
            if let key { _ = row.spellOutKey(key) }
            if let ours { holds = isHeld(ours, by: row) }
            noteBeyond(ours, row)
        }
        return holds
    }

    /// Counts a row of the snapshot that has entries which this store's has not, given that it has all of this store's.
    private func noteBeyond(_ ours: RowState?, _ row: RowState) {
        let covered = ours?.entries.count(where: theirs.covers) ?? 0
        guard row.entries.count > covered else { return }
        beyond[row.table.folded, default: Superseded()].changed += 1
        if row.isAlive, !(ours?.isAlive ?? false) { beyond[row.table.folded]?.deleted += 1 }
    }

    /// Whether what the snapshot has beyond this store can have been superseded by the transactions that it does not stand
    /// for.
    ///
    /// - Parameter vector: of the transactions that the snapshot stands for.
    func hasNoneBeyond(_ vector: VersionVector) throws -> Bool {
        guard !beyond.isEmpty, let superseded = try superseded(after: vector) else { return true }
        return beyond.allSatisfy { table, rows in
            let superseded = superseded[table] ?? Superseded()
            return rows.deleted <= superseded.deleted && rows.changed <= superseded.changed
        }
    }

    /// What transactions changed that are not within a vector; nil where a snapshot has brought some of them, so that
    /// nobody has counted.
    private func superseded(after vector: VersionVector) throws -> [String: Superseded]? {
        var superseded: [String: Superseded] = [:]
        for peer in store.peers.entries.values where peer.sequence > vector[peer.id] {
            let arguments: [Value] = [.integer(peer.number), .integer(Int64(clamping: vector[peer.id]))]
            let known = try store.connection.integer(
                "SELECT count(*) FROM logsync_transaction WHERE peer = ? AND sequence > ?", arguments[0], arguments[1])
            guard UInt64(clamping: known ?? 0) == peer.sequence - vector[peer.id] else { return nil }
            let rows = try store.connection.rows(
                """
                SELECT c.key, sum(json_extract(c.value, '$.deleted')),
                    sum(json_extract(c.value, '$.deleted') + json_extract(c.value, '$.inserted')
                        + json_extract(c.value, '$.updated'))
                FROM logsync_transaction AS t, json_each(CAST(t.changes AS TEXT)) AS c
                WHERE t.peer = ? AND t.sequence > ? GROUP BY c.key
                """, arguments[0], arguments[1])
            for row in rows {
                superseded[String(text: row[0]).folded, default: Superseded()].deleted += Int(row[1].asInteger)
                superseded[String(text: row[0]).folded]?.changed += Int(row[2].asInteger)
            }
        }
        return superseded
    }

    /// Whether no row is here of which the snapshot would have to have something, and which was in none of its rows.
    func lacksNone() throws -> Bool {
        for table in store.catalog.tables {
            let clock = ClockTable(table: table, connection: store.connection)
            let statement = try store.connection.prepare("SELECT row FROM \(table.clock) ORDER BY row")
            defer { statement.reset() }
            while try statement.step() {
                let position = statement.integer(0)
                guard try !stage.isPresent(position, in: table), let record = try clock.record(at: position),
                    record.state.allStamps.contains(where: theirs.covers), let row = try row(at: position, in: table)
                else { continue }
                guard isHeld(row, by: RowState(table: row.table, identity: row.identity)) else { return false }
            }
        }
        for state in HiddenRows.State.allCases {
            for row in try HiddenRows(store).rows(state)
            where !hiddenPresent.contains(SnapshotRowName(table: row.table, identity: row.identity)) {
                let ours = RowState(table: row.table, identity: row.identity, state: row.clock)
                guard isHeld(ours, by: RowState(table: row.table, identity: row.identity)) else { return false }
            }
        }
        return true
    }

    /// This store's row of that identity, without values of columns that are not here any more; nil where there is none.
    private func ours(of row: RowState, in table: TrackedTable?) throws -> RowState? {
        if let table, let position = try shownRows.locate(row.identity, in: table) {
            try stage.notePresent(position, in: table)
            return try self.row(at: position, in: table)
        }
        let name = try table?.name ?? HiddenRows(store).name(ofAbsent: row.table)
        guard let kept = try HiddenRows(store).row(name, row.identity) else { return nil }
        guard hiddenPresent.insert(SnapshotRowName(table: kept.table, identity: kept.identity)).inserted else {
            throw SnapshotStage.repeatedRow(in: kept.table)
        }
        return RowState(table: kept.table, identity: kept.identity, state: kept.clock)
    }

    private func row(at position: Int64, in table: TrackedTable) throws -> RowState? {
        guard let (full, record, shown) = try shownRows.full(at: position, in: table) else { return nil }
        return try shownRows.expand(record, shown, full.identity, at: position, in: table, lost: nil)
    }

    private func isHeld(_ ours: RowState, by row: RowState) -> Bool {
        func isSame(_ a: Stamp, _ b: Stamp) -> Bool { (a.peer, a.sequence) == (b.peer, b.sequence) }
        let inserts = ours.state.inserts.filter(theirs.covers)
        guard inserts.allSatisfy({ own in row.state.inserts.contains { isSame($0, own) } }) else { return false }
        var cells: [String: CellState] = [:]
        for (name, cell) in row.state.cellsByName {
            cells[name.folded, default: CellState()].versions += cell.versions
            cells[name.folded]?.additions += cell.additions
        }
        return ours.state.cellsByName.allSatisfy { name, cell in
            let isLost = lost.contains(ColumnName(ours.table, name))
            let said = cells[name.folded] ?? CellState()
            return cell.versions.allSatisfy { own in
                !theirs.covers(own.stamp)
                    || said.versions.contains {
                        isSame($0.stamp, own.stamp) && $0.stamp.time == own.stamp.time
                            && isValue(own.value, said: $0.value, isLost: isLost)
                    }
            }
                && cell.additions.allSatisfy { own in
                    !theirs.covers(own.stamp)
                        || said.additions.contains {
                            isSame($0.stamp, own.stamp) && $0.basePeer == own.basePeer
                                && $0.baseSequence == own.baseSequence && $0.cumulative == own.cumulative
                        }
                }
        }
    }

    private func isValue(_ own: Value?, said: Value?, isLost: Bool) -> Bool {
        // What is known to nobody here cannot be compared.
        guard let own else { return true }
        guard let said else { return isLost }
        guard case .external(let reference) = said else { return own == said }
        switch own {
        case .text(let bytes), .blob(let bytes):
            return bytes.count == reference.id.length && own == reference.value(bytes)
                && BlobID(of: bytes) == reference.id
        default: return own == said
        }
    }
}

extension RowState {
    /// The stamps of all entries that make up the replicated state.
    fileprivate var entries: [Stamp] {
        state.inserts + state.cellsByName.values.flatMap { $0.versions.map(\.stamp) + $0.additions.map(\.stamp) }
    }
}
