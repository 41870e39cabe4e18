package import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The columns that are here again (Documentation/merging.md, schemas) and of which values may be lost, as one look has found
/// them.
package struct ReturnedColumns: Sendable {
    package var names: [ColumnName]
    /// Whether what they are to be given has all that the store had then, as equal digests say.
    package var isAllThere = false
    fileprivate var schemaVersion: Int64
}

extension Store {
    package func returnedColumns() throws -> ReturnedColumns {
        try database.read { store in
            let names = try ForgottenColumns(store).all().filter { name in
                store.catalog[name.table]?.positions[name.column.folded] != nil
            }
            return ReturnedColumns(names: names.sorted(), schemaVersion: store.schemaVersion)
        }
    }
}

/// Gives the columns that are here again the values that a snapshot has of them, where no program has written since, in
/// short write transactions. What is pending is recorded first.
package final class Refill {
    private let reader: SnapshotReader
    private let columns: ReturnedColumns
    /// Those of which the snapshot has all values.
    private let given: [ColumnName]
    private let tables: Set<String>
    private let terms: SnapshotTerms
    private var counts: [[String]: Int] = [:]

    private static let rowsInMemory = 256

    /// - Parameter reader: of a snapshot that a store with this one's schema has taken, with all values in it.
    package init(_ columns: ReturnedColumns, of store: Store, from reader: SnapshotReader) throws {
        let manifest = reader.manifest
        self.reader = reader
        self.columns = columns
        given = columns.names.filter { !manifest.lost.contains($0) }
        tables = Set(given.map(\.table.folded))
        // Peers that are new here get their numbers.
        terms = try store.database.write { try SnapshotTerms(manifest, $0) }
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

    /// - Returns: how many cells of each column have got a value, and whether nothing of it is lost any more.
    package func finish(in store: Store) throws -> [(column: ColumnName, cells: Int, isWhole: Bool)] {
        let isAll = try store.database.write { [self] store in
            // What has gone once more since then is lost once more.
            guard
                try columns.isAllThere && store.schemaVersion == columns.schemaVersion
                    && !SchemaReconciliation.isNeeded(store)
            else { return false }
            try ForgottenColumns(store).remove(given)
            for table in store.catalog.tables where tables.contains(table.name.folded) {
                try DroppedRows(store).end(table.name, isGoingOn: false)
            }
            return true
        }
        return columns.names.map { column in
            (column, counts[[column.table.folded, column.column.folded]] ?? 0, isAll && given.contains(column))
        }
    }
}
