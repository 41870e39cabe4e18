package import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite
import LogSyncState

extension Store {
    /// The columns that are here again (Documentation/merging.md, schemas) and of which values may be lost.
    package func returnedColumns() throws -> [ColumnName] {
        try database.read { store in
            try ForgottenColumns(store).all().filter { name in
                store.catalog[name.table]?.positions[name.column.folded] != nil
            }.sorted()
        }
    }
}

/// Gives the columns that are here again the values that a snapshot has of them, where no program has written since, in
/// short write transactions. What is pending is recorded first.
package final class Refill {
    private let reader: SnapshotReader
    private let columns: [ColumnName]
    /// Those of which the snapshot has all values.
    private let given: [ColumnName]
    private let tables: Set<String>
    private let terms: SnapshotTerms
    private let vector: VersionVector
    private let schemaVersion: Int64
    private var counts: [[String]: Int] = [:]

    private static let rowsInMemory = 256

    /// - Parameter reader: of a snapshot that a store with this one's schema has taken, with all values in it.
    package init(of store: Store, from reader: SnapshotReader) throws {
        let manifest = reader.manifest
        self.reader = reader
        columns = try store.returnedColumns()
        given = columns.filter { !manifest.lost.contains($0) }
        tables = Set(given.map(\.table.folded))
        // Peers that are new here get their numbers.
        terms = try store.database.write { try SnapshotTerms(manifest, $0) }
        (vector, schemaVersion) = try store.database.read { ($0.peers.vector, $0.schemaVersion) }
    }

    /// Refills the rows of the next frame; false where that was the last.
    ///
    /// - Throws: `locked`; what reading throws. What was written stays.
    package func next(in store: Store) throws -> Bool {
        guard let rows = try reader.next() else { return false }
        guard tables.contains(rows.table.folded) else { return true }
        var group: [RowState] = []
        try terms.forEachRow(of: rows) { index, row in
            group.append(row)
            guard group.count == Self.rowsInMemory || index == rows.count - 1 else { return }
            try refill(group, in: store)
            group = []
        }
        return true
    }

    private func refill(_ rows: [RowState], in store: Store) throws {
        var rest = rows[...]
        while !rest.isEmpty {
            let (done, found) = try store.database.write { [given, rest] store in
                let deadline = ContinuousClock.now + .seconds(store.configuration.lockBudget)
                _ = try RecordStep(store).run()
                let refill = ColumnRefill(store, given)
                var done = 0
                for row in rest where done == 0 || ContinuousClock.now < deadline {
                    try refill.refill(row)
                    done += 1
                }
                try refill.settle()
                return (done, refill.counts)
            }
            rest = rest.dropFirst(done)
            counts.merge(found, uniquingKeysWith: +)
        }
    }

    /// - Returns: how many cells of each column have got a value, and whether nothing of it is lost any more: that takes a
    ///   snapshot of all the transactions that the store had.
    package func finish(in store: Store) throws -> [(column: ColumnName, cells: Int, isWhole: Bool)] {
        let isAll = try store.database.write { [self] store in
            // What has gone once more since then is lost once more.
            guard
                try reader.manifest.vector.includes(vector) && store.schemaVersion == schemaVersion
                    && !SchemaReconciliation.isNeeded(store)
            else { return false }
            try ForgottenColumns(store).remove(given)
            for table in store.catalog.tables where tables.contains(table.name.folded) {
                try DroppedRows(store).end(table.name, isGoingOn: false)
            }
            return true
        }
        return columns.map { column in
            (column, counts[[column.table.folded, column.column.folded]] ?? 0, isAll && given.contains(column))
        }
    }
}
