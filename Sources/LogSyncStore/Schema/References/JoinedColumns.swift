import LogSyncModel
import LogSyncSQLite

/// The columns that views and triggers compare with the keys of other tables, and those into which triggers write such keys.
struct JoinedColumns {
    private let catalog: Catalog
    /// By `table.column`, in lower case.
    private var parentsByColumn: [String: [TrackedTable]] = [:]
    /// Tables whose integer keys are compared with each other.
    private var shared: [(TrackedTable, TrackedTable)] = []
    /// Tables whose integer keys are compared with columns that are known to refer, with the tables to which these do.
    private var held: [(table: TrackedTable, parent: TrackedTable)] = []

    init(_ catalog: Catalog, _ connection: Connection) throws {
        self.catalog = catalog
        let objects = try connection.rows(
            """
            SELECT tbl_name, sql FROM main.sqlite_master
            WHERE type IN ('view', 'trigger') AND sql IS NOT NULL AND name NOT LIKE 'logsync\\_%' ESCAPE '\\'
            """)
        for object in objects { read(SQLTokens(String(text: object[1])), of: String(text: object[0])) }
    }

    func parents(of column: String, in table: TrackedTable) -> [TrackedTable] {
        parentsByColumn["\(table.schema.name).\(column)".folded] ?? []
    }

    /// The tables whose integer keys are compared with this one's.
    func sharing(with table: TrackedTable) -> [TrackedTable] {
        shared.compactMap { $0.0 === table ? $0.1 : $0.1 === table ? $0.0 : nil }
    }

    /// The table whose rows' integers are written into this one's key, or compared with it.
    func parent(ofKeyOf table: TrackedTable) -> TrackedTable? {
        let parents = held.filter { $0.table === table }.map(\.parent)
        return parents.allSatisfy { $0 === parents.first } ? parents.first : nil
    }

    /// Notes each `a = b` of which one side is a table's integer key and the other a column of another.
    private mutating func read(_ tokens: SQLTokens, of owner: String) {
        var start = 0
        for index in 0..<tokens.count where tokens.word(index) == ";" || index == tokens.count - 1 {
            read(tokens, start..<index + 1, of: owner)
            start = index + 1
        }
    }

    private mutating func read(_ tokens: SQLTokens, _ statement: Range<Int>, of owner: String) {
        let names = Names(tokens, statement, owner: owner, catalog)
        for index in statement where tokens.word(index) == "USING" && index + 3 < tokens.count {
            guard tokens.word(index + 1) == "(", tokens.word(index + 3) == ")" else { continue }
            note(names.columns(at: index + 2), true)
        }
        for index in statement where tokens.word(index) == "=" {
            let start = index > 3 && tokens.word(index - 2) == "." ? index - 3 : index - 1
            let sides = [names.columns(at: start), names.columns(at: index + 1)]
            note(sides.flatMap { $0 }, sides.allSatisfy { $0.count == 1 })
            for (child, parent) in [(sides[0], sides[1]), (sides[1], sides[0])] {
                note(child, refersTo: parent, names)
            }
        }
        for index in statement where tokens.word(index) == "INTO" {
            for (column, value) in names.written(by: index, upTo: statement.upperBound) {
                if value.isIntegerKey {
                    if column.isIntegerKey { note([column, value], true) } else { add(column, value.table) }
                } else {
                    note(column, isAs: value)
                }
            }
        }
    }

    /// Notes a column that has the same integers as a table's key, where it can be told whose column it is.
    private mutating func note(_ child: [Column], refersTo parent: [Column], _ names: Names) {
        if parent.count == 1, child.count == 1 { note(parent[0], isAs: child[0]) }
        let keys = parent.filter(\.isIntegerKey)
        let columns = child.filter { !$0.isIntegerKey }
        guard keys.count == 1, columns.count == 1, keys[0].table !== columns[0].table || names.isTwice(keys[0].table)
        else { return }
        add(columns[0], keys[0].table)
    }

    /// Notes a column that has the same integers as one that is known to refer: `DELETE FROM chosen WHERE id = OLD.contact_id`.
    private mutating func note(_ column: Column, isAs other: Column) {
        guard column.table !== other.table, let parent = reference(of: other), reference(of: column) == nil,
            column.table !== parent
        else { return }
        if column.isIntegerKey { held.append((column.table, parent)) } else { add(column, parent) }
    }

    private func reference(of column: Column) -> TrackedTable? {
        let position = column.table.localPositions[column.name]
        return position.flatMap { column.table.columns[$0].reference }.flatMap { catalog[$0] }
            .flatMap { $0.localInteger == nil ? nil : $0 }
    }

    private mutating func add(_ column: Column, _ parent: TrackedTable) {
        let name = "\(column.table.schema.name.folded).\(column.name)"
        if parentsByColumn[name, default: []].contains(where: { $0 === parent }) { return }
        parentsByColumn[name, default: []].append(parent)
    }

    /// Notes two tables' integer keys that are compared.
    private mutating func note(_ columns: [Column], _ areTwo: Bool) {
        guard areTwo, columns.count == 2, columns[0].table !== columns[1].table,
            columns.allSatisfy(\.isIntegerKey)
        else { return }
        shared.append((columns[0].table, columns[1].table))
    }

    /// A column as a statement names it.
    private struct Column {
        var table: TrackedTable
        /// In lower case.
        var name: String

        /// Whether it is the table's key, whose integers are each store's own.
        var isIntegerKey: Bool { table.localInteger?.folded == name }
    }

    /// What names in one statement may mean.
    private struct Names {
        private let tokens: SQLTokens
        /// The tables that the text mentions, by the names that it gives them, in lower case.
        private var tables: [String: TrackedTable] = [:]
        private let parentheses: Parentheses
        /// The same, with the parentheses in which each is mentioned.
        private var mentioned: [(table: TrackedTable, within: Int)] = []

        init(_ tokens: SQLTokens, _ statement: Range<Int>, owner: String, _ catalog: Catalog) {
            self.tokens = tokens
            parentheses = Parentheses(tokens, statement)
            let known = Dictionary(
                catalog.tables.map { ($0.schema.name.folded, $0) }, uniquingKeysWith: { first, _ in first })
            if let table = known[owner.folded] {
                for name in ["new", "old"] { tables[name] = table }
            }
            for index in statement.dropFirst() {
                guard ["FROM", "JOIN", "INTO", "UPDATE", ","].contains(tokens.word(index - 1)),
                    let table = known[Self.name(tokens, index)]
                else { continue }
                tables[Self.name(tokens, index)] = table
                mentioned.append((table, parentheses.around(index)))
                let next = index + 1 < tokens.count && tokens.word(index + 1) == "AS" ? index + 2 : index + 1
                guard next < tokens.count, !Self.keywords.contains(tokens.word(next)) else { continue }
                tables[Self.name(tokens, next)] = table
            }
        }

        private static let keywords: Set = [
            "ON", "WHERE", "JOIN", "LEFT", "INNER", "CROSS", "NATURAL", "ORDER", "GROUP", "SET", "USING", "LIMIT", ",",
            ";",
            ")", "(", "VALUES", "SELECT", "UNION", "OUTER", "FULL", "RIGHT", "DEFAULT", "END", "BEGIN",
        ]

        /// Whether a table has two names, so that it may be joined with itself.
        func isTwice(_ table: TrackedTable) -> Bool { tables.values.filter { $0 === table }.count > 1 }

        /// The columns that a name may mean, qualified or not.
        func columns(at index: Int) -> [Column] {
            guard index >= 0, index < tokens.count else { return [] }
            if index + 2 < tokens.count, tokens.word(index + 1) == "." {
                let column = Self.name(tokens, index + 2)
                guard let table = tables[Self.name(tokens, index)], has(table, column) else { return [] }
                return [Column(table: table, name: column)]
            }
            let column = Self.name(tokens, index)
            // A name is the innermost query's that has such a column.
            for within in parentheses.outward(from: index) {
                var found: [Column] = []
                for (table, place) in mentioned where place == within && has(table, column) {
                    if !found.contains(where: { $0.table === table }) {
                        found.append(Column(table: table, name: column))
                    }
                }
                if !found.isEmpty { return found }
            }
            return []
        }

        /// The columns that an INSERT writes, each with the column whose value it is given, where that is one and nothing else.
        ///
        /// - Parameter into: the token INTO.
        func written(by into: Int, upTo end: Int) -> [(column: Column, value: Column)] {
            guard into + 2 < end, let table = tables[Self.name(tokens, into + 1)] else { return [] }
            var columns = table.schema.columns.filter { !$0.isGenerated }.map { $0.name.folded }
            var index = into + 2
            if tokens.word(index) == "(" {
                guard let close = tokens.closing(index), close + 1 < end else { return [] }
                columns = items(index + 1..<close).map { Self.name(tokens, $0.lowerBound) }
                index = close + 1
            }
            var values: [Range<Int>] = []
            switch tokens.word(index) {
            case "VALUES" where index + 1 < end && tokens.word(index + 1) == "(":
                guard let close = tokens.closing(index + 1), close < end else { return [] }
                values = items(index + 2..<close)
            case "SELECT":
                var depth = 0
                let last = (index + 1..<end).first { place in
                    if tokens.word(place) == "(" { depth += 1 }
                    if tokens.word(place) == ")" { depth -= 1 }
                    return depth == 0 && ["FROM", "WHERE", "UNION", ";"].contains(tokens.word(place))
                }
                values = items(index + 1..<(last ?? end))
            default: break
            }
            return zip(columns, values).compactMap { column, value in
                guard has(table, column), let from = self.column(value, besides: table) else { return nil }
                return (Column(table: table, name: column), from)
            }
        }

        /// The column that an expression is, and nothing else.
        private func column(_ value: Range<Int>, besides table: TrackedTable) -> Column? {
            if value.count == 3, tokens.word(value.lowerBound + 1) == "." { return columns(at: value.lowerBound).first }
            guard value.count == 1 else { return nil }
            let found = columns(at: value.lowerBound).filter { $0.table !== table }
            return found.count == 1 ? found[0] : nil
        }

        private func items(_ range: Range<Int>) -> [Range<Int>] {
            var start = range.lowerBound
            return (tokens.commas(in: range) + [range.upperBound]).map { comma in
                defer { start = comma + 1 }
                return start..<max(start, comma)
            }
        }

        private func has(_ table: TrackedTable, _ column: String) -> Bool {
            table.localPositions[column] != nil || table.localInteger?.folded == column
        }

        private static func name(_ tokens: SQLTokens, _ index: Int) -> String {
            let text = tokens.text(index..<index + 1)
            guard let quote = text.first, ["\"", "`", "["].contains(quote), text.count >= 2 else {
                return text.folded
            }
            return String(text.dropFirst().dropLast()).folded
        }
    }
}

/// Which parentheses of a statement each of its tokens is within.
private struct Parentheses {
    private let first: Int
    /// The token that opens the innermost ones around each token, or -1.
    private var innermost: [Int] = []
    /// The parentheses around others, by the token that opens these.
    private var outer: [Int: Int] = [:]

    init(_ tokens: SQLTokens, _ statement: Range<Int>) {
        first = statement.lowerBound
        var open: [Int] = [-1]
        for index in statement {
            if tokens.word(index) == ")", open.count > 1 { open.removeLast() }
            innermost.append(open[open.count - 1])
            if tokens.word(index) == "(" {
                outer[index] = open[open.count - 1]
                open.append(index)
            }
        }
    }

    func around(_ index: Int) -> Int {
        let place = index - first
        return innermost.indices.contains(place) ? innermost[place] : -1
    }

    func outward(from index: Int) -> [Int] {
        var found = [around(index)]
        while let next = outer[found[found.count - 1]] { found.append(next) }
        return found
    }
}
