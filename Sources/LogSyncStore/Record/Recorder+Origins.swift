import LogSyncModel
import LogSyncSQLite

/// Which clock records captured rows had, and what integers stood for, before any of it.
extension Recorder {
    func collect(_ table: TrackedTable) throws -> CapturedChanges {
        let clock = ClockTable(table: table, connection: connection)
        return try CapturedChanges(table, besides: plain[table.id], on: connection) { location, rowid in
            guard let key = location.key else {
                guard let rowid = location.rowid, try clock.exists(rowid) else { return nil }
                // A row with a NULL in its key is none of those that have a key.
                return try table.capturesKey && clock.name(at: rowid)?.isSurrogate == false ? nil : rowid
            }
            if table.findsByKeyDigest { return try self.recordByDigest(key, hint: rowid, clock: clock) }
            guard let identity = try self.formerIdentity(of: key, in: table) else { return nil }
            return try FoldedKeys(store: self.store, table: table).row(of: identity)
        }
    }

    /// The identity that a key stood for before any of this: references by their former identities.
    private func formerIdentity(of key: RowIdentity, in table: TrackedTable) throws -> RowIdentity? {
        guard table.keyHasReference else { return key }
        var parts: [KeyPart] = []
        for (part, column) in zip(key.naturalParts ?? [], table.key) {
            guard case .integer(let integer) = part, let name = table.columns[column.index].reference,
                let parent = store.catalog[name]
            else {
                parts.append(part)
                continue
            }
            guard let identity = try formerIdentity(of: integer, in: parent) else { return nil }
            parts.append(.reference(identity))
        }
        return RowIdentity(natural: parts)
    }

    /// The identity that an integer stood for before any of this.
    private func formerIdentity(of integer: Int64, in parent: TrackedTable) throws -> RowIdentity? {
        if let former = former[parent.id]?[integer] { return former }
        return try identities.knownIdentity(of: integer, in: parent)
    }

    /// Keeps what integers stood for while their records go and move.
    func rememberFormer(_ table: TrackedTable) throws {
        guard table.localInteger != nil, let events = events[table.id] else { return }
        let clock = ClockTable(table: table, connection: connection)
        for place in events.lives.keys {
            guard let rowid = place.rowid else { continue }
            let known = try identities.knownIdentity(of: rowid, in: table)
            former[table.id, default: [:]][rowid] = .some(known)
            if let origin = events.lives[place]?.origin, origin != rowid {
                former[table.id, default: [:]][origin] = .some(try clock.identity(at: origin))
            }
        }
        for record in events.deaths.keys {
            former[table.id, default: [:]][record] = .some(try clock.identity(at: record))
        }
        if let plain = plain[table.id], store.catalog.tables.contains(where: \.keyHasReference) {
            for index in plain.deletes {
                let record = plain.entries[index].rowid
                former[table.id, default: [:]][record] = .some(try clock.identity(at: record))
            }
        }
    }

    /// The record whose key has this digest. A record whose row is there with another key is somebody else's.
    private func recordByDigest(_ key: RowIdentity, hint: Int64?, clock: ClockTable) throws -> Int64? {
        let reader = TableReader(table: clock.table, store: store)
        var orphan: Int64?
        for row in try clock.rows(withUnique: clock.table.keyDigest(key)) where try clock.exists(row) {
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
            let isItsOwn = clock.table.key.allSatisfy { part in
                let id = clock.table.columns[part.index].id
                return id < record.digests.count
                    && record.digests[id] == UInt32(truncatingIfNeeded: present.digests[part.index])
            }
            if !isItsOwn { orphan = row }
        }
        return orphan
    }
}
