package import LogSyncModel
import LogSyncSQLite

/// What a rescan knows before it is told the names of rows.
package struct PreparedRescan: Sendable {
    /// What was captured before and has been recorded first; nil for nothing.
    package var pending: RecordedTransaction?
    /// Whether what was captured is recorded by itself; else the schema had changed, and it is found with all else.
    var recordsCaptured: Bool
    /// The tables, by their names in the database, whose triggers were gone and are back.
    package var capturedAgain: [String]
    /// The rows that are gone and that nothing in the store identifies.
    package var unidentified: [UnidentifiedRows]
    /// What the recording of what is found needs to know.
    var findings: SchemaFindings
    /// What was found already, by table, and of which version of the schema: with another one, rows may have other numbers.
    var compared: [Int64: DifferingRows]
    var schemaVersion: Int64
}

/// Finding what was changed behind the triggers' back: by a repair, a restored file, a program that had turned them
/// off.
extension Store {
    /// Records what is pending, and has every table capture again.
    ///
    /// Rows are matched to their clock records by their keys, because a repair may have numbered them anew.
    ///
    /// Logs may identify rows that the store does not, see ``rescan(_:naming:)``.
    package func prepareRescan() throws -> PreparedRescan {
        // While programs go on writing: most stores are sound, and nothing is left to do under the lock then.
        let schemaVersion = try database.read(\.schemaVersion)
        var compared = try comparedRows { $0.comparable(beforeMatching: true) }
        return try database.write { store in
            // Another process may have followed the schema meanwhile.
            if try store.schemaVersion != schemaVersion || RecordStep.isSchemaOpen(store) { compared = [:] }
            let capturedAgain = try store.catalog.tables.filter {
                try !Capture.isSound($0, on: store.connection)
            }.map(\.schema.name)
            // Where the triggers are there, what they noted is a transaction of its own.
            let recordsCaptured = try !SchemaReconciliation.isNeeded(store)
            let pending = try recordsCaptured ? RecordStep(store).run() : nil
            let rescan = Rescan(store: store)
            let findings = try rescan.matchRecords(&compared)
            return PreparedRescan(
                pending: pending, recordsCaptured: recordsCaptured, capturedAgain: capturedAgain,
                unidentified: try rescan.unidentified(compared),
                findings: findings, compared: compared, schemaVersion: store.schemaVersion)
        }
    }

    /// Compares every row with its clock record and records what differs.
    ///
    /// - Parameter names: identities of rows that may be among the unidentified ones, by table as logs have it; others
    ///   do no harm.
    /// - Returns: what programs wrote since it was prepared, as the triggers captured it, and what was found besides, nil for
    ///   nothing; and how many rows are left unidentified, by table, named as in the database. Other peers go on showing them.
    package func rescan(_ prepared: PreparedRescan, naming names: [String: Set<RowIdentity>]) throws -> (
        captured: RecordedTransaction?, found: RecordedTransaction?, unidentified: [String: Int]
    ) {
        let known = prepared.compared
        var compared = try comparedRows { rescan in
            rescan.comparable(beforeMatching: false).filter { known[$0.id] == nil }
        }
        compared.merge(known) { $1 }
        return try database.write { store in
            let rescan = Rescan(store: store)
            var findings = prepared.findings
            let captured =
                try prepared.recordsCaptured && !SchemaReconciliation.isNeeded(store) ? RecordStep(store).run() : nil
            // What renumbers rows moves the schema's version, and what was compared has other numbers or columns then, also
            // where another process has followed.
            if try store.schemaVersion != prepared.schemaVersion || SchemaReconciliation.isNeeded(store) {
                compared = [:]
                findings.formUnion(try rescan.matchRecords(&compared))
            }
            try rescan.noteDeletions(names)
            findings.formUnion(try rescan.note(compared))
            let found = try RecordStep(store, findings: findings).run()
            var left: [String: Int] = [:]
            for rows in try rescan.unidentified(compared) {
                left[store.catalog[rows.table]?.schema.name ?? rows.table] = rows.digests.count
            }
            return (captured, found, left)
        }
    }
}

extension Store {
    /// The rows that have no record, or another than they are, by table: found while programs go on writing. What they write
    /// meanwhile is captured, and what is found is compared again when it is recorded.
    ///
    /// - Returns: nothing where the schema has to be looked at first.
    private func comparedRows(_ tables: (Rescan) -> [TrackedTable]) throws -> [Int64: DifferingRows] {
        var all: [Int64: DifferingRows] = [:]
        for id in try database.read({ tables(Rescan(store: $0)).map(\.id) }) {
            var found = DifferingRows()
            var place: RowComparison.Place? = .rows(after: [])
            while let from = place, found.keys.count <= DifferingRows.mostKeys {
                let isCurrent = try database.read { store in
                    guard try !SchemaReconciliation.isNeeded(store),
                        let table = store.catalog.tables.first(where: { $0.id == id })
                    else { return false }
                    place = try RowComparison(table: table, store: store).compare(from: from, &found)
                    return true
                }
                guard isCurrent else { return [:] }
            }
            if place == nil { all[id] = found }
        }
        return all
    }

    /// Records the deletion of a row that went away behind the triggers' back, and of rows that are found with it.
    ///
    /// - Returns: nil where nothing was found after all.
    package func recordGone(_ gone: RowGone) throws -> RecordedTransaction? {
        try database.write { store in
            guard let table = store.catalog[gone.table] else { return nil }
            var findings = SchemaFindings()
            if table.findsByKeyDigest {
                try Rescan(store: store).noteDeletions([table.name: [gone.identity]])
            } else {
                findings.orphanScans.insert(table.id)
            }
            return try RecordStep(store, findings: findings).run()
        }
    }
}
