import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// By which columns rows are named by peers that have migrated, or have not (``NamingColumns``).
extension OpenStore {
    /// By which columns, in names of logs, peers have named the rows that a column names, as a migration of one has told.
    func namingColumns(_ column: TrackedTable.Column, of table: TrackedTable) throws -> [String] {
        let told = try cached.namingColumns ?? toldColumns()
        cached.namingColumns = told
        return told["\(table.name).\(column.name)".folded] ?? []
    }

    /// What has been told. Where two peers have told something else, and neither had seen the other's, both count.
    private func toldColumns() throws -> [String: [String]] {
        let rows = try connection.rows(
            "SELECT rowid, target, value FROM logsync_setting WHERE kind = ?", .text(NamingColumns.setting))
        guard !rows.isEmpty, let settings = catalog[SettingTable.name], let value = settings.position(named: "value")
        else { return [:] }
        let clock = ClockTable(table: settings, connection: connection)
        return try rows.reduce(into: [:]) { told, row in
            let versions = try clock.record(at: row[0].asInteger)?.state.cell(settings.columns[value].id).versions
            let texts = (versions ?? []).compactMap(\.value) + [row[2]]
            // Anybody writes settings; what is no list says nothing, and each name is looked for in each row.
            let names = texts.flatMap { (try? KeyList.decode(String(text: $0))) ?? [] }.reduce(into: [String]()) {
                names, name in
                names.removeAll { $0.folded == name.folded }
                names.append(name)
            }
            told[String(text: row[1]).folded] = Array(names.suffix(NamingColumns.most))
        }
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
