import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Records rows that were deleted (``SimpleChanges``): their clock records go first, in the order in which they stand, and
/// the deletions are logged in the order of the keys.
///
/// ``Recorder`` takes the same shares from the state digest and gives the same times.
final class BatchDeleteRecorder {
    private let plain: SimpleChanges
    private let recorder: Recorder
    /// By entry.
    private var times: [Int: HybridTime] = [:]

    private var table: TrackedTable { plain.table }
    private var store: OpenStore { plain.store }

    /// Takes the clock records away.
    ///
    /// - Parameter note: is told each row's integer and identity.
    init(_ plain: SimpleChanges, _ recorder: Recorder, noting note: (Int64, RowIdentity) -> Void) throws {
        self.plain = plain
        self.recorder = recorder
        times.reserveCapacity(plain.deletes.count)
        let delete = try store.connection.prepare(table.deleteClock)
        let clock = try BatchClockUpdater(table, store)
        var digests = KeyDigests()
        let order = plain.deletes.sorted { plain.entries[$0].rowid < plain.entries[$1].rowid }
        let identity = 1 + BatchClockUpdater.columnCount
        try plain.forEachRecord(order, table.selectPlainClock) { index, select in
            let rowid = plain.entries[index].rowid
            if table.storesIdentity {
                select.withBytes(identity) { plain.setIdentity($0, at: index) }
                note(rowid, RowIdentity(unchecked: select.bytes(identity)))
            }
            let content = plain.keys.bytes.withUnsafeBytes {
                Digest.of(
                    bytes: UnsafeRawBufferPointer(rebasing: $0[plain.range(plain.entries[index])]),
                    seed: Digest.blobSeed)
            }
            let row = Digest.mix(table.nameDigest, content)
            try clock.take(select, from: 1)
            clock.discount(row: row)
            times[index] = recorder.raised(plain.entries[index].milliseconds, above: clock.latest)
            delete.bind(rowid, at: 1)
            try delete.run()
            if table.findsByKeyDigest { digests.append(TrackedTable.fold(content), row: rowid) }
            for digest in clock.uniques where digest != 0 { digests.append(digest, row: rowid) }
        }
        try digests.remove(from: table, on: store.connection)
    }

    func write() throws {
        var group = RowGroup(table: table.name, kind: .delete)
        group.identities.reserveCapacity(plain.deletes.count)
        group.times.reserveCapacity(plain.deletes.count)
        let keys = plain.keys.bytes
        for index in plain.deletes {
            group.identities.append(RowIdentity(unchecked: keys[plain.range(plain.entries[index])]))
            group.times.append(times[index] ?? .zero)
        }
        try recorder.transaction().append(group)
    }
}

extension TrackedTable {
    /// Plain rows' records, without their digests, each after its place among those that are given.
    var selectPlainClock: String {
        """
        SELECT s.c0, \(BatchClockUpdater.columns), c.identity
        FROM logsync_rows_2(?) AS s CROSS JOIN \(clock) AS c WHERE c.row = s.c1
        """
    }
}
