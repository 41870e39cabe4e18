import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Moves rows between their tables and their full state: what stands in a table, what floats beside it.
///
/// Writes app tables with triggers off; every write keeps the clock record and the table in step.
final class ShownRows {
    let store: OpenStore
    /// Gives rows their integers, and knows which integers rows left in this transaction.
    let integers: IntegerAllocator

    init(_ store: OpenStore) {
        self.store = store
        integers = IntegerAllocator(store)
    }

    private var connection: Connection { store.connection }
    private var identities: IdentityMap { IdentityMap(store: store) }

    // MARK: Finding

    /// The clock row of a standing row.
    func locate(_ identity: RowIdentity, in table: TrackedTable) throws -> Int64? {
        if table.storesIdentity || identity.isSurrogate {
            return try ClockTable(table: table, connection: connection).row(of: identity)
        }
        guard let parts = identity.naturalParts, parts.count == table.key.count else { return nil }
        return try TableReader(table: table, store: store).rowid(withKey: parts.map(\.value))
    }

    /// The key's values as this store has them; nil where a referenced row has no integer here.
    func localKey(_ identity: RowIdentity, in table: TrackedTable) throws -> [Value]? {
        guard let parts = identity.naturalParts, parts.count == table.key.count else { return nil }
        var values: [Value] = []
        for (part, key) in zip(parts, table.key) {
            guard let value = try local(part.value, table.columns[key.index].reference) else { return nil }
            values.append(value)
        }
        return values
    }

    /// The key under which a row stands, though a row that it refers to may have gone in this transaction.
    func shownKey(_ identity: RowIdentity, at row: Int64, in table: TrackedTable) throws -> [Value]? {
        try shownKey(FoldedKeys(store: store, table: table).identity(of: identity, at: row), in: table)
    }

    private func shownKey(_ identity: RowIdentity, in table: TrackedTable) throws -> [Value]? {
        guard let parts = identity.naturalParts, parts.count == table.key.count else { return nil }
        var values: [Value] = []
        for (part, key) in zip(parts, table.key) {
            guard case .reference(let identity) = part else {
                values.append(part.value)
                continue
            }
            // Not of the row that it was folded into: until it is shown to follow, it is where it was.
            guard let parent = table.columns[key.index].reference.flatMap({ store.catalog[$0] }),
                let integer = try ClockTable(table: parent, connection: connection).row(of: identity)
                    ?? integers.leftInteger(of: identity, in: parent)
                    ?? identities.reservedInteger(of: identity, in: parent)
            else { return nil }
            values.append(.integer(integer))
        }
        return values
    }

    /// A value as this store has it: a reference becomes the integer of the row. Nil where that row is not here.
    func local(_ value: Value, _ reference: String?) throws -> Value? {
        guard case .reference(let identity) = value else { return value }
        guard let parent = store.catalog.numbered(reference) else { return .null }
        return try identities.integer(of: identity, in: parent).map { .integer($0) }
    }

    /// The same; where the row is not here an integer is promised to it.
    func localOrReserved(_ value: Value, _ reference: String?) throws -> Value {
        if let value = try local(value, reference) { return value }
        guard case .reference(let identity) = value, let parent = store.catalog.numbered(reference) else {
            return .null
        }
        return .integer(try integers.reserve(for: identity, in: parent))
    }

    func reader(_ table: TrackedTable) -> TableReader { TableReader(table: table, store: store) }

    func currentRow(_ identity: RowIdentity, at row: Int64, in table: TrackedTable) throws -> TableReader.Row? {
        if table.hasRowid { return try reader(table).row(at: row) }
        guard let key = try shownKey(identity, at: row, in: table) else { return nil }
        return try reader(table).row(withKey: key)
    }

    /// The primary key under which a row is shown; nil where it is not.
    func primaryKey(of identity: RowIdentity, in table: TrackedTable) throws -> [Value]? {
        guard let position = try locate(identity, in: table),
            let row = try currentRow(identity, at: position, in: table)
        else { return nil }
        return table.primaryKey(of: row, at: position)
    }

    // MARK: Shown rows as full rows

    /// A standing row with all its entries and values.
    func expand(
        _ record: ClockRecord, _ row: TableReader.Row?, _ identity: RowIdentity, at position: Int64,
        in table: TrackedTable, lost: Value? = .null
    ) throws -> RowState {
        var full = RowState(
            table: table.name, identity: identity, integer: table.localInteger == nil ? nil : position)
        full.state.inserts = record.state.insertEntries
        full.state.deletes = record.state.deletes
        full.state.cellsByName = record.state.cellsByName
        var positions: [Int: Int] = [:]
        for (index, column) in table.columns.enumerated() { positions[column.id] = index }
        let count = max(record.state.columnCount, (record.state.cells.keys.max() ?? -1) + 1)
        for column in 0..<count {
            var cell = record.state.cell(column)
            if cell.isEmpty { continue }
            for index in cell.versions.indices where cell.versions[index].value == nil {
                let value = try positions[column].flatMap { position in
                    try row.map { try identityValue($0.values[position], position, in: table) }
                }
                cell.versions[index].value = value ?? lost
            }
            // A column may have been here before under the same name.
            full.state.cellsByName[table.columnNames[column], default: CellState()].versions += cell.versions
            full.state.cellsByName[table.columnNames[column]]?.additions += cell.additions
        }
        return full
    }

    /// A standing row by its clock row, with all its entries.
    func full(
        at position: Int64, in table: TrackedTable
    ) throws -> (full: RowState, record: ClockRecord, row: TableReader.Row)? {
        guard let record = try ClockTable(table: table, connection: store.connection).record(at: position) else {
            return nil
        }
        let reader = reader(table)
        let present =
            try record.identity.map { try currentRow($0, at: position, in: table) } ?? reader.row(at: position)
        guard let present else { return nil }
        let identity =
            try record.identity
            ?? reader.naturalIdentity { try identityValue(present.values[$0], $0, in: table) }
        guard let identity else { return nil }
        return (try expand(record, present, identity, at: position, in: table), record, present)
    }

    /// A table's value as logs have it.
    func identityValue(_ value: Value, _ position: Int, in table: TrackedTable) throws -> Value {
        guard case .integer(let integer) = value, let name = table.columns[position].reference,
            let parent = store.catalog[name]
        else { return value }
        if let known = try identities.knownIdentity(of: integer, in: parent) { return .reference(known) }
        // The row went in this transaction; a row that still holds its integer goes on meaning it.
        if let former = integers.leftIdentity(of: integer, in: parent) { return .reference(former) }
        return try identities.logged(integer, in: parent)
    }

    /// A table's value as logs have it where the referenced row is known; else as it is.
    func knownValue(_ value: Value, _ position: Int, in table: TrackedTable) throws -> Value {
        guard case .integer(let integer) = value, let name = table.columns[position].reference,
            let parent = store.catalog[name],
            let identity = try IdentityMap(store: store).knownIdentity(of: integer, in: parent)
        else { return value }
        return .reference(identity)
    }

    /// The record for a row that the table shows as `row`; versions whose value is just that are not spelled out,
    /// but for rows of another key, which a migration that gives this key to the table does not take away.
    func compress(
        _ full: RowState, shownAs row: TableReader.Row, in table: TrackedTable
    ) throws -> ClockRecord {
        var state = RowClock()
        state.inserts = full.state.inserts
        state.deletes = full.state.deletes
        let oldest = state.inserts.min { store.precedes($0, $1) }
        if let oldest {
            state.base = oldest
            state.inserts.removeAll { $0 == oldest }
            state.columnCount = table.columnCount
        }
        for column in 0..<table.columnCount { state.setCell(column, CellState()) }
        let isOfOther = table.isOfOtherKey(full.identity, full.state.cellsByName)
        for (name, cell) in full.state.cellsByName {
            guard let position = table.positions[name.folded] else {
                // A dropped column's name may come back in a log of a peer that still has it, and one that was skipped come.
                store.cached.hasLateRenames = nil
                state.cellsByName[name] = cell
                continue
            }
            var cell = cell
            let present = try identityValue(row.values[position], position, in: table)
            if !isOfOther && !store.keepsVersions(table, position) {
                for index in cell.versions.indices where cell.versions[index].value == present {
                    cell.versions[index].value = nil
                }
            }
            state.setCell(table.columns[position].id, cell)
        }
        return ClockRecord(state, of: full.identity, shownAs: row, reader(table))
    }

    /// What the columns of a row are to show: nil where it has no entry, so that the default stands.
    ///
    /// - Parameter replaced: what references show instead, as logs have it.
    func shownValues(
        _ full: RowState, in table: TrackedTable, replacing replaced: [Int: Value] = [:]
    ) throws -> [Value?] {
        try logicalValues(full, in: table).enumerated().map { position, value in
            try (replaced[position] ?? value).map { try localOrReserved($0, table.columns[position].reference) }
        }
    }

    /// What the columns would show if every reference were there, as logs have it.
    func intactValues(_ full: RowState, in table: TrackedTable) throws -> [Value] {
        try logicalValues(full, in: table).enumerated().map { position, value in
            value ?? store.defaultValue(of: table, position)
        }
    }

    private func logicalValues(_ full: RowState, in table: TrackedTable) throws -> [Value?] {
        let parts = table.keyParts(of: full.identity)
        return try table.columns.enumerated().map { position, column in
            if let cell = full.state.cellsByName[column.name]
                ?? full.state.cellsByName.first(where: {
                    $0.key.folded == column.name.folded
                })?.value, let value = store.shown(cell, table.name, column.name)
            {
                return try meant(value, at: position, in: table)
            }
            if let parts, let part = table.key.firstIndex(where: { $0.index == position }) {
                return try meant(parts[part].value, at: position, in: table)
            }
            return nil
        }
    }

    // MARK: Putting in and taking out

    /// Puts a row that is beside its table into it. False where a constraint refuses it; then nothing changed.
    ///
    /// - Parameter replaced: what references show instead.
    func show(_ full: RowState, in table: TrackedTable, replacing replaced: [Int: Value] = [:]) throws -> Bool {
        let values = try shownValues(full, in: table, replacing: replaced)
        guard let position = try insert(values, full.identity, integer: full.integer, in: table) else {
            try checkKey(full, values, in: table)
            return false
        }
        guard
            let row = try position.rowid.map({ try reader(table).row(at: $0) })
                ?? reader(table).row(
                    withKey: table.key.map { values[$0.index] ?? store.defaultValue(of: table, $0.index) })
        else {
            throw LogSyncError(.invalidStore, "a row written to \(table.name) cannot be read back; nothing was changed")
        }
        var record = try compress(full, shownAs: row, in: table)
        record.breaksCheck = position.breaksCheck
        try mark(&record, full, replaced, in: table)
        let place = try ClockTable(table: table, connection: connection).insert(record, at: position.rowid)
        try redeemReservation(position.rowid, in: table)
        try keepKey(full, shownAs: row, at: place, in: table, replacing: replaced)
        try FoldedKeys(store: store, table: table).keep(full.identity, at: place, replacing: replaced)
        let key = position.rowid.map { [.integer($0)] } ?? table.key.map { row.values[$0.index] }
        try LeftCells(table, in: store).giveBack(full, at: key)
        return true
    }

    /// Inserts values by column position; nil where a constraint refuses the row. Its record is the caller's to insert,
    /// and to say so with ``redeemReservation(_:in:)``.
    func insert(
        _ values: [Value?], _ identity: RowIdentity, integer: Int64?, in table: TrackedTable
    ) throws -> (rowid: Int64?, breaksCheck: Bool)? {
        var names: [String] = []
        var arguments: [Value] = []
        var taken: Int64?
        if let column = table.localInteger {
            let integer = try integers.next(hint: integer, for: identity, in: table)
            names.append(column)
            arguments.append(.integer(integer))
            taken = integer
        }
        for (position, value) in values.enumerated() {
            guard let value = value ?? store.momentaryDefault(of: table, position) else { continue }
            names.append(table.columns[position].local)
            arguments.append(value)
        }
        let row =
            names.isEmpty
            ? "DEFAULT VALUES" : "(\(SQL.list(names))) VALUES(\(SQL.placeholders(names.count)))"
        let statement = try RowStatement(table, on: connection) { "INSERT \($0)INTO \(table.quoted) \(row)" }
        var written = try statement.write(arguments)
        if written == .refused, var integer = taken, try table.hasUniqueOfInteger(on: connection) {
            // Any other integer of this store's own will do.
            for _ in 0..<Self.integersToTry where written == .refused {
                integer = IntegerAllocator.following(max(integer, try integers.highest(of: table)))
                written = try statement.write([.integer(integer)])
            }
            taken = integer
        }
        guard written != .refused else { return nil }
        guard table.hasRowid else { return (nil, written == .breakingCheck) }
        let rowid = connection.lastInsertedRow
        if let taken { integers.take(taken, in: table) }
        return (rowid, written == .breakingCheck)
    }

    /// How many integers are tried for a row that an index over an expression of them refuses.
    private static let integersToTry = 64

    /// A row has its integer, and a record that says whose it is: the promise of it is kept. Until then it tells the row
    /// what a reference to itself means.
    func redeemReservation(_ integer: Int64?, in table: TrackedTable) throws {
        guard table.localInteger != nil, let integer else { return }
        try identities.release(integer, in: table)
    }

    /// Shows a standing row's new state in its table. False where a constraint refuses it, or where the row moves because its
    /// key is another row's integer, which is another by now; then nothing changed.
    ///
    /// - Parameter replaced: what references show instead.
    func update(
        _ full: RowState, from former: ClockRecord, _ formerRow: TableReader.Row?, at position: Int64,
        in table: TrackedTable, replacing replaced: [Int: Value] = [:]
    ) throws -> Bool {
        let shown = try shownValues(full, in: table, replacing: replaced)
        var breaksCheck = former.breaksCheck
        var key = try place(full.identity, at: position, in: table) ?? []
        if !table.hasRowid, let formerRow { key = table.key.map { formerRow.values[$0.index] } }
        var changed: [(position: Int, value: Value)] = []
        for (position, value) in shown.enumerated() {
            let value = value ?? store.defaultValue(of: table, position)
            if formerRow?.values[position] != value { changed.append((position, value)) }
        }
        if let moved = table.integerKeyPosition, changed.contains(where: { $0.position == moved }) { return false }
        if !changed.isEmpty, former.breaksCheck {
            // SQLite looks only at the constraints that name a column which is set.
            changed = shown.enumerated().map { ($0.offset, $0.element ?? store.defaultValue(of: table, $0.offset)) }
        }
        if !changed.isEmpty {
            let statement = try RowStatement(table, on: connection) { table.update(changed.map(\.position), or: $0) }
            let written = try statement.write(changed.map(\.value) + key)
            guard written != .refused else {
                try checkKey(full, shown, in: table)
                return false
            }
            breaksCheck = written == .breakingCheck
        }
        let present =
            try table.hasRowid
            ? currentRow(full.identity, at: position, in: table)
            : reader(table).row(withKey: table.key.map { shown[$0.index] ?? .null })
        guard let row = present else { return false }
        var record = try compress(full, shownAs: row, in: table)
        record.breaksCheck = breaksCheck
        try mark(&record, full, replaced, in: table)
        let formerUniques = former.uniques.isEmpty && table.findsByKeyDigest ? record.uniques : former.uniques
        try ClockTable(table: table, connection: connection)
            .update(record, at: position, formerUniques: formerUniques)
        try keepKey(full, shownAs: row, at: position, in: table, replacing: replaced)
        try FoldedKeys(store: store, table: table).keep(full.identity, at: position, replacing: replaced)
        return true
    }

    /// Whether a row breaks a CHECK constraint, whatever was written to it last.
    func breaksCheck(_ row: TableReader.Row, at position: Int64, in table: TrackedTable) throws -> Bool {
        let same = table.columns.map { "\(SQL.name($0.local)) = \(SQL.name($0.local))" }.joined(separator: ", ")
        let condition = table.hasRowid ? "\(table.rowid) = ?" : table.keyCondition
        let key = table.hasRowid ? [.integer(position)] : table.key.map { row.values[$0.index] }
        let statement = try store.connection.prepare(
            "UPDATE \(WrittenConflicts.abortClause)\(table.quoted) SET \(same) WHERE \(condition)")
        for (index, value) in key.enumerated() { statement.bind(value, at: index + 1) }
        return try store.connection.withoutTriggers {
            try store.connection.withoutSwitchedTriggers { try statement.write() == .breakingCheck }
        }
    }

    /// Takes a standing row out of its table; its integer stays promised to it.
    func hide(_ full: RowState, at position: Int64, uniques: [Int32], in table: TrackedTable) throws {
        try LeftCells(table, in: store).keep(full, at: position)
        try remove(full.identity, at: position, in: table)
        let uniques = table.findsByKeyDigest && !full.identity.isSurrogate ? [table.keyDigest(full.identity)] : uniques
        try ClockTable(table: table, connection: connection).delete(position, uniques: uniques)
        if table.localInteger != nil { try identities.reserve(position, for: full.identity, in: table) }
    }

    /// Deletes a row from its table alone.
    func remove(_ identity: RowIdentity, at position: Int64, in table: TrackedTable) throws {
        if table.hasRowid {
            let statement = try connection.prepare(table.deleteByRowid)
            statement.bind(position, at: 1)
            try statement.run()
        } else if let key = try shownKey(identity, at: position, in: table) {
            let statement = try connection.prepare(table.deleteByKey)
            for (index, value) in key.enumerated() { statement.bind(value, at: index + 1) }
            try statement.run()
        }
    }
}
