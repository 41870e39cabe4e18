import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Finds the rows in which a snapshot and this store differ, without keeping writers waiting.
///
/// What it puts aside is looked at again when it is joined, so that a row which changes meanwhile is none the worse.
final class SnapshotComparison {
    private let store: OpenStore
    private let terms: SnapshotTerms
    private let coverage: JoinCoverage
    private let shownRows: ShownRows
    private let stage: SnapshotStage
    /// Rows of the snapshot that are kept beside their tables here.
    private var hiddenPresent: Set<SnapshotRowName> = []
    /// What the snapshot's entries add up to.
    private(set) var digest: UInt64 = 0

    init(_ store: OpenStore, _ manifest: SnapshotManifest, _ stage: SnapshotStage) throws {
        self.store = store
        self.stage = stage
        shownRows = ShownRows(store)
        terms = try SnapshotTerms(manifest, store)
        coverage = JoinCoverage(
            ours: Coverage(store.peers.vector, peers: store.peers),
            theirs: Coverage(manifest.vector, peers: store.peers))
    }

    // MARK: What the snapshot has

    func compare(_ rows: SnapshotRows) throws {
        let table = store.catalog[rows.table]
        let name = try table?.name ?? HiddenRows(store).name(ofAbsent: rows.table)
        if case .plain(let plain) = rows, let table, isWhole(plain, table) {
            try compare(plain, rows, table)
        } else {
            try terms.forEachRow(of: rows) { _, full in
                count { store.countFull(1, full) }
                try compare(full, name, table)
            }
        }
    }

    /// Whether rows have just the columns that this store's table has, dropped ones included.
    private func isWhole(_ rows: PlainRows, _ table: TrackedTable) -> Bool {
        rows.columns.count == table.columnCount
            && Set(rows.columns.map(\.name)) == Set(table.columnNames)
    }

    /// Most rows are here just as they are there.
    private func compare(_ plain: PlainRows, _ rows: SnapshotRows, _ table: TrackedTable) throws {
        let clock = ClockTable(table: table, connection: store.connection)
        // It adds up by the names that it gives, which may be spelled otherwise here.
        let (tableDigest, digests) = (Digest.of(plain.table), plain.columns.map { StateDigest.column($0.name) })
        var differing: Set<Int> = []
        var cursors = SimpleCursors(plain)
        for index in plain.identities.indices {
            let stamp = terms.stamp(plain.stamps[index])
            let rowDigest = StateDigest.row(tableDigest, plain.identities[index])
            var isPlain = true
            count {
                store.count(1, row: rowDigest, column: StateDigest.insertColumn, stamp)
                for (place, digest) in digests.enumerated() {
                    let own = cursors.exception(of: place, at: index).map(terms.stamp)
                    if own != nil { isPlain = false }
                    store.count(1, row: rowDigest, column: digest, own ?? stamp)
                }
            }
            guard isPlain, let position = try shownRows.locate(plain.identities[index], in: table),
                let record = try clock.record(at: position),
                record.state == RowClock(insertedBy: stamp, columnCount: table.columnCount)
            else {
                differing.insert(index)
                continue
            }
            try stage.notePresent(position, in: table)
        }
        guard !differing.isEmpty else { return }
        try terms.forEachRow(of: rows) { index, full in
            if differing.contains(index) { try compare(full, table.name, table) }
        }
    }

    /// - Parameter name: what the table is called here.
    private func compare(_ full: RowState, _ name: String, _ table: TrackedTable?) throws {
        var theirs = full
        theirs.table = name
        var ours = RowState(table: theirs.table, identity: theirs.identity)
        if let table, let position = try shownRows.locate(theirs.identity, in: table) {
            try stage.notePresent(position, in: table)
            if let full = try shownRows.full(at: position, in: table)?.full { ours = full }
        } else if let kept = try HiddenRows(store).row(name, theirs.identity) {
            guard hiddenPresent.insert(SnapshotRowName(table: kept.table, identity: kept.identity)).inserted else {
                throw SnapshotStage.repeatedRow(in: kept.table)
            }
            ours.state = kept.clock
        }
        var joined = ours
        joined.join(theirs, coverage)
        if !joined.hasSameEntries(as: ours) { try stage.add(theirs) }
    }

    /// Adds up shares of the state digest without adding them to the store's.
    private func count(_ body: () -> Void) {
        let before = store.stateDigest
        body()
        digest &+= store.stateDigest &- before
        store.stateDigest = before
    }

    // MARK: What the snapshot does not have

    /// Finds the rows whose entries the snapshot's author had seen and has no more.
    func findAbsent() throws {
        for table in store.catalog.tables {
            let clock = ClockTable(table: table, connection: store.connection)
            let statement = try store.connection.prepare("SELECT row FROM \(table.clock) ORDER BY row")
            defer { statement.reset() }
            while try statement.step() {
                let position = statement.integer(0)
                guard try !stage.isPresent(position, in: table), let record = try clock.record(at: position),
                    record.state.allStamps.contains(where: coverage.theirs.covers),
                    let full = try shownRows.full(at: position, in: table)?.full
                else { continue }
                try stage.add(RowState(table: table.name, identity: full.identity))
            }
        }
        for state in HiddenRows.State.allCases {
            for row in try HiddenRows(store).rows(state)
            where row.clock.allStamps.contains(where: coverage.theirs.covers)
                && !hiddenPresent.contains(SnapshotRowName(table: row.table, identity: row.identity))
            {
                try stage.add(RowState(table: row.table, identity: row.identity))
            }
        }
    }
}
