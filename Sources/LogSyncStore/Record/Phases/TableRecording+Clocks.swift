import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Phases `keepFormerIdentities`, `removeClocksOfDeletedRows` and `moveClocksOfMovedRows`: after them every clock
/// record has the place of its row.
extension TableRecording {
    /// Keeps what integers stood for while their records go and move.
    func keepFormerIdentities() throws {
        guard table.localInteger != nil else { return }
        for (key, touched) in captured.touched {
            guard let rowid = key.rowid else { continue }
            formerIdentities[rowid] = .some(try identities.knownIdentity(of: rowid, in: table))
            if let origin = touched.origin, origin != rowid {
                formerIdentities[origin] = .some(try clock.identity(at: origin))
            }
        }
        for record in captured.deleted.keys { formerIdentities[record] = .some(try clock.identity(at: record)) }
        if let simple, store.catalog.tables.contains(where: \.keyHasReference) {
            for index in simple.deletes {
                let record = simple.entries[index].rowid
                formerIdentities[record] = .some(try clock.identity(at: record))
            }
        }
    }

    /// Removes the records of deleted rows; an insert may take such a row's identity, its integer or its unique key.
    func removeClocksOfDeletedRows() throws {
        for row in captured.deleted.values.sorted(by: { $0.record < $1.record }) {
            guard let record = try clock.record(at: row.record) else { continue }
            guard let identity = record.named ?? naturalIdentity(of: row.key) else { continue }
            try keepSpelled(identity, at: row.record)
            release(
                identity, record, from: row.record, milliseconds: row.milliseconds,
                integer: table.localInteger == nil ? nil : row.record, key: primaryKey(of: row, identity))
            let uniques = table.findsByKeyDigest ? [table.keyDigest(identity)] : record.uniques
            try clock.delete(row.record, uniques: uniques)
            recorder.dangling.note(row.record, identity, in: table)
            let isSpelledOut = record.state.cells.values.contains { $0.versions.contains { $0.value != nil } }
            if !record.state.cellsByName.isEmpty || isSpelledOut || record.breaksCheck {
                carriedValues[row.record] = record
            }
        }
        try releaseUnreturned()
        guard let simple, !simple.deletes.isEmpty else { return }
        let deletes = BatchDeleteRecorder(simple)
        try deletes.removeClocks(recorder)
        simpleDeletes = deletes
    }

    /// Keeps what the key of a row spelled that had its identity from another key.
    private func keepSpelled(_ identity: RowIdentity, at place: Int64) throws {
        guard table.mapsKeys, table.keyHasReference else { return }
        let spelled = try FoldedKeys(store: store, table: table).identity(of: identity, at: place)
        if spelled != identity { formerlySpelled[spelled] = identity }
    }

    /// An undo has promised an integer, and the row has gone again: the next one of that integer is another.
    private func releaseUnreturned() throws {
        for key in captured.returned where captured.touched[key]?.isReturned != true {
            guard let rowid = key.rowid, table.localInteger != nil,
                let identity = try identities.reservedIdentity(of: rowid, in: table)
            else { continue }
            try identities.release(rowid, in: table)
            recorder.dangling.note(rowid, identity, in: table)
        }
    }

    /// The key that a deleted row had, as it was captured.
    private func primaryKey(of row: DeletedRow, _ identity: RowIdentity) -> [Value]? {
        guard table.schema.integerKey == nil, table.primaryKeyPositions == table.key.map(\.index),
            row.key.natural != nil
        else { return table.primaryKey(of: identity, at: row.record) }
        return row.key.values
    }

    private func naturalIdentity(of key: RowKey) -> RowIdentity? {
        if let natural = key.natural { return natural }
        guard let rowid = key.rowid, table.kind == .natural, table.schema.integerKey != nil else { return nil }
        return RowIdentity(natural: [.integer(rowid)])
    }

    /// Moves records to the places of their rows; one may move to where another row's record has not left yet.
    func moveClocksOfMovedRows() throws {
        guard table.hasRowid else { return }
        var moves: [(from: Int64, to: Int64, uniques: [Int32])] = []
        for key in captured.sortedKeys() {
            guard let touched = captured.touched[key], let origin = touched.origin ?? touched.formerRecord,
                let target = touched.rowid ?? key.rowid, origin != target
            else { continue }
            let uniques =
                if table.findsByKeyDigest, let natural = key.natural { [table.keyDigest(natural)] } else {
                    try clock.record(at: origin)?.uniques ?? []
                }
            moves.append((origin, target, uniques))
            if table.localInteger != nil { recorder.untold.noteMove(of: table, from: origin, to: target) }
            captured.update(key) {
                if touched.origin != nil { $0.origin = target } else { $0.formerRecord = target }
                $0.movedFrom = origin
            }
        }
        try clock.move(moves)
    }
}
