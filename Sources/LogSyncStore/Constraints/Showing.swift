import LogSyncModel

/// Puts what was decided into the tables: first what does not stand any more goes, then what shows something else
/// changes, then what stands anew comes, parents first.
struct Showing {
    let session: Session
    let standing: Standing
    let contenders: Contenders

    init(_ session: Session, standing: Standing, contenders: Contenders) {
        self.session = session
        self.standing = standing
        self.contenders = contenders
    }

    func show(noting note: Settling.Note) throws {
        let all = contenders.sorted()
        for contender in all where !contender.stands { try park(contender, noting: note) }
        var rising: [(contender: Contender, wasParked: Bool)] = []
        for contender in all where contender.stands && contender.position == nil {
            rising.append((contender, try prepare(contender)))
        }
        for contender in all where contender.stands && contender.position != nil {
            if try !rewrite(contender, noting: note) { rising.append((contender, false)) }
        }
        for (contender, wasParked) in rising { try raise(contender, wasParked: wasParked, noting: note) }
    }

    /// Gives a row that is to stand its integer before others are shown to refer to it. Returns whether it was parked.
    private func prepare(_ contender: Contender) throws -> Bool {
        let (table, identity) = (contender.table, contender.full.identity)
        let kept = KeptRows(session)
        let wasParked = try kept.row(table.name, identity) != nil
        // Its entries go on counting: only the place where they are kept changes.
        if wasParked { try kept.take(table.name, identity) }
        let references = References(session: session)
        if table.localInteger != nil, try references.reservedInteger(of: identity, in: table) == nil {
            let integer = try standing.freeInteger(hint: contender.full.integer, for: identity, in: table)
            try references.reserve(integer, for: identity, in: table)
        }
        return wasParked
    }

    private func raise(_ contender: Contender, wasParked: Bool, noting note: Settling.Note) throws {
        guard try standing.stand(contender.full, in: contender.table, replacing: contender.replaced) else {
            throw LogSyncError(
                .invalidStore,
                "a row of \(contender.table.name) that breaks no constraint was refused; nothing was changed",
                help: "Check the database with: PRAGMA integrity_check")
        }
        if wasParked { note(contender.table.name, .insert, nil, contender.full) }
    }

    private func park(_ contender: Contender, noting note: Settling.Note) throws {
        if let position = contender.position, let record = contender.record {
            try standing.float(contender.full, at: position, uniques: record.uniques, in: contender.table)
            note(contender.table.name, .delete, key(contender), nil)
        }
        var kept = KeptRows.Row(
            table: contender.table.name, identity: contender.full.identity, state: .parked,
            clock: contender.full.state, integer: contender.full.integer)
        // In a circle a row may stand by what others become of which it knows nothing.
        kept.waits = session.foreignRules.isInCircle(contender.table) ? nil : contender.waits
        switch contender.decision {
        case .parked(let reason): kept.reason = reason
        case .folded(let winner):
            kept.reason = "merged"
            kept.folded = winner
        case .undecided, .stands: break
        }
        try KeptRows(session).put(kept)
    }

    /// False where it has to be taken out first, because another row still shows what it is to show. It is out then.
    private func rewrite(_ contender: Contender, noting note: Settling.Note) throws -> Bool {
        guard let position = contender.position, let record = contender.record, let row = contender.row else {
            return true
        }
        let values = try standing.shownValues(contender.full, in: contender.table, replacing: contender.replaced)
        let isSame = zip(values, row.values).enumerated().allSatisfy { index, pair in
            (pair.0 ?? session.defaultValue(of: contender.table, index)) == pair.1
        }
        if isSame && record.isReplaced == !contender.replaced.isEmpty { return true }
        if !isSame { note(contender.table.name, .update, key(contender), nil) }
        if try standing.rewrite(
            contender.full, from: record, row, at: position, in: contender.table, replacing: contender.replaced)
        {
            return true
        }
        try standing.float(contender.full, at: position, uniques: record.uniques, in: contender.table)
        return false
    }

    private func key(_ contender: Contender) -> [Value]? {
        contender.row.map { contender.table.primaryKey(of: $0, at: contender.position) }
    }
}
