import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Gathers rows of one table into frames of about a megabyte, those of the same columns together.
final class SnapshotRowsCollector {
    let table: String
    private let writer: SnapshotWriter
    private let places: [Int64: Int]
    private let blobs: SnapshotBlobs
    /// Columns whose values stand in identities, and so in the snapshot in any case.
    private let keys: Set<String>
    /// Column names in the order in which they are written; others follow by name.
    private let order: [String]
    private var groups: [Key: Group] = [:]
    private var last: (key: Key, group: Group)?
    private var spelled: SpelledRows
    private var spelledSize = 0

    /// A reader holds a frame in memory; it is to be whole within about a block.
    private static let frameSize = 3 << 18
    private static let frameCells = 1 << 18

    private struct Key: Hashable {
        var names: [String]
        var isLost: [Bool]

        /// What a reader adds up are the bytes of names.
        static func == (a: Key, b: Key) -> Bool {
            a.isLost == b.isLost
                && (isOneArray(a.names, b.names) || a.names.elementsEqual(b.names) { $0.hasSameBytes(as: $1) })
        }

        private static func isOneArray(_ a: [String], _ b: [String]) -> Bool {
            a.count == b.count
                && a.withUnsafeBufferPointer { a in b.withUnsafeBufferPointer { a.baseAddress == $0.baseAddress } }
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(names)
            hasher.combine(isLost)
        }
    }

    private final class Group {
        var rows: PlainRows
        var size = 0

        init(_ rows: PlainRows) { self.rows = rows }
    }

    init(
        _ table: String, order: [String], keys: Set<String>, writer: SnapshotWriter, places: [Int64: Int],
        blobs: SnapshotBlobs
    ) {
        self.keys = keys
        self.table = table
        // A column that was dropped and came back under its name stands once.
        var seen: Set<String> = []
        self.order = order.filter { seen.insert($0.folded).inserted }
        self.writer = writer
        self.places = places
        self.blobs = blobs
        spelled = SpelledRows(table: table)
    }

    /// Adds a row that is as one insert made it.
    func append(
        _ identity: RowIdentity, _ integer: Int64?, _ stamp: Stamp, _ columns: SimpleShape.Columns,
        value: (Int) throws -> Value?
    ) throws {
        let group = group(Key(names: columns.names, isLost: columns.positions.map { $0 == nil }))
        try begin(identity, integer, stamp, in: group)
        for index in columns.names.indices {
            guard var value = try value(index) else { continue }
            if blobs.isLarge(value) { value = try logged(value, identity, columns.names[index]) }
            group.rows.columns[index].values?.append(value)
            group.size += value.size
        }
        try flushIfFull(group)
    }

    /// Adds any row.
    func append(_ full: RowState) throws {
        let cells = Self.merged(full.state.cellsByName.filter { !$0.value.isEmpty }, order)
        let isPlain =
            full.state.inserts.count == 1 && full.state.deletes.isEmpty
            && cells.values.allSatisfy { $0.versions.count == 1 && $0.additions.isEmpty }
        guard isPlain, let insert = full.state.inserts.first else { return try spell(full, cells) }
        let names =
            order.compactMap { cells.index(forKey: $0).map { cells[$0].key } }
            + cells.keys.filter { !order.contains($0) }.sorted()
        let versions = names.compactMap { cells[$0]?.versions.first }
        let group = group(Key(names: names, isLost: versions.map { $0.value == nil }))
        try begin(full.identity, full.integer, insert, in: group)
        let row = group.rows.identities.count - 1
        for (index, version) in versions.enumerated() {
            if let value = try version.value.map({ try logged($0, full.identity, names[index]) }) {
                group.rows.columns[index].values?.append(value)
                group.size += value.size
            }
            if version.stamp != insert {
                let exception = PlainRows.Exception(row: row, stamp: try place(version.stamp))
                group.rows.columns[index].exceptions.append(exception)
                group.size += 16
            }
        }
        try flushIfFull(group)
    }

    /// Cells of names that SQLite holds for one under the first of these: no reader takes a row that has one twice.
    private static func merged(_ cells: [String: CellState], _ order: [String]) -> [String: CellState] {
        guard cells.keys.contains(where: { !order.contains($0) }) else { return cells }
        let names = Dictionary((order + cells.keys.sorted()).map { ($0.folded, $0) }) { first, _ in first }
        var merged: [String: CellState] = [:]
        for (name, cell) in cells.sorted(by: { $0.key < $1.key }) {
            merged[names[name.folded] ?? name, default: CellState()].versions += cell.versions
            merged[names[name.folded] ?? name]?.additions += cell.additions
        }
        return merged
    }

    /// Writes what has been gathered.
    func flush() throws {
        for (_, group) in groups.sorted(by: { $0.key.names.lexicographicallyPrecedes($1.key.names) }) {
            if !group.rows.identities.isEmpty { try writer.append(.plain(group.rows)) }
        }
        groups = [:]
        last = nil
        try flushSpelled()
    }

    // MARK: Plain rows

    private func group(_ key: Key) -> Group {
        if let last, last.key == key { return last.group }
        let group = groups[key] ?? Group(emptyRows(key))
        groups[key] = group
        last = (key, group)
        return group
    }

    private func emptyRows(_ key: Key) -> PlainRows {
        PlainRows(
            table: table,
            columns: zip(key.names, key.isLost).map { PlainRows.Column(name: $0, values: $1 ? nil : []) })
    }

    private func begin(_ identity: RowIdentity, _ integer: Int64?, _ stamp: Stamp, in group: Group) throws {
        // Where some rows have integers and others none, the rows that come first decide.
        let hasIntegers = group.rows.identities.isEmpty ? integer != nil : !group.rows.integers.isEmpty
        if hasIntegers != (integer != nil), !group.rows.identities.isEmpty { try flush(group) }
        group.rows.identities.append(identity)
        if let integer { group.rows.integers.append(integer) }
        group.rows.stamps.append(try place(stamp))
        group.size += 24 + identity.bytes.count
    }

    private func flushIfFull(_ group: Group) throws {
        let cells = group.rows.identities.count * (group.rows.columns.count + 1)
        if group.size > Self.frameSize || cells > Self.frameCells { try flush(group) }
    }

    private func flush(_ group: Group) throws {
        try writer.append(.plain(group.rows))
        group.rows.identities = []
        group.rows.integers = []
        group.rows.stamps = []
        for index in group.rows.columns.indices {
            group.rows.columns[index].exceptions = []
            if group.rows.columns[index].values != nil { group.rows.columns[index].values = [] }
        }
        group.size = 0
    }

    // MARK: Other rows

    private func spell(_ full: RowState, _ cells: [String: CellState]) throws {
        var row = SpelledRows.Row(identity: full.identity, integer: full.integer)
        row.inserts = try full.state.inserts.map(place)
        row.deletes = try full.state.deletes.map(place)
        for (name, cell) in cells.sorted(by: { $0.key < $1.key }) {
            var entries = SpelledRows.Cell(column: name)
            for version in cell.versions {
                let value = try version.value.map { try logged($0, full.identity, name) }
                entries.versions.append(SpelledRows.Version(stamp: try place(version.stamp), value: value))
                spelledSize += 16 + (value?.size ?? 0)
            }
            for addition in cell.additions {
                entries.additions.append(
                    SpelledRows.Addition(
                        basePeer: try place(of: addition.basePeer), baseSequence: addition.baseSequence,
                        stamp: try place(addition.stamp), cumulative: addition.cumulative))
                spelledSize += 32
            }
            row.cells.append(entries)
        }
        spelledSize += 40 + full.identity.bytes.count
        spelled.rows.append(row)
        if spelledSize > Self.frameSize { try flushSpelled() }
    }

    private func flushSpelled() throws {
        if !spelled.rows.isEmpty { try writer.append(.spelled(spelled)) }
        spelled.rows = []
        spelledSize = 0
    }

    /// A value as the snapshot has it.
    private func logged(_ value: Value, _ identity: RowIdentity, _ column: String) throws -> Value {
        guard blobs.isLarge(value), !keys.contains(column) else { return value }
        return try blobs.reference(to: value, in: table, identity, column)
    }

    // MARK: Stamps

    private func place(_ stamp: Stamp) throws -> EntryStamp {
        EntryStamp(peer: try place(of: stamp.peer), sequence: stamp.sequence, time: stamp.time)
    }

    private func place(of peer: Int64) throws -> Int {
        guard let place = places[peer] else {
            throw LogSyncError(
                .invalidStore, "an entry of \(table) is of a peer that was never imported; no snapshot was taken",
                help: "Clone the store again from its container.")
        }
        return place
    }
}
