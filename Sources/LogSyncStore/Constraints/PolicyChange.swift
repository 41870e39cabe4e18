import LogSyncModel

extension ShownRows {
    /// Shows a standing row's new state in its table. False where a constraint refuses it; then nothing changed.
    ///
    /// - Parameter replaced: what references show instead, where that has been decided.
    func update(
        _ full: RowState, from former: ClockRecord, _ formerRow: TableReader.Row?, at position: Int64,
        in table: TrackedTable, replacing replaced: [Int: Value]? = nil
    ) throws -> Bool {
        let connection = store.connection
        if replaced == nil, try former.isReplaced || !satisfiesRules(full, in: table) { return false }
        let shown = try shownValues(full, in: table, replacing: replaced ?? [:])
        var breaksCheck = former.breaksCheck
        var key =
            try table.hasRowid
            ? [.integer(position)] : standingKey(full.identity, at: position, in: table) ?? []
        if !table.hasRowid, let formerRow { key = table.key.map { formerRow.values[$0.index] } }
        var changed: [(position: Int, value: Value)] = []
        for (position, value) in shown.enumerated() {
            let value = value ?? store.defaultValue(of: table, position)
            if formerRow?.values[position] != value { changed.append((position, value)) }
        }
        if !changed.isEmpty, former.breaksCheck {
            // SQLite looks only at the constraints that name a column which is set.
            changed = shown.enumerated().map { ($0.offset, $0.element ?? store.defaultValue(of: table, $0.offset)) }
        }
        if !changed.isEmpty {
            let condition = table.hasRowid ? "\(table.rowid) = ?" : table.keyCondition
            let assignments = changed.map { "\(SQL.name(table.columns[$0.position].local)) = ?" }
            let statement = try connection.prepare(
                "UPDATE OR ABORT \(table.quoted) SET \(assignments.joined(separator: ", ")) WHERE \(condition)")
            for (index, value) in (changed.map(\.value) + key).enumerated() { statement.bind(value, at: index + 1) }
            let written = try statement.write()
            guard written != .refused else { return false }
            breaksCheck = written == .breakingCheck
        }
        let present =
            try table.hasRowid
            ? currentRow(full.identity, at: position, in: table)
            : reader(table).row(withKey: table.key.map { shown[$0.index] ?? .null })
        guard let row = present else { return false }
        var record = try compress(full, shownAs: row, in: table)
        record.breaksCheck = breaksCheck
        mark(&record, replaced)
        let formerUniques = former.uniques.isEmpty && table.findsByKeyDigest ? record.uniques : former.uniques
        try ClockTable(table: table, connection: connection)
            .update(record, at: position, formerUniques: formerUniques)
        try FoldedKeys(store: store, table: table).keep(full.identity, at: position, replacing: replaced)
        return true
    }
}

extension ShownRows {
    /// Whether a row breaks a CHECK constraint, whatever was written to it last.
    func breaksCheck(_ row: TableReader.Row, at position: Int64, in table: TrackedTable) throws -> Bool {
        let same = table.columns.map { "\(SQL.name($0.local)) = \(SQL.name($0.local))" }.joined(separator: ", ")
        let condition = table.hasRowid ? "\(table.rowid) = ?" : table.keyCondition
        let key = table.hasRowid ? [.integer(position)] : table.key.map { row.values[$0.index] }
        let statement = try store.connection.prepare("UPDATE OR ABORT \(table.quoted) SET \(same) WHERE \(condition)")
        for (index, value) in key.enumerated() { statement.bind(value, at: index + 1) }
        return try store.connection.withoutTriggers { try statement.write() == .breakingCheck }
    }
}

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
    @discardableResult
    func apply() throws -> Bool {
        guard try store.reloadPolicies() else { return false }
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
                if try shownRows.update(full, from: record, present, at: position, in: table) {
                    // Those that refer to it by what it showed may refer to nobody now.
                    if isNamedByValue { formerRows.append(former) }
                } else {
                    try shownRows.hide(full, at: position, uniques: record.uniques, in: table)
                    undecided.append(UndecidedRow(full: full, former: former))
                }
            }
        }
        try ShownRowsPass(store, shownRows: shownRows).settle(undecided, formerRows: formerRows) { _, _, _, _ in }
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
