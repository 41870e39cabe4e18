import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Decides contested cells again when a merge policy has changed: what is shown is a function of the versions and the
/// policy, whenever either came.
struct PolicyChange {
    let store: OpenStore
    let shownRows: ShownRows

    /// - Parameter standing: the import's own, which knows what rows that went in it were called.
    init(store: OpenStore, shownRows: ShownRows? = nil) {
        self.store = store
        self.shownRows = shownRows ?? ShownRows(store)
    }

    /// Call it after settings may have changed. Returns whether a policy or a peer's name did.
    ///
    /// - Parameter always: whether what is shown is decided again even where the policies in force are the ones that are set:
    ///   another connection may have set them, and left this to be done.
    @discardableResult
    func apply(always: Bool = false) throws -> Bool {
        guard try store.reloadPolicies() || always else { return false }
        for table in store.catalog.tables where !store.counters(of: table).isEmpty {
            try spellOutCounters(of: table)
        }
        var undecided: [UndecidedRow] = []
        var formerRows: [FormerRow] = []
        for table in store.catalog.tables {
            let isNamedByValue = store.referenceRules.to(table).contains { !$0.isByInteger }
            let rows = try store.connection.rows("SELECT row FROM \(table.clock) WHERE conflict IS NOT NULL")
            for row in rows {
                let position = row[0].asInteger
                guard let (full, record, present) = try shownRows.full(at: position, in: table), !record.isReplaced
                else { continue }
                let former = FormerRow(table: table, integer: position, values: present.values)
                if try shownRows.updateUncontested(full, from: record, present, at: position, in: table) {
                    // Rows that refer to it by what it showed may refer to no row now.
                    if isNamedByValue { formerRows.append(former) }
                } else {
                    try shownRows.hide(full, at: position, uniques: record.uniques, in: table)
                    undecided.append(UndecidedRow(full: full, former: former))
                }
            }
        }
        try ShownRowsPass(store, shownRows: shownRows).run(undecided, formerRows: formerRows)
        return true
    }

    /// What the table shows now is what versions without a value of their own mean; once it shows sums it no longer is.
    private func spellOutCounters(of table: TrackedTable) throws {
        let clock = ClockTable(table: table, connection: store.connection)
        for row in try store.connection.rows("SELECT row FROM \(table.clock)") {
            guard let (_, record, present) = try shownRows.full(at: row[0].asInteger, in: table) else { continue }
            var spelled = record
            store.spellOutCounters(&spelled.state, shown: present.values, in: table)
            if spelled.state != record.state {
                try clock.update(spelled, at: row[0].asInteger, formerUniques: spelled.uniques)
            }
        }
    }
}
