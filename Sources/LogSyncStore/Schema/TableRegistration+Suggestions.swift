import LogSyncModel
import LogSyncSQLite

extension TableRegistration {
    /// What people may want to say of a table, in clauses with the options that say it.
    func suggestions(
        _ table: TrackedTable, in catalog: Catalog, _ counters: [ProgramAllocator]
    ) throws -> [String] {
        var suggestions: [String] = []
        let isSaid = plan.policies.contains {
            $0.target.folded == table.schema.name.folded && ["unique-merge", "unique-park"].contains($0.policy)
        }
        if (table.kind == .surrogate || table.key.isEmpty) && !table.isSet && !isSaid {
            for index in table.schema.uniqueIndexes {
                guard let columns = index.columns?.map(\.name), !columns.isEmpty else { continue }
                // An integer that is no reference may be one that nobody has told of: it names other rows elsewhere. An
                // application's recipe has said of references what is to be said.
                let isLocal = columns.contains { name in
                    let isReference = table.columns.contains { $0.local == name && $0.reference != nil }
                    return isReference ? plan.knowsColumns : table.schema.affinity(of: name) == .integer
                }
                if !isLocal {
                    suggestions.append(
                        "if (\(columns.joined(separator: ", "))) means the same row everywhere: "
                            + "--identity \(table.schema.name.asShellArgument)=\(columns.map(\.asShellArgument).joined(separator: ","))"
                    )
                }
            }
        }
        if let columns = try namingColumns(table) {
            let identity = columns.map(\.asShellArgument).joined(separator: ",")
            suggestions.append(
                "if (\(columns.joined(separator: ", "))) names a row, two machines that write one make two of it, and neither "
                    + "is a conflict: CREATE UNIQUE INDEX on these columns, and "
                    + "--identity \(table.schema.name.asShellArgument)=\(identity)")
        }
        if let key = try countingKey(table) {
            suggestions.append(
                "if \(key) counts the rows, two machines that add some give one \(key) to two rows, which become one, and the "
                    + "values of one of them are conflicts: only an INTEGER PRIMARY KEY is a number of each machine's own; let "
                    + "one machine add rows, or the program draw keys by lot")
        }
        suggestions += try counters.isEmpty ? programSuggestions(table, in: catalog) : [counting(counters)]
        for column in table.columns where column.reference == nil && !column.isKey {
            let lower = column.local.folded
            guard lower.hasSuffix("_id") || column.local.hasSuffix("Id") || column.local.hasSuffix("ID"),
                !isNoReference(column, in: table)
            else { continue }
            let affinity = table.schema.affinity(of: column.local)
            if affinity == .text, try holdsNumerals(column, in: table) {
                suggestions.append(
                    "if \(column.local) holds integers of another table's rows, as text, these are not translated: "
                        + "--identity TABLE=natural for that table, where only one peer adds rows to it")
            }
            guard affinity == .integer else { continue }
            suggestions.append(
                "if \(column.local) holds the integer of another table's row: "
                    + "--reference \(table.schema.name.asShellArgument).\(column.local.asShellArgument)=TABLE")
        }
        return suggestions
    }

    /// The columns of an index by which a program without a key of its own finds one row at a time, as far as its rows tell:
    /// two columns or more, of which no two rows have the same.
    private func namingColumns(_ table: TrackedTable) throws -> [String]? {
        guard table.kind == .natural, table.key.isEmpty, !table.hasSecondaryUnique else { return nil }
        let indexes = try connection.rows(
            "SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 0 AND partial = 0 ORDER BY seq",
            .text(table.schema.name))
        for index in indexes {
            let names = try connection.rows(
                "SELECT name FROM pragma_index_info(?) ORDER BY seqno", index[0]
            ).map { $0[0].isNull ? nil : String(text: $0[0]) }
            let columns = names.compactMap(\.self)
            guard columns.count == names.count, columns.count > 1,
                columns.allSatisfy({ table.schema.affinity(of: $0) == .text })
            else { continue }
            let list = columns.map(SQL.name).joined(separator: ", ")
            let isUnique = try connection.integer(
                """
                SELECT count(*) > 1 AND count(*) = (SELECT count(*) FROM (SELECT DISTINCT \(list) FROM \(table.quoted)))
                FROM \(table.quoted)
                """)
            if isUnique == 1 { return columns }
        }
        return nil
    }

    /// The column of a key that is the same row's everywhere, and that looks as if it were given in turn: integers without
    /// wide gaps, or one word with digits after it, as in `P000012`.
    private func countingKey(_ table: TrackedTable) throws -> String? {
        guard table.kind == .natural, table.schema.integerKey == nil, table.key.count == 1, let key = table.key.first,
            table.columns[key.index].reference == nil
        else { return nil }
        let column = table.columns[key.index].local
        let name = SQL.name(column)
        let counts = try connection.integer(
            """
            SELECT count(*) > 2 AND (min(typeof(\(name)) = 'integer') AND min(\(name)) >= 0
              AND max(\(name)) - min(\(name)) < 2 * count(*)
              OR min(typeof(\(name)) = 'text') AND min(length(\(name))) = max(length(\(name)))
              AND min(rtrim(\(name), '0123456789')) = max(rtrim(\(name), '0123456789'))
              AND min(length(\(name)) - length(rtrim(\(name), '0123456789'))) > 2)
            FROM \(table.quoted)
            """)
        return counts == 1 ? column : nil
    }

    /// Whether a column of texts holds integers written out, and nothing else.
    private func holdsNumerals(_ column: TrackedTable.Column, in table: TrackedTable) throws -> Bool {
        let name = SQL.name(column.local)
        return try connection.integer(
            """
            SELECT count(*) > 0 AND count(*) = sum(value <> '' AND value NOT GLOB '*[^0-9]*' AND length(value) < 10)
            FROM (SELECT \(name) AS value FROM \(table.quoted) WHERE \(name) IS NOT NULL LIMIT 1000)
            """) == 1
    }

    /// That a program's counters are kept above the rows that come.
    private func counting(_ counters: [ProgramAllocator]) -> String {
        var places: [String] = []
        for counter in counters {
            let rows = counter.key.values.map { key in
                switch key {
                case .integer(let integer): String(integer)
                case .text(let text): text
                }
            }
            let place = rows.isEmpty ? counter.column : "\(counter.column) of \(rows.joined(separator: ", "))"
            if !places.contains(place) { places.append(place) }
        }
        let tables = counters.map(\.countedTable)
        let some =
            tables.prefix(3).joined(separator: ", ") + (tables.count > 3 ? " and \(tables.count - 3) others" : "")
        return
            "\(places.joined(separator: ", ")) is taken for the place where the program notes which integers it has given to "
            + "rows of \(some): it is kept above those of the rows that come"
    }

    /// Tables that a program keeps for itself, and that mislead it elsewhere.
    private func programSuggestions(_ table: TrackedTable, in catalog: Catalog) throws -> [String] {
        let (name, option) = (table.schema.name.folded, "--local \(table.schema.name.asShellArgument)")
        if Self.allocators.contains(name) || name.hasSuffix("_sequence") || name.hasSuffix("_sequences")
            || table.localPositions["next_val"] != nil
        {
            return [
                "if it says which integer the program gives to its next row, that differs from peer to peer: \(option), "
                    + "and --recipe with an [[allocator]] that keeps it above the rows that come"
            ]
        }
        let hasPolicy = plan.policies.contains { $0.target.folded == name && $0.policy == "last-writer-row" }
        if !hasPolicy, let whole = table.columns.first(where: { Self.wholeRows.contains($0.local.folded) }) {
            return [
                "if \(whole.local) holds the whole row once more, so that it must not be mixed of two peers' cells: "
                    + "--policy \(table.schema.name.asShellArgument)=last-writer-row"
            ]
        }
        if ["hostname", "pid"].allSatisfy({ table.localPositions[$0] != nil }) {
            return ["if it says which process has the database open: \(option)"]
        }
        if name == "_counts" { return ["if triggers of the program keep counts here: \(option)"] }
        let isAlone =
            !table.columns.contains { $0.reference != nil } && !catalog.tables.contains { $0.refers(to: table) }
        if try isAlone && AppSchema.saysVersion(name) || hasVersionRow(table) {
            return ["if it says which version the program's schema has: \(option)"]
        }
        return []
    }

    /// Tables from which programs take the integers of new rows.
    private static let allocators: Set = [
        "hibernate_sequence", "hibernate_sequences", "issue_index", "sequence", "sequences",
        "id_generator", "jpa_id_generator",
    ]

    /// Columns in which programs keep an object as a whole beside columns of parts of it.
    private static let wholeRows: Set = ["blob_data", "json_data", "object_data", "serialized"]

    /// Whether a table of names and values has a row for the schema's version.
    private func hasVersionRow(_ table: TrackedTable) throws -> Bool {
        guard table.key.count == 1, let key = table.key.first, table.columns.count <= 4 else { return false }
        return try connection.integer(
            "SELECT EXISTS(SELECT 1 FROM \(table.quoted) WHERE \(SQL.name(table.columns[key.index].local)) IN "
                + "('version', 'schema_version', 'db_version', 'user_version', 'last_compatible_version'))") == 1
    }
}
