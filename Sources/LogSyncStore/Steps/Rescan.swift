package import LogSyncModel

/// Compares all rows with all clock records, whether or not anything was captured.
struct Rescan {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// Puts triggers back and brings clock records to where their rows are now.
    func matchRecords() throws {
        let reconciling = SchemaReconciliation(store: store)
        if try SchemaReconciliation.isNeeded(store) {
            try reconciling.reconcile()
        } else {
            for table in store.catalog.tables {
                if try !Capture.isInstalled(table, on: connection) { try Capture.install(table, on: connection) }
                try reconciling.matchRowids(table)
            }
            try store.acceptSchemaVersion()
        }
    }

    /// Lets the next recording compare every row, and look for the row of every record.
    func noteEverything() throws {
        for table in store.catalog.tables {
            try Capture.noteEverything(table, on: connection)
            store.orphanScans.insert(table.id)
        }
    }

    // MARK: Rows whose keys nobody kept

    /// The records without a row of which only a digest says which row it was.
    func nameless() throws -> [NamelessRows] {
        var found: [NamelessRows] = []
        for table in store.catalog.tables where table.findsByKeyDigest {
            let digests = try orphans(of: table, namelessOnly: true).map(\.digest)
            if !digests.isEmpty { found.append(NamelessRows(table: table.name, digests: Set(digests))) }
        }
        return found
    }

    /// Notes the deletion of the rows that are gone and that `names` name.
    func noteDeletions(_ names: [String: Set<RowIdentity>]) throws {
        for table in store.catalog.tables where table.findsByKeyDigest {
            guard let names = names[table.name], !names.isEmpty else { continue }
            let orphans = Dictionary(
                try orphans(of: table).map { ($0.digest, $0.row) }, uniquingKeysWith: { first, _ in first })
            guard !orphans.isEmpty else { continue }
            for identity in names.sorted() {
                guard let row = orphans[table.keyDigest(identity)], try agrees(identity, row, in: table) else {
                    continue
                }
                try noteDeletion(of: identity, in: table)
            }
        }
    }

    /// Whether a record of this key stands without its row.
    func isOrphan(_ identity: RowIdentity, in table: TrackedTable) throws -> Bool {
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        for row in try clock.rows(withUnique: table.keyDigest(identity)) {
            let present = try reader.row(at: row).flatMap { row in reader.naturalIdentity { row.values[$0] } }
            if present.map({ table.keyDigest($0) }) == table.keyDigest(identity) { continue }
            if try agrees(identity, row, in: table) { return true }
        }
        return false
    }

    /// Whether a record's column digests are those of a key; a digest of the whole key may meet another's by chance.
    private func agrees(_ identity: RowIdentity, _ row: Int64, in table: TrackedTable) throws -> Bool {
        guard let parts = identity.naturalParts, parts.count == table.key.count,
            let record = try ClockTable(table: table, connection: connection).record(at: row)
        else { return false }
        return zip(parts, table.key).allSatisfy { part, key in
            // Under another collation the row may have spelt it in another way.
            guard key.collation == .binary, case .text = part.value else { return true }
            let id = table.columns[key.index].id
            return id < record.digests.count
                && record.digests[id] == UInt32(truncatingIfNeeded: Digest.of(part.value))
        }
    }

    private func noteDeletion(of identity: RowIdentity, in table: TrackedTable) throws {
        guard let key = try ShownRows(store).localKey(identity, in: table) else { return }
        let columns = key.indices.map { ", k\($0)" }.joined()
        let statement = try connection.prepare(
            """
            INSERT INTO \(table.pending)(kind, row, ms\(columns))
            VALUES(\(Capture.Kind.delete.rawValue), NULL, \(SQL.milliseconds), \(SQL.placeholders(key.count)))
            """)
        for (index, value) in key.enumerated() { statement.bind(value, at: index + 1) }
        try statement.run()
    }

    /// Records whose rows are gone, with the digests of their keys. Another row may stand under the number by now.
    private func orphans(
        of table: TrackedTable, namelessOnly: Bool = false
    ) throws -> [(digest: Int32, row: Int64)] {
        let reader = TableReader(table: table, store: store)
        let statement = try Statement(
            """
            SELECT u.digest, c.row FROM \(table.clock) AS c JOIN \(table.unique) AS u ON u.row = c.row
            WHERE c.identity IS NULL\(namelessOnly ? " AND c.uniques IS NULL" : "")
            """, on: connection)
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

extension NamelessRows {
    /// Whether a row of this identity may be among them.
    package func mayContain(_ identity: RowIdentity) -> Bool { digests.contains(TrackedTable.keyDigest(identity)) }
}
