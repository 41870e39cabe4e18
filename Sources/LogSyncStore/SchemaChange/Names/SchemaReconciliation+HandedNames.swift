import LogSyncModel
import LogSyncSQLite

extension SchemaReconciliation {
    /// Names that a rebuild has handed on: a new column holds what a known one held, another one has that one's name, and so
    /// on, until a name is left for a new column (`INSERT INTO t_new(c, b, b_old, a) SELECT a, c, b, 'new' FROM t`).
    ///
    /// Which columns these are their values say, each of which has to be where it is now and not under its name. Of the first
    /// one nothing tells whether it was renamed, or copied and changed: it is undecided, and so are the others where few
    /// values say it.
    ///
    /// - Parameter kept: the columns whose names are there still.
    /// - Returns: nil where no name was handed on to another known column.
    func handedOn(
        _ kept: [KnownColumn], _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable,
        _ schema: TableSchema
    ) throws -> MovedNames? {
        let names = Set(kept.map { $0.name.folded })
        let added = present.map(\.element).filter { !names.contains($0.name.folded) }
        let columns = try kept.filter { try !isKey($0, of: table) }
        /// How well what a column held agrees with what another holds now, where it agrees less with what is there under its name.
        func found(_ column: KnownColumn, as new: TableSchema.Column) throws -> Agreement? {
            guard new.declaredType == column.type, new.name.folded != column.name.folded else { return nil }
            let moved = try agreement(of: column, with: new.name, in: table, schema, countsWritten: true)
            guard moved.same > 0 else { return nil }
            let stayed = try agreement(of: column, with: column.name, in: table, schema, countsWritten: true)
            return stayed.same * 2 < moved.same ? moved : nil
        }
        for first in columns {
            let candidates = try added.compactMap { new in try found(first, as: new).map { (new, $0) } }
            guard candidates.count == 1, let (new, agreement) = candidates.first,
                try Renames(connection).told(new.name, in: table.name) == nil
            else { continue }
            var isClear = agreement.isMost && agreement.distinct >= Self.few
            var moved: [(column: KnownColumn, new: TableSchema.Column)] = []
            var free = first
            while let bearer = schema.column(free.name) {
                let takers = try columns.filter { column in
                    column.id != first.id && !moved.contains { $0.column.id == column.id }
                }
                .compactMap { column in try found(column, as: bearer).map { (column, $0) } }
                guard takers.count == 1, let (taker, agreement) = takers.first else { break }
                isClear = isClear && agreement.isMost && agreement.distinct >= Self.few
                moved.append((taker, bearer))
                free = taker
            }
            guard !moved.isEmpty, let last = schema.column(free.name) else { continue }
            let names =
                isClear
                ? []
                : moved.map { column, new in
                    (column, new, kept.first { $0.name.folded == new.name.folded })
                }
            return MovedNames(
                renamed: isClear ? moved : [], undecided: [(first, new, nil)] + names,
                bearer: isClear ? (last, first) : (last, free))
        }
        return nil
    }
}
