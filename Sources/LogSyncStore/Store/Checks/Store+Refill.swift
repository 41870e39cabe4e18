package import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns that have come back under their names, and what they held (Documentation/merging.md).
extension Store {
    /// The columns that are here and of which values may be lost.
    package func returnedColumns() throws -> [ColumnName] {
        try database.read { try Self.returnedColumns($0) }
    }

    private static func returnedColumns(_ store: OpenStore) throws -> [ColumnName] {
        try ForgottenColumns(store).all().filter { name in
            store.catalog[name.table]?.positions[name.column.folded] != nil
        }.sorted()
    }

    /// Gives rows the values of those columns that a snapshot has of them, where no program has written since, in short
    /// write transactions. What is pending is recorded first.
    ///
    /// - Parameter reader: a snapshot that a store with this one's schema has taken, with all values in it.
    /// - Returns: how many cells have got a value, and whether nothing of a column is lost any more. That takes a snapshot
    ///   which has lost none of it, of all the transactions that this store has.
    /// - Throws: `locked`; what reading throws. What was written stays, and may be written again.
    package func refill(from reader: SnapshotReader) throws -> [(column: ColumnName, cells: Int, isWhole: Bool)] {
        let manifest = reader.manifest
        let columns = try returnedColumns()
        let given = columns.filter { !manifest.lost.contains($0) }
        let tables = Set(given.map(\.table.folded))
        // Peers that are new here get their numbers.
        let terms = try database.write { try SnapshotTerms(manifest, $0) }
        var counts: [[String]: Int] = [:]
        let (vector, schemaVersion) = try database.read { ($0.peers.vector, $0.schemaVersion) }
        while let rows = try reader.next() {
            guard tables.contains(rows.table.folded) else { continue }
            var group: [RowState] = []
            try terms.forEachRow(of: rows) { index, row in
                group.append(row)
                guard group.count == Self.rowsInMemory || index == rows.count - 1 else { return }
                try refill(group, given, &counts)
                group = []
            }
        }
        let isAll = try database.write { store in
            // What has gone once more since then is lost once more.
            guard
                try manifest.vector.includes(vector) && store.schemaVersion == schemaVersion
                    && !SchemaReconciliation.isNeeded(store)
            else { return false }
            try ForgottenColumns(store).remove(given)
            for table in store.catalog.tables where tables.contains(table.name.folded) {
                try DroppedRows(store).end(table.name, isGoingOn: false)
            }
            return true
        }
        return columns.map { column in
            (
                column, counts[[column.table.folded, column.column.folded]] ?? 0,
                isAll && !manifest.lost.contains(column)
            )
        }
    }

    private static let rowsInMemory = 256

    private func refill(_ rows: [RowState], _ columns: [ColumnName], _ counts: inout [[String]: Int]) throws {
        var rest = rows[...]
        while !rest.isEmpty {
            let (done, found) = try database.write { [rest] store in
                let deadline = ContinuousClock.now + .seconds(store.configuration.lockBudget)
                _ = try RecordStep(store).run()
                let refill = ColumnRefill(store, columns)
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
}
