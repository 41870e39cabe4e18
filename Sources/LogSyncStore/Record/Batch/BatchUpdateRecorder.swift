import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Phase `writeInsertsAndUpdates` for rows that were updated and nothing else (``SimpleChanges``): compares them with
/// their clock records in the order of rowids, and logs what differs in the order of the keys.
///
/// ``RowRecorder`` finds the same columns changed, gives them the same time, and leaves the same record.
final class BatchUpdateRecorder {
    private let simple: SimpleChanges
    private let recorder: Recorder
    private let table: TrackedTable
    private let store: OpenStore
    private let clock: BatchClockUpdater
    /// By the columns that changed, as bits by position.
    private var groups: [UInt64: Changed] = [:]
    private var last: (changed: UInt64, group: Changed)?
    private var size = 0
    /// How many rows have changed, and what the history lists of them.
    private var count = 0
    private var listed: [(key: [Value], columns: [String])] = []
    private let references: ParentIdentityCache
    /// Places in the order in which rows are logged, by entry.
    private var ranks: [Int32] = []

    /// Rows whose same columns changed. Written several times a row, and handed to nobody while they change.
    private final class Changed {
        let positions: [Int]
        /// What the columns are called in this store.
        let names: [String]
        @exclusivity(unchecked) var entries: [Int] = []
        @exclusivity(unchecked) var times: [HybridTime] = []
        /// By place among the positions.
        @exclusivity(unchecked) var values: [[Value]]

        init(_ positions: [Int], _ table: TrackedTable) {
            self.positions = positions
            names = positions.map { table.columns[$0].local }
            values = positions.map { _ in [] }
        }
    }

    init(_ simple: SimpleChanges, _ recorder: Recorder) throws {
        self.simple = simple
        self.recorder = recorder
        table = simple.table
        store = simple.store
        clock = try BatchClockUpdater(simple.table, simple.store)
        references = ParentIdentityCache(simple.table, recorder)
    }

    func write() throws {
        ranks = [Int32](repeating: 0, count: simple.entries.count)
        for (rank, index) in simple.updates.enumerated() { ranks[index] = Int32(rank) }
        var digests = [UInt64](repeating: 0, count: table.columns.count)
        var record = [UInt32](repeating: 0, count: table.columnCount)
        let portion = min(TransactionWriter.portion, store.configuration.recordingMemory)
        try simple.forEachRecord(simple.byRowid(simple.updates), table.selectSimpleUpdate) { index, select in
            let changed = changes(select, &digests, &record)
            if changed != 0 { try write(changed, index, select, digests: record, digest: table.digest(ofRow: digests)) }
            if size > portion { try log() }
        }
        try log()
        guard count > 0 else { return }
        try recorder.transaction().notes.withChanges(of: table.name) { changes in
            for row in listed { changes.note(.update, row.key, columns: row.columns) }
            changes.counts.updated += count - listed.count
        }
    }

    // MARK: Comparing

    /// The first column of ``TrackedTable/selectSimpleUpdate`` that is the row's.
    private static let cells = record + BatchClockUpdater.columnCount + 3
    /// What it gives before: the record; the digest of the whole row; the record's identity; the columns' digests.
    private static let record = 1
    private static let digest = record + BatchClockUpdater.columnCount
    private static let identity = digest + 1
    private static let digests = digest + 2

    /// The columns that differ from the record, as bits by position.
    private func changes(_ select: Statement, _ digests: inout [UInt64], _ record: inout [UInt32]) -> UInt64 {
        var changed: UInt64 = 0
        select.withBytes(Self.digests) { stored in
            for position in digests.indices {
                let digest = select.digest(Self.cells + position, by: table.valueDigest)
                digests[position] = digest
                let id = table.columns[position].id
                record[id] = UInt32(truncatingIfNeeded: digest).littleEndian
                if stored.loadUnaligned(fromByteOffset: id * 4, as: UInt32.self) != record[id] {
                    changed |= 1 << UInt64(position)
                }
            }
        }
        guard changed == 0, table.digest(ofRow: digests) != UInt64(bitPattern: select.integer(Self.digest)) else {
            return changed
        }
        // A digest of a column can meet another's by chance, of the row hardly: then everything is recorded.
        return UInt64.max >> UInt64(64 - digests.count)
    }

    // MARK: One row

    private func write(
        _ changed: UInt64, _ index: Int, _ select: Statement, digests: [UInt32], digest: UInt64
    ) throws {
        if table.storesIdentity { select.withBytes(Self.identity) { simple.setIdentity($0, at: index) } }
        let entry = simple.entries[index]
        let row = StateDigest.row(table.nameDigest, identity: simple.identityDigest(entry))
        let group = group(of: changed)
        try clock.take(select, from: Self.record)
        let transaction = try recorder.transaction()
        var stamp = transaction.stamp
        stamp.time = recorder.time(captured: simple.milliseconds(of: entry), above: clock.latest(of: group.positions))
        try keep(index, stamp.time, select, in: group, transaction)
        let uniques =
            table.uniqueSlots.isEmpty ? [] : table.uniqueDigests { select.value(Self.cells + $0) }
        try clock.write(
            at: entry.rowid, row: row, changed, group.positions, stamp, digests: digests, digest: digest)
        try clock.follow(uniques: uniques, at: entry.rowid)
    }

    // MARK: Logging

    private func group(of changed: UInt64) -> Changed {
        if let last, last.changed == changed { return last.group }
        let group =
            groups[changed] ?? Changed(table.columns.indices.filter { changed >> UInt64($0) & 1 == 1 }, table)
        groups[changed] = group
        last = (changed, group)
        return group
    }

    private func keep(
        _ index: Int, _ time: HybridTime, _ select: Statement, in group: Changed, _ transaction: TransactionWriter
    ) throws {
        for (place, position) in group.positions.enumerated() {
            var value = try references.logged(select.value(Self.cells + position), at: position)
            if transaction.isLarge(value.size) {
                let identity = RowIdentity(unchecked: simple.keys.bytes[simple.range(simple.entries[index])])
                value = try transaction.logged(value, table.columns[position].name, of: identity, in: table)
            }
            size += value.size
            group.values[place].append(value)
        }
        size += 96
        note(index, select, in: group)
        group.entries.append(index)
        group.times.append(time)
    }

    private func note(_ index: Int, _ select: Statement, in group: Changed) {
        count += 1
        guard count <= TableChanges.maximumKeys else { return }
        let key = table.primaryKeyPositions
        listed.append(
            (
                key.isEmpty ? [.integer(simple.entries[index].rowid)] : key.map { select.value(Self.cells + $0) },
                group.names
            ))
    }

    private func log() throws {
        for (_, changed) in groups.sorted(by: { $0.key < $1.key }) {
            let placed = changed.entries.map { ranks[$0] }
            let order = placed.indices.sorted { placed[$0] < placed[$1] }
            var group = RowGroup(table: table.name, kind: .update)
            let keys = simple.keys.bytes
            group.identities = order.map {
                RowIdentity(unchecked: keys[simple.range(simple.entries[changed.entries[$0]])])
            }
            group.times = order.map { changed.times[$0] }
            if table.localInteger != nil { group.integers = order.map { simple.entries[changed.entries[$0]].rowid } }
            group.columns = zip(changed.positions, changed.values).map { position, values in
                RowGroup.Column(
                    name: table.columns[position].name, referencedTable: table.columns[position].reference,
                    values: order.map { values[$0] })
            }
            try recorder.transaction().append(group)
        }
        groups = [:]
        last = nil
        size = 0
    }
}

extension TrackedTable {
    /// Records with their rows, each after its place among the rowids given.
    fileprivate var selectSimpleUpdate: String {
        let cells = columns.map { ", t.\(SQL.name($0.local))" }.joined()
        return """
            SELECT s.c0, \(BatchClockUpdater.columns), c.digest, c.identity, c.digests\(cells)
            FROM logsync_rows_2(?) AS s CROSS JOIN \(clock) AS c CROSS JOIN \(quoted) AS t
            WHERE c.row = s.c1 AND t.\(rowid) = c.row
            """
    }
}
