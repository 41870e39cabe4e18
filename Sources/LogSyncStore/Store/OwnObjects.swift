import LogSyncModel
import LogSyncSQLite

/// What logsync puts into a database. All names that begin with `logsync_` are kept for it; a program may have made an
/// object with such a name all the same, and that is the program's.
struct OwnObjects {
    let connection: Connection

    private typealias Object = (type: String, name: String)

    /// Refuses a database that is no store yet and has an object with such a name.
    ///
    /// - Throws: `unsupportedTable`.
    func checkNoneIsThere() throws {
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
