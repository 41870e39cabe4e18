import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Puts what was decided into the tables: rows that are not shown any more go first, then rows that show something else
/// change, then rows that are shown anew come, parents first.
struct ShownRowsUpdate {
    let store: OpenStore
    let shownRows: ShownRows
    let candidates: Candidates
    let notes: ChangeNotes?

    func run() throws {
        let all = candidates.all.sorted(by: store.isOlder)
        let held = heldIntegers(all)
        for candidate in all where !candidate.isShown { try park(candidate) }
        try handOverIntegers(all)
        for candidate in all where !candidate.isShown {
            if let integer = candidate.position ?? candidate.former?.integer,
                held[candidate.table.id]?.contains(integer) ?? false
            {
                try leave(integer, of: candidate)
            }
        }
        var coming: [(candidate: Candidate, wasParked: Bool)] = []
        for candidate in all where candidate.isShown && candidate.position == nil {
            coming.append((candidate, try takeOut(candidate)))
        }
        for candidate in all where candidate.isShown && candidate.position != nil {
            if try !update(candidate) { coming.append((candidate, false)) }
        }
        for (candidate, wasParked) in coming { try show(candidate, wasParked: wasParked) }
    }

    /// Takes a row that is to be shown from where it is kept, and gives it its integer before other rows are shown to refer to
    /// it. Returns whether it was parked.
    private func takeOut(_ candidate: Candidate) throws -> Bool {
        let (table, identity) = (candidate.table, candidate.full.identity)
        let hidden = HiddenRows(store)
        let wasParked = try hidden.row(table.name, identity) != nil
        // Its entries go on counting: only the place where they are kept changes.
        if wasParked { try hidden.take(table.name, identity) }
        let identities = IdentityMap(store: store)
        let reserved = table.localInteger == nil ? nil : try identities.reservedInteger(of: identity, in: table)
        // One that no program gives was promised as long as the row was not here.
        let givesWay = reserved.map { shownRows.integers.givesWay($0, in: table) } ?? true
        // One that no program gives was promised as long as the row was not here.
        if givesWay, let reserved { try identities.release(reserved, in: table) }
        if table.localInteger != nil, givesWay {
            let integer = try shownRows.integers.next(hint: candidate.full.integer, for: identity, in: table)
            try identities.reserve(integer, for: identity, in: table)
        }
        return wasParked
    }

    /// By table id, what the rows hold that go on being shown, where they refer to others' integers.
    private func heldIntegers(_ all: [Candidate]) -> [Int64: Set<Int64>] {
        var held: [Int64: Set<Int64>] = [:]
        for candidate in all where candidate.isShown {
            guard let row = candidate.row else { continue }
            for (column, value) in zip(candidate.table.columns, row.values) {
                guard case .integer(let integer) = value,
                    let parent = column.reference.flatMap({ store.catalog[$0] })
                else { continue }
                held[parent.id, default: []].insert(integer)
            }
        }
        return held
    }

    /// Promises another integer to a row that is parked: a program gives the one that it had to its next row, and what refers
    /// to the parked one would come to mean that.
    private func leave(_ integer: Int64, of candidate: Candidate) throws {
        let (table, identities) = (candidate.table, IdentityMap(store: store))
        guard table.localInteger != nil, integer > IntegerAllocator.promised, shownRows.integers.mayBeLeft(table),
            try identities.reservedIdentity(of: integer, in: table) == candidate.full.identity
        else { return }
        try identities.release(integer, in: table)
        _ = try shownRows.integers.reserve(for: candidate.full.identity, in: table)
    }

    /// Promises the integer of a row that stood here to the one that it is folded into, where that comes with none of its own:
    /// a program goes on naming the row by it, in its code and its triggers, too.
    private func handOverIntegers(_ all: [Candidate]) throws {
        let identities = IdentityMap(store: store)
        for candidate in all {
            let table = candidate.table
            guard case .folded(let winner) = candidate.decision, table.localInteger != nil,
                shownRows.integers.mayBeLeft(table), let integer = candidate.position ?? candidate.former?.integer,
                let coming = candidates[RowName(table, winner)], coming.isShown, coming.position == nil,
                coming.former == nil, try identities.reservedIdentity(of: integer, in: table) == candidate.full.identity
            else { continue }
            if let promised = try identities.reservedInteger(of: winner, in: table) {
                guard shownRows.integers.givesWay(promised, in: table) else { continue }
                try identities.release(promised, in: table)
            }
            try identities.release(integer, in: table)
            try identities.reserve(integer, for: winner, in: table)
            _ = try shownRows.integers.reserve(for: candidate.full.identity, in: table)
        }
    }

    private func show(_ candidate: Candidate, wasParked: Bool) throws {
        let table = candidate.table
        guard try shownRows.show(candidate.full, in: table, replacing: candidate.replaced) else {
            throw try AppTriggers.refusal(of: table, on: store.connection)
                ?? UndecidableIndex.of(table, in: store.catalog, on: store.connection).first?.error
                ?? LogSyncError(
                    .invalidStore,
                    "a row of \(table.name) that breaks no constraint was refused; nothing was changed",
                    help: "Check the database with: PRAGMA integrity_check")
        }
        guard let notes, wasParked || candidate.isCounted != nil, candidate.former == nil,
            let key = try shownRows.primaryKey(of: candidate.full.identity, in: table)
        else { return }
        if candidate.isCounted ?? false {
            notes.noteKey(table.name, .insert, key)
        } else {
            notes.note(table.name, .insert, key)
        }
    }

    private func park(_ candidate: Candidate) throws {
        if let position = candidate.position, let record = candidate.record {
            try shownRows.hide(candidate.full, at: position, uniques: record.uniques, in: candidate.table)
            try notes?.noteDelete(of: candidate.row, at: candidate.position, in: candidate.table, store)
        } else if candidate.isCounted == false {
            notes?.note(candidate.table.name, .update)
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
    private func update(_ candidate: Candidate) throws -> Bool {
        guard let position = candidate.position, let record = candidate.record, let row = candidate.row else {
            return true
        }
        let values = try shownRows.shownValues(candidate.full, in: candidate.table, replacing: candidate.replaced)
        let isSame = zip(values, row.values).enumerated().allSatisfy { index, pair in
            (pair.0 ?? store.defaultValue(of: candidate.table, index)) == pair.1
        }
        if isSame && record.isReplaced == !candidate.replaced.isEmpty { return true }
        if !isSame { notes?.note(candidate.table.name, .update, key(candidate), columns: different(values, candidate)) }
        if try shownRows.update(
            candidate.full, from: record, row, at: position, in: candidate.table, replacing: candidate.replaced)
        {
            return true
        }
        try shownRows.hide(candidate.full, at: position, uniques: record.uniques, in: candidate.table)
        return false
    }

    /// The columns in which a row shows something else than it is to show.
    private func different(_ values: [Value?], _ candidate: Candidate) -> [String] {
        guard let row = candidate.row else { return [] }
        return candidate.table.columns.indices.filter {
            (values[$0] ?? store.defaultValue(of: candidate.table, $0)) != row.values[$0]
        }.map { candidate.table.columns[$0].local }
    }

    private func key(_ candidate: Candidate) -> [Value]? {
        candidate.row.map { candidate.table.primaryKey(of: $0, at: candidate.position) }
    }
}
