// Columns that hold integers of other tables' rows though no key declares it.
//
// The problem. Integers of surrogate rows are local: a column that holds one and is not known to has the author's number
// everywhere, and there it means another row. Nothing shows it but the program's behaviour, later. Many programs declare no
// keys, so what is known is searched for evidence; a column with some has to be decided before there is a store.
//
// The evidence, the strongest first. What columns of the same name refer to in other tables, where the schema says so (`imgid`
// in seven tables, in six with a key), unless it holds something else. What a column is called (`book`, `book_id`,
// `parentId`, `from_visit`, or as the key of the other table: `deptno`), together with what it holds: integers of that
// table's rows, or 0, less or an empty text for none. A view or trigger that compares it with the table's key. Integers of one table's rows alone, so large or so far
// apart that it is no chance. The name alone, where there are no values yet. In Core Data's stores, the index that each
// relationship has: then it refers to an entity of which the values may be rows, and which one has to be said. Beside a
// column that says of which table each row is (`item_type` beside `item_id`, Django's `content_type_id` beside
// `object_id`), the tables that this names; where it names none yet, all that have such integers. Who did something
// (`created_by`, `author`), for tables of people. Last, three integers or more that are all there as keys, in a column
// that says that it is a reference and names no table (`author_id`), or how a row stands to another (`next`, `ancestor`),
// or in two columns that are the ends of a link (`from` and `to`, `a` and `b`).
//
// Where nothing declares a reference, nothing keeps it whole either: rows are deleted, and columns go on naming them. So
// half of a column's integers have to be a table's, and all of them only where several tables may be meant. Where several
// fit, all are offered, the likeliest first: but a name that is one table's alone means that.
//
// Where all columns of a table begin with one word (`rev_id`, `rev_page`, `rev_actor`), it is no part of their names: what is
// called so only in its own table says what it is by the rest.
//
// A table's own integer key may be another table's, too: see ``SharedKeys``.
//
// The exception. Small integers that happen to be there as keys, too, as quantities and years are, are no evidence by
// themselves, or hardly a column would have to be decided upon less than every other.

import LogSyncModel
import LogSyncSQLite

/// Finds columns that seem to refer to tables whose integers are local.
struct UndeclaredReferences {
    let catalog: Catalog
    private let connection: Connection
    /// Whether a recipe says of what columns are: one of the application, and not only of what it is made with.
    let hasRecipe: Bool
    let integers: ColumnIntegers
    private let types: TypeColumns
    private var numbered: NumberedRows { NumberedRows(integers: integers) }

    private typealias Evidence = ReferenceReport.Evidence

    init(catalog: Catalog, connection: Connection, hasRecipe: Bool) {
        self.catalog = catalog
        self.connection = connection
        self.hasRecipe = hasRecipe
        integers = ColumnIntegers(connection)
        types = TypeColumns(connection: connection, catalog: catalog)
    }

    /// What all columns are held against.
    private struct Surroundings {
        let all: ReferredTables
        let joins: JoinedColumns
        let relations: EntityRelations
        /// By table, once for all of its columns.
        let prefixes: [ObjectIdentifier: ColumnPrefix]
    }

    /// - Returns: one a column and parent, in the order of the tables.
    func found() throws -> [ReferenceReport] {
        let all = ReferredTables(catalog)
        let joins = try JoinedColumns(catalog, connection)
        let shared = try SharedKeys(all: all, joins: joins, integers: integers, hasRecipe: hasRecipe).found()
        return try withoutShares(found { _, _ in true }, shared, all) + shared
    }

    /// - Parameter isWanted: whether a column is looked at.
    func found(
        where isWanted: (TrackedTable.Column, TrackedTable) -> Bool
    ) throws -> [ReferenceReport] {
        let all = ReferredTables(catalog)
        guard !all.isEmpty else { return [] }
        let surroundings = Surroundings(
            all: all, joins: try JoinedColumns(catalog, connection),
            relations: try EntityRelations(EntityTables(connection)),
            prefixes: Dictionary(
                uniqueKeysWithValues: catalog.programTables.map { (ObjectIdentifier($0), ColumnPrefix($0)) }))
        var reports: [ReferenceReport] = []
        for table in catalog.programTables {
            for column in table.columns
            where column.reference == nil && column.local != table.schema.integerKey && isWanted(column, table) {
                guard try !isDeclared(column, in: table) else { continue }
                let found = try evidence(for: column.local, in: table, surroundings)
                let type = found.count < 2 ? nil : types.column(beside: column.local, in: table)?.local
                for (parent, evidence) in found {
                    reports.append(
                        ReferenceReport(
                            table: table.schema.name, column: column.local, parent: parent.schema.name,
                            evidence: evidence, taken: false, type: type))
                }
            }
        }
        if !hasRecipe { reports = try agreeing(reports) }
        return hasRecipe ? reports : reports + (try neighbouring(reports, where: isWanted))
    }

    /// Columns of which no evidence was found, as far as the others' says something of them.
    private func neighbouring(
        _ reports: [ReferenceReport], where isWanted: (TrackedTable.Column, TrackedTable) -> Bool
    ) throws -> [ReferenceReport] {
        let found = Dictionary(grouping: reports) { "\($0.table).\($0.column)".folded }
        var known: [NeighbouringReferences.Known] = []
        for table in catalog.tables {
            for column in table.columns {
                let reports = found["\(table.schema.name).\(column.local)".folded] ?? []
                let parent =
                    column.reference.flatMap { catalog[$0] }
                    ?? (reports.count == 1 ? catalog[local: reports[0].parent] : nil)
                guard let parent, parent.localInteger != nil else { continue }
                known.append(.init(table: table, column: column.local, parent: parent))
            }
        }
        let neighbours = NeighbouringReferences(integers: integers, connection: connection, known: known)
        var others: [ReferenceReport] = []
        for table in catalog.programTables {
            for column in table.columns where column.reference == nil && isWanted(column, table) {
                guard found["\(table.schema.name).\(column.local)".folded] == nil,
                    try !isDeclared(column, in: table),
                    let (parent, evidence) = try neighbours.parent(of: column.local, in: table)
                else { continue }
                others.append(
                    ReferenceReport(
                        table: table.schema.name, column: column.local, parent: parent.schema.name,
                        evidence: evidence, taken: false))
            }
        }
        return others
    }

    /// Columns with fewer than three values, of which the name alone is no reason to ask, and three of a table's integers
    /// would be: that has to be seen when they come.
    func unanswered() throws -> [(table: TrackedTable, column: TrackedTable.Column)] {
        let all = ReferredTables(catalog)
        guard !all.isEmpty else { return [] }
        return try catalog.programTables.flatMap { table in
            try table.columns.filter { column in
                let named = ReferringName(column.local)
                guard column.reference == nil, column.local != table.schema.integerKey,
                    [.integer, .blob].contains(table.schema.affinity(of: column.local)),
                    named.isAnyReference || mayBeUnnamed(named) || mayBeRelative(named, in: table)
                        || !hasRecipe && !named.looseParents(among: all.names).isEmpty
                        || !keylessParents(named, column.local, in: table, all).isEmpty
                else { return false }
                return try !isDeclared(column, in: table) && !integers.hasSeveral(column.local, in: table)
            }.map { (table, $0) }
        }
    }

    /// Whether a foreign key says what a column refers to: to what has no local integers, where it is no reference. One to a
    /// table that is not there says nothing, nor one that no row keeps to: SQLite takes both as long as keys are not enforced.
    /// Nor does one of integers to texts.
    private func isDeclared(_ column: TrackedTable.Column, in table: TrackedTable) throws -> Bool {
        try table.schema.foreignKeys.contains { key in
            guard let place = key.from.firstIndex(where: { $0.folded == column.local.folded }),
                let parent = try catalog[local: key.parent]?.schema ?? TableSchema.read(key.parent, on: connection),
                key.from.count == key.to.count,
                key.to.allSatisfy({ parent.column($0) != nil })
            else { return false }
            guard try integers.holdsValues(column.local, in: table) else {
                return table.schema.affinity(of: column.local) != .integer
                    || parent.affinity(of: key.to[place]) != .text
            }
            let pairs = zip(key.from, key.to).map { "child.\(SQL.name($0)) = parent.\(SQL.name($1))" }
            return try connection.integer(
                """
                SELECT EXISTS(SELECT 1 FROM \(table.quoted) AS child, \(SQL.name(parent.name)) AS parent
                WHERE \(pairs.joined(separator: " AND ")))
                """) == 1
        }
    }

    // MARK: Columns

    private func evidence(
        for column: String, in table: TrackedTable, _ surroundings: Surroundings
    ) throws -> [(TrackedTable, Evidence)] {
        let (all, relations) = (surroundings.all, surroundings.relations)
        let affinity = table.schema.affinity(of: column)
        guard affinity != .text && affinity != .real,
            try !ReferredTables.isOwnNumber(column, of: table) || integers.areRepeated(column, in: table),
            try !numbered.isNumber(column, in: table, all)
        else { return [] }
        let same = try namesakes(of: column, in: table, affinity, all)
        if !same.isEmpty { return same }
        var named = ReferringName(column)
        let isOwnKey = isOwnKey(column, of: table)
        let parents =
            isOwnKey ? all.names.filter { $0.addition(in: NamedTable(table)) != nil }.map(\.table) : all.tables
        var called = try missingTable(of: column, in: table, all) ?? named.candidates(among: all.names, of: table)
        if called.isEmpty, !hasRecipe, let name = surroundings.prefixes[ObjectIdentifier(table)]?.bare(column) {
            let bare = ReferringName(name, isBare: true)
            if bare.saysWhat {
                named = bare
                called = bare.candidates(among: all.names, of: table)
            }
        }
        let hasNumbers = !called.isEmpty
        called = try numbered.without(called, by: column)
        if hasNumbers, called.isEmpty { return [] }
        // `tracks` of an album counts the tracks that refer to it.
        let isCount = named.isPlural && called.contains { $0.parent !== table && $0.parent.refers(to: table) }
        if isCount || all.isUnmarkedNumber(named) { called = [] }
        // What names rows of such a table is the same everywhere.
        if called.first?.rank.distance ?? 3 > 0, try all.namesByValue(column, in: table, integers) { return [] }
        if called.isEmpty, affinity == .integer, let parent = try keylessParent(named, column, in: table, all) {
            return [(parent, .nameAndData)]
        }
        let joined = surroundings.joins.parents(of: column, in: table)
        let isRelation = relations.columns.contains("\(table.schema.name).\(column)".folded)
        let type = named.saysOwner ? types.column(beside: column, in: table) : nil
        let typed = try type.map { try types.tables(namedBy: $0, in: table, among: parents) } ?? []
        // A column that is named as a table beside a type is that table's, and its type says something else of it.
        let isOfSeveral = type != nil && called.isEmpty && joined.isEmpty && mayBeUnnamed(named)
        let isPlain = called.isEmpty && joined.isEmpty && typed.isEmpty && !isRelation && !isOfSeveral
        if isPlain, !named.isAnyReference {
            // Most columns: to say that they are nothing must not take a look at each of their values.
            guard affinity == .integer || affinity == .blob,
                try mayBeUnnamed(named) || mayBeRelative(named, in: table)
                    || !hasRecipe && !named.looseParents(among: all.names).isEmpty
                    || unnamedEnd(of: table, all) != nil || integers.mayBeLarge(column, in: table)
                    || !integers.certainHolders(among: parents, of: column, in: table).isEmpty
            else { return [] }
        }
        let values = try integers.values(of: column, in: table)
        guard !values.hasOthers else { return [] }
        guard let greatest = values.greatest else {
            if !joined.isEmpty { return joined.map { ($0, .join) } }
            // Without a type, a name alone has to say that it is a reference; what is declared to hold bytes holds no integers.
            guard affinity == .integer || named.saysOwner && table.schema.column(column)?.declaredType.isEmpty == true
            else { return [] }
            let sure = likeliest(called.filter(\.isSure), named.isParent(in: table), hasValues: false)
            if !sure.isEmpty { return sure.map { ($0.parent, .name) } }
            let kin = named.isKin && !hasRecipe ? called.filter { $0.rank.distance == 2 } : []
            if !kin.isEmpty { return likeliest(kin, false, hasValues: false).map { ($0.parent, .name) } }
            if isOfSeveral { return parents.filter { $0 !== table }.map { ($0, .name) } }
            if isRelation { return parents.filter(relations.isEntity).map { ($0, .index) } }
            return named.isAgent && !hasRecipe ? all.people.map { ($0, .name) } : []
        }
        if !typed.isEmpty { return typed.map { ($0, .nameAndData) } }
        // What a program joins, a name that is another table's end says nothing against.
        if called.first?.rank.distance ?? 0 > 0,
            let parent = try joined.first(where: {
                try integers.isWhollyOf($0, column, in: table)
            })
        {
            return [(parent, .join)]
        }
        let fitting = try fitting(called, named, column, in: table, parents)
        if !fitting.isEmpty { return fitting.map { ($0, .nameAndData) } }
        if let parent = try goneParent(called, named, column, in: table) { return [(parent, .nameAndData)] }
        if let parent = try integers.holders(among: joined, of: column, in: table).first { return [(parent, .join)] }
        if isRelation {
            return try integers.holders(among: parents.filter(relations.isEntity), of: column, in: table)
                .map { ($0, .index) }
        }
        if named.isAgent, !hasRecipe {
            let people = try all.people.filter { try integers.isWhollyOf($0, column, in: table) }
            if !people.isEmpty { return people.map { ($0, .nameAndData) } }
        }
        if named.isAnyReference { return try whole(column, in: table, parents).map { ($0, .nameAndData) } }
        if isOfSeveral {
            let holding = try parents.filter { try $0 !== table && integers.isMostlyOf($0, column, in: table) }
            let whole = try holding.map { try integers.isWhollyOf($0, column, in: table) }
            return zip(holding, whole).filter(\.1).map { ($0.0, .nameAndData) }
                + zip(holding, whole).filter { !$0.1 }.map { ($0.0, .nameAndData) }
        }
        let others = parents.filter { $0 !== table }
        if greatest >= ColumnIntegers.large {
            let holding = try integers.holders(among: others, of: column, in: table)
            if holding.count == 1 { return [(holding[0], .data)] }
        }
        let certain = try integers.certainHolders(among: others, of: column, in: table)
        if certain.count == 1 { return [(certain[0], .data)] }
        let rows = parents + all.keyless.map(\.table).filter { $0 !== table }
        if let ends = try ends(named, column, in: table, rows) { return ends.map { ($0, .nameAndData) } }
        if let parent = try looseParent(named, column, in: table, all) ?? linkedParent(column, in: table, all) {
            return [(parent, .nameAndData)]
        }
        guard mayBeUnnamed(named) || !hasRecipe && (named.isRelative || named.isAgent),
            try integers.hasSeveral(column, in: table) || isOfLink(column, in: table)
        else { return [] }
        let whole = try whole(column, in: table, parents)
        guard whole.isEmpty, affinity == .integer, mayBeUnnamed(named) else { return whole.map { ($0, .nameAndData) } }
        return try self.whole(column, in: table, all.keyless.map(\.table).filter { $0 !== table })
            .map { ($0, .nameAndData) }
    }

    /// Whether a column is all of its table's key, and is called as any key is.
    private func isOwnKey(_ column: String, of table: TrackedTable) -> Bool {
        table.key.count == 1 && table.columns[table.key[0].index].local == column && ReferringName.isAnyKey(column)
    }

    /// The tables to which columns of this name refer in other tables, as far as what the column holds agrees. A column with a
    /// foreign key of its own is another's, even where no row keeps to that.
    private func namesakes(
        of column: String, in table: TrackedTable, _ affinity: Affinity, _ all: ReferredTables
    ) throws -> [(TrackedTable, Evidence)] {
        let parents = all.parents(ofColumnsCalled: column)
        guard !hasRecipe, !parents.isEmpty, types.column(beside: column, in: table) == nil,
            !table.schema.foreignKeys.contains(where: { $0.from.contains { $0.folded == column.folded } })
        else { return [] }
        let values = try integers.values(of: column, in: table)
        guard !values.hasOthers else { return [] }
        guard values.greatest != nil else { return affinity == .integer ? parents.map { ($0, .name) } : [] }
        return try integers.holders(among: parents, of: column, in: table).map { ($0, .nameAndData) }
    }

    /// The tables that have all integers of a column: its own first, and then those after which its own is named, as
    /// `note_links` is after `notes`.
    private func whole(
        _ column: String, in table: TrackedTable, _ parents: [TrackedTable]
    ) throws -> [TrackedTable] {
        let whole = try parents.filter { try integers.isWhollyOf($0, column, in: table) }
        func rank(_ parent: TrackedTable) -> Int {
            parent === table ? 0 : NamedTable(parent).isBeginning(of: table) ? 1 : 2
        }
        return (0...2).flatMap { wanted in whole.filter { rank($0) == wanted } }
    }

    /// Those of the tables that a name may mean that it means as much as the first.
    ///
    /// - Parameter hasValues: whether they all have the column's integers: then a name that is the end of several tables' may
    ///   be any of theirs.
    private func likeliest(
        _ called: [ReferringName.Candidate], _ isParent: Bool, hasValues: Bool
    ) -> [ReferringName.Candidate] {
        guard let best = called.first?.rank else { return [] }
        let isOpen = best.distance == 3 || best.distance == 1 && (hasValues || isParent)
        return called.filter { isOpen ? $0.rank.distance == best.distance : $0.rank == best }
    }

    /// The tables that a name may mean, as far as the column holds integers of their rows, the likeliest first.
    private func fitting(
        _ called: [ReferringName.Candidate], _ named: ReferringName, _ column: String, in table: TrackedTable,
        _ parents: [TrackedTable]
    ) throws -> [TrackedTable] {
        let holding = try integers.holders(among: called.map(\.parent), of: column, in: table)
        var isParent = named.isParent(in: table)
        let fitting = likeliest(
            called.filter { candidate in holding.contains { $0 === candidate.parent } }, isParent, hasValues: true)
        guard let best = fitting.first else { return [] }
        // A name that is far from the table's may be another's, and so may a parent that is not of the same table.
        isParent = isParent && fitting.count == 1 && best.parent === table
        let isDoubtful = best.rank.distance == 3 && mayBeUnnamed(named)
        guard try isDoubtful || isParent && integers.hasLoop(column, in: table),
            try integers.hasSeveral(column, in: table)
        else { return fitting.map(\.parent) }
        let others = try whole(column, in: table, parents).filter { other in !fitting.contains { $0.parent === other } }
        return fitting.map(\.parent) + others
    }

    /// The tables whose rows a column joins, where it is an end of a link and another column is the other.
    private func ends(
        _ named: ReferringName, _ column: String, in table: TrackedTable, _ parents: [TrackedTable]
    ) throws -> [TrackedTable]? {
        guard let other = otherEnd(named, in: table), try integers.hasSeveral(column, in: table),
            try integers.hasSeveral(other, in: table)
        else { return nil }
        let holding = try whole(column, in: table, parents).filter { try integers.isWhollyOf($0, other, in: table) }
        return holding.isEmpty ? nil : holding
    }

    /// The column that is the other end of what this one is an end of. In a wide table, `a` and `b` may be anything.
    private func otherEnd(_ named: ReferringName, in table: TrackedTable) -> String? {
        guard !hasRecipe, named.isEnd else { return nil }
        let prefix = ColumnPrefix(table)
        return table.columns.first { other in
            named.isEnd(beside: named.isBare ? prefix.bare(other.local) ?? "" : other.local)
                && (other.local.count > 1 || table.columns.count <= 5)
                && [.integer, .blob].contains(table.schema.affinity(of: other.local))
        }?.local
    }

    /// Whether a name says that it is a row, as that stands to another, or an end of a link.
    private func mayBeRelative(_ named: ReferringName, in table: TrackedTable) -> Bool {
        !hasRecipe
            && (named.isRelative || named.isAgent || named.isBesideKey(of: table) || otherEnd(named, in: table) != nil)
    }

    /// The tables that may have been meant by a foreign key to one that is not there: rebuilds leave such behind.
    private func missingTable(
        of column: String, in table: TrackedTable, _ all: ReferredTables
    ) throws -> [ReferringName.Candidate]? {
        for key in table.schema.foreignKeys where key.from.map(\.folded) == [column.folded] {
            guard try TableSchema.read(key.parent, on: connection) == nil else { continue }
            var words = Words(key.parent)
            words.all.removeAll { ["old", "new", "tmp", "temp", "bak", "backup", "copy"].contains($0) }
            let named = ReferringName(words.all.joined(separator: "_")).candidates(
                among: all.names, of: table, isKey: true
            )
            .filter { $0.rank.distance == 0 }
            if !named.isEmpty { return named }
        }
        return nil
    }
}
