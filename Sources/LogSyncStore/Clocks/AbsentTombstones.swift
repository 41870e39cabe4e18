import LogSyncModel
import LogSyncSQLite

/// The rows that other peers have deleted of tables that are not here.
///
/// A delete leaves no entry. But when the program here makes the table, too, its migration makes rows of what was here before:
/// also rows that programs of other peers have deleted since these peers migrated.
struct AbsentTombstones {
    private let store: OpenStore
    private var connection: Connection { store.connection }

    /// So many are noted, the first ones: a program that never makes the table leaves no more. Which rows a migration makes is
    /// decided when the first peer runs it, so that these are the ones most likely to be made again.
    private static let most: Int64 = 100_000

    init(_ store: OpenStore) { self.store = store }

    /// Within an import, by whose time the schema has been looked at.
    ///
    /// - Parameter table: the name in logs.
    func note(_ identity: RowIdentity, of table: String) throws {
        if try !isAny() {
            try connection.execute(StoreSchema.tombstones)
            try store.acceptSchemaVersion()
            store.cached.hasTombstones = true
        }
        try connection.run(
            """
            INSERT OR IGNORE INTO logsync_tombstone(table_name, identity) SELECT ?1, ?2
            WHERE coalesce((SELECT max(number) FROM logsync_tombstone), 0) < ?3
            """, .text(table.folded), .blob(identity.bytes), .integer(Self.most))
    }

    func identities(of table: String) throws -> Set<RowIdentity> {
        guard try isAny() else { return [] }
        return Set(
            try connection.rows("SELECT identity FROM logsync_tombstone WHERE table_name = ?", .text(table.folded))
                .compactMap { if case .blob(let bytes) = $0[0] { RowIdentity(unchecked: bytes) } else { nil } })
    }

    func forget(_ table: String) throws {
        guard try isAny() else { return }
        try connection.run("DELETE FROM logsync_tombstone WHERE table_name = ?", .text(table.folded))
    }

    private func isAny() throws -> Bool {
        if let known = store.cached.hasTombstones { return known }
        let isAny = try TableSchema.read("logsync_tombstone", on: connection) != nil
        store.cached.hasTombstones = isAny
        return isAny
    }
}
