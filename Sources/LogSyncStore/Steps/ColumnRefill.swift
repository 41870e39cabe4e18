import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Gives rows the values of columns that have come back without them (``ForgottenColumns``), from a store that has them,
/// within the caller's write transaction, when nothing local is pending.
///
/// A version is known by its stamp, so what has been written since is left as it is. What is shown of a row is decided anew;
/// which entries it has, and with them the state's digest, stays.
final class ColumnRefill {
    private let store: OpenStore
    /// By table, as logs have them, in lower case.
    private let columns: [String: Set<String>]
    private let shownRows: ShownRows
    private let notes = ChangeNotes()
    private var undecided: [UndecidedRow] = []
    private var formerRows: [FormerRow] = []
    /// How many cells have got their values, by table and column in lower case.
    private(set) var counts: [[String]: Int] = [:]

    init(_ store: OpenStore, _ columns: some Sequence<ColumnName>) {
        self.store = store
        self.columns = Dictionary(grouping: columns) { $0.table.folded }.mapValues { Set($0.map(\.column.folded)) }
        shownRows = ShownRows(store)
    }

    /// Takes what is lost of a row here.
    ///
    /// - Parameter theirs: the row in a store with the same schema.
    func refill(_ theirs: RowState) throws {
        guard columns[theirs.table.folded] != nil, let table = store.catalog[theirs.table] else { return }
        if let position = try shownRows.locate(theirs.identity, in: table) {
            try refillShown(theirs, at: position, in: table)
        } else {
            try refillHidden(theirs, in: table)
        }
    }

    /// Decides which rows are shown, and tells those who listen. Call it when all rows of the transaction have been given.
    func settle() throws {
        let touched = Set(columns.keys.compactMap { store.catalog[$0]?.id })
        try ShownRowsPass(store, shownRows: shownRows)
            .run(undecided, formerRows: formerRows, touching: touched, notes: notes)
        store.noteSettled(notes)
    }

    // MARK: Where the row is

    private func refillShown(_ theirs: RowState, at position: Int64, in table: TrackedTable) throws {
        guard let (ours, record, row) = try shownRows.full(at: position, in: table) else { return }
        // What a program has written behind the triggers' back is no version's value.
        let agreeing = table.columns.indices.filter { place in
            let id = table.columns[place].id
            return record.digests.indices.contains(id)
                && record.digests[id] == UInt32(truncatingIfNeeded: row.digests[place])
        }
        let names = Set(agreeing.map { table.columns[$0].name.folded })
        var full = ours
        let remembered =
            try record.isReplaced ? [] : agreeing.filter { try isRemembered($0, in: ours, lostBy: row, of: table) }
        for place in remembered { count(table.columns[place].name, of: table.name) }
        let isTaken = take(theirs, into: &full, where: { names.contains($0) && $1 != $2 })
        guard isTaken || !remembered.isEmpty else { return }
        let former = FormerRow(table: table, integer: position, values: row.values)
        notes.note(table.name, .update, table.primaryKey(of: row, at: position))
        if try shownRows.updateUncontested(full, from: record, row, at: position, in: table) {
            if store.referenceRules.to(table).contains(where: { !$0.isByInteger }) { formerRows.append(former) }
        } else {
            try shownRows.hide(full, at: position, uniques: record.uniques, in: table)
            undecided.append(UndecidedRow(full: full, former: former))
        }
    }

    /// Whether a record remembers a value that its row has lost: the row shows what the column begins with.
    private func isRemembered(
        _ place: Int, in ours: RowState, lostBy row: TableReader.Row, of table: TrackedTable
    ) throws -> Bool {
        let name = table.columns[place].name
        guard isWanted(name, of: table.name), row.values[place] == store.defaultValue(of: table, place),
            let value = ours.state.cellsByName[name].flatMap({ store.shown($0, table.name, name) })
        else { return false }
        return try value != shownRows.identityValue(row.values[place], place, in: table)
    }

    private func refillHidden(_ theirs: RowState, in table: TrackedTable) throws {
        let hidden = HiddenRows(store)
        guard var kept = try hidden.row(table.name, theirs.identity) else { return }
        var full = RowState(table: kept.table, identity: kept.identity, state: kept.clock, integer: kept.integer)
        guard take(theirs, into: &full, where: { _, own, _ in own == nil }) else { return }
        kept.clock = full.state
        if kept.state == .unknownTable {
            // The program is not waited for, which may put it back itself.
            let dropped = DroppedRows(store)
            if try dropped.drop(of: table.name) != nil { try dropped.forget(kept.identity, of: table.name) }
            if full.state.cellsByName.lostColumns.isEmpty {
                kept = try SchemaReconciliation(store: store).adopt(kept, in: table)
            }
        }
        guard kept.state == .parked else { return try hidden.put(kept) }
        try hidden.take(kept.table, kept.identity)
        let row = RowState(table: table.name, identity: kept.identity, state: kept.clock, integer: kept.integer)
        undecided.append(UndecidedRow(full: row, isCounted: false))
    }

    /// - Parameter isLost: is given a column in lower case, the value that is here of a version and the one that is there.
    /// - Returns: whether anything has another value now.
    private func take(
        _ theirs: RowState, into full: inout RowState, where isLost: (String, Value?, Value?) -> Bool
    ) -> Bool {
        var isChanged = false
        for (name, cell) in theirs.state.cellsByName where isWanted(name, of: theirs.table) {
            guard let own = full.state.cellsByName.keys.first(where: { $0.folded == name.folded }),
                var mine = full.state.cellsByName[own]
            else { continue }
            var isTaken = false
            for index in mine.versions.indices {
                guard let version = cell.versions.first(where: { $0.stamp == mine.versions[index].stamp }),
                    version.value != nil, isLost(name.folded, mine.versions[index].value, version.value)
                else { continue }
                mine.versions[index].value = version.value
                isTaken = true
            }
            guard isTaken else { continue }
            full.state.cellsByName[own] = mine
            count(name, of: theirs.table)
            isChanged = true
        }
        return isChanged
    }

    private func isWanted(_ column: String, of table: String) -> Bool {
        columns[table.folded]?.contains(column.folded) ?? false
    }

    private func count(_ column: String, of table: String) { counts[[table.folded, column.folded], default: 0] += 1 }
}
