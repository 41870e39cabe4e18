import LogSyncModel
import LogSyncSQLite

/// Columns that refer to rows of another table than one that has gone.
extension SchemaReconciliation {
    /// Whether a new column names rows of another table than one that has gone did, so that it is not that one, whatever its
    /// values are.
    ///
    /// An integer names a row of its table, and no row of another, so that what the former column says in logs means nothing in
    /// the new one. Of a key that is the same everywhere the value may say the same in both tables, as where one has become part
    /// of the other; but not where columns have come or gone that have the rest: one was divided, or several were joined.
    /// A migration fills the new columns on each peer, and edits of the former ones count there with their times.
    ///
    /// An example. `comment(item)` becomes `comment(note, task)`, as the rows of `item` go to two tables. Most comments may be of
    /// notes, so that `note` holds most of what `item` held; but its NULLs say nothing of `item`.
    func refersToOthers(
        _ new: TableSchema.Column, than column: KnownColumn, among known: [KnownColumn], in table: TrackedTable,
        _ schema: TableSchema
    ) throws -> Bool {
        guard let former = try parent(of: column, in: table), case let present = try parents(of: new, in: schema),
            !present.isEmpty, !present.contains(former.name.folded), try !isKey(column, of: table)
        else { return false }
        if former.isByInteger { return true }
        let names = Set(known.map(\.name.folded))
        let come = try schema.columns.filter { !names.contains($0.name.folded) }.map { try parents(of: $0, in: schema) }
        let gone = try known.filter { schema.column($0.name) == nil }
            .compactMap { try parent(of: $0, in: table)?.name.folded }
        // What goes on referring to the same rows was only renamed.
        let isDivided = come.contains { $0.isDisjoint(with: present.union(gone)) && !$0.isEmpty }
        let areJoined = gone.contains { parent in
            parent != former.name.folded && !come.contains { $0.contains(parent) }
        }
        return isDivided || areJoined
    }

    /// The columns that have gone, by id, in place of which columns have come that refer to rows of other tables, and the names
    /// of these.
    ///
    /// - Parameter dropped: by id.
    func columnsOfOthers(
        _ added: Present, _ known: [KnownColumn], without dropped: [Int], in table: TrackedTable, _ schema: TableSchema
    ) throws -> (gone: [Int], new: Set<String>) {
        var (gone, new): ([Int], Set<String>) = ([], [])
        for column in known where dropped.contains(Int(column.id)) {
            let others = try added.map(\.element).filter {
                try refersToOthers($0, than: column, among: known, in: table, schema)
            }
            if !others.isEmpty { gone.append(Int(column.id)) }
            new.formUnion(others.map(\.name))
        }
        return (gone, new)
    }

    /// The table of the rows that a column named at the last look, by its name in logs, and whether by their integers.
    private func parent(of column: KnownColumn, in table: TrackedTable) throws -> (name: String, isByInteger: Bool)? {
        guard !column.isUndecided, case let id = Int(column.id) else { return nil }
        if let name = try ReferenceHistory(connection).parent(of: id, in: table.id) { return (name, true) }
        return try NamingColumns(connection).name(of: id, in: table.id).map { ($0.table, false) }
    }

    /// The tables to which foreign keys of a column refer, by lower-case names in logs; none where one of them is missing.
    private func parents(of column: TableSchema.Column, in schema: TableSchema) throws -> Set<String> {
        let keys = schema.foreignKeys.filter { key in key.from.contains { $0.folded == column.name.folded } }
        let declarations = try TableDeclarations(on: connection)
        var parents: Set<String> = []
        for key in keys {
            guard try TableSchema.read(key.parent, on: connection, among: declarations) != nil else { return [] }
            parents.insert(try Renames(connection).logName(ofReferred: key.parent).folded)
        }
        return parents
    }
}
