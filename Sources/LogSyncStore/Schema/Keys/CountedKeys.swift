// Columns that a program counts, and that stand for the same row everywhere all the same.
//
// The problem. Only an INTEGER PRIMARY KEY is a number of each machine's own, which another takes the place of where it is
// taken. A program that takes the greatest `node_id` and one more, where that is a UNIQUE column of a table without a PRIMARY
// KEY, gives one to two rows on two machines: they become one, or one of them is parked, and what refers to it names the
// other. Nothing can be translated there, so it has to be said that one machine alone adds rows.
//
// The evidence. A column that is UNIQUE, or is so within another table's rows (`channel_id` of `channels(server_id,
// channel_id)`), is called as a number of the table's rows, and holds integers without wide gaps. Of a declared PRIMARY KEY,
// which often comes from a program that gives keys in one place, `init` only warns.

import LogSyncModel
import LogSyncSQLite

/// Finds them.
struct CountedKeys {
    let catalog: Catalog
    let connection: Connection

    func found() throws -> [TableReport.UndecidedKey] {
        try catalog.tables.compactMap { table in
            guard table.kind == .natural, !table.holdsSettings, table.schema.integerKey == nil,
                let column = try key(of: table)
            else { return nil }
            return TableReport.UndecidedKey(
                table: table.schema.name, column: column,
                reason: "counts the rows, and is no PRIMARY KEY", isCounted: true)
        }
    }

    /// The column; nil where there is none.
    private func key(of table: TrackedTable) throws -> String? {
        let indexes = table.schema.uniqueIndexes
        guard !indexes.contains(where: \.isPrimaryKey) else { return nil }
        for columns in indexes.compactMap({ $0.columns?.map(\.name) }) {
            let own = columns.last { isOwn($0, of: table) }
            guard let own, !refers(own, of: table) else { continue }
            if try isCounted(own, in: table) { return own }
        }
        return nil
    }

    private func isOwn(_ column: String, of table: TrackedTable) -> Bool {
        table.schema.affinity(of: column) == .integer && ReferredTables.isNumber(column, of: table)
    }

    private func refers(_ column: String, of table: TrackedTable) -> Bool {
        table.columns.contains { $0.local == column && $0.reference != nil }
            || table.schema.foreignKeys.contains { $0.from.map(\.folded) == [column.folded] }
    }

    private func isCounted(_ column: String, in table: TrackedTable) throws -> Bool {
        let name = SQL.name(column)
        return try connection.integer(
            """
            SELECT count(*) > 2 AND min(typeof(\(name)) = 'integer') AND min(\(name)) >= 0
            AND max(\(name)) - min(\(name)) < 2 * count(DISTINCT \(name)) FROM \(table.quoted)
            """) == 1
    }
}
