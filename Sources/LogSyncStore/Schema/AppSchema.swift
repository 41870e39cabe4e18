import Crypto
import Foundation
import LogSyncModel
import LogSyncSQLite

/// The app's schema as SQL that makes it again elsewhere, and its fingerprint.
enum AppSchema {
    /// Tables in which frameworks note the migrations that they ran: copied by `clone`, never replicated, because a row
    /// there would tell the other app that it has migrated.
    private static let migrationTables = Set([
        "grdb_migrations", "django_migrations", "schema_migrations", "alembic_version", "_prisma_migrations",
        "ar_internal_metadata", "flyway_schema_history", "knex_migrations", "knex_migrations_lock",
        "__efmigrationshistory",
        "doctrine_migration_versions", "goose_db_version", "_sqlx_migrations", "__diesel_schema_migrations",
        "sequelizemeta",
        "migrations", "migratehistory", "_yoyo_migration", "_yoyo_log", "_yoyo_version", "yoyo_lock",
        "room_master_table", "schema_changes", "migration_changes", "schema_version", "version",
        "refinery_schema_history", "__drizzle_migrations", "databasechangelog", "databasechangeloglock", "phinxlog",
        "gorp_migrations", "mikro_orm_migrations", "__efmigrationslock", "versiontable", "z_metadata", "z_modelcache",
        "kysely_migration",
        "kysely_migration_lock", "android_metadata", "versioninfo", "schema_info", "migration", "__migrations__",
        "migrations_lock",
        "migration_versions", "schemaversions", "play_evolutions", "aerich", "db_version", "dbversion",
        "__migrationhistory", "_litestream_seq", "_litestream_lock",
    ]).union(allocatorTables)

    /// Whether a table's name says that a framework notes there which migrations it has run: one that is known, or one
    /// that ends so, as many do with their own name before it.
    static func notesMigrations(_ table: String) -> Bool {
        let name = table.folded
        return migrationTables.contains(name)
            || ["_migrations", "_migrations_lock", "_migration_history", "_schema_history"].contains {
                name.hasSuffix($0)
            }
    }

    /// Tables in which programs note the integers that they give to rows: each peer has its own.
    private static let allocatorTables: Set<String> = [EntityTables.table.folded]

    /// Whether a table's name says that it notes which version the schema has.
    static func saysVersion(_ table: String) -> Bool {
        let name = table.folded
        guard !allocatorTables.contains(name) else { return false }
        return notesMigrations(name) || ["migration", "version", "schema", "meta"].contains { name.contains($0) }
    }

    /// Whether a column's name says that it is the schema's version: `version`, `idVersion`, `db_version`, and not a row's.
    static func isVersionColumn(_ name: String) -> Bool {
        let words = Words(name).all.filter { !versionWords.contains($0) }
        return words == ["version"] || words == ["dbversion"] || words == ["schemaversion"]
    }

    /// What stands beside the word.
    private static let versionWords: Set = [
        "id", "db", "database", "schema", "data", "user", "table", "current", "major", "minor", "app", "format", "file",
        "number",
    ]

    /// How much of local tables' rows goes with the schema, in bytes: more, and no peer would read it.
    private static let limit = 12 << 20

    /// - Parameter isRowsOf: the local tables whose rows are part of it; all where nil.
    static func text(on connection: Connection, rowsOf isRowsOf: ((String) -> Bool)? = nil) throws -> String {
        var lines: [String] = []
        // Pragmas that take effect only in an empty database come first.
        for pragma in ["encoding", "page_size", "auto_vacuum", "application_id", "user_version"] {
            guard let value = try connection.scalar("SELECT * FROM pragma_\(pragma)") else { continue }
            if case .integer(let integer) = value { lines.append("PRAGMA \(pragma) = \(integer);") }
            if case .text = value { lines.append("PRAGMA \(pragma) = \(SQL.literal(String(text: value)));") }
        }
        // A comment at the end of a statement is kept with it.
        for object in try statements(on: connection) { lines.append(object + (object.contains("--") ? "\n;" : ";")) }
        var left = limit
        let counted = try countedTables(on: connection)
        for table in try localTables(on: connection)
        where isRowsOf?(table) ?? true && !counted.contains(table.folded) {
            lines += try rows(of: table, upTo: &left, on: connection)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What makes the program's tables, indexes, views and triggers, those included that this store could not make.
    static func statements(on connection: Connection) throws -> [String] {
        let objects = try connection.rows(
            """
            SELECT m.sql FROM sqlite_master AS m
            WHERE m.sql IS NOT NULL AND m.name NOT LIKE 'logsync\\_%' ESCAPE '\\'
              AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND m.tbl_name NOT LIKE 'logsync\\_%' ESCAPE '\\'
              AND m.tbl_name NOT IN (SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow')
            ORDER BY CASE WHEN m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' THEN 0 WHEN m.type = 'table' THEN 1
                          WHEN m.type = 'index' THEN 2 WHEN m.type = 'view' THEN 3 ELSE 4 END, m.rowid
            """)
        return try objects.map { String(text: $0[0]) } + UnmadeObjects(connection).statements()
    }

    static func fingerprint(_ text: String) -> SchemaFingerprint? {
        SchemaFingerprint(bytes: Array(SHA256.hash(data: Array(text.utf8))).prefix(16))
    }

    /// Whether there are local tables whose rows go with the schema as they were when it last changed, and no later: a
    /// program may write such a table all the time, and what other peers begin with is not worth its weight each time.
    static func hasSettledRows(on connection: Connection) throws -> Bool {
        try localTables(on: connection).contains { !saysVersion($0) }
    }

    /// What this store was told of tables that it does not replicate, when it was made: facts of its own, because settings
    /// of the content are anybody's to write, and would have it publish what was to stay here.
    enum Left: String, CaseIterable {
        case local
        case skip

        func key(_ table: String) -> String { "\(rawValue) \(table.folded)" }

        /// The kind of the setting, and of the fact, of all tables whose names begin so, whenever they come.
        var all: String { "\(rawValue)-all" }

        func key(ofAll beginning: String) -> String { "\(all) \(beginning.folded)" }

        func tables(on connection: Connection) throws -> TableNames {
            let facts = StoreFacts(connection)
            return TableNames(
                try facts.values(under: key("")).map(\.name),
                beginningWith: try facts.values(under: key(ofAll: "")).map(\.name))
        }
    }

    /// The tables that this store left out when it was made, by this choice of its own. A replicated one may bear the name of
    /// such a table by now.
    static func leftTables(on connection: Connection) throws -> [(name: String, setting: Left)] {
        let tracked = try trackedTables(on: connection)
        let names = try TableSchema.tableNames(on: connection).filter { !tracked.contains($0.folded) }
        return try Left.allCases.flatMap { setting in
            let left = try setting.tables(on: connection)
            return names.filter(left.contains).sorted().map { ($0, setting) }
        }
    }

    /// The tables that are copied by `clone` and never replicated.
    static func localTables(on connection: Connection) throws -> [String] {
        // A store may replicate a table that was not known to note migrations when it was made.
        let tracked = try trackedTables(on: connection)
        let local = try Left.local.tables(on: connection)
        let skipped = try Left.skip.tables(on: connection)
        return try TableSchema.tableNames(on: connection).filter { name in
            !skipped.contains(name) && !tracked.contains(name.folded)
                && (local.contains(name) || notesMigrations(name))
        }
    }

    private static func trackedTables(on connection: Connection) throws -> Set<String> {
        Set(try connection.rows("SELECT name FROM logsync_table").map { String(text: $0[0]).folded })
    }

    /// The tables in which triggers insert or replace rows, as programs keep counts, in lower case: what they count comes
    /// again with the rows that fire these. Where triggers only update a table, they need its rows; where they only add to
    /// it, what was added before is not theirs to bring back.
    private static func countedTables(on connection: Connection) throws -> Set<String> {
        var counted: Set<String> = []
        for trigger in try connection.rows(
            "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name NOT LIKE 'logsync\\_%' ESCAPE '\\'")
        {
            let tokens = SQLTokens(String(text: trigger[0]))
            for index in 0..<tokens.count where index > 1 && tokens.word(index - 1) == "INTO" {
                let end = tokens.firstIndex(of: ";", from: index) ?? tokens.count
                guard
                    tokens.word(index - 2) == "REPLACE"
                        || (index..<end).contains(where: { tokens.word($0) == "CONFLICT" })
                else { continue }
                counted.insert(tokens.text(index..<index + 1).trimmingCharacters(in: quotes).folded)
            }
        }
        return counted
    }

    private static let quotes = CharacterSet(charactersIn: "\"'`[]")

    /// - Parameter left: how many bytes they may take; where they would take more, there are none.
    private static func rows(of table: String, upTo left: inout Int, on connection: Connection) throws -> [String] {
        guard let schema = try TableSchema.read(table, on: connection) else { return [] }
        let columns = schema.columns.filter { !$0.isGenerated }.map(\.name)
        let counts = try CountedColumns.countedByTriggers(on: connection)[table.folded] ?? []
        let quoted = columns.map { column in
            let name = SQL.name(column)
            return counts.contains(column.folded)
                ? "CASE WHEN typeof(\(name)) IN ('integer', 'real') THEN '0' ELSE quote(\(name)) END" : "quote(\(name))"
        }.joined(separator: ", ")
        let statement = try Statement("SELECT \(quoted) FROM \(SQL.name(table))", on: connection)
        var lines: [String] = []
        var size = 0
        while try statement.step() {
            let values = columns.indices.map { statement.string($0) }.joined(separator: ", ")
            lines.append("INSERT INTO \(SQL.name(table))(\(SQL.list(columns))) VALUES (\(values));")
            size += lines[lines.count - 1].utf8.count
            if size > left { return [] }
        }
        left -= size
        return lines
    }
}
