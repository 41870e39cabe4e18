import Foundation
import LogSyncModel
import LogSyncSQLite

/// Chooses how each table's rows are identified, refuses what cannot be replicated, and says so.
struct TableRegistration {
    let connection: Connection
    var plan: InitializePlan
    /// What logs call tables of which only rows are here, by folded name.
    var absentNames: [String: String] = [:]

    struct Choice {
        var schema: TableSchema
        var kind: TrackedTable.IdentityKind
        var key: [String]

        /// Whether rows go by columns that are no key of the table's own, which the schema alone does not say.
        var isOfChosenColumns: Bool {
            kind == .columns || kind == .natural && key.map { $0.folded } != schema.keyColumns.map { $0.name.folded }
        }
    }

    /// A table that cannot be replicated as it is.
    private struct RefusedTable: Error {
        var refusal: TableReport.Refusal
        /// What its program alone has.
        var lacking: ProgramDefinition?
    }

    /// What becomes of the tables of a database.
    struct Choices {
        /// To be tracked.
        var tracked: [Choice] = []
        /// Left alone.
        var left: [(table: String, why: String)] = []
        /// What cannot be tracked.
        var refused: [TableReport.Refusal] = []
        /// The content's settings that this schema cannot follow.
        var unfit: [UnmadeObject] = []
    }

    /// Whether a table is meant to be replicated: its identity is named, or settled by the content.
    func isIdentified(_ table: String) throws -> Bool {
        try plan.identities.keys.contains { $0.folded == table.folded } || settled(table) != nil
    }

    func choices() throws -> Choices {
        var choices = Choices()
        // What is said goes before what is usual: a table that notes migrations may be one that is to stay here.
        func isIn(_ names: TableNames, _ table: String) throws -> Bool {
            try names.contains(table) && !(names.hasBeginning(of: table) && isIdentified(table))
        }
        let skipped = TableNames(plan.skip, beginningWith: plan.later.allSkip)
        let local = TableNames(plan.local, beginningWith: plan.later.allLocal)
        func isLocal(_ table: String) throws -> Bool {
            try isIn(local, table) || AppSchema.notesMigrations(table) && !isIn(skipped, table) && !isIdentified(table)
        }
        var seen: Set<String> = []
        let declarations = try TableDeclarations(on: connection)
        for name in try TableSchema.tableNames(on: connection) where seen.insert(name.folded).inserted {
            if try isLocal(name) {
                choices.left.append((name, "local"))
            } else if try isIn(skipped, name) {
                choices.left.append((name, "skipped"))
            } else if let schema = try TableSchema.read(name, on: connection, among: declarations) {
                if try isVersion(schema), try !isIdentified(name) {
                    choices.left.append((name, "local"))
                    continue
                }
                do {
                    choices.tracked.append(try checkedChoice(schema, unfit: &choices.unfit))
                } catch let error as RefusedTable {
                    choices.refused.append(error.refusal)
                }
            }
        }
        return choices
    }

    /// Whether a table without a key is a place for the version of the program's schema alone.
    func isVersion(_ schema: TableSchema) throws -> Bool {
        guard schema.keyColumns.isEmpty,
            AppSchema.saysVersion(schema.name)
                ? schema.columns.contains(where: { $0.name.folded.contains("version") })
                : schema.columns.count <= 4 && schema.columns.contains(where: { AppSchema.isVersionColumn($0.name) })
        else { return false }
        return try connection.integer(
            "SELECT count(*) FROM (SELECT 1 FROM \(SQL.name(schema.name)) LIMIT 2)") ?? 0 < 2
    }

    /// Every table and column that a flag names has to be there.
    func checkNames() throws {
        let names = try TableSchema.tableNames(on: connection)
        let known = Set(names.map { $0.folded })
        let named =
            plan.local + plan.skip + plan.identities.keys + plan.references.flatMap { [$0.table, $0.parent] }
            + plan.notReferences.map(\.table)
        for name in named where !known.contains(name.folded) {
            throw LogSyncError(
                .usage, "the database has no table \(name); nothing was changed",
                help: "Its tables are: \(names.joined(separator: ", ")).")
        }
        for (table, column) in plan.references.map({ ($0.table, $0.column) }) + plan.notReferences {
            guard let schema = try TableSchema.read(table, on: connection), schema.column(column) == nil else {
                continue
            }
            throw noColumn(column, in: schema)
        }
    }

    /// - Throws: `unsupportedTable` for a table that cannot be tracked.
    func choice(_ schema: TableSchema) throws -> Choice {
        do {
            var unfit: [UnmadeObject] = []
            return try checkedChoice(schema, unfit: &unfit)
        } catch let error as RefusedTable {
            var report = FoundingReport()
            report.refusals = [error.refusal]
            throw report.obstacle ?? error
        }
    }

    private func checkedChoice(_ schema: TableSchema, unfit: inout [UnmadeObject]) throws -> Choice {
        try checkWritable(schema)
        if var settled = try settled(schema.name) {
            if case .columns(let names) = settled { settled = .columns(try local(names, in: schema)) }
            if let choice = try choiceUnderAnotherKey(schema, settled) { return choice }
            do {
                return try choice(schema, settled)
            } catch let error as LogSyncError where error.code == .usage {
                unfit.append(
                    UnmadeObject(
                        object: "identity of \(schema.name)",
                        reason: "the content's setting does not fit this schema: \(error.message)"))
            }
        }
        return try choice(schema, plan.identities.first { $0.key.folded == schema.name.folded }?.value)
    }

    /// What the content has settled of how a table's rows are named: of the one that logs call so, whatever other tables are
    /// called here, or were.
    private func settled(_ table: String) throws -> IdentityChoice? {
        let name = try logName(of: table)
        return plan.settledIdentities.first { $0.key.folded == name.folded }?.value
    }

    private func logName(of table: String) throws -> String {
        try Renames(connection, absent: absentNames).logName(ofTable: table)
    }

    /// What this schema calls columns of which a setting has the names in logs: another may have taken one of these by now.
    private func local(_ names: [String], in schema: TableSchema) throws -> [String] {
        let (renames, table) = (Renames(connection, absent: absentNames), try logName(of: schema.name))
        return try names.map { name in
            try schema.columns.first { try renames.told($0.name, in: table)?.folded == name.folded }?.name ?? name
        }
    }

    /// What a peer of another schema has settled, in the terms of this one: the same as for who went from that schema to
    /// this (``SchemaReconciliation/reconcileKinds(areNamesKnown:)``).
    private func choiceUnderAnotherKey(_ schema: TableSchema, _ settled: IdentityChoice) throws -> Choice? {
        func natural() -> Choice { Choice(schema: schema, kind: .natural, key: schema.keyColumns.map(\.name)) }
        switch settled {
        case .surrogate: return schema.integerKey == nil ? natural() : nil
        case .columns(let columns):
            guard (try? columnsChoice(schema, columns)) == nil else { return nil }
            return schema.integerKey == nil ? natural() : Choice(schema: schema, kind: .surrogate, key: [])
        case .natural:
            guard let first = try plan.firstKeys[logName(of: schema.name).folded].map({ try local($0, in: schema) })
            else { return nil }
            // Rows of a table that has no key any more go by the identities that they were given.
            if schema.keyColumns.isEmpty { return natural() }
            guard let integer = schema.integerKey,
                first.map({ $0.folded }) != [integer.folded]
            else { return nil }
            return (try? columnsChoice(schema, first)) ?? Choice(schema: schema, kind: .surrogate, key: [])
        }
    }

    private func choice(_ schema: TableSchema, _ given: IdentityChoice?) throws -> Choice {
        switch given {
        case .surrogate:
            guard schema.integerKey != nil else {
                throw LogSyncError(
                    .usage, "\(schema.name) has no INTEGER PRIMARY KEY, so its rows have no integers to be kept local",
                    help: "Leave out --identity \(schema.name.asShellArgument)=surrogate.")
            }
            return Choice(schema: schema, kind: .surrogate, key: [])
        case .columns(let columns):
            return try columnsChoice(schema, columns)
        case .natural:
            try checkIdentity(schema)
            return Choice(schema: schema, kind: .natural, key: schema.keyColumns.map(\.name))
        case nil:
            try checkIdentity(schema)
            if let key = schema.integerKey, try !refers(key, of: schema) {
                return Choice(schema: schema, kind: .surrogate, key: [])
            }
            return Choice(schema: schema, kind: .natural, key: schema.keyColumns.map(\.name))
        }
    }

    /// Whether a table's integer key is another table's, declared or by an option: its rows go by that table's. So it is
    /// where a foreign key of several columns has it as the integer key of the other (`(id, type)` of each kind of messages).
    private func refers(_ key: String, of schema: TableSchema) throws -> Bool {
        try schema.foreignKeys.contains { foreign in
            guard foreign.parent.folded != schema.name.folded,
                let place = foreign.from.firstIndex(where: { $0.folded == key.folded })
            else { return false }
            if foreign.from.count == 1 { return true }
            guard foreign.to.indices.contains(place), let parent = try TableSchema.read(foreign.parent, on: connection)
            else { return false }
            return parent.integerKey?.folded == foreign.to[place].folded
        }
            || plan.references.contains {
                $0.table.folded == schema.name.folded && $0.column.folded == key.folded
                    && $0.parent.folded != schema.name.folded
            }
    }

    private func columnsChoice(_ schema: TableSchema, _ columns: [String]) throws -> Choice {
        let columns = columns.map { schema.column($0)?.name ?? $0 }
        let wanted = Set(columns.map { $0.folded })
        for column in columns where schema.column(column) == nil {
            throw noColumn(column, in: schema)
        }
        let isUnique = schema.uniqueIndexes.contains { index in
            index.columns.map { Set($0.map { $0.name.folded }) == wanted } ?? false
        }
        if schema.integerKey.map({ wanted == [$0.folded] }) ?? false {
            return Choice(schema: schema, kind: .natural, key: columns)
        }
        guard isUnique else {
            throw LogSyncError(
                .usage, "\(schema.name) has no UNIQUE index on just (\(columns.joined(separator: ", ")))",
                help: "An identity has to be unique; add the index, or choose other columns.")
        }
        return Choice(schema: schema, kind: schema.integerKey == nil ? .natural : .columns, key: columns)
    }

    private func noColumn(_ column: String, in schema: TableSchema) -> LogSyncError {
        LogSyncError(
            .usage, "the table \(schema.name) has no column \(column); nothing was changed",
            help: "Its columns are: \(schema.columns.map(\.name).joined(separator: ", ")).")
    }

    /// Rows of a table without a key go by the identities that they are given, and are found by their rowids.
    private func checkIdentity(_ schema: TableSchema) throws {
        guard schema.keyColumns.isEmpty && schema.rowidName == nil else { return }
        throw refused(
            schema, "has no primary key, and its columns hide the rowid, so its rows cannot be told apart",
            besides: ["--identity \(schema.name.asShellArgument)=COLUMN,…"])
    }

    private func refused(_ schema: TableSchema, _ reason: String, besides remedies: [String] = []) -> RefusedTable {
        RefusedTable(refusal: refusal(schema.name, reason, besides: remedies))
    }

    func refusal(_ table: String, _ reason: String, besides remedies: [String]) -> TableReport.Refusal {
        let name = table.asShellArgument
        return TableReport.Refusal(
            table: table, reason: reason, remedies: ["--skip \(name)", "--local \(name)"] + remedies)
    }

    /// SQLite tells names apart by their bytes, and most programs and file systems do not: of two that are the same letters
    /// put together in two ways, one would be taken for the other. In a database that others made one of them stays there.
    func checkSpellings() throws {
        let left = Set((plan.skip + plan.local).map { $0.folded })
        var tables: [String: String] = [:]
        let declarations = try TableDeclarations(on: connection)
        for name in try TableSchema.tableNames(on: connection) where !left.contains(name.folded) {
            try checkSpelling(of: name, among: &tables, "the tables")
            var columns: [String: String] = [:]
            for column in try TableSchema.read(name, on: connection, among: declarations)?.columns ?? [] {
                try checkSpelling(of: column.name, among: &columns, "the columns of \(name)")
            }
        }
    }

    private func checkSpelling(
        of name: String, among spellings: inout [String: String], _ what: String
    ) throws {
        if let other = spellings.updateValue(name.asciiFolded, forKey: name.folded),
            !other.hasSameBytes(as: name.asciiFolded)
        {
            throw LogSyncError(
                .unsupportedTable,
                "\(what) \(name.debugDescription) and \(other.debugDescription) have names that are written with other "
                    + "bytes and are the same letters; nothing was changed",
                help: "Give one of them another name.")
        }
    }

    /// Functions and collations that the sqlite3 library does not have make a table unwritable for logsync.
    private func checkWritable(_ schema: TableSchema) throws {
        func foreign(_ lacking: ProgramDefinition) -> RefusedTable {
            var refused = refused(
                schema, "uses the \(lacking.words), which only its own program has", besides: [FoundingReport.loading])
            refused.lacking = lacking
            return refused
        }
        for index in schema.uniqueIndexes {
            guard let collation = index.foreignCollations.first else { continue }
            throw connection.hasCollation(collation)
                ? refused(
                    schema,
                    "has a UNIQUE index in the order of the collation \(collation), which does not say which "
                        + "texts are the same") : foreign(ProgramDefinition(.collation, collation))
        }
        for column in schema.columns
        where Collation(rawValue: column.collation) == nil && !connection.hasCollation(column.collation) {
            throw foreign(ProgramDefinition(.collation, column.collation))
        }
        let columns = schema.columns.filter { !$0.isGenerated }.map(\.name)
        do {
            _ = try Statement(
                "INSERT INTO \(SQL.name(schema.name))(\(SQL.list(columns))) VALUES(\(SQL.placeholders(columns.count)))",
                on: connection)
        } catch let error as LogSyncError where error.code == .invalidStore {
            if let lacking = ProgramDefinition(lackedBy: error.message) { throw foreign(lacking) }
            throw refused(schema, "cannot be written by the sqlite3 library (\(error.message))")
        }
    }

    /// Why logsync cannot write a table, as a sentence without its end; nil where it can.
    func obstacle(_ schema: TableSchema) throws -> String? {
        do {
            try checkWritable(schema)
            return nil
        } catch let error as RefusedTable {
            guard let lacking = error.lacking else { return "the table \(schema.name) \(error.refusal.reason)" }
            return try lacking.obstacle(on: connection)
        }
    }

    /// Which tables' defaults call functions that only their own program has, as sentences without their end: each row that is
    /// recorded has all its values, but nobody else's store can have such a table.
    func foreignDefaults(_ catalog: Catalog) throws -> [String] {
        try catalog.programTables.compactMap { table in
            let name = table.schema.name
            do {
                _ = try Statement("INSERT INTO \(SQL.name(name)) DEFAULT VALUES", on: connection)
                return nil
            } catch let error as LogSyncError where error.code == .invalidStore {
                guard let lacking = ProgramDefinition(lackedBy: error.message), lacking.kind == .function else {
                    return nil
                }
                let function = lacking.name
                return "a default of \(name) calls \(function), which only its own program has: a clone is without the "
                    + "table, unless logsync clone is told of the function with --function \(function)"
            }
        }
    }

    // MARK: Registering

    /// Registers a table: its row and its columns' ids.
    func register(_ choice: Choice) throws {
        let names = Renames(connection, absent: absentNames)
        let table = try names.logName(ofTable: choice.schema.name)
        let told = try names.names(of: choice.schema, in: table)
        func logName(_ column: String) throws -> String {
            try told?[column.folded] ?? names.logName(ofColumn: column, in: table)
        }
        let key = try choice.key.map(logName)
        try connection.run(
            "INSERT INTO logsync_table(name, log_name, identity, key_columns) VALUES(?, ?, ?, ?)",
            .text(choice.schema.name), .text(table), .text(choice.kind.rawValue),
            key.isEmpty ? .null : .text(try KeyList.encode(key)))
        let id = connection.lastInsertedRow
        if choice.kind == .natural && key.isEmpty { try KeyHistory.keepIdentities(of: id, on: connection) }
        var next = 0
        var seen: Set<String> = []
        for (ordinal, column) in choice.schema.columns.enumerated() where !column.isGenerated {
            // Of two that are the same letters, the first.
            guard seen.insert(column.name.folded).inserted else { continue }
            if choice.kind != .natural && column.name == choice.schema.integerKey { continue }
            try connection.run(
                "INSERT INTO logsync_column(table_id, id, name, log_name, type, ordinal) VALUES(?, ?, ?, ?, ?, ?)",
                .integer(id), .integer(Int64(next)), .text(column.name),
                .text(try logName(column.name)), .text(column.declaredType), .integer(Int64(ordinal)))
            next += 1
        }
    }

    // MARK: Reports

    /// - Parameter counters: where the program notes integers in this table.
    func report(_ table: TrackedTable, in catalog: Catalog, counters: [ProgramAllocator]) throws -> TableReport {
        var references: [String: String] = [:]
        for column in table.columns { references[column.local] = column.reference }
        return TableReport(
            table: table.schema.name,
            identity: table.kind == .natural && table.key.isEmpty ? "row" : table.kind.rawValue,
            columns: table.keyColumnNames,
            references: references,
            suggestions: try suggestions(table, in: catalog, counters),
            rows: Int(try connection.integer("SELECT count(*) FROM \(table.quoted)") ?? 0))
    }
}
