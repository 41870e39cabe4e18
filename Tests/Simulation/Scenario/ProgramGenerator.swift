import LogSyncModel

/// Makes random SQL over a schema: small domains, so that peers meet.
struct ProgramGenerator {
    /// As it is in the store that the program writes to.
    var schema: SchemaModel
    let features: Features
    var random: Random
    /// By its name in logs.
    private var hot: String?

    init(schema: SchemaModel, features: Features, random: Random) {
        self.schema = schema
        self.features = features
        self.random = random
    }

    /// Picks the table that most of what comes next is about.
    mutating func chooseHotTable() { hot = random.pick(schema.tables).logName }

    private mutating func table() -> TableModel {
        if let hot = schema.tables.first(where: { $0.logName == hot }), random.chance(65) { return hot }
        return random.pick(schema.tables)
    }

    /// One program's transaction.
    mutating func transaction() -> [String] {
        let count = random.chance(60) ? 1 : random.number(4)
        return (0..<count).flatMap { _ in change(table()) }
    }

    /// What a program writes to a table that is to take another's place.
    mutating func changes(to table: TableModel, in schema: SchemaModel) -> [String] {
        self.schema = schema
        return (0..<random.number(2)).flatMap { _ in change(table) }
    }

    /// Rows for a database that does not take part yet.
    mutating func rows() -> [String] {
        schema.tables.flatMap { table in
            (0..<random.number(in: 2...5)).map { _ in insert(table, verb: "INSERT OR IGNORE") }
        }
    }

    private mutating func has(_ feature: Feature, _ percent: Int) -> Bool {
        features.contains(feature) && random.chance(percent)
    }

    private mutating func change(_ table: TableModel) -> [String] {
        if has(.keyMigrations, 12), let renewal = renewal() { return renewal }
        if has(.keyMigrations, 8) { return save(table) }
        switch random.number(100) {
        case ...34: return [insert(table, verb: insertVerb())]
        case ...40 where features.contains(.upsert): return [upsert(table)]
        case ...68: return [update(table)]
        case ...76 where features.contains(.keyChanges): return [keyChange(table)]
        case ...80 where features.contains(.swaps): return swap(table)
        case ...84:
            // Gone and back.
            let selection = selection(table)
            return ["DELETE FROM \(table.name) WHERE \(selection)", insert(table, verb: insertVerb())]
        default: return ["DELETE FROM \(table.name) WHERE \(selection(table))"]
        }
    }

    private mutating func insertVerb() -> String {
        features.contains(.replace)
            ? random.pick(["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "REPLACE"]) : "INSERT OR IGNORE"
    }

    private mutating func updateVerb(_ table: TableModel) -> String {
        guard features.contains(.replace) else { return "UPDATE OR IGNORE" }
        let verb = random.pick(["UPDATE", "UPDATE OR IGNORE", "UPDATE OR REPLACE"])
        // Where the row to displace takes the one that is being written with it, no trigger of SQLite's says anything of
        // the first: only `rescan` finds that. Where it changes it (SET NULL, SET DEFAULT), SQLite leaves an index wrong.
        return verb == "UPDATE OR REPLACE" && schema.changesItself(table) ? "UPDATE OR IGNORE" : verb
    }

    // MARK: Statements

    private mutating func insert(_ table: TableModel, verb: String) -> String {
        var names: [String] = []
        var values: [String] = []
        if table.hasLocalInteger, random.chance(25) {
            names.append("id")
            values.append("\(random.number(6))")
        }
        for column in table.replicated {
            let isNeeded = table.key.contains(column.name) || column.isNotNull && column.defaultSQL == nil
            if !isNeeded, random.chance(20) { continue }
            names.append(column.name)
            values.append(value(column, in: table))
        }
        if names.isEmpty { return "\(verb) INTO \(table.name) DEFAULT VALUES" }
        return "\(verb) INTO \(table.name)(\(names.joined(separator: ", "))) VALUES(\(values.joined(separator: ", ")))"
    }

    private mutating func upsert(_ table: TableModel) -> String {
        let plain = settable(table)
        let text = insert(table, verb: "INSERT")
        if text.hasSuffix("DEFAULT VALUES") { return text }
        guard let column = plain.isEmpty ? nil : random.pick(plain) else { return text + " ON CONFLICT DO NOTHING" }
        return text
            + " ON CONFLICT DO UPDATE SET \(column.name) = \(random.chance(50) ? "excluded.\(column.name)" : value(column))"
    }

    private mutating func update(_ table: TableModel) -> String {
        let plain = settable(table)
        guard !plain.isEmpty else { return keyChange(table) }
        var assignments: [String] = []
        for column in Set((0..<random.number(2)).map { _ in random.pick(plain).name }).sorted() {
            guard let model = table[column] else { continue }
            let isCounted = model.domain == .integers && random.chance(30)
            assignments.append("\(column) = \(isCounted ? "\(column) + \(random.number(3))" : value(model, in: table))")
        }
        return "\(updateVerb(table)) \(table.name) SET \(assignments.joined(separator: ", ")) WHERE \(selection(table))"
    }

    private mutating func keyChange(_ table: TableModel) -> String {
        if table.hasLocalInteger, table.key.isEmpty || random.chance(40) {
            // All rows go below zero, each where another one may be put aside.
            if random.chance(30) { return "UPDATE \(table.name) SET id = \(random.pick(["-id", "-2 * id", "1 - id"]))" }
            let integer = random.chance(50) ? "id + 1" : "\(random.number(6))"
            return "\(updateVerb(table)) \(table.name) SET id = \(integer) WHERE \(selection(table))"
        }
        guard let column = table[random.pick(table.key)] else { return "SELECT 1" }
        return "\(updateVerb(table)) \(table.name) SET \(column.name) = \(value(column)) WHERE \(selection(table))"
    }

    /// A row is deleted and comes back under its integer, and one that refers to it with it: what is saved as a whole.
    private mutating func renewal() -> [String]? {
        let pairs = schema.tables.flatMap { child in
            child.columns.compactMap { column -> (TableModel, TableModel, String)? in
                guard let reference = column.reference, let parent = schema[reference.parent], parent.hasLocalInteger,
                    reference.parentColumn == nil, parent.name != child.name
                else { return nil }
                return (parent, child, column.name)
            }
        }
        guard !pairs.isEmpty else { return nil }
        let (parent, child, column) = random.pick(pairs)
        let integer = "\(random.number(4))"
        func row(_ table: TableModel, _ name: String) -> String {
            let others = table.replicated.filter { $0.name != name }
            let values = others.map { value($0, in: table) }
            return "INSERT OR IGNORE INTO \(table.name)(\(([name] + others.map(\.name)).joined(separator: ", "))) "
                + "VALUES(\(([integer] + values).joined(separator: ", ")))"
        }
        return ["DELETE FROM \(parent.name) WHERE id = \(integer)", row(parent, "id"), row(child, column)]
    }

    /// Rows are deleted and inserted again as they were, most of the time, under their integers or others.
    private mutating func save(_ table: TableModel) -> [String] {
        let id = table.hasLocalInteger && random.chance(80) ? ["id"] : []
        let columns = (id + table.replicated.map(\.name)).joined(separator: ", ")
        let selection = random.chance(30) ? "1" : selection(table)
        var statements = [
            "DROP TABLE IF EXISTS temp.saved",
            "CREATE TEMP TABLE saved AS SELECT \(columns) FROM \(table.name) WHERE \(selection)",
            "DELETE FROM \(table.name) WHERE \(selection)",
            "INSERT OR IGNORE INTO \(table.name)(\(columns)) SELECT \(columns) FROM temp.saved",
        ]
        let plain = settable(table)
        if !plain.isEmpty, random.chance(30) {
            let column = random.pick(plain)
            let value = value(column)
            statements.insert("UPDATE temp.saved SET \(column.name) = \(value) WHERE rowid = 1", at: 2)
        }
        return statements
    }

    /// Two rows exchange their values of a unique column.
    private mutating func swap(_ table: TableModel) -> [String] {
        let unique = table.uniques.compactMap { table[$0.parts[0].sql] }.filter { !$0.isNotNull && $0.reference == nil }
        guard !unique.isEmpty else { return [update(table)] }
        let column = random.pick(unique)
        let (a, b) = (value(column), value(column))
        return [
            "UPDATE OR IGNORE \(table.name) SET \(column.name) = 99 WHERE \(column.name) IS \(a)",
            "UPDATE OR IGNORE \(table.name) SET \(column.name) = \(a) WHERE \(column.name) IS \(b)",
            "UPDATE OR IGNORE \(table.name) SET \(column.name) = \(b) WHERE \(column.name) IS 99",
        ]
    }

    // MARK: Parts

    /// Columns that an UPDATE may set without changing who the row is.
    private func settable(_ table: TableModel) -> [ColumnModel] {
        table.replicated.filter { !table.key.contains($0.name) }
    }

    /// Which rows: mostly one.
    private mutating func selection(_ table: TableModel) -> String {
        if has(.wholeTables, 5) { return "1" }
        if table.hasLocalInteger {
            switch random.number(3) {
            case 1: return "id = \(random.number(6))"
            case 2: return "id = (SELECT id FROM \(table.name) ORDER BY id LIMIT 1 OFFSET \(random.number(4) - 1))"
            default: break
            }
        }
        if !table.key.isEmpty, !table.isWithoutRowid, random.chance(50) {
            let name = table.name
            return "rowid = (SELECT rowid FROM \(name) ORDER BY rowid LIMIT 1 OFFSET \(random.number(4) - 1))"
        }
        if !table.key.isEmpty, random.chance(70) {
            return table.key.compactMap { table[$0] }.map { "\($0.name) IS \(value($0))" }.joined(separator: " AND ")
        }
        let column = random.pick(table.replicated)
        return "\(column.name) IS \(value(column))"
    }

    private mutating func value(_ column: ColumnModel, in table: TableModel? = nil) -> String {
        if !column.isNotNull, random.chance(12) { return "NULL" }
        if let reference = column.reference, let parent = schema[reference.parent] {
            guard let named = reference.parentColumn, random.chance(85) else {
                return reference.parentColumn.flatMap { parent[$0] }.map { value($0) } ?? key(of: parent)
            }
            return "(SELECT \(named) FROM \(parent.name) ORDER BY \(named) LIMIT 1 OFFSET \(random.number(4) - 1))"
        }
        for key in table?.composites ?? [] {
            guard let place = key.columns.firstIndex(of: column.name), random.chance(85) else { continue }
            let order = key.parentColumns.joined(separator: ", ")
            return "(SELECT \(key.parentColumns[place]) FROM \(key.parent) ORDER BY \(order) LIMIT 1 OFFSET "
                + "\(random.number(2) - 1))"
        }
        switch column.domain {
        case .integers: return "\(random.number(6))"
        case .texts: return random.pick(["'a'", "'b'", "'B'", "'c'", "'d'", "'A'"])
        case .reals: return random.pick(["1.5", "2.0", "-0.25", "3"])
        case .arrays: return random.pick(["'[]'", "'[1]'", "'[2]'", "'[1,2]'", "'[2,3]'", "'[\"a\"]'", "'x'"])
        case .anything, .references:
            return random.pick(["1", "2.5", "'a'", "'A'", "'1'", "x'01'", "2", "''"])
        }
    }

    /// A value by which to refer to a row of a table, mostly one that is there.
    private mutating func key(of parent: TableModel) -> String {
        let name = parent.hasLocalInteger ? "id" : parent.key[0]
        if random.chance(85) {
            return "(SELECT \(name) FROM \(parent.name) ORDER BY \(name) LIMIT 1 OFFSET \(random.number(4) - 1))"
        }
        if parent.hasLocalInteger { return "\(random.number(6))" }
        return parent[name].map { $0.domain == .references ? "\(random.number(4))" : value($0) } ?? "NULL"
    }
}
