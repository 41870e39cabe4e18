import LogSyncModel
import LogSyncSQLite

/// One migration within the caller's write transaction.
struct Migration {
    let store: OpenStore

    private var connection: Connection { store.connection }

    func run(
        _ sql: String, _ renamings: [Renaming], _ references: ReferenceDecisions
    ) throws -> MigrationResult {
        var result = MigrationResult()
        // What came before is not the migration's doing.
        result.pending = try RecordStep(store).run()
        let names = try localNames()
        let broken = try brokenForeignKeys()
        let tables = Set(try TableSchema.tableNames(on: connection).map { $0.folded })
        result.statements = try runScript(sql)
        let now = try brokenForeignKeys()
        guard now.count <= broken.count else {
            throw LogSyncError(
                .invalidScript,
                "the script would leave \((now.count - broken.count).counted("row")) without what its foreign keys name "
                    + "(\(Set(now).sorted().joined(separator: ", "))); nothing was changed",
                help: "Let the script delete those rows or give them other parents")
        }
        var renamings = try renamings.map(reading)
        let hasTakenOver = try takeOver(&renamings)
        try rename(renamings)
        try references.settle(in: store)
        result.recorded = try RecordStep(store, reconciles: !references.isEmpty || hasTakenOver, context: "migration")
            .run()
        // What they write was asked of the schema that was there before.
        try store.dropAppTriggerCopies()
        result.renamed = try renamed(since: names)
        result.notReplicated = try TableSchema.tableNames(on: connection).filter {
            !tables.contains($0.folded) && !store.catalog.hasLocal($0)
                && !AppSchema.notesMigrations($0)
        }
        return result
    }

    /// As another program would, whose writes fire every trigger.
    private func runScript(_ sql: String) throws -> Int {
        try store.dropAppTriggerCopies()
        connection.finalizeStatements()
        return try connection.takingTexts {
            try connection.withTriggers { try Script(sql: sql).run(on: connection) }
        }
    }

    /// The tables of rows whose foreign keys nothing answers, one entry a row.
    private func brokenForeignKeys() throws -> [String] {
        do {
            return try connection.rows("SELECT \"table\" FROM pragma_foreign_key_check").map { String(text: $0[0]) }
        } catch let error as LogSyncError where error.code == .invalidStore {
            // Keys that name no unique columns cannot be checked, before as after.
            return []
        }
    }

    // MARK: Names

    /// Names in the database by table id, and by table id and column id.
    private func localNames() throws -> (tables: [Int64: String], columns: [Int64: [Int64: String]]) {
        var tables: [Int64: String] = [:]
        var columns: [Int64: [Int64: String]] = [:]
        for row in try connection.rows("SELECT id, name FROM logsync_table") {
            tables[row[0].asInteger] = String(text: row[1])
        }
        for row in try connection.rows("SELECT table_id, id, name FROM logsync_column WHERE NOT dropped") {
            columns[row[0].asInteger, default: [:]][row[1].asInteger] = String(text: row[2])
        }
        return (tables, columns)
    }

    private func renamed(
        since names: (tables: [Int64: String], columns: [Int64: [Int64: String]])
    ) throws -> [(table: String, from: String, to: String)] {
        let now = try localNames()
        var renamed: [(table: String, from: String, to: String)] = []
        for (id, table) in now.tables.sorted(by: { $0.value < $1.value }) {
            if let former = names.tables[id], former != table { renamed.append((table, former, table)) }
            for (column, name) in (now.columns[id] ?? [:]).sorted(by: { $0.key < $1.key }) {
                guard let former = names.columns[id]?[column], former != name else { continue }
                renamed.append((table, former, name))
            }
        }
        return renamed
    }

    /// What is meant where dots stand in the names: the store knows the column, or a table of the whole name.
    private func reading(_ renaming: Renaming) throws -> Renaming {
        guard let column = renaming.column else { return renaming }
        let name = ColumnName(renaming.table, column)
        let found = try name.reading { name in
            guard let row = try registered(name.table) ?? byTriggers(name.table) else { return false }
            let isKnown = try connection.rows(
                "SELECT 1 FROM logsync_column WHERE table_id = ? AND name = ? COLLATE NOCASE AND NOT dropped",
                .integer(row.id), .text(name.column))
            return try !isKnown.isEmpty
                || UndecidedColumns(connection).of(row.id).contains {
                    [$0.former.folded, $0.name.folded].contains(name.column.folded)
                }
        }
        if let found { return Renaming(table: found.table, column: found.column, to: renaming.to) }
        let others = try Renames(connection, absent: HiddenRows.absentNames(on: connection)).otherTables(store.catalog)
        guard
            try registered(name.description) != nil
                || others.contains(where: { $0.there.folded == name.description.folded })
        else { return renaming }
        return Renaming(table: name.description, column: nil, to: renaming.to)
    }

    /// Makes tables the ones that other peers have under the same names (``Renames/otherTables(_:)``): what stands in them is
    /// recorded as rows of these.
    ///
    /// - Parameter renamings: without the ones that say so, afterwards.
    /// - Returns: whether there were any.
    private func takeOver(_ renamings: inout [Renaming]) throws -> Bool {
        let others = try Renames(connection, absent: HiddenRows.absentNames(on: connection)).otherTables(store.catalog)
        let count = renamings.count
        try renamings.removeAll { renaming in
            guard renaming.column == nil, try registered(renaming.table) == nil, let row = try registered(renaming.to),
                let other = others.first(where: {
                    $0.there.folded == renaming.table.folded && $0.table.folded == renaming.to.folded
                })
            else { return false }
            try SchemaReconciliation(store: store).giveUp(row.id)
            try Settings(store).set("rename", row.local, other.there)
            return true
        }
        guard renamings.count < count else { return false }
        try store.reloadCatalog()
        return true
    }

    /// Notes the names that a rebuild gave, before anybody takes the former ones for dropped.
    private func rename(_ renamings: [Renaming]) throws {
        guard !renamings.isEmpty else { return }
        for renaming in renamings where renaming.column == nil {
            guard let row = try registered(renaming.table) else {
                // What came before the migration has been looked at, and may have told.
                let known = try registered(renaming.to).flatMap { try FormerNames(connection).former($0.id) }
                guard known?.folded == renaming.table.folded else { throw unknown(renaming.table) }
                continue
            }
            guard let schema = try TableSchema.read(renaming.to, on: connection) else { throw absent(renaming) }
            guard try TableSchema.read(renaming.table, on: connection) == nil else { throw present(renaming) }
            try connection.run("UPDATE logsync_table SET name = ?2 WHERE id = ?1", .integer(row.id), .text(schema.name))
            try Settings(store).set("rename", schema.name, row.logName)
        }
        for renaming in renamings {
            guard let column = renaming.column else { continue }
            // A table that ALTER TABLE renamed may be meant by either name.
            guard let row = try registered(renaming.table) ?? byTriggers(renaming.table) else {
                throw unknown(renaming.table)
            }
            guard
                let schema = try TableSchema.read(row.local, on: connection)
                    ?? TableSchema.read(renaming.table, on: connection),
                let new = schema.column(renaming.to)
            else { throw absent(renaming) }
            if try decide(column, new, in: row) { continue }
            guard schema.column(column) == nil else { throw present(renaming) }
            try rename(column, to: new, in: row)
        }
        try store.reloadCatalog()
    }

    private typealias Registered = (id: Int64, local: String, logName: String)

    private func rename(_ former: String, to column: TableSchema.Column, in table: Registered) throws {
        let known = try connection.rows(
            "SELECT id, log_name FROM logsync_column WHERE table_id = ? AND name = ? COLLATE NOCASE AND NOT dropped",
            .integer(table.id), .text(former)
        ).first
        guard let known else {
            throw LogSyncError(
                .usage, "\(table.local) had no column \(former); nothing was changed",
                help: "Write --rename TABLE.OLD=NEW with the column's former name")
        }
        try connection.run(
            "UPDATE logsync_column SET name = ?3, type = ?4 WHERE table_id = ?1 AND id = ?2", .integer(table.id),
            known[0], .text(column.name), .text(column.declaredType))
        try Settings(store).set("rename", "\(table.logName).\(column.name)", String(text: known[1]))
    }

    /// Says of a column of which nothing told it what it was called: another name, or its own.
    private func decide(_ former: String, _ column: TableSchema.Column, in table: Registered) throws -> Bool {
        let undecided = try UndecidedColumns(connection).of(table.id)
        guard var found = undecided.first(where: { $0.name.folded == column.name.folded }) else { return false }
        if found.place == nil {
            // That it is what it is called says of the other one that this is new.
            guard column.name.folded == former.folded,
                let other = undecided.first(where: { $0.place == found.named })
            else { return false }
            found = other
        }
        let name: String
        if let place = found.place, found.former.folded == former.folded, column.name.folded != former.folded {
            name = place
        } else if column.name.folded == former.folded {
            name = found.named ?? found.name
        } else {
            return false
        }
        try Settings(store).set("rename", "\(table.logName).\(found.name)", name)
        return true
    }

    private func registered(_ name: String) throws -> Registered? {
        try connection.rows(
            "SELECT id, name, log_name FROM logsync_table WHERE name = ? COLLATE NOCASE", .text(name)
        ).first.map { ($0[0].asInteger, String(text: $0[1]), String(text: $0[2])) }
    }

    /// The table whose triggers stand on another name now.
    private func byTriggers(_ name: String) throws -> Registered? {
        try connection.rows(
            """
            SELECT id, t.name, log_name FROM logsync_table AS t
            JOIN sqlite_master AS m ON m.type = 'trigger' AND m.name = 'logsync_insert_' || t.id
            WHERE m.tbl_name = ? COLLATE NOCASE
            """, .text(name)
        ).first.map { ($0[0].asInteger, String(text: $0[1]), String(text: $0[2])) }
    }

    // MARK: Refusals

    private func unknown(_ table: String) -> LogSyncError {
        LogSyncError(
            .usage, "\(table) is no replicated table; nothing was changed",
            help: "Write --rename TABLE.OLD=NEW for a column, --rename OLD=NEW for a table")
    }

    private func absent(_ renaming: Renaming) -> LogSyncError {
        LogSyncError(
            .usage,
            "after the script there is no \(renaming.column == nil ? "table" : "column") \(renaming.to); "
                + "nothing was changed", help: "Let the script make it, or leave the --rename out")
    }

    private func present(_ renaming: Renaming) -> LogSyncError {
        LogSyncError(
            .usage, "after the script \(renaming.column ?? renaming.table) is still there; nothing was changed",
            help: "Let the script drop it, or leave the --rename out")
    }
}
