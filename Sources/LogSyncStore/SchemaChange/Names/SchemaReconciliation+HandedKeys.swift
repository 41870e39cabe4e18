import LogSyncModel
import LogSyncSQLite

extension SchemaReconciliation {
    /// Follows a key whose name a rebuild has given to another column, which becomes the key (`INSERT INTO t_new(old_k, k, y)
    /// SELECT k, x, y FROM t`), or with which it has exchanged names.
    ///
    /// Rows go by what the key held. If each column were what it is called, all of them would have other keys, and what others
    /// write to the former ones would get to none.
    ///
    /// - Returns: whether values say so.
    func handOn(
        _ key: KnownColumn, among known: [KnownColumn], in table: TrackedTable, _ schema: TableSchema
    ) throws -> Bool {
        guard let bearer = schema.column(key.name), try !Capture.isInstalled(table, on: connection),
            // The first rows tell of nearly all keys that they are what they were.
            try agreement(of: key, with: key.name, in: table, schema, countsWritten: true, limit: 100).same < Self.few
        else { return false }
        func holds(_ new: TableSchema.Column, _ column: KnownColumn) throws -> Bool {
            guard new.declaredType == column.type else { return false }
            let moved = try agreement(of: column, with: new.name, in: table, schema, countsWritten: true)
            guard moved.isMost, moved.distinct >= Self.few else { return false }
            guard schema.column(column.name) != nil else { return true }
            return try agreement(of: column, with: column.name, in: table, schema, countsWritten: true).same * 2
                < moved.same
        }
        let takers = try known.filter { try $0.id != key.id && holds(bearer, $0) }
        guard takers.count == 1, let taker = takers.first else { return false }
        let heirs = try schema.columns.filter { column in
            let isFree = !known.contains { $0.name.folded == column.name.folded }
            return try !column.isGenerated && (isFree || column.name.folded == taker.name.folded) && holds(column, key)
        }
        guard heirs.count == 1, let heir = heirs.first,
            try Renames(connection).told(heir.name, in: table.name).map({ $0 == logName(of: key, in: table) }) ?? true
        else { return false }
        try rename(key, to: heir, in: table)
        try rename(taker, to: bearer, in: table)
        return true
    }
}
