import LogSyncModel
import LogSyncState

/// Puts what was decided into the tables: first what does not stand any more goes, then what shows something else
/// changes, then what stands anew comes, parents first.
struct ShownRowsUpdate {
    let store: OpenStore
    let shownRows: ShownRows
    let candidates: Candidates

    init(_ store: OpenStore, shownRows: ShownRows, candidates: Candidates) {
        self.store = store
        self.shownRows = shownRows
        self.candidates = candidates
    }

    func show(noting note: ShownRowsPass.Note) throws {
        let all = candidates.sorted()
        for candidate in all where !candidate.isShown { try park(candidate, noting: note) }
        var rising: [(candidate: Candidate, wasParked: Bool)] = []
        for candidate in all where candidate.isShown && candidate.position == nil {
            rising.append((candidate, try prepare(candidate)))
        }
        for candidate in all where candidate.isShown && candidate.position != nil {
            if try !rewrite(candidate, noting: note) { rising.append((candidate, false)) }
        }
        for (candidate, wasParked) in rising { try raise(candidate, wasParked: wasParked, noting: note) }
    }

    /// Gives a row that is to stand its integer before others are shown to refer to it. Returns whether it was parked.
    private func prepare(_ candidate: Candidate) throws -> Bool {
        let (table, identity) = (candidate.table, candidate.full.identity)
        let hidden = HiddenRows(store)
        let wasParked = try hidden.row(table.name, identity) != nil
        // Its entries go on counting: only the place where they are kept changes.
        if wasParked { try hidden.take(table.name, identity) }
        let identities = IdentityMap(store: store)
        if table.localInteger != nil, try identities.reservedInteger(of: identity, in: table) == nil {
            let integer = try shownRows.freeInteger(hint: candidate.full.integer, for: identity, in: table)
            try identities.reserve(integer, for: identity, in: table)
        }
        return wasParked
    }

    private func raise(_ candidate: Candidate, wasParked: Bool, noting note: ShownRowsPass.Note) throws {
        guard try shownRows.show(candidate.full, in: candidate.table, replacing: candidate.replaced) else {
            throw LogSyncError(
                .invalidStore,
                "a row of \(candidate.table.name) that breaks no constraint was refused; nothing was changed",
                help: "Check the database with: PRAGMA integrity_check")
        }
        if wasParked { note(candidate.table.name, .insert, nil, candidate.full) }
    }

    private func park(_ candidate: Candidate, noting note: ShownRowsPass.Note) throws {
        if let position = candidate.position, let record = candidate.record {
            try shownRows.hide(candidate.full, at: position, uniques: record.uniques, in: candidate.table)
            note(candidate.table.name, .delete, key(candidate), nil)
        }
        var hidden = HiddenRows.Row(
            table: candidate.table.name, identity: candidate.full.identity, state: .parked,
            clock: candidate.full.state, integer: candidate.full.integer)
        // In a circle a row may stand by what others become of which it knows nothing.
        hidden.waits = store.referenceRules.isInCircle(candidate.table) ? nil : candidate.waits
        switch candidate.decision {
        case .parked(let reason): hidden.reason = reason
        case .folded(let winner):
            hidden.reason = "merged"
            hidden.folded = winner
        case .undecided, .shown: break
        }
        try HiddenRows(store).put(hidden)
    }

    /// False where it has to be taken out first, because another row still shows what it is to show. It is out then.
    private func rewrite(_ candidate: Candidate, noting note: ShownRowsPass.Note) throws -> Bool {
        guard let position = candidate.position, let record = candidate.record, let row = candidate.row else {
            return true
        }
        let values = try shownRows.shownValues(candidate.full, in: candidate.table, replacing: candidate.replaced)
        let isSame = zip(values, row.values).enumerated().allSatisfy { index, pair in
            (pair.0 ?? store.defaultValue(of: candidate.table, index)) == pair.1
        }
        if isSame && record.isReplaced == !candidate.replaced.isEmpty { return true }
        if !isSame { note(candidate.table.name, .update, key(candidate), nil) }
        if try shownRows.update(
            candidate.full, from: record, row, at: position, in: candidate.table, replacing: candidate.replaced)
        {
            return true
        }
        try shownRows.hide(candidate.full, at: position, uniques: record.uniques, in: candidate.table)
        return false
    }

    private func key(_ candidate: Candidate) -> [Value]? {
        candidate.row.map { candidate.table.primaryKey(of: $0, at: candidate.position) }
    }
}
