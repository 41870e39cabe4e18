import LogSyncModel

/// A table takes another's place that has another key, or references where there were numbers.
struct Remake: Sendable {
    var from: TableModel
    var to: TableModel
    /// What a column is made of, where it is not the one of its name.
    var sources: [String: String] = [:]
    /// Whether the rows stand aside in a table of their own meanwhile, instead of the new table.
    var goesAside = false

    func sql() -> [String] {
        let known = Set(from.replicated.map(\.name)).union(sources.keys)
        var columns = to.replicated.map(\.name).filter(known.contains)
        if from.hasLocalInteger, to.hasLocalInteger { columns.insert("id", at: 0) }
        let chosen = columns.map { sources[$0] ?? $0 }.joined(separator: ", ")
        let list = columns.joined(separator: ", ")
        let name = to.name
        var steps: [String]
        if goesAside {
            steps = [
                "CREATE TEMP TABLE aside AS SELECT * FROM \(name)", "DROP TABLE \(name)", to.sql,
                "INSERT INTO \(name)(\(list)) SELECT \(chosen) FROM aside", "DROP TABLE aside",
            ]
        } else {
            var interim = to
            interim.name = Rebuild.interim(name)
            steps = [
                interim.sql, "INSERT INTO \(interim.name)(\(list)) SELECT \(chosen) FROM \(name)", "DROP TABLE \(name)",
                "ALTER TABLE \(interim.name) RENAME TO \(name)",
            ]
        }
        return ["BEGIN"] + steps + to.indexSQL + ["COMMIT"]
    }

    /// The columns of which the rows may come to say something new.
    var toldColumns: Set<String> {
        Set(
            to.replicated.filter { column in
                guard let former = from[column.name] else { return true }
                return former.reference == nil && column.reference != nil
            }.map(\.logName))
    }
}

extension SchemaModel {
    /// With a table's key column under another name; nil where something else in the schema speaks of it.
    func renamingKey(of name: String, from: String, to: String) -> SchemaModel? {
        guard let index = tables.firstIndex(where: { $0.name == name }), !hasTriggers(name) else { return nil }
        var table = tables[index]
        let others =
            table.uniques.flatMap { $0.parts.map(\.sql).filter { $0 != from } + [$0.condition ?? ""] } + table.checks
            + table.columns.compactMap(\.generated)
        let isNamed = tables.contains { other in
            other.references.contains { $0.parent == name && $0.parentColumns?.contains(from) ?? false }
        }
        guard let column = table.columns.firstIndex(where: { $0.name == from }), table.key.contains(from), !isNamed,
            table[to] == nil, !others.contains(where: { $0.contains(from) }), !table.keyIsRowid
        else { return nil }
        table.columns[column].loggedAs = table.columns[column].logName
        table.columns[column].name = to
        table.key = table.key.map { $0 == from ? to : $0 }
        for unique in table.uniques.indices {
            for part in table.uniques[unique].parts.indices where table.uniques[unique].parts[part].sql == from {
                table.uniques[unique].parts[part].sql = to
            }
        }
        var schema = self
        schema.tables[index] = table
        return schema
    }

    /// With tables under each other's names: each has the next one's, the last the first's.
    func rotating(_ names: [String]) -> SchemaModel? {
        guard names.count > 1, names.allSatisfy({ self[$0] != nil && !hasTriggers($0) }) else { return nil }
        let new = Dictionary(uniqueKeysWithValues: zip(names, names.dropFirst() + names.prefix(1)))
        return renaming(new)
    }

    /// With a table under another name, and a new one like it under its former name.
    func takingOver(_ name: String, archive: String) -> SchemaModel? {
        // Two peers that do so have to mean the same columns.
        guard let former = self[name], self[archive] == nil, !hasTriggers(name), former.name == former.logName,
            former.columns.allSatisfy({ $0.name == $0.logName }),
            var schema = Optional(renaming([name: archive]))
        else { return nil }
        var table = former
        table.loggedAs = "\(name) 2"
        for unique in table.uniques.indices { table.uniques[unique].name = "later_\(table.uniques[unique].name)" }
        schema.tables.append(table)
        return schema
    }

    private func renaming(_ names: [String: String]) -> SchemaModel {
        var schema = self
        for index in schema.tables.indices {
            let table = schema.tables[index]
            if let name = names[table.name] {
                schema.tables[index].loggedAs = table.logName
                schema.tables[index].name = name
            }
            for column in table.columns.indices {
                guard let parent = table.columns[column].reference?.parent else { continue }
                schema.tables[index].columns[column].reference?.parent = names[parent] ?? parent
            }
            for key in table.composites.indices {
                let parent = table.composites[key].parent
                schema.tables[index].composites[key].parent = names[parent] ?? parent
            }
        }
        return schema
    }
}

extension Migration {
    /// Whether it changes keys, names or references alone: no row and no value of what was there before.
    var keepsRows: Bool {
        switch self {
        case .remake, .renameKey, .rotate, .takeOver: true
        default: false
        }
    }

    /// What is wrong with what was recorded of it; nil where nothing is. An identity is given once, and a migration of keys
    /// is no write: all that its peer may say is what new columns hold, and which rows numbers mean.
    func fault(of recorded: [OracleTransaction]) -> String? {
        guard keepsRows else { return nil }
        for group in recorded.flatMap(\.groups) where group.table != OracleSettings.table {
            guard case .remake(let remake) = self, group.table == remake.to.logName, group.kind == .update,
                remake.toldColumns.isSuperset(of: group.columns.map(\.name))
            else {
                return "a migration of keys is recorded as \(group.kind) of \(group.rowCount) rows of \(group.table) ("
                    + group.columns.map(\.name).joined(separator: ", ") + ")"
            }
        }
        return nil
    }
}
