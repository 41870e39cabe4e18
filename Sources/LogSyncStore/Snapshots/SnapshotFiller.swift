import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Puts a snapshot's rows into tables that are empty but for what this has put there.
///
/// Plain rows go straight in, in the order in which they come, with the integers that they have at their author.
final class SnapshotFiller {
    let joiner: Joiner
    private var inserter: BatchInserter?
    private let store: OpenStore
    /// Whether the snapshot is of this store's schema, so that its values stand in columns as they are given, mostly.
    private let takesAsGiven: Bool

    init(_ store: OpenStore, _ manifest: SnapshotManifest, blobs: BlobSource?) throws {
        self.store = store
        joiner = try Joiner(store, manifest, blobs: blobs, isFilling: true)
        takesAsGiven = try store.schemaFingerprint() == manifest.schema
    }

    /// Puts in frames that follow each other.
    ///
    /// Rows that are found by their keys go in in about the order of those, whichever of the frames they are of: the
    /// key's index is written place by place, and not all over.
    ///
    /// - Returns: the rows that refer to such as are not here yet: their places, by the frame's.
    func fill(_ frames: [SnapshotRows]) throws -> [Int: [Int]] {
        var deferred: [Int: [Int]] = [:]
        var run: [SimpleFrame] = []
        for (number, rows) in frames.enumerated() {
            if let frame = try simpleFrame(rows, number) {
                if let last = run.last, last.target.table !== frame.target.table || last.isSimple != frame.isSimple {
                    try fill(run, &deferred)
                    run = []
                }
                run.append(frame)
            } else {
                try fill(run, &deferred)
                run = []
                // These are looked for.
                try inserter?.flush()
                try joiner.terms.forEachRow(of: rows) { index, full in
                    if try !joiner.join(full, mayDefer: true) { deferred[number, default: []].append(index) }
                }
            }
        }
        try fill(run, &deferred)
        return deferred
    }

    private func simpleFrame(_ rows: SnapshotRows, _ number: Int) throws -> SimpleFrame? {
        guard takesAsGiven, case .plain(let plain) = rows, rows.table != SettingTable.name,
            let table = store.catalog[rows.table], table.name.hasSameBytes(as: rows.table),
            let target = SimpleTarget(plain, table),
            // Of the same schema, and from a peer of another, which writes other types.
            zip(plain.columns, target.positions).allSatisfy({ table.keeps($0.values ?? [], at: $1) })
        else { return nil }
        let isSimple =
            try target.absent == table.droppedColumns
            && BatchInserter.suits(table, store) && !store.isContested(table)
        return SimpleFrame(number, plain, target, isSimple: isSimple)
    }

    /// - Parameter frames: of one table, all of them simple or none.
    private func fill(_ frames: [SimpleFrame], _ deferred: inout [Int: [Int]]) throws {
        guard let first = frames.first else { return }
        for frame in frames { try joiner.checkAreNotHidden(frame.rows.identities, of: frame.target.table) }
        let inserter = try inserter(for: first)
        var refused: [Int: Set<Int>] = [:]
        let order = Self.order(frames)
        var left: [Int] = []
        for (token, row) in order.enumerated() {
            if let inserter, try insert(row.index, token, of: frames[row.frame], with: inserter) { continue }
            left.append(token)
        }
        if let inserter {
            left = (left + (try inserter.write())).sorted()
            if !left.isEmpty { try inserter.flush() }
        }
        for token in left {
            let (place, index) = order[token]
            let frame = frames[place]
            switch try insert(index, of: frame) {
            case .done: continue
            case .waits: deferred[frame.number, default: []].append(index)
            case .refused: refused[place, default: []].insert(index)
            }
        }
        for (place, indexes) in refused.sorted(by: { $0.key < $1.key }) {
            try addUndecided(indexes, of: frames[place])
        }
    }

    private func addUndecided(_ indexes: Set<Int>, of frame: SimpleFrame) throws {
        try joiner.terms.forEachRow(of: .plain(frame.rows)) { index, full in
            guard indexes.contains(index) else { return }
            store.countFull(1, full)
            try joiner.addUndecided(full, in: frame.target.table)
        }
    }

    /// Puts down what was kept back. Call it when all rows of an SQLite transaction have been filled in.
    func flush() throws {
        try inserter?.flush()
        inserter = nil
    }

    /// What inserts rows that nothing contests; nil where the frame is not as simple as that.
    private func inserter(for frame: SimpleFrame) throws -> BatchInserter? {
        let table = frame.target.table
        if let inserter, frame.isSimple, inserter.table === table { return inserter }
        try flush()
        guard frame.isSimple, let stamp = frame.rows.stamps.first else { return nil }
        let made = try BatchInserter(table, store, joiner.shownRows, joiner.terms.stamp(stamp))
        inserter = made
        return made
    }

    /// The rows of frames by the frame's place and their own, in the order in which they best go in.
    private static func order(_ frames: [SimpleFrame]) -> [(frame: Int, index: Int)] {
        guard frames.allSatisfy(\.target.table.findsByKeyDigest) else {
            return frames.enumerated().flatMap { place, frame in frame.rows.identities.indices.map { (place, $0) } }
        }
        let order = KeyOrder(parts: frames.first?.target.table.key.count ?? 1)
        var places: [(prefix: UInt64, frame: Int32, index: Int32)] = []
        places.reserveCapacity(frames.reduce(0) { $0 + $1.rows.identities.count })
        for (place, frame) in frames.enumerated() {
            for (index, identity) in frame.rows.identities.enumerated() {
                places.append((identity.bytes.withUnsafeBytes(order.prefix), Int32(place), Int32(index)))
            }
        }
        places.sort { $0.prefix < $1.prefix }
        return places.map { (Int($0.frame), Int($0.index)) }
    }

    /// False where the row goes another way.
    private func insert(
        _ index: Int, _ token: Int, of frame: SimpleFrame, with inserter: BatchInserter
    ) throws -> Bool {
        let rows = frame.rows
        var cells: [Int: Stamp] = [:]
        if frame.hasExceptions {
            for (place, position) in frame.target.positions.enumerated() {
                guard let own = frame.exception(of: place, at: index) else { continue }
                cells[frame.target.table.columns[position].id] = joiner.terms.stamp(own)
            }
        }
        let inserted = try inserter.insert(
            rows.identities[index], token, hint: rows.integers.isEmpty ? nil : rows.integers[index],
            joiner.terms.stamp(rows.stamps[index]), cells: cells, omitsKey: false
        ) { frame.values[$0]?[index] ?? .null }
        return inserted != nil
    }

    /// - Parameter deferred: by frame.
    func fill(deferred: [Int: [Int]], _ reader: SnapshotReader) throws {
        var waiting: [RowState] = []
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
        for row in waiting { try joiner.reserve(row.identity, row.integer, in: row.table) }
        for row in waiting { try joiner.join(row, mayDefer: false) }
    }

    // MARK: Plain rows

    /// Where plain rows' columns go.
    private struct SimpleTarget {
        let table: TrackedTable
        /// By the group's columns.
        let positions: [Int]
        /// The group's columns by position.
        let places: [Int: Int]
        /// Ids of columns that the rows have no cell of.
        let absent: [Int]

        /// nil where the rows have to be spelled out: a column is not here, or its values are lost.
        init?(_ rows: PlainRows, _ table: TrackedTable) {
            self.table = table
            var positions: [Int] = []
            var ids: Set<Int> = []
            for column in rows.columns {
                guard let position = table.positions[column.name.folded], column.values != nil,
                    ids.insert(table.columns[position].id).inserted,
                    table.columns[position].name.hasSameBytes(as: column.name)
                else { return nil }
                positions.append(position)
            }
            self.positions = positions
            places = Dictionary(uniqueKeysWithValues: zip(positions, positions.indices))
            absent = (0..<table.columnCount).filter { !ids.contains($0) }
            // A key that is not among the cells is the identity's to say.
            guard table.key.allSatisfy({ positions.contains($0.index) }) else { return nil }
        }
    }

    /// Plain rows on their way in.
    private final class SimpleFrame {
        /// Its place among the frames that are filled in together.
        let number: Int
        let rows: PlainRows
        let target: SimpleTarget
        /// Whether its columns are the table's, and nothing of the table asks for more than to insert a row.
        let isSimple: Bool
        /// By column position.
        let values: [[Value]?]
        /// Whether some cell was set after its insert.
        let hasExceptions: Bool

        init(_ number: Int, _ rows: PlainRows, _ target: SimpleTarget, isSimple: Bool) {
            self.isSimple = isSimple
            self.number = number
            self.rows = rows
            self.target = target
            values = target.table.columns.indices.map { position in
                target.places[position].flatMap { rows.columns[$0].values }
            }
            hasExceptions = rows.columns.contains { !$0.exceptions.isEmpty }
        }

        /// The stamp of a cell that was set after its insert.
        func exception(of place: Int, at row: Int) -> EntryStamp? {
            let exceptions = rows.columns[place].exceptions
            var (low, high) = (0, exceptions.count)
            while low < high {
                let middle = (low + high) / 2
                if exceptions[middle].row < row { low = middle + 1 } else { high = middle }
            }
            return low < exceptions.count && exceptions[low].row == row ? exceptions[low].stamp : nil
        }
    }

    private enum Filled {
        case done
        /// It refers to a row that is not here yet.
        case waits
        /// A constraint refused it, or its key says something else than its identity.
        case refused
    }

    private func insert(_ index: Int, of frame: SimpleFrame) throws -> Filled {
        let (rows, target) = (frame.rows, frame.target)
        let table = target.table
        let rules = store.referenceRules.of(table)
        let stamp = joiner.terms.stamp(rows.stamps[index])
        guard table.isSpelled(rows.identities[index], by: { frame.values[$0]?[index] ?? .null }) else {
            return .refused
        }
        var state = RowClock(insertedBy: stamp, columnCount: table.columnCount)
        for id in target.absent { state.setCell(id, CellState()) }
        var values = [Value?](repeating: nil, count: table.columns.count)
        for (place, position) in target.positions.enumerated() {
            let given = try (rows.columns[place].values?[index] ?? .null).whole(joiner.blobs)
            // The record has to spell it out.
            if try table.isSaidOtherwise(given, at: position)
                || IdentityMap(store: store).isNumberOfRow(given, in: table.columns[position])
            {
                return .refused
            }
            guard let value = try joiner.shownRows.local(given, table.columns[position].reference) else {
                return .waits
            }
            values[position] = value
            if let own = frame.exception(of: place, at: index) {
                let version = Version(stamp: joiner.terms.stamp(own), value: nil)
                state.setCell(table.columns[position].id, CellState(versions: [version]))
            }
        }
        if !rules.isEmpty {
            let isBound = try Neighbours(store, shownRows: joiner.shownRows).satisfiesRules(table) {
                target.places[$0].map { rows.columns[$0].values?[index] ?? .null }
                    ?? store.defaultValue(of: table, $0)
            }
            guard isBound ?? true else { return .waits }
        }
        let identity = rows.identities[index]
        let integer = rows.integers.isEmpty ? nil : rows.integers[index]
        guard let inserted = try joiner.shownRows.insert(values, identity, integer: integer, in: table) else {
            return .refused
        }
        // What a column without a cell shows is its default.
        for id in target.absent {
            guard let position = table.columns.firstIndex(where: { $0.id == id }) else { continue }
            values[position] = store.defaultValue(of: table, position)
        }
        let row = TableReader.Row(values: values.map { $0 ?? .null }, of: table)
        store.spellOutCounters(&state, shown: row.values, in: table)
        let reader = joiner.shownRows.reader(table)
        var record = ClockRecord(state, of: identity, shownAs: row, reader)
        record.breaksCheck = inserted.breaksCheck
        _ = try ClockTable(table: table, connection: store.connection).insert(record, at: inserted.rowid)
        try joiner.shownRows.redeemReservation(inserted.rowid, in: table)
        store.count(1, state, row: store.rowDigest(table, identity), table: table)
        return .done
    }
}
