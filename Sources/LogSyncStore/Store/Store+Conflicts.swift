package import LogSyncModel

/// A cell with versions that had not seen each other, or an edit that a delete did not see.
package struct StoreConflict: Sendable {
    package struct Version: Sendable {
        package var value: Value
        package var dot: Dot
        package var time: HybridTime
        /// Whether the value is what a peer has added to a counter since its base, and not what the counter was set to.
        package var isAddition = false
    }

    package var table: String
    package var identity: RowIdentity
    /// The key's values as this store has them, as far as they are known.
    package var key: [Value]
    package var column: String
    /// What the table shows; nil for an edit that was lost to a delete.
    package var shown: Value?
    package var versions: [Version]
    /// The delete that an edit was lost to, where it is known.
    package var deleted: (dot: Dot, time: HybridTime)?
}

/// A row that is alive but cannot stand in its table without breaking a constraint.
package struct ParkedRow: Sendable {
    package var table: String
    package var identity: RowIdentity
    package var key: [Value]
    package var reason: String
    package var row: [String: Value]
}

extension Store {
    /// The cells in conflict. Concurrent equal values are none.
    ///
    /// - Parameters:
    ///   - table: only this one's.
    ///   - all: also cells whose policy makes one value of all versions (`max`, `min`, `sum`, `union`).
    /// - Throws: `usage` for a table that this store does not know.
    package func conflicts(table: String?, all: Bool) throws -> [StoreConflict] {
        try database.read { store in
            try store.tables(named: table).flatMap { tracked in
                let conflicts = Conflicts(store: store, table: tracked)
                return try conflicts.shown(all: all) + conflicts.lost()
            }
        }
    }

    /// The rows that cannot stand, and those that stand though a CHECK constraint does not hold (reason `check`).
    ///
    /// - Parameter all: also rows that were folded into others (reason `merged`).
    /// - Throws: `usage` for a table that this store does not know.
    package func parkedRows(table: String?, all: Bool = false) throws -> [ParkedRow] {
        try database.read { store in
            let tables = try store.tables(named: table)
            let broken = try tables.flatMap { try Conflicts(store: store, table: $0).breakingChecks() }
            return try broken
                + tables.flatMap { tracked in
                    let conflicts = Conflicts(store: store, table: tracked)
                    return try HiddenRows(store).rows(.parked, of: tracked.name)
                        .filter { all || $0.folded == nil }.map(conflicts.parked)
                }
        }
    }

    /// Settles a cell by an ordinary write of one of its versions.
    ///
    /// - Parameter identity: which row it is, in hex, where several have this key; the version may say so as well.
    /// - Throws: `usage` where there is no such row, column or version, or where several rows have it.
    package func takeVersion(
        table: String, key: [Value], identity: String? = nil, column: String, dot: Dot
    ) throws {
        let name = ListedName(key: key, identity: identity)
        try database.write { try ConflictResolution($0).take(dot, of: name, column: column, in: table) }
    }

    /// Gives a parked row another value, upon which it may stand, or a row that stands though it breaks a CHECK one that
    /// keeps it.
    ///
    /// - Parameter identity: which row it is, in hex, where several have this key.
    /// - Throws: `usage` where there is no such row or column, or several rows, or where the value breaks a constraint.
    package func setParked(
        table: String, key: [Value], identity: String? = nil, column: String, value: Value
    ) throws {
        let name = ListedName(key: key, identity: identity)
        try database.write { try ConflictResolution($0).setParked(column, value, of: name, in: table) }
    }

    /// Deletes a parked row, or one that stands though it breaks a CHECK; or says of a row that is deleted already that the
    /// edits which were lost to that are known of.
    ///
    /// - Parameter identity: which row it is, in hex, where several have this key.
    /// - Throws: `usage` where there is no such row, or several.
    package func dropParked(table: String, key: [Value], identity: String? = nil) throws {
        let name = ListedName(key: key, identity: identity)
        try database.write { try ConflictResolution($0).dropParked(name, in: table) }
    }

    /// Whether there is what ``dropParked(table:key:identity:)`` would delete; throws as it does where there is not.
    package func findParked(table: String, key: [Value], identity: String? = nil) throws {
        try database.read { try ConflictResolution($0).findParked(ListedName(key: key, identity: identity), in: table) }
    }
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
            guard let (full, _, present) = try shownRows.full(at: position, in: table) else { continue }
            for (name, cell) in full.state.cellsByName.sorted(by: { $0.key < $1.key }) {
                guard try isConflict(cell, name, all: all) else { continue }
                let shown =
                    try table.positions[name.lowercased()].map { present.values[$0] }
                    ?? local(store.shown(cell, table.name, name) ?? .null, name)
                found.append(
                    StoreConflict(
                        table: table.name, identity: full.identity, key: try key(of: full, at: position, present),
                        column: name, shown: shown, versions: try versions(cell, name) + additions(cell)))
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
            for (column, value) in zip(table.columns, present.values) { values[column.name] = value }
            return ParkedRow(
                table: table.name, identity: full.identity,
                key: try key(of: full, at: $0[0].asInteger, present), reason: "check", row: values)
        }
    }

    /// A row that does not stand, with what it would show.
    func parked(_ row: HiddenRows.Row) throws -> ParkedRow {
        var values: [String: Value] = [:]
        for (name, cell) in row.clock.cellsByName { values[name] = try shown(cell, name) }
        return ParkedRow(
            table: row.table, identity: row.identity, key: try key(of: row), reason: row.reason ?? "constraint",
            row: values)
    }

    func lost() throws -> [StoreConflict] {
        try HiddenRows(store).rows(.dead, of: table.name).flatMap { row in
            try row.clock.cellsByName.sorted { $0.key < $1.key }.map { name, cell in
                StoreConflict(
                    table: table.name, identity: row.identity, key: try key(of: row), column: name, shown: nil,
                    versions: try versions(cell, name) + additions(cell),
                    deleted: row.clock.deletes.max(by: store.precedes).map {
                        (Dot(store.peers.id($0.peer), $0.sequence), $0.time)
                    })
            }
        }
    }

    /// Cells under a policy that makes one value of all versions are settled by it.
    private func isConflict(_ cell: CellState, _ name: String, all: Bool) throws -> Bool {
        if all, isCountedBySeveral(cell) { return true }
        guard Set(cell.versions.map(\.value)).count > 1 else { return false }
        let policy = store.policies.policy(table.name, name).name
        return all || !["max", "min", "union", "sum"].contains(policy)
    }

    /// Whether a counter has additions of several peers, or one to a base that somebody did away with meanwhile.
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
        let reference = table.positions[column.lowercased()].flatMap { table.columns[$0].reference }
        return try ShownRows(store).local(value, reference) ?? .null
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

    /// - Parameter value: what a column shows: an identity says nothing of a key with a NULL in it.
    private func key(_ identity: RowIdentity, integer: Int64?, _ value: (Int) throws -> Value) throws -> [Value] {
        if identity.isSurrogate, table.localInteger == nil, !table.key.isEmpty {
            return try table.key.map { try value($0.index) }
        }
        if table.localInteger != nil || identity.isSurrogate { return [integer.map { .integer($0) } ?? .null] }
        let shownRows = ShownRows(store)
        return try zip(identity.naturalParts ?? [], table.key).map { part, key in
            try shownRows.local(part.value, table.columns[key.index].reference) ?? .null
        }
    }
}

/// Settings of the content, changed by a write of this peer that the next recording takes along.
extension Store {
    /// The merge policies that are set, as target and policy.
    package func policies() throws -> [(target: String, policy: String)] {
        try database.read { store in
            try store.connection.rows(
                """
                SELECT target, value FROM logsync_setting
                WHERE kind IN ('policy', 'delete-policy', 'unique-policy') ORDER BY target, kind
                """
            ).map { (String(text: $0[0]), String(text: $0[1])) }
        }
    }

    /// - Throws: `usage` for a policy, table or column that is not known.
    package func setPolicy(_ target: String, _ policy: String) throws {
        try database.write { store in
            try Store.checkPolicies(
                [(target, policy)], on: store.connection, configuration: store.configuration)
            try Settings(store).set(Policies.kind(of: policy), target, policy)
            _ = try Store.record(store, author: nil, context: nil)
        }
    }

    /// Renames this peer. A name that another peer has is refused with `usage`.
    package func renamePeer(_ name: String) throws {
        try database.write { store in
            let names = try Settings(store).values("peer")
            if let taken = names.first(where: { $0.value == name && $0.key != store.ownID.description }) {
                throw LogSyncError(.usage, "the name \(name) is taken by the peer \(taken.key); nothing was changed")
            }
            try store.facts.set("name", .text(name))
            try Settings(store).set("peer", store.ownID.description, name)
            _ = try Store.record(store, author: nil, context: nil)
        }
    }
}
