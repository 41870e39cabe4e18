import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The comparison of touched rows with their clock records: what differs is recorded.
extension Recorder {
    /// Finds out which identities a table's touched rows have, and records the deletion of those that nobody has now.
    func renounce(_ table: TrackedTable) throws {
        guard let places = events[table.id]?.places(), let events = events[table.id] else { return }
        let reader = TableReader(table: table, store: store)
        var rows: [StagedRow] = []
        for place in places {
            guard let life = events.lives[place], let row = try currentRow(place, life, reader: reader) else {
                continue
            }
            let identity =
                try life.identity ?? reader.naturalIdentity { try translated(row.values[$0], $0, in: table) }
            guard let identity else { continue }
            rows.append(
                StagedRow(
                    place: place, life: life, identity: identity, renamed: try renounce(identity, life, in: table)))
        }
        staged[table.id] = rows
        let staying = Set(rows.map(\.identity))
        for (identity, gone) in (buried[table.id] ?? [:]).sorted(by: { $0.key < $1.key })
        where !staying.contains(identity) {
            let time = raised(gone.milliseconds, above: gone.stamps)
            try transaction().append(table, .delete, identity, time: time, integer: nil, cells: [])
            // What was folded into it goes with it, but for what comes back at once.
            for row in try HiddenRows(store).folded(into: identity, in: table)
            where !staying.contains(row.identity) {
                let time = raised(gone.milliseconds, above: row.clock.allStamps)
                try transaction().append(table, .delete, row.identity, time: time, integer: nil, cells: [])
                _ = try HiddenRows(store).remove(row.table, row.identity)
            }
        }
    }

    func compare(_ table: TrackedTable) throws {
        let reader = TableReader(table: table, store: store)
        for staged in staged[table.id] ?? [] {
            guard let row = try currentRow(staged.place, staged.life, reader: reader) else { continue }
            try compare(row, staged.identity, staged.life, staged.place, renamed: staged.renamed, reader: reader)
        }
        staged[table.id] = nil
        buried[table.id] = nil
        try flushGroups()
    }

    /// A row whose key, or whose key's parent, is another now goes away under its former identity. All of a table's do
    /// before any row takes a new one, because one may take what another had.
    private func renounce(_ identity: RowIdentity, _ life: TouchedRow, in table: TrackedTable) throws -> ClockRecord? {
        let clock = ClockTable(table: table, connection: connection)
        guard table.storesIdentity, let origin = life.origin, let record = try clock.record(at: origin),
            let former = record.identity, former != identity
        else { return nil }
        bury(former, record, milliseconds: life.milliseconds, in: table)
        try connection.run("UPDATE \(table.clock) SET identity = NULL WHERE row = ?", .integer(origin))
        return record
    }

    private func currentRow(_ place: RowKey, _ life: TouchedRow, reader: TableReader) throws -> TableReader.Row? {
        if reader.table.hasRowid, let rowid = life.rowid ?? place.rowid { return try reader.row(at: rowid) }
        return try reader.row(withKey: place.keyValues)
    }

    private func compare(
        _ row: TableReader.Row, _ identity: RowIdentity, _ life: TouchedRow, _ place: RowKey, renamed: ClockRecord?,
        reader: TableReader
    ) throws {
        let table = reader.table
        let clock = ClockTable(table: table, connection: connection)
        let rowid = table.hasRowid ? life.rowid ?? place.rowid : nil
        if let renamed, let origin = life.origin {
            return try insert(
                row, identity, life, at: origin, replacing: renamed, renamed, reader: reader)
        }
        let legacy = life.renamedFrom.flatMap { legacies[table.id]?[$0] }
        guard let position = life.origin ?? life.former, let record = try clock.record(at: position) else {
            return try insert(row, identity, life, at: rowid, replacing: nil, legacy, reader: reader)
        }
        if life.restarted {
            store.count(-1, record.state, row: store.rowDigest(table, identity), table: table)
            // Its key may have been another meanwhile.
            let taken = life.renamedFrom == position ? record : legacy
            return try insert(row, identity, life, at: position, replacing: record, taken, reader: reader)
        }
        try update(
            row, identity, life, at: position, record, mayBreakCheck: legacy?.breaksCheck ?? false, reader: reader)
    }

    // MARK: Insert

    /// - Parameters:
    ///   - former: the record at `position`, whose entries this insert covers and whose shares of the state digest have
    ///     been taken away.
    ///   - legacy: the record of the row whose key changed into this one's.
    private func insert(
        _ row: TableReader.Row, _ identity: RowIdentity, _ life: TouchedRow, at position: Int64?,
        replacing former: ClockRecord?, _ legacy: ClockRecord?, reader: TableReader
    ) throws {
        let table = reader.table
        let transaction = try transaction()
        let kept = try HiddenRows(store).remove(table.name, identity)
        let gone = buried[table.id]?[identity]?.stamps ?? []
        let covered = (former?.state.allStamps ?? []) + (kept?.allStamps ?? []) + gone
        let time = raised(life.milliseconds, above: covered)
        let stamp = Stamp(peer: transaction.stamp.peer, sequence: transaction.stamp.sequence, time: time)

        var state = RowClock(insertedBy: stamp, columnCount: table.columnCount)
        for column in table.droppedColumns { state.setCell(column, CellState()) }
        var cells = try cells(of: row, identity, at: table.columns.indices, in: table)
        var isKept = false
        for (name, cell) in (legacy?.state.cellsByName ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let value = cell.versions.max(by: { precedes($0.stamp, $1.stamp) })?.value else { continue }
            if let position = table.positions[name.lowercased()] {
                // Its column has come meanwhile. What the program has written to that comes first.
                guard isDefault(row.values[position], position, in: table) else { continue }
                let column = table.columns[position]
                state.setCell(column.id, CellState(versions: [Version(stamp: stamp, value: value)]))
                for index in cells.indices where cells[index].column == column.name { cells[index].value = value }
                isKept = true
                continue
            }
            state.cellsByName[name] = CellState(versions: [Version(stamp: stamp, value: value)])
            cells.append(TransactionWriter.Cell(column: name, value: value))
        }
        store.spellOutCounters(&state, shown: row.values, in: table)
        var record = ClockRecord(state, of: identity, shownAs: row, reader)
        if legacy?.breaksCheck ?? false, let place = table.hasRowid ? life.rowid ?? position : 0 {
            record.breaksCheck = try ShownRows(store).breaksCheck(row, at: place, in: table)
        }
        let clock = ClockTable(table: table, connection: connection)
        let place: Int64
        if let former, let position {
            try clock.update(record, at: position, formerUniques: former.uniques)
            if table.findsByKeyDigest { try clock.addUniques(record.uniques, row: position) }
            place = position
        } else {
            if let position { try clock.vacate(position) }
            place = try clock.insert(record, at: position)
        }
        store.count(1, state, row: store.rowDigest(table, identity), table: table)
        try transaction.append(
            table, .insert, identity, time: time, integer: table.localInteger == nil ? nil : position, cells: cells)
        if isKept { showing.append { try self.show(record, row, identity, at: place, in: table) } }
    }

    // MARK: Update

    private func update(
        _ row: TableReader.Row, _ identity: RowIdentity, _ life: TouchedRow, at position: Int64, _ former: ClockRecord,
        mayBreakCheck: Bool, reader: TableReader
    ) throws {
        let table = reader.table
        let digest = reader.digest(row.digests)
        let digests = reader.columnDigests(row.digests)
        // Both, because a dropped column renews the digests of rows that were changed before it went.
        if digest == former.digest && digests == former.digests && !life.isForced { return }
        let known = table.columns.indices.filter { table.columns[$0].id < former.digests.count }
        var changed = known.filter { index in
            let id = table.columns[index].id
            return former.digests[id] != UInt32(truncatingIfNeeded: row.digests[index])
        }
        // A digest of a column can meet another's by chance, of the row hardly: then everything is recorded.
        if life.isForced {
            changed = Array(Set(changed + known.filter { table.columns[$0].reference != nil })).sorted()
        } else if changed.isEmpty && digest != former.digest && former.digests.count == table.columnCount {
            changed = Array(table.columns.indices)
        }
        if !changed.isEmpty && store.policies.recordsWholeRows(table.name) { changed = known }
        var record = former
        record.state.extend(to: table.columnCount)
        let first = firstValues(of: row, former, into: &record, in: table)
        changed += first.changed
        record.digests = digests
        record.digest = digest
        record.uniques = table.uniques(of: identity) { row.values[$0] }
        // SQLite checked what was written here, and nothing else.
        record.breaksCheck =
            try (former.breaksCheck || mayBreakCheck) && ShownRows(store).breaksCheck(row, at: position, in: table)
        let counted = count(&changed, of: row, record, in: table)
        if !changed.isEmpty || !first.fills.isEmpty || !counted.isEmpty {
            try write(
                changed, first.fills, counted, of: row, identity, life, into: &record, at: position, in: table)
        }
        store.spellOutCounters(&record.state, shown: row.values, in: table)
        try ClockTable(table: table, connection: connection)
            .update(record, at: position, formerUniques: table.findsByKeyDigest ? record.uniques : former.uniques)
        // A sum is written back, so that what floating point makes of it is no change of its own.
        if first.isKept || !counted.isEmpty {
            let record = record
            showing.append { try self.show(record, row, identity, at: position, in: table) }
        }
    }

    /// Columns that came after a row's record: what others wrote to them meanwhile has been kept and takes its place;
    /// what is found in them when they first appear is a fill, later it is a change.
    private func firstValues(
        of row: TableReader.Row, _ former: ClockRecord, into record: inout ClockRecord, in table: TrackedTable
    ) -> (changed: [Int], fills: [Int], isKept: Bool) {
        var changed: [Int] = []
        var fills: [Int] = []
        var isKept = false
        for (index, column) in table.columns.enumerated() where column.id >= former.digests.count {
            var shown: Value?
            if let name = record.state.cellsByName.keys.first(where: { $0.lowercased() == column.name.lowercased() }),
                let cell = record.state.cellsByName.removeValue(forKey: name)
            {
                record.state.setCell(column.id, cell)
                shown = store.shown(cell, table.name, column.name)
                isKept = true
            }
            guard row.values[index] != shown && !isDefault(row.values[index], index, in: table) else { continue }
            if store.newColumns[table.id]?.contains(column.id) ?? false {
                fills.append(index)
            } else {
                changed.append(index)
            }
        }
        return (changed, fills, isKept)
    }

    /// Takes out of the changed columns those that were counted up or down.
    private func count(
        _ changed: inout [Int], of row: TableReader.Row, _ record: ClockRecord, in table: TrackedTable
    ) -> [Counted] {
        let counters = store.counters(of: table)
        guard !counters.isEmpty else { return [] }
        var counted: [Counted] = []
        changed.removeAll { position in
            guard counters.contains(position) else { return false }
            let cell = record.state.cell(table.columns[position].id)
            guard cell.versions.allSatisfy({ $0.value != nil }),
                let base = cell.versions.map(\.stamp).max(by: store.precedes),
                let shown = store.shown(cell, table.name, table.columns[position].name),
                let amount = Counter.difference(from: shown, to: row.values[position])
            else { return false }
            let own = cell.additions.first {
                $0.basePeer == base.peer && $0.baseSequence == base.sequence && $0.peer == store.own
            }
            guard let cumulative = own.map({ Counter.add($0.cumulative, amount) }) ?? amount else { return false }
            if !Counter.isZero(amount) {
                counted.append(Counted(position: position, base: base, former: own, cumulative: cumulative))
            }
            return true
        }
        return counted
    }

    /// Lets the table show what the record's versions say. The connection may be a program's, whose triggers would take it
    /// for the program's doing.
    private func show(
        _ record: ClockRecord, _ row: TableReader.Row, _ identity: RowIdentity, at position: Int64,
        in table: TrackedTable
    ) throws {
        let shownRows = ShownRows(store)
        let full = try shownRows.expand(record, row, identity, at: position, in: table)
        try connection.withoutTriggers {
            if try shownRows.updateUncontested(full, from: record, row, at: position, in: table) { return }
            // Whether it stands is to be decided yet, with the rows whose references are replaced. Until then it stays:
            // the connection may be a program's, where its children would go with it and nobody would record that.
            var undecided = record
            undecided.isReplaced = true
            store.hasReplaced = true
            try ClockTable(table: table, connection: connection)
                .update(undecided, at: position, formerUniques: record.uniques)
            try store.facts.set(StoreFacts.unsettled, .integer(1))
        }
    }

    private func write(
        _ changed: [Int], _ fills: [Int], _ counted: [Counted], of row: TableReader.Row, _ identity: RowIdentity,
        _ life: TouchedRow, into record: inout ClockRecord, at position: Int64, in table: TrackedTable
    ) throws {
        let transaction = try transaction()
        let rowDigest = store.rowDigest(table, identity)
        let former = changed.map { record.state.cell(table.columns[$0].id) }
        let time = raised(
            life.milliseconds,
            above: former.flatMap(\.stamps) + counted.flatMap { [$0.former?.stamp, $0.base].compactMap(\.self) })
        let stamp = Stamp(peer: transaction.stamp.peer, sequence: transaction.stamp.sequence, time: time)
        let added = add(counted, stamp, to: &record, row: rowDigest, in: table)
        for (index, cell) in zip(changed, former) {
            let id = table.columns[index].id
            store.count(-1, cell, row: rowDigest, column: table.columnDigests[id])
            store.count(1, row: rowDigest, column: table.columnDigests[id], stamp)
            record.state.setCell(id, CellState(versions: [Version(stamp: stamp, value: nil)]))
        }
        var filled = try self.cells(of: row, identity, at: fills, in: table)
        for (index, position) in fills.enumerated() {
            let id = table.columns[position].id
            let stamp = Stamp(peer: stamp.peer, sequence: stamp.sequence, time: .zero)
            var cell = record.state.cell(id)
            cell.versions.append(Version(stamp: stamp, value: filled[index].value))
            record.state.setCell(id, cell)
            store.count(1, row: rowDigest, column: table.columnDigests[id], stamp)
            filled[index].operation = .fill
        }
        try transaction.append(
            table, .update, identity, time: time, integer: table.localInteger == nil ? nil : position,
            cells: try cells(of: row, identity, at: changed, in: table) + filled + added)
    }

    /// Puts what was counted into the record, and gives the cells that say so.
    private func add(
        _ counted: [Counted], _ stamp: Stamp, to record: inout ClockRecord, row: UInt64, in table: TrackedTable
    ) -> [TransactionWriter.Cell] {
        counted.map { counted in
            let column = table.columns[counted.position]
            var cell = record.state.cell(column.id)
            if let former = counted.former {
                store.count(-1, row: row, column: table.columnDigests[column.id], former.stamp)
                cell.additions.removeAll { $0 == former }
            }
            store.count(1, row: row, column: table.columnDigests[column.id], stamp)
            cell.additions.append(
                Addition(
                    basePeer: counted.base.peer, baseSequence: counted.base.sequence, peer: stamp.peer, stamp: stamp,
                    cumulative: counted.cumulative))
            record.state.setCell(column.id, cell)
            return TransactionWriter.Cell(
                column: column.name, operation: .add, value: counted.cumulative,
                base: Dot(store.peers.id(counted.base.peer), counted.base.sequence))
        }
    }

    // MARK: Helpers

    /// A row's cells as the log has them.
    ///
    /// - Parameter leavesOutKey: whether a key column is left out whose spelling is the identity's.
    func cells(
        of row: TableReader.Row, _ identity: RowIdentity, at positions: some Sequence<Int>,
        leavesOutKey: Bool = false, in table: TrackedTable
    ) throws -> [TransactionWriter.Cell] {
        let parts = leavesOutKey ? identity.naturalParts ?? [] : []
        var cells: [TransactionWriter.Cell] = []
        for position in positions {
            let value = try translated(row.values[position], position, in: table)
            if let part = table.key.firstIndex(where: { $0.index == position }), parts.indices.contains(part),
                parts[part].value == value
            {
                continue
            }
            let column = table.columns[position]
            cells.append(TransactionWriter.Cell(column: column.name, reference: column.reference, value: value))
        }
        return cells
    }

    private func isDefault(_ value: Value, _ position: Int, in table: TrackedTable) -> Bool {
        value == store.defaultValue(of: table, position)
    }

    func precedes(_ a: Stamp, _ b: Stamp) -> Bool {
        (a.time, store.peers.id(a.peer), a.sequence) < (b.time, store.peers.id(b.peer), b.sequence)
    }
}

/// A counter that was counted up or down.
private struct Counted {
    var position: Int
    var base: Stamp
    var former: Addition?
    var cumulative: Value
}

/// A touched row that is there, with the identity it has now.
struct StagedRow {
    var place: RowKey
    var life: TouchedRow
    var identity: RowIdentity
    /// Its record under another identity, which it gave up.
    var renamed: ClockRecord?
}

extension RowClock {
    /// Makes the base speak of more columns: those that it did not know have no entries.
    mutating func extend(to count: Int) {
        guard columnCount < count, base != nil else { return }
        for column in columnCount..<count where cells[column] == nil { cells[column] = CellState() }
        columnCount = count
    }
}
