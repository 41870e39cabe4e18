import LogSyncModel
import LogSyncSQLite

/// Tables that a program's migration has made since the store was made, and whose integers each machine gives by itself:
/// at `init` an integer key that seems to mean something is decided, and of these nobody was asked.
struct LaterKeys {
    private static let prefix = "later table "

    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// - Parameter tables: the ids of tables that are new.
    func note(_ tables: Set<Int64>, in catalog: Catalog) throws {
        for table in catalog.tables where tables.contains(table.id) && table.kind == .surrogate {
            try StoreFacts(connection).set(Self.prefix + String(table.id), .integer(1))
        }
    }

    /// Keys that seem to mean something, and of which nobody has said that they are numbers of rows.
    func undecided(in catalog: Catalog) throws -> [UndecidedKey] {
        let later = Set(try StoreFacts(connection).values(under: Self.prefix).map(\.name))
        guard !later.isEmpty else { return [] }
        let settled = Set(
            try connection.rows("SELECT target FROM logsync_setting WHERE kind = 'identity'")
                .map { String(text: $0[0]).folded })
        return try MeaningfulKeys(catalog: catalog, connection: connection).found { table in
            later.contains(String(table.id)) && !settled.contains(table.name.folded)
        }
    }
}
