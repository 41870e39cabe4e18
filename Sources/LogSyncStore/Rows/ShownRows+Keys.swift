import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What rows' keys spell, and their identities beside that (``TrackedTable/keepsIdentities``).
extension ShownRows {
    /// The row of a clock record, which says the identity only where the key does not; nil where the row is gone.
    func currentRow(
        ofRecord identity: RowIdentity?, at position: Int64, in table: TrackedTable
    ) throws -> TableReader.Row? {
        if table.hasRowid { return try reader(table).row(at: position) }
        return try identity.flatMap { try currentRow($0, at: position, in: table) }
    }

    /// Where a row is in its table: at its rowid, or its key in a table without.
    func place(_ identity: RowIdentity?, at position: Int64, in table: TrackedTable) throws -> [Value]? {
        try table.hasRowid ? [.integer(position)] : identity.flatMap { try shownKey($0, at: position, in: table) }
    }

    /// What a row's key spells, by the identities of the rows that it names; nil for a key with a NULL in it.
    func spelledIdentity(_ row: TableReader.Row, in table: TrackedTable) throws -> RowIdentity? {
        try reader(table).naturalIdentity { try identityValue(row.values[$0], $0, in: table) }
    }

    /// Sees to it that a row is found by its identity and by its key, where these are two things.
    ///
    /// - Parameter given: what the cells of key columns say, by column position, as logs have it.
    /// - Throws: ``UnreadyTable`` where they are and the table is none of which that is known.
    func keepKey(
        _ identity: RowIdentity, given: (Int) throws -> Value, shownAs row: TableReader.Row, at place: Int64?,
        in table: TrackedTable, replacing replaced: [Int: Value] = [:]
    ) throws {
        guard table.kind == .natural else { return }
        if table.keepsIdentities {
            guard let place, table.mapsKeys else { return }
            let keys = FoldedKeys(store: store, table: table)
            return try keys.keep(identity, at: place, spelled: spelledIdentity(row, in: table))
        }
        if identity.isSurrogate {
            // Of a row with a NULL in its key, or of one that had none when it was inserted.
            if try spelledIdentity(row, in: table) != nil { throw Self.otherKey(table) }
            return
        }
        guard !table.key.contains(where: { replaced[$0.index] != nil }) else { return }
        if table.keyHasReference {
            guard try Self.isSpelled(identity, given, { row.values[$0] }, in: table) else { throw Self.otherKey(table) }
            return
        }
        let spelled = reader(table).naturalIdentity { row.values[$0] }
        if spelled != identity { throw Self.otherKey(table) }
    }

    /// The same of a row with all its entries.
    func keepKey(
        _ full: RowState, shownAs row: TableReader.Row, at place: Int64?, in table: TrackedTable,
        replacing replaced: [Int: Value]
    ) throws {
        // Most tables' keys name no other rows, and nothing has to be spelled out.
        try keepKey(
            full.identity, given: { try intactValues(full, in: table)[$0] }, shownAs: row, at: place, in: table,
            replacing: replaced)
    }

    /// A row that was refused may be so for its key, which is no constraint where it says nothing but which row it is.
    ///
    /// - Throws: ``UnreadyTable`` where it says something else.
    func checkKey(_ full: RowState, _ values: [Value?], in table: TrackedTable) throws {
        guard table.kind != .surrogate, !table.keepsIdentities else { return }
        let identity = full.identity
        if table.keyHasReference, identity.naturalParts?.count == table.key.count {
            let given = try intactValues(full, in: table)
            if !Self.isSpelled(identity, { given[$0] }, { values[$0] ?? .null }, in: table) {
                throw Self.otherKey(table)
            }
            return
        }
        let spelled = try reader(table).naturalIdentity { try identityValue(values[$0] ?? .null, $0, in: table) }
        if spelled != nil, spelled != identity { throw Self.otherKey(table) }
    }

    /// Whether a key with references in it spells an identity. A reference stands for itself until the rows that it names are
    /// all here, and where it is shown as one to the row that its own was folded into: what its cell says counts, and of all
    /// else what the table shows.
    ///
    /// - Parameters:
    ///   - given: by column position, as logs have it.
    ///   - shown: the same, as the table has it.
    private static func isSpelled(
        _ identity: RowIdentity, _ given: (Int) throws -> Value, _ shown: (Int) -> Value, in table: TrackedTable
    ) rethrows -> Bool {
        guard let parts = identity.naturalParts, parts.count == table.key.count else { return false }
        return try zip(parts, table.key).allSatisfy { part, key in
            if table.isSaidOtherwise(part.value, at: key.index) { return false }
            let value = if case .reference = part { try given(key.index) } else { shown(key.index) }
            return KeyPart(value, collation: key.collation) == part
        }
    }

    private static func otherKey(_ table: TrackedTable) -> UnreadyTable {
        UnreadyTable(table: table.name, need: .identities)
    }
}

extension OpenStore {
    /// - Throws: ``UnreadyTable`` where rows have the identities of names in a table whose rows have none, and which is none of
    ///   which that is known.
    func checkIdentities(_ identities: [RowIdentity], in table: TrackedTable?) throws {
        guard let table, table.kind == .surrogate || table.key.isEmpty, !table.keepsIdentities else { return }
        guard identities.allSatisfy(\.isSurrogate) else { throw UnreadyTable(table: table.name, need: .identities) }
    }
}

extension TrackedTable {
    /// Whether an identity is what a row's key spells, or the table is none in which it has to be.
    ///
    /// - Parameter value: by column position, as logs have it.
    func isSpelled(_ identity: RowIdentity, by value: (Int) throws -> Value) rethrows -> Bool {
        guard kind == .natural, !key.isEmpty else { return true }
        let values = try key.map { try value($0.index) }
        if identity.isSurrogate { return values.contains { $0.isNull } }
        return identity.isSpelled(by: values, at: Array(values.indices), key.map(\.collation))
    }
}
