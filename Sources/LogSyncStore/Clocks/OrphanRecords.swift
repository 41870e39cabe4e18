import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Clock records whose rows are gone though nothing was captured, in a table whose records are found by the digest of the key.
struct OrphanRecords {
    let table: TrackedTable
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// Whether there is a record of this key without its row.
    func contain(_ identity: RowIdentity) throws -> Bool {
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        for row in try clock.rows(withUnique: table.keyDigest(identity)) {
            let present = try reader.row(at: row).flatMap { row in reader.naturalIdentity { row.values[$0] } }
            if present.map({ table.keyDigest($0) }) == table.keyDigest(identity) { continue }
            if try agrees(identity, row) { return true }
        }
        return false
    }

    /// Whether a record's column digests are those of a key; a digest of the whole key may meet another's by chance.
    func agrees(_ identity: RowIdentity, _ row: Int64) throws -> Bool {
        guard let parts = identity.naturalParts, parts.count == table.key.count,
            let record = try ClockTable(table: table, connection: connection).record(at: row)
        else { return false }
        return zip(parts, table.key).allSatisfy { part, key in
            // Under another collation the row may have spelt it in another way.
            guard key.collation == .binary, case .text = part.value else { return true }
            let id = table.columns[key.index].id
            return id < record.digests.count
                && record.digests[id] == UInt32(truncatingIfNeeded: table.valueDigest.of(part.value))
        }
    }

    /// Records whose rows are gone, with the digests of their keys. Another row may stand under the number by now.
    ///
    /// - Parameter candidates: the records that may be such; nil for any.
    func all(
        among candidates: [Int64]? = nil, unidentifiedOnly: Bool = false
    ) throws -> [(digest: Int32, row: Int64)] {
        let condition = "c.identity IS NULL\(unidentifiedOnly ? " AND c.uniques IS NULL" : "")"
        guard let candidates else { return try records(where: condition) }
        return try candidates.flatMap { try records(where: "\(condition) AND c.row = ?", .integer($0)) }
    }

    private func records(where condition: String, _ arguments: Value...) throws -> [(digest: Int32, row: Int64)] {
        let reader = TableReader(table: table, store: store)
        let statement = try connection.prepare(
            """
            SELECT u.digest, c.row FROM \(table.clock) AS c JOIN \(table.unique) AS u ON u.row = c.row WHERE \(condition)
            """)
        for (index, argument) in arguments.enumerated() { statement.bind(argument, at: index + 1) }
        var orphans: [(digest: Int32, row: Int64)] = []
        while try statement.step() {
            let digest = Int32(truncatingIfNeeded: statement.integer(0))
            let row = statement.integer(1)
            if let present = try reader.row(at: row),
                let identity = reader.naturalIdentity({ present.values[$0] }), table.keyDigest(identity) == digest
            {
                continue
            }
            orphans.append((digest, row))
        }
        return orphans
    }
}
