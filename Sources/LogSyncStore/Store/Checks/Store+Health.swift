package import LogSyncModel
import LogSyncSQLite

/// What is wrong inside a store, as far as looking at it shows.
package struct StoreHealth: Sendable {
    /// What `PRAGMA integrity_check` says of the database's structure, the first hundred of it; empty where all is well.
    package var integrity: [String] = []
    /// Rows that break a CHECK constraint, by table.
    package var brokenChecks: [String: Int] = [:]
    /// Values that their columns should not hold, being NULL or of another type, by what SQLite says of them.
    package var unfitValues: [String: Int] = [:]
    /// Tables of which SQLite cannot say here whether they are sound.
    package var unchecked: [String] = []
    /// Rows with a foreign key that no row answers, by table.
    package var brokenForeignKeys: [String: Int] = [:]
    /// The same of tables that are not replicated: rows to which they refer are deleted on other peers, too.
    package var strandedRows: [String: Int] = [:]
    /// Columns that are references still, though their foreign keys were dropped: `TABLE.COLUMN` with the parent.
    package var remainingReferences: [String: String] = [:]
    /// Rows with a number in a column of references, of which its author has not said which row it means, by
    /// `TABLE.COLUMN`.
    package var untranslated: [String: Int] = [:]
    /// Columns that name rows by integers written as texts or as real numbers, which nothing translates: `TABLE.COLUMN` with
    /// the parent.
    package var writtenOut: [String: String] = [:]
    /// UNIQUE indexes that allow other rows on each peer.
    package var undecidable: [UndecidableIndex] = []
    /// Foreign keys that are not enforced because of generated columns among theirs.
    package var generatedKeys: [GeneratedForeignKey] = []
    /// Tables whose triggers are gone.
    package var withoutTriggers: [String] = []
    /// Tables of logsync's own that are gone and are made again when the store is recorded.
    package var droppedTables: [String] = []
    /// Tables that are neither replicated nor said to be left alone.
    package var untracked: [String] = []
    /// Tables and columns that are not replicated, because their names are others' in other bytes; with those.
    package var sameLetters: [(name: String, other: String)] = []
    /// Columns that are here again without the values that they had, or that others gave them, as `TABLE.COLUMN`.
    package var emptied: [String] = []
    /// Columns that are others than those of their names are to other peers, as `TABLE.COLUMN`.
    package var otherColumns: [String] = []
    /// Tables that are left out because they are taken for one that was, under another name.
    package var leftByAnotherName: [(table: String, former: String)] = []
    /// The program's notes of the integers that it has given that are too low, because something kept them from being raised.
    package var laggingCounters: [LaggingCounter] = []
    /// Rows that differ from their clock records, have none, or are gone though their records say they stand; by table.
    /// Tables with captured changes are not compared.
    package var differing: [String: Int] = [:]
}

extension StoreHealth {
    fileprivate mutating func add(_ integrity: Integrity) {
        self.integrity = integrity.damage
        brokenChecks = integrity.brokenChecks
        unfitValues = integrity.unfitValues
        unchecked = integrity.unchecked
    }
}

extension StoreHealth {
    fileprivate mutating func addReferences(of table: TrackedTable, _ store: OpenStore) throws {
        for column in table.columns {
            let name = "\(table.schema.name).\(column.local)"
            guard let parent = column.reference,
                try store.facts.value(ReferenceHistory.dropped + "\(table.name).\(column.name)") != nil,
                !table.schema.foreignKeys.contains(where: { $0.from.contains { $0.folded == column.local.folded } })
            else { continue }
            remainingReferences[name] = store.catalog[parent]?.schema.name ?? parent
        }
        let shownRows = ShownRows(store)
        let clock = ClockTable(table: table, connection: store.connection)
        let numbers = try clock.shownNumbers { try shownRows.meant($0, at: $1, in: table) != $0 }
        for places in numbers.values {
            for place in places { untranslated["\(table.schema.name).\(table.columns[place].local)", default: 0] += 1 }
        }
    }
}

extension Store {
    /// Looks the store over: reads all of it, changes nothing.
    package func health() throws -> StoreHealth {
        try database.read { store in
            var health = StoreHealth()
            let connection = store.connection
            try health.add(Integrity(connection))
            guard health.integrity.isEmpty else { return health }
            for table in store.catalog.tables {
                let broken = try Self.brokenForeignKeys(of: table.schema.name, on: connection)
                if broken > 0 { health.brokenForeignKeys[table.schema.name] = broken }
            }
            for (table, _) in try AppSchema.leftTables(on: connection) {
                // It may use what only its program has.
                let broken = (try? Self.brokenForeignKeys(of: table, on: connection)) ?? 0
                if broken > 0 { health.strandedRows[table] = broken }
            }
            health.droppedTables = try store.catalog.tables.filter {
                try UniqueDigests(table: $0, store: store).areGone()
            }.map(\.unique)
            for table in store.catalog.programTables {
                if try !Capture.isSound(table, on: connection) { health.withoutTriggers.append(table.schema.name) }
                guard let count = try differing(table, store) else { continue }
                if count > 0 { health.differing[table.schema.name] = count }
                try health.addReferences(of: table, store)
            }
            health.undecidable = try UndecidableIndex.all(in: store.catalog, on: connection)
            health.generatedKeys = store.catalog.generatedForeignKeys()
            let declined = try LaterColumns(connection).declined()
            for report in try TextReferences(catalog: store.catalog, connection: connection).declared() {
                guard let table = store.catalog[local: report.table],
                    let column = table.columns.first(where: { $0.local == report.column }),
                    !declined.contains("\(table.name).\(column.name)".folded)
                else { continue }
                health.writtenOut["\(report.table).\(report.column)"] = report.parent
            }
            let lost = try ForgottenColumns(store).all()
            for table in store.catalog.programTables {
                health.emptied += table.columns.filter { lost.contains(ColumnName(table.name, $0.name)) }
                    .map { "\(table.schema.name).\($0.local)" }
            }
            health.otherColumns = try store.catalog.programTables.flatMap { try Self.otherColumns(of: $0, store) }
            health.untracked = try untracked(store) + OwnObjects(connection: store.connection).strangeTables()
            health.sameLetters = try sameLetters(store)
            health.leftByAnotherName = try LeftTables(connection).renamed()
            health.laggingCounters = try store.laggingCounters()
            return health
        }
    }

    /// The columns of which the content says something else than this store has found, and that do not follow it.
    private static func otherColumns(of table: TrackedTable, _ store: OpenStore) throws -> [String] {
        guard let told = try Renames(store.connection).names(of: table.schema, in: table.name),
            try UndecidedColumns(store.connection).of(table.id).isEmpty,
            case let late = LateRenames(store), try !late.isOfLaterVersion(table), try late.columns(of: table).isEmpty
        else { return [] }
        return table.columns.filter { column in
            told[column.local.folded].map { $0.folded != column.name.folded } ?? false
        }.map { "\(table.schema.name).\($0.local)" }
    }

    private static func brokenForeignKeys(of table: String, on connection: Connection) throws -> Int {
        Int(try connection.integer("SELECT count(*) FROM pragma_foreign_key_check(?)", .text(table)) ?? 0)
    }

    /// How many rows of each table are not as they were last recorded: reads all of them, changes nothing.
    ///
    /// - Returns: nil where something is about to be recorded.
    package func differingRows() throws -> [String: Int]? {
        try database.read { store in
            var found: [String: Int] = [:]
            for table in store.catalog.programTables {
                guard let count = try differing(table, store) else { return nil }
                if count > 0 { found[table.schema.name] = count }
            }
            return found
        }
    }

    /// nil where a recording is about to follow what differs, and rightly.
    private func differing(_ table: TrackedTable, _ store: OpenStore) throws -> Int? {
        let last = try store.connection.integer("SELECT max(number) FROM \(table.pending)") ?? 0
        guard last <= table.recorded, try !SchemaReconciliation.isNeeded(store) else { return nil }
        return try Comparison(store: store, table: table).differing()
    }

    private func untracked(_ store: OpenStore) throws -> [String] {
        let settings = Settings(store)
        let left = try AppSchema.Left.allCases.reduce(
            into: TableNames(try UnfinishedRebuild(store: store).leftAlone())
        ) { left, kind in
            try left.formUnion(kind.tables(on: store.connection))
            left.formUnion(
                TableNames(
                    try settings.values(kind.rawValue).keys, beginningWith: try settings.values(kind.all).keys))
        }
        let isBehind = try SchemaReconciliation.isNeeded(store)
        let held = try HeldReferences(store.connection).tables()
        return try TableSchema.tableNames(on: store.connection).filter { name in
            let lower = name.folded
            guard !store.catalog.hasLocal(name), !left.contains(name), held[lower] == nil,
                !AppSchema.notesMigrations(lower)
            else {
                return false
            }
            // A table that came or was renamed since the last recording is taken up by the next, where it can be.
            return try !isBehind || !canBeTracked(name, store)
        }.sorted()
    }

    private func sameLetters(_ store: OpenStore) throws -> [(name: String, other: String)] {
        var found: [(name: String, other: String)] = []
        for name in try TableSchema.tableNames(on: store.connection) {
            guard let other = store.catalog[local: name]?.schema.name,
                !other.asciiFolded.hasSameBytes(as: name.asciiFolded)
            else { continue }
            found.append((name, other))
        }
        for table in store.catalog.tables {
            for column in table.schema.columns
            where !table.columns.contains(where: { $0.local.asciiFolded.hasSameBytes(as: column.name.asciiFolded) }) {
                let other = table.schema.columns.first {
                    $0.name.folded == column.name.folded
                        && !$0.name.asciiFolded.hasSameBytes(as: column.name.asciiFolded)
                }
                if let other { found.append(("\(table.schema.name).\(column.name)", other.name)) }
            }
        }
        return found
    }

    private func canBeTracked(_ name: String, _ store: OpenStore) throws -> Bool {
        guard let schema = try TableSchema.read(name, on: store.connection) else { return false }
        let plan = InitializePlan(content: "", container: "", peerName: "")
        do {
            _ = try TableRegistration(connection: store.connection, plan: plan).choice(schema)
            return true
        } catch let error as LogSyncError where error.code == .unsupportedTable {
            return false
        }
    }

    /// The greatest rowid that a table may have for its rows to be counted at each sync.
    private static let countedRows: Int64 = 2000

    /// The columns that came with migrations since and seem to refer to other tables' rows, of which nobody has said whether
    /// they do.
    package func undecidedReferences() throws -> [ReferenceReport] {
        try database.read { store in
            try HeldReferences(store.connection).reports() + LaterColumns(store.connection).undecided(in: store.catalog)
        }
    }

    /// Those of them that are left alone until it is said, as `TABLE.COLUMN`.
    package func heldReferences() throws -> Set<String> {
        try database.read { Set(try HeldReferences($0.connection).all().map { "\($0.table).\($0.column)" }) }
    }

    /// The integer keys of tables that came with migrations since, which seem to mean something, and of which nobody has said
    /// that they are numbers of rows.
    package func undecidedKeys() throws -> [TableReport.UndecidedKey] {
        try database.read { store in try LaterKeys(store.connection).undecided(in: store.catalog) }
    }

    /// Tables with rows that no trigger has noted, or without some that were there: their program turns triggers off. Of a
    /// large table only rows at the end are seen so, and of one without rowids none; it takes a moment, however many there
    /// are.
    package func uncaptured() throws -> [String] {
        try database.read { store in
            guard try !SchemaReconciliation.isNeeded(store) else { return [] }
            return try store.catalog.tables.filter { table in
                guard table.hasRowid else { return false }
                let last = try store.connection.integer("SELECT max(number) FROM \(table.pending)") ?? 0
                guard last <= table.recorded else { return false }
                func integer(_ sql: String) throws -> Int64 { try store.connection.integer(sql) ?? 0 }
                let recorded = try integer("SELECT max(row) FROM \(table.clock)")
                if try integer("SELECT max(\(table.rowid)) FROM \(table.quoted)") > recorded { return true }
                // SQLite counts rows by pages, and a few pages are no more than a look.
                guard recorded <= Self.countedRows else { return false }
                // An index may be in the order of a collation that is not here.
                return try integer("SELECT count(*) FROM \(table.quoted) NOT INDEXED")
                    != integer("SELECT count(*) FROM \(table.clock)")
            }.map(\.schema.name)
        }
    }
}

/// Compares one table's rows with their clock records, by the digests of whole rows.
private struct Comparison {
    let store: OpenStore
    let table: TrackedTable

    private var connection: Connection { store.connection }

    /// How many rows or records do not agree.
    func differing() throws -> Int {
        let reader = TableReader(table: table, store: store)
        let clock = ClockTable(table: table, connection: connection)
        let shownRows = ShownRows(store)
        let statement = try Statement(
            "SELECT \(table.hasRowid ? table.rowid : "NULL")\(table.columns.isEmpty ? "" : ", " + table.columnList) "
                + "FROM \(table.quoted)", on: connection)
        var rows = 0
        var agreeing = 0
        while try statement.step() {
            rows += 1
            let row = TableReader.Row(values: table.columns.indices.map { statement.value($0 + 1) }, of: table)
            guard let position = try position(of: row, statement, clock, shownRows, reader),
                let record = try clock.record(at: position),
                reader.digest(row.digests, columns: record.digests.count) == record.digest
            else { continue }
            agreeing += 1
        }
        let records = Int(try connection.integer("SELECT count(*) FROM \(table.clock)") ?? 0)
        return rows - agreeing + max(records - rows, 0)
    }

    private func position(
        of row: TableReader.Row, _ statement: Statement, _ clock: ClockTable, _ shownRows: ShownRows,
        _ reader: TableReader
    ) throws -> Int64? {
        if !statement.isNull(0) { return statement.integer(0) }
        let identity = try reader.naturalIdentity { try shownRows.knownValue(row.values[$0], $0, in: table) }
        return try identity.flatMap { try FoldedKeys(store: store, table: clock.table).row(of: $0) }
    }
}
