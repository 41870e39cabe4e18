import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The long way of merging: a row is spelled out, changed as the model says, and put back.
extension Merger {
    private var connection: Connection { store.connection }

    // MARK: Where the row is

    func change(
        _ group: RowGroup, _ index: Int, _ target: GroupTarget, _ stamp: Stamp,
        shown former: (full: RowState, record: ClockRecord, row: TableReader.Row?, position: Int64)
    ) throws {
        guard let table = target.table else { return }
        var full = former.full
        operate(group, index, table, stamp, on: &full)
        store.countFull(-1, former.full)
        store.countFull(1, full)
        let uniques = former.record.uniques
        guard full.isAlive else {
            try shownRows.hide(full, at: former.position, uniques: uniques, in: table)
            let comesBack = try full.hasCells && lose(full, formerly: former.full, in: table)
            // One that comes back keeps its integer, and those that refer to it their meaning.
            if !comesBack, let integer = full.integer {
                try IdentityMap(store: store).release(integer, in: table)
                dangling.note(integer, full.identity, in: table)
                shownRows.free(integer, of: full.identity, in: table)
            }
            noteFormer(former.row, at: former.position, in: table)
            note(table.name, .delete, former.row.map { table.primaryKey(of: $0, at: former.position) }, nil)
            return
        }
        note(table.name, .update, former.row.map { table.primaryKey(of: $0, at: former.position) }, nil)
        if try shownRows.updateUncontested(full, from: former.record, former.row, at: former.position, in: table) {
            if store.referenceRules.to(table).contains(where: { !$0.isByInteger }) {
                noteFormer(former.row, at: former.position, in: table)
            }
        } else {
            try shownRows.hide(full, at: former.position, uniques: uniques, in: table)
            let formerRow = former.row.map { FormerRow(table: table, integer: former.position, values: $0.values) }
            undecided.append(UndecidedRow(full: full, former: formerRow))
        }
    }

    func change(
        _ group: RowGroup, _ index: Int, _ target: GroupTarget?, _ stamp: Stamp, hidden: HiddenRows.Row?
    ) throws {
        let identity = group.identities[index]
        var full = RowState(
            table: group.table, identity: identity, integer: group.integers.isEmpty ? nil : group.integers[index])
        if let hidden {
            full.state = hidden.clock
            full.integer = hidden.integer ?? full.integer
            _ = try HiddenRows(store).remove(hidden.table, hidden.identity)
        }
        let wasParked = hidden?.state == .parked
        operate(group, index, target?.table, stamp, on: &full)
        store.countFull(1, full)
        guard let table = target?.table else {
            note(group.table, group.kind, nil, nil)
            if full.isAlive || full.hasCells { try keep(full, .unknownTable) }
            return
        }
        if full.isAlive {
            note(table.name, wasParked ? .update : .insert, nil, nil)
            if try shownRows.showUncontested(full, in: table) {
                try noteKey(of: full, .insert, in: table)
            } else {
                undecided.append(UndecidedRow(full: full))
            }
        } else {
            note(table.name, group.kind, nil, nil)
            if full.hasCells {
                try lose(
                    full,
                    formerly: hidden.map {
                        RowState(table: table.name, identity: identity, state: $0.clock, integer: $0.integer)
                    }, in: table)
            }
        }
    }

    func change(
        _ group: RowGroup, _ index: Int, _ target: GroupTarget, _ stamp: Stamp, undecided former: UndecidedRow
    ) throws {
        guard let table = target.table else { return }
        var full = former.full
        operate(group, index, table, stamp, on: &full)
        store.countFull(-1, former.full)
        store.countFull(1, full)
        note(table.name, group.kind, nil, nil)
        if full.isAlive {
            if try !shownRows.showUncontested(full, in: table) {
                undecided.append(UndecidedRow(full: full, former: former.former))
            }
            return
        }
        if let formerRows = former.former { self.formerRows.append(formerRows) }
        if full.hasCells { try lose(full, formerly: former.full, in: table) }
    }

    /// Keeps the edits that a delete took, or remembers the row where this peer brings it back: then returns true.
    @discardableResult
    private func lose(_ full: RowState, formerly former: RowState?, in table: TrackedTable) throws -> Bool {
        guard let former, former.isAlive, store.policies.reinsertsEdits(table.name), full.hasEdits(of: store.own) else {
            try keep(full, .dead)
            return false
        }
        lost.append(OverriddenRow(table: table, full: full, former: former))
        return true
    }

    // MARK: What happens to it

    private func operate(
        _ group: RowGroup, _ index: Int, _ table: TrackedTable?, _ stamp: Stamp, on full: inout RowState
    ) {
        switch group.kind {
        case .insert:
            full.insert(stamp, cells: cells(group, index, table), coverage)
        case .delete:
            full.delete(stamp, coverage)
        case .update:
            for column in group.columns {
                let name =
                    table.flatMap { table in
                        table.positions[column.name.lowercased()].map { table.columns[$0].name }
                    } ?? column.name
                var own = stamp
                if !column.times.isEmpty { own.time = column.times[index] }
                switch column.operation {
                case .set: full.set(name, column.values[index], own, coverage)
                case .fill: full.fill(name, column.values[index], own)
                case .add:
                    let base = store.peers.place(of: column.bases[index], seenBy: dependencies)
                    full.add(
                        name,
                        Addition(
                            basePeer: base.number, baseSequence: base.sequence, peer: stamp.peer, stamp: own,
                            cumulative: column.values[index]),
                        replacing: store.peers.branches.ancestors(of: stamp.peer))
                }
            }
        }
    }

    /// An insert's cells by column name. Key columns that the group leaves out are the identity's, where their names are
    /// known.
    func cells(
        _ group: RowGroup, _ index: Int, _ table: TrackedTable?
    ) -> [(name: String, time: HybridTime, value: Value)] {
        var cells: [(name: String, time: HybridTime, value: Value)] = []
        var given: Set<String> = []
        for column in group.columns {
            let position = table?.positions[column.name.lowercased()]
            let name = position.flatMap { table?.columns[$0].name } ?? column.name
            given.insert(name)
            let time = column.times.isEmpty ? group.times[index] : column.times[index]
            cells.append((name, time, column.values[index]))
        }
        if let names = KeyNames(store).names(of: group.table), !given.isSuperset(of: names),
            let parts = group.identities[index].naturalParts, parts.count == names.count
        {
            for (part, name) in zip(parts, names) where !given.contains(name) {
                cells.append((name, group.times[index], part.value))
            }
        }
        return cells
    }

    /// An insert's values by column position, as this store has them.
    func values(
        _ group: RowGroup, _ index: Int, _ target: GroupTarget, _ table: TrackedTable
    ) throws -> [Value?] {
        var values = [Value?](repeating: nil, count: table.columns.count)
        for (column, position) in zip(group.columns, target.positions) {
            guard let position else { continue }
            values[position] = try shownRows.localOrReserved(
                column.values[index], target.reference(of: column, at: position))
        }
        if let parts = group.identities[index].naturalParts {
            for (part, key) in zip(parts, table.key) where values[key.index] == nil {
                values[key.index] = try shownRows.localOrReserved(part.value, table.columns[key.index].reference)
            }
        }
        return values
    }

    private func keep(_ full: RowState, _ state: HiddenRows.State) throws {
        try HiddenRows(store).put(
            HiddenRows.Row(
                table: full.table, identity: full.identity, state: state, clock: full.state, integer: full.integer))
    }

    // MARK: What changed, for those who listen

    func noteKey(of full: RowState, _ kind: RowGroup.Kind, in table: TrackedTable) throws {
        guard let position = try shownRows.locate(full.identity, in: table),
            let row = try shownRows.currentRow(full.identity, at: position, in: table)
        else { return }
        noteKey(table.primaryKey(of: row, at: position), kind, in: table.name)
    }
}
