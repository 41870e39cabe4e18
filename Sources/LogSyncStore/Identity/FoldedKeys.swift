import LogSyncModel
import LogSyncSQLite

/// The keys of rows that stand under another key than the one that their identities spell: a row that it names was folded
/// into another, or the identity was given when the key was another (``TrackedTable/keepsIdentities``).
///
/// A key is kept by what it means, not by integers, which may change. What is kept of a record that shows its own key
/// again counts for nothing.
struct FoldedKeys {
    let store: OpenStore
    let table: TrackedTable

    private var connection: Connection { store.connection }
    private var isNeeded: Bool { table.mapsKeys || table.keyHasReference && store.hasReplaced }

    /// Keeps the key under which a row was put into its table.
    ///
    /// - Parameter replaced: what references show instead, by column position.
    func keep(_ identity: RowIdentity, at row: Int64, replacing replaced: [Int: Value]) throws {
        guard isNeeded, !table.mapsKeys else { return }
        guard let parts = identity.naturalParts, parts.count == table.key.count,
            table.key.contains(where: { replaced[$0.index] != nil })
        else {
            return try connection.run(
                "DELETE FROM logsync_shown WHERE table_id = ? AND row = ?", .integer(table.id), .integer(row))
        }
        let shown = zip(parts, table.key).map { part, key in
            if case .reference(let other)? = replaced[key.index] { KeyPart.reference(other) } else { part }
        }
        try connection.run(
            "INSERT OR REPLACE INTO logsync_shown(table_id, row, identity) VALUES(?, ?, ?)", .integer(table.id),
            .integer(row), .blob(RowIdentity(natural: shown).bytes))
    }

    /// Keeps what the key of a row spells, of a table in which that and the identity may differ.
    ///
    /// - Parameter spelled: nil for a key with a NULL in it.
    func keep(_ identity: RowIdentity, at row: Int64, spelled: RowIdentity?) throws {
        guard table.mapsKeys else { return }
        guard let spelled, spelled != identity else {
            return try connection.run(
                "DELETE FROM logsync_shown WHERE table_id = ? AND row = ?", .integer(table.id), .integer(row))
        }
        try connection.run(
            "INSERT OR REPLACE INTO logsync_shown(table_id, row, identity) VALUES(?, ?, ?)", .integer(table.id),
            .integer(row), .blob(spelled.bytes))
    }

    /// What the key means under which a row stands; its own identity nearly always.
    func identity(of identity: RowIdentity, at row: Int64) throws -> RowIdentity {
        guard isNeeded, try isReplaced(row),
            case .blob(let bytes)? = try connection.scalar(
                "SELECT identity FROM logsync_shown WHERE table_id = ? AND row = ?", .integer(table.id), .integer(row))
        else { return identity }
        return RowIdentity(unchecked: bytes)
    }

    /// The clock row of the row that stands under a key of this meaning.
    func row(of identity: RowIdentity) throws -> Int64? {
        if isNeeded {
            let rows = try connection.rows(
                "SELECT row FROM logsync_shown WHERE table_id = ? AND identity = ?", .integer(table.id),
                .blob(identity.bytes))
            for row in rows where try isReplaced(row[0].asInteger) { return row[0].asInteger }
        }
        let row = try ClockTable(table: table, connection: connection).row(of: identity)
        // A row that was given this identity may have another key by now.
        guard table.mapsKeys, let row else { return row }
        return try self.identity(of: identity, at: row) == identity ? row : nil
    }

    private func isReplaced(_ row: Int64) throws -> Bool {
        try table.mapsKeys
            || connection.integer("SELECT conflict & 2 FROM \(table.clock) WHERE row = ?", .integer(row)) == 2
    }
}
