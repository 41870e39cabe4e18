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
    private var times: [Int: HybridTime] = [:]

    private var table: TrackedTable { simple.table }
    private var store: OpenStore { simple.store }

    init(_ simple: SimpleChanges) { self.simple = simple }

    func removeClocks(_ recorder: Recorder) throws {
        times.reserveCapacity(simple.deletes.count)
        let delete = try store.connection.prepare(table.deleteClock)
        let clock = try BatchClockUpdater(table, store)
        var digests = KeyDigests()
        let entries = simple.entries
        let order = simple.deletes.sorted { entries[$0].rowid < entries[$1].rowid }
        let identity = 1 + BatchClockUpdater.columnCount
        try simple.forEachRecord(order, table.selectSimpleClock) { index, select in
            let rowid = simple.entries[index].rowid
            if table.storesIdentity {
                select.withBytes(identity) { simple.setIdentity($0, at: index) }
                recorder.dangling.note(rowid, RowIdentity(unchecked: select.bytes(identity)), in: table)
            }
            let content = simple.identityDigest(simple.entries[index])
            try clock.take(select, from: 1)
            clock.discount(row: StateDigest.row(table.nameDigest, identity: content))
            times[index] = recorder.time(captured: simple.entries[index].milliseconds, above: clock.latest)
            delete.bind(rowid, at: 1)
            try delete.run()
            if table.findsByKeyDigest { digests.append(TrackedTable.fold(content), row: rowid) }
            for digest in clock.uniques where digest != 0 { digests.append(digest, row: rowid) }
        }
        try digests.remove(from: table, on: store.connection)
    }

    func write(to transaction: TransactionWriter) throws {
        var group = RowGroup(table: table.name, kind: .delete)
        group.identities.reserveCapacity(simple.deletes.count)
        group.times.reserveCapacity(simple.deletes.count)
        let keys = simple.keys.bytes
        for index in simple.deletes {
            group.identities.append(RowIdentity(unchecked: keys[simple.range(simple.entries[index])]))
            group.times.append(times[index] ?? .zero)
        }
        transaction.notes.withChanges(of: table.name) { changes in
            for (place, index) in simple.deletes.enumerated() {
                let isListed = changes.deleted.count < TableChanges.maximumKeys
                changes.note(
                    .delete,
                    isListed
                        ? table.primaryKey(of: group.identities[place], at: simple.entries[index].rowid) : nil)
            }
        }
        try transaction.append(group)
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
