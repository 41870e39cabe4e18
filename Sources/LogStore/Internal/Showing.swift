import LogModel

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
        var rising: [Contender] = []
        for contender in all where contender.stands {
            if contender.position == nil {
                rising.append(contender)
            } else if try !rewrite(contender, noting: note) {
                rising.append(contender)
            }
        }
        try raise(rising, noting: note)
    }

    private func park(_ contender: Contender, noting note: Settling.Note) throws {
        if let position = contender.position, let record = contender.record {
            try standing.float(contender.full, at: position, uniques: record.uniques, in: contender.table)
            note(contender.table.name, .delete, key(contender), nil)
        }
        var kept = KeptRows.Row(
            table: contender.table.name, identity: contender.full.identity, state: .parked,
            clock: contender.full.state, integer: contender.full.integer)
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

    private func raise(_ rising: [Contender], noting note: Settling.Note) throws {
        let references = References(session: session)
        for contender in rising where contender.table.localInteger != nil {
            let identity = contender.full.identity
            guard try references.reservedInteger(of: identity, in: contender.table) == nil else { continue }
            // Rows that refer to each other get their integers before any of them is there.
            let integer = try standing.freeInteger(hint: contender.full.integer, for: identity, in: contender.table)
            try references.reserve(integer, for: identity, in: contender.table)
        }
        for contender in rising {
            let wasParked = try KeptRows(session).row(contender.table.name, contender.full.identity) != nil
            guard try standing.stand(contender.full, in: contender.table, replacing: contender.replaced) else {
                throw LogSyncError(
                    .invalidStore,
                    "a row of \(contender.table.name) that breaks no constraint was refused; nothing was changed",
                    help: "Check the database with: PRAGMA integrity_check")
            }
            if wasParked {
                // Its entries go on counting: only the place where they are kept changes.
                try KeptRows(session).take(contender.table.name, contender.full.identity)
                note(contender.table.name, .insert, nil, contender.full)
            }
        }
    }

    private func key(_ contender: Contender) -> [Value]? {
        guard let row = contender.row else { return nil }
        if contender.table.schema.integerKey != nil { return contender.position.map { [.integer($0)] } }
        let key = contender.table.schema.keyColumns.compactMap {
            contender.table.localPositions[$0.name.lowercased()]
        }
        return key.isEmpty ? contender.position.map { [.integer($0)] } : key.map { row.values[$0] }
    }
}
