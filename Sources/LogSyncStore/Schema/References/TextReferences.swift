// Columns of texts that hold integers of other tables' rows, written out: `12`, or lists of them, `3,17` and `[3,17]`.
//
// The problem. Integers of surrogate rows are local, and a text is a text: nothing translates what it holds. A column that
// holds such integers names other rows everywhere else, and nothing can be said of it that would mend that. What can be
// said is that the rows which it names have the same integers everywhere, or that its table stays where it is.
//
// The evidence. A foreign key or an option says it. Or the name has to say it, and what the column holds: all of it is decimal, or lists of decimals, and
// half of these are keys of the table that it is called after (`book_id`, `book_ids`), or, beside a column that says
// of which table each row is (`item_type`), of the tables that this names. A name that is just the table's needs three
// of them: a `book` may be a title. Without values a name is no more than a hint: it may be another program's.

import LogSyncModel
import LogSyncSQLite

/// Finds them.
struct TextReferences {
    let catalog: Catalog
    let connection: Connection

    /// So many rows tell.
    private static let sample = 10_000

    /// - Returns: one a column and parent, in the order of the tables.
    func found() throws -> [ReferenceReport] {
        let all = ReferredTables(catalog)
        guard !all.tables.isEmpty else { return [] }
        let types = TypeColumns(connection: connection, catalog: catalog)
        var reports = try declared()
        for table in catalog.programTables {
            for column in table.columns
            where column.reference == nil && table.schema.affinity(of: column.local) == .text
                && !table.schema.foreignKeys.contains(where: { $0.from.map(\.folded).contains(column.local.folded) })
            {
                let saysOwner = ReferringName(column.local).saysOwner || Words(column.local).all == ["id"]
                let type = saysOwner ? types.column(beside: column.local, in: table) : nil
                let (parents, evidence) = try parents(of: column.local, type, in: table, all, types)
                for parent in parents {
                    reports.append(
                        ReferenceReport(
                            table: table.schema.name, column: column.local, parent: parent.schema.name,
                            evidence: evidence, taken: false, type: type?.local, asText: true))
                }
            }
        }
        return reports
    }

    /// Columns of texts, or of real numbers, that a foreign key or an option says to refer to rows with local integers: SQLite
    /// finds row 12 for the text `12`, and for 12.0.
    func declared() throws -> [ReferenceReport] {
        try catalog.tables.flatMap { table in
            try table.columns.compactMap { column in
                guard [.text, .real].contains(table.schema.affinity(of: column.local)),
                    let parent = catalog.numbered(column.reference),
                    try integers(of: column.local, in: table) != nil
                else { return nil }
                return ReferenceReport(
                    table: table.schema.name, column: column.local, parent: parent.schema.name, evidence: .declared,
                    taken: false, asText: true)
            }
        }
    }

    private func parents(
        of column: String, _ type: TrackedTable.Column?, in table: TrackedTable, _ all: ReferredTables,
        _ types: TypeColumns
    ) throws -> ([TrackedTable], ReferenceReport.Evidence) {
        let named = ReferringName(column)
        if let type, let parents = try parents(of: column, beside: type, in: table, all, types) {
            return (parents, .nameAndData)
        }
        let typed = try type.map { try types.tables(namedBy: $0, in: table, among: all.tables) } ?? []
        let called = named.candidates(among: all.names, of: table).filter {
            $0.isSure && !isText(column, of: $0.parent)
        }
        let best = called.first.map { best in called.filter { $0.rank == best.rank }.map(\.parent) } ?? []
        let parents = typed.isEmpty ? best : typed
        guard !parents.isEmpty || type != nil, let integers = try integers(of: column, in: table) else {
            return ([], .name)
        }
        if integers.isEmpty {
            let others = all.tables.filter { $0 !== table }
            // `message_id` of `messages` is what another program calls the message.
            if called.first?.rank.distance == 0, called.first?.parent === table { return ([], .name) }
            return (!named.saysOurs ? [] : type != nil && parents.isEmpty ? others : parents, .name)
        }
        // `track` is a number more often than a row of `playlist_tracks`.
        guard named.saysOwner || integers.count > 2 && called.first?.rank.distance == 0 else { return ([], .name) }
        return (try parents.filter { try isMostly(integers, of: $0) }, .nameAndData)
    }

    /// Whether a table has texts of a column's name that tell its rows from each other, beside their integers (`event_id` of
    /// `events(stream_ordering, event_id UNIQUE)`, and so `prev_event_id`).
    private func isText(_ column: String, of parent: TrackedTable) -> Bool {
        parent.schema.uniqueIndexes.contains { index in
            guard let name = index.columns?.map(\.name), name.count == 1, parent.schema.affinity(of: name[0]) == .text
            else { return false }
            return column.folded == name[0].folded || column.folded.hasSuffix("_" + name[0].folded)
        }
    }

    /// The tables of which a column has integers in the rows of which another says that they are of these tables; nil where
    /// it has of none. Other rows may hold anything: a ticket goes by its number, a page by its name.
    private func parents(
        of column: String, beside type: TrackedTable.Column, in table: TrackedTable, _ all: ReferredTables,
        _ types: TypeColumns
    ) throws -> [TrackedTable]? {
        var found: [TrackedTable] = []
        for parent in try types.tables(namedBy: type, in: table, among: all.tables) {
            let names = try types.names(of: parent, in: type, of: table).map(SQL.literal).joined(separator: ", ")
            guard !names.isEmpty,
                let integers = try integers(of: column, in: table, where: "\(SQL.name(type.local)) IN (\(names))"),
                !integers.isEmpty, try isMostly(integers, of: parent)
            else { continue }
            found.append(parent)
        }
        return found.isEmpty ? nil : found
    }

    /// The different integers that a column's texts are, or lists of; none where it is empty, and nil where it holds
    /// something else.
    private func integers(
        of column: String, in table: TrackedTable, where condition: String = "1"
    ) throws -> Set<Int64>? {
        let name = SQL.name(column)
        var integers: Set<Int64> = []
        let statement = try Statement(
            "SELECT \(name) FROM \(table.quoted) WHERE \(name) <> '' AND \(condition) LIMIT \(Self.sample)",
            on: connection)
        while try statement.step() {
            let value = statement.value(0)
            if case .real(let real) = value, let integer = Int64(exactly: real) {
                integers.insert(integer)
                continue
            }
            guard case .text(let bytes) = value, bytes.count < 100_000,
                let found = Self.integers(String(decoding: bytes, as: UTF8.self))
            else { return nil }
            integers.formUnion(found)
        }
        integers.remove(0)
        return integers
    }

    /// nil for what is no decimal above 0 and no list of such; `0` is written for none.
    private static func integers(_ text: String) -> [Int64]? {
        var list = text[...]
        if list.first == "[", list.last == "]" { list = list.dropFirst().dropLast() }
        var integers: [Int64] = []
        for part in list.split(whereSeparator: { ",; |".contains($0) }) {
            // As a program writes an integer out: `007` is another thing's number.
            guard let integer = Int64(part), integer >= 0, String(integer) == part else { return nil }
            integers.append(integer)
        }
        return integers
    }

    private func isMostly(_ integers: Set<Int64>, of parent: TrackedTable) throws -> Bool {
        let some = integers.prefix(1000)
        let list = some.map(String.init).joined(separator: ", ")
        let count = try connection.integer(
            "SELECT count(*) FROM \(parent.quoted) WHERE \(parent.rowid) IN (\(list))")
        return (count ?? 0) * 2 >= some.count
    }
}
