package import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// A cell with versions that had not seen each other, or an edit that a delete did not see.
package struct StoreConflict: Sendable {
    package struct Version: Sendable {
        package var value: Value
        package var dot: Dot
        package var time: HybridTime
        /// Whether the value is what a peer has added to a counter since its base, and not what the counter was set to.
        package var isAddition = false
    }

    /// As the database calls it.
    package var table: String
    package var identity: RowIdentity
    /// The key's values as this store has them, as far as they are known.
    package var key: [Value]
    /// As the database calls it; of a column that is not here, the name in logs.
    package var column: String
    /// The table's name in logs, and the column's.
    package var loggedTable: String
    package var loggedColumn: String
    /// What the table shows; nil for an edit that was lost to a delete.
    package var shown: Value?
    package var versions: [Version]
    /// The delete that an edit was lost to, where it is known.
    package var deleted: (dot: Dot, time: HybridTime)?
}

/// A row that is alive but cannot stand in its table without breaking a constraint.
package struct ParkedRow: Sendable {
    /// As the database calls it.
    package var table: String
    package var identity: RowIdentity
    package var key: [Value]
    package var reason: String
    /// By column, as the database calls it; of a column that is not here, by the name in logs.
    package var row: [String: Value]
    /// By column, the table of a row that it names and that does not stand here, because it is not here or is parked.
    package var missing: [String: String] = [:]
}

/// Finds the conflicts of one table.
struct Conflicts {
    let store: OpenStore
    let table: TrackedTable

    func shown(all: Bool) throws -> [StoreConflict] {
        // What peers add to a counter contests nothing, and is not marked.
        let counters = all ? " OR extra IS NOT NULL" : ""
        let rows = try store.connection.rows("SELECT row FROM \(table.clock) WHERE conflict IS NOT NULL\(counters)")
        let shownRows = ShownRows(store)
        var found: [StoreConflict] = []
        for row in rows {
            let position = row[0].asInteger
            guard let (full, record, present) = try shownRows.full(at: position, in: table) else { continue }
            for (name, cell) in full.state.cellsByName.sorted(by: { $0.key < $1.key }) {
                guard try isConflict(cell, name, all: all), !isSuperseded(name, record, present) else { continue }
                let shown =
                    try table.positions[name.folded].map { present.values[$0] }
                    ?? local(store.shown(cell, table.name, name) ?? .null, name)
                found.append(
                    try conflict(
                        full.identity, key(of: full, at: position, present), name, cell, shown: shown))
            }
        }
        return found
    }

    /// Rows that are shown though they break a CHECK constraint.
    func breakingChecks() throws -> [ParkedRow] {
        let shownRows = ShownRows(store)
        return try store.connection.rows("SELECT row, conflict FROM \(table.clock) WHERE conflict >= 4").compactMap {
            guard let (full, record, present) = try shownRows.full(at: $0[0].asInteger, in: table), record.breaksCheck
            else { return nil }
            var values: [String: Value] = [:]
            for (column, value) in zip(table.columns, present.values) { values[column.local] = value }
            return ParkedRow(
                table: table.schema.name, identity: full.identity,
                key: try key(of: full, at: $0[0].asInteger, present), reason: "check", row: values)
        }
    }

    /// A row that does not stand, with what it would show.
    func parked(_ row: HiddenRows.Row) throws -> ParkedRow {
        var values: [String: Value] = [:]
        var missing = try missingParents(row)
        // Columns that are here go last: one that is not here may be called in logs as one that is.
        for (name, cell) in row.clock.cellsByName.sorted(by: { isHere($1.key) && !isHere($0.key) }) {
            let value = try shown(cell, name)
            let local = table.localName(of: name)
            values[local] = value
            guard value == .null, case .reference? = store.shown(cell, table.name, name),
                let parent = table.positions[name.folded].flatMap({ table.columns[$0].reference })
            else { continue }
            missing[local] = store.catalog[parent]?.schema.name ?? parent
        }
        return ParkedRow(
            table: table.schema.name, identity: row.identity, key: try key(of: row),
            reason: row.reason ?? "constraint", row: values, missing: missing)
    }

    private func isHere(_ name: String) -> Bool { table.positions[name.folded] != nil }

    /// By column, the tables of the rows on which this one depends and that do not stand.
    private func missingParents(_ row: HiddenRows.Row) throws -> [String: String] {
        let shownRows = ShownRows(store)
        let neighbours = Neighbours(store, shownRows: shownRows)
        var missing: [String: String] = [:]
        for rule in store.referenceRules.of(table) where rule.strength != .unenforced {
            let reference = try rule.columns.map { position in
                let name = table.columns[position].name
                let value = row.clock.cellsByName[name].flatMap { store.shown($0, table.name, name) } ?? .null
                return try shownRows.meant(value, at: position, in: table)
            }
            guard !reference.contains(.null), !rule.isUntranslated(reference),
                // A row may be its own parent.
                rule.parent.id != table.id || rule.named(by: reference) != row.identity,
                try !neighbours.hasParent(reference, rule)
            else { continue }
            for position in rule.columns { missing[table.columns[position].local] = rule.parent.schema.name }
        }
        return missing
    }

    func lost() throws -> [StoreConflict] {
        try HiddenRows(store).rows(.dead, of: table.name).flatMap { row in
            try row.clock.cellsByName.filter { $0.value.isEdited }.sorted { $0.key < $1.key }.map { name, cell in
                try conflict(
                    row.identity, key(of: row), name, cell, shown: nil,
                    deleted: row.clock.deletes.max(by: store.precedes).map {
                        (Dot(store.peers.id($0.peer), $0.sequence), $0.time)
                    })
            }
        }
    }

    /// The same within rows that are parked: what they would show, were they shown.
    func withinParked(all: Bool) throws -> [StoreConflict] {
        // A row that was folded into another is none that waits for anybody.
        try HiddenRows(store).rows(.parked, of: table.name).filter { all || $0.folded == nil }.flatMap { row in
            try row.clock.cellsByName.sorted { $0.key < $1.key }.compactMap { name, cell in
                guard try isConflict(cell, name, all: all) else { return nil }
                return try conflict(row.identity, key(of: row), name, cell, shown: shown(cell, name))
            }
        }
    }

    private func conflict(
        _ identity: RowIdentity, _ key: [Value], _ name: String, _ cell: CellState, shown: Value?,
        deleted: (dot: Dot, time: HybridTime)? = nil
    ) throws -> StoreConflict {
        StoreConflict(
            table: table.schema.name, identity: identity, key: key, column: table.localName(of: name),
            loggedTable: table.name, loggedColumn: name, shown: shown,
            versions: try versions(cell, name) + additions(cell), deleted: deleted)
    }

    /// Whether a program has written the cell since the last recording: what it wrote has seen all versions, and the one that
    /// the table showed is in no table any more.
    private func isSuperseded(_ name: String, _ record: ClockRecord, _ present: TableReader.Row) -> Bool {
        guard let position = table.positions[name.folded], !store.policies.isCounter(table.name, name) else {
            return false
        }
        let id = table.columns[position].id
        return record.digests.indices.contains(id)
            && record.digests[id] != UInt32(truncatingIfNeeded: present.digests[position])
    }

    /// Cells under a policy that makes one value of all versions are settled by it.
    private func isConflict(_ cell: CellState, _ name: String, all: Bool) throws -> Bool {
        if all, isCountedBySeveral(cell) { return true }
        // What migrations have put there gives way to what programs have written.
        let written = cell.versions.filter { $0.stamp.time.milliseconds != 0 }
        let versions = all || written.isEmpty ? cell.versions : written
        // Versions that say the same row in two ways contradict each other in nothing.
        guard Set(versions.map(\.value)).count > 1,
            try Set(versions.map { try meant($0.value ?? .null, name) }).count > 1
        else { return false }
        let policy = store.policies.policy(table.name, name).name
        return all || !["max", "min", "union", "sum"].contains(policy)
    }

    /// Whether a counter has additions of several peers, or one to a base that a later write superseded.
    ///
    /// What each peer added stays apart until the counter is set, so one may have seen the other's.
    private func isCountedBySeveral(_ cell: CellState) -> Bool {
        Set(cell.additions.map(\.peer)).count > 1
            || !cell.additions.allSatisfy { addition in
                cell.versions.contains {
                    $0.stamp.peer == addition.basePeer && $0.stamp.sequence == addition.baseSequence
                }
            }
    }

    private func versions(_ cell: CellState, _ name: String) throws -> [StoreConflict.Version] {
        try cell.versions.sorted { store.precedes($0.stamp, $1.stamp) }.map { version in
            StoreConflict.Version(
                value: try local(version.value ?? .null, name),
                dot: Dot(store.peers.id(version.stamp.peer), version.stamp.sequence), time: version.stamp.time)
        }
    }

    /// What was added to a counter, a peer's amount each since the base.
    private func additions(_ cell: CellState) -> [StoreConflict.Version] {
        cell.additions.sorted { store.precedes($0.stamp, $1.stamp) }.map { addition in
            StoreConflict.Version(
                value: addition.cumulative,
                dot: Dot(store.peers.id(addition.stamp.peer), addition.stamp.sequence), time: addition.stamp.time,
                isAddition: true)
        }
    }

    /// A value as this store has it; a reference to a row that is not here is NULL.
    func local(_ value: Value, _ column: String) throws -> Value {
        let reference = table.positions[column.folded].flatMap { table.columns[$0].reference }
        return try ShownRows(store).local(meant(value, column), reference) ?? .null
    }

    /// A value in the terms of the column, by what it names rows.
    private func meant(_ value: Value, _ column: String) throws -> Value {
        guard let position = table.positions[column.folded] else { return value }
        return try ShownRows(store).meant(value, at: position, in: table)
    }

    private func shown(_ cell: CellState, _ name: String) throws -> Value {
        try local(store.shown(cell, table.name, name) ?? .null, name)
    }

    /// The primary key's values of a row that stands.
    func key(of full: RowState, at position: Int64, _ present: TableReader.Row) throws -> [Value] {
        try key(full.identity, integer: position) { present.values[$0] }
    }

    /// The same of a row beside its table, as far as they are known.
    func key(of row: HiddenRows.Row) throws -> [Value] {
        try key(row.identity, integer: row.integer) { position in
            let name = table.columns[position].name
            return try row.clock.cellsByName[name].map { try shown($0, name) } ?? .null
        }
    }

    /// The same of a row wherever it is; none of one that is nowhere.
    func key(of identity: RowIdentity) throws -> [Value] {
        let shownRows = ShownRows(store)
        if let position = try shownRows.locate(identity, in: table),
            let (full, _, present) = try shownRows.full(at: position, in: table)
        {
            return try key(of: full, at: position, present)
        }
        return try HiddenRows(store).row(table.name, identity).map { try key(of: $0) } ?? []
    }

    /// - Parameter value: what a column shows: an identity says nothing of a key with a NULL in it.
    private func key(_ identity: RowIdentity, integer: Int64?, _ value: (Int) throws -> Value) throws -> [Value] {
        if identity.isSurrogate || table.keepsIdentities, table.localInteger == nil, !table.key.isEmpty {
            return try table.key.map { try value($0.index) }
        }
        if table.localInteger != nil || identity.isSurrogate { return [integer.map { .integer($0) } ?? .null] }
        let shownRows = ShownRows(store)
        return try zip(identity.naturalParts ?? [], table.key).map { part, key in
            try shownRows.local(part.value, table.columns[key.index].reference) ?? .null
        }
    }
}

extension HiddenRows {
    /// How many rows of a table, by its name in logs, are dead and keep edits that a delete has taken.
    func lostCount(of table: String) throws -> Int {
        try rows(.dead, of: table).count { row in row.clock.cellsByName.values.contains(where: \.isEdited) }
    }
}

extension CellState {
    /// Whether a program has written it, where no insert has: what a migration has put into all rows is nobody's edit of one,
    /// nor is how it says the row that a column has named from the beginning. Both have no time of their own.
    fileprivate var isEdited: Bool { !additions.isEmpty || versions.contains { $0.stamp.time.milliseconds != 0 } }
}
