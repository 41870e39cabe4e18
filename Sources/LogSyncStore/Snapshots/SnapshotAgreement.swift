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
/// in it, with the same value. What the snapshot has beyond that has been superseded here since; it takes nothing from
/// anybody, and is not asked about.
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
    private var hiddenPresent: Set<HiddenName> = []

    private struct HiddenName: Hashable {
        var table: String
        var identity: RowIdentity
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
    func holds(_ rows: SnapshotRows) throws -> Bool {
        let table = store.catalog[rows.table]
        let key = KeyNames(store).key(of: rows.table)
        var holds = true
        try terms.forEachRow(of: rows) { _, row in
            guard holds, let ours = try ours(of: row, in: table) else { return }
            var row = row
            // A snapshot may leave the cells of keys to identities.
            if let key { _ = row.spellOutKey(key) }
            holds = isHeld(ours, by: row)
        }
        return holds
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
            where !hiddenPresent.contains(HiddenName(table: row.table, identity: row.identity)) {
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
        guard let kept = try HiddenRows(store).row(table?.name ?? row.table, row.identity) else { return nil }
        hiddenPresent.insert(HiddenName(table: kept.table, identity: kept.identity))
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
