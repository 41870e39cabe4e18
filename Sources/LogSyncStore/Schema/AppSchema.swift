import Crypto
import LogSyncModel
import LogSyncSQLite

/// The app's schema as SQL that makes it again elsewhere, and its fingerprint.
enum AppSchema {
    /// Tables in which frameworks note the migrations that they ran: copied by `clone`, never replicated, because a row
    /// there would tell the other app that it has migrated.
    static let migrationTables: Set<String> = [
        "grdb_migrations", "django_migrations", "schema_migrations", "alembic_version", "_prisma_migrations",
        "ar_internal_metadata", "flyway_schema_history", "knex_migrations", "knex_migrations_lock",
        "__efmigrationshistory",
        "doctrine_migration_versions", "goose_db_version", "_sqlx_migrations", "__diesel_schema_migrations",
        "sequelizemeta",
    ]

    static func text(on connection: Connection) throws -> String {
        var lines: [String] = []
        // Pragmas that take effect only in an empty database come first.
        for pragma in ["encoding", "page_size", "auto_vacuum", "application_id", "user_version"] {
            guard let value = try connection.scalar("SELECT * FROM pragma_\(pragma)") else { continue }
            if case .integer(let integer) = value { lines.append("PRAGMA \(pragma) = \(integer);") }
            if case .text = value { lines.append("PRAGMA \(pragma) = \(SQL.literal(String(text: value)));") }
        }
        let objects = try connection.rows(
            """
            SELECT m.sql FROM sqlite_master AS m
            WHERE m.sql IS NOT NULL AND m.name NOT LIKE 'logsync\\_%' ESCAPE '\\'
              AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND m.tbl_name NOT LIKE 'logsync\\_%' ESCAPE '\\'
              AND NOT EXISTS (SELECT 1 FROM pragma_table_list AS l
                              WHERE l.schema = 'main' AND l.type = 'shadow' AND l.name = m.tbl_name)
            ORDER BY CASE WHEN m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' THEN 0 WHEN m.type = 'table' THEN 1
                          WHEN m.type = 'index' THEN 2 WHEN m.type = 'view' THEN 3 ELSE 4 END, m.rowid
            """)
        // A comment at the end of a statement is kept with it.
        for object in objects.map({ String(text: $0[0]) }) {
            lines.append(object + (object.contains("--") ? "\n;" : ";"))
        }
        for table in try localTables(on: connection) { lines += try rows(of: table, on: connection) }
        return lines.joined(separator: "\n") + "\n"
    }

    static func fingerprint(_ text: String) -> SchemaFingerprint? {
        SchemaFingerprint(bytes: Array(SHA256.hash(data: Array(text.utf8))).prefix(16))
    }

    static func fingerprint(on connection: Connection) throws -> SchemaFingerprint? {
        fingerprint(try text(on: connection))
    }

    /// What this store was told of tables that it does not replicate, when it was made: facts of its own, because settings
    /// of the content are anybody's to write, and would have it publish what was to stay here.
    enum Left: String {
        case local
        case skip

        func key(_ table: String) -> String { "\(rawValue) \(table.folded)" }

        /// In lower case.
        func tables(on connection: Connection) throws -> Set<String> {
            let start = key("")
            return Set(
                try connection.rows(
                    "SELECT substr(key, ?2) FROM logsync_store WHERE substr(key, 1, ?2 - 1) = ?1", .text(start),
                    .integer(Int64(start.utf8.count + 1))
                ).map { String(text: $0[0]) })
        }
    }

    /// The tables that are copied by `clone` and never replicated.
    static func localTables(on connection: Connection) throws -> [String] {
        let local = try migrationTables.union(Left.local.tables(on: connection)).subtracting(
            Left.skip.tables(on: connection))
        return try TableSchema.tableNames(on: connection).filter { local.contains($0.folded) }
    }

    private static func rows(of table: String, on connection: Connection) throws -> [String] {
        guard let schema = try TableSchema.read(table, on: connection) else { return [] }
        let columns = schema.columns.filter { !$0.isGenerated }.map(\.name)
        let quoted = columns.map { "quote(\(SQL.name($0)))" }.joined(separator: ", ")
        return try connection.rows("SELECT \(quoted) FROM \(SQL.name(table))").map { row in
            let values = row.map { String(text: $0) }.joined(separator: ", ")
            return "INSERT INTO \(SQL.name(table))(\(SQL.list(columns))) VALUES (\(values));"
        }
    }
}
