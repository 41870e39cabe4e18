import LogSyncModel

/// Settles which rows stand in their tables after a transaction (MODEL.md, shown state).
///
/// Only rows that contest something are looked at: those that a constraint refused, those whose parents went, the
/// parked ones, and whatever their decisions touch in turn.
struct Settling {
    let session: Session
    let standing: Standing

    typealias Note = (_ table: String, _ kind: RowGroup.Kind, _ key: [Value]?, _ row: FullRow?) -> Void

    private var connection: Connection { session.connection }
    private var rules: ForeignRules { session.foreignRules }
    private var neighbours: Neighbours { Neighbours(session, standing: standing) }

    init(_ session: Session, standing: Standing) {
        self.session = session
        self.standing = standing
    }

    /// - Parameters:
    ///   - floating: rows that are beside their tables and have to be decided.
    ///   - gone: rows that others may refer to and that are no more.
    ///   - tables: the ids of the tables that the transaction touched; nil for all.
    func settle(
        _ floating: [FloatingRow], gone: [GoneRow] = [], touching tables: Set<Int64>? = nil, noting note: Note
    ) throws {
        guard !floating.isEmpty || !gone.isEmpty || session.hasKept || session.hasReplaced else { return }
        var contenders = Contenders(session)
        for row in floating {
            guard let table = session.catalog[row.full.table] else { continue }
            contenders.add(try contender(row.full, in: table, former: row.former))
        }
        try addParked(to: &contenders, touching: tables)
        try addReplaced(to: &contenders, touching: tables)
        try add(try neighbours.children(of: gone), to: &contenders)
        guard !contenders.isEmpty else { return }
        try decide(&contenders)
        try Showing(session, standing: standing, contenders: contenders).show(noting: note)
    }

    // MARK: Who is to be decided

    private func contender(
        _ full: FullRow, in table: TrackedTable,
        at position: (position: Int64, record: ClockRecord, row: TableReader.Row)? = nil, former: GoneRow? = nil
    ) throws -> Contender {
        Contender(
            full, in: table, intact: standing.intactValues(full, in: table), age: session.age(full), standing: position,
            former: former)
    }

    private func addParked(to contenders: inout Contenders, touching tables: Set<Int64>?) throws {
        guard session.hasKept else { return }
        let kept = KeptRows(session)
        guard let tables else {
            try add(try kept.rows(.parked), to: &contenders)
            return
        }
        let affected = rules.affected(by: tables)
        for table in session.catalog.tables where affected.contains(table.id) {
            try add(
                rules.isInContestedCircle(table)
                    ? kept.rows(.parked, of: table.name) : kept.restless(in: table, session.catalog.tables),
                to: &contenders)
        }
    }

    /// Returns whether there was one that was not among them.
    @discardableResult
    private func add(_ rows: [KeptRows.Row], to contenders: inout Contenders) throws -> Bool {
        var isAny = false
        for row in rows where row.state == .parked {
            guard let table = session.catalog[row.table] else { continue }
            let full = FullRow(table: table.name, identity: row.identity, state: row.clock, integer: row.integer)
            isAny = contenders.add(try contender(full, in: table)) || isAny
        }
        return isAny
    }

    private func addReplaced(to contenders: inout Contenders, touching tables: Set<Int64>?) throws {
        guard session.hasReplaced else { return }
        let affected = tables.map { rules.affected(by: $0) }
        for table in session.catalog.tables where affected?.contains(table.id) ?? true {
            let rows = try connection.rows("SELECT row, conflict FROM \(table.clock) WHERE conflict >= 2")
            try add(rows.filter { $0[1].asInteger & 2 != 0 }.map { (table, $0[0].asInteger) }, to: &contenders)
        }
    }

    /// Returns whether there was one that was not among them.
    @discardableResult
    private func add(
        _ rows: [(table: TrackedTable, position: Int64)], to contenders: inout Contenders
    ) throws -> Bool {
        var isAny = false
        for (table, position) in rows where !contenders.contains(table, at: position) {
            guard let (full, record, row) = try standing.full(at: position, in: table) else { continue }
            let contender = try contender(full, in: table, at: (position, record, row))
            isAny = contenders.add(contender) || isAny
        }
        return isAny
    }

    /// Decides, and takes in whatever turns out to have to do with it, until that is all.
    private func decide(_ contenders: inout Contenders) throws {
        while true {
            do {
                let mirror = Mirror(session, standing: standing)
                try Deciding(session, contenders, neighbours: neighbours, mirror: mirror).decide()
            } catch let wanted as Deciding.Wanted {
                guard try add(wanted.rows, to: &contenders) else {
                    throw LogSyncError(
                        .invalidStore,
                        "a row of \(wanted.rows[0].table.name) has no clock record; nothing was imported",
                        help: "Run `logsync rescan` on the store.")
                }
                continue
            }
            // References that nothing depends on follow a folded row too.
            if contenders.all.contains(where: \.isFolded) { session.hasFolded = true }
            // What others knew it by is not there any more.
            let changed = try contenders.all.compactMap { contender in
                try contender.former.flatMap { try contender.stands && !isOtherwiseCalled(contender) ? nil : $0 }
            }
            let children =
                try neighbours.children(of: changed)
                + neighbours.children(of: try foldedUnseen(contenders)) { $0.namesIdentity }
            // Nor is what others waited for as it was.
            let waiting = try contenders.all.flatMap { contender in
                try KeptRows(session).waiting(
                    for: contender.full.identity, at: contender.position ?? contender.former?.integer,
                    in: contender.table)
            }
            let isMore = try [add(children, to: &contenders), add(waiting, to: &contenders)]
            guard isMore.contains(true) else { return }
        }
    }

    /// Folded rows that never stood here: others refer to them all the same, by their keys or by promised integers.
    private func foldedUnseen(_ contenders: Contenders) throws -> [GoneRow] {
        guard session.hasFolded else { return [] }
        return try contenders.all.compactMap { contender in
            guard contender.isFolded, contender.former == nil else { return nil }
            let table = contender.table
            guard table.localInteger != nil else { return GoneRow(table: table, integer: 0, values: contender.intact) }
            guard session.hasReserved else { return nil }
            return try References(session: session).reservedInteger(of: contender.full.identity, in: table)
                .map { GoneRow(table: table, integer: $0, values: contender.intact) }
        }
    }

    /// Whether a column that children name it by shows something else than before.
    private func isOtherwiseCalled(_ contender: Contender) throws -> Bool {
        let named = Set(
            rules.to(contender.table).flatMap(\.parts).compactMap { part in
                if case .column(let position) = part { position } else { nil }
            })
        guard !named.isEmpty, let former = contender.former else { return false }
        let shown = contender.shown
        return try named.contains { position in
            // A reference is called by what it names, whatever its integer is here.
            guard contender.table.columns[position].reference == nil else { return false }
            return try standing.identityValue(former.values[position], position, in: contender.table) != shown[position]
        }
    }
}
