import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What a row to be settled is called: by its key, and by its identity where several rows have that key.
struct ListedName {
    var key: [Value]
    /// In hex.
    var identity: String?

    func isName(of identity: RowIdentity, key: [Value]) -> Bool {
        key == self.key && (self.identity.map { $0.folded == identity.description } ?? true)
    }
}

/// Settles a conflict, a parked row or a lost edit by hand: a transaction of this peer that has seen every version.
///
/// It is recorded directly, not captured: a write of the value that is shown already would be no change, and a parked
/// row has no row to write.
struct ConflictResolution {
    let store: OpenStore

    /// What it changes in the tables.
    private let notes = ChangeNotes()

    init(_ store: OpenStore) { self.store = store }

    private var connection: Connection { store.connection }

    // MARK: Cells

    /// Writes one of a cell's versions.
    func take(_ dot: Dot, of name: ListedName, column: String, in tableName: String) throws {
        let table = try table(tableName)
        let conflicts = Conflicts(store: store, table: table)
        let meant = table.position(named: column).map { table.columns[$0].name } ?? column
        func isMeant(_ conflict: StoreConflict) -> Bool {
            name.isName(of: conflict.identity, key: conflict.key) && conflict.loggedColumn.folded == meant.folded
                && conflict.versions.contains { $0.dot == dot && !$0.isAddition }
        }
        let found = try (conflicts.shown(all: true) + conflicts.lost()).filter { conflict in
            name.isName(of: conflict.identity, key: conflict.key)
                && conflict.loggedColumn.folded == meant.folded
                && conflict.versions.contains { $0.dot == dot }
        }
        if found.isEmpty, let parked = try conflicts.withinParked(all: true).first(where: isMeant),
            let version = parked.versions.first(where: { $0.dot == dot })
        {
            return try setParked(column, version.value, of: name, in: tableName)
        }
        let shown = found.filter { $0.shown != nil }
        try refuseSeveral(shown.map(\.identity), name, in: table)
        guard let conflict = shown.first, let version = conflict.versions.first(where: { $0.dot == dot }) else {
            if let lost = found.first { throw lostToDelete(lost, dot) }
            throw LogSyncError(
                .usage,
                "there is no conflict in \(table.schema.name).\(column) at this key with a version of \(dot); nothing was changed",
                help: "`logsync conflicts list` shows the keys and versions.")
        }
        guard !version.isAddition else {
            throw LogSyncError(
                .usage,
                "\(self.name(dot)) added to the counter \(table.schema.name).\(column), and set no value; nothing was changed",
                help: "The counter shows the sum of all that was added. Write another value to it where that is wrong.")
        }
        try set(conflict.loggedColumn, version.value, of: conflict.identity, in: table)
    }

    /// - Parameter column: as logs have it.
    private func set(_ column: String, _ value: Value, of identity: RowIdentity, in table: TrackedTable) throws {
        guard let place = table.positions[column.folded] else { throw noSuchColumn(column, table) }
        try set(place, value, of: identity, in: table)
    }

    /// Says of a cell what it shows, where a value that is lost is among its versions (``LostValue``).
    ///
    /// The time is the next one after all that it has: what others write over it meanwhile is later.
    func restate(_ lost: LostValue) throws -> RecordedTransaction? {
        guard let table = store.catalog[lost.table], let place = table.positions[lost.column.folded] else { return nil }
        let hidden = try HiddenRows(store).row(table.name, lost.identity).flatMap { $0.state == .parked ? $0 : nil }
        let shownRows = ShownRows(store)
        let shown = try shownRows.locate(lost.identity, in: table).flatMap { try shownRows.full(at: $0, in: table) }
        guard let cell = (hidden?.clock ?? shown?.full.state)?.cellsByName[table.columns[place].name],
            cell.stamps.contains(where: { store.peers.id($0.peer) == lost.dot.peer && $0.sequence == lost.dot.sequence }
            ),
            let value = store.shown(cell, table.name, table.columns[place].name)
        else { return nil }
        let time = cell.stamps.map(\.time).max()?.successor
        if let hidden { return try setParked(place, value, at: time, of: hidden, in: table) }
        return try set(place, value, at: time, of: lost.identity, in: table)
    }

    /// - Parameter time: nil for now.
    @discardableResult
    private func set(
        _ place: Int, _ value: Value, at time: HybridTime? = nil, of identity: RowIdentity, in table: TrackedTable
    ) throws -> RecordedTransaction {
        let shownRows = ShownRows(store)
        guard let position = try shownRows.locate(identity, in: table),
            let (full, record, present) = try shownRows.full(at: position, in: table)
        else { throw noSuchRow(table) }
        let value = try shownRows.identityValue(value, place, in: table)
        var changed = full
        let written = try write(full, column: table.columns[place], value, at: time, in: table) { stamp in
            changed.set(table.columns[place].name, value, stamp, .everything)
        }
        store.countFull(-1, full)
        store.countFull(1, changed)
        guard try shownRows.updateUncontested(changed, from: record, present, at: position, in: table) else {
            throw breaksConstraint(of: table)
        }
        notes.note(table.name, .update, try shownRows.primaryKey(of: identity, in: table))
        // Others may have referred to it by what it showed.
        try updateShownRows(
            table, shownRows, formerRows: [FormerRow(table: table, integer: position, values: present.values)])
        return written
    }

    // MARK: Rows

    func setParked(_ column: String, _ value: Value, of name: ListedName, in tableName: String) throws {
        let table = try table(tableName)
        let rows = try listed(name, in: table)
        // To a row that is deleted nothing can be written.
        let writable = rows.filter { !$0.isDead }
        try refuseSeveral(writable.map(\.identity), name, in: table)
        guard let row = writable.first else { throw try rows.first.map { try isDead($0, table) } ?? noSuchRow(table) }
        guard let place = table.position(named: column) else { throw noSuchColumn(column, table) }
        try refuseOtherKey(value, place, in: table, row.identity)
        switch row {
        case .shown(let identity): try setBroken(place, value, of: identity, in: table)
        case .hidden(let row): try setParked(place, value, of: row, in: table)
        }
    }

    @discardableResult
    private func setParked(
        _ place: Int, _ value: Value, at time: HybridTime? = nil, of row: HiddenRows.Row, in table: TrackedTable
    ) throws -> RecordedTransaction {
        let shownRows = ShownRows(store)
        let value = try shownRows.identityValue(value, place, in: table)
        let full = RowState(table: table.name, identity: row.identity, state: row.clock, integer: row.integer)
        var changed = full
        let written = try write(full, column: table.columns[place], value, at: time, in: table) { stamp in
            changed.set(table.columns[place].name, value, stamp, .everything)
        }
        _ = try HiddenRows(store).remove(row.table, row.identity)
        store.countFull(1, changed)
        try ShownRowsPass(store, shownRows: shownRows).run([UndecidedRow(full: changed)], notes: notes)
        if let key = try shownRows.primaryKey(of: row.identity, in: table) { notes.note(table.name, .insert, key) }
        store.noteSettled(notes)
        return written
    }

    /// As an UPDATE would, this refuses what still breaks the CHECK.
    private func setBroken(_ place: Int, _ value: Value, of identity: RowIdentity, in table: TrackedTable) throws {
        try set(place, value, of: identity, in: table)
        let shownRows = ShownRows(store)
        guard let position = try shownRows.locate(identity, in: table),
            let record = try ClockTable(table: table, connection: connection).record(at: position), record.breaksCheck
        else { return }
        throw breaksConstraint(of: table)
    }

    /// Changes nothing: what has been written and not recorded yet is not looked at.
    func findParked(_ name: ListedName, in tableName: String) throws {
        _ = try parked(name, in: known(tableName))
    }

    func dropParked(_ name: ListedName, in tableName: String) throws {
        let table = try table(tableName)
        switch try parked(name, in: table) {
        case .shown(let identity): try dropShown(identity, in: table)
        case .hidden(let row): try drop(row, in: table)
        }
    }

    private func parked(_ name: ListedName, in table: TrackedTable) throws -> ListedRow {
        let rows = try listed(name, in: table)
        try refuseSeveral(rows.map(\.identity), name, in: table)
        guard let row = rows.first else { throw noSuchRow(table) }
        return row
    }

    /// Of a row that is dead already, what this delete has seen is what was left of it: edits that were lost.
    private func drop(_ row: HiddenRows.Row, in table: TrackedTable) throws {
        try delete(row.identity, above: row.clock, in: table)
        _ = try HiddenRows(store).remove(row.table, row.identity)
        try updateShownRows(table, ShownRows(store))
    }

    private func dropShown(_ identity: RowIdentity, in table: TrackedTable) throws {
        let shownRows = ShownRows(store)
        guard let position = try shownRows.locate(identity, in: table),
            let (full, record, present) = try shownRows.full(at: position, in: table)
        else { throw noSuchRow(table) }
        try delete(identity, above: full.state, in: table)
        notes.note(table.name, .delete, table.primaryKey(of: present, at: position))
        store.countFull(-1, full)
        try shownRows.hide(full, at: position, uniques: record.uniques, in: table)
        let dangling = DanglingReferences(store)
        if table.localInteger != nil {
            try IdentityMap(store: store).release(position, in: table)
            dangling.note(position, identity, in: table)
            shownRows.integers.free(position, of: identity, in: table)
        }
        try updateShownRows(
            table, shownRows, formerRows: [FormerRow(table: table, integer: position, values: present.values)])
        try dangling.settle()
    }

    private func delete(_ identity: RowIdentity, above state: RowClock, in table: TrackedTable) throws {
        let writer = try transaction()
        let time = store.time(above: state.allStamps)
        try writer.append(table, .delete, identity, time: time, integer: nil, cells: [])
        _ = try writer.finish()
    }

    /// What was written may have made room for parked rows.
    private func updateShownRows(_ table: TrackedTable, _ shownRows: ShownRows, formerRows: [FormerRow] = []) throws {
        try ShownRowsPass(store, shownRows: shownRows).run(formerRows: formerRows, touching: [table.id], notes: notes)
        store.noteSettled(notes)
    }

    private func transaction() throws -> TransactionWriter {
        try TransactionWriter(
            store, milliseconds: store.configuration.clock.now(), schema: try store.schemaFingerprint(),
            author: nil, context: nil)
    }

    private func write(
        _ full: RowState, column: TrackedTable.Column, _ value: Value, at time: HybridTime?, in table: TrackedTable,
        _ change: (Stamp) -> Void
    ) throws -> RecordedTransaction {
        let writer = try transaction()
        let time = time ?? store.time(above: full.state.cellsByName[column.name]?.stamps ?? [])
        change(Stamp(peer: writer.stamp.peer, sequence: writer.stamp.sequence, time: time))
        let cell = TransactionWriter.Cell(column: column.name, reference: column.reference, value: value)
        try writer.append(
            table, .update, full.identity, time: time, integer: table.localInteger == nil ? nil : full.integer ?? 0,
            cells: [cell])
        return try writer.finish()
    }

    // MARK: Which row is meant

    /// A row that is listed other than for a cell in conflict.
    private enum ListedRow {
        /// It breaks a CHECK.
        case shown(RowIdentity)
        /// It is parked, or dead with edits left.
        case hidden(HiddenRows.Row)

        var identity: RowIdentity {
            switch self {
            case .shown(let identity): identity
            case .hidden(let row): row.identity
            }
        }

        var isDead: Bool { if case .hidden(let row) = self { row.state == .dead } else { false } }
    }

    private func listed(_ name: ListedName, in table: TrackedTable) throws -> [ListedRow] {
        let conflicts = Conflicts(store: store, table: table)
        let broken = try conflicts.breakingChecks().filter { name.isName(of: $0.identity, key: $0.key) }
        let hidden = HiddenRows(store)
        let beside = try (hidden.rows(.parked, of: table.name) + hidden.rows(.dead, of: table.name)).filter {
            try name.isName(of: $0.identity, key: conflicts.key(of: $0))
        }
        return broken.map { .shown($0.identity) } + beside.map { .hidden($0) }
    }

    /// What this peer wrote before is recorded first.
    private func table(_ name: String) throws -> TrackedTable {
        _ = try RecordStep(store).run()
        return try known(name)
    }

    private func known(_ name: String) throws -> TrackedTable {
        guard let table = try store.tables(named: name).first else {
            throw LogSyncError(.usage, "there is no table \(name) in this store now; nothing was changed")
        }
        return table
    }

    // MARK: What is refused

    private func refuseSeveral(_ identities: [RowIdentity], _ name: ListedName, in table: TrackedTable) throws {
        guard identities.count > 1 else { return }
        throw LogSyncError(
            .usage, "\(identities.count) rows of \(table.schema.name) have this key; nothing was changed",
            help: "Say which by --identity, which `logsync conflicts list --json` shows: "
                + identities.map(\.description).joined(separator: " or "))
    }

    /// A row with another natural key would be another row.
    private func refuseOtherKey(
        _ value: Value, _ place: Int, in table: TrackedTable, _ identity: RowIdentity
    ) throws {
        guard let index = table.key.firstIndex(where: { $0.index == place }) else { return }
        let value = try ShownRows(store).identityValue(value, place, in: table)
        // A key with a NULL in it has no parts, and is none to be changed either.
        if let parts = identity.naturalParts, KeyPart(value, collation: table.key[index].collation) == parts[index] {
            return
        }
        throw LogSyncError(
            .usage,
            "\(table.schema.name).\(table.columns[place].local) says which row it is, and cannot be set; nothing was changed",
            help: "Insert a row with the other key, then drop this one.")
    }

    private func lostToDelete(_ conflict: StoreConflict, _ dot: Dot) -> LogSyncError {
        let delete = conflict.deleted.map { " by \(name($0.dot))" } ?? ""
        return LogSyncError(
            .usage,
            "the row of \(conflict.table) was deleted\(delete), and the edit by \(name(dot)) lost to that; nothing was changed",
            help:
                "Insert the row again with that value if it is wanted. `logsync conflicts drop` takes what is lost off the list."
        )
    }

    private func isDead(_ row: ListedRow, _ table: TrackedTable) throws -> LogSyncError {
        let lost = try Conflicts(store: store, table: table).lost().first { $0.identity == row.identity }
        return lost.flatMap { lost in lost.versions.last.map { lostToDelete(lost, $0.dot) } } ?? noSuchRow(table)
    }

    private func name(_ dot: Dot) -> String {
        "\(store.policies.name(of: dot.peer) ?? String(dot.peer.description.prefix(8))):\(dot.sequence)"
    }

    private func breaksConstraint(of table: TrackedTable) -> LogSyncError {
        LogSyncError(
            .usage, "that value breaks a constraint of \(table.schema.name); nothing was changed",
            help: "Write another value to the row.")
    }

    private func noSuchColumn(_ column: String, _ table: TrackedTable) -> LogSyncError {
        LogSyncError(.usage, "\(table.schema.name) has no column \(column); nothing was changed")
    }

    private func noSuchRow(_ table: TrackedTable) -> LogSyncError {
        LogSyncError(
            .usage, "\(table.schema.name) has no such cell in conflict and no such parked row; nothing was changed",
            help: "`logsync conflicts list` shows the keys.")
    }
}
