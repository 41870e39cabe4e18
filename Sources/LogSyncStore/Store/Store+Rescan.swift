package import LogSyncModel
import LogSyncSQLite

/// What was changed behind the triggers' back.
package struct RescanResult: Sendable {
    /// What was captured before and is recorded first; nil for nothing.
    package var pending: RecordedTransaction?
    /// What the comparison found; nil for nothing.
    package var found: RecordedTransaction?
    /// The tables, by their names in the database, whose triggers were gone and are back.
    package var capturedAgain: [String]
    /// Rows that are gone though nothing says which rows they were: how many by table, named as in the database. Other
    /// peers go on showing them.
    package var nameless: [String: Int]
}

/// Finding what was changed behind the triggers' back: by a repair, a restored file, a program that had turned them off.
extension Store {
    /// Records what is pending, and has every table capture again.
    ///
    /// Rows are matched to their clock records by their keys, because a repair may have numbered them anew.
    ///
    /// - Returns: what was recorded, the tables whose triggers were gone, and the rows that nobody can name from what the
    ///   store holds; logs may, see ``rescan(naming:)``.
    package func prepareRescan() throws -> (
        pending: RecordedTransaction?, capturedAgain: [String], nameless: [NamelessRows]
    ) {
        try database.write { store in
            let capturedAgain = try store.catalog.tables.filter {
                try !Capture.isInstalled($0, on: store.connection)
            }.map(\.schema.name)
            // Where the triggers stand, what they noted is a transaction of its own.
            let pending =
                try SchemaReconciliation.isNeeded(store) ? nil : RecordStep(store).run()
            let rescanning = Rescan(store: store)
            try rescanning.matchRecords()
            return (pending, capturedAgain, try rescanning.nameless())
        }
    }

    /// Compares every row with its clock record and records what differs.
    ///
    /// - Parameter names: identities of rows that may be among the nameless ones, by table as logs have it; others do no
    ///   harm.
    package func rescan(naming names: [String: Set<RowIdentity>]) throws -> (
        found: RecordedTransaction?, nameless: [String: Int]
    ) {
        try database.write { store in
            let rescanning = Rescan(store: store)
            try rescanning.matchRecords()
            try rescanning.noteDeletions(names)
            try rescanning.noteEverything()
            let found = try RecordStep(store).run()
            var left: [String: Int] = [:]
            for rows in try rescanning.nameless() {
                left[store.catalog[rows.table]?.schema.name ?? rows.table] = rows.digests.count
            }
            return (found, left)
        }
    }
}

extension Store {
    /// Records the deletion of a row that went away behind the triggers' back, and of rows that are found with it.
    ///
    /// - Returns: nil where nothing was found after all.
    package func recordGone(_ gone: RowGone) throws -> RecordedTransaction? {
        try database.write { store in
            guard let table = store.catalog[gone.table] else { return nil }
            if table.findsByKeyDigest {
                try Rescan(store: store).noteDeletions([table.name: [gone.identity]])
            } else {
                store.orphanScans.insert(table.id)
            }
            return try RecordStep(store).run()
        }
    }
}
