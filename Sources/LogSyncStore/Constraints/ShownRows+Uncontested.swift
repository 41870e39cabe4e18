import LogSyncModel
import LogSyncState

/// Rows whose references can be told to hold without deciding about others: nearly all. Where that cannot be told, or where a
/// constraint refuses the row, nothing changes, and the row is decided with the others at the end (``ShownRowsPass``).
extension ShownRows {
    /// Puts a row that is beside its table into it, all its references intact. False where it has to be decided.
    func showUncontested(_ full: RowState, in table: TrackedTable) throws -> Bool {
        try !isPromisedNoOwnInteger(full.identity, in: table) && satisfiesRules(full, in: table)
            && show(full, in: table)
    }

    /// Whether rows refer to it by an integer that no program gives: they change with it when it comes.
    func isPromisedNoOwnInteger(_ identity: RowIdentity, in table: TrackedTable) throws -> Bool {
        guard store.hasReserved, table.localInteger != nil else { return false }
        return try integers.givesWay(
            IdentityMap(store: store).reservedInteger(of: identity, in: table) ?? 0, in: table)
    }

    /// Shows a shown row's new state, all its references intact. False where it has to be decided.
    func updateUncontested(
        _ full: RowState, from former: ClockRecord, _ formerRow: TableReader.Row?, at position: Int64,
        in table: TrackedTable
    ) throws -> Bool {
        guard try !former.isReplaced && satisfiesRules(full, in: table) else { return false }
        return try update(full, from: former, formerRow, at: position, in: table)
    }

    /// Whether every row that a row depends on is shown.
    private func satisfiesRules(_ full: RowState, in table: TrackedTable) throws -> Bool {
        guard !store.referenceRules.of(table).isEmpty else { return true }
        let values = try intactValues(full, in: table)
        return try Neighbours(store, shownRows: self).satisfiesRules(table) { values[$0] } ?? false
    }
}
