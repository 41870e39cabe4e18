import LogSyncModel
import LogSyncSQLite

/// The tables whose rows have local integers.
struct ReferredTables {
    let tables: [TrackedTable]
    let names: [NamedTable]
    /// Tables without a key, and without a column of their own that numbers their rows: programs go by their rowids.
    let keyless: [NamedTable]
    /// The last words of names that say that they refer: `version` of `fixed_version_id`.
    private let marked: Set<String>
    /// Those whose rows are people.
    let people: [TrackedTable]
    /// What columns refer to of which it is known, by their names in lower case, where those say more than that they refer.
    private let known: [String: [TrackedTable]]

    var isEmpty: Bool { names.isEmpty && keyless.isEmpty }

    init(_ catalog: Catalog) {
        tables = catalog.tables.filter { $0.localInteger != nil }
        marked = Set(
            catalog.programTables.flatMap(\.columns).map { ReferringName($0.local) }.filter(\.saysSo)
                .compactMap(\.words.all.last))
        let prefix = TablePrefix(catalog).word
        let keys = Dictionary(tables.map { ($0.localInteger?.folded ?? "", 1) }, uniquingKeysWith: +)
        let few = max(1, tables.count / 8)
        names = tables.map { table in
            NamedTable(table, after: prefix, isKeyRare: keys[table.localInteger?.folded ?? ""] ?? 0 <= few)
        }
        // `users`, and not `user_accounts` beside it.
        let named = names.filter(\.isOfPeople)
        known = Self.references(in: catalog)
        let shortest = named.map(\.words.all.count).min()
        let people = named.filter { $0.words.all.count == shortest }
        // `members` of a project are users, and these are who did something.
        func areOthers(_ member: NamedTable) -> Bool {
            people.contains { person in
                person.table !== member.table
                    && member.table.columns.contains { column in
                        ReferringName(column.local).candidates(among: [person], of: member.table)
                            .contains { $0.rank.distance == 0 && $0.isSure }
                    }
            }
        }
        self.people = (people.filter { !areOthers($0) } + people.filter(areOthers)).map(\.table)
        keyless = catalog.tables.filter { table in
            Self.isKeyless(table) && table.hasRowid
                && !table.columns.contains { Self.isNumber($0.local, of: table) || numbersPart($0.local, of: table) }
        }.map { NamedTable($0, after: prefix) }
        /// `version_id` of `photo_versions`, where no table is called `versions`.
        func numbersPart(_ column: String, of table: TrackedTable) -> Bool {
            let name = Words(column).all.joined()
            let words = Words(table.schema.name).all
            guard words.count > 1, let last = words.last, name.hasSuffix("id"),
                Words.isSame(String(name.dropLast(2)), last)
            else { return false }
            return !catalog.tables.contains { Words.isSame(Words($0.schema.name).all.joined(), last) }
        }
        valued = catalog.programTables.filter { $0.localInteger == nil }.map { table in
            let keys = table.key.map { table.columns[$0.index].local }
            let numbers = table.columns.map(\.local).filter { Self.isNumber($0, of: table) }
            return (NamedTable(table), keys.count == 1 ? keys : numbers)
        }
    }

    /// Tables whose rows go by values that are the same everywhere, with the columns that hold these.
    private let valued: [(named: NamedTable, keys: [String])]

    /// Whether a column is called after a table whose rows go by such values, or is what its own table's row above is
    /// called, and holds none but these.
    func namesByValue(_ column: String, in table: TrackedTable, _ integers: ColumnIntegers) throws -> Bool {
        let name = ReferringName(column)
        return try valued.contains { named, keys in
            guard
                name.isParent(in: table)
                    ? named.table === table
                    : name.candidates(among: [named], of: table).contains(where: { $0.rank.distance == 0 })
            else { return false }
            return try keys.contains { key in
                try (named.table !== table || key.folded != column.folded)
                    && named.table.schema.affinity(of: key) == .integer
                    && integers.isWholly(column, in: table, of: key, in: named.table)
            }
        }
    }

    /// The tables to which columns of the same name refer in other tables.
    func parents(ofColumnsCalled name: String) -> [TrackedTable] { known[name.folded] ?? [] }

    /// Whether a name is that of a row's own number, where the program says of such as are rows that they refer: `version`
    /// beside `fixed_version_id`.
    func isUnmarkedNumber(_ name: ReferringName) -> Bool {
        guard !name.saysSo, name.unmarked == nil, name.words.all.count == 1, let word = name.words.all.first else {
            return false
        }
        return Words.quantities.contains(word) && marked.contains(word)
    }

    private static func references(in catalog: Catalog) -> [String: [TrackedTable]] {
        var known: [String: [TrackedTable]] = [:]
        for table in catalog.tables {
            for column in table.columns {
                let name = ReferringName(column.local)
                guard let parent = column.reference.flatMap({ catalog[$0] }), parent.localInteger != nil,
                    !name.isAnyReference, !name.isRelative, !name.isAgent, !name.isParent(in: table),
                    !ReferringName.isAnyKey(column.local)
                else { continue }
                if !(known[column.local.folded]?.contains { $0 === parent } ?? false) {
                    known[column.local.folded, default: []].append(parent)
                }
            }
        }
        return known
    }

    private static func isKeyless(_ table: TrackedTable) -> Bool {
        table.key.isEmpty && table.localInteger == nil && table.schema.integerKey == nil
    }

    /// Whether a column numbers the rows of its own table, which has no key that says so.
    static func isOwnNumber(_ column: String, of table: TrackedTable) -> Bool {
        isKeyless(table) && isNumber(column, of: table)
    }

    static func isNumber(_ column: String, of table: TrackedTable) -> Bool {
        let name = Words(column).all.joined()
        return ["id", "number", "no", "nr", "rowid"].contains(name)
            || name.hasSuffix("id") && Words.isSame(String(name.dropLast(2)), Words(table.schema.name).all.joined())
    }
}

/// What Core Data's tables say of relationships.
struct EntityRelations {
    let columns: Set<String>
    private let tables: Set<String>

    init(_ entities: EntityTables) throws {
        columns = try entities.relationColumns()
        tables = Set(entities.entities.values.map(\.table.folded))
    }

    func isEntity(_ table: TrackedTable) -> Bool { tables.contains(table.schema.name.folded) }
}

/// Columns that say of which table each row's integer is one's, beside the columns that hold the integers.
struct TypeColumns {
    let connection: Connection
    let catalog: Catalog

    /// Where Django notes which table is meant.
    private static let contentTypes = "django_content_type"

    /// The column beside this one that says of which table each row's integer is one's: `item_type` beside `item_id`,
    /// Django's `content_type_id` beside `object_id`, `table_name` beside `row_id`.
    func column(beside column: String, in table: TrackedTable) -> TrackedTable.Column? {
        let isOfAnyTable = Words.isOfAnyTable(column)
        return table.columns.first { type in
            if type.reference?.folded == Self.contentTypes { return Words.isContentType(type.local, beside: column) }
            switch table.schema.affinity(of: type.local) {
            case .text, .blob: return Words.isType(type.local, beside: column)
            case .integer:
                return isOfAnyTable && type.reference == nil && Words.isNumberedType(type.local, beside: column)
            default: return false
            }
        }
    }

    /// The tables whose rows a column of types names: of one that goes by another's integers, as Django's inheriting models do,
    /// that other.
    func tables(
        namedBy type: TrackedTable.Column, in table: TrackedTable, among parents: [TrackedTable]
    ) throws -> [TrackedTable] {
        let numbers = try named(by: type, in: table).compactMap(numbering)
        return parents.filter { parent in numbers.contains { $0 === parent } }
    }

    /// The table whose integers a table's rows go by: its own, or where its key refers to another's, that; nil where they go by
    /// none.
    private func numbering(_ table: TrackedTable) -> TrackedTable? {
        var table = table
        for _ in 0..<catalog.tables.count {
            if table.localInteger != nil { return table }
            guard let key = table.key.first, table.key.count == 1,
                let parent = table.columns[key.index].reference.flatMap({ catalog[$0] })
            else { return nil }
            table = parent
        }
        return nil
    }

    private func named(by type: TrackedTable.Column, in table: TrackedTable) throws -> [TrackedTable] {
        let name = SQL.name(type.local)
        if type.reference?.folded == Self.contentTypes {
            let models = try connection.rows(
                """
                SELECT DISTINCT app_label || '_' || model FROM (SELECT \(name) AS type FROM \(table.quoted) LIMIT 1000)
                JOIN \(Self.contentTypes) ON id = type
                """)
            let tables = Set(models.map { String(text: $0[0]).folded })
            return catalog.tables.filter { tables.contains($0.schema.name.folded) }
        }
        let types = try Self.types(in: type.local, of: table.schema.name, on: connection).map { Words($0) }
        return catalog.tables.filter { parent in types.contains { Self.isType($0, of: parent.schema.name) } }
    }

    /// The types that name a table, or one that goes by its integers.
    func names(of parent: TrackedTable, in type: TrackedTable.Column, of table: TrackedTable) throws -> [String] {
        let tables = catalog.tables.filter { numbering($0) === parent }.map(\.schema.name)
        return try Self.types(in: type.local, of: table.schema.name, on: connection).filter { name in
            tables.contains { Self.isType(Words(name), of: $0) }
        }
    }

    /// Whether all types that a table's column has are names of one table: then it may be told of which its integers are.
    static func areAll(
        _ parent: String, beside column: String, in table: TableSchema, on connection: Connection
    ) throws -> Bool {
        for type in table.columns where Words.isType(type.name, beside: column) {
            let types = try types(in: type.name, of: table.name, on: connection)
            guard types.allSatisfy({ isType(Words($0), of: parent) }) else { return false }
        }
        return true
    }

    private static func types(
        in column: String, of table: String, on connection: Connection
    ) throws -> [String] {
        let name = SQL.name(column)
        return try connection.rows(
            """
            SELECT DISTINCT \(name) FROM (SELECT \(name) FROM \(SQL.name(table)) LIMIT 1000)
            WHERE typeof(\(name)) = 'text'
            """
        ).map { String(text: $0[0]) }
    }

    private static func isType(_ type: Words, of table: String) -> Bool {
        let whole = Words(table).endings.first ?? ""
        return type.endings.contains { Words.isSame($0, whole) }
    }
}

extension InitializePlan {
    /// The plan without those of the recipe's references of which the rows say, in the column beside, that they are to
    /// other tables, too: these have to be decided.
    func withoutMixedReferences(on connection: Connection) throws -> InitializePlan {
        var plan = self
        plan.references = try references.filter { table, column, parent in
            let name = "\(table).\(column)".folded
            guard recipeReferences.contains(name), ReferringName(column).saysOwner,
                let schema = try TableSchema.read(table, on: connection),
                try !TypeColumns.areAll(parent, beside: column, in: schema, on: connection)
            else { return true }
            plan.recipeReferences.remove(name)
            return false
        }
        return plan
    }
}
