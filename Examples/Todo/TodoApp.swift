import GRDB
import LogSync
import LogSyncEditing

/// A to-do app as one would write it without replication: records, migrations, live queries, undo.
struct TodoApp {
    let pool: DatabasePool
    let undo: UndoLog
    let replicator: Replicator

    /// - Parameters:
    ///   - path: the app's database.
    ///   - machine: what this machine is called.
    init(_ path: String, folder: String, machine: String, configuration: SyncConfiguration) async throws {
        var database = Configuration()
        // logsync writes the database too, briefly.
        database.busyMode = .timeout(5)
        pool = try DatabasePool(path: path, configuration: database)
        try Self.migrator.migrate(pool)
        undo = try await UndoLog(pool, tables: ["list", "item", "tag", "itemTag"])
        // All of replication:
        replicator = try await Replicator.open(
            pool, container: folder, content: "todo", peer: machine, configuration: configuration
        ) {
            $0.merge("item", "priority", by: .max)
            $0.merge("item", "notes", by: Self.joined)
            $0.merge("tag", uniques: .merged)
            $0.keepTombstones(of: "item", columns: "title")
        }
        // That was it.
    }

    /// Of notes that two machines wrote at once, none is lost.
    static let joined = MergePolicy(name: "joined") { versions in
        .text(versions.compactMap(\.value.string).joined(separator: "\n---\n"))
    }

    // MARK: The schema

    struct List: Codable, FetchableRecord, MutablePersistableRecord {
        static let databaseTableName = "list"
        var id: Int64?
        var name: String

        mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
    }

    struct Item: Codable, FetchableRecord, MutablePersistableRecord {
        static let databaseTableName = "item"
        var id: Int64?
        var listId: Int64
        var title: String
        var notes = ""
        var done = false
        var priority = 0

        mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
    }

    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("first") { db in
            try db.create(table: "list") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull()
            }
            try db.create(table: "item") { table in
                table.autoIncrementedPrimaryKey("id")
                table.belongsTo("list", onDelete: .cascade).notNull()
                table.column("title", .text).notNull()
                table.column("notes", .text).notNull().defaults(to: "")
                table.column("done", .boolean).notNull().defaults(to: false)
                table.column("priority", .integer).notNull().defaults(to: 0)
            }
            try db.create(table: "tag") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull().unique()
            }
            try db.create(table: "itemTag") { table in
                table.primaryKey {
                    table.belongsTo("item", onDelete: .cascade)
                    table.belongsTo("tag", onDelete: .cascade)
                }
            }
        }
        return migrator
    }()

    // MARK: What it does

    /// What a view shows: open items, `list: title #tag`, by priority.
    static func open(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT list.name || ': ' || item.title || coalesce(group_concat(' #' || tag.name, ''), '')
                FROM item JOIN list ON list.id = item.listId
                LEFT JOIN itemTag ON itemTag.itemId = item.id LEFT JOIN tag ON tag.id = itemTag.tagId
                WHERE NOT item.done GROUP BY item.id ORDER BY item.priority DESC, item.title
                """)
    }

    /// The view, each time that it changes, whoever changes it.
    func live() -> AsyncValueObservation<[String]> { ValueObservation.tracking(Self.open).values(in: pool) }

    func add(_ title: String, to list: String, tag: String? = nil) async throws {
        try await pool.write { db in
            try undo.group("Add \(title)", db) {
                var found = try List.filter(Column("name") == list).fetchOne(db) ?? List(name: list)
                if found.id == nil { try found.insert(db) }
                var item = Item(listId: found.id ?? 0, title: title)
                try item.insert(db)
                guard let tag else { return }
                try db.execute(sql: "INSERT OR IGNORE INTO tag(name) VALUES(?)", arguments: [tag])
                try db.execute(
                    sql: "INSERT INTO itemTag(itemId, tagId) SELECT ?, id FROM tag WHERE name = ?",
                    arguments: [item.id, tag])
            }
        }
    }

    func change(_ title: String, _ name: String, _ change: @escaping @Sendable (inout Item) -> Void) async throws {
        try await pool.write { db in
            try undo.group(name, db) {
                guard var item = try Item.filter(Column("title") == title).fetchOne(db) else { return }
                try item.updateChanges(db, modify: change)
            }
        }
    }

    func close() async {
        await replicator.stop()
        await replicator.close()
    }
}
