import LogSyncModel
import LogSyncSQLite

/// The pending table and triggers by which any program's writes to a table are noted, in its own transaction.
///
/// The triggers name no column outside the key and no table but their own and its pending table, so that the app may
/// add, rename, drop and rebuild freely (Documentation/design.md, section 4). Pending columns have no types: NEW and
/// OLD already have the column's affinity, and the value is to stay what it is.
enum Capture {
    typealias Kind = CaptureKind

    static let triggerNames = ["insert", "update", "rekey", "delete"]

    static func pendingTable(_ table: TrackedTable) -> String {
        var columns = "number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, row INTEGER, ms INTEGER NOT NULL"
        if table.capturesKey {
            for index in table.key.indices {
                columns += ", k\(index) COLLATE \(table.key[index].collation.rawValue)"
            }
        }
        return "CREATE TABLE \(table.pending)(\(columns))"
    }

    static func triggers(_ table: TrackedTable) -> [String] {
        let names = table.capturesKey ? table.keyColumnNames.map(SQL.name) : []
        let targets = "(kind, row, ms\(names.indices.map { ", k\($0)" }.joined()))"
        let hasRowid = table.hasRowid
        func values(_ kind: Kind, _ side: String) -> String {
            let row = hasRowid ? "\(side).\(table.rowid)" : "NULL"
            let key = names.map { ", \(side).\($0)" }.joined()
            return
                "INSERT INTO \(table.pending)\(targets) VALUES (\(kind.rawValue), \(row), \(SQL.milliseconds)\(key));"
        }
        let moved =
            table.capturesKey && !names.isEmpty
            ? names.map { "OLD.\($0) IS NOT NEW.\($0)" }.joined(separator: " OR ")
            : "OLD.\(table.rowid) IS NOT NEW.\(table.rowid)"
        func trigger(_ name: String, _ event: String, _ condition: String, _ body: String) -> String {
            "CREATE TRIGGER logsync_\(name)_\(table.id) AFTER \(event) ON \(table.quoted) \(condition)BEGIN \(body) END"
        }
        return [
            trigger("insert", "INSERT", "", values(.insert, "NEW")),
            trigger("update", "UPDATE", "WHEN NOT (\(moved)) ", values(.update, "NEW")),
            trigger(
                "rekey", "UPDATE", "WHEN \(moved) ", values(.rekeyedFrom, "OLD") + " " + values(.rekeyedTo, "NEW")),
            trigger("delete", "DELETE", "", values(.delete, "OLD")),
        ]
    }

    static func install(_ table: TrackedTable, on connection: Connection) throws {
        for name in triggerNames { try connection.execute("DROP TRIGGER IF EXISTS logsync_\(name)_\(table.id)") }
        for trigger in triggers(table) { try connection.execute(trigger) }
    }

    static func isInstalled(_ table: TrackedTable, on connection: Connection) throws -> Bool {
        let present = try connection.integer(
            """
            SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
              AND name IN (\(triggerNames.map { "'logsync_\($0)_\(table.id)'" }.joined(separator: ", ")))
            """, .text(table.schema.name))
        return present == Int64(triggerNames.count)
    }

    /// Whether what the triggers note for the rowid is that: a column that has come since they were made may be called so.
    static func reachesRowids(of table: TrackedTable, on connection: Connection) throws -> Bool {
        guard table.hasRowid else { return true }
        let sql = try connection.scalar(
            "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = ?", .text("logsync_insert_\(table.id)"))
        return sql.map { String(text: $0).contains("NEW.\(table.rowid)") } ?? true
    }

    /// Whether the triggers are there and note what is meant.
    static func isSound(_ table: TrackedTable, on connection: Connection) throws -> Bool {
        try isInstalled(table, on: connection) && reachesRowids(of: table, on: connection)
    }

    /// Makes triggers anew that have noted a column for the rowid. What they noted says nothing: every row is compared.
    static func renew(_ table: TrackedTable, on connection: Connection) throws {
        try install(table, on: connection)
        // The numbers of pending rows go on from the last one.
        try connection.execute(
            "DELETE FROM \(table.pending) WHERE number < (SELECT max(number) FROM \(table.pending))")
        try connection.execute("UPDATE \(table.pending) SET kind = \(Kind.found.rawValue), row = NULL, ms = 0")
        try noteEverything(table, on: connection)
    }

    /// Whether any table has the triggers of a registered one.
    static func hasTriggers(_ table: Int64, on connection: Connection) throws -> Bool {
        try connection.integer(
            "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = ?", .text("logsync_insert_\(table)")) != nil
    }

    /// Notes every row of the table as possibly changed, and every clock record whose row is gone as deleted:
    /// recording then finds by comparison what really changed.
    ///
    /// - Parameter milliseconds: SQL for the time at which it is taken to have happened.
    static func noteEverything(
        _ table: TrackedTable, on connection: Connection, milliseconds: String = SQL.milliseconds
    ) throws {
        let keys = table.capturesKey ? table.keyColumnNames.map { ", \(SQL.name($0))" }.joined() : ""
        let targets = table.capturesKey ? table.key.indices.map { ", k\($0)" }.joined() : ""
        try connection.execute(
            """
            INSERT INTO \(table.pending)(kind, row, ms\(targets))
            SELECT \(Kind.found.rawValue), \(table.hasRowid ? table.rowid : "NULL"), \(milliseconds)\(keys)
            FROM \(table.quoted)
            """)
    }

    /// The rows of a table which is not here any more that were deleted and not inserted again, and of which nothing is
    /// recorded yet.
    static func deletedRows(of table: TrackedTable, on connection: Connection) throws -> Set<Int64> {
        let recorded = try TableExtent.all(on: connection)[table.id]?.recorded ?? 0
        return Set(
            try connection.rows(
                """
                SELECT row, kind, max(number) FROM \(table.pending) WHERE number > ? AND row IS NOT NULL GROUP BY row
                """, .integer(recorded)
            ).filter { $0[1].asInteger == Kind.delete.rawValue }.map(\.[0].asInteger))
    }

    /// Notes one row as possibly changed.
    static func note(at position: Int64, identity: RowIdentity?, in table: TrackedTable, _ store: OpenStore) throws {
        let place = try ShownRows(store).place(identity, at: position, in: table)
        if let place { try table.noteFound(at: place, on: store.connection) }
    }
}

extension Capture {
    /// Makes the clock and pending tables and the triggers of registered tables.
    static func equip(_ tables: [TrackedTable], on connection: Connection) throws {
        for table in tables {
            try connection.execute(StoreSchema.clockTable(table.id, hasUniqueDigests: table.hasUniqueDigests))
            try connection.execute(Capture.pendingTable(table))
            try install(table, on: connection)
            try table.noteShape(on: connection)
        }
    }
}
