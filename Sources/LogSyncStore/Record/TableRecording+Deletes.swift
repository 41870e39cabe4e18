import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Phases `releaseFormerIdentities` and `writeDeletes`.
extension TableRecording {
    /// Finds out under which identity each touched row goes on; where its key, or its key's parent, is another now, its
    /// former identity is released. One row may take the identity of another that does so, too.
    func releaseFormerIdentities() throws {
        for key in captured.sortedKeys() {
            guard let touched = captured.touched[key], let row = try currentRow(key, touched) else { continue }
            let identity =
                try touched.identity
                ?? reader.naturalIdentity { try recorder.translated(row.values[$0], $0, in: table) }
            guard let identity else { continue }
            staged.append(
                StagedRow(
                    key: key, touched: touched, identity: identity,
                    released: try releaseFormer(of: touched, nowCalled: identity)))
        }
    }

    /// Returns the record that stood under the former identity; nil where the row has none or keeps it.
    private func releaseFormer(of touched: TouchedRow, nowCalled identity: RowIdentity) throws -> ClockRecord? {
        // A row that was deleted and inserted again under the same key is another row where its parent is.
        guard table.storesIdentity, let origin = touched.origin ?? touched.formerRecord,
            let record = try clock.record(at: origin),
            let former = record.identity, former != identity
        else { return nil }
        release(former, record, milliseconds: touched.milliseconds)
        try connection.run("UPDATE \(table.clock) SET identity = NULL WHERE row = ?", .integer(origin))
        return record
    }

    /// Records the deletion of rows whose identities no row has taken.
    func writeDeletes() throws {
        let staying = Set(staged.map(\.identity))
        for (identity, tombstone) in tombstones.sorted(by: { $0.key < $1.key }) where !staying.contains(identity) {
            try writeDelete(of: identity, tombstone, above: tombstone.stamps)
            // Rows that were folded into it go with it, but for one that a program has inserted again.
            for row in try HiddenRows(store).folded(into: identity, in: table)
            where !staying.contains(row.identity) {
                try writeDelete(of: row.identity, tombstone, above: row.clock.allStamps)
                _ = try HiddenRows(store).remove(row.table, row.identity)
            }
        }
        try simpleDeletes?.write(to: recorder.transaction())
        simpleDeletes = nil
    }

    private func writeDelete(of identity: RowIdentity, _ tombstone: Tombstone, above stamps: [Stamp]) throws {
        let time = recorder.time(captured: tombstone.milliseconds, above: stamps)
        try recorder.transaction().append(table, .delete, identity, time: time, integer: nil, cells: [])
    }
}
