import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Puts one transaction of this peer into the outbox, block by block, as its row changes come.
final class TransactionWriter {
    let store: OpenStore
    let header: TransactionHeader
    let stamp: Stamp
    private let encoder: BackgroundEncoder
    private let chainBefore: ChainHash
    private let entry: OutboxEntry
    private var groups: [GroupKey: Collected] = [:]
    /// How many groups have been begun.
    private var begun = 0
    /// The rows that it changes, for the history.
    let notes = ChangeNotes()

    private struct GroupKey: Hashable {
        var table: Int64
        var kind: RowGroup.Kind
        var columns: [String]
        var operations: [RowGroup.Operation]
        var areTimed: [Bool]
        /// How many parts the rows' identities have, where these may have been given under several keys: a group's have
        /// the same number.
        var parts: Int
    }

    /// Rows that are not encoded yet.
    private struct Collected {
        var group: RowGroup
        /// About how many bytes they take.
        var size = 0
        /// Among all groups, in the order in which they were begun.
        var number: Int
    }

    /// One cell of a row change.
    struct Cell {
        var column: String
        var reference: String?
        var operation = RowGroup.Operation.set
        var value: Value
        /// The cell's own time, where it is not the row change's.
        var time: HybridTime?
        /// For ``RowGroup/Operation/add``.
        var base: Dot?
    }

    init(_ store: OpenStore, milliseconds: Int64, schema: SchemaFingerprint?, author: String?, context: String?) throws
    {
        self.store = store
        let connection = store.connection
        let own = store.peers.entries[store.own]
        let sequence = (own?.sequence ?? 0) + 1
        let time = max(HybridTime(milliseconds: milliseconds), store.lastTime.successor)
        header = TransactionHeader(
            dot: Dot(store.ownID, sequence), time: time,
            dependencyChanges: try store.peers.declareDependencies(of: store.own, on: connection),
            schema: schema, author: author, context: context)
        stamp = Stamp(peer: store.own, sequence: sequence, time: time)
        chainBefore = own?.chain ?? .zero
        let entry = OutboxEntry(connection, peer: store.own, sequence: Int64(sequence))
        self.entry = entry
        encoder = try BackgroundEncoder(header: header, previous: chainBefore) { try entry.append($0) }
    }

    func append(
        _ table: TrackedTable, _ kind: RowGroup.Kind, _ identity: RowIdentity, time: HybridTime, integer: Int64?,
        cells: [Cell]
    ) throws {
        let key = GroupKey(
            table: table.id, kind: kind, columns: cells.map(\.column), operations: cells.map(\.operation),
            areTimed: cells.map { $0.time != nil },
            parts: table.keepsIdentities ? identity.naturalParts?.count ?? 0 : 0)
        var size = 40 + identity.bytes.count
        if groups[key] == nil {
            let columns = cells.map {
                RowGroup.Column(name: $0.column, operation: $0.operation, referencedTable: $0.reference)
            }
            groups[key] = Collected(group: RowGroup(table: table.name, kind: kind, columns: columns), number: begun)
            begun += 1
        }
        groups[key]?.group.identities.append(identity)
        groups[key]?.group.times.append(time)
        store.noteTime(time)
        if let integer { groups[key]?.group.integers.append(integer) }
        for (index, cell) in cells.enumerated() {
            let value = try logged(cell.value, cell.column, of: identity, in: table)
            groups[key]?.group.columns[index].values.append(value)
            if let time = cell.time {
                groups[key]?.group.columns[index].times.append(time)
                store.noteTime(time)
            }
            if let base = cell.base { groups[key]?.group.columns[index].bases.append(base) }
            size += value.size
        }
        groups[key]?.size += size
        if groups[key]?.size ?? 0 > 1 << 19 { try flush(key) }
    }

    /// About how many bytes of values a group should have at most that ``append(_:)`` is given: it is encoded while the next
    /// one is put together.
    static let portion = 4 << 20

    /// Adds a whole group.
    func append(_ group: RowGroup) throws {
        store.noteTime(group.latestTime)
        try encoder.append(group)
    }

    /// A cell's value as the log has it: a large one is in a blob file, unless identities have it anyway.
    @inline(__always)
    func logged(_ value: Value, _ column: String, of identity: RowIdentity, in table: TrackedTable) throws -> Value {
        guard isLarge(value.size), !table.keyNames.contains(column) else { return value }
        return try StoredBlobs(store: store).reference(
            to: value, at: StoredBlobs.Place(table: table.name, identity: identity, column: column),
            in: table, of: header.dot)
    }

    @inline(__always)
    func isLarge(_ byteCount: Int) -> Bool { byteCount > store.configuration.blobThreshold }

    /// Encodes what has been collected; called when a table is done.
    func flush() throws {
        // In one order wherever it is made: a seed has the same bytes on every peer.
        let keys = groups.sorted { a, b in
            let (left, right) = ((a.key.kind.rawValue, a.key.columns.count), (b.key.kind.rawValue, b.key.columns.count))
            if left != right { return left < right }
            if a.key.columns != b.key.columns { return a.key.columns.lexicographicallyPrecedes(b.key.columns) }
            return a.value.number < b.value.number
        }.map(\.key)
        for key in keys { try flush(key) }
    }

    private func flush(_ key: GroupKey) throws {
        guard let collected = groups.removeValue(forKey: key) else { return }
        try encoder.append(collected.group)
    }

    /// Closes the transaction: outbox, history and our own place in the vector.
    ///
    /// - Parameter moved: what the history says beside what the transaction does.
    func finish(_ moved: [String: TableChanges] = [:]) throws -> RecordedTransaction {
        try flush()
        let (chain, counts) = try encoder.finish()
        try entry.finish(before: chainBefore, chain: chain)
        try store.peers.advance(store.own, to: header.dot.sequence, chain: chain, on: store.connection)
        store.lastTime = header.time
        store.noteTime(header.time)
        try History.append(
            header, peer: store.own, chain: chain, counts: counts,
            rows: rows(counts).merging(moved) { $0.adding($1) }, store)
        return RecordedTransaction(dot: header.dot, chain: chain, counts: counts)
    }

    /// What the notes say, where they say of every row that was written that it was.
    private func rows(_ counts: [String: ChangeCounts]) -> [String: TableChanges] {
        counts.reduce(into: [:]) { tables, entry in
            var changes = notes.tables[entry.key] ?? TableChanges()
            if changes.counts != entry.value {
                changes.counts = entry.value
                changes.isUnlisted = true
            }
            tables[entry.key] = changes
        }
    }
}

extension Value {
    /// About how many bytes it takes.
    var size: Int {
        switch self {
        case .null: 1
        case .integer, .real: 8
        case .text(let bytes), .blob(let bytes): bytes.count + 2
        case .reference(let identity): identity.bytes.count
        case .external: 48
        }
    }
}
