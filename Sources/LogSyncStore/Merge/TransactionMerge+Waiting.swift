import LogSyncModel
import LogSyncState

/// Rows that wait for others of their transaction (``WaitingRows``).
extension TransactionMerge {
    func applyDeferredRows() throws {
        guard !deferred.isEmpty else { return }
        var waiting = WaitingRows(deferred, store.referenceRules)
        deferred = []
        var decisions = 0
        while true {
            let isWorthDeciding = waiting.readyCount == 0 || waiting.readyCount >= Self.leastBatch
            if isWorthDeciding, decisions < Self.mostEarlyDecisions, try decideEarly(&waiting) { decisions += 1 }
            let ready = waiting.takeReady()
            if !ready.isEmpty {
                try apply(ready, of: &waiting)
                continue
            }
            // Rows that refer to each other, and to nothing else that is still to come.
            let circles = decisions < Self.mostEarlyDecisions ? waiting.takeCircles() : []
            if circles.isEmpty { break }
            try applyUndeferred(circles.map { waiting.rows[$0] })
            waiting.release(circles)
        }
        try applyUndeferred(waiting.rest.map { waiting.rows[$0] })
    }

    /// How often contested rows are decided before what refers to them.
    private static let mostEarlyDecisions = 64

    /// Tries rows, many at a time where nothing contests them. What has to wait for more is blocked.
    private func apply(_ places: [Int], of waiting: inout WaitingRows) throws {
        let groups = early == nil && undecided.isEmpty ? waiting.groups(of: places) : []
        var left = groups.isEmpty ? places : []
        for alike in groups {
            guard alike.count >= Self.leastBatch, let group = WaitingRows.group(alike.map { waiting.rows[$0] }) else {
                left += alike
                continue
            }
            left += try batches.apply(group, GroupTarget(group, store.catalog[group.table])).map { alike[$0] }
        }
        try batches.flush()
        var blocked: Set<Int> = []
        for place in left {
            try apply(waiting.rows[place], mayDefer: !waiting.refersToItself(place))
            if !deferred.isEmpty { blocked.insert(place) }
            deferred = []
        }
        waiting.release(places.filter { !blocked.contains($0) })
        waiting.block(left.filter(blocked.contains))
    }

    /// From how many rows on they are tried together.
    private static let leastBatch = 16

    /// Decides the rows that a constraint has refused so far, as if the transaction ended here, so that what refers to them, and
    /// contests nothing itself, need not be decided with them: it may be a whole tree.
    ///
    /// - Returns: false where there are none, or where a setting of the transaction may decide otherwise.
    private func decideEarly(_ waiting: inout WaitingRows) throws -> Bool {
        guard !undecided.isEmpty, counts[SettingTable.name] == nil else { return false }
        let refused = undecided
        undecided = []
        undecidedNames = UndecidedNames()
        try ShownRowsPass(store, shownRows: shownRows).run(refused, touching: touchedTables, notes: notes)
        waiting.retry(after: refused.map(\.full.identity))
        return true
    }

    private func applyUndeferred(_ rows: [IncomingRow]) throws {
        try reserveIntegers(for: rows)
        for row in rows { try apply(row, mayDefer: false) }
    }

    /// Rows that refer to each other get their integers before any of them is there.
    private func reserveIntegers(for rows: [IncomingRow]) throws {
        let identities = IdentityMap(store: store)
        for row in rows where row.group.kind == .insert {
            guard let table = row.table, table.localInteger != nil,
                try identities.integer(of: row.identity, in: table) == nil
            else { continue }
            let integer = try shownRows.integers.next(hint: row.integer, for: row.identity, in: table)
            try identities.reserve(integer, for: row.identity, in: table)
        }
    }
}
