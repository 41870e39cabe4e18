import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns that came and seem to refer to other tables' rows (``HeldReferences``).
extension ColumnChanges {
    /// A column is left alone, and those after it have their ids less one.
    fileprivate mutating func forget(_ id: Int) {
        added.removeAll { $0 == id }
        for path in [\ColumnChanges.added, \.decided, \.released] {
            self[keyPath: path] = self[keyPath: path].map { $0 > id ? $0 - 1 : $0 }
        }
        foundNew = Set(foundNew.map { $0 > id ? $0 - 1 : $0 })
    }
}

extension SchemaReconciliation {
    /// The columns of a table that are left alone because nobody has decided upon them, by lower-case name.
    func heldReferences(of table: TrackedTable) throws -> Set<String> {
        let held = HeldReferences(connection)
        let noted = try held.of(table.id)
        let open = try noted.filter { try !held.isDecided($0) }
        if open != noted { try held.set(open, of: table.id) }
        return Set(open.map { $0.column.folded })
    }

    /// Leaves columns alone that have just been added, where they seem to refer to other rows and nobody has said so.
    ///
    /// - Returns: whether there are such columns.
    func holdReferences(_ changes: inout [Int64: ColumnChanges]) throws -> Bool {
        guard changes.values.contains(where: { !$0.added.isEmpty }) else { return false }
        let reports = try LaterColumns(connection).undeclared(in: store.catalog) { column, table in
            let found = changes[table.id] ?? ColumnChanges()
            return found.added.contains(column.id) && !found.released.contains(column.id) && !column.isKey
        }
        var isAny = false
        for table in store.catalog.tables {
            let found = Dictionary(grouping: reports.filter { $0.table == table.schema.name }, by: \.column)
            let columns = found.values.compactMap { HeldReferences.Column($0, in: table) }
                .sorted { $0.column < $1.column }
            guard !columns.isEmpty else { continue }
            isAny = true
            for column in columns {
                changes[table.id]?.heldReferences.append(column)
                let id = try HeldReferences(connection).forget(column.column, of: table.id)
                changes[table.id]?.forget(id)
            }
            try HeldReferences(connection).set(HeldReferences(connection).of(table.id) + columns, of: table.id)
            try tell(columns)
        }
        return isAny
    }

    private func tell(_ columns: [HeldReferences.Column]) throws {
        for column in columns {
            let parents = column.parents.map { store.catalog[local: $0]?.name ?? $0 }
            try Settings(store).set(HeldReferences.setting, column.target, try KeyList.encode(parents))
        }
    }

    /// Notes what rows hold in columns that have just been left alone: what differs when it is decided what such a column is
    /// was written since.
    func noteHeld(_ columns: [HeldReferences.Column], in table: TrackedTable, _ continued: ContinuedRows) throws {
        guard !columns.isEmpty else { return }
        let held = HeldValues(of: table, on: connection)
        try held.makeTable()
        for column in columns { try held.forget(column.logName(in: table)) }
        let cells = HeldCells(columns: columns.map(\.column), table: table, connection: connection)
        let clock = ClockTable(table: table, connection: connection)
        let shownRows = ShownRows(store)
        for position in try clock.allRows() {
            guard let record = try clock.record(at: position),
                let (row, rowid) = try continued.row(of: record, at: position),
                let identity = try record.named ?? shownRows.spelledIdentity(row, in: table)
            else { continue }
            for (column, value) in zip(columns, try cells.values(row, rowid)) {
                try held.note(cells.digest(value), of: column.logName(in: table), in: identity)
            }
        }
    }

    /// Forgets tables that are left alone no longer: all of their columns are decided, or they are gone.
    func releaseTables() throws {
        let held = HeldReferences(connection)
        for (name, columns) in try held.tables() where try columns.allSatisfy(held.isDecided) {
            try held.set([], ofTable: name)
        }
        store.cached.hasHeldReferences = nil
    }

    /// Leaves tables alone that have just come with columns which seem to refer to other rows and of which nobody has said so.
    ///
    /// - Returns: those tables, by names in the database.
    func holdTables(_ names: Set<String>) throws -> Set<String> {
        let reports = try LaterColumns(connection).undeclared(in: store.catalog) { names.contains($1.schema.name) }
        var left: Set<String> = []
        for table in store.catalog.tables {
            let found = Dictionary(grouping: reports.filter { $0.table == table.schema.name }, by: \.column)
            let columns = found.values.compactMap { HeldReferences.Column($0, in: table) }
                .sorted { $0.column < $1.column }
            guard !columns.isEmpty else { continue }
            try HeldReferences(connection).set(columns, ofTable: table.schema.name)
            try tell(columns)
            left.insert(table.schema.name)
            for name in ["logsync_column", "logsync_table"] {
                let key = name == "logsync_table" ? "id" : "table_id"
                try connection.run("DELETE FROM \(name) WHERE \(key) = ?", .integer(table.id))
            }
        }
        return left
    }
}
