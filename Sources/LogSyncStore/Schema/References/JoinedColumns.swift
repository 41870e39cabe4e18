import LogSyncModel
import LogSyncSQLite

/// The columns that views and triggers compare with the keys of other tables.
struct JoinedColumns {
    private let catalog: Catalog
    /// By `table.column`, in lower case.
    private var parentsByColumn: [String: [TrackedTable]] = [:]
    /// Tables whose integer keys are compared with each other.
    private var shared: [(TrackedTable, TrackedTable)] = []

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
                // Where it cannot be told whose column it is, it says nothing.
                let keys = parent.filter { $0.table.localInteger?.folded == $0.column }
                let columns = child.filter { $0.table.localInteger?.folded != $0.column }
                guard keys.count == 1, columns.count == 1,
                    keys[0].table !== columns[0].table || names.isTwice(keys[0].table)
                else { continue }
                let name = "\(columns[0].table.schema.name.folded).\(columns[0].column)"
                if parentsByColumn[name, default: []].contains(where: { $0 === keys[0].table }) { continue }
                parentsByColumn[name, default: []].append(keys[0].table)
            }
        }
    }

    /// Notes two tables' integer keys that are compared.
    private mutating func note(_ columns: [(table: TrackedTable, column: String)], _ areTwo: Bool) {
        guard areTwo, columns.count == 2, columns[0].table !== columns[1].table,
            columns.allSatisfy({ $0.table.localInteger?.folded == $0.column })
        else { return }
        shared.append((columns[0].table, columns[1].table))
    }

    /// What names in one statement may mean.
    private struct Names {
        private let tokens: SQLTokens
        /// The tables that the text mentions, by the names that it gives them, in lower case.
        private var tables: [String: TrackedTable] = [:]

        init(_ tokens: SQLTokens, _ statement: Range<Int>, owner: String, _ catalog: Catalog) {
            self.tokens = tokens
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
        func columns(at index: Int) -> [(table: TrackedTable, column: String)] {
            guard index >= 0, index < tokens.count else { return [] }
            if index + 2 < tokens.count, tokens.word(index + 1) == "." {
                let column = Self.name(tokens, index + 2)
                guard let table = tables[Self.name(tokens, index)], has(table, column) else { return [] }
                return [(table, column)]
            }
            let column = Self.name(tokens, index)
            var found: [(table: TrackedTable, column: String)] = []
            for (name, table) in tables where name != "new" && name != "old" && has(table, column) {
                if !found.contains(where: { $0.table === table }) { found.append((table, column)) }
            }
            return found
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
