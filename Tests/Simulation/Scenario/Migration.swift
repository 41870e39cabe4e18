/// A change of one store's schema by its program, in names as that store has them.
enum Migration: Sendable {
    case addColumn(table: String, ColumnModel)
    case renameColumn(table: String, from: String, to: String)
    case dropColumn(table: String, column: String)
    /// SQLite's twelve steps: another table takes its place, its columns in another order.
    case rebuild(Rebuild)
    case createTable(TableModel)
    case dropTable(String)
    case renameTable(from: String, to: String)
    /// Numbers the rows of tables without INTEGER PRIMARY KEY anew.
    case vacuum
    /// A table comes to have another key, or references where it had numbers.
    case remake(Remake)
    case renameKey(table: String, from: String, to: String)
    /// Each table takes the next one's name, the last the first's.
    case rotate([String])
    /// A table goes under another name, and a new one takes its own.
    case takeOver(table: String, archive: String)
}

/// What else happens to a table while another takes its place.
struct Rebuild: Sendable {
    var table: String
    var dropped: String?
    var added: ColumnModel?
    /// What the program writes to the new table before it takes the old one's name.
    var statements: [String] = []

    /// The name that the new table has first.
    static func interim(_ table: String) -> String { "rebuilt_\(table)" }
}

extension Migration {
    /// The schema afterwards; nil where it cannot be done there.
    func applied(to schema: SchemaModel) -> SchemaModel? {
        var schema = schema
        func place(_ name: String) -> Int? { schema.tables.firstIndex { $0.name == name } }
        switch self {
        case .addColumn(let table, let column):
            guard let index = place(table), schema.tables[index][column.name] == nil else { return nil }
            schema.tables[index].columns.append(column)
        case .renameColumn(let table, let from, let to):
            guard let index = place(table), schema.tables[index][to] == nil, schema.isFree(from, of: table),
                let column = schema.tables[index].columns.firstIndex(where: { $0.name == from })
            else { return nil }
            schema.tables[index].columns[column].loggedAs = schema.tables[index].columns[column].logName
            schema.tables[index].columns[column].name = to
        case .dropColumn(let table, let column):
            guard let index = place(table), schema.isFree(column, of: table) else { return nil }
            schema.tables[index].columns.removeAll { $0.name == column }
        case .rebuild(let rebuild):
            guard let index = place(rebuild.table), !schema.hasTriggers(rebuild.table) else { return nil }
            if let column = rebuild.dropped {
                guard schema.tables[index][column] != nil, schema.isFree(column, of: rebuild.table) else { return nil }
                schema.tables[index].columns.removeAll { $0.name == column }
            }
            if let column = rebuild.added {
                guard schema.tables[index][column.name] == nil else { return nil }
                schema.tables[index].columns.append(column)
            } else {
                // Not both: where others move, the new one may be one of them under another name.
                schema.tables[index].columns.reverse()
            }
        case .createTable(let table):
            guard place(table.name) == nil else { return nil }
            schema.tables.append(table)
        case .dropTable(let table):
            guard let index = place(table), !schema.isReferred(table), !schema.hasTriggers(table) else { return nil }
            schema.tables.remove(at: index)
        case .renameTable(let from, let to):
            guard let index = place(from), place(to) == nil, !schema.isReferred(from), !schema.hasTriggers(from) else {
                return nil
            }
            schema.tables[index].loggedAs = schema.tables[index].logName
            schema.tables[index].name = to
        case .vacuum: break
        case .remake(let remake):
            guard let index = place(remake.from.name), !schema.hasTriggers(remake.from.name),
                schema.tables[index].fingerprint == remake.from.fingerprint
            else { return nil }
            schema.tables[index] = remake.to
            return schema.isSound ? schema : nil
        case .renameKey(let table, let from, let to): return schema.renamingKey(of: table, from: from, to: to)
        case .rotate(let names): return schema.rotating(names)
        case .takeOver(let table, let archive): return schema.takingOver(table, archive: archive)
        }
        return schema
    }

    /// Whether it is the values that tell it from something else: a column under a new name holds what the former held.
    var isGuessed: Bool { if case .renameColumn = self { true } else { keepsRows } }

    /// Whether it and one before it make of a table another: one that is both renamed and rebuilt between two looks.
    ///
    /// - Parameter renewed: tables that have been set aside and made anew: what is renamed is known by its former name then.
    func tangles(with others: [Migration], renewed: Set<String>) -> Bool {
        switch self {
        case .renameTable(let table, _):
            renewed.contains(table) || others.contains { if case .rebuild = $0 { true } else { false } }
        case .rebuild: others.contains { if case .renameTable = $0 { true } else { false } }
        default: false
        }
    }

    /// What the program runs, on a schema to which it can be applied.
    func sql(on schema: SchemaModel) -> [String] {
        switch self {
        case .addColumn(let table, let column):
            return ["ALTER TABLE \(table) ADD COLUMN \(column.sql(isRowid: false))"]
        case .renameColumn(let table, let from, let to): return ["ALTER TABLE \(table) RENAME COLUMN \(from) TO \(to)"]
        case .dropColumn(let table, let column): return ["ALTER TABLE \(table) DROP COLUMN \(column)"]
        case .rebuild(let rebuild):
            let name = rebuild.table
            guard let former = schema[name], var rebuilt = applied(to: schema)?[name] else { return [] }
            rebuilt.name = Rebuild.interim(name)
            let kept = former.replicated.map(\.name).filter { $0 != rebuild.dropped }
            let columns = ((former.hasLocalInteger ? ["id"] : []) + kept).joined(separator: ", ")
            return ["BEGIN", rebuilt.sql, "INSERT INTO \(rebuilt.name)(\(columns)) SELECT \(columns) FROM \(name)"]
                + rebuild.statements
                + ["DROP TABLE \(name)", "ALTER TABLE \(rebuilt.name) RENAME TO \(name)"] + former.indexSQL + ["COMMIT"]
        case .createTable(let table): return [table.sql] + table.indexSQL
        case .dropTable(let table): return ["DROP TABLE \(table)"]
        case .renameTable(let from, let to): return ["ALTER TABLE \(from) RENAME TO \(to)"]
        case .vacuum: return ["VACUUM"]
        case .remake(let remake): return remake.sql()
        case .renameKey(let table, let from, let to): return ["ALTER TABLE \(table) RENAME COLUMN \(from) TO \(to)"]
        case .rotate(let names):
            let last = names.count - 1
            return ["BEGIN", "ALTER TABLE \(names[last]) RENAME TO away"]
                + (0..<last).reversed().map { "ALTER TABLE \(names[$0]) RENAME TO \(names[$0 + 1])" }
                + ["ALTER TABLE away RENAME TO \(names[0])", "COMMIT"]
        case .takeOver(let table, let archive):
            guard let made = applied(to: schema)?[table] else { return [] }
            return ["BEGIN", "ALTER TABLE \(table) RENAME TO \(archive)", made.sql] + made.indexSQL + ["COMMIT"]
        }
    }
}

extension SchemaModel {
    /// Whether nothing else in the schema speaks of a column.
    func isFree(_ name: String, of table: String) -> Bool {
        guard let model = self[table], let column = model[name], column.reference == nil, column.generated == nil,
            !model.key.contains(name), model.replicated.count > 1, !hasTriggers(table)
        else { return false }
        let texts =
            model.uniques.flatMap { $0.parts.map(\.sql) + [$0.condition ?? ""] } + model.checks
            + model.columns.compactMap(\.generated) + model.composites.flatMap(\.columns)
        let isNamed = tables.contains { other in
            other.references.contains { $0.parent == table && $0.parentColumns?.contains(name) ?? false }
        }
        return !isNamed && !texts.contains { $0.contains(name) }
    }

    func hasTriggers(_ table: String) -> Bool { extras.contains { $0.contains("\(table)_") } }

    func isReferred(_ table: String) -> Bool { tables.contains { $0.references.contains { $0.parent == table } } }

    /// With the names that logs have for tables and columns.
    var inLogNames: SchemaModel {
        func name(_ table: String) -> String { self[table]?.logName ?? table }
        var named = self
        for index in named.tables.indices {
            named.tables[index].name = tables[index].logName
            for column in named.tables[index].columns.indices {
                named.tables[index].columns[column].name = tables[index].columns[column].logName
                guard let parent = tables[index].columns[column].reference?.parent else { continue }
                named.tables[index].columns[column].reference?.parent = name(parent)
            }
            named.tables[index].key = tables[index].key.map { tables[index][$0]?.logName ?? $0 }
            for unique in tables[index].uniques.indices {
                for part in tables[index].uniques[unique].parts.indices {
                    let name = tables[index].uniques[unique].parts[part].sql
                    named.tables[index].uniques[unique].parts[part].sql = tables[index][name]?.logName ?? name
                }
            }
            for key in named.tables[index].composites.indices {
                named.tables[index].composites[key].parent = name(tables[index].composites[key].parent)
            }
        }
        return named
    }

    /// What tells one schema from another.
    var fingerprint: String { (tables.map(\.fingerprint) + extras).joined(separator: ";") }
}

extension TableModel {
    /// What tells one table from another.
    var fingerprint: String { ([sql] + indexSQL + [logName] + columns.map(\.logName)).joined(separator: ";") }
}

extension Migration: CustomStringConvertible {
    var description: String {
        switch self {
        case .addColumn(let table, let column): "adds \(table).\(column.sql(isRowid: false))"
        case .renameColumn(let table, let from, let to): "renames \(table).\(from) to \(to)"
        case .dropColumn(let table, let column): "drops \(table).\(column)"
        case .rebuild(let rebuild):
            "rebuilds \(rebuild.table)" + (rebuild.dropped.map { " without \($0)" } ?? "")
                + (rebuild.added.map { " with \($0.sql(isRowid: false))" } ?? "")
                + (rebuild.statements.isEmpty ? "" : " and writes: \(rebuild.statements.joined(separator: "; "))")
        case .createTable(let table): "makes \(table.name): \(([table.sql] + table.indexSQL).joined(separator: "; "))"
        case .dropTable(let table): "drops \(table)"
        case .renameTable(let from, let to): "renames \(from) to \(to)"
        case .vacuum: "vacuums"
        case .remake(let remake): "makes \(remake.from.name) anew: \(remake.sql().joined(separator: "; "))"
        case .renameKey(let table, let from, let to): "renames the key \(table).\(from) to \(to)"
        case .rotate(let names): "rotates the names of \(names.joined(separator: ", "))"
        case .takeOver(let table, let archive): "renames \(table) to \(archive) and makes it anew"
        }
    }
}

extension Migration {
    /// Whether values go with it.
    var drops: Bool {
        switch self {
        case .dropColumn, .dropTable: true
        case .rebuild(let rebuild): rebuild.dropped != nil
        default: false
        }
    }
}
