import LogFormat
import LogModel

/// Puts a snapshot's rows into tables that are empty but for what this has put there.
///
/// Plain rows go straight in, in the order in which they come, with the integers that they have at their author.
final class SnapshotFiller {
    let joiner: Joiner
    private var inserter: PlainRowInserter?
    private let session: Session
    /// Whether values stand in this store's columns just as they are given.
    private let takesAsGiven: Bool

    init(_ session: Session, _ manifest: SnapshotManifest, blobs: BlobSource?) throws {
        self.session = session
        joiner = try Joiner(session, manifest, blobs: blobs)
        takesAsGiven = try session.schemaFingerprint() == manifest.schema
    }

    /// Returns the rows that refer to such as are not here yet, by their places in the frame.
    func fill(_ rows: SnapshotRows) throws -> [Int] {
        var deferred: [Int] = []
        if case .plain(let plain) = rows, let table = session.catalog[rows.table], table.name != "logsync_setting",
            let target = takesAsGiven ? PlainTarget(plain, table) : nil
        {
            var cursors = PlainCursors(plain)
            var refused: Set<Int> = []
            let inserter = try inserter(plain, target)
            for index in inserter == nil ? Array(plain.identities.indices) : Self.order(plain, target.table) {
                if let inserter, try insert(index, plain, target, &cursors, inserter) { continue }
                switch try insert(index, plain, target, &cursors) {
                case .done: continue
                case .waits: deferred.append(index)
                case .refused: refused.insert(index)
                }
            }
            if !refused.isEmpty { try float(refused, of: rows) }
        } else {
            try joiner.terms.forEachRow(of: rows) { index, full in
                if try !joiner.join(full, mayDefer: true) { deferred.append(index) }
            }
        }
        return deferred
    }

    private func float(_ indexes: Set<Int>, of rows: SnapshotRows) throws {
        try joiner.terms.forEachRow(of: rows) { index, full in
            guard indexes.contains(index) else { return }
            session.countFull(1, full)
            try joiner.float(full)
        }
    }

    /// Puts down what was kept back. Call it when all rows of an SQLite transaction have been filled in.
    func flush() throws {
        try inserter?.flush()
        inserter = nil
    }

    /// What inserts rows that nothing contests, where the rows' columns are the table's; nil where they are not.
    private func inserter(_ rows: PlainRows, _ target: PlainTarget) throws -> PlainRowInserter? {
        let table = target.table
        guard target.absent == table.droppedColumns, let stamp = rows.stamps.first,
            try PlainRowInserter.suits(table, session, joiner.standing)
        else {
            try flush()
            return nil
        }
        if inserter?.table !== table {
            try flush()
            inserter = try PlainRowInserter(table, session, joiner.standing, joiner.terms.stamp(stamp))
        }
        return inserter
    }

    /// Rows in about the order of their keys: the key's index is written place by place, and not all over.
    private static func order(_ rows: PlainRows, _ table: TrackedTable) -> [Int] {
        guard table.findsByKeyDigest, rows.columns.allSatisfy(\.exceptions.isEmpty) else {
            return Array(rows.identities.indices)
        }
        // Of an identity of one text, where the text begins; any order is right.
        let start = 6
        let prefixes = rows.identities.map { identity in
            identity.bytes.withUnsafeBytes { bytes in
                bytes.count < start + 8
                    ? 0 : UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
            }
        }
        return rows.identities.indices.sorted { prefixes[$0] < prefixes[$1] }
    }

    /// False where the row goes another way.
    private func insert(
        _ index: Int, _ rows: PlainRows, _ target: PlainTarget, _ cursors: inout PlainCursors,
        _ inserter: PlainRowInserter
    ) throws -> Bool {
        var cells: [Int: Stamp] = [:]
        for (place, position) in target.positions.enumerated() {
            guard let own = cursors.exception(of: place, at: index) else { continue }
            cells[target.table.columns[position].id] = joiner.terms.stamp(own)
        }
        let inserted = try inserter.insert(
            rows.identities[index], hint: rows.integers.isEmpty ? nil : rows.integers[index],
            joiner.terms.stamp(rows.stamps[index]), cells: cells, omitsKey: false
        ) { [columns = rows.columns, places = target.byPosition] in columns[places[$0]].values?[index] ?? .null }
        return inserted != nil
    }

    /// - Parameter deferred: by frame.
    func fill(deferred: [Int: [Int]], _ reader: SnapshotReader) throws {
        var waiting: [FullRow] = []
        var frame = 0
        for (wanted, indexes) in deferred.sorted(by: { $0.key < $1.key }) {
            try reader.skip(wanted - frame)
            guard let rows = try reader.next() else { break }
            frame = wanted + 1
            let indexes = Set(indexes)
            try joiner.terms.forEachRow(of: rows) { index, full in
                if indexes.contains(index) { waiting.append(full) }
            }
        }
        for row in waiting { try joiner.promise(row.identity, row.integer, in: row.table) }
        for row in waiting { try joiner.join(row, mayDefer: false) }
    }

    // MARK: Plain rows

    /// Where plain rows' columns go.
    private struct PlainTarget {
        let table: TrackedTable
        /// By the group's columns.
        let positions: [Int]
        /// The group's columns by position.
        let places: [Int: Int]
        /// The same; 0 for a column that is none of theirs.
        let byPosition: [Int]
        /// Ids of columns that the rows have no cell of.
        let absent: [Int]

        /// nil where the rows have to be spelled out: a column is not here, or its values are lost.
        init?(_ rows: PlainRows, _ table: TrackedTable) {
            self.table = table
            var positions: [Int] = []
            var ids: Set<Int> = []
            for column in rows.columns {
                guard let position = table.positions[column.name.lowercased()], column.values != nil,
                    ids.insert(table.columns[position].id).inserted, table.columns[position].name == column.name
                else { return nil }
                positions.append(position)
            }
            self.positions = positions
            places = Dictionary(uniqueKeysWithValues: zip(positions, positions.indices))
            byPosition = table.columns.indices.map { [places] in places[$0] ?? 0 }
            absent = (0..<table.columnCount).filter { !ids.contains($0) }
            // A key that is not among the cells is the identity's to say.
            guard table.key.allSatisfy({ positions.contains($0.index) }) else { return nil }
        }
    }

    private enum Filled {
        case done
        /// It refers to a row that is not here yet.
        case waits
        /// A constraint refused it.
        case refused
    }

    private func insert(
        _ index: Int, _ rows: PlainRows, _ target: PlainTarget, _ cursors: inout PlainCursors
    ) throws -> Filled {
        let table = target.table
        let rules = session.foreignRules.of(table)
        let stamp = joiner.terms.stamp(rows.stamps[index])
        var state = ClockState(insertedBy: stamp, columnCount: table.columnCount)
        for id in target.absent { state.setCell(id, CellState()) }
        var values = [Value?](repeating: nil, count: table.columns.count)
        for (place, position) in target.positions.enumerated() {
            let given = try (rows.columns[place].values?[index] ?? .null).whole(joiner.blobs)
            guard let value = try joiner.standing.local(given, table.columns[position].reference) else { return .waits }
            values[position] = value
            if let own = cursors.exception(of: place, at: index) {
                let version = Version(stamp: joiner.terms.stamp(own), value: nil)
                state.setCell(table.columns[position].id, CellState(versions: [version]))
            }
        }
        if !rules.isEmpty {
            let isBound = try Neighbours(session, standing: joiner.standing).satisfiesRules(table) {
                target.places[$0].map { rows.columns[$0].values?[index] ?? .null }
                    ?? session.defaultValue(of: table, $0)
            }
            guard isBound ?? true else { return .waits }
        }
        let identity = rows.identities[index]
        let integer = rows.integers.isEmpty ? nil : rows.integers[index]
        guard let inserted = try joiner.standing.insert(values, identity, integer: integer, in: table) else {
            return .refused
        }
        // What a column without a cell shows is its default.
        for id in target.absent {
            guard let position = table.columns.firstIndex(where: { $0.id == id }) else { continue }
            values[position] = session.defaultValue(of: table, position)
        }
        let row = TableReader.Row(values: values.map { $0 ?? .null })
        session.spellOutCounters(&state, shown: row.values, in: table)
        let reader = joiner.standing.reader(table)
        let stores = table.storesIdentity || identity.isSurrogate
        let uniques =
            table.findsByKeyDigest
            ? (identity.isSurrogate ? [] : [table.keyDigest(identity)]) : table.uniqueDigests { row.values[$0] }
        _ = try ClockTable(table: table, connection: session.connection).insert(
            ClockRecord(
                state: state, digests: reader.columnDigests(row.digests), digest: reader.digest(row.digests),
                identity: stores ? identity : nil, uniques: uniques, breaksCheck: inserted.breaksCheck),
            at: inserted.rowid)
        try joiner.standing.keepPromise(inserted.rowid, in: table)
        session.count(1, state, row: session.rowDigest(table, identity), table: table)
        return .done
    }
}
