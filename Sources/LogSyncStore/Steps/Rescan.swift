package import LogSyncModel
import LogSyncSQLite

/// Compares all rows with all clock records, whether or not anything was captured.
struct Rescan {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// Puts triggers back and brings clock records to where their rows are now.
    ///
    /// - Parameter compared: what was found of tables before this. Those of which it says no longer which records are their
    ///   rows' leave it; of the others nothing else is read, however many rows they have.
    /// - Returns: what the recording after it needs to know.
    func matchRecords(_ compared: inout [Int64: DifferingRows]) throws -> SchemaFindings {
        let reconciliation = SchemaReconciliation(store: store)
        if try SchemaReconciliation.isNeeded(store) { return try reconciliation.reconcile() }
        var findings = SchemaFindings()
        for table in store.catalog.tables {
            let isCaptured = try Capture.isSound(table, on: connection)
            if !isCaptured { try Capture.install(table, on: connection) }
            if let found = compared[table.id] {
                if try isCaptured && reconciliation.areInPlace(found.rows, of: table) { continue }
                compared[table.id] = nil
            }
            if try reconciliation.matchRowids(table)?.isInDoubt ?? false { findings.orphanScans.insert(table.id) }
        }
        try store.acceptSchemaVersion()
        return findings
    }

    /// Lets the next recording compare the rows that were found to differ, and look for the row of every record.
    ///
    /// - Parameter compared: what was found of each table; of one that is not among them every row is compared.
    /// - Returns: what that recording needs to know.
    func note(_ compared: [Int64: DifferingRows]) throws -> SchemaFindings {
        var findings = SchemaFindings()
        for table in store.catalog.tables {
            if let found = compared[table.id] {
                findings.orphans[table.id] = found.orphans
                try found.note(in: table, on: connection)
            } else {
                try Capture.noteEverything(table, on: connection)
            }
            findings.orphanScans.insert(table.id)
        }
        return findings
    }

    /// The tables whose rows can be compared while programs write, whether or not their records are brought to their rows
    /// first.
    func comparable(beforeMatching isEarly: Bool) -> [TrackedTable] {
        store.catalog.tables.filter {
            RowComparison.isPossible(of: $0)
                && (!isEarly || $0.hasMovableRows && RowComparison.findsOrphansByRows(of: $0))
        }
    }

    // MARK: Rows whose keys are not kept

    /// The records without a row of which only a digest says which row it was.
    ///
    /// - Parameter compared: what was found of tables; of one that is not among them every record is looked at.
    func unidentified(_ compared: [Int64: DifferingRows]) throws -> [UnidentifiedRows] {
        var found: [UnidentifiedRows] = []
        for table in store.catalog.tables where table.findsByKeyDigest {
            let digests = try OrphanRecords(table: table, store: store)
                .all(among: compared[table.id]?.orphans, unidentifiedOnly: true).map(\.digest)
            if !digests.isEmpty { found.append(UnidentifiedRows(table: table.name, digests: Set(digests))) }
        }
        return found
    }

    /// Notes the deletion of the rows that are gone and whose identities are among `names`, by table.
    func noteDeletions(_ names: [String: Set<RowIdentity>]) throws {
        for table in store.catalog.tables where table.findsByKeyDigest {
            guard let names = names[table.name], !names.isEmpty else { continue }
            let records = OrphanRecords(table: table, store: store)
            let orphans = Dictionary(
                try records.all().map { ($0.digest, $0.row) }, uniquingKeysWith: { first, _ in first })
            guard !orphans.isEmpty else { continue }
            for identity in names.sorted() {
                guard let row = orphans[table.keyDigest(identity)], try records.agrees(identity, row) else {
                    continue
                }
                try noteDeletion(of: identity, in: table)
            }
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
}

extension UnidentifiedRows {
    /// Whether a row of this identity may be among them.
    package func mayContain(_ identity: RowIdentity) -> Bool { digests.contains(TrackedTable.keyDigest(identity)) }
}
