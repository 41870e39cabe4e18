public import LogSyncModel
import LogSyncStore

/// Conflicts, parked rows and the policies that decide them.
extension Replicator {
    /// The cells in conflict, the edits lost to deletes, and the parked rows.
    ///
    /// - Parameters:
    ///   - table: only this table's.
    ///   - all: also cells whose policy makes one value of all versions (`max`, `min`, `sum`, `union`).
    /// - Throws: `usage` for a table that the store does not know.
    public func conflicts(table: String? = nil, all: Bool = false) async throws -> ConflictReport {
        try look { store in
            let names = try store.names()
            let conflicts = try store.store.conflicts(table: table, all: all).map { conflict in
                ConflictReport.Conflict(
                    table: conflict.table, key: conflict.key.map { JSONValue($0) },
                    identity: conflict.identity.description, column: conflict.column,
                    shown: conflict.shown.map { JSONValue($0) },
                    versions: conflict.versions.map {
                        ConflictReport.Conflict.Version(
                            value: JSONValue($0.value), peer: names[$0.dot.peer], sequence: $0.dot.sequence,
                            time: Timestamp(milliseconds: $0.time.milliseconds), isAddition: $0.isAddition)
                    },
                    deleted: conflict.deleted.map {
                        ConflictReport.Conflict.Deletion(
                            peer: names[$0.dot.peer], sequence: $0.dot.sequence,
                            time: Timestamp(milliseconds: $0.time.milliseconds))
                    })
            }
            let parked = try store.store.parkedRows(table: table, all: all).map {
                ConflictReport.Parked(
                    table: $0.table, key: $0.key.map { JSONValue($0) }, identity: $0.identity.description,
                    reason: $0.reason, row: $0.row.mapValues { JSONValue($0) })
            }
            return ConflictReport(store: store.place.path, conflicts: conflicts, parked: parked)
        }
    }

    /// Settles a cell by an ordinary write of one of its versions.
    ///
    /// - Parameter identity: which row it is, as ``ConflictReport`` has it, where several have this key; the version may
    ///   say so as well.
    /// - Throws: `usage` where there is no such cell or version, or where several rows have it.
    public func takeVersion(
        _ dot: Dot, table: String, key: [Value], identity: String? = nil, column: String
    ) async throws {
        try await writeDirectly {
            try $0.store.takeVersion(table: table, key: key, identity: identity, column: column, dot: dot)
        }
    }

    /// Gives a parked row another value, upon which it may stand, or a row that stands though it breaks a CHECK one that
    /// keeps it.
    ///
    /// - Parameter identity: which row it is, as ``ConflictReport`` has it, where several have this key.
    /// - Throws: `usage` where there is no such row or column, or several rows, or where the value breaks a constraint.
    public func setParked(
        table: String, key: [Value], identity: String? = nil, column: String, value: Value
    ) async throws {
        try await writeDirectly {
            try $0.store.setParked(table: table, key: key, identity: identity, column: column, value: value)
        }
    }

    /// Deletes a parked row, or one that stands though it breaks a CHECK; or, of a row that is deleted already, takes the
    /// edits that were lost to that off the list.
    ///
    /// - Parameters:
    ///   - identity: which row it is, as ``ConflictReport`` has it, where several have this key.
    ///   - dryRun: whether to only see whether there is such a row.
    /// - Throws: `usage` where there is no such row, or several.
    public func dropParked(
        table: String, key: [Value], identity: String? = nil, dryRun: Bool = false
    ) async throws {
        if dryRun { return try look { try $0.store.findParked(table: table, key: key, identity: identity) } }
        try await writeDirectly { try $0.store.dropParked(table: table, key: key, identity: identity) }
    }

    /// The merge policies that are set; everything else is `last-writer`, `delete-wins` and `unique-park`.
    public func policies() async throws -> [PolicyEntry] {
        try look { try $0.store.policies().map { PolicyEntry(target: $0.target, policy: $0.policy) } }
    }

    /// Sets a merge policy of the content; it is in force on every peer that has imported it.
    ///
    /// - Throws: `usage` for a policy, table or column that is not known.
    public func setPolicy(_ policy: String, for target: String) async throws {
        try await writeDirectly { try $0.store.setPolicy(target, policy) }
    }

    /// Renames this peer. Throws `usage` where another has the name, or it cannot be one.
    public func rename(to name: String) async throws {
        try PeerName.check(name)
        try await writeDirectly { try $0.store.renamePeer(name) }
    }

    /// A change of this peer's that goes past capture, once it is known which peer that is; it waits in the outbox like
    /// any other.
    func writeDirectly(_ change: @Sendable (ReplicatedStore) throws -> Void) async throws {
        try await step(settles: true) { store in
            let look = store.isSettledWithFolder ? nil : Look(store, isFull: false)
            try store.settleIdentity(look?.scan)
            try change(store)
            try store.noteRecorded()
        }
    }
}
