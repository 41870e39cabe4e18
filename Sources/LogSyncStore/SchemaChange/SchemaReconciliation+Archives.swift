import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Tables that were made anew and then given another name, with nobody looking in between.
extension SchemaReconciliation {
    /// The tables that hold what the records of others have, whose names are borne by tables that do not.
    ///
    /// ALTER TABLE takes the triggers along, which say where a table has gone; a rebuild before it has dropped them. Without
    /// them a table of that name would seem to have lost all its rows, and several that have taken each other's names to
    /// have exchanged them.
    ///
    /// - Parameter lost: what bears the names of tables now that have no triggers, by table id.
    /// - Returns: names by table id. Where a name is another such table's, that one has a new one, too.
    func archives(of lost: [Int64: TableSchema], among declarations: TableDeclarations) throws -> [Int64: String] {
        var found: [Int64: String] = [:]
        for (id, schema) in lost {
            let others = Set(lost.filter { $0.key != id }.map(\.value.name.folded))
            found[id] = try archive(of: id, schema, besides: others, among: declarations)
        }
        let times = Dictionary(grouping: found.values, by: \.folded)
        found = found.filter { times[$0.value.folded]?.count == 1 }
        while let taken = found.first(where: { _, name in
            lost.contains { $0.value.name.folded == name.folded && found[$0.key] == nil }
        }) {
            found[taken.key] = nil
        }
        return found
    }

    /// - Parameters:
    ///   - schema: what bears its name now; it has no triggers.
    ///   - others: replicated tables that have lost their triggers, too.
    /// - Returns: the name of one of these, or of a table that is not replicated yet, which has a key, and alone
    ///   holds a quarter of the rows at least (``FormerRows``); nil where they are under the former name, or nowhere.
    private func archive(
        of id: Int64, _ schema: TableSchema, besides others: Set<String>, among declarations: TableDeclarations
    ) throws -> String? {
        guard let table = store.catalog.tables.first(where: { $0.id == id }) else { return nil }
        let registered = Set(
            try connection.rows("SELECT name FROM logsync_table").map { String(text: $0[0]).folded }
        ).subtracting(others)
        let candidates = try TableSchema.tableNames(on: connection).compactMap { name -> TableSchema? in
            guard !registered.contains(name.folded), !AppSchema.notesMigrations(name),
                let other = try TableSchema.read(name, on: connection, among: declarations)
            else { return nil }
            let hasKey = other.integerKey != nil || !other.keyColumns.isEmpty
            return hasKey || schema.integerKey == nil && schema.keyColumns.isEmpty ? other : nil
        }
        guard !candidates.isEmpty else { return nil }
        let records = try FormerRows(of: table, on: connection)
        // Rows that may be here are in no archive.
        let here = try records.held(in: schema, isLenient: true)
        guard here * 2 < records.count else { return nil }
        let found = try candidates.map { ($0.name, try records.held(in: $0)) }
            .filter { $0.1 * 4 >= records.count && here * 2 < $0.1 }
        return found.count == 1 ? found[0].0 : nil
    }

    /// Gives a table that has taken the name of another one the policies of that: its program goes on writing the same there.
    ///
    /// - Parameters:
    ///   - former: what logs call the other one.
    ///   - name: what logs call the table.
    func inheritPolicies(of former: String, by schema: TableSchema, called name: String) throws {
        let settings = Settings(store)
        for kind in Policies.kinds {
            let policies = try settings.values(kind)
            let known = Set(policies.keys.map(\.folded))
            for (target, policy) in policies where target.folded.hasPrefix(former.folded) {
                let rest = target.dropFirst(former.count)
                let isColumn = rest.first == "." && schema.column(String(rest.dropFirst())) != nil
                guard rest.isEmpty || isColumn, !known.contains((name + rest).folded) else { continue }
                try settings.set(kind, name + rest, policy)
            }
        }
    }

    // MARK: Archives that are dropped

    /// A table that was set aside under another name and is gone is the one that holds its rows under its former name: a
    /// program has made it anew, in so many steps that the new one has counted as a table of its own.
    ///
    /// - Returns: whether there is such a table.
    func returnNames() throws -> Bool {
        var isAny = false
        for table in try Catalog.absentTables(on: connection) where try !Capture.hasTriggers(table.id, on: connection) {
            guard let name = try FormerNames(connection).former(table.id),
                let schema = try TableSchema.read(name, on: connection)
            else { continue }
            let records = try FormerRows(of: table, on: connection)
            // Of none, each is the other.
            guard
                try records.areMost(in: schema)
                    || records.count == 0 && FormerRows.isEmpty(schema, on: connection)
            else { continue }
            if let bearer = store.catalog[local: name] {
                guard try !hasOthersRows(bearer) else { continue }
                try giveUp(bearer.id)
            }
            try connection.run(
                "UPDATE logsync_table SET name = ?2 WHERE id = ?1", .integer(table.id), .text(schema.name))
            try Settings(store).set("rename", schema.name, table.name)
            isAny = true
        }
        return isAny
    }

    /// Whether other peers have the table as well, and write to it.
    private func hasOthersRows(_ table: TrackedTable) throws -> Bool {
        let clock = ClockTable(table: table, connection: connection)
        let own = try store.formerSelves()
        return try clock.allRows().contains { row in
            guard let state = try clock.record(at: row)?.state else { return false }
            return (state.inserts + [state.base].compactMap(\.self)).contains { !own.contains($0.peer) }
        }
    }

    /// A registered table counts as dropped, whatever bears its name.
    func giveUp(_ id: Int64) throws {
        for trigger in Capture.triggerNames {
            try connection.execute("DROP TRIGGER IF EXISTS logsync_\(trigger)_\(id)")
        }
        for row in try connection.rows("SELECT log_name, name FROM logsync_table WHERE id = ?", .integer(id)) {
            try FormerNames(connection).note(gone: String(text: row[0]), called: String(text: row[1]))
        }
        try connection.run(
            "UPDATE logsync_table SET name = ?2 WHERE id = ?1", .integer(id), .text(Self.moved + String(id)))
    }

    /// What a table is called whose name another one bears, until it has its own or is gone.
    static let moved = "logsync moved "

    /// Tables that were made anew, of whose name the content says that it is a later one's, and that hold nothing of what they
    /// held: they were archived and the archive was dropped, with nobody looking in between, as others have done step by step.
    ///
    /// - Parameter lost: what bears the names of tables that have no triggers, by table id.
    func followed(_ lost: [Int64: TableSchema]) throws -> [Int64] {
        try lost.filter { id, schema in
            guard let table = store.catalog.tables.first(where: { $0.id == id }),
                let later = try Renames(connection).toldLogName(ofTable: schema.name),
                later.folded != table.name.folded, store.catalog[later] == nil
            else { return false }
            let records = try FormerRows(of: table, on: connection)
            return try records.count > 0 && !records.areMost(in: schema)
        }.map(\.key)
    }
}
