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
        if let collision = try collisions()?.collision { throw collision }
        try dropLeftovers()
    }

    /// What has such a name and is not logsync's, all of it, of a database that is no store; nil where nothing has.
    func collisions() throws -> FoundingReport? {
        let leftovers = try Set(leftovers())
        // An index goes with its table.
        let gone = try connection.rows("SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'")
            .filter { leftovers.contains(String(text: $0[1])) }.map { String(text: $0[0]) }
        let objects = try named().filter { !leftovers.contains($0.name) && !gone.contains($0.name) }
        guard let (type, name) = objects.first else { return nil }
        let why = "has a name that begins with logsync_, as only logsync's own may"
        func renaming(_ object: Object) -> String? {
            object.type == "table" ? "ALTER TABLE \(SQL.name(object.name)) RENAME TO …" : nil
        }
        var report = FoundingReport()
        report.refusals = objects.map { object in
            TableReport.Refusal(
                table: object.name, reason: object.type == "table" ? why : "is a \(object.type) that \(why)",
                remedies: [renaming(object)].compactMap(\.self))
        }
        report.collision = LogSyncError(
            .unsupportedTable, "the \(type) \(name) \(why); nothing was changed",
            help: "Give it another name" + (renaming((type, name)).map { ", with \($0)" } ?? "") + ", then try again.")
        return report
    }

    /// The tables of a store that have such a name and are the program's: they are left alone.
    func strangeTables() throws -> [String] {
        let fixed = try Self.tables()
        return try named().filter { object in
            object.type == "table" && !fixed.contains(object.name) && !Self.isNumbered(object.name, Self.numbered)
        }.map(\.name)
    }

    /// Removes what logsync put there, and nothing else: first what programs notice, then the rest bit by bit. The facts
    /// stay until ``dropFacts()``.
    func drop(_ portions: WritePortions) throws {
        let fixed = try Self.tables()
        let own = try named().filter { object in
            switch object.type {
            case "table": fixed.contains(object.name) || Self.isNumbered(object.name, Self.numbered)
            case "trigger": Self.isNumbered(object.name, Capture.triggerNames)
            default: false
            }
        }
        try drop(own, portions)
    }

    /// Dropping a table takes as long as it is large, so it is emptied before, and the one that says that this is under way
    /// stays.
    ///
    /// - Parameter portions: nil to drop that, too, in the write transaction that is open.
    private func drop(_ objects: [Object], _ portions: WritePortions?) throws {
        connection.finalizeStatements()
        func drop(_ object: Object) throws {
            try connection.execute("DROP \(object.type.uppercased()) IF EXISTS \(SQL.name(object.name))")
        }
        for object in objects where object.type != "table" { try drop(object) }
        var tables = objects.filter { $0.type == "table" }
        if let portions {
            tables.removeAll { $0.name == Self.facts }
            for table in tables { try empty(table.name, portions) }
        }
        connection.finalizeStatements()
        for table in tables { try drop(table) }
    }

    private func empty(_ table: String, _ portions: WritePortions) throws {
        let columns = try connection.rows("SELECT name, pk FROM pragma_table_info(?)", .text(table))
        let key = columns.filter { $0[1].asInteger > 0 }.map { SQL.name(String(text: $0[0])) }.joined(separator: ", ")
        let names = key.isEmpty ? "rowid" : key
        // A row that holds bytes may be a megabyte long.
        let count = columns.contains { $0[0] == .text("bytes") } ? 16 : 256
        let (list, name) = (names.contains(",") ? "(\(names))" : names, SQL.name(table))
        let sql = "DELETE FROM \(name) WHERE \(list) IN (SELECT \(names) FROM \(name) LIMIT \(count))"
        repeat {
            try connection.run(sql)
            try portions.pause()
        } while connection.changes > 0
    }

    // MARK: Facts

    /// The table that says what is under way, and of which journal mode the database was before.
    private static let facts = "logsync_store"
    private static let journal = "journal"

    private var hasFacts: Bool { get throws { try leftovers().contains(Self.facts) } }

    /// The journal mode of a database that is being made a store, or a plain database again, before it was one; nil where
    /// nothing says so.
    func noted() throws -> String? { try hasFacts ? StoreFacts(connection).text(Self.journal) : nil }

    /// Notes the journal mode of a database that is about to be made a store.
    func note(journal: String) throws {
        let facts = StoreFacts(connection)
        if try !hasFacts {
            try connection.execute(StoreSchema.facts)
            try facts.set("format", .integer(StoreSchema.unfinishedFormat))
        }
        try facts.set(Self.journal, .text(journal))
    }

    /// Removes the facts, which are all that is left.
    func dropFacts() throws {
        guard try hasFacts else { return }
        connection.finalizeStatements()
        try connection.execute("DROP TABLE \(Self.facts)")
    }

    // MARK: Leftovers

    /// What logsync had put into a database that is no store any more, because another program dropped the tables that it
    /// did not know: above all triggers, which fail every write now.
    func leftovers() throws -> [String] { try leftoverObjects().map(\.name) }

    /// Removes these; the facts stay until ``dropFacts()``.
    ///
    /// - Parameter portions: nil to do it in the write transaction that is open, and remove the facts, too.
    func dropLeftovers(_ portions: WritePortions? = nil) throws { try drop(leftoverObjects(), portions) }

    /// A name alone does not say whose it is here: that the objects are made as logsync makes them does.
    private func leftoverObjects() throws -> [Object] {
        guard try !Store.isWhole(connection) else { return [] }
        let objects = try named()
        guard !objects.isEmpty else { return [] }
        let own = try Connection.inMemory { connection in
            try connection.execute(StoreSchema.sql)
            try connection.execute(StoreSchema.clockTable(0, hasUniqueDigests: true))
            return try OwnObjects(connection: connection).columns(of: OwnObjects(connection: connection).named())
        }
        return try objects.filter { object in
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
            for sql in [StoreSchema.sql] + StoreSchema.later { try connection.execute(sql) }
            return Set(try OwnObjects(connection: connection).named().filter { $0.type == "table" }.map(\.name))
        }
    }

    /// The kinds of tables that each tracked table has.
    private static let numbered = ["clock", "unique", "pending"]

    /// Whether a name is one by which each tracked table has objects.
    private static func isNumbered(_ name: String, _ kinds: [String]) -> Bool {
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0] == "logsync" && kinds.contains(String(parts[1])) && Int64(parts[2]) != nil
    }
}
