import LogSyncModel
import LogSyncSQLite

/// Numbers that rows have beside their own integers, as another program has given them: `users(id, user_id UNIQUE)`. Columns
/// of that name in other tables hold these, and are the same everywhere.
struct NumberedRows {
    let integers: ColumnIntegers

    /// Whether a column is the number of its own table's rows.
    func isNumber(_ column: String, in table: TrackedTable, _ all: ReferredTables) throws -> Bool {
        guard let named = all.names.first(where: { $0.table === table }) else { return false }
        return try ReferringName(column).candidates(among: [named], of: table).contains { $0.rank.distance < 2 }
            && has(column, table)
    }

    /// The tables whose integers a column may hold: none that has a number of its name.
    func without(
        _ called: [ReferringName.Candidate], by column: String
    ) throws -> [ReferringName.Candidate] {
        try called.filter { try !has(column, $0.parent) }
    }

    /// Whether a table has a UNIQUE number of a name. One that is UNIQUE together with texts only, as a row above this one may
    /// be, is a number where it is a row's own integer, too.
    private func has(_ column: String, _ table: TrackedTable) throws -> Bool {
        let schema = table.schema
        guard table.localInteger?.folded != column.folded, let position = table.localPositions[column.folded],
            table.columns[position].reference == nil, schema.affinity(of: column) == .integer,
            !ReferringName(column).isParent(in: table)
        else { return false }
        return try schema.uniqueIndexes.contains { index in
            guard let columns = index.columns?.map(\.name.folded), columns.contains(column.folded) else { return false }
            if columns.count == 1 { return true }
            return try columns.allSatisfy { $0 == column.folded || schema.affinity(of: $0) == .text }
                && integers.hasLoop(column, in: table)
        }
    }
}
