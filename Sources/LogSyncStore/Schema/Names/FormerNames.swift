import LogSyncModel
import LogSyncSQLite

/// What tables were called before they got the names that they have, as this store has seen it. It tells the table that a
/// program has set aside to make it anew from one that it has archived. And what those were called last that are gone: no
/// other is one of them.
struct FormerNames {
    private let facts: StoreFacts
    private let connection: Connection

    private static let prefix = "former name "

    init(_ connection: Connection) {
        self.connection = connection
        facts = StoreFacts(connection)
    }

    func note(_ name: String, of table: Int64) throws { try facts.set(Self.prefix + String(table), .text(name)) }

    func forget(_ table: Int64) throws { try facts.remove(Self.prefix + String(table)) }

    private static let last = "last name "

    /// Notes what a table was called that is gone.
    ///
    /// - Parameter table: the name in logs.
    func note(gone table: String, called name: String) throws {
        try facts.set(Self.last + table.folded, .text(name.folded))
    }

    /// What a table was called here, in lower case, when it went.
    ///
    /// - Parameter table: the name in logs.
    func last(of table: String) throws -> String? { try facts.text(Self.last + table.folded) }

    /// Whether rows are kept that went with a table, and that nobody has deleted.
    ///
    /// - Parameter table: the name in logs.
    func hasRows(of table: String) throws -> Bool {
        guard try TableSchema.read("logsync_dropped", on: connection) != nil else { return false }
        return try connection.integer(
            """
            SELECT EXISTS(
                SELECT 1 FROM logsync_dropped AS dropped JOIN logsync_kept AS kept USING(table_name, identity)
                WHERE table_name = ? COLLATE NOCASE AND kept.state = 'unknown')
            """, .text(table)) == 1
    }

    func former(_ table: Int64) throws -> String? { try facts.text(Self.prefix + String(table)) }

    /// The tables that had another name and are here under their present one.
    func present() throws -> [(id: Int64, former: String, name: String)] {
        try facts.values(under: Self.prefix).compactMap { id, former in
            guard let id = Int64(id),
                let name = try connection.scalar("SELECT name FROM logsync_table WHERE id = ?", .integer(id)),
                // A table that was set aside, and made anew, has its name again.
                String(text: name).folded != String(text: former).folded,
                try TableSchema.read(String(text: name), on: connection) != nil
            else { return nil }
            return (id, String(text: former), String(text: name))
        }
    }
}
