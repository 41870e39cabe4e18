import LogSyncModel
import LogSyncSQLite

extension SchemaReconciliation {
    /// Follows columns that have taken the names of others which went: `DROP b`, then `RENAME c TO b`, and so on with `c`.
    ///
    /// ALTER TABLE leaves what rows hold. So a column that holds nothing of what the records say in rows which nobody has written
    /// since is another, whatever it is called: one whose records say what is there, if no new column could hold that, and whose
    /// name is gone, or is borne by another, too. The last of these may be new: `DROP b; RENAME c TO b; ADD c` leaves the names
    /// that were there.
    func takeNamesOfDropped(
        _ known: [KnownColumn], _ present: Present, in table: TrackedTable, _ schema: TableSchema,
        _ changes: inout ColumnChanges
    ) throws {
        guard try Capture.isInstalled(table, on: connection) else { return }
        let columns = try known.filter { try !isKey($0, of: table) }
        let borne = try columns.compactMap { former in
            let bearer = present.first { $0.element.name.folded == former.name.folded }?.element
            // The first rows tell of nearly all columns that they are what they were.
            return try bearer.flatMap { bearer in
                try agreement(of: former, with: bearer.name, in: table, schema, limit: 100).same == 0
                    && isContradicted(former, by: bearer, in: table, schema) ? (former, bearer) : nil
            }
        }
        let names = Set(present.map { $0.element.name.folded })
        var homeless = columns.filter { column in
            !names.contains(column.name.folded) || borne.contains { $0.0.id == column.id }
        }
        var taken: [(column: KnownColumn, bearer: TableSchema.Column, former: KnownColumn)] = []
        for (former, bearer) in borne {
            let takers = try homeless.filter { try holds(bearer, what: $0, in: table, schema) }
            guard takers.count == 1, let taker = takers.first else { continue }
            taken.append((taker, bearer, former))
            homeless.removeAll { $0.id == taker.id }
        }
        for former in taken.map(\.former) where !taken.contains(where: { $0.column.id == former.id }) {
            try markDropped(former.id, of: table)
            changes.dropped.append(Int(former.id))
        }
        for (column, bearer, _) in taken { try rename(column, to: bearer, in: table) }
    }

    /// Whether a column holds what the records have of a known one, and no default.
    private func holds(
        _ new: TableSchema.Column, what column: KnownColumn, in table: TrackedTable, _ schema: TableSchema
    ) throws -> Bool {
        guard try isSameType(new, column, in: table, schema) else { return false }
        let told = try Renames(connection).told(new.name, in: table.name)
        guard
            try told == nil || told == logName(of: column, in: table)
                || Renames(connection).isTangled(new.name, in: table.name)
        else { return false }
        let found = try agreement(of: column, with: new.name, in: table, schema)
        return found.isMost && (found.distinct > 1 || new.defaultSQL == nil)
    }
}
