// Keys that a program counts, and that are the same row's everywhere all the same.
//
// The problem. Only an INTEGER PRIMARY KEY is a number of each machine's own, which another takes the place of where it is
// taken. A program that takes the greatest `node_id` and one more, where that is a UNIQUE column or an `INT PRIMARY KEY`, gives
// one to two rows on two machines: they become one, or one of them is parked, and what refers to it names the other.
// Nothing can be translated there, so it has to be said that one machine alone adds rows.
//
// The evidence. The key is one integer without wide gaps, or the column of it that is called as a number of the table's rows
// (`channel_id` of `channels(server_id, channel_id)`). Of a table without a PRIMARY KEY, what is UNIQUE has to be called so.

import LogSyncModel
import LogSyncSQLite

/// Finds them.
struct CountedKeys {
    let catalog: Catalog
    let connection: Connection

    func found() throws -> [TableReport.UndecidedKey] {
        try catalog.tables.compactMap { table in
            guard table.kind == .natural, table.name != "logsync_setting", table.schema.integerKey == nil,
                let column = try key(of: table)
            else { return nil }
            return TableReport.UndecidedKey(
                table: table.schema.name, column: column,
                reason: "counts the rows, and is no INTEGER PRIMARY KEY", isCounted: true)
        }
    }

    private func key(of table: TrackedTable) throws -> String? {
        let indexes = table.schema.uniqueIndexes.compactMap { $0.columns?.map(\.name) }
        let keys = table.key.isEmpty ? indexes : [table.key.map { table.columns[$0.index].local }]
        for columns in keys {
            let own = columns.filter { isOwn($0, of: table) }
            let isAlone = columns.count == 1 && !table.key.isEmpty
            guard let column = isAlone ? columns.first : own.last, !refers(column, of: table) else { continue }
            if try isCounted(column, in: table) { return column }
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
