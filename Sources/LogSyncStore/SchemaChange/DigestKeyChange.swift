import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Gives a store without a ``DigestKey`` one, when everything captured has been recorded, so that the records are those of
/// the rows.
struct DigestKeyChange {
    let store: OpenStore

    static func isNeeded(_ store: OpenStore) throws -> Bool { try DigestKey.isMissing(on: store.connection) }

    /// Every clock record gets the digests under the new key.
    func applyIfNeeded() throws {
        guard try Self.isNeeded(store) else { return }
        try DigestKey.make(salt: store.salt, on: store.connection)
        try store.reloadCatalog()
        for table in store.catalog.tables { try digestAnew(table) }
    }

    /// A record that does not agree with its row was changed behind the triggers' back, and must not agree afterwards.
    private func digestAnew(_ table: TrackedTable) throws {
        let connection = store.connection
        let clock = ClockTable(table: table, connection: connection)
        let shownRows = ShownRows(store)
        let update = try Statement(
            "UPDATE \(table.clock) SET digest = ?2, digests = ?3 WHERE row = ?1", on: connection)
        var last = Int64.min
        // In portions, because what is read must not be what is being written.
        while true {
            let rows = try connection.rows(
                "SELECT row FROM \(table.clock) WHERE row > ? ORDER BY row LIMIT 1000", .integer(last))
            guard let end = rows.last else { return }
            last = end[0].asInteger
            for row in rows {
                let position = row[0].asInteger
                guard var record = try clock.record(at: position) else { continue }
                let present = try shownRows.currentRow(ofRecord: record.identity, at: position, in: table)
                digestAnew(&record, present, table)
                update.bind(position, at: 1)
                update.bind(Int64(bitPattern: record.digest), at: 2)
                record.digests.withUnsafeBytes { update.bind(blob: Array($0)[...], at: 3) }
                try update.run()
            }
        }
    }

    private func digestAnew(_ record: inout ClockRecord, _ present: TableReader.Row?, _ table: TrackedTable) {
        guard let present else { return }
        let former = present.values.map(ValueDigest.unkeyed.of)
        let agrees = table.digest(ofRow: former, below: record.digests.count) == record.digest
        let digest = table.digest(ofRow: present.digests, below: record.digests.count)
        record.digest = agrees ? digest : ~digest
        for (position, column) in table.columns.enumerated() where column.id < record.digests.count {
            let isSame = record.digests[column.id] == UInt32(truncatingIfNeeded: former[position])
            let digest = UInt32(truncatingIfNeeded: present.digests[position])
            record.digests[column.id] = isSame ? digest : ~digest
        }
    }
}
