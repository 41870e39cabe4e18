import Foundation
import LogSyncModel
import LogSyncSQLite

/// Chooses how each table's rows are identified, refuses what cannot be replicated, and says so.
struct TableRegistration {
    let connection: Connection
    var plan: InitializePlan

    struct Choice {
        var schema: TableSchema
        var kind: TrackedTable.IdentityKind
        var key: [String]
    }

    /// The tables to track with their identities; throws `unsupportedTable` for one that cannot be.
    ///
    /// `unfit` are the content's settings that this schema cannot follow.
    func choices() throws -> (tracked: [Choice], left: [(table: String, why: String)], unfit: [UnmadeObject]) {
        var tracked: [Choice] = []
        var unfit: [UnmadeObject] = []
        var left: [(table: String, why: String)] = []
        let local = Set(plan.local.map { $0.folded }).union(AppSchema.migrationTables)
        let skipped = Set(plan.skip.map { $0.folded })
        var spellings: [String: String] = [:]
        for name in try TableSchema.tableNames(on: connection) {
            if !local.contains(name.folded), !skipped.contains(name.folded) {
                try checkSpelling(of: name, among: &spellings, "the tables")
            }
            if local.contains(name.folded) {
                left.append((name, "local"))
            } else if skipped.contains(name.folded) {
                left.append((name, "skipped"))
            } else if let schema = try TableSchema.read(name, on: connection) {
                tracked.append(try choice(schema, unfit: &unfit))
            }
        }
        return (tracked, left, unfit)
    }

    /// Every table and column that a flag names has to be there.
    func checkNames() throws {
        let names = try TableSchema.tableNames(on: connection)
        let known = Set(names.map { $0.folded })
        let named = plan.local + plan.skip + plan.identities.keys + plan.references.flatMap { [$0.table, $0.parent] }
        for name in named where !known.contains(name.folded) {
            throw LogSyncError(
                .usage, "the database has no table \(name); nothing was changed",
                help: "Its tables are: \(names.joined(separator: ", ")).")
        }
        for (table, column, _) in plan.references {
            guard let schema = try TableSchema.read(table, on: connection), schema.column(column) == nil else {
                continue
            }
            throw noColumn(column, in: schema)
        }
    }

    func choice(_ schema: TableSchema) throws -> Choice {
        var unfit: [UnmadeObject] = []
        return try choice(schema, unfit: &unfit)
    }

    private func choice(_ schema: TableSchema, unfit: inout [UnmadeObject]) throws -> Choice {
        try checkWritable(schema)
        func given(_ identities: [String: IdentityChoice]) -> IdentityChoice? {
            identities.first { $0.key.folded == schema.name.folded }?.value
        }
        if let settled = given(plan.settledIdentities) {
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
        return try choice(schema, given(plan.identities))
    }

    /// What a peer of another schema has settled, in the terms of this one: the same as for who went from that schema to
    /// this (``SchemaReconciliation/reconcileKinds()``).
    private func choiceUnderAnotherKey(_ schema: TableSchema, _ settled: IdentityChoice) throws -> Choice? {
        func natural() -> Choice { Choice(schema: schema, kind: .natural, key: schema.keyColumns.map(\.name)) }
        switch settled {
        case .surrogate: return schema.integerKey == nil && !schema.keyColumns.isEmpty ? natural() : nil
        case .columns(let columns):
            guard (try? columnsChoice(schema, columns)) == nil, !schema.keyColumns.isEmpty else { return nil }
            return schema.integerKey == nil ? natural() : Choice(schema: schema, kind: .surrogate, key: [])
        case .natural:
            guard let first = plan.firstKeys[schema.name.folded], let integer = schema.integerKey,
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
                    help: "Leave out --identity \(schema.name)=surrogate.")
            }
            return Choice(schema: schema, kind: .surrogate, key: [])
        case .columns(let columns):
            return try columnsChoice(schema, columns)
        case .natural:
            guard !schema.keyColumns.isEmpty else { throw noIdentity(schema) }
            return Choice(schema: schema, kind: .natural, key: schema.keyColumns.map(\.name))
        case nil:
            guard !schema.keyColumns.isEmpty else { throw noIdentity(schema) }
            if let key = schema.integerKey,
                !schema.foreignKeys.contains(where: {
                    $0.from.map { $0.folded } == [key.folded]
                        && $0.parent.folded != schema.name.folded
                })
            {
                return Choice(schema: schema, kind: .surrogate, key: [])
            }
            return Choice(schema: schema, kind: .natural, key: schema.keyColumns.map(\.name))
        }
    }

    private func columnsChoice(_ schema: TableSchema, _ columns: [String]) throws -> Choice {
        let names = Renames(connection)
        let table = try names.logName(ofTable: schema.name)
        // A setting has the names in logs.
        let columns = try columns.map { column in
            try schema.column(column)?.name
                ?? schema.columns.first { try names.logName(ofColumn: $0.name, in: table) == column }?.name ?? column
        }
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

    private func noIdentity(_ schema: TableSchema) -> LogSyncError {
        LogSyncError(
            .unsupportedTable,
            "the table \(schema.name) has no primary key, so its rows cannot be told apart on two peers; nothing was changed",
            help: "Leave it out with --skip \(SQL.shell(schema.name)), or give it a PRIMARY KEY, "
                + "or name a UNIQUE column set with --identity \(SQL.shell(schema.name))=COLUMN,…")
    }

    /// SQLite tells names apart by their bytes, and most programs and file systems do not: of two that are the same letters
    /// put together in two ways, one would be taken for the other.
    private func checkSpelling(
        of name: String, among spellings: inout [String: String], _ what: String
    ) throws {
        if let other = spellings[name.folded], !other.utf8.elementsEqual(name.folded.utf8) {
            throw LogSyncError(
                .unsupportedTable,
                "\(what) \(name.debugDescription) and \(other.debugDescription) have names that are written with other "
                    + "bytes and are the same letters; nothing was changed",
                help: "Give one of them another name.")
        }
        spellings[name.folded] = name.folded
    }

    /// Functions and collations that the sqlite3 library does not have make a table unwritable for logsync.
    private func checkWritable(_ schema: TableSchema) throws {
        var spellings: [String: String] = [:]
        for column in schema.columns {
            try checkSpelling(of: column.name, among: &spellings, "the columns of \(schema.name)")
        }
        func refuse(_ why: String) -> LogSyncError {
            LogSyncError(
                .unsupportedTable,
                "the table \(schema.name) \(why), which only its own program has; nothing was changed",
                help: "Leave it out with --skip \(SQL.shell(schema.name)).")
        }
        for column in schema.columns where Collation(rawValue: column.collation) == nil {
            throw refuse("uses the collation \(column.collation)")
        }
        for index in schema.uniqueIndexes {
            if let collation = index.foreignCollations.first { throw refuse("uses the collation \(collation)") }
        }
        let columns = schema.columns.filter { !$0.isGenerated }.map(\.name)
        do {
            _ = try Statement(
                "INSERT INTO \(SQL.name(schema.name))(\(SQL.list(columns))) VALUES(\(SQL.placeholders(columns.count)))",
                on: connection)
        } catch let error as LogSyncError where error.code == .invalidStore {
            throw refuse("cannot be written by the sqlite3 library (\(error.message))")
        }
    }

    // MARK: Registering

    /// Registers a table: its row and its columns' ids.
    func register(_ choice: Choice) throws {
        let names = Renames(connection)
        let table = try names.logName(ofTable: choice.schema.name)
        let key = try choice.key.map { try names.logName(ofColumn: $0, in: table) }
        try connection.run(
            "INSERT INTO logsync_table(name, log_name, identity, key_columns) VALUES(?, ?, ?, ?)",
            .text(choice.schema.name), .text(table), .text(choice.kind.rawValue),
            key.isEmpty ? .null : .text(try KeyList.encode(key)))
        let id = connection.lastInsertedRow
        var next = 0
        for (ordinal, column) in choice.schema.columns.enumerated() where !column.isGenerated {
            if choice.kind != .natural && column.name == choice.schema.integerKey { continue }
            try connection.run(
                "INSERT INTO logsync_column(table_id, id, name, log_name, type, ordinal) VALUES(?, ?, ?, ?, ?, ?)",
                .integer(id), .integer(Int64(next)), .text(column.name),
                .text(try names.logName(ofColumn: column.name, in: table)), .text(column.declaredType),
                .integer(Int64(ordinal)))
            next += 1
        }
    }

    // MARK: Reports

    func report(_ table: TrackedTable) throws -> TableReport {
        var references: [String: String] = [:]
        for column in table.columns { references[column.local] = column.reference }
        return TableReport(
            table: table.schema.name, identity: table.kind.rawValue, columns: table.keyColumnNames,
            references: references,
            suggestions: suggestions(table),
            rows: Int(try connection.integer("SELECT count(*) FROM \(table.quoted)") ?? 0))
    }

    private func suggestions(_ table: TrackedTable) -> [String] {
        var suggestions: [String] = []
        if table.kind == .surrogate {
            for index in table.schema.uniqueIndexes {
                guard let columns = index.columns?.map(\.name), !columns.isEmpty else { continue }
                let isReference = columns.contains { name in
                    table.columns.contains { $0.local == name && $0.reference != nil }
                }
                if !isReference {
                    suggestions.append(
                        "if (\(columns.joined(separator: ", "))) means the same row everywhere: "
                            + "--identity \(SQL.shell(table.schema.name))=\(columns.map(SQL.shell).joined(separator: ","))"
                    )
                }
            }
        }
        for column in table.columns where column.reference == nil && !column.isKey {
            let lower = column.local.folded
            guard lower.hasSuffix("_id") || column.local.hasSuffix("Id") || column.local.hasSuffix("ID"),
                table.schema.affinity(of: column.local) == .integer
            else { continue }
            suggestions.append(
                "if \(column.local) holds the integer of another table's row: "
                    + "--reference \(SQL.shell(table.schema.name)).\(SQL.shell(column.local))=TABLE")
        }
        return suggestions
    }
}
