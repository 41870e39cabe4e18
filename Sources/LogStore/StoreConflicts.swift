package import LogModel

/// A cell with versions that had not seen each other, or an edit that a delete did not see.
package struct StoreConflict: Sendable {
    package struct Version: Sendable {
        package var value: Value
        package var dot: Dot
        package var time: HybridTime
    }

    package var table: String
    /// The key's values as this store has them.
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
    package func conflicts(table: String?, all: Bool) throws -> [StoreConflict] {
        try database.read { session in
            var found: [StoreConflict] = []
            for tracked in session.catalog.tables where tracked.name != "logsync_setting" {
                if let table, tracked.name.lowercased() != table.lowercased() { continue }
                found += try Conflicts(session: session, table: tracked).standing(all: all)
                found += try Conflicts(session: session, table: tracked).lost()
            }
            return found
        }
    }

    /// The rows that cannot stand, and those that stand though a CHECK constraint does not hold (reason `check`).
    ///
    /// - Parameter all: also rows that were folded into others (reason `merged`).
    package func parkedRows(table: String?, all: Bool = false) throws -> [ParkedRow] {
        try database.read { session in
            let broken = try session.catalog.tables.flatMap { tracked in
                if let table, tracked.name.lowercased() != table.lowercased() { return [ParkedRow]() }
                return try Conflicts(session: session, table: tracked).breakingChecks()
            }
            return try broken
                + KeptRows(session).rows(.parked).compactMap { row in
                    if row.folded != nil && !all { return nil }
                    if let table, row.table.lowercased() != table.lowercased() { return nil }
                    guard let tracked = session.catalog[row.table] else { return nil }
                    let conflicts = Conflicts(session: session, table: tracked)
                    var values: [String: Value] = [:]
                    for (name, cell) in row.clock.unknown {
                        values[name] = try conflicts.local(session.shown(cell, row.table, name) ?? .null, name)
                    }
                    return ParkedRow(
                        table: row.table, key: try conflicts.key(row.identity, integer: row.integer),
                        reason: row.reason ?? "constraint", row: values)
                }
        }
    }

    /// Settles a cell by an ordinary write of one of its versions.
    ///
    /// - Throws: `usage` where there is no such row, column or version.
    package func takeVersion(table: String, key: [Value], column: String, dot: Dot) throws {
        let conflict = try conflicts(table: table, all: true).first {
            $0.key == key && $0.column.lowercased() == column.lowercased() && $0.shown != nil
        }
        guard let conflict, let version = conflict.versions.first(where: { $0.dot == dot }) else {
            throw LogSyncError(
                .usage,
                "there is no conflict in \(table).\(column) at this key with a version of \(dot); nothing was changed",
                help: "`logsync conflicts list` shows the keys and versions.")
        }
        try database.write { session in
            try Settlement(session).set(conflict.column, version.value, of: key, in: table)
        }
    }

    /// Gives a parked row another value, upon which it may stand.
    package func setParked(table: String, key: [Value], column: String, value: Value) throws {
        try database.write { try Settlement($0).setParked(column, value, of: key, in: table) }
    }

    /// Deletes a parked row.
    package func dropParked(table: String, key: [Value]) throws {
        try database.write { try Settlement($0).dropParked(key, in: table) }
    }
}

/// Finds the conflicts of one table.
struct Conflicts {
    let session: Session
    let table: TrackedTable

    func standing(all: Bool) throws -> [StoreConflict] {
        let rows = try session.connection.rows("SELECT row FROM \(table.clock) WHERE conflict IS NOT NULL")
        let standing = Standing(session)
        var found: [StoreConflict] = []
        for row in rows {
            let position = row[0].asInteger
            guard let (full, _, present) = try standing.full(at: position, in: table) else { continue }
            for (name, cell) in full.state.unknown.sorted(by: { $0.key < $1.key }) {
                guard try isConflict(cell, name, all: all) else { continue }
                let shown =
                    try table.positions[name.lowercased()].map { present.values[$0] }
                    ?? local(session.shown(cell, table.name, name) ?? .null, name)
                found.append(
                    StoreConflict(
                        table: table.name, key: try key(full.identity, integer: position), column: name, shown: shown,
                        versions: try versions(cell, name)))
            }
        }
        return found
    }

    /// Rows that are shown though they break a CHECK constraint.
    func breakingChecks() throws -> [ParkedRow] {
        let standing = Standing(session)
        return try session.connection.rows("SELECT row, conflict FROM \(table.clock) WHERE conflict >= 4").compactMap {
            guard let (full, record, present) = try standing.full(at: $0[0].asInteger, in: table), record.breaksCheck
            else { return nil }
            var values: [String: Value] = [:]
            for (column, value) in zip(table.columns, present.values) { values[column.name] = value }
            return ParkedRow(
                table: table.name, key: try key(full.identity, integer: $0[0].asInteger), reason: "check", row: values)
        }
    }

    func lost() throws -> [StoreConflict] {
        try KeptRows(session).rows(.dead, of: table.name).flatMap { row in
            try row.clock.unknown.sorted { $0.key < $1.key }.map { name, cell in
                StoreConflict(
                    table: table.name, key: try key(row.identity, integer: row.integer), column: name, shown: nil,
                    versions: try versions(cell, name) + additions(cell),
                    deleted: row.clock.deletes.max(by: session.precedes).map {
                        (Dot(session.peers.id($0.peer), $0.sequence), $0.time)
                    })
            }
        }
    }

    /// Cells under a policy that makes one value of all versions are settled by it.
    private func isConflict(_ cell: CellState, _ name: String, all: Bool) throws -> Bool {
        guard Set(cell.versions.map(\.value)).count > 1 else { return false }
        let policy = session.policies.policy(table.name, name).name
        return all || !["max", "min", "union", "sum"].contains(policy)
    }

    private func versions(_ cell: CellState, _ name: String) throws -> [StoreConflict.Version] {
        try cell.versions.sorted { session.precedes($0.stamp, $1.stamp) }.map { version in
            StoreConflict.Version(
                value: try local(version.value ?? .null, name),
                dot: Dot(session.peers.id(version.stamp.peer), version.stamp.sequence), time: version.stamp.time)
        }
    }

    /// What was added to a counter, a peer's amount each.
    private func additions(_ cell: CellState) -> [StoreConflict.Version] {
        cell.additions.sorted { session.precedes($0.stamp, $1.stamp) }.map { addition in
            StoreConflict.Version(
                value: addition.cumulative,
                dot: Dot(session.peers.id(addition.stamp.peer), addition.stamp.sequence), time: addition.stamp.time)
        }
    }

    /// A value as this store has it; a reference to a row that is not here is NULL.
    func local(_ value: Value, _ column: String) throws -> Value {
        let reference = table.positions[column.lowercased()].flatMap { table.columns[$0].reference }
        return try Standing(session).local(value, reference) ?? .null
    }

    /// The primary key's values, as far as they are known.
    func key(_ identity: RowIdentity, integer: Int64?) throws -> [Value] {
        if table.localInteger != nil || identity.isSurrogate { return [integer.map { .integer($0) } ?? .null] }
        let standing = Standing(session)
        return try zip(identity.naturalParts ?? [], table.key).map { part, key in
            try standing.local(part.value, table.columns[key.index].reference) ?? .null
        }
    }
}

/// Settings of the content, changed by a write of this peer that the next recording takes along.
extension Store {
    /// The merge policies that are set, as target and policy.
    package func policies() throws -> [(target: String, policy: String)] {
        try database.read { session in
            try session.connection.rows(
                """
                SELECT target, value FROM logsync_setting
                WHERE kind IN ('policy', 'delete-policy', 'unique-policy') ORDER BY target, kind
                """
            ).map { (String(text: $0[0]), String(text: $0[1])) }
        }
    }

    /// - Throws: `usage` for a policy, table or column that is not known.
    package func setPolicy(_ target: String, _ policy: String) throws {
        try database.write { session in
            try Store.checkPolicies(
                [(target, policy)], on: session.connection, configuration: session.configuration)
            try Settings(session).set(Policies.kind(of: policy), target, policy)
            _ = try Store.record(session, author: nil, context: nil)
        }
    }

    /// Renames this peer. A name that another peer has is refused with `usage`.
    package func renamePeer(_ name: String) throws {
        try database.write { session in
            let names = try Settings(session).values("peer")
            if let taken = names.first(where: { $0.value == name && $0.key != session.ownID.description }) {
                throw LogSyncError(.usage, "the name \(name) is taken by the peer \(taken.key); nothing was changed")
            }
            try session.facts.set("name", .text(name))
            try Settings(session).set("peer", session.ownID.description, name)
            _ = try Store.record(session, author: nil, context: nil)
        }
    }
}
