import LogSyncFormat
import LogSyncModel

/// Finds the rows in which a snapshot and this store differ, without keeping writers waiting.
///
/// What it puts aside is looked at again when it is joined, so that a row which changes meanwhile is none the worse.
final class SnapshotComparison {
    private let session: Session
    private let terms: SnapshotTerms
    private let coverage: JoinCoverage
    private let standing: Standing
    private let stage: SnapshotStage
    /// Rows of the snapshot that are kept beside their tables here.
    private var keptPresent: Set<KeptName> = []
    /// What the snapshot's entries add up to.
    private(set) var digest: UInt64 = 0

    private struct KeptName: Hashable {
        var table: String
        var identity: RowIdentity
    }

    init(_ session: Session, _ manifest: SnapshotManifest, _ stage: SnapshotStage) throws {
        self.session = session
        self.stage = stage
        standing = Standing(session)
        terms = try SnapshotTerms(manifest, session)
        coverage = JoinCoverage(
            ours: Coverage(session.peers.vector, peers: session.peers),
            theirs: Coverage(manifest.vector, peers: session.peers))
    }

    // MARK: What the snapshot has

    func compare(_ rows: SnapshotRows) throws {
        let table = session.catalog[rows.table]
        if case .plain(let plain) = rows, let table, isWhole(plain, table) {
            try compare(plain, rows, table)
        } else {
            try terms.forEachRow(of: rows) { _, full in
                count { session.countFull(1, full) }
                try compare(full, table)
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
        let clock = ClockTable(table: table, connection: session.connection)
        let digests = plain.columns.map { Session.columnDigest($0.name) }
        var differing: Set<Int> = []
        var cursors = PlainCursors(plain)
        for index in plain.identities.indices {
            let stamp = terms.stamp(plain.stamps[index])
            let rowDigest = session.rowDigest(table, plain.identities[index])
            var isPlain = true
            count {
                session.count(1, row: rowDigest, column: Session.insertColumn, stamp)
                for (place, digest) in digests.enumerated() {
                    let own = cursors.exception(of: place, at: index).map(terms.stamp)
                    if own != nil { isPlain = false }
                    session.count(1, row: rowDigest, column: digest, own ?? stamp)
                }
            }
            guard isPlain, let position = try standing.locate(plain.identities[index], in: table),
                let record = try clock.record(at: position),
                record.state == ClockState(insertedBy: stamp, columnCount: table.columnCount)
            else {
                differing.insert(index)
                continue
            }
            try stage.notePresent(position, in: table)
        }
        guard !differing.isEmpty else { return }
        try terms.forEachRow(of: rows) { index, full in
            if differing.contains(index) { try compare(full, table) }
        }
    }

    private func compare(_ theirs: FullRow, _ table: TrackedTable?) throws {
        var ours = FullRow(table: theirs.table, identity: theirs.identity)
        if let table, let position = try standing.locate(theirs.identity, in: table) {
            try stage.notePresent(position, in: table)
            if let full = try standing.full(at: position, in: table)?.full { ours = full }
        } else if let kept = try KeptRows(session).row(table?.name ?? theirs.table, theirs.identity) {
            keptPresent.insert(KeptName(table: kept.table, identity: kept.identity))
            ours.state = kept.clock
        }
        var joined = ours
        joined.join(theirs, coverage)
        if !joined.hasSameEntries(as: ours) { try stage.add(theirs) }
    }

    /// Adds up shares of the state digest without adding them to the store's.
    private func count(_ body: () -> Void) {
        let before = session.stateDigest
        body()
        digest &+= session.stateDigest &- before
        session.stateDigest = before
    }

    // MARK: What the snapshot does not have

    /// Finds the rows whose entries the snapshot's author had seen and has no more.
    func findAbsent() throws {
        for table in session.catalog.tables {
            let clock = ClockTable(table: table, connection: session.connection)
            let statement = try session.connection.prepare("SELECT row FROM \(table.clock) ORDER BY row")
            defer { statement.reset() }
            while try statement.step() {
                let position = statement.integer(0)
                guard try !stage.isPresent(position, in: table), let record = try clock.record(at: position),
                    record.state.allStamps.contains(where: coverage.theirs.covers),
                    let full = try standing.full(at: position, in: table)?.full
                else { continue }
                try stage.add(FullRow(table: table.name, identity: full.identity))
            }
        }
        for state in KeptRows.State.allCases {
            for row in try KeptRows(session).rows(state)
            where row.clock.allStamps.contains(where: coverage.theirs.covers)
                && !keptPresent.contains(KeptName(table: row.table, identity: row.identity))
            {
                try stage.add(FullRow(table: row.table, identity: row.identity))
            }
        }
    }
}
