import LogSyncModel
import LogSyncState

/// Finds the clock records that captured rows had, by the keys under which they were captured, while records come and
/// go.
struct OriginLookup {
    let table: TrackedTable
    let store: OpenStore
    /// Knows what integers stood for.
    unowned let recorder: Recorder

    private var clock: ClockTable { ClockTable(table: table, connection: store.connection) }
    private var identities: IdentityMap { IdentityMap(store: store) }

    func record(of key: RowKey, rowid: Int64?) throws -> Int64? {
        guard let natural = key.natural else {
            guard let rowid = key.rowid, try clock.exists(rowid) else { return nil }
            if table.key.isEmpty { return rowid }
            // A row with a NULL in its key is not the row of a record that has a key.
            return try table.capturesKey && clock.name(at: rowid)?.isSurrogate == false ? nil : rowid
        }
        if table.findsByKeyDigest { return try recordByDigest(natural, hint: rowid) }
        guard let identity = try formerIdentity(of: natural) else { return nil }
        return try FoldedKeys(store: store, table: table).row(of: identity)
    }

    /// The identity that a key stood for before any of this: references by their former identities.
    private func formerIdentity(of key: RowIdentity) throws -> RowIdentity? {
        guard table.keyHasReference else { return key }
        var parts: [KeyPart] = []
        for (part, column) in zip(key.naturalParts ?? [], table.key) {
            guard case .integer(let integer) = part, let name = table.columns[column.index].reference,
                let parent = store.catalog[name]
            else {
                parts.append(part)
                continue
            }
            if let identity = try formerIdentity(of: integer, in: parent) {
                parts.append(.reference(identity))
            } else if integer <= 0 {
                parts.append(part)
            } else {
                return nil
            }
        }
        return RowIdentity(natural: parts)
    }

    /// The identity that an integer stood for before any of this.
    private func formerIdentity(of integer: Int64, in parent: TrackedTable) throws -> RowIdentity? {
        if let former = recorder.recording(of: parent)?.formerIdentities[integer] { return former }
        return try identities.knownIdentity(of: integer, in: parent)
    }

    /// The record whose key has this digest; not one whose row is there under another key.
    private func recordByDigest(_ key: RowIdentity, hint: Int64?) throws -> Int64? {
        let reader = TableReader(table: table, store: store)
        var orphan: Int64?
        for row in try clock.rows(withUnique: table.keyDigest(key)) where try clock.exists(row) {
            if row == hint { return row }
            if let name = try clock.name(at: row) {
                if name == key { return row }
                continue
            }
            guard let present = try reader.row(at: row), let record = try clock.record(at: row) else {
                orphan = row
                continue
            }
            if reader.naturalIdentity({ present.values[$0] }) == key { return row }
            // Another key is there: it is the record's own where digests have met by chance, or a row that came later.
            let isItsOwn = table.key.allSatisfy { part in
                let id = table.columns[part.index].id
                return id < record.digests.count
                    && record.digests[id] == UInt32(truncatingIfNeeded: present.digests[part.index])
            }
            if !isItsOwn { orphan = row }
        }
        return orphan
    }
}
