import LogSyncModel

/// Makes up what programs do to their stores' schemas, each at its own time and in its own order.
struct MigrationGenerator {
    /// Each peer's schema as it is by now.
    private(set) var schemas: [SchemaModel]
    /// Columns that programs may add, by the table's name in logs: whoever adds one adds it alike.
    private var additions: [String: [ColumnModel]] = [:]
    /// The table that programs may make.
    static let later = TableModel(
        name: "n0", identity: .natural, key: ["k"],
        columns: [
            ColumnModel(name: "k", type: "TEXT", domain: .texts, isNotNull: true),
            ColumnModel(name: "c0", type: "INTEGER", domain: .integers),
        ])

    private var keys: KeyMigrationGenerator?

    init(_ schema: SchemaModel, peers: Int, features: Features, random: inout Random) {
        schemas = Array(repeating: schema, count: peers)
        for table in schema.tables + [Self.later] {
            additions[table.name] = (0..<2).map { number in
                var column = random.pick([
                    ColumnModel(name: "", type: "INTEGER", domain: .integers),
                    ColumnModel(
                        name: "", type: "INTEGER", domain: .integers, isNotNull: true, defaultSQL: "7",
                        defaultValue: .integer(7)),
                    ColumnModel(name: "", type: "TEXT", domain: .texts, defaultSQL: "'d'", defaultValue: .text("d")),
                    ColumnModel(name: "", type: "TEXT", domain: .texts),
                ])
                column.name = "a\(number)"
                return column
            }
        }
        if features.contains(.keyMigrations) { keys = KeyMigrationGenerator(schema, random: &random) }
    }

    /// What a peer's program does next; nil where what was thought of cannot be done.
    mutating func migration(
        of peer: Int, random: inout Random, programs: inout ProgramGenerator
    ) -> Migration? {
        let schema = schemas[peer]
        if let keys, random.chance(60) {
            let migration = keys.migration(of: schema, random: &random)
            guard let migration, let after = migration.applied(to: schema) else { return nil }
            schemas[peer] = after
            return migration
        }
        let table = random.pick(schema.tables)
        let column = random.pick(table.replicated).name
        let migration: Migration
        switch random.number(10) {
        case 1, 2, 3:
            guard let added = additions[table.logName].map({ random.pick($0) }),
                !table.columns.contains(where: { $0.logName == added.name })
            else { return nil }
            migration = .addColumn(table: table.name, added)
        case 4: migration = .dropColumn(table: table.name, column: column)
        case 5: migration = .renameColumn(table: table.name, from: column, to: "\(column)_new")
        case 6, 7:
            // Renamed and rebuilt before anybody has looked, it is another table.
            guard table.name == table.logName else { return nil }
            var rebuild = Rebuild(table: table.name)
            // Not both: a column that comes where one went may be the same under a new name.
            switch random.number(4) {
            case 1: rebuild.dropped = column
            case 2:
                guard let added = additions[table.logName].map({ random.pick($0) }),
                    !table.columns.contains(where: { $0.logName == added.name })
                else { return nil }
                rebuild.added = added
            default: break
            }
            if random.chance(50), let after = Migration.rebuild(rebuild).applied(to: schema)?[table.name] {
                var interim = after
                interim.name = Rebuild.interim(table.name)
                rebuild.statements = programs.changes(to: interim, in: schema)
            }
            migration = .rebuild(rebuild)
        case 8:
            guard !schema.tables.contains(where: { $0.logName == Self.later.name }) else { return nil }
            migration = .createTable(Self.later)
        case 9: migration = random.chance(50) ? .vacuum : .renameTable(from: table.name, to: "new_\(table.name)")
        default:
            // Another peer may refer to it by then.
            guard schema.tables.count > 1, keys == nil else { return nil }
            migration = .dropTable(table.name)
        }
        // What has gone does not come back: nobody here knows its values any more.
        guard !isReturn(migration, of: peer), let after = migration.applied(to: schema) else { return nil }
        schemas[peer] = after
        gone[peer, default: []].formUnion(Self.names(schema).subtracting(Self.names(after)))
        return migration
    }

    /// Another's store takes this peer's place.
    mutating func copy(from: Int, to: Int) {
        schemas[to] = schemas[from]
        gone[to] = gone[from]
    }

    private var gone: [Int: Set<String>] = [:]

    private func isReturn(_ migration: Migration, of peer: Int) -> Bool {
        guard let after = migration.applied(to: schemas[peer]) else { return true }
        return !(gone[peer] ?? []).isDisjoint(with: Self.names(after))
    }

    /// Tables and columns by their names in logs.
    private static func names(_ schema: SchemaModel) -> Set<String> {
        Set(schema.tables.flatMap { table in [table.logName] + table.columns.map { "\(table.logName).\($0.logName)" } })
    }
}
