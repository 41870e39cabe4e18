import LogSyncModel
import LogSyncState

/// Completing rows that are kept for want of their table, once the names of its key are known.
extension KeyNames {
    /// Remembers what the key of a table that is not here consists of, and completes the rows that are kept of it.
    func learn(_ names: [String], of table: String) throws {
        guard !names.isEmpty, store.absentKeys[table.folded] != names else { return }
        store.absentKeys[table.folded] = names
        try store.facts.set(Self.prefix + table.folded, .text(Array(try KeyList.encode(names).utf8)[...]))
        for row in try HiddenRows(store).rows(.unknownTable, of: table) { try complete(row, names) }
    }

    /// Gives a kept row the cells of its key; returns it as it is then.
    @discardableResult
    func complete(_ row: HiddenRows.Row, _ names: [String]) throws -> HiddenRows.Row {
        var full = RowState(table: row.table, identity: row.identity, state: row.clock, integer: row.integer)
        guard full.spellOutKey(key(of: row.table) ?? FirstKey(names: names, isOnly: true)) else { return row }
        var completed = row
        completed.clock = full.state
        store.countHidden(-1, row)
        store.countHidden(1, completed)
        try HiddenRows(store).put(completed)
        return completed
    }
}
