import LogSyncModel

/// By which columns rows are named by peers that have migrated, or have not (``NamingColumns``).
extension OpenStore {
    /// By which columns, in names of logs, peers have named the rows that a column names, as a migration of one has told.
    func namingColumns(_ column: TrackedTable.Column, of table: TrackedTable) throws -> [String] {
        if cached.namingColumns == nil {
            cached.namingColumns = try Settings(self).values(NamingColumns.setting).reduce(into: [:]) {
                // Anybody writes settings; what is no list says nothing, and each name is looked for in each row.
                $0[$1.key.folded] = (try? KeyList.decode($1.value)).map { Array($0.suffix(NamingColumns.most)) }
            }
        }
        guard let told = cached.namingColumns, !told.isEmpty else { return [] }
        return told["\(table.name).\(column.name)".folded] ?? []
    }

    /// The columns by which peers have named a table's rows, as migrations have told; in names of logs.
    func otherNames(of table: TrackedTable) throws -> [String] {
        if let names = cached.otherNames { return names[table.name.folded] ?? [] }
        var names: [String: [String]] = [:]
        for child in catalog.tables {
            for column in child.columns {
                let told = try namingColumns(column, of: child)
                guard !told.isEmpty, let parent = column.reference ?? catalog.namedKey(column, in: child)?.parent.name
                else {
                    continue
                }
                names[parent.folded, default: []] += told
            }
        }
        cached.otherNames = names
        return names[table.name.folded] ?? []
    }

    /// Forgets what was told, because others may have told more.
    func forgetNamingColumns() {
        (cached.namingColumns, cached.otherNames, cached.otherKeys, cached.namedRows) = (nil, nil, [:], [:])
    }

    /// Tells the content by which columns a column names, or has named, rows.
    func tell(_ names: [String], of column: TrackedTable.Column, in table: TrackedTable) throws {
        let told = try namingColumns(column, of: table)
        let all = told + names.filter { name in !told.contains { $0.folded == name.folded } }
        guard all != told else { return }
        try Settings(self).set(NamingColumns.setting, "\(table.name).\(column.name)", KeyList.encode(all))
        forgetNamingColumns()
    }
}
