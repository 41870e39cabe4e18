import LogSyncModel
import LogSyncSQLite

/// What logsync puts into a database. All names that begin with `logsync_` are kept for it; a program may have made an
/// object with such a name all the same, and that is the program's.
struct OwnObjects {
    let connection: Connection

    private typealias Object = (type: String, name: String)

    /// Refuses a database that is no store yet and has an object with such a name. What is left of a store whose tables
    /// another program dropped is removed instead.
    ///
    /// - Throws: `unsupportedTable`.
    func checkNoneIsThere() throws {
        try dropLeftovers()
        guard let (type, name) = try named().first else { return }
        throw LogSyncError(
            .unsupportedTable,
            "the \(type) \(name) has a name that begins with logsync_, as only logsync's own may; nothing was changed",
            help: "Give it another name"
                + (type == "table" ? ", with ALTER TABLE \(SQL.name(name)) RENAME TO …" : "") + ", then try again.")
    }

    /// Removes what logsync put there, and nothing else.
    func drop() throws {
        let fixed = try Self.tables()
        let own = try named().filter { object in
            switch object.type {
            case "table": fixed.contains(object.name) || Self.isNumbered(object.name, ["clock", "unique", "pending"])
            case "trigger": Self.isNumbered(object.name, Capture.triggerNames)
            default: false
            }
        }
        connection.finalizeStatements()
        for (type, name) in own { try connection.execute("DROP \(type.uppercased()) IF EXISTS \(SQL.name(name))") }
    }

    // MARK: Leftovers

    /// What logsync had put into a database that is no store any more, because another program dropped the tables that it
    /// did not know: above all triggers, which fail every write now.
    func leftovers() throws -> [String] { try leftoverObjects().map(\.name) }

    /// Removes these.
    func dropLeftovers() throws {
        let left = try leftoverObjects()
        connection.finalizeStatements()
        for (type, name) in left { try connection.execute("DROP \(type.uppercased()) IF EXISTS \(SQL.name(name))") }
    }

    /// A name alone does not say whose it is here: that the objects are made as logsync makes them does.
    private func leftoverObjects() throws -> [Object] {
        guard try !Store.isReplicated(connection) else { return [] }
        let own = try Connection.inMemory { connection in
            try connection.execute(StoreSchema.sql)
            try connection.execute(StoreSchema.clockTable(0, hasUniqueDigests: true))
            return try OwnObjects(connection: connection).columns(of: OwnObjects(connection: connection).named())
        }
        return try named().filter { object in
            let kind = object.name.split(separator: "_").dropFirst().first.map(String.init) ?? ""
            switch object.type {
            case "trigger":
                guard Self.isNumbered(object.name, Capture.triggerNames) else { return false }
                let number = object.name.split(separator: "_")[2]
                let body = "%BEGIN INSERT INTO logsync_pending_\(number)(kind, row, ms%"
                return try connection.integer(
                    "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name = ? AND sql LIKE ?",
                    .text(object.name), .text(body)) == 1
            case "table":
                let columns = try columns(of: [object])[object.name] ?? []
                if Self.isNumbered(object.name, ["pending"]) {
                    return columns.starts(with: ["number", "kind", "row", "ms"])
                }
                // Earlier versions had fewer columns, and the same first.
                let known = own[Self.isNumbered(object.name, ["clock", "unique"]) ? "logsync_\(kind)_0" : object.name]
                return known.map { columns.first == $0.first && Set(columns).isSubset(of: $0) } ?? false
            default: return false
            }
        }
    }

    private func columns(of objects: [Object]) throws -> [String: [String]] {
        var columns: [String: [String]] = [:]
        for object in objects where object.type == "table" {
            columns[object.name] = try connection.rows(
                "SELECT name FROM pragma_table_info(?) ORDER BY cid", .text(object.name)
            ).map { String(text: $0[0]) }
        }
        return columns
    }

    // MARK: Names

    /// What has such a name, triggers first: a table takes its own along.
    private func named() throws -> [Object] {
        try connection.rows(
            """
            SELECT type, name FROM sqlite_master WHERE name LIKE 'logsync\\_%' ESCAPE '\\'
            ORDER BY type <> 'trigger', type, name
            """
        ).map { (String(text: $0[0]), String(text: $0[1])) }
    }

    /// The tables that every store has.
    private static func tables() throws -> Set<String> {
        try Connection.inMemory { connection in
            try connection.execute(StoreSchema.sql)
            return Set(try OwnObjects(connection: connection).named().filter { $0.type == "table" }.map(\.name))
        }
    }

    /// Whether a name is one by which each tracked table has objects.
    private static func isNumbered(_ name: String, _ kinds: [String]) -> Bool {
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0] == "logsync" && kinds.contains(String(parts[1])) && Int64(parts[2]) != nil
    }
}
