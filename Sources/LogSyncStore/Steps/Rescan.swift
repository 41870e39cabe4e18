package import LogSyncModel
import LogSyncSQLite

/// Compares all rows with all clock records, whether or not anything was captured.
struct Rescan {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// Puts triggers back and brings clock records to where their rows are now.
    ///
    /// - Returns: what the recording after it needs to know.
    func matchRecords() throws -> SchemaFindings {
        let reconciliation = SchemaReconciliation(store: store)
        if try SchemaReconciliation.isNeeded(store) { return try reconciliation.reconcile() }
        var findings = SchemaFindings()
        for table in store.catalog.tables {
            if try !Capture.isInstalled(table, on: connection) { try Capture.install(table, on: connection) }
            if try reconciliation.matchRowids(table) { findings.orphanScans.insert(table.id) }
        }
        try store.acceptSchemaVersion()
        return findings
    }

    /// Lets the next recording compare every row, and look for the row of every record.
    ///
    /// - Returns: what that recording needs to know.
    func noteEverything() throws -> SchemaFindings {
        var findings = SchemaFindings()
        for table in store.catalog.tables {
            try Capture.noteEverything(table, on: connection)
            findings.orphanScans.insert(table.id)
        }
        return findings
    }

    // MARK: Rows whose keys are not kept

    /// The records without a row of which only a digest says which row it was.
    func unidentified() throws -> [UnidentifiedRows] {
        var found: [UnidentifiedRows] = []
        for table in store.catalog.tables where table.findsByKeyDigest {
            let digests = try OrphanRecords(table: table, store: store).all(unidentifiedOnly: true).map(\.digest)
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
