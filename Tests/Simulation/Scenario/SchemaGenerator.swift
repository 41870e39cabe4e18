import LogSyncModel

/// Makes a schema of a few small tables out of the features that a scenario has.
struct SchemaGenerator {
    let features: Features
    var random: Random
    private var tables: [TableModel] = []
    private var extras: [String] = []

    init(features: Features, random: Random) {
        self.features = features
        self.random = random
    }

    mutating func schema(maximumTables: Int = 4) -> SchemaModel {
        let count = random.number(maximumTables)
        for index in 0..<count { tables.append(table(index)) }
        for index in tables.indices { addReferences(to: index) }
        if features.contains(.joinTables), random.chance(60) { addJoinTable() }
        if features.contains(.links) { addLinks() }
        for index in tables.indices { addUniques(to: index) }
        if features.contains(.uniqueParents) { addReferencesToUniques() }
        if features.contains(.compositeReferences) { addComposites() }
        if features.contains(.triggers) { addTriggers() }
        return SchemaModel(tables: tables, extras: extras)
    }

    private mutating func has(_ feature: Feature, _ percent: Int) -> Bool {
        features.contains(feature) && random.chance(percent)
    }

    // MARK: Tables

    private mutating func table(_ index: Int) -> TableModel {
        var table = TableModel(name: "t\(index)", identity: .surrogate, columns: [])
        let kind = random.number(100)
        if kind <= 45 {
            table.isAutoincrement = has(.autoincrement, 30)
        } else if kind <= 55, features.contains(.columnsIdentity) {
            table.identity = .columns
            table.key = ["name"]
            table.columns.append(keyColumn("name", "TEXT", .texts))
            table.columns[0].isNotNull = true
            table.uniques.append(
                UniqueModel(name: "t\(index)_name", parts: [UniqueModel.Part(sql: "name")]))
        } else if kind <= 63, features.contains(.integerNaturalKeys) {
            table.identity = .natural
            table.key = ["k"]
            table.keyIsRowid = true
            table.columns.append(ColumnModel(name: "k", type: "INTEGER", domain: .integers))
        } else {
            table.identity = .natural
            table.isWithoutRowid = has(.withoutRowid, 30)
            addNaturalKey(to: &table)
        }
        table.isStrict = has(.strict, 20)
        for column in 0..<random.number(3) { table.columns.append(plainColumn("c\(column)", strict: table.isStrict)) }
        if table.isStrict {
            for column in table.columns.indices where table.columns[column].type == "" {
                table.columns[column].type = "ANY"
            }
        }
        if has(.generated, 20) {
            table.columns.append(
                ColumnModel(
                    name: "g", type: "", domain: .anything, generated: "coalesce(\(table.columns[0].name), 'none')"))
            if table.isStrict { table.columns[table.columns.count - 1].type = "ANY" }
        }
        if has(.checks, 20) { table.checks.append("c0 IS NULL OR c0 <> 3") }
        // One that two good halves may break.
        if has(.checks, 30), table["c1"] != nil { table.checks.append("c0 IS NULL OR c1 IS NULL OR c0 <> c1") }
        return table
    }

    private mutating func addNaturalKey(to table: inout TableModel) {
        let isDouble = random.chance(35)
        table.columns.append(keyColumn("k", random.chance(70) ? "TEXT" : "INT", .texts))
        if table.columns[0].type == "INT" {
            table.columns[0].domain = .integers
            table.columns[0].collation = .binary
            // In a STRICT table, and as a rowid's alias, only INTEGER will do; INT is neither.
        }
        table.key = ["k"]
        if isDouble {
            table.columns.append(keyColumn("l", "TEXT", .texts))
            table.key.append("l")
        }
        let mayBeNull = !table.isWithoutRowid && has(.nullKeys, 15)
        for index in table.columns.indices { table.columns[index].isNotNull = !mayBeNull }
    }

    private mutating func keyColumn(_ name: String, _ type: String, _ domain: ColumnModel.Domain) -> ColumnModel {
        var column = ColumnModel(name: name, type: type, domain: domain)
        if has(.nocaseKeys, 30) { column.collation = .nocase }
        return column
    }

    private mutating func plainColumn(_ name: String, strict: Bool) -> ColumnModel {
        var column: ColumnModel
        switch random.number(6) {
        case 1, 2: column = ColumnModel(name: name, type: "INTEGER", domain: .integers)
        case 3: column = ColumnModel(name: name, type: "TEXT", domain: .texts)
        case 4: column = ColumnModel(name: name, type: "REAL", domain: .reals)
        case 5: column = ColumnModel(name: name, type: "", domain: .anything)
        default: column = ColumnModel(name: name, type: "TEXT", domain: features.contains(.union) ? .arrays : .texts)
        }
        if column.domain == .texts, has(.uniqueNocase, 20) { column.collation = .nocase }
        if has(.defaults, 20) {
            switch column.domain {
            case .integers: (column.defaultSQL, column.defaultValue) = ("7", .integer(7))
            case .texts: (column.defaultSQL, column.defaultValue) = ("'d'", .text("d"))
            case .reals: (column.defaultSQL, column.defaultValue) = ("0.5", .real(0.5))
            default: break
            }
        }
        if column.domain != .anything, column.domain != .arrays, has(.notNull, 25) { column.isNotNull = true }
        return column
    }

    // MARK: References

    private mutating func addReferences(to index: Int) {
        guard features.contains(.references), random.chance(60) else { return }
        for number in 0..<random.number(2) {
            var candidates = Array(0..<index)
            if features.contains(.selfReferences) { candidates.append(index) }
            if features.contains(.cycles) { candidates += tables.indices.filter { $0 > index } }
            candidates = candidates.filter { isReferable(tables[$0]) }
            guard !candidates.isEmpty else { return }
            tables[index].columns.append(reference("r\(number)", to: tables[random.pick(candidates)]))
        }
    }

    /// A table that one column can refer to by its key.
    private func isReferable(_ table: TableModel) -> Bool { table.hasLocalInteger || table.key.count == 1 }

    private mutating func reference(_ name: String, to parent: TableModel) -> ColumnModel {
        let key = parent.hasLocalInteger ? nil : parent[parent.key[0]]
        var column = ColumnModel(
            name: name, type: key.map(\.type) ?? "INTEGER", domain: .references, collation: key?.collation ?? .binary)
        var reference = ReferenceModel(parent: parent.name)
        switch random.number(5) {
        case 1: reference.onDelete = .cascade
        case 2, 3: reference.onDelete = .setNull
        case 4 where key == nil || key?.domain != .texts: reference.onDelete = .noAction
        case 4:
            reference.onDelete = .setDefault
            (column.defaultSQL, column.defaultValue) = ("'a'", .text("a"))
        default: reference.onDelete = .noAction
        }
        reference.isDeferred = random.chance(30)
        if parent.hasLocalInteger, has(.undeclaredReferences, 15) { reference.isDeclared = false }
        column.reference = reference
        if has(.notNull, 20) { column.isNotNull = true }
        return column
    }

    private mutating func addJoinTable() {
        let parents = tables.filter(isReferable)
        guard !parents.isEmpty, features.contains(.keyReferences) else { return }
        var table = TableModel(name: "t\(tables.count)", identity: .natural, columns: [])
        table.isWithoutRowid = has(.withoutRowid, 30)
        for name in ["p", "q"] {
            var column = reference(name, to: random.pick(parents))
            column.isNotNull = true
            column.defaultSQL = nil
            column.defaultValue = .null
            if column.reference?.onDelete != .noAction { column.reference?.onDelete = .cascade }
            table.columns.append(column)
        }
        table.key = ["p", "q"]
        table.columns.append(plainColumn("c0", strict: false))
        tables.append(table)
    }

    /// Links that have a number of their own, and each of which is there once.
    private mutating func addLinks() {
        let parents = tables.filter(isReferable)
        guard !parents.isEmpty else { return }
        var table = TableModel(name: "t\(tables.count)", identity: .surrogate, columns: [])
        for name in ["p", "q"] { table.columns.append(reference(name, to: random.pick(parents))) }
        let parts = ["p", "q"].map { UniqueModel.Part(sql: $0) }
        table.uniques.append(
            UniqueModel(name: "\(table.name)_links", parts: random.chance(50) ? parts : parts.reversed()))
        tables.append(table)
    }

    /// References by other columns than the parent's key.
    private mutating func addReferencesToUniques() {
        let candidates = tables.flatMap { table in
            table.uniques.compactMap { unique -> (TableModel, ColumnModel)? in
                guard unique.parts.count == 1, unique.condition == nil, unique.parts[0].collation == nil,
                    let column = table[unique.parts[0].sql], column.reference == nil, !table.key.contains(column.name)
                else { return nil }
                return (table, column)
            }
        }
        guard !candidates.isEmpty else { return }
        for index in tables.indices where random.chance(50) {
            let (parent, named) = random.pick(candidates)
            var column = ColumnModel(name: "u", type: named.type, domain: named.domain, collation: named.collation)
            if tables[index].isStrict, column.type.isEmpty { column.type = "ANY" }
            var reference = ReferenceModel(parent: parent.name, parentColumn: named.name)
            reference.onDelete = random.pick([.noAction, .cascade, .setNull])
            column.reference = reference
            tables[index].columns.append(column)
        }
    }

    /// References by the two columns of a parent's key.
    private mutating func addComposites() {
        let parents = tables.filter { table in
            table.key.count == 2 && table.key.allSatisfy { table[$0]?.reference == nil }
        }
        guard !parents.isEmpty else { return }
        for index in tables.indices where random.chance(50) {
            let parent = random.pick(parents)
            var names: [String] = []
            for (number, name) in parent.key.enumerated() {
                guard let key = parent[name] else { return }
                names.append("x\(number)")
                var column = ColumnModel(
                    name: "x\(number)", type: key.type, domain: key.domain, collation: key.collation)
                if tables[index].isStrict, column.type == "INT" { column.type = "INTEGER" }
                column.isNotNull = has(.notNull, 15)
                tables[index].columns.append(column)
            }
            var keyed = CompositeModel(columns: names, parent: parent.name, parentColumns: parent.key)
            keyed.onDelete = random.pick([.noAction, .cascade, .setNull])
            tables[index].composites.append(keyed)
        }
    }

    // MARK: Unique indexes

    private mutating func addUniques(to index: Int) {
        guard features.contains(.unique), random.chance(50) else { return }
        let table = tables[index]
        if table.isWithoutRowid, !features.contains(.uniqueWithoutRowid) { return }
        for number in 0..<random.number(2) {
            let plain = table.columns.filter { column in
                column.generated == nil && !table.key.contains(column.name)
                    && (column.reference == nil || features.contains(.uniqueReferences))
            }
            guard !plain.isEmpty else { return }
            var parts = [random.pick(plain)]
            if plain.count > 1, has(.uniqueMultiple, 40) {
                let second = random.pick(plain)
                if second.name != parts[0].name { parts.append(second) }
            }
            var unique = UniqueModel(
                name: "\(table.name)_u\(number)", parts: parts.map { UniqueModel.Part(sql: $0.name) })
            if has(.uniqueNocase, 25) { unique.parts[0].collation = .nocase }
            if has(.uniquePartial, 25) { unique.condition = "\(random.pick(plain).name) IS NOT NULL" }
            if has(.uniqueExpression, 20) { unique.parts[0].sql = "(coalesce(\(parts[0].name), 'z'))" }
            tables[index].uniques.append(unique)
        }
    }

    // MARK: Triggers

    private mutating func addTriggers() {
        for index in tables.indices where random.chance(25) {
            let table = tables[index]
            let plain = table.columns.filter {
                $0.generated == nil && !table.key.contains($0.name) && $0.reference == nil
                    && ($0.domain == .integers || $0.domain == .texts && $0.type == "TEXT")
            }
            let isOfKey =
                table.hasLocalInteger
                ? "id = NEW.id" : table.key.map { "\($0) IS NEW.\($0)" }.joined(separator: " AND ")
            if !plain.isEmpty, random.chance(60) {
                let column = random.pick(plain)
                guard !table.uniques.contains(where: { $0.parts.contains { $0.sql.contains(column.name) } }) else {
                    continue
                }
                let value = column.domain == .integers ? "coalesce(NEW.\(column.name), 0) + 1" : "'touched'"
                extras.append(
                    "CREATE TRIGGER \(table.name)_touch AFTER UPDATE ON \(table.name) "
                        + "WHEN NEW.\(column.name) IS OLD.\(column.name) "
                        + "BEGIN UPDATE \(table.name) SET \(column.name) = \(value) WHERE \(isOfKey); END")
            } else {
                extras.append(
                    "CREATE TABLE IF NOT EXISTS counter(name TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)")
                extras.append("INSERT OR IGNORE INTO counter(name) VALUES('\(table.name)')")
                for event in ["INSERT", "DELETE"] {
                    extras.append(
                        "CREATE TRIGGER \(table.name)_\(event.lowercased())_count AFTER \(event) ON \(table.name) "
                            + "BEGIN UPDATE counter SET n = n \(event == "INSERT" ? "+" : "-") 1 "
                            + "WHERE name = '\(table.name)'; END")
                }
            }
        }
    }
}
