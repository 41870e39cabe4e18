import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Changes that have seen all that they touch: they go the short way.
extension RowMerge {
    /// Applies an update or delete whose author had seen every entry that it touches. False where the author had not, or where
    /// more has to be looked at; then nothing was changed.
    func applyDirectly(_ table: TrackedTable, _ record: ClockRecord, at position: Int64) throws -> Bool {
        switch row.group.kind {
        case .insert: return false
        case .delete:
            guard record.state.allStamps.allSatisfy(coverage.covers) else { return false }
            return try deleteDirectly(table, record, at: position)
        case .update:
            guard row.target.isKnown, row.target.hasNoKey, row.target.hasParents(in: store.catalog),
                !record.isReplaced, !record.breaksCheck, try !row.hasOtherReferences(shownRows),
                !row.changesNames(store.referenceRules, of: table),
                !table.isOfOtherKey(identity, record.state.cellsByName),
                row.group.columns.allSatisfy({ $0.operation == .set && $0.times.isEmpty })
            else { return false }
            return try updateDirectly(table, record, at: position)
        }
    }

    private func deleteDirectly(_ table: TrackedTable, _ record: ClockRecord, at position: Int64) throws -> Bool {
        let present = try shownRows.currentRow(identity, at: position, in: table)
        try shownRows.remove(identity, at: position, in: table)
        let uniques = table.findsByKeyDigest && !identity.isSurrogate ? [table.keyDigest(identity)] : record.uniques
        try ClockTable(table: table, connection: connection).delete(position, uniques: uniques)
        store.count(-1, record.state, row: store.rowDigest(table, identity), table: table)
        transaction.dangling.note(position, identity, in: table)
        shownRows.integers.free(position, of: identity, in: table)
        transaction.noteFormer(present, at: position, in: table)
        try notes.noteDelete(of: present, at: position, in: table, store)
        return true
    }

    private func updateDirectly(_ table: TrackedTable, _ former: ClockRecord, at position: Int64) throws -> Bool {
        var record = former
        record.state.extend(to: table.columnCount)
        for case let column? in row.target.positions {
            guard record.state.cell(table.columns[column].id).isCovered(by: coverage) else { return false }
        }
        var given: [(position: Int, value: Value, original: Value)] = []
        for (column, place) in zip(row.group.columns, row.target.positions) {
            guard let place else { continue }
            let original = column.values[row.index]
            let value = try shownRows.localOrReserved(original, row.target.reference(of: column, at: place))
            given.append((place, value, original))
        }
        let key =
            try table.hasRowid
            ? [.integer(position)] : shownRows.shownKey(identity, at: position, in: table) ?? []
        let statement = try RowStatement(table, on: connection) { table.update(given.map(\.position), or: $0) }
        let written = try statement.write(given.map(\.value) + key)
        guard written != .refused, let present = try shownRows.currentRow(identity, at: position, in: table) else {
            return false
        }
        record.breaksCheck = written == .breakingCheck
        let rowDigest = store.rowDigest(table, identity)
        for (place, value, original) in given {
            let id = table.columns[place].id
            store.count(-1, record.state.cell(id), row: rowDigest, column: table.columnDigests[id])
            store.count(1, row: rowDigest, column: table.columnDigests[id], stamp)
            let isShown = present.values[place] == value && !store.keepsVersions(table, place)
            let version = Version(stamp: stamp, value: isShown ? nil : original)
            record.state.setCell(id, CellState(versions: [version]))
        }
        let reader = shownRows.reader(table)
        record.digests = reader.columnDigests(present.digests)
        record.digest = reader.digest(present.digests)
        if !table.findsByKeyDigest { record.uniques = table.uniqueDigests { present.values[$0] } }
        try ClockTable(table: table, connection: connection)
            .update(record, at: position, formerUniques: former.uniques)
        notes.note(table.name, .update, table.primaryKey(of: present, at: position), columns: row.names)
        return true
    }
}
