import LogModel

extension Standing {
    /// Shows a standing row's new state in its table. False where a constraint refuses it; then nothing changed.
    func rewrite(
        _ full: FullRow, from former: ClockRecord, _ formerRow: TableReader.Row?, at position: Int64,
        in table: TrackedTable
    ) throws -> Bool {
        let connection = session.connection
        let shown = try shownValues(full, in: table)
        var changed: [(position: Int, value: Value)] = []
        for (position, value) in shown.enumerated() {
            let value = value ?? session.defaultValue(of: table, position)
            if formerRow?.values[position] != value { changed.append((position, value)) }
        }
        if !changed.isEmpty {
            let key = try table.hasRowid ? [.integer(position)] : standingKey(full.identity, in: table) ?? []
            let condition = table.hasRowid ? "\(table.rowid) = ?" : table.keyCondition
            let assignments = changed.map { "\(SQL.name(table.columns[$0.position].local)) = ?" }
            let statement = try connection.prepare(
                "UPDATE \(table.quoted) SET \(assignments.joined(separator: ", ")) WHERE \(condition)")
            for (index, value) in (changed.map(\.value) + key).enumerated() { statement.bind(value, at: index + 1) }
            guard try statement.runUnlessConstrained() else { return false }
        }
        guard let row = try currentRow(full.identity, at: position, in: table) else { return false }
        let record = try compress(full, shownAs: row, in: table)
        let formerUniques = former.uniques.isEmpty && table.findsByKeyDigest ? record.uniques : former.uniques
        try ClockTable(table: table, connection: connection)
            .update(record, at: position, formerUniques: formerUniques)
        return true
    }
}

/// Decides contested cells again when a merge policy has changed: what is shown is a function of the versions and the
/// policy, whenever either came.
struct Redeciding {
    let session: Session

    /// Call it after settings may have changed. Returns whether a policy or a peer's name did.
    @discardableResult
    func redecide() throws -> Bool {
        guard try session.reloadPolicies() else { return false }
        let standing = Standing(session)
        var floating: [FullRow] = []
        for table in session.catalog.tables {
            let rows = try session.connection.rows("SELECT row FROM \(table.clock) WHERE conflict IS NOT NULL")
            for row in rows {
                let position = row[0].asInteger
                guard let (full, record, present) = try standing.full(at: position, in: table) else { continue }
                if try !standing.rewrite(full, from: record, present, at: position, in: table) {
                    try standing.float(full, at: position, uniques: record.uniques, in: table)
                    floating.append(full)
                }
            }
        }
        try Settling(session, standing: standing).settle(floating) { _, _, _, _ in }
        return true
    }
}
