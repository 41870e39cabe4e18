import LogSyncModel
import LogSyncSQLite

/// Tables that a program's migration has made since the store was made, and whose integers each machine gives by itself:
/// at `init` an integer key that seems to mean something is decided, and of these nobody was asked. Besides, tables in which
/// a migration has made the integer key of a column that was there.
struct LaterKeys {
    private static let prefix = "later table "
    /// The kind of the settings that say that a table's integers are numbers of rows, by its name in logs.
    static let declined = "no-key"
    /// What is noted of a column that was there.
    private static let taken = Value.text("taken")

    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// - Parameter tables: the ids of tables that are new.
    func note(_ tables: Set<Int64>, in catalog: Catalog) throws {
        for table in catalog.tables where tables.contains(table.id) && table.kind == .surrogate {
            try StoreFacts(connection).set(Self.prefix + String(table.id), .integer(1))
        }
    }

    /// Notes tables whose integer key is a column that is replicated until now.
    func noteTakenColumns(in catalog: Catalog) throws {
        for table in catalog.tables where table.kind != .natural {
            guard let key = table.localInteger,
                try connection.integer(
                    """
                    SELECT 1 FROM logsync_column
                    WHERE table_id = ? AND name = ? COLLATE NOCASE AND NOT dropped
                    """, .integer(table.id), .text(key)) != nil
            else { continue }
            try StoreFacts(connection).set(Self.prefix + String(table.id), Self.taken)
        }
    }

    /// Keys that seem to mean something, and of which nobody has said that they are numbers of rows.
    func undecided(in catalog: Catalog) throws -> [TableReport.UndecidedKey] {
        let facts = try StoreFacts(connection).values(under: Self.prefix)
        guard !facts.isEmpty else { return [] }
        let later = Set(facts.map(\.name))
        let taken = Set(facts.filter { $0.value == Self.taken }.map(\.name))
        let settled = Set(
            try connection.rows("SELECT target FROM logsync_setting WHERE kind = ?", .text(Self.declined))
                .map { String(text: $0[0]).folded })
        func isOpen(_ table: TrackedTable, _ tables: Set<String>) -> Bool {
            tables.contains(String(table.id)) && !settled.contains(table.name.folded)
        }
        let columns = catalog.tables.filter { isOpen($0, taken) }.compactMap { table in
            table.localInteger.map {
                TableReport.UndecidedKey(
                    table: table.schema.name, column: $0,
                    reason: "was a column that is the same everywhere, until a migration made it the integer key")
            }
        }
        return try columns
            + MeaningfulKeys(catalog: catalog, connection: connection).found { isOpen($0, later.subtracting(taken)) }
    }
}
