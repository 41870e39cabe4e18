import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Settles which rows stand in their tables after a transaction (Documentation/model.md, shown state).
///
/// Only rows that contest something are looked at: rows that a constraint refused, rows whose parents went, the
/// parked ones, and whatever their decisions touch in turn.
struct ShownRowsPass {
    let store: OpenStore
    let shownRows: ShownRows

    private var connection: Connection { store.connection }
    private var rules: ReferenceRules { store.referenceRules }
    private var neighbours: Neighbours { Neighbours(store, shownRows: shownRows) }

    init(_ store: OpenStore, shownRows: ShownRows) {
        self.store = store
        self.shownRows = shownRows
    }

    /// - Parameters:
    ///   - undecided: rows that are beside their tables and have to be decided.
    ///   - formerRows: rows, as they were shown, that are deleted or show something else: rows that refer to them are decided
    ///     again.
    ///   - tables: the ids of the tables that the transaction touched; nil for all.
    ///   - asksOfDangling: whether rows that refer to rows which are not here are decided again: a migration may have declared
    ///     a foreign key that asks for these.
    ///   - notes: is told which rows change; nil where nobody listens.
    func run(
        _ undecided: [UndecidedRow] = [], formerRows: [FormerRow] = [], touching tables: Set<Int64>? = nil,
        asksOfDangling: Bool = false, notes: ChangeNotes? = nil
    ) throws {
        guard
            !undecided.isEmpty || !formerRows.isEmpty || store.hasHidden || store.hasReplaced
                || asksOfDangling && store.hasReserved
        else { return }
        var candidates = Candidates()
        for row in undecided {
            guard let table = store.catalog[row.full.table] else { continue }
            candidates.add(try candidate(row.full, in: table, former: row.former, isCounted: row.isCounted))
        }
        try addParked(to: &candidates, touching: tables)
        try addReplaced(to: &candidates, touching: tables)
        if asksOfDangling { try addDangling(to: &candidates) }
        try add(try neighbours.children(of: formerRows), to: &candidates)
        guard !candidates.isEmpty else { return }
        try decide(&candidates)
        try ShownRowsUpdate(store: store, shownRows: shownRows, candidates: candidates, notes: notes).run()
    }

    // MARK: Who is to be decided

    private func candidate(
        _ full: RowState, in table: TrackedTable,
        at position: (position: Int64, record: ClockRecord, row: TableReader.Row)? = nil, former: FormerRow? = nil,
        isCounted: Bool? = nil
    ) throws -> Candidate {
        Candidate(
            full, in: table, intact: try shownRows.intactValues(full, in: table), age: store.age(full), shown: position,
            former: former, isCounted: isCounted)
    }

    private func addParked(to candidates: inout Candidates, touching tables: Set<Int64>?) throws {
        guard store.hasHidden else { return }
        let hidden = HiddenRows(store)
        guard let tables else {
            try add(try hidden.rows(.parked), to: &candidates)
            return
        }
        let affected = rules.affected(by: tables)
        for table in store.catalog.tables where affected.contains(table.id) {
            try add(
                rules.isInContestedCircle(table)
                    ? hidden.rows(.parked, of: table.name) : hidden.rowsToReconsider(in: table, store.catalog.tables),
                to: &candidates)
        }
    }

    /// Returns whether there was one that was not among them.
    @discardableResult
    private func add(_ rows: [HiddenRows.Row], to candidates: inout Candidates) throws -> Bool {
        var isAny = false
        for row in rows where row.state == .parked {
            guard let table = store.catalog[row.table] else { continue }
            let full = RowState(table: table.name, identity: row.identity, state: row.clock, integer: row.integer)
            isAny = candidates.add(try candidate(full, in: table)) || isAny
        }
        return isAny
    }

    private func addReplaced(to candidates: inout Candidates, touching tables: Set<Int64>?) throws {
        guard store.hasReplaced else { return }
        let affected = tables.map { rules.affected(by: $0) }
        for table in store.catalog.tables where affected?.contains(table.id) ?? true {
            let rows = try connection.rows("SELECT row, conflict FROM \(table.clock) WHERE conflict >= 2")
            try add(rows.filter { $0[1].asInteger & 2 != 0 }.map { (table, $0[0].asInteger) }, to: &candidates)
        }
    }

    /// Rows whose foreign keys name, by its integer, a row that is not here, and that no program is about to put there.
    private func addDangling(to candidates: inout Candidates) throws {
        guard store.hasReserved else { return }
        let parents = try store.catalog.tables.filter { try !DroppedRows(store).isWaiting($0.name) }
        let promised = try connection.rows("SELECT table_id, integer FROM logsync_reserved").compactMap { row in
            parents.first { $0.id == row[0].asInteger }.map {
                FormerRow(table: $0, integer: row[1].asInteger, values: [])
            }
        }
        let children = try neighbours.children(of: promised) { $0.isByInteger && $0.strength != .unenforced }
        try add(children, to: &candidates)
    }

    /// Returns whether there was one that was not among them.
    @discardableResult
    private func add(
        _ rows: [(table: TrackedTable, position: Int64)], to candidates: inout Candidates
    ) throws -> Bool {
        var isAny = false
        for (table, position) in rows where !candidates.contains(table, at: position) {
            guard let (full, record, row) = try shownRows.full(at: position, in: table) else { continue }
            let candidate = try candidate(full, in: table, at: (position, record, row))
            isAny = candidates.add(candidate) || isAny
        }
        return isAny
    }

    // MARK: Deciding

    /// Decides, and takes in whatever turns out to have to do with it, until that is all.
    ///
    /// Everything is decided anew each time, so what is to be taken in is followed as far as it goes: a long row of rows
    /// that depend on each other comes in at once.
    private func decide(_ candidates: inout Candidates) throws {
        var explored = 0
        var asked = Asked()
        while true {
            try explore(&candidates, from: &explored)
            do {
                try ConstraintSolver(candidates, in: StoreSurroundings(store, shownRows: shownRows)).decide()
            } catch let wanted as ConstraintSolver.Wanted {
                guard try add(wanted.rows, to: &candidates) else {
                    throw LogSyncError(
                        .invalidStore,
                        "a row of \(wanted.rows[0].table.name) has no clock record; nothing was imported",
                        help: "Run `logsync rescan` on the store.")
                }
                continue
            }
            // References that nothing depends on follow a folded row too.
            if !store.hasFolded, candidates.all.contains(where: \.isFolded) {
                store.hasFolded = true
                asked = Asked()
            }
            guard try addChildren(to: &candidates, &asked) else { return }
        }
    }

    /// Takes in what has to do with a candidate whatever becomes of it: the rows in a circle with it, and the parked rows
    /// that wait for it.
    ///
    /// - Parameter first: how many of the candidates have been explored.
    private func explore(_ candidates: inout Candidates, from first: inout Int) throws {
        let solver = ConstraintSolver(Candidates(), in: StoreSurroundings(store, shownRows: shownRows))
        while first < candidates.all.count {
            let candidate = candidates.all[first]
            first += 1
            try add(try solver.rowsInCycles(with: candidate, besides: candidates), to: &candidates)
            let waiting = try HiddenRows(store).waiting(
                for: candidate.full.identity, at: candidate.position ?? candidate.former?.integer, in: candidate.table)
            try add(waiting, to: &candidates)
        }
    }

    /// The rows whose children have been taken in.
    private struct Asked {
        var changed: Set<RowName> = []
        var unseen: Set<RowName> = []
    }

    /// Takes in the rows that refer to such as are not there any more by what others knew them by; returns whether there were
    /// any.
    private func addChildren(to candidates: inout Candidates, _ asked: inout Asked) throws -> Bool {
        let first = candidates.all.count
        var (changed, gone): ([FormerRow], [FormerRow]) = ([], [])
        for candidate in candidates.all {
            guard let former = candidate.former, !asked.changed.contains(candidate.name),
                try !candidate.isShown || isOtherwiseCalled(candidate)
            else { continue }
            asked.changed.insert(candidate.name)
            changed.append(former)
            if !candidate.isShown, !candidate.isFolded { gone.append(former) }
        }
        let unseen = try promised(candidates, &asked)
        // A row that cannot do without one that is gone goes with it, and so on down.
        while !gone.isEmpty {
            let place = candidates.all.count
            try add(try neighbours.children(of: gone) { $0.strength == .hard }, to: &candidates)
            gone = candidates.all[place...].compactMap(\.former)
        }
        // What holds the integer of a row that goes is to hold one that no program gives to another.
        let counts = { (rule: ReferenceRule) in rule.strength != .unenforced || store.hasFolded || rule.isByInteger }
        try add(try neighbours.children(of: changed, by: counts), to: &candidates)
        // So is what holds a promised integer, and what that is named by as its key, and so on down.
        var named = try neighbours.children(of: unseen) { $0.namesIdentity }
        while !named.isEmpty {
            let place = candidates.all.count
            try add(named, to: &candidates)
            let holders = candidates.all[place...].compactMap(\.former)
            named = try neighbours.children(of: holders) { rule in
                rule.columns.contains { rule.child.columns[$0].reference != nil }
            }
        }
        return candidates.all.count > first
    }

    /// Rows that did not stand here, and to which others refer all the same, by their keys or by promised integers: they are
    /// folded, or are given integers of their own.
    private func promised(_ candidates: Candidates, _ asked: inout Asked) throws -> [FormerRow] {
        guard store.hasFolded || store.hasReserved else { return [] }
        return try candidates.all.compactMap { candidate in
            let table = candidate.table
            guard candidate.former == nil, candidate.isFolded || candidate.isShown && table.localInteger != nil,
                !asked.unseen.contains(candidate.name)
            else { return nil }
            guard table.localInteger != nil else {
                asked.unseen.insert(candidate.name)
                return FormerRow(table: table, integer: 0, values: candidate.intact)
            }
            guard let integer = try IdentityMap(store: store).reservedInteger(of: candidate.full.identity, in: table),
                candidate.isFolded || shownRows.integers.givesWay(integer, in: table)
            else { return nil }
            asked.unseen.insert(candidate.name)
            return FormerRow(table: table, integer: integer, values: candidate.intact)
        }
    }

    /// Whether a column that children name it by shows something else than before.
    private func isOtherwiseCalled(_ candidate: Candidate) throws -> Bool {
        let named = Set(
            rules.to(candidate.table).flatMap(\.parts).compactMap { part in
                if case .column(let position) = part { position } else { nil }
            })
        guard !named.isEmpty, let former = candidate.former else { return false }
        let shown = candidate.shown
        return try named.contains { position in
            // A reference is called by what it names, whatever its integer is here.
            guard candidate.table.columns[position].reference == nil else { return false }
            return try shownRows.identityValue(former.values[position], position, in: candidate.table)
                != shown[position]
        }
    }
}
