import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Merges the change of one row (Documentation/model.md, replicated state).
///
/// The general way spells the row out with all its entries (``RowState``) wherever it is, changes it as the model's table says,
/// and puts it where it belongs. A change whose author had seen every entry that it touches goes a short way instead, which
/// gives the same: an insert of a row that is not here, an update of some cells, a delete.
struct RowMerge {
    let row: IncomingRow
    let transaction: TransactionMerge

    var store: OpenStore { transaction.store }
    var connection: Connection { store.connection }
    var shownRows: ShownRows { transaction.shownRows }
    var coverage: Coverage { transaction.coverage }
    var notes: ChangeNotes { transaction.notes }
    var identity: RowIdentity { row.identity }
    var stamp: Stamp { row.stamp }

    /// Where a row is before a transaction changes it.
    private enum Whereabouts {
        /// In its table.
        case shown(RowState, ClockRecord, TableReader.Row?, position: Int64)
        /// Beside its table: parked, deleted with edits left, or of a table that is not here.
        case hidden(HiddenRows.Row)
        /// Beside its table since a change before this one in the same transaction.
        case undecided(UndecidedRow)
        case nowhere
    }

    /// - Parameter mayDefer: whether a row that refers to one that is not here is left alone: then false is returned.
    /// - Throws: ``RowGone`` where the row's record stands without its row, so that a deletion here has to be recorded first.
    func apply(mayDefer: Bool) throws -> Bool {
        guard let table = row.table else {
            try change(hiddenOrNowhere(), nil)
            return true
        }
        if mayDefer, row.target.hasReferences || table.keyHasReference, try refersToMissing(table) { return false }
        let isBound = try row.group.kind == .delete || satisfiesRules(table)
        if !isBound, mayDefer { return false }
        if let undecided = transaction.takeUndecided(identity, in: table) {
            try change(.undecided(undecided), table)
            return true
        }
        guard let position = try shownRows.locate(identity, in: table) else {
            try applyToAbsent(table, isBound: isBound)
            return true
        }
        guard let record = try ClockTable(table: table, connection: connection).record(at: position) else {
            throw LogSyncError(
                .invalidStore, "a row of \(table.name) has no clock record; nothing was imported",
                help: "Run `logsync rescan` on the store.")
        }
        if isBound, try applyDirectly(table, record, at: position) { return true }
        let present = try shownRows.currentRow(identity, at: position, in: table)
        if present == nil, table.hasRowid { throw RowGone(table: table.name, identity: identity) }
        let full = try shownRows.expand(record, present, identity, at: position, in: table)
        try change(.shown(full, record, present, position: position), table)
        return true
    }

    private func hiddenOrNowhere() throws -> Whereabouts {
        try HiddenRows(store).row(row.tableName, identity).map { .hidden($0) } ?? .nowhere
    }

    private func applyToAbsent(_ table: TrackedTable, isBound: Bool) throws {
        let whereabouts = try hiddenOrNowhere()
        if case .hidden = whereabouts { return try change(whereabouts, table) }
        if row.group.kind != .insert { try RowGone.check(identity, in: table, store) }
        switch row.group.kind {
        case .insert: try isBound ? insertNew(table) : addUndecided(inserted(), in: table)
        case .update: try change(.nowhere, table)
        // Nothing of the row is here, and nothing is to be: a delete leaves no entry.
        case .delete: return
        }
    }

    // MARK: Rows that this one depends on

    private func refersToMissing(_ table: TrackedTable) throws -> Bool {
        for (place, column) in row.group.columns.enumerated() {
            guard let name = row.target.references[place] else { continue }
            let (value, position) = (column.values[row.index], row.target.positions[place])
            if try !shownRows.isHere(value, name, at: position, in: table) { return true }
        }
        guard table.keyHasReference else { return false }
        return try shownRows.localKey(identity, in: table) == nil
    }

    /// Whether every row that this one will depend on is shown already.
    private func satisfiesRules(_ table: TrackedTable) throws -> Bool {
        guard !store.referenceRules.of(table).isEmpty else { return true }
        let isInsert = row.group.kind == .insert
        let satisfied = try Neighbours(store, shownRows: shownRows).satisfiesRules(table) { position in
            if let column = row.target.positions.firstIndex(of: position) {
                return try shownRows.meant(row.group.columns[column].values[row.index], at: position, in: table)
            }
            guard isInsert else { return nil }
            let value = row.keyPart(at: position, in: table)?.value ?? store.defaultValue(of: table, position)
            return try shownRows.meant(value, at: position, in: table)
        }
        // What cannot be told from this change alone is told when the row is spelled out: another column of the same key
        // may have come from elsewhere.
        return satisfied ?? false
    }

    // MARK: The general way

    private func change(_ whereabouts: Whereabouts, _ table: TrackedTable?) throws {
        let former = try takeOut(whereabouts)
        var full = former ?? RowState(table: row.tableName, identity: identity, integer: row.integer)
        try operate(on: &full)
        store.countFull(1, full)
        if let table { try OtherKeys(of: table, in: store)?.note(full.state, of: identity) }
        guard let table, try !full.isAlive || !isLeft(whereabouts, full) else {
            notes.note(row.tableName, row.group.kind)
            if full.isAlive || full.hasCells { try hide(full, .unknownTable) }
            if table == nil && !full.isAlive { try AbsentTombstones(store).note(identity, of: row.tableName) }
            return
        }
        if full.isAlive {
            try show(full, whereabouts, in: table)
        } else {
            try delete(full, formerly: former, whereabouts, in: table)
        }
    }

    private func isLeft(_ whereabouts: Whereabouts, _ full: RowState) throws -> Bool {
        if case .hidden(let hidden) = whereabouts { try DroppedRows(store).isWaiting(hidden, full) } else { false }
    }

    /// The row as it was, with its shares of the state digest taken away; nil where nothing of it was here.
    private func takeOut(_ whereabouts: Whereabouts) throws -> RowState? {
        switch whereabouts {
        case .shown(let full, _, _, _):
            store.countFull(-1, full)
            return full
        case .undecided(let undecided):
            store.countFull(-1, undecided.full)
            return undecided.full
        case .hidden(let hidden):
            _ = try HiddenRows(store).remove(hidden.table, hidden.identity)
            return RowState(
                table: row.tableName, identity: identity, state: hidden.clock, integer: hidden.integer ?? row.integer)
        case .nowhere: return nil
        }
    }

    private func operate(on full: inout RowState) throws {
        if row.isRepetition(of: full) { throw row.target.repetition ?? transaction.repeatedRow(in: row.group.table) }
        switch row.group.kind {
        case .insert: full.insert(stamp, cells: row.cells(key: KeyNames(store).key(of: row.group.table)), coverage)
        case .delete: full.delete(stamp, coverage)
        case .update:
            for column in row.group.columns {
                let (name, value) = (row.name(of: column), column.values[row.index])
                let own = Stamp(peer: stamp.peer, sequence: stamp.sequence, time: row.time(of: column))
                switch column.operation {
                case .set: full.set(name, value, own, coverage)
                case .fill: full.fill(name, value, own)
                case .add:
                    let base = try AmountBase(transaction).place(of: column.bases[row.index])
                    full.add(
                        name,
                        Addition(
                            basePeer: base.number, baseSequence: base.sequence, peer: stamp.peer, stamp: own,
                            cumulative: value),
                        replacing: store.peers.branches.ancestors(of: stamp.peer))
                }
            }
        }
    }

    /// Shows a living row where nothing contests it; else it is undecided.
    private func show(_ full: RowState, _ whereabouts: Whereabouts, in table: TrackedTable) throws {
        switch whereabouts {
        case .shown(_, let record, let former, let position):
            notes.note(table.name, .update, former.map { table.primaryKey(of: $0, at: position) }, columns: row.names)
            if try shownRows.updateUncontested(full, from: record, former, at: position, in: table) {
                if let former, try isNamedOtherwise(than: former, at: position, in: table) {
                    transaction.noteFormer(former, at: position, in: table)
                }
                return
            }
            try shownRows.hide(full, at: position, uniques: record.uniques, in: table)
            let formerRow = former.map { FormerRow(table: table, integer: position, values: $0.values) }
            transaction.undecided.append(UndecidedRow(full: full, former: formerRow))
        case .undecided(let undecided):
            notes.note(table.name, row.group.kind)
            if try shownRows.showUncontested(full, in: table) {
                if undecided.former == nil, let key = try shownRows.primaryKey(of: identity, in: table) {
                    notes.noteKey(table.name, .insert, key)
                }
            } else {
                transaction.undecided.append(UndecidedRow(full: full, former: undecided.former))
            }
        case .hidden(let hidden) where hidden.state == .parked:
            if try shownRows.showUncontested(full, in: table) {
                notes.note(table.name, .insert, try shownRows.primaryKey(of: identity, in: table))
            } else {
                transaction.undecided.append(UndecidedRow(full: full, isCounted: false))
            }
        case .hidden, .nowhere:
            if try shownRows.showUncontested(full, in: table) {
                notes.note(table.name, .insert, try shownRows.primaryKey(of: identity, in: table))
            } else {
                notes.note(table.name, .insert)
                transaction.undecided.append(UndecidedRow(full: full))
            }
        }
    }

    /// Whether a row that is shown holds something else by now in a column by which other rows name it.
    private func isNamedOtherwise(
        than former: TableReader.Row, at position: Int64, in table: TrackedTable
    ) throws -> Bool {
        let columns = Set(store.referenceRules.to(table).flatMap(\.parentColumns)).filter { $0 >= 0 }
        guard !columns.isEmpty else { return false }
        let present = try shownRows.currentRow(identity, at: position, in: table)
        return columns.contains { present?.values[$0] != former.values[$0] }
    }

    /// Takes a row out that no insert keeps alive; edits that the delete had not seen are kept, or bring it back.
    private func delete(
        _ full: RowState, formerly former: RowState?, _ whereabouts: Whereabouts, in table: TrackedTable
    ) throws {
        guard case .shown(_, let record, let present, let position) = whereabouts else {
            notes.note(table.name, row.group.kind)
            if case .undecided(let undecided) = whereabouts, let formerRow = undecided.former {
                transaction.formerRows.append(formerRow)
            }
            if full.hasCells { try keepEdits(full, formerly: former, in: table) }
            return
        }
        try shownRows.hide(full, at: position, uniques: record.uniques, in: table)
        let comesBack = try full.hasCells && keepEdits(full, formerly: former, in: table)
        // A row that comes back keeps its integer, and rows that refer to it keep what they mean.
        if !comesBack, let integer = full.integer {
            try IdentityMap(store: store).release(integer, in: table)
            transaction.dangling.note(integer, identity, in: table)
            shownRows.integers.free(integer, of: identity, in: table)
        }
        transaction.noteFormer(present, at: position, in: table)
        try notes.noteDelete(of: present, at: position, in: table, store)
    }

    /// Keeps the edits that a delete took, or remembers the row where this peer brings it back: then returns true.
    @discardableResult
    private func keepEdits(_ full: RowState, formerly former: RowState?, in table: TrackedTable) throws -> Bool {
        guard let former, former.isAlive, store.policies.reinsertsEdits(table.name), full.hasEdits(of: store.own) else {
            try hide(full, .dead)
            return false
        }
        transaction.overridden.append(OverriddenRow(table: table, full: full, former: former))
        return true
    }

    private func hide(_ full: RowState, _ state: HiddenRows.State) throws {
        try HiddenRows(store).put(
            HiddenRows.Row(
                table: full.table, identity: full.identity, state: state, clock: full.state, integer: full.integer))
    }

    // MARK: New rows

    /// The row as this insert makes it where nothing of it is here.
    private func inserted() -> RowState {
        var full = RowState(table: row.tableName, identity: identity, integer: row.integer)
        full.insert(stamp, cells: row.cells(key: KeyNames(store).key(of: row.group.table)), coverage)
        return full
    }

    /// A new row that cannot be shown before the others of its transaction are here.
    private func addUndecided(_ full: RowState, in table: TrackedTable) {
        store.countFull(1, full)
        notes.note(table.name, .insert)
        transaction.undecided.append(UndecidedRow(full: full))
    }

    /// Inserts a row of which nothing is here. Its record is its base where every column has a value of this insert.
    private func insertNew(_ table: TrackedTable) throws {
        guard row.target.isComplete, row.target.hasParents(in: store.catalog), try !row.hasOtherReferences(shownRows),
            row.group.columns.allSatisfy({ $0.times.isEmpty && $0.operation == .set }),
            try !shownRows.isPromisedNoOwnInteger(identity, in: table), !table.isOfOtherKey(identity)
        else { return try change(.nowhere, table) }
        let values = try values(table)
        guard let written = try shownRows.insert(values, identity, integer: row.integer, in: table) else {
            return addUndecided(inserted(), in: table)
        }
        let present = try readBack(values, at: written.rowid, in: table)
        var state = RowClock(insertedBy: stamp, in: table)
        for (position, given) in values.enumerated() where given != present.values[position] {
            guard !row.target.keepsValues else { break }
            let value = try shownRows.identityValue(given ?? .null, position, in: table)
            state.setCell(table.columns[position].id, CellState(versions: [Version(stamp: stamp, value: value)]))
        }
        store.spellOutCounters(&state, shown: present.values, in: table)
        var record = ClockRecord(state, of: identity, shownAs: present, shownRows.reader(table))
        record.breaksCheck = written.breaksCheck
        let place = try ClockTable(table: table, connection: connection).insert(record, at: written.rowid)
        try shownRows.redeemReservation(written.rowid, in: table)
        try shownRows.keepKey(identity, given: { row.value(at: $0, in: table) }, shownAs: present, at: place, in: table)
        store.count(1, state, row: store.rowDigest(table, identity), table: table)
        notes.note(table.name, .insert, table.primaryKey(of: present, at: written.rowid))
    }

    /// The row's values by column position, as this store has them.
    private func values(_ table: TrackedTable) throws -> [Value?] {
        var values = [Value?](repeating: nil, count: table.columns.count)
        for (column, position) in zip(row.group.columns, row.target.positions) {
            guard let position else { continue }
            values[position] = try shownRows.localOrReserved(
                column.values[row.index], row.target.reference(of: column, at: position))
        }
        for key in table.key where values[key.index] == nil {
            guard let part = row.keyPart(at: key.index, in: table) else { continue }
            values[key.index] = try shownRows.localOrReserved(part.value, table.columns[key.index].reference)
        }
        return values
    }

    /// The row as the table returns it; as it was given where this store's columns take every value as it is.
    private func readBack(_ values: [Value?], at rowid: Int64?, in table: TrackedTable) throws -> TableReader.Row {
        if !row.target.keepsValues {
            let reader = shownRows.reader(table)
            let back =
                try rowid.map { try reader.row(at: $0) }
                ?? reader.row(withKey: table.key.map { values[$0.index] ?? store.defaultValue(of: table, $0.index) })
            if let back { return back }
        }
        return TableReader.Row(values: values.map { $0 ?? .null }, of: table)
    }
}
