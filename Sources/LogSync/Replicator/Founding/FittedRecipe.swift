import LogSyncModel
import LogSyncStore

/// What a recipe says of one database: without what that lacks, because it is of another version of the application, and
/// without what the options at hand decide.
struct FittedRecipe {
    /// The options at hand with those of the recipe.
    private(set) var options: InitializeOptions
    /// `TABLE.COLUMN` of the recipe's references, in lower case.
    private(set) var references: Set<String> = []
    /// The references of tables that the application makes and numbers as it goes.
    private(set) var patterns: [InitializeOptions.Reference] = []
    /// What the database lacks, as clauses.
    private(set) var passedOver: [String] = []

    private let given: InitializeOptions
    private let outline: DatabaseOutline

    init(_ recipe: Recipe, _ given: InitializeOptions, _ outline: DatabaseOutline) {
        self.given = given
        self.outline = outline
        options = given
        let said = recipe.options.read(in: outline)
        fitLeftTables(said)
        fitIdentities(said)
        fitReferences(said)
        if recipe.readsEntities {
            for (table, column, parent) in outline.entityReferences { add(table, column, parent) }
        }
        fitPolicies(said)
        fitAllocators(said)
    }

    // MARK: Tables

    private mutating func fitLeftTables(_ recipe: InitializeOptions) {
        let decided = Set((given.local + given.skip + given.identities.keys).map(\.folded))
        func leave(
            _ names: [String], _ now: WritableKeyPath<InitializeOptions, [String]>,
            _ later: WritableKeyPath<LaterTables, Set<String>>, _ all: WritableKeyPath<LaterTables, Set<String>>
        ) {
            for name in names {
                options[keyPath: now] += tables(name).filter { !decided.contains($0.folded) }
                if name.hasSuffix("*") {
                    options.later[keyPath: all].insert(String(name.dropLast()))
                } else if outline[name] == nil, !decided.contains(name.folded) {
                    options.later[keyPath: later].insert(name)
                }
            }
        }
        leave(recipe.local, \.local, \.local, \.allLocal)
        leave(recipe.skip, \.skip, \.skip, \.allSkip)
    }

    /// The tables of a name, which may end in `*`.
    private mutating func tables(_ name: String) -> [String] {
        guard name.hasSuffix("*") else { return has(name) ? outline[name].map { [$0.name] } ?? [] : [] }
        let start = name.dropLast().folded
        return outline.tables.filter { $0.key.hasPrefix(start) }.map(\.value.name).sorted()
    }

    /// The tables whose names are a pattern's with a number in place of `#`.
    private func numbered(_ pattern: String) -> [(table: String, number: String)] {
        let parts = pattern.folded.split(separator: "#", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return [] }
        return outline.tables.values.compactMap { table in
            let name = table.name.folded
            guard name.count > parts[0].count + parts[1].count, name.hasPrefix(parts[0]), name.hasSuffix(parts[1])
            else { return nil }
            let number = name.dropFirst(parts[0].count).dropLast(parts[1].count)
            return number.allSatisfy(\.isNumber) ? (table.name, String(number)) : nil
        }.sorted { $0.table < $1.table }
    }

    private func isLeft(_ table: String) -> Bool {
        (options.local + options.skip).contains { $0.folded == table.folded }
    }

    private mutating func fitIdentities(_ recipe: InitializeOptions) {
        var identities = recipe.identities
        for (pattern, identity) in recipe.identities where pattern.contains("#") {
            identities[pattern] = nil
            for (table, _) in numbered(pattern) { identities[table] = identity }
        }
        for (table, identity) in identities.sorted(by: { $0.key < $1.key }) where has(table) && !isLeft(table) {
            guard !given.identities.keys.contains(where: { $0.folded == table.folded }) else { continue }
            if case .columns(let columns) = identity {
                guard columns.allSatisfy({ has(table, $0) }) else { continue }
                guard outline[table]?.uniqueSets.contains(Set(columns.map(\.folded))) ?? false else {
                    passedOver.append("a UNIQUE index on \(table)(\(columns.joined(separator: ", ")))")
                    continue
                }
            }
            options.identities[table] = identity
        }
    }

    // MARK: Columns

    private mutating func fitReferences(_ recipe: InitializeOptions) {
        for reference in recipe.references {
            if reference.table.contains("#") {
                patterns.append(reference)
                for (table, number) in numbered(reference.table) {
                    let parent = reference.parent.replacing("#", with: number)
                    guard outline[parent] != nil, outline[table]?.columns.contains(reference.column.folded) ?? false
                    else { continue }
                    add(table, reference.column, parent)
                }
            } else if has(reference.table, reference.column), has(reference.parent) {
                add(reference.table, reference.column, reference.parent)
            }
        }
        for (table, column) in recipe.notReferences where has(table, column) && !isLeft(table) {
            let isGiven = given.references.contains {
                $0.table.folded == table.folded && $0.column.folded == column.folded
            }
            if !isGiven { options.notReferences.append((table, column)) }
        }
    }

    private mutating func add(_ table: String, _ column: String, _ parent: String) {
        func isSame(_ other: (String, String)) -> Bool {
            other.0.folded == table.folded && other.1.folded == column.folded
        }
        guard !isLeft(table), !isLeft(parent), !options.references.contains(where: { isSame(($0.table, $0.column)) }),
            !given.notReferences.contains(where: isSame)
        else { return }
        options.references.append(InitializeOptions.Reference(table: table, column: column, parent: parent))
        references.insert("\(table).\(column)".folded)
    }

    private mutating func fitPolicies(_ recipe: InitializeOptions) {
        for (target, policy) in recipe.policies {
            let readings = outline[target] == nil ? ColumnName.readings(of: target) : []
            let column = readings.first { outline.has($0) } ?? readings.first
            let table = column?.table ?? target
            if outline[table] == nil, readings.count < 2 { options.later.policies.append((target, policy)) }
            guard has(table), column.map({ has($0.table, $0.column) }) ?? true, !isLeft(table) else { continue }
            let kind = Store.settingKind(ofPolicy: policy)
            let isGiven = given.policies.contains {
                $0.target.folded == target.folded && Store.settingKind(ofPolicy: $0.policy) == kind
            }
            if !isGiven { options.policies.append((target, policy)) }
        }
    }

    private mutating func fitAllocators(_ recipe: InitializeOptions) {
        for allocator in recipe.allocators.map(read) {
            guard has(allocator.table, allocator.column), has(allocator.countedTable, allocator.countedColumn),
                allocator.key.keys.allSatisfy({ has(allocator.table, $0) }), !isLeft(allocator.countedTable),
                !given.allocators.contains(where: { $0.target.folded == allocator.target.folded })
            else { continue }
            options.allocators.append(allocator)
        }
    }

    /// With the columns as the database has them, which alone says where in `a.b.c` the table's name ends.
    private func read(_ allocator: ProgramAllocator) -> ProgramAllocator {
        var allocator = allocator
        if let noted = ColumnName(allocator.table, allocator.column).reading(where: outline.has) {
            (allocator.table, allocator.column) = (noted.table, noted.column)
        }
        if let counted = ColumnName(allocator.countedTable, allocator.countedColumn).reading(where: outline.has) {
            (allocator.countedTable, allocator.countedColumn) = (counted.table, counted.column)
        }
        return allocator
    }

    // MARK: What is there

    /// Notes a table that is not.
    private mutating func has(_ table: String) -> Bool {
        if outline[table] != nil { return true }
        note("a table \(table)")
        return false
    }

    private mutating func has(_ table: String, _ column: String) -> Bool {
        guard has(table) else { return false }
        if outline[table]?.columns.contains(column.folded) ?? false { return true }
        note("a column \(table).\(column)")
        return false
    }

    private mutating func note(_ what: String) {
        if !passedOver.contains(what) { passedOver.append(what) }
    }
}

extension Recipe.Mark {
    /// What of it a database does not have, as clauses.
    func lacking(in outline: DatabaseOutline) -> [String] {
        var lacking: [String] = []
        for (table, columns) in tables.sorted(by: { $0.key < $1.key }) {
            guard let found = outline[table] else {
                lacking.append("it has no table \(table)")
                continue
            }
            for column in columns where !found.columns.contains(column.folded) {
                lacking.append("\(table) has no column \(column)")
            }
        }
        for table in absentTables where outline[table] != nil { lacking.append("it has a table \(table)") }
        if let applicationID, applicationID != outline.applicationID {
            lacking.append("its application_id is \(outline.applicationID)")
        }
        return lacking
    }
}

extension RecipeChoice {
    /// The recipe that is for a database; nil where none is.
    ///
    /// - Throws: `configuration` where the one that was given is for another, or several match.
    func recipe(for outline: DatabaseOutline, _ path: String, isJoining: Bool) throws -> Recipe? {
        switch self {
        case .none: return nil
        case .given(let recipe):
            let isThere = recipe.mark.tables.isEmpty || recipe.mark.tables.keys.contains { outline[$0] != nil }
            guard isThere else {
                throw LogSyncError(
                    .configuration,
                    "the recipe \(recipe.name) is for \(recipe.title), and \(path) has none of its tables; nothing was "
                        + "changed", help: "`logsync recipes list` has the others; --recipe none takes none.")
            }
            return recipe
        case .matching(let recipes):
            // Who joins a content takes what its founder has decided.
            guard !isJoining else { return nil }
            let matching = recipes.filter { $0.mark.lacking(in: outline).isEmpty }
            guard matching.count < 2 else {
                let names = matching.map(\.name).joined(separator: ", ")
                throw LogSyncError(
                    .configuration,
                    "\(path) looks like the database of several applications: \(names); nothing was changed",
                    help: "Say which with --recipe NAME, or take none of them with --recipe none.")
            }
            return matching.first
        }
    }
}
