import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What rows are called by peers whose migration has made another key of the integer that is the key here.
///
/// Such a peer says its keys in the column that is called like the integer, or in a column of which it has told
/// (``NamingColumns``). Where that is not here, the key stands beside a row as what it is. What refers to the row says the same key
/// from then on. Here that is a reference as it ever was, and shows this store's own integer.
///
/// Found once for all rows of a table, and followed by what is merged. No answer is given that the row itself denies.
struct OtherKeys {
    private let store: OpenStore
    private let table: TrackedTable
    /// The columns that hold such keys, in lower case.
    private let names: Set<String>

    /// nil for a table that has no integers of its own, and of which nobody has told other keys.
    init?(of table: TrackedTable, in store: OpenStore) throws {
        var names = Set(try store.otherNames(of: table).map(\.folded))
        if let column = table.localInteger { names.insert(column.folded) }
        guard !names.isEmpty else { return nil }
        self.store = store
        self.table = table
        self.names = names
    }

    /// Takes up what has become of a row.
    func note(_ state: RowClock, of identity: RowIdentity) {
        guard store.cached.otherKeys[table.id] != nil else { return }
        for key in keys(state) { store.cached.otherKeys[table.id]?[key] = identity }
    }

    /// The row that is called so; nil where none is.
    ///
    /// - Parameter told: the columns in which it may be, where they are here; names in logs.
    func row(called key: Value, in told: [String]) throws -> RowIdentity? {
        for name in told {
            if let row = try row(called: key, in: name) { return row }
        }
        try find()
        guard let rows = store.cached.otherKeys[table.id], !rows.isEmpty else { return nil }
        for key in [key] + key.otherTypes {
            guard let identity = rows[key], try mayBe(identity, called: key) else { continue }
            return identity
        }
        return nil
    }

    private func row(called key: Value, in name: String) throws -> RowIdentity? {
        if let column = table.columns.first(where: { $0.name.folded == name.folded }) {
            return try table.row(in: column, holding: key, store).flatMap {
                try IdentityMap(store: store).knownIdentity(of: $0.asInteger, in: table)
            }
        }
        // A row may go on by the key that it had.
        guard table.keepsIdentities, store.catalog.keys.firstKey(of: table.name) != nil,
            let part = KeyPart(key, collation: .binary)
        else { return nil }
        let epoch = store.catalog.keys.epoch(of: table.name, key: [name])
        let identity = RowIdentity(natural: (epoch.map { [$0] } ?? []) + [part])
        return try ShownRows(store).locate(identity, in: table).map { _ in identity }
    }

    private func find() throws {
        guard store.cached.otherKeys[table.id] == nil else { return }
        store.cached.otherKeys[table.id] = [:]
        let clock = ClockTable(table: table, connection: store.connection)
        for row in try store.connection.rows("SELECT row FROM \(table.clock) WHERE extra IS NOT NULL") {
            guard let record = try clock.record(at: row[0].asInteger), let identity = record.named else { continue }
            note(record.state, of: identity)
        }
        for row in try HiddenRows(store).rows(.parked, of: table.name) { note(row.clock, of: row.identity) }
    }

    /// Whether the row says so, or is nowhere: it is to be decided whether it is shown, or has gone.
    private func mayBe(_ identity: RowIdentity, called name: Value) throws -> Bool {
        let clock = ClockTable(table: table, connection: store.connection)
        if let place = try clock.row(of: identity) {
            return try clock.record(at: place).map { keys($0.state).contains(name) } ?? false
        }
        return try HiddenRows(store).row(table.name, identity).map { keys($0.clock).contains(name) } ?? true
    }

    private func keys(_ state: RowClock) -> [Value] {
        state.cellsByName.compactMap { name, cell in
            guard names.contains(name.folded), let key = store.shown(cell, table.name, name), !key.isNull else {
                return nil
            }
            return key
        }
    }
}

extension ShownRows {
    /// What a value says in the way of this store's column: where a peer says a row by the key that its migration has made of
    /// the integer, a reference to that row; where one that has not migrated says a reference, the row's key here.
    func meant(_ value: Value, at position: Int, in table: TrackedTable) throws -> Value {
        let column = table.columns[position]
        guard table.isSaidOtherwise(value, at: position) else {
            return column.reference == nil ? try named(value, by: column, of: table) : value
        }
        if case .reference(let identity) = value { return try key(of: identity, at: position, in: table) ?? value }
        guard let parent = store.catalog.numbered(column.reference),
            let identity = try OtherKeys(of: parent, in: store)?
                .row(called: value, in: store.namingColumns(column, of: table))
        else { return value }
        return .reference(identity)
    }

    /// The key by which a column names a row, where a peer that has migrated, or has not, names that by another of its keys.
    private func named(_ value: Value, by column: TrackedTable.Column, of table: TrackedTable) throws -> Value {
        guard !value.isNull, case let names = try store.namingColumns(column, of: table), !names.isEmpty,
            let (parent, place) = store.catalog.namedKey(column, in: table)
        else { return value }
        let present = parent.columns[place]
        // Where no key is enforced, nothing sees to it that the row follows when its parent comes to say the same as it.
        let isEnforced = store.referenceRules.of(table).contains {
            $0.strength != .unenforced && $0.columns == [table.positions[column.name.folded]]
        }
        for key in [value] + (isEnforced ? value.otherTypes : []) {
            if try parent.row(in: present, holding: key, store) != nil { return key }
        }
        for other in parent.columns where other.id != present.id {
            guard names.contains(where: { $0.folded == other.name.folded }),
                let key = try parent.row(in: other, holding: value, store, giving: present.local), !key.isNull
            else { continue }
            return key
        }
        guard let identity = try OtherKeys(of: parent, in: store)?.row(called: value, in: []),
            let row = try locate(identity, in: parent),
            let key = try currentRow(identity, at: row, in: parent)?.values[place], !key.isNull
        else { return value }
        return key
    }

    /// Whether the row that a value says is here, or it says none.
    ///
    /// - Parameters:
    ///   - name: of the table that it refers to.
    ///   - position: of its column; nil where that is not here.
    func isHere(_ value: Value, _ name: String, at position: Int?, in table: TrackedTable) throws -> Bool {
        if try local(value, name) == nil { return false }
        guard let position, table.isSaidOtherwise(value, at: position) else { return true }
        // The key may be that of a row which comes later in the transaction.
        return try meant(value, at: position, in: table) != value
    }

    /// What a column holds that names a row by its key; nil where it names none so, or the row is not here or has no key yet.
    private func key(of identity: RowIdentity, at position: Int, in table: TrackedTable) throws -> Value? {
        guard let (parent, place) = store.catalog.namedKey(table.columns[position], in: table),
            let row = try locate(identity, in: parent),
            let key = try currentRow(identity, at: row, in: parent)?.values[place], !key.isNull
        else { return nil }
        return key
    }

    func mark(
        _ record: inout ClockRecord, _ full: RowState, _ replaced: [Int: Value], in table: TrackedTable
    ) throws {
        record.isReplaced = try !replaced.isEmpty || namesUnknownKey(full, in: table)
        if record.isReplaced { store.hasReplaced = true }
    }

    /// Whether another peer says a row that is not here, or is not known by that yet.
    private func namesUnknownKey(_ full: RowState, in table: TrackedTable) throws -> Bool {
        guard store.catalog.namingTables.contains(table.id) else { return false }
        return try intactValues(full, in: table).enumerated().contains { position, value in
            guard table.isSaidOtherwise(value, at: position) else { return false }
            return switch value {
            case .integer: false
            case .reference: store.catalog.namedKey(table.columns[position], in: table) != nil
            default: true
            }
        }
    }
}

extension TrackedTable {
    /// What the one row has that holds a value in a column; nil where none does, or several do.
    ///
    /// - Parameter name: of the column that is asked for, in the database; its rowid unless told.
    fileprivate func row(
        in column: Column, holding value: Value, _ store: OpenStore, giving name: String? = nil
    ) throws -> Value? {
        guard let asked = name.map(SQL.name) ?? (hasRowid ? rowid : nil) else { return nil }
        let held = SQL.name(column.local)
        if schema.keyColumns.map({ $0.name.folded }) == [column.local.folded]
            || schema.uniqueIndexes.contains(where: { $0.columns?.map { $0.name.folded } == [column.local.folded] })
        {
            return try store.connection.scalar("SELECT \(asked) FROM \(quoted) WHERE \(held) = ?", value)
        }
        // Nothing finds it; all are read once for a transaction.
        let place = "\(id) \(column.id) \(asked)"
        if store.cached.namedRows[place] == nil {
            let rows = try store.connection.rows(
                "SELECT \(held), \(asked) FROM \(quoted) WHERE \(held) IS NOT NULL GROUP BY \(held) HAVING count(*) = 1"
            )
            store.cached.namedRows[place] = Dictionary(rows.map { ($0[0], $0[1]) }) { first, _ in first }
        }
        return store.cached.namedRows[place]?[value]
    }
}
