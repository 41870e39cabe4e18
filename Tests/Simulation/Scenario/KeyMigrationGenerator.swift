import LogSyncModel

/// Makes up migrations that touch keys and names.
struct KeyMigrationGenerator {
    /// Tables to whose rows references may be declared later, by their names in logs. They keep their integers.
    private let parents: Set<String>
    /// Either of both: a name that has been two tables' already is a third one's in a way that depends on who was first.
    private let takesOver: Bool

    init(_ schema: SchemaModel, random: inout Random) {
        parents = Set(schema.tables.filter { $0.hasLocalInteger && random.chance(40) }.map(\.name))
        takesOver = random.chance(50)
    }

    /// Nil where what was thought of cannot be done.
    func migration(of schema: SchemaModel, random: inout Random) -> Migration? {
        let table = random.pick(schema.tables)
        guard !schema.hasTriggers(table.name) else { return nil }
        switch random.number(10) {
        case 1, 2:
            guard !takesOver else {
                guard table.identity == .surrogate || table.identity == .natural && !table.keyIsRowid else {
                    return nil
                }
                return .takeOver(table: table.name, archive: "old_\(table.name)")
            }
            let names = schema.tables.map(\.name).filter { !schema.hasTriggers($0) }.shuffled(using: &random)
            return names.count > 1 ? .rotate(Array(names.prefix(random.number(in: 2...3)))) : nil
        case 3:
            guard !table.key.isEmpty else { return nil }
            let column = random.pick(table.key)
            return .renameKey(table: table.name, from: column, to: "\(column)_key")
        case 4, 5:
            let numbers = table.replicated.filter { column in
                column.domain == .integers && column.type == "INTEGER" && column.defaultSQL == nil && !column.isNotNull
                    && schema.isFree(column.name, of: table.name)
            }
            let named = schema.tables.filter { parents.contains($0.logName) }.sorted { $0.logName < $1.logName }
            guard !numbers.isEmpty, !named.isEmpty else { return nil }
            var remake = Remake(from: table, to: table)
            let column = random.pick(numbers)
            // Programs that declare it a reference to rows of different tables contradict each other, which nothing can settle.
            let number = "\(table.logName).\(column.logName)".utf8.reduce(0) { $0 + Int($1) }
            for index in remake.to.columns.indices where remake.to.columns[index].name == column.name {
                remake.to.columns[index].domain = .references
                remake.to.columns[index].reference = ReferenceModel(
                    parent: named[number % named.count].name, onDelete: random.pick([.noAction, .cascade, .setNull]))
            }
            return .remake(remake)
        default:
            guard !schema.isReferred(table.name), !parents.contains(table.logName),
                table.key.allSatisfy({ table[$0]?.isNotNull ?? false || table.keyIsRowid }),
                var remake = rekeyed(table, random: &random)
            else { return nil }
            remake.goesAside = random.chance(30)
            return .remake(remake)
        }
    }

    // MARK: Keys

    private func rekeyed(_ table: TableModel, random: inout Random) -> Remake? {
        switch table.identity {
        case .natural: natural(table, random: &random)
        case .surrogate: named(table, random: &random)
        case .columns:
            if random.chance(50) {
                named(table, by: table.key, random: &random)
            } else {
                unnamed(table)
            }
        }
    }

    private func natural(_ table: TableModel, random: inout Random) -> Remake? {
        var remake = Remake(from: table, to: table)
        switch random.number(6) {
        case 1, 2:
            guard table.key.count < 3, let column = joining(&remake.to, random: &random) else { return nil }
            release(&remake.to)
            remake.to.key.insert(column, at: random.number(remake.to.key.count + 1) - 1)
        case 3:
            guard table.key.count > 1 else { return nil }
            remake.to.key.remove(at: random.number(table.key.count) - 1)
            guard remake.to.key.allSatisfy({ table[$0]?.reference == nil }) else { return nil }
            // A key of one INTEGER would be the rowid.
            guard remake.to.key.count > 1 || table[remake.to.key[0]]?.type != "INTEGER" else { return nil }
        case 4:
            guard table.key.count > 1 else { return nil }
            remake.to.key.reverse()
        case 5:
            release(&remake.to)
            remake.to.isWithoutRowid.toggle()
        default:
            // An integer becomes the key, and what was the key stays unique, or does not.
            release(&remake.to)
            remake.to.isWithoutRowid = false
            if random.chance(60) {
                remake.to.identity = .columns
                remake.to.uniques.append(
                    UniqueModel(name: "\(table.name)_named", parts: table.key.map { UniqueModel.Part(sql: $0) }))
            } else {
                remake.to.identity = .surrogate
                remake.to.key = []
            }
        }
        return remake
    }

    /// What was a rowid is a column like others.
    private func release(_ table: inout TableModel) {
        guard table.keyIsRowid else { return }
        table.keyIsRowid = false
        for index in table.columns.indices where table.key.contains(table.columns[index].name) {
            table.columns[index].isNotNull = true
        }
    }

    /// A column that may join a key: one that is there, or a new one.
    private func joining(_ table: inout TableModel, random: inout Random) -> String? {
        let plain = table.replicated.filter { column in
            column.isNotNull && column.reference == nil && !table.key.contains(column.name)
                && [.texts, .integers].contains(column.domain)
        }
        if !plain.isEmpty, random.chance(60) { return random.pick(plain).name }
        guard !table.columns.contains(where: { $0.logName == "part" }) else { return nil }
        table.columns.append(
            ColumnModel(
                name: "part", type: "TEXT", domain: .texts, isNotNull: true, defaultSQL: "'d'", defaultValue: .text("d")
            ))
        return "part"
    }

    /// From local integers to names: a column that is there, or a new one in which each row has been given a name.
    private func named(_ table: TableModel, by key: [String]? = nil, random: inout Random) -> Remake? {
        var remake = Remake(from: table, to: table)
        remake.to.identity = .natural
        remake.to.isAutoincrement = false
        remake.to.isWithoutRowid = random.chance(30)
        if let key {
            guard key != [""], key.allSatisfy({ table[$0]?.type != "INTEGER" }) else { return nil }
            remake.to.key = key
            return remake
        }
        let plain = table.replicated.filter { $0.isNotNull && $0.reference == nil && $0.type == "TEXT" }
        if !plain.isEmpty, random.chance(40) {
            remake.to.key = [random.pick(plain).name]
            return remake
        }
        guard !table.columns.contains(where: { $0.logName == "uid" }) else { return nil }
        remake.to.columns.append(ColumnModel(name: "uid", type: "TEXT", domain: .texts, isNotNull: true))
        remake.to.key = ["uid"]
        remake.sources["uid"] = random.pick(["'u' || id", "lower(hex(randomblob(8)))"])
        return remake
    }

    /// The chosen columns are unique no more.
    private func unnamed(_ table: TableModel) -> Remake? {
        var remake = Remake(from: table, to: table)
        remake.to.identity = .surrogate
        remake.to.uniques.removeAll { $0.parts.map(\.sql) == table.key && $0.condition == nil }
        guard remake.to.uniques.count < table.uniques.count else { return nil }
        remake.to.key = []
        return remake
    }
}
