import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What rows are called by peers whose migration has made another key of the integer that is the key here.
///
/// Such a peer says its keys in the column that is called like the integer, which stands beside a row as what it is: a column
/// that is not here. What refers to the row says the same key from then on. Here that is a reference as it ever was, and shows
/// this store's own integer.
///
/// Found once for all rows of a table, and followed by what is merged. No answer is given that the row itself denies.
struct OtherKeys {
    private let store: OpenStore
    private let table: TrackedTable

    /// nil for a table that has no integers of its own.
    init?(of table: TrackedTable, in store: OpenStore) {
        guard table.localInteger != nil else { return nil }
        self.store = store
        self.table = table
    }

    /// Takes up what has become of a row.
    func note(_ state: RowClock, of identity: RowIdentity) {
        guard store.cached.otherKeys[table.id] != nil, let key = key(state) else { return }
        store.cached.otherKeys[table.id]?[key] = identity
    }

    /// The row that is called so; nil where none is.
    func row(called key: Value) throws -> RowIdentity? {
        try find()
        guard let rows = store.cached.otherKeys[table.id], !rows.isEmpty else { return nil }
        for key in [key] + key.otherTypes {
            guard let identity = rows[key], try mayBe(identity, called: key) else { continue }
            return identity
        }
        return nil
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
        if let place = try clock.row(of: identity) { return try clock.record(at: place).map { key($0.state) } == name }
        return try HiddenRows(store).row(table.name, identity).map { key($0.clock) == name } ?? true
    }

    private func key(_ state: RowClock) -> Value? {
        guard !state.cellsByName.isEmpty, let column = table.localInteger?.folded,
            let (name, cell) = state.cellsByName.first(where: { $0.key.folded == column }),
            let key = store.shown(cell, table.name, name), !key.isNull
        else { return nil }
        return key
    }
}

extension ShownRows {
    /// What a value says in the way of this store's column: where a peer says a row by the key that its migration has made of
    /// the integer, a reference to that row; where one that has not migrated says a reference, the row's key here.
    func meant(_ value: Value, at position: Int, in table: TrackedTable) throws -> Value {
        guard table.isSaidOtherwise(value, at: position) else { return value }
        if case .reference(let identity) = value { return try key(of: identity, at: position, in: table) ?? value }
        guard let parent = store.catalog.numbered(table.columns[position].reference),
            let identity = try OtherKeys(of: parent, in: store)?.row(called: value)
        else { return value }
        return .reference(identity)
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
