import LogSyncModel
import LogSyncStore

extension Replicator {
    /// The cells in conflict, the edits lost to deletes, and the parked rows.
    ///
    /// - Parameters:
    ///   - table: only this table's.
    ///   - all: also cells whose policy makes one value of all versions (`max`, `min`, `sum`, `union`).
    /// - Throws: `usage` for a table that the store does not know.
    public func conflicts(table: String? = nil, all: Bool = false) async throws -> ConflictReport {
        try inspect { store in
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
            return ConflictReport(
                store: store.place.path, conflicts: conflicts, parked: try store.parkedRows(of: table, all: all))
        }
    }
}

extension ReplicatedStore {
    /// The rows that cannot stand, as ``Replicator/conflicts(table:all:)`` tells them.
    func parkedRows(of table: String? = nil, all: Bool = false) throws -> [ConflictReport.Parked] {
        try store.parkedRows(table: table, all: all).map {
            ConflictReport.Parked(
                table: $0.table, key: $0.key.map { JSONValue($0) }, identity: $0.identity.description,
                reason: $0.reason, row: $0.row.mapValues { JSONValue($0) }, missing: $0.missing)
        }
    }
}
