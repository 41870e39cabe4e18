import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Writes down the replicated state as of the read transaction that is open: every entry of every row, parents before
/// tables that refer to them, each table in the order of its rows.
struct SnapshotSource {
    let store: OpenStore
    private let shownRows: ShownRows
    private let writer: SnapshotWriter
    /// Places in the manifest by local peer number.
    private let places: [Int64: Int]
    let manifest: SnapshotManifest
    private let blobs: SnapshotBlobs

    private var connection: Connection { store.connection }

    init(
        _ store: OpenStore, telling places: [VersionVector] = [], publishBlob: ((BlobID, Bytes) throws -> Void)?,
        write: @escaping ([UInt8]) throws -> Void
    ) throws {
        self.store = store
        blobs = SnapshotBlobs(store.configuration.blobThreshold, publish: publishBlob)
        shownRows = ShownRows(store)
        manifest = try Self.manifest(store, telling: places)
        let content = try store.facts.text("content") ?? ""
        writer = try SnapshotWriter(content: content, peer: store.ownID, manifest: manifest, write: write)
        var places: [Int64: Int] = [:]
        for (place, peer) in manifest.peers.enumerated() {
            if let number = store.peers[peer.id]?.number { places[number] = place }
        }
        self.places = places
    }

    func take() throws -> TakenSnapshot {
        // Settings come first: they decide how the others are shown.
        for table in store.catalog.tables where table.holdsSettings { try writeShown(table) }
        for table in store.catalog.programTables { try writeShown(table) }
        try writeHidden()
        let hash = try writer.finish()
        return TakenSnapshot(
            vector: manifest.vector, sequence: manifest.vector[store.ownID], hash: hash, lost: manifest.lost,
            blobs: blobs.placed)
    }

    // MARK: Manifest

    private static func manifest(_ store: OpenStore, telling places: [VersionVector]) throws -> SnapshotManifest {
        let text = try AppSchema.text(on: store.connection)
        guard let fingerprint = AppSchema.fingerprint(text) else {
            throw LogSyncError(.invalidStore, "the schema of the store has no fingerprint; no snapshot was taken")
        }
        let peers = try store.peers.entries.values.filter { $0.sequence > 0 }.map { entry in
            SnapshotManifest.Peer(
                id: entry.id, sequence: entry.sequence, chain: entry.chain,
                dependencies: try store.lastDependencies(of: entry))
        }
        return SnapshotManifest(
            taken: max(store.configuration.clock.now(), 0), digest: store.stateDigest, schema: fingerprint,
            schemaText: text, peers: peers, sequences: try sequences(store), branches: store.branches,
            marks: try SnapshotMarks(store).runs(telling: places), lost: try ForgottenColumns(store).all())
    }

    /// What AUTOINCREMENT has given out.
    private static func sequences(_ store: OpenStore) throws -> [String: Int64] {
        var sequences: [String: Int64] = [:]
        for table in store.catalog.tables where table.schema.isAutoincrement {
            sequences[table.name] = try store.connection.integer(
                "SELECT seq FROM sqlite_sequence WHERE name = ?", .text(table.schema.name))
        }
        return sequences
    }

    // MARK: Rows

    private func writeShown(_ table: TrackedTable) throws {
        let rows = SnapshotRowsCollector(
            table.name, order: table.columnNames, keys: table.keyNames, writer: writer, places: places, blobs: blobs)
        let clock = ClockTable(table: table, connection: connection)
        let reader = shownRows.reader(table)
        let plain = SimpleShape(table)
        let statement = try connection.prepare(table.selectForSnapshot)
        defer { statement.reset() }
        while try statement.step() {
            let position = statement.integer(0)
            let stored = statement.isNull(1) ? nil : RowIdentity(unchecked: statement.bytes(1))
            let present = try row(of: statement, position, stored, table)
            let identity =
                try stored ?? reader.naturalIdentity { try shownRows.identityValue(present.values[$0], $0, in: table) }
            guard let identity else { throw Self.withoutRow(position, table) }
            let integer = table.localInteger == nil ? nil : position
            let columnCount = Int(statement.integer(5))
            if statement.isNull(6), statement.integer(2) != 0, let columns = plain.columns(below: columnCount) {
                let stamp = Stamp(
                    peer: statement.integer(2), sequence: UInt64(bitPattern: statement.integer(3)),
                    time: HybridTime(rawValue: UInt64(bitPattern: statement.integer(4))))
                try rows.append(identity, integer, stamp, columns) { index in
                    try columns.positions[index].map {
                        try shownRows.identityValue(present.values[$0], $0, in: table)
                    }
                }
            } else {
                guard let record = try clock.record(at: position) else { throw Self.withoutRow(position, table) }
                var full = try shownRows.expand(record, present, identity, at: position, in: table, lost: nil)
                full.integer = integer
                try rows.append(full)
            }
        }
        try rows.flush()
    }

    /// The row of a clock record.
    private func row(
        of statement: Statement, _ position: Int64, _ identity: RowIdentity?, _ table: TrackedTable
    ) throws -> TableReader.Row {
        if table.hasRowid {
            guard !statement.isNull(7) else { throw Self.withoutRow(position, table) }
            return TableReader.Row(undigested: table.columns.indices.map { statement.value($0 + 8) })
        }
        guard let identity, let row = try shownRows.currentRow(identity, at: position, in: table) else {
            throw Self.withoutRow(position, table)
        }
        return row
    }

    private func writeHidden() throws {
        guard store.hasHidden else { return }
        let statement = try connection.prepare(
            "SELECT table_name, identity, clock, integer FROM logsync_kept ORDER BY table_name, id")
        defer { statement.reset() }
        var rows: SnapshotRowsCollector?
        while try statement.step() {
            let table = statement.string(0)
            if rows?.table != table {
                try rows?.flush()
                rows = SnapshotRowsCollector(
                    table, order: store.catalog[table]?.columnNames ?? [],
                    keys: store.catalog[table]?.keyNames ?? [], writer: writer, places: places, blobs: blobs)
            }
            try rows?.append(
                RowState(
                    table: table, identity: RowIdentity(unchecked: statement.bytes(1)),
                    state: try ClockCodec.decodeHidden(statement.bytes(2)),
                    integer: statement.isNull(3) ? nil : statement.integer(3)))
        }
        try rows?.flush()
    }

    private static func withoutRow(_ position: Int64, _ table: TrackedTable) -> LogSyncError {
        LogSyncError(
            .invalidStore, "\(table.name) has no row \(position) for its clock record; no snapshot was taken",
            help: "Run `logsync rescan` on the store, then take the snapshot again.")
    }
}

/// The columns of rows that one insert made, by how many there were then.
final class SimpleShape {
    struct Columns {
        /// In logs.
        var names: [String]
        /// In the table; nil where the column was dropped.
        var positions: [Int?]
    }

    private let table: TrackedTable
    private var positions: [Int: Int] = [:]
    private var known: [Int: Columns?] = [:]

    init(_ table: TrackedTable) {
        self.table = table
        for (index, column) in table.columns.enumerated() { positions[column.id] = index }
    }

    /// nil where two columns have had the same name, so that rows have to be spelled out.
    func columns(below count: Int) -> Columns? {
        if let known = known[count] { return known }
        let ids = 0..<min(count, table.columnCount)
        let names = ids.map { table.columnNames[$0] }
        let columns =
            Set(names.map { $0.folded }).count == names.count
            ? Columns(names: names, positions: ids.map { positions[$0] }) : nil
        known[count] = .some(columns)
        return columns
    }
}

extension TrackedTable {
    /// Clock records in order, each with the columns of its row where rowids tell which that is.
    var selectForSnapshot: String {
        let record = "c.row, c.identity, c.peer, c.sequence, c.time, length(c.digests) / 4, c.extra"
        guard hasRowid else { return "SELECT \(record) FROM \(clock) AS c ORDER BY c.row" }
        let cells = columns.map { ", t.\(SQL.name($0.local))" }.joined()
        return """
            SELECT \(record), t.\(rowid)\(cells) FROM \(clock) AS c LEFT JOIN \(quoted) AS t ON t.\(rowid) = c.row
            ORDER BY c.row
            """
    }
}

extension TableReader.Row {
    /// A row of which nobody asks for digests.
    init(undigested values: [Value]) {
        self.values = values
        digests = []
    }
}

extension OpenStore {
    /// What the last transaction of a peer depended on.
    func lastDependencies(of entry: PeerTable.Entry) throws -> VersionVector {
        if entry.number == own {
            let others = peers.entries.values.filter { $0.number != own }
            return VersionVector(Dictionary(others.map { ($0.id, $0.declared) }, uniquingKeysWith: max))
        }
        return try peers.lastDependencies(of: entry.number, on: connection) ?? VersionVector()
    }
}
