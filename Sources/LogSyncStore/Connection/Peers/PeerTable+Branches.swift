import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// Giving a part of a peer's history another id: everything but the rows (``BranchRows``).
extension PeerTable {
    /// Notes a branch of which nothing has been imported.
    ///
    /// - Parameter chain: the chain hash before its first transaction.
    func add(_ branch: Branches.Entry, chain: ChainHash, on connection: Connection) throws {
        try connection.run(
            "INSERT INTO logsync_branch(number, origin, start, mark, parent, kept) VALUES(?, ?, ?, ?, ?, ?)",
            .integer(branch.number), .integer(branch.origin), .integer(Int64(branch.start)),
            .integer(Int64(bitPattern: branch.mark.rawValue)), .integer(branch.parent),
            .integer(Int64(bitPattern: branch.kept.rawValue)))
        try connection.run(
            "UPDATE logsync_peer SET accepts_clock = (SELECT accepts_clock FROM logsync_peer WHERE number = ?2) "
                + "WHERE number = ?1", .integer(branch.number), .integer(branch.origin))
        try reloadBranches(on: connection)
        try advance(branch.number, to: 0, chain: chain, on: connection)
    }

    /// What went off a peer's further history goes off the branch that this has become; what went off where it begins
    /// goes off beside another.
    func reparent(
        from number: Int64, after start: UInt64, to branch: Int64, kept: ChainMark, on connection: Connection
    ) throws {
        try connection.run(
            "UPDATE logsync_branch SET parent = ?3 WHERE parent = ?1 AND start > ?2", .integer(number),
            .integer(Int64(start)), .integer(branch))
        try connection.run(
            "UPDATE logsync_branch SET kept = ?3 WHERE parent = ?1 AND start = ?2", .integer(number),
            .integer(Int64(start)), .integer(Int64(bitPattern: kept.rawValue)))
        try reloadBranches(on: connection)
    }

    /// Moves a peer's transactions after `last` to a branch of which nothing has been imported, in the version vector,
    /// the history and everybody's dependencies.
    ///
    /// - Parameters:
    ///   - chain: the chain hash at `last`.
    ///   - dependencies: the peer's at `last`.
    func moveTail(
        of number: Int64, after last: UInt64, to branch: Int64, chain: ChainHash, _ dependencies: VersionVector,
        on connection: Connection
    ) throws {
        let (from, to, after) = (Value.integer(number), Value.integer(branch), Value.integer(Int64(last)))
        for table in ["logsync_transaction", "logsync_mark"] {
            try connection.run(
                "UPDATE \(table) SET peer = ?2, sequence = sequence - ?3 WHERE peer = ?1 AND sequence > ?3", from, to,
                after)
        }
        try connection.run(
            """
            INSERT OR REPLACE INTO logsync_dependency(peer, other, sequence)
            SELECT ?2, other, sequence FROM logsync_dependency WHERE peer = ?1
            """, from, to)
        for table in ["logsync_dependency", "logsync_joined"] {
            try connection.run(
                """
                INSERT OR REPLACE INTO \(table)(peer, other, sequence)
                SELECT peer, ?2, sequence - ?3 FROM \(table) WHERE other = ?1 AND sequence > ?3
                """, from, to, after)
            try connection.run("UPDATE \(table) SET sequence = ?2 WHERE other = ?1 AND sequence > ?2", from, after)
            try connection.run("DELETE FROM \(table) WHERE sequence = 0")
        }
        try connection.run("DELETE FROM logsync_dependency WHERE peer = ?", from)
        for dot in dependencies.dots {
            try connection.run(
                "INSERT INTO logsync_dependency(peer, other, sequence) VALUES(?, ?, ?)", from,
                .integer(try self.number(of: dot.peer, on: connection)), .integer(Int64(dot.sequence)))
        }
        if last > 0 {
            try connection.run(
                "INSERT OR REPLACE INTO logsync_dependency(peer, other, sequence) VALUES(?2, ?1, ?3)", from, to, after)
        }
        try connection.run(
            """
            UPDATE logsync_peer SET
                sequence = (SELECT sequence - ?3 FROM logsync_peer WHERE number = ?1),
                chain = (SELECT chain FROM logsync_peer WHERE number = ?1),
                declared = (SELECT max(declared - ?3, 0) FROM logsync_peer WHERE number = ?1),
                joined = (SELECT max(joined - ?3, 0) FROM logsync_peer WHERE number = ?1)
            WHERE number = ?2
            """, from, to, after)
        try connection.run(
            """
            UPDATE logsync_peer SET sequence = ?2, chain = ?3, declared = min(declared, ?2), joined = min(joined, ?2)
            WHERE number = ?1
            """, from, after, .blob(chain.bytes[...]))
    }

    /// What a peer's transaction depended on, its own history left out; nil where not enough is known of it.
    func dependencies(of number: Int64, at sequence: UInt64, on connection: Connection) throws -> VersionVector? {
        guard let entry = entries[number] else { return nil }
        if sequence == entry.sequence, sequence > 0 { return try lastDependencies(of: number, on: connection) }
        guard sequence >= entry.joined else { return nil }
        guard var vector = try dependenciesWhereJoined(entry, on: connection) else { return nil }
        let known = try History.dependencies(of: number, entry.joined + 1..<sequence + 1, self, on: connection)
        guard let known else { return nil }
        for change in known.joined() where change.dot.peer != entry.id {
            guard case .seen(let seen) = try resolve(change, on: connection) else { return nil }
            vector.formUnion(seen)
        }
        vector[entry.id] = 0
        return vector
    }

    private func dependenciesWhereJoined(_ entry: Entry, on connection: Connection) throws -> VersionVector? {
        if entry.joined == 0 {
            guard let branch = branches.entries[entry.number] else { return VersionVector() }
            let last = branch.offset - branches.offset(of: branch.parent)
            var vector = try dependencies(of: branch.parent, at: last, on: connection)
            vector?[id(branch.parent)] = last
            return vector
        }
        var vector = VersionVector()
        for row in try connection.rows(
            "SELECT other, sequence FROM logsync_joined WHERE peer = ?", .integer(entry.number))
        {
            vector[id(row[0].asInteger)] = UInt64(row[1].asInteger)
        }
        return vector
    }
}
