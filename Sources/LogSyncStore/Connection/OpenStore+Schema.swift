import LogSyncModel
import LogSyncSQLite
import LogSyncState

extension OpenStore {
    func uniqueKeys(of table: TrackedTable) throws -> [UniqueKey] {
        if let keys = uniqueKeys[table.id] { return keys }
        let keys = try UniqueKey.read(table, on: connection)
        uniqueKeys[table.id] = keys
        return keys
    }
}

extension OpenStore {
    /// The positions of a table's counters. Their versions keep their values, because the table shows sums.
    func counters(of table: TrackedTable) -> [Int] {
        guard policies.hasCounters else { return [] }
        return table.columns.indices.filter { policies.isCounter(table.name, table.columns[$0].name) }
    }

    /// Spells out the values of counters' versions in a record whose table shows just them.
    func spellOutCounters(_ state: inout RowClock, shown row: [Value], in table: TrackedTable) {
        for position in counters(of: table) {
            let id = table.columns[position].id
            var cell = state.cell(id)
            for index in cell.versions.indices where cell.versions[index].value == nil {
                cell.versions[index].value = row[position]
            }
            state.setCell(id, cell)
        }
    }
}

extension OpenStore {
    /// What a column shows where it has no entry.
    func defaultValue(of table: TrackedTable, _ position: Int) -> Value {
        let key = "\(table.id).\(table.columns[position].id)"
        if let known = defaults[key] { return known }
        var value = Value.null
        if let sql = table.schema.column(table.columns[position].local)?.defaultSQL,
            let read = try? connection.scalar("SELECT \(sql)")
        {
            // The default's SQL was accepted by SQLite when the column was declared; one that needs a row's context
            // cannot be evaluated alone, and no column that was added later may have such a default.
            value = table.schema.affinity(of: table.columns[position].local).apply(to: read)
        }
        defaults[key] = value
        return value
    }
}
