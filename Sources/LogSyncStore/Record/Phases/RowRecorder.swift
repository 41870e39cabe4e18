import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Phase `writeInsertsAndUpdates`, the general way: compares a touched row with its clock record, writes the difference
/// into the transaction, and brings the record up to date. ``BatchInsertRecorder`` and ``BatchUpdateRecorder`` leave
/// the same for simple rows.
struct RowRecorder {
    let recording: TableRecording
    let recorder: Recorder
    let table: TrackedTable
    let store: OpenStore
    let clock: ClockTable
    let reader: TableReader

    init(_ recording: TableRecording) {
        self.recording = recording
        recorder = recording.recorder
        table = recording.table
        store = recording.store
        clock = recording.clock
        reader = recording.reader
    }

    /// A row that is being recorded.
    struct Row {
        var values: TableReader.Row
        var identity: RowIdentity
        var key: RowKey
        var touched: TouchedRow

        subscript(position: Int) -> Value { values.values[position] }
    }

    func record(_ staged: TableRecording.StagedRow) throws {
        let touched = staged.touched
        guard let values = try recording.currentRow(staged.key, touched) else { return }
        let row = Row(values: values, identity: staged.identity, key: staged.key, touched: touched)
        noteFormerKey(of: row)
        if let (place, own) = try continued(row, staged.released) {
            return try update(row, at: place, own, mayBreakCheck: own.breaksCheck, isUnderOtherKey: true)
        }
        if let released = staged.released, let origin = touched.origin ?? touched.formerRecord {
            // A row that was inserted anew brings all that it has.
            return try insert(
                row, at: origin, replacing: released, carrying: touched.isReinserted ? nil : released)
        }
        let carried = touched.keyChangedFrom.flatMap { recording.carriedValues[$0] }
        guard let position = touched.origin ?? touched.formerRecord, let record = try clock.record(at: position) else {
            let rowid = table.hasRowid ? touched.rowid ?? staged.key.rowid : nil
            return try insert(row, at: rowid, replacing: nil, carrying: carried)
        }
        if touched.isReinserted, !touched.isReturned, touched.keyChangedFrom == nil, isSame(row, record) {
            // A program has saved all of its rows by deleting and inserting them: this one was not written.
            return try update(row, at: position, record, mayBreakCheck: false)
        }
        if touched.isReinserted {
            store.count(-1, record.state, row: store.rowDigest(table, row.identity), table: table)
            // Its key may have been another meanwhile.
            let carried = touched.keyChangedFrom == position ? record : carried
            return try insert(row, at: position, replacing: record, carrying: carried)
        }
        try update(row, at: position, record, mayBreakCheck: carried?.breaksCheck ?? false)
    }

    // MARK: Insert

    /// - Parameters:
    ///   - former: the record at `position`, whose entries this insert covers and whose shares of the state digest have
    ///     been taken away.
    ///   - carried: the record of the row whose key changed into this one's.
    private func insert(
        _ row: Row, at position: Int64?, replacing former: ClockRecord?, carrying carried: ClockRecord?
    ) throws {
        let transaction = try recorder.transaction()
        let hidden = try HiddenRows(store).remove(table.name, row.identity)
        let deleted = recording.tombstones[row.identity]?.stamps ?? []
        let covered = (former?.state.allStamps ?? []) + (hidden?.allStamps ?? []) + deleted
        let time = recorder.time(captured: row.touched.milliseconds, above: covered)
        let stamp = Stamp(peer: transaction.stamp.peer, sequence: transaction.stamp.sequence, time: time)

        var state = RowClock(insertedBy: stamp, in: table)
        var cells = try recorder.cells(of: row.values, row.identity, at: table.columns.indices, in: table)
        let given = carried?.state ?? hidden.flatMap { $0.isAlive && isOfMigration(row) ? $0 : nil }
        var showsCarried = try carry(given, into: &state, &cells, of: row, stamp)
        if let carried {
            for (position, value) in try unwrittenValues(table.columns.indices, of: row, carried) {
                let column = table.columns[position]
                state.setCell(column.id, CellState(versions: [Version(stamp: stamp, value: value)]))
                for index in cells.indices where cells[index].column == column.name { cells[index].value = value }
            }
        }
        if row.touched.isReturned, let hidden, !hidden.isAlive {
            showsCarried = takeUp(hidden, into: &state, &cells, of: row, stamp) || showsCarried
        }
        store.spellOutCounters(&state, shown: row.values.values, in: table)
        var record = ClockRecord(state, of: row.identity, shownAs: row.values, reader)
        if carried?.breaksCheck ?? false, let place = table.hasRowid ? row.touched.rowid ?? position : 0 {
            record.breaksCheck = try ShownRows(store).breaksCheck(row.values, at: place, in: table)
        }
        let place: Int64
        if let former, let position {
            try clock.update(record, at: position, formerUniques: former.uniques)
            if table.findsByKeyDigest { try clock.addUniques(record.uniques, row: position) }
            place = position
        } else {
            if let position { try clock.vacate(position) }
            place = try clock.insert(record, at: position)
        }
        if table.mapsKeys {
            let spelled = try reader.naturalIdentity { try recorder.translated(row[$0], $0, in: table) }
            try FoldedKeys(store: store, table: table).keep(row.identity, at: place, spelled: spelled)
        }
        store.count(1, state, row: store.rowDigest(table, row.identity), table: table)
        try transaction.append(
            table, .insert, row.identity, time: time, integer: table.localInteger == nil ? nil : position,
            cells: cells)
        transaction.notes.note(table.name, .insert, table.primaryKey(of: row.values, at: place))
        if showsCarried {
            recording.writeBacks.append(
                WriteBack(record: record, row: row.values, identity: row.identity, position: place))
        }
    }

    // MARK: Update

    private func update(
        _ row: Row, at position: Int64, _ known: ClockRecord, mayBreakCheck: Bool, isUnderOtherKey: Bool = false
    ) throws {
        let former = beforeLateFills(known)
        let digest = reader.digest(row.values.digests)
        let digests = reader.columnDigests(row.values.digests)
        // Both, because a dropped column renews the digests of rows that were changed before it went.
        lazy var uniques = table.uniques(of: row.identity) { row[$0] }
        // A record that stood beside another row, as long as nobody knew better, has the digests of that one's unique keys.
        let isItsOwn = row.touched.movedFrom == nil || table.findsByKeyDigest || uniques == former.uniques
        let converted = converted(of: row, former)
        let isSame = digest == former.digest && digests == former.digests && isItsOwn
        let references = try newReferences(of: row, former, converted: converted.all)
        let keys = formerReferences(of: row, former)
        if isSame && !row.touched.recordsReferences && references.isEmpty && keys.isEmpty { return }
        var (changed, renumbered) = try changedColumns(of: row, digest, former, besides: converted.all)
        // A migration that gives rows other keys says no more of what refers to them than was said before.
        var rekeyed = keys.filter { !changed.contains($0) }
        if !store.policies.recordsWholeRows(table.name) {
            rekeyed += try changed.filter { try restatesReference($0, of: row, former) }
        }
        changed.removeAll(where: rekeyed.contains)
        var record = former
        record.state.extend(to: table.columnCount)
        let kept = try keepKeys(rekeyed, of: row, former, in: &record)
        rekeyed.removeAll { kept.contains($0) || isSaid($0, of: row, in: &record) }
        let first = try firstValues(of: row, former, into: &record, isChanged: !changed.isEmpty)
        changed += first.changed + first.captured.keys.sorted()
        record.digests = digests
        record.digest = digest
        record.uniques = uniques
        // SQLite checked what was written here, and nothing else.
        record.breaksCheck =
            try (former.breaksCheck || mayBreakCheck)
            && ShownRows(store).breaksCheck(row.values, at: position, in: table)
        let counted = takeCounted(from: &changed, of: row, record)
        let said = references + converted.recast.filter { !references.contains($0) }
        let renewed = said.filter { !changed.contains($0) && !rekeyed.contains($0) } + rekeyed
        if !changed.isEmpty || !first.fills.isEmpty || !counted.isEmpty || !renewed.isEmpty {
            try write(
                changed, writtenAt: first.captured.merging(writtenLate(changed, of: row, former)) { own, _ in own },
                as: unwrittenValues(changed, of: row, former), fills: first.fills, counted, renewed,
                besides: renumbered, of: row,
                into: &record, at: position)
        } else if !isUnderOtherKey {
            recorder.untold.noteOtherIntegers(
                at: renumbered, key: table.primaryKey(of: row.values, at: position), in: table)
        }
        store.spellOutCounters(&record.state, shown: row.values.values, in: table)
        let showsOther = showsOther(converted, of: row, record)
        spellOut(converted, except: changed + first.fills + renewed, in: &record)
        try clock.update(
            record, at: position, formerUniques: table.findsByKeyDigest ? record.uniques : former.uniques)
        // A sum is written back, so that what floating point makes of it is no change of its own.
        if first.isKept || !kept.isEmpty || !counted.isEmpty || showsOther {
            recording.writeBacks.append(
                WriteBack(record: record, row: row.values, identity: row.identity, position: position))
        }
    }

    func differs(_ position: Int, of row: Row, _ former: ClockRecord) -> Bool {
        former.digests[table.columns[position].id] != UInt32(truncatingIfNeeded: row.values.digests[position])
    }

    /// The columns, by position, that the record knows and that hold something else now.
    ///
    /// - Parameter converted: columns that hold what they held, as another type.
    /// - Returns: beside them the columns that hold other integers and name the same rows (``namesSameRow(_:of:_:)``).
    private func changedColumns(
        of row: Row, _ digest: UInt64, _ former: ClockRecord, besides converted: Set<Int>
    ) throws -> (changed: [Int], renumbered: [Int]) {
        let known = table.columns.indices.filter { table.columns[$0].id < former.digests.count }
        let differing = known.filter { differs($0, of: row, former) }
        let renumbered = try differing.filter { try namesSameRow($0, of: row, former) }
        var changed = differing.filter { !converted.contains($0) && !renumbered.contains($0) }
        if row.touched.recordsReferences {
            // An integer may mean another row than before; what is none names what it named.
            let references = try known.filter {
                guard case .integer = row[$0], table.columns[$0].reference != nil else { return false }
                return try !former.showsNumber(row.values.values, $0, in: table) && !namesSameRow($0, of: row, former)
            }
            changed = Array(Set(changed + references)).sorted()
        } else if differing.isEmpty && digest != former.digest && former.digests.count == table.columnCount {
            // A digest of a column can meet another's by chance, of the row hardly: then everything is recorded.
            changed = Array(table.columns.indices)
        }
        guard !changed.isEmpty, store.policies.recordsWholeRows(table.name) else { return (changed, renumbered) }
        let forgotten = try recorder.forgotten.get()
        // A column that came back shows what it begins with until a program writes it.
        let whole = known.filter { position in
            differing.contains(position) || !isDefault(row[position], position)
                || !forgotten.contains(ColumnName(table.name, table.columns[position].name))
        }
        return (whole, renumbered)
    }

    /// Columns that came after a row's record: values that other peers have given to them meanwhile were kept and take
    /// their place; what a migration has put into them is a fill, which a value that is known already makes superfluous.
    private func firstValues(
        of row: Row, _ former: ClockRecord, into record: inout ClockRecord, isChanged: Bool
    ) throws -> (changed: [Int], captured: [Int: Int64], fills: [Int], isKept: Bool) {
        let isNew = (recorder.findings.newColumns[table.id] ?? []).union(recording.lateFills)
        var changed: [Int] = []
        /// What a program has written between two migrations, with the time.
        var captured: [Int: Int64] = [:]
        var fills: [Int] = []
        var isKept = false
        for (index, column) in table.columns.enumerated() where column.id >= former.digests.count {
            var shown: Value?
            var isWritten = false
            var known: Int64 = 0
            if let name = record.state.cellsByName.keys.first(where: { $0.folded == column.name.folded }),
                let cell = record.state.cellsByName.removeValue(forKey: name)
            {
                record.state.setCell(column.id, cell)
                shown = store.shown(cell, table.name, column.name)
                known = cell.stamps.map(\.time.milliseconds).max() ?? 0
                // Of a key that each peer's migration has made, the first one stays: other rows refer to it. So it does where the
                // migration has found the row as it was there, unless it is made of what other rows hold.
                isWritten =
                    try !cell.isFilled(record.state) || table.key.contains { $0.index == index }
                    || !recording.isMadeOfMore(than: cell, at: index) && !isChanged
                        && !recording.mayHaveLostEdit(row.key) && record.state.isUnchanged(since: cell, recorder)
                isKept = true
            }
            let isFilled =
                try isNew.contains(column.id) && recording.isFilledByMigration(row.touched)
                && !isWrittenSinceHeld(column, at: index, of: row)
            let own = try isFilled ? recording.edit(of: row, isChanged: isChanged, behind: index, after: known) : nil
            if isFilled && own == nil { recorder.fills.note(row[index], of: column.id, in: table) }
            let isNone =
                try (shown != nil || own != nil) && recording.isMovedElsewhere(row, in: index, at: own)
            let isBegun =
                try isDefault(row[index], index) && !isNone
                && !(isNew.contains(column.id) && recording.isSetBack(row.key, row.touched, in: index))
            guard row[index] != shown && !isBegun else { continue }
            if isFilled { recording.filled.insert(column.id) }
            if let own {
                captured[index] = own
            } else if isFilled {
                if !isWritten { fills.append(index) }
            } else {
                changed.append(index)
            }
        }
        return (changed, captured, fills, isKept)
    }

    /// A record as if columns that a statement fills now had just come; as it is where this store's programs have written to
    /// the row's by then, or where it is not known any more what rows have shown there.
    private func beforeLateFills(_ record: ClockRecord) -> ClockRecord {
        guard let first = recording.lateFills.min(), first < record.digests.count,
            recording.lateFills.isSuperset(of: first..<record.digests.count)
        else { return record }
        let cells = (first..<record.digests.count).map { (id: $0, cell: record.state.cell($0)) }
        let areKept = cells.allSatisfy { _, cell in
            cell.additions.isEmpty
                && cell.versions.allSatisfy {
                    $0.value != nil && ($0.stamp.peer != store.own || $0.stamp.time == .zero)
                }
        }
        guard areKept else { return record }
        var record = record
        for (id, cell) in cells {
            record.state.setCell(id, CellState())
            if !cell.isEmpty { record.state.cellsByName[table.columnNames[id]] = cell }
        }
        record.digests.removeLast(cells.count)
        return record
    }

    /// - Parameters:
    ///   - times: when changed columns, by position, were written, where that is another time than the row's.
    ///   - unwritten: what columns say, by position, that are recorded with the others, where the row shows something else.
    ///   - renewed: the columns, by position, that say the same in other terms: they are recorded at the time of what they showed.
    ///   - renumbered: the columns, by position, of which only this store's programs hear.
    private func write(
        _ changed: [Int], writtenAt times: [Int: Int64] = [:], as unwritten: [Int: Value] = [:], fills: [Int],
        _ counted: [CountedCell], _ renewed: [Int],
        besides renumbered: [Int], of row: Row, into record: inout ClockRecord, at position: Int64
    ) throws {
        if !renewed.isEmpty && changed.isEmpty && fills.isEmpty && counted.isEmpty {
            // Nothing else has a time to say.
            var row = row
            row.touched.milliseconds = 0
            return try write(renewed, fills: [], [], [], besides: renumbered, of: row, into: &record, at: position)
        }
        let transaction = try recorder.transaction()
        let rowDigest = store.rowDigest(table, row.identity)
        let former = changed.map { record.state.cell(table.columns[$0].id) }
        let time = recorder.time(
            captured: row.touched.milliseconds,
            above: former.flatMap(\.stamps) + counted.flatMap { [$0.former?.stamp, $0.base].compactMap(\.self) })
        let stamp = Stamp(peer: transaction.stamp.peer, sequence: transaction.stamp.sequence, time: time)
        let added = add(counted, stamp, to: &record, row: rowDigest)
        let isOfOther = table.isOfOtherKey(row.identity, record.state.cellsByName)
        for (index, cell) in zip(changed, former) {
            let id = table.columns[index].id
            let time = times[index].map { recorder.time(captured: $0, above: cell.stamps) } ?? time
            let stamp = Stamp(peer: stamp.peer, sequence: stamp.sequence, time: time)
            store.count(-1, cell, row: rowDigest, column: table.columnDigests[id])
            store.count(1, row: rowDigest, column: table.columnDigests[id], stamp)
            let said = try isOfOther ? recorder.translated(row[index], index, in: table) : nil
            record.state.setCell(id, CellState(versions: [Version(stamp: stamp, value: unwritten[index] ?? said)]))
        }
        var written = try recorder.cells(of: row.values, row.identity, at: changed, in: table)
        for (index, position) in changed.enumerated() {
            written[index].value = unwritten[position] ?? written[index].value
        }
        for (index, position) in changed.enumerated() where times[position] != nil {
            written[index].time = record.state.cell(table.columns[position].id).stamps.first?.time
        }
        var filled = try recorder.cells(of: row.values, row.identity, at: fills, in: table)
        for (index, position) in fills.enumerated() {
            let id = table.columns[position].id
            let stamp = Stamp(peer: stamp.peer, sequence: stamp.sequence, time: .zero)
            let former = record.state.cell(id)
            // Of two fills the one that has seen the other counts: it takes its place, at the same time.
            filled[index].operation = former.versions.isEmpty ? .fill : .set
            filled[index].time = former.versions.isEmpty ? nil : .zero
            store.count(-1, former, row: rowDigest, column: table.columnDigests[id])
            record.state.setCell(id, CellState(versions: [Version(stamp: stamp, value: filled[index].value)]))
            store.count(1, row: rowDigest, column: table.columnDigests[id], stamp)
        }
        var references = try recorder.cells(of: row.values, row.identity, at: renewed, in: table)
        for (index, position) in renewed.enumerated() {
            let id = table.columns[position].id
            let former = record.state.cell(id)
            let time = recorder.time(captured: 0, above: former.stamps)
            let stamp = Stamp(peer: stamp.peer, sequence: stamp.sequence, time: time)
            references[index].time = time
            store.count(-1, former, row: rowDigest, column: table.columnDigests[id])
            store.count(1, row: rowDigest, column: table.columnDigests[id], stamp)
            record.state.setCell(id, CellState(versions: [Version(stamp: stamp, value: nil)]))
        }
        try transaction.append(
            table, .update, row.identity, time: time, integer: table.localInteger == nil ? nil : position,
            cells: written + filled + added + references)
        var positions = changed + fills + counted.map(\.position) + renewed
        positions += renumbered.filter { !positions.contains($0) }
        transaction.notes.note(
            table.name, .update, table.primaryKey(of: row.values, at: position),
            columns: positions.map { table.columns[$0].local })
    }
}
