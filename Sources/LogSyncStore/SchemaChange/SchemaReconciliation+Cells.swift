import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What records say of columns that have come or gone, or of which it has been decided what they are.
extension SchemaReconciliation {
    /// Takes dropped columns out of the rows' digests, and lets rows be recorded for which a new column's cells
    /// were kept. Notes when rows were written, where it has been decided what columns are, and what was written in columns
    /// that have gone.
    func reconcileCells(of table: TrackedTable, _ changes: ColumnChanges, noting findings: inout SchemaFindings) throws
    {
        // What was written meanwhile is in the rows alone.
        let decided = changes.decided.sorted()
        if !decided.isEmpty || !changes.released.isEmpty {
            try Capture.noteEverything(table, on: connection)
            try HeldValues(of: table, on: connection).makeTable()
        }
        let dropped = changes.dropped + changes.held.flatMap(\.ids) + changes.renamedLate.map(\.own)
        let heldReferences = changes.heldReferences
        guard
            !changes.added.isEmpty || !dropped.isEmpty || !decided.isEmpty || !heldReferences.isEmpty
                || !changes.replaced.isEmpty
        else { return }
        let clock = ClockTable(table: table, connection: connection)
        let shownRows = ShownRows(store)
        let history = try ReferenceHistory(connection)
        let reader = shownRows.reader(table)
        let continued = try ContinuedRows(of: table, in: store)
        let writes = try UndecidedWrites(of: Set(decided).subtracting(changes.renamedLate.map(\.id)), in: table, store)
        for held in changes.held { try held.keep(in: table, continued, store) }
        try noteHeld(heldReferences, in: table, continued)
        let names = Set(changes.added.map { table.columnNames[$0].folded })
        let back = returned(changes.added, in: table)
        for column in back where !changes.regained.contains(column.id) {
            try ForgottenColumns(store).giveUp(table.columnNames[column.id], of: table)
        }
        let returned = back + changes.replaced.map { (id: $0, former: []) }
        let others = changes.renamedLate.ofOthers
        var (emptied, gone): (Set<Int>, Set<Int>) = ([], [])
        var replaced = try ReplacedValues(of: changes.dropped, by: changes.added, in: table, on: connection)
        var moved = MovedReferences(of: changes.movedReferences.gone, in: changes.movedReferences.new)
        let filter = dropped.isEmpty && returned.isEmpty ? "WHERE extra IS NOT NULL" : ""
        for row in try connection.rows("SELECT row FROM \(table.clock) \(filter)") {
            let position = row[0].asInteger
            guard var record = try clock.record(at: position) else { continue }
            moved?.add(record, at: position, none: UInt32(truncatingIfNeeded: table.valueDigest.of(.null)))
            let found = try continued.row(of: record, at: position)
            let present = found?.row
            if let found { replaced?.add(record, at: position, found.row, rowid: found.rowid) }
            try changes.renamedLate.move(in: &record, present, in: table, store)
            if let present {
                let nowhere = try keepValues(of: changes.dropped, in: &record, from: present, table, shownRows, history)
                if changes.held.isEmpty { gone.formUnion(nowhere) }
            }
            if !dropped.isEmpty {
                for id in dropped where id < record.digests.count { record.digests[id] = 0 }
                // A row that was changed meanwhile differs in some column, which is enough to be recorded.
                if let present { record.digest = reader.digest(present.digests, columns: record.digests.count) }
                try clock.update(record, at: position, formerUniques: table.findsByKeyDigest ? [] : record.uniques)
            }
            if let found, !decided.isEmpty,
                try takeUp(
                    decided, new: changes.foundNew, holdingOthers: others, in: &record, found, writes, reader, &emptied)
            {
                try clock.update(record, at: position, formerUniques: table.findsByKeyDigest ? [] : record.uniques)
            }
            if let present, !returned.isEmpty {
                let isChanged = takeBack(returned, in: &record, present, reader)
                try clock.update(record, at: position, formerUniques: table.findsByKeyDigest ? [] : record.uniques)
                if isChanged { try Capture.note(at: position, identity: record.identity, in: table, store) }
            }
            if record.state.cellsByName.keys.contains(where: { names.contains($0.folded) }) {
                try Capture.note(at: position, identity: record.identity, in: table, store)
            }
        }
        if !decided.isEmpty { try HeldValues(of: table, on: connection).forget() }
        // What is nowhere was not renamed; it may be in a column that is held.
        for id in gone { try ForgottenColumns(store).giveUp(table.columnNames[id], of: table) }
        let renamed = changes.renamedLate.map(\.id)
        let lost = emptied.subtracting(renamed).map { ColumnName(table.name, table.columnNames[$0]) }
        if !lost.isEmpty { try ForgottenColumns(store).add(lost) }
        for id in renamed + changes.regained {
            try ForgottenColumns(store).takeBack(table.columnNames[id], of: table)
        }
        findings.undecidedWrites[table.id] = writes
        findings.replacedValues[table.id] = replaced?.findings
        findings.movedReferences[table.id] = moved
    }

    /// What records say of columns that were dropped, before it goes.
    func goneValues(of dropped: [Int], in table: TrackedTable) throws -> [GoneValues.Column] {
        var columns = dropped.map { GoneValues.Column(name: table.columnNames[$0], times: [:]) }
        let clock = ClockTable(table: table, connection: connection)
        for row in try connection.rows("SELECT row FROM \(table.clock)") {
            guard let record = try clock.record(at: row[0].asInteger) else { continue }
            for (index, id) in dropped.enumerated() where id < record.digests.count {
                columns[index].times.note(record.digests[id], record.state.cell(id), record.state)
            }
        }
        return columns
    }

    /// Keeps what a record says of columns that were dropped where the row holds it still, in whatever column: that may turn out
    /// to be this one.
    ///
    /// - Returns: those whose value is nowhere in the row any more.
    private func keepValues(
        of dropped: [Int], in record: inout ClockRecord, from present: TableReader.Row, _ table: TrackedTable,
        _ shownRows: ShownRows, _ history: ReferenceHistory
    ) throws -> [Int] {
        let none = UInt32(truncatingIfNeeded: table.valueDigest.of(.null))
        return try dropped.filter { id in
            guard record.digests.indices.contains(id) else { return false }
            let (digest, parent) = (record.digests[id], history.parent(of: id, in: table.id)?.folded)
            // The number of a row names another one where it refers to another table.
            let places = present.values.indices.filter { place in
                parent == nil || table.columns[place].declaredReference.map { $0.folded == parent } ?? true
            }
            // The same migration may have given the column another type.
            let place =
                places.first { UInt32(truncatingIfNeeded: present.digests[$0]) == digest }
                ?? places.first { place in
                    present.values[place].otherTypes.contains {
                        UInt32(truncatingIfNeeded: table.valueDigest.of($0)) == digest
                    }
                }
            guard digest == none || place != nil else { return true }
            var cell = record.state.cell(id)
            let value = try place.map { try shownRows.identityValue(present.values[$0], $0, in: table) }
            for index in cell.versions.indices where cell.versions[index].value == nil {
                cell.versions[index].value = digest == none ? .null : value
            }
            record.state.setCell(id, cell)
            return false
        }
    }

    /// Takes up what is known of columns of which it has been decided what they are, and which a row holds as it did when
    /// they were left alone, or holds nothing in. What it holds besides is recorded as a write, unless another one is later.
    ///
    /// - Parameters:
    ///   - decided: by column id, ascending.
    ///   - foundNew: those of them that are new.
    ///   - others: those in which rows hold what is another column's, unless a program has written it.
    ///   - emptied: those of which a row holds nothing where something was known, takes up this one.
    /// - Returns: whether the record has changed.
    private func takeUp(
        _ decided: [Int], new foundNew: Set<Int>, holdingOthers others: Set<Int>, in record: inout ClockRecord,
        _ found: (row: TableReader.Row, rowid: Int64), _ writes: UndecidedWrites?, _ reader: TableReader,
        _ emptied: inout Set<Int>
    ) throws -> Bool {
        let (table, present) = (reader.table, found.row)
        guard let identity = try record.named ?? ShownRows(store).spelledIdentity(present, in: table) else {
            return false
        }
        let place = CapturedChanges.key(in: table, rowid: found.rowid) { present.values[table.key[$0].index] }
        var isChanged = false
        for id in decided {
            guard let position = table.columns.firstIndex(where: { $0.id == id }), id >= record.digests.count else {
                continue
            }
            let (name, value) = (table.columns[position].name, present.values[position])
            let digest = UInt32(truncatingIfNeeded: present.digests[position])
            // Of a new column nothing was recorded when it was left alone.
            let heldValues = HeldValues(of: table, on: connection)
            let held =
                try foundNew.contains(id)
                ? UndecidedCells(table, in: store).first(of: table.columns[position].local, in: identity)
                : heldValues.digest(of: name, in: identity)
            let isWritten = try !foundNew.contains(id) && heldValues.isWritten(name, in: identity)
            let key = record.state.cellsByName.keys.first { $0.folded == name.folded }
            let cell = key.flatMap { record.state.cellsByName.removeValue(forKey: $0) } ?? CellState()
            let missing = store.defaultValue(of: table, position)
            let shown = !cell.isEmpty ? store.shown(cell, table.name, name) : others.contains(id) ? missing : nil
            let isDefault = value == missing
            let isAsHeld =
                writes?.sum(of: id, in: identity).map { $0 == value }
                ?? (held.map { $0 == digest } ?? (isDefault && !isWritten || value == shown)
                    || writes?.areOlder(than: cell, of: id, in: identity, at: place) ?? false)
            record.state.extend(to: id + 1)
            record.state.setCell(id, cell)
            record.digests += Array(repeating: 0, count: id + 1 - record.digests.count)
            if isAsHeld && (isDefault || !cell.isEmpty || others.contains(id)) {
                record.digests[id] = digest
                if isDefault && !cell.isEmpty && shown == nil { emptied.insert(id) }
                if let shown, shown != value {
                    // It is shown with the rows whose references are replaced.
                    record.isReplaced = true
                    store.hasReplaced = true
                }
            } else {
                // The row is recorded as having something else.
                record.digests[id] = ~digest
            }
            isChanged = true
        }
        if isChanged { record.digest = reader.digest(present.digests, columns: record.digests.count) }
        return isChanged
    }
}
