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
            guard let identity = try touched.identity ?? naturalIdentity(of: row, touched) else { continue }
            staged.append(
                StagedRow(
                    key: key, touched: touched, identity: identity,
                    released: try releaseFormer(of: touched, nowCalled: identity)))
        }
    }

    /// The identity that a row has by its key, or that it was given when the key was another.
    private func naturalIdentity(of row: TableReader.Row, _ touched: TouchedRow) throws -> RowIdentity? {
        let spelled = try reader.naturalIdentity { try recorder.translated(row.values[$0], $0, in: table) }
        guard table.keepsIdentities, let spelled else { return spelled }
        let origin = touched.origin ?? touched.formerRecord
        if let origin, let given = try clock.identity(at: origin) {
            // Of a table whose key is the rowid, the place says that it is the same.
            let former =
                try table.mapsKeys ? FoldedKeys(store: store, table: table).identity(of: given, at: origin) : spelled
            if former == spelled { return given }
        }
        // Other integers mean the same rows in it.
        if let given = try formerlySpelled[spelled] ?? recorder.arrived.respelledIdentity(of: spelled, table) {
            return given
        }
        let name = table.named(spelled)
        // A row that was given this identity may live on under another key.
        if let holder = try clock.row(of: name), holder != origin {
            return surrogates.identity(number: touched.number, milliseconds: touched.insertMilliseconds)
        }
        return name
    }

    /// Returns the record that stood under the former identity; nil where the row has none or keeps it.
    private func releaseFormer(of touched: TouchedRow, nowCalled identity: RowIdentity) throws -> ClockRecord? {
        // A row that was deleted and inserted again under the same key is another row where its parent is.
        guard table.storesIdentity, let origin = touched.origin ?? touched.formerRecord,
            let record = try clock.record(at: origin),
            let former = record.identity, former != identity
        else { return nil }
        release(
            former, record, from: touched.movedFrom ?? origin, milliseconds: touched.milliseconds,
            key: table.primaryKey(of: former, at: origin))
        try connection.run("UPDATE \(table.clock) SET identity = NULL WHERE row = ?", .integer(origin))
        return record
    }

    /// Records the deletion of rows whose identities no row has taken.
    func writeDeletes() throws {
        let staying = Set(staged.map(\.identity))
        for (identity, tombstone) in tombstones.sorted(by: { $0.key < $1.key }) where !staying.contains(identity) {
            try writeDelete(of: identity, tombstone, above: tombstone.stamps)
            try recorder.transaction().notes.note(table.name, .delete, tombstone.key)
            // Rows that were folded into it go with it, but for one that a program has inserted again.
            for row in try HiddenRows(store).folded(into: identity, in: table)
            where !staying.contains(row.identity) {
                try writeDelete(of: row.identity, tombstone, above: row.clock.allStamps)
                try recorder.transaction().notes.note(table.name, .delete)
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
