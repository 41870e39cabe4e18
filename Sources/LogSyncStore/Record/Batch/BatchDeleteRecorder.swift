import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Phases `removeClocksOfDeletedRows` and `writeDeletes` for rows that were deleted and nothing else
/// (``SimpleChanges``): their clock records are removed in the order of their rowids, and the deletions are logged
/// in the order of the keys.
///
/// ``TableRecording`` takes the same shares from the state digest and gives the same times.
final class BatchDeleteRecorder {
    private let simple: SimpleChanges
    /// By entry.
    private var times: [HybridTime] = []

    private var table: TrackedTable { simple.table }
    private var store: OpenStore { simple.store }

    init(_ simple: SimpleChanges) { self.simple = simple }

    func removeClocks(_ recorder: Recorder) throws {
        times = Array(repeating: .zero, count: simple.entries.count)
        let delete = try store.connection.prepare(table.deleteClock)
        let clock = try BatchClockUpdater(table, store)
        var digests = KeyDigests()
        let identity = 1 + BatchClockUpdater.columnCount
        try simple.forEachRecord(simple.byRowid(simple.deletes), table.selectSimpleClock) { index, select in
            let rowid = simple.entries[index].rowid
            if table.storesIdentity {
                select.withBytes(identity) { simple.setIdentity($0, at: index) }
                recorder.dangling.note(rowid, RowIdentity(unchecked: select.bytes(identity)), in: table)
            }
            let content = simple.identityDigest(simple.entries[index])
            try clock.take(select, from: 1)
            clock.discount(row: StateDigest.row(table.nameDigest, identity: content))
            times[index] = recorder.time(captured: simple.milliseconds(of: simple.entries[index]), above: clock.latest)
            delete.bind(rowid, at: 1)
            try delete.run()
            if table.findsByKeyDigest { digests.append(TrackedTable.fold(content), row: rowid) }
            for digest in clock.uniques where digest != 0 { digests.append(digest, row: rowid) }
        }
        try digests.remove(from: table, on: store.connection)
    }

    func write(to transaction: TransactionWriter) throws {
        // Each is encoded while the next is put together.
        let (deletes, count) = (simple.deletes, portion)
        for start in stride(from: 0, to: deletes.count, by: count) {
            let portion = deletes[start..<min(start + count, deletes.count)]
            let keys = simple.keys.bytes
            var group = RowGroup(table: table.name, kind: .delete)
            group.identities = portion.map { RowIdentity(unchecked: keys[simple.range(simple.entries[$0])]) }
            group.times = portion.map { times[$0] }
            note(portion, group.identities, in: transaction)
            try transaction.append(group)
        }
    }

    /// How many rows are put together at once.
    private var portion: Int { max(1, min(TransactionWriter.portion, store.configuration.recordingMemory) / 64) }

    private func note(_ portion: ArraySlice<Int>, _ identities: [RowIdentity], in transaction: TransactionWriter) {
        transaction.notes.withChanges(of: table.name) { changes in
            for (index, identity) in zip(portion, identities) {
                let isListed = changes.deleted.count < TableChanges.maximumKeys
                changes.note(
                    .delete, isListed ? table.primaryKey(of: identity, at: simple.entries[index].rowid) : nil)
            }
        }
    }
}

extension TrackedTable {
    /// Simple rows' records, without their digests, each after its place among the rowids given.
    fileprivate var selectSimpleClock: String {
        """
        SELECT s.c0, \(BatchClockUpdater.columns), c.identity
        FROM logsync_rows_2(?) AS s CROSS JOIN \(clock) AS c WHERE c.row = s.c1
        """
    }
}
