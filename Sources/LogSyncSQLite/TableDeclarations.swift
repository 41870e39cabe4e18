import LogSyncModel

/// What the main database declares as tables, read at once: SQLite has no index by which to find one declaration, so to
/// ask for each of many would take the square of their number.
package struct TableDeclarations {
    /// By name in lower case, as SQLite tells names apart.
    private var declared: [[UInt8]: (name: String, sql: String)] = [:]
    /// How the names of virtual tables' own tables begin, in lower case.
    private var shadows: [String] = []

    package init(on connection: Connection) throws {
        try read(connection.rows("SELECT name, sql FROM main.sqlite_master WHERE type = 'table'"))
    }

    /// What there is to know of one table alone.
    init(of table: String, on connection: Connection) throws {
        try read(
            connection.rows(
                """
                SELECT name, sql FROM main.sqlite_master
                WHERE type = 'table' AND (name = ? COLLATE NOCASE OR sql LIKE 'CREATE VIRTUAL%')
                """, .text(table)))
    }

    private mutating func read(_ rows: [[Value]]) {
        for row in rows {
            let (name, sql) = (String(text: row[0]), String(text: row[1]))
            declared[Array(name.asciiFolded.utf8)] = (name, sql)
            if Self.isVirtual(sql) { shadows.append(name.folded + "_") }
        }
    }

    private static func isVirtual(_ sql: String) -> Bool {
        // Only these begin so, as SQLite writes them down.
        sql.prefix(14).folded == "create virtual"
    }

    /// An ordinary table's name and declaration; nil where it is none, or a virtual table keeps it for itself.
    func table(_ name: String, on connection: Connection) throws -> (name: String, tokens: SQLTokens)? {
        // Not from pragma_table_list, which prepares each view that has no columns yet: some programs' never have any, because
        // they call functions of the program's own, and take a tenth of a second each time.
        guard let found = declared[Array(name.asciiFolded.utf8)], !Self.isVirtual(found.sql) else { return nil }
        if shadows.contains(where: found.name.folded.hasPrefix) {
            let listed = try connection.rows(
                "SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow' AND name = ?",
                .text(found.name))
            if !listed.isEmpty { return nil }
        }
        return (found.name, SQLTokens(found.sql))
    }
}
