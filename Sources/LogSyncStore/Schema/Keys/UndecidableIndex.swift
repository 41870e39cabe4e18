import LogSyncModel
import LogSyncSQLite

/// A UNIQUE index that allows other rows on each peer, because what it compares depends on integers that each store gives to rows
/// itself: no decision about which of two rows stands would be the same everywhere.
package struct UndecidableIndex: Hashable, Sendable {
    /// As the database calls it.
    package var table: String
    /// The index's name, or what the table's declaration says in place of one.
    package var index: String
    /// The columns that it reads.
    package var columns: [String]
    /// The tables whose rows have these integers.
    package var numbered: [String]

    /// Why it cannot be, as the rest of a sentence that begins with the table.
    package var reason: String {
        "has a UNIQUE index \(index) that computes with integers which are others on each peer "
            + "(\(columns.joined(separator: ", "))), so that peers would let other rows stand"
    }

    /// What lets it be, for people.
    package var remedy: String {
        "have the index compare such integers as they are, or whether they are NULL, and nothing else of them, or drop it"
    }

    /// Throws where a row of its table is refused that stands on others' peers.
    var error: LogSyncError {
        LogSyncError(
            .unsupportedTable, "the table \(table) \(reason); it refuses a row here; nothing was changed",
            help: remedy.prefix(1).uppercased() + remedy.dropFirst())
    }
}

extension UndecidableIndex {
    /// All of a catalog's.
    static func all(in catalog: Catalog, on connection: Connection) throws -> [UndecidableIndex] {
        try catalog.programTables.flatMap { try of($0, in: catalog, on: connection) }
    }

    static func of(
        _ table: TrackedTable, in catalog: Catalog, on connection: Connection
    ) throws -> [UndecidableIndex] {
        guard table.hasOpaqueUnique else { return [] }
        let columns = try integerColumns(of: table, in: catalog, on: connection)
        guard !columns.own.isEmpty || !columns.references.isEmpty else { return [] }
        return try UniqueKey.read(table, on: connection).compactMap { key in
            let pairs = unorderedPairs(in: key.terms.map(\.sql), columns.generated, of: table)
            let terms = key.terms.indices.filter { !pairs.contains($0) }.map {
                IntegerExpression(key.terms[$0].sql, columns)
            }
            // No two rows have the same then, whatever else it compares.
            if terms.contains(where: { $0.isInteger && $0.readsOwn }) { return nil }
            let condition = key.condition.map { IntegerExpression($0, columns) }
            let undecidable =
                terms.filter { $0.dependsOnIntegers(isTerm: true) }
                + [condition].compactMap(\.self).filter { $0.dependsOnIntegers(isTerm: false) }
            guard !undecidable.isEmpty else { return nil }
            var read: [String] = []
            for name in undecidable.flatMap(\.columns) where !read.contains(name) { read.append(name) }
            return UndecidableIndex(
                table: table.schema.name, index: key.name, columns: read,
                numbered: numbered(read, of: table, in: catalog))
        }
    }

    /// The places of `min(a, b)` beside `max(a, b)`, as friendships have them: which two rows of one table are named, in whatever
    /// order, is the same everywhere.
    private static func unorderedPairs(
        in terms: [String], _ generated: [String: String], of table: TrackedTable
    ) -> Set<Int> {
        func columns(_ term: String, _ function: String) -> Set<Int>? {
            var tokens = SQLTokens(term)
            if tokens.count == 1, let expression = generated[tokens.name(0).folded] { tokens = SQLTokens(expression) }
            guard tokens.count == 6, tokens.word(0) == function, tokens.word(1) == "(", tokens.word(3) == ",",
                tokens.word(5) == ")"
            else { return nil }
            let columns = Set([2, 4].compactMap { table.localPositions[tokens.name($0).folded] })
            return columns.count == 2 && Set(columns.map { table.columns[$0].reference }).count == 1 ? columns : nil
        }
        var places: Set<Int> = []
        for (least, term) in terms.enumerated() {
            guard let pair = columns(term, "MIN"),
                let greatest = terms.firstIndex(where: { columns($0, "MAX") == pair })
            else { continue }
            places.formUnion([least, greatest])
        }
        return places
    }

    private static func integerColumns(
        of table: TrackedTable, in catalog: Catalog, on connection: Connection
    ) throws -> IntegerExpression.Columns {
        var columns = IntegerExpression.Columns(table: table.schema.name)
        if table.hasRowid, table.localInteger != nil || table.schema.integerKey == nil {
            columns.own = Set(["rowid", "oid", "_rowid_"].filter { table.schema.column($0) == nil })
            if let integer = table.localInteger { columns.own.insert(integer.folded) }
        }
        columns.references = Set(
            table.columns.filter { catalog.numbered($0.reference) != nil }.map { $0.local.folded })
        columns.generated = try GeneratedColumns.expressions(of: table.schema, on: connection)
        return columns
    }

    private static func numbered(_ columns: [String], of table: TrackedTable, in catalog: Catalog) -> [String] {
        var names: [String] = []
        for column in columns {
            let position = table.localPositions[column.folded]
            let parent = position.flatMap { catalog.numbered(table.columns[$0].reference) } ?? table
            if parent.localInteger != nil, !names.contains(parent.schema.name) { names.append(parent.schema.name) }
        }
        return names
    }
}

/// What the generated columns of a table are declared to be.
enum GeneratedColumns {
    /// Their expressions by folded name.
    static func expressions(of schema: TableSchema, on connection: Connection) throws -> [String: String] {
        let names = Set(schema.columns.filter(\.isGenerated).map { $0.name.folded })
        guard !names.isEmpty,
            case .text(let text)? = try connection.scalar(
                "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ?", .text(schema.name))
        else { return [:] }
        let tokens = SQLTokens(String(decoding: text, as: UTF8.self))
        guard let open = tokens.firstIndex(of: "("), let close = tokens.closing(open) else { return [:] }
        var expressions: [String: String] = [:]
        var start = open + 1
        for comma in tokens.commas(in: start..<close) + [close] {
            defer { start = comma + 1 }
            guard start < comma, names.contains(tokens.name(start).folded),
                let key = (start..<comma).first(where: { tokens.word($0) == "AS" && tokens.word($0 + 1) == "(" }),
                let end = tokens.closing(key + 1)
            else { continue }
            expressions[tokens.name(start).folded] = tokens.text(key + 2..<end)
        }
        return expressions
    }
}
