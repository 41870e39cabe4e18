// Columns that hold integers of other tables' rows though no key declares it.
//
// The problem. Integers of surrogate rows are local: a column that holds one and is not known to has the author's number
// everywhere, and there it means another row. Nothing shows it but the program's behaviour, later. Many programs declare no
// keys, so what is known is searched for evidence; a column with some has to be decided before there is a store.
//
// The evidence, the strongest first. What a column is called (`book`, `book_id`, `parentId`, `from_visit`), together with
// what it holds: integers of that table's rows, or 0, less or an empty text for none. A view or trigger that compares it
// with the table's key. Integers of one table's rows alone, some too large for that to be chance. The name alone,
// where there are no values yet. In Core Data's stores, the index that each relationship has: then it refers to an entity
// of which the values may be rows, and which one has to be said. Beside a column that says of which table each row is
// (`item_type` beside `item_id`, Django's `content_type_id` beside `object_id`), the tables that this names; where it names
// none yet, all that have such integers. Last, three integers or more that are all there as keys, in a column
// that says that it is a reference and names no table (`author_id`).
//
// Where nothing declares a reference, nothing keeps it whole either: rows are deleted, and columns go on naming them. So
// half of a column's integers have to be a table's, and all of them only where several tables may be meant.
//
// A table's own integer key may be another table's, too (`imageid` of an image's metadata): then its rows go by that
// table's, and it has no integers of its own. It is never taken for one by a name that may be its own table's.
//
// The exception. Small integers that happen to be there as keys, too, as quantities and years are, are no evidence by
// themselves, or hardly a column would have to be decided upon less than every other.

import LogSyncModel
import LogSyncSQLite

/// Finds columns that seem to refer to tables whose integers are local.
struct UndeclaredReferences {
    let catalog: Catalog
    let connection: Connection
    /// Whether a recipe says of what columns are: one of the application, and not only of what it is made with.
    let hasRecipe: Bool

    private typealias Evidence = ReferenceReport.Evidence

    /// Integers from here on are dates in milliseconds, or drawn by lot, rather than counted.
    private static let large: Int64 = 1 << 24

    /// - Returns: one a column and parent, in the order of the tables.
    func found() throws -> [ReferenceReport] {
        try found { _, _ in true } + foundKeys()
    }

    /// - Parameter isWanted: whether a column is looked at.
    func found(
        where isWanted: (TrackedTable.Column, TrackedTable) -> Bool
    ) throws -> [ReferenceReport] {
        let parents = Parents(catalog)
        guard !parents.isEmpty else { return [] }
        let joins = try JoinedColumns(catalog, connection)
        let relations = try Relations(EntityTables(connection))
        var reports: [ReferenceReport] = []
        for table in catalog.tables where table.name != "logsync_setting" {
            for column in table.columns
            where column.reference == nil && column.local != table.schema.integerKey && isWanted(column, table) {
                guard try !isDeclared(column, in: table) else { continue }
                let found = try evidence(for: column.local, in: table, parents, joins, relations)
                let type = found.count < 2 ? nil : typeColumn(beside: column.local, in: table)?.local
                for (parent, evidence) in found {
                    reports.append(
                        ReferenceReport(
                            table: table.schema.name, column: column.local, parent: parent.schema.name,
                            evidence: evidence, taken: false, type: type))
                }
            }
        }
        return reports
    }

    /// Whether a foreign key says what a column refers to: to what has no local integers, where it is no reference. One to a
    /// table that is not there says nothing, nor one that no row keeps to: SQLite takes both as long as keys are not enforced.
    private func isDeclared(_ column: TrackedTable.Column, in table: TrackedTable) throws -> Bool {
        try table.schema.foreignKeys.contains { key in
            guard key.from.contains(where: { $0.folded == column.local.folded }),
                let parent = try catalog[local: key.parent]?.schema ?? TableSchema.read(key.parent, on: connection),
                key.from.count == key.to.count,
                key.to.allSatisfy({ parent.column($0) != nil })
            else { return false }
            guard try holdsValues(column.local, in: table) else { return true }
            let pairs = zip(key.from, key.to).map { "child.\(SQL.name($0)) = parent.\(SQL.name($1))" }
            return try connection.integer(
                """
                SELECT EXISTS(SELECT 1 FROM \(table.quoted) AS child, \(SQL.name(parent.name)) AS parent
                WHERE \(pairs.joined(separator: " AND ")))
                """) == 1
        }
    }

    /// The tables whose own integers are another table's.
    private func foundKeys() throws -> [ReferenceReport] {
        let parents = catalog.tables.filter { $0.localInteger != nil }
        let names = parents.map(NamedTable.init)
        return try parents.compactMap { table in
            guard let key = table.localInteger,
                let (parent, evidence) = try evidence(forKey: key, of: table, parents, names)
            else { return nil }
            return ReferenceReport(
                table: table.schema.name, column: key, parent: parent.schema.name, evidence: evidence, taken: false)
        }
    }

    /// Whether a table's own integers are another table's.
    private func evidence(
        forKey key: String, of table: TrackedTable, _ parents: [TrackedTable], _ names: [NamedTable]
    ) throws -> (TrackedTable, Evidence)? {
        // Tables of chosen identities have names of their own for their rows.
        guard table.kind == .surrogate else { return nil }
        let called = ReferringName(key).candidates(among: names, of: table)
        if let named = called.first, named.isSure, named.parent !== table {
            guard try holdsValues(key, in: table) else { return (named.parent, .name) }
            return try isMostlyOf(named.parent, key, in: table) ? (named.parent, .nameAndData) : nil
        }
        guard try mayBeLarge(key, in: table) else { return nil }
        let holding = try parents.filter { parent in
            guard parent !== table, let other = parent.localInteger, try isWhollyOf(parent, key, in: table) else {
                return false
            }
            // Of two tables with the same integers, the one with more to its name adds to the other.
            return try parent.name.count < table.name.count || !isWhollyOf(table, other, in: parent)
        }
        return holding.count == 1 ? (holding[0], .data) : nil
    }

    private func evidence(
        for column: String, in table: TrackedTable, _ all: Parents, _ joins: JoinedColumns, _ relations: Relations
    ) throws -> [(TrackedTable, Evidence)] {
        let affinity = table.schema.affinity(of: column)
        guard affinity != .text && affinity != .real, !Parents.isOwnNumber(column, of: table) else { return [] }
        let named = ReferringName(column)
        let parents = all.tables
        let called = named.candidates(among: all.names, of: table)
        if called.isEmpty, affinity == .integer, let parent = try keylessParent(named, column, in: table, all) {
            return [(parent, .nameAndData)]
        }
        let joined = joins.parents(of: column, in: table)
        let isRelation = relations.columns.contains("\(table.schema.name).\(column)".folded)
        let type = named.saysOwner ? typeColumn(beside: column, in: table) : nil
        let typed = try type.map { try tables(namedBy: $0, in: table, parents) } ?? []
        // A column that is named as a table beside a type is that table's, and its type says something else of it.
        let isOfSeveral = type != nil && called.isEmpty && joined.isEmpty && mayBeUnnamed(named)
        if called.isEmpty, joined.isEmpty, typed.isEmpty, !named.isAnyReference, !isRelation, !isOfSeveral {
            // Most columns: to say that they are nothing must not take a look at each of their values.
            guard affinity == .integer, try mayBeUnnamed(named) || mayBeLarge(column, in: table) else { return [] }
        }
        let values = try values(of: column, in: table)
        guard !values.hasOthers else { return [] }
        guard let greatest = values.greatest else {
            if !joined.isEmpty { return joined.map { ($0, .join) } }
            // Without a type, a name alone has to say that it is a reference.
            guard affinity == .integer || affinity == .blob && named.saysOwner else { return [] }
            if let parent = called.first(where: \.isSure)?.parent { return [(parent, .name)] }
            if isOfSeveral { return parents.filter { $0 !== table }.map { ($0, .name) } }
            return isRelation ? parents.filter(relations.isEntity).map { ($0, .index) } : []
        }
        if !typed.isEmpty { return typed.map { ($0, .nameAndData) } }
        if let parent = try holder(among: called.map(\.parent), of: column, in: table) {
            return [(parent, .nameAndData)]
        }
        if let parent = try holder(among: joined, of: column, in: table) { return [(parent, .join)] }
        if isRelation {
            return try holders(among: parents.filter(relations.isEntity), of: column, in: table).map { ($0, .index) }
        }
        if named.isAnyReference {
            return try parents.filter { try isWhollyOf($0, column, in: table) }.map { ($0, .nameAndData) }
        }
        if isOfSeveral {
            return try parents.filter { try $0 !== table && isMostlyOf($0, column, in: table) }
                .map { ($0, .nameAndData) }
        }
        if greatest >= Self.large {
            let others = parents.filter { $0 !== table }
            let holding = try holders(among: others, of: column, in: table)
            if holding.count == 1 { return [(holding[0], .data)] }
        }
        guard mayBeUnnamed(named), try hasSeveral(column, in: table) else { return [] }
        return try parents.filter { try isWhollyOf($0, column, in: table) }.map { ($0, .nameAndData) }
    }

    /// The table without a key whose rowids a column holds, by its name and by what it holds.
    private func keylessParent(
        _ named: ReferringName, _ column: String, in table: TrackedTable, _ all: Parents
    ) throws -> TrackedTable? {
        let called = named.candidates(among: all.keyless, of: table).filter { $0.isSure && $0.parent !== table }
        guard let parent = called.first?.parent, try holdsValues(column, in: table),
            try !values(of: column, in: table).hasOthers, try isWhollyOf(parent, column, in: table)
        else { return nil }
        return parent
    }

    /// Whether a name that says that it is a reference, and no table's, has to be decided for what the column holds. A
    /// recipe's author has looked at the columns.
    private func mayBeUnnamed(_ name: ReferringName) -> Bool { name.saysOurs && !hasRecipe }

    /// Whether a column holds so many integers that it is no chance that they are all there as keys.
    private func hasSeveral(_ column: String, in table: TrackedTable) throws -> Bool {
        let name = SQL.name(column)
        return try connection.integer(
            "SELECT count(*) FROM (SELECT DISTINCT \(name) FROM \(table.quoted) WHERE \(name) > 0 LIMIT 3)") == 3
    }

    /// The first table that has all integers of a column, or else half of them.
    private func holder(
        among parents: [TrackedTable], of column: String, in table: TrackedTable
    ) throws -> TrackedTable? {
        try parents.first { try isWhollyOf($0, column, in: table) }
            ?? parents.first { try isMostlyOf($0, column, in: table) }
    }

    /// The tables that have all integers of a column, or else half of them.
    private func holders(
        among parents: [TrackedTable], of column: String, in table: TrackedTable
    ) throws -> [TrackedTable] {
        let whole = try parents.filter { try isWhollyOf($0, column, in: table) }
        return try whole.isEmpty ? parents.filter { try isMostlyOf($0, column, in: table) } : whole
    }

    /// The column beside this one that says of which table each row's integer is one's: `item_type` beside `item_id`,
    /// Django's `content_type_id` beside `object_id`.
    private func typeColumn(beside column: String, in table: TrackedTable) -> TrackedTable.Column? {
        table.columns.first { type in
            if type.reference?.folded == Self.contentTypes { return Words.isContentType(type.local, beside: column) }
            return [.text, .blob].contains(table.schema.affinity(of: type.local))
                && Words.isType(type.local, beside: column)
        }
    }

    /// Where Django notes which table is meant.
    private static let contentTypes = "django_content_type"

    /// The tables that a column of types names.
    private func tables(
        namedBy type: TrackedTable.Column, in table: TrackedTable, _ parents: [TrackedTable]
    ) throws -> [TrackedTable] {
        let name = SQL.name(type.local)
        if type.reference?.folded == Self.contentTypes {
            let models = try connection.rows(
                """
                SELECT DISTINCT app_label || '_' || model FROM (SELECT \(name) AS type FROM \(table.quoted) LIMIT 1000)
                JOIN \(Self.contentTypes) ON id = type
                """)
            let tables = Set(models.map { String(text: $0[0]).folded })
            return parents.filter { tables.contains($0.schema.name.folded) }
        }
        let types = try connection.rows(
            "SELECT DISTINCT \(name) FROM (SELECT \(name) FROM \(table.quoted) LIMIT 1000) WHERE typeof(\(name)) = 'text'"
        ).map { Words(String(text: $0[0])) }
        return parents.filter { parent in
            let whole = Words(parent.schema.name).endings.first
            return types.contains { type in type.endings.contains { Words.isSame($0, whole ?? "") } }
        }
    }

    /// Whether the first values of a column are as large as it takes.
    private func mayBeLarge(_ column: String, in table: TrackedTable) throws -> Bool {
        let name = SQL.name(column)
        return try connection.integer(
            """
            SELECT max(first) >= \(Self.large) FROM
            (SELECT \(name) AS first FROM \(table.quoted) WHERE \(name) > 0 LIMIT 100)
            """) == 1
    }

    /// The tables whose rows have local integers.
    private struct Parents {
        let tables: [TrackedTable]
        let names: [NamedTable]
        /// Tables without a key, and without a column of their own that numbers their rows: programs go by their rowids.
        let keyless: [NamedTable]

        var isEmpty: Bool { names.isEmpty && keyless.isEmpty }

        init(_ catalog: Catalog) {
            tables = catalog.tables.filter { $0.localInteger != nil }
            names = tables.map(NamedTable.init)
            keyless = catalog.tables.filter { table in
                Self.isKeyless(table) && table.hasRowid
                    && !table.columns.contains { Self.isNumber($0.local, of: table) }
            }.map(NamedTable.init)
        }

        private static func isKeyless(_ table: TrackedTable) -> Bool {
            table.key.isEmpty && table.localInteger == nil && table.schema.integerKey == nil
        }

        /// Whether a column numbers the rows of its own table, which has no key that says so.
        static func isOwnNumber(_ column: String, of table: TrackedTable) -> Bool {
            isKeyless(table) && isNumber(column, of: table)
        }

        private static func isNumber(_ column: String, of table: TrackedTable) -> Bool {
            let name = Words(column).all.joined()
            return ["id", "number", "no", "nr", "rowid"].contains(name)
                || name.hasSuffix("id") && Words.isSame(String(name.dropLast(2)), Words(table.schema.name).all.joined())
        }
    }

    /// What Core Data's tables say of relationships.
    private struct Relations {
        let columns: Set<String>
        private let tables: Set<String>

        init(_ entities: EntityTables) throws {
            columns = try entities.relationColumns()
            tables = Set(entities.entities.values.map(\.table.folded))
        }

        func isEntity(_ table: TrackedTable) -> Bool { tables.contains(table.schema.name.folded) }
    }

    private struct Values {
        /// Whether there is a value that is no integer.
        var hasOthers: Bool
        /// The greatest integer above 0; nil where there is none.
        var greatest: Int64?
    }

    private func values(of column: String, in table: TrackedTable) throws -> Values {
        let name = SQL.name(column)
        let row = try connection.rows(
            """
            SELECT coalesce(max(typeof(\(name)) NOT IN ('integer', 'null') AND \(name) <> ''), 0),
            max(CASE WHEN typeof(\(name)) = 'integer' AND \(name) > 0 THEN \(name) END)
            FROM \(table.quoted)
            """)[0]
        var greatest: Int64?
        if case .integer(let integer) = row[1] { greatest = integer }
        return Values(hasOthers: row[0] == .integer(1), greatest: greatest)
    }

    private func holdsValues(_ column: String, in table: TrackedTable) throws -> Bool {
        try connection.integer("SELECT EXISTS(SELECT 1 FROM \(table.quoted) WHERE \(SQL.name(column)) > 0)") == 1
    }

    /// Whether each integer that a column holds is one of the parent's, but for 0 and less.
    private func isWhollyOf(_ parent: TrackedTable, _ column: String, in table: TrackedTable) throws -> Bool {
        let name = "child.\(SQL.name(column))"
        return try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM \(table.quoted) AS child WHERE typeof(\(name)) = 'integer' AND \(name) > 0
            AND NOT EXISTS(SELECT 1 FROM \(parent.quoted) AS parent WHERE parent.\(parent.rowid) = \(name)))
            """) == 0
    }

    /// How many rows are looked at for what holds of most of them.
    private static let sample = 10_000

    /// Whether half of the integers that a column holds are the parent's: rows are deleted, and nothing forgets their
    /// integers where no key is declared.
    private func isMostlyOf(_ parent: TrackedTable, _ column: String, in table: TrackedTable) throws -> Bool {
        let name = SQL.name(column)
        let row = try connection.rows(
            """
            SELECT count(*), coalesce(sum(value IN (SELECT \(parent.rowid) FROM \(parent.quoted))), 0) FROM
            (SELECT DISTINCT value FROM (SELECT \(name) AS value FROM \(table.quoted)
            WHERE typeof(\(name)) = 'integer' AND \(name) > 0 LIMIT \(Self.sample)))
            """)[0]
        return row[0].asInteger > 0 && row[1].asInteger * 2 >= row[0].asInteger
    }
}
