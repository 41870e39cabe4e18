import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Follows the app's schema: what an ALTER TABLE, a rebuild, a VACUUM or a new table means for columns, triggers and
/// clock records. Runs at the start of a write transaction when schema_version has moved.
struct SchemaReconciliation {
    let store: OpenStore
    /// New tables of which it has turned out that their rows have other identities than their keys spell, by lower-case names
    /// in logs.
    var tablesOfOtherKeys: Set<String> = []
    var connection: Connection { store.connection }

    static func isNeeded(_ store: OpenStore) throws -> Bool {
        try store.connection.integer("PRAGMA schema_version") != store.schemaVersion || UnfinishedRebuild.isOver(store)
            || DroppedRows.isOver(store)
    }

    /// Returns what the next recording needs to know. Hidden rows may be shown from here on: their table is there, or a
    /// constraint has gone with a column or in a rebuild.
    func reconcile() throws -> SchemaFindings {
        var findings = SchemaFindings()
        findings.isAfterMigration = true
        // A process that has just begun knows the columns that are there; one that has been running goes the same way.
        try store.reloadCatalog()
        for table in store.catalog.tables { try UniqueDigests(table: table, store: store).restore() }
        store.hasDropped = nil
        let heldValues = try RenumberedHeldValues(store)
        try UndecidedCells.forgetDecided(in: store)
        let copies = try UnfinishedRebuild(store: store).copies()
        if try returnNames() { try store.reloadCatalog() }
        if try reconcileRebuiltTables(except: copies) { try store.reloadCatalog() }
        try hideRowsOfDroppedTables(noting: &findings.gone)
        // A process that has just begun does not know a renamed table yet.
        if try reconcileNames(noting: &findings.gone) { try store.reloadCatalog() }
        if try reconcileHandedKeys() { try store.reloadCatalog() }
        let kinds = try reconcileKinds()
        if !kinds.isEmpty { try store.reloadCatalog() }
        try LaterKeys(connection).noteTakenColumns(in: store.catalog)
        let places = try columnPlaces()
        var columns = try reconcileColumns(kinds)
        try store.reloadCatalog()
        try noteReplacedColumns(&columns, from: places)
        if try holdReferences(&columns) { try store.reloadCatalog() }
        var keys = try reconcileKeys(kinds)
        for column in columns.flatMap({ table, changes in changes.renamedLate.map { (table, $0) } }) {
            keys[column.0]?.rename(column.1.name, to: column.1.told)
            findings.lateNames[column.0, default: [:]][column.1.id] = column.1.name
        }
        if !keys.isEmpty { try store.reloadCatalog() }
        for table in store.catalog.tables where keys[table.id] != nil { try store.noteOtherKey(of: table) }
        findings.newColumns = columns.mapValues { Set($0.added) }
        findings.releasedColumns = columns.mapValues { Set($0.released) }
        findings.tablesWithoutColumns = Set(
            columns.filter { !$1.dropped.isEmpty && $1.held.isEmpty && $1.decided.isEmpty }.keys)
        findings.retypedColumns = try reconcileTypes()
        findings.newTables = try trackNewTables(except: copies)
        try LaterColumns(connection).note(findings.newColumns, tables: findings.newTables, in: store.catalog)
        try LaterKeys(connection).note(findings.newTables, in: store.catalog)
        try noteCountedColumns()
        findings.tablesByValues = try LaterRows(store).found(findings.newTables)
        let (references, former) = try ReferenceChange(store: store).note(retyped: findings.retypedColumns)
        findings.namingChanges = former
        findings.formerReferenceKeys = try FormerReferenceKeys(integersOf: former, in: store)
        if !references.isEmpty {
            try store.reloadCatalog()
            try keepIdentities(where: references, &keys)
            try store.reloadCatalog()
        }
        /// Tables that a program has dropped and created anew.
        var remade: Set<Int64> = []
        for table in store.catalog.tablesAfterNamed where !findings.newTables.contains(table.id) {
            let isCaptured = try Capture.isInstalled(table, on: connection)
            var areOthers = false
            let layout = ClockLayoutChange(
                store: store, table: table, former: keys[table.id], findings: findings)
            if let areNow = try layout.applyIfNeeded() {
                areOthers = areNow
                findings.orphanScans.insert(table.id)
            } else if !isCaptured {
                // A rebuild dropped the triggers, so that writes to the rows since then were not captured.
                try Capture.install(table, on: connection)
                areOthers = try noteRebuilt(
                    table, columns[table.id], hasNewReferences: references[table.id] != nil, &findings)
            } else if try !Capture.reachesRowids(of: table, on: connection) {
                try Capture.renew(table, on: connection)
                findings.orphanScans.insert(table.id)
            }
            if let places = try matchRowids(table, isCaptured: isCaptured) {
                if places.isInDoubt { findings.orphanScans.insert(table.id) }
                areOthers = areOthers || places.areRowsOthers
            }
            if areOthers { remade.insert(table.id) }
        }
        try findings.formerReferenceKeys.read(former, in: store)
        // What columns held is compared by the rows that they named, in whatever table these are.
        try heldValues.note()
        for table in store.catalog.tables where !findings.newTables.contains(table.id) {
            let changes = columns[table.id] ?? ColumnChanges()
            let hasNew = !findings.newTables.isEmpty || columns.contains { $0 != table.id && !$1.added.isEmpty }
            if !changes.dropped.isEmpty, hasNew {
                findings.gone.columns[table.id] = try goneValues(of: changes.dropped, in: table)
                findings.gone.noteUnrecorded(
                    try GoneValues.firstUnrecorded(of: table, after: table.recorded, on: connection))
            }
            try reconcileCells(of: table, changes, noting: &findings)
            let change = ReferenceChange(store: store)
            let former = references[table.id] ?? [:]
            let retyped = change.retyped(findings.retypedColumns[table.id] ?? [], in: table).subtracting(former.keys)
            if !former.isEmpty || !retyped.isEmpty {
                findings.newReferences[table.id] = try change.translate(table, former, retyped: retyped)
            }
        }
        let gone = GoneParents(store: store)
        findings.newReferences.merge(try gone.returned()) { $0.union($1) }
        for table in store.catalog.tables {
            guard let ended = former[table.id] else { continue }
            findings.formerReferenceRows[table.id] = try ReferenceChange(store: store)
                .rows(of: table, naming: Set(ended.keys))
        }
        for (id, undecided) in try UndecidedColumns(connection).all() {
            guard let table = store.catalog.tables.first(where: { $0.id == id }) else { continue }
            try UndecidedCells(table, in: store).note(undecided)
        }
        findings.newTables.formUnion(remade)
        try ReferenceHistory.note(store.catalog, on: connection)
        try NamingColumns.note(store.catalog, on: connection)
        try gone.note()
        try adoptHiddenRows()
        try reconsiderReferences(to: findings.newTables)
        try store.acceptSchemaVersion()
        return findings
    }

    /// Columns in which triggers of the program's new schema count rows add up, as those do that were there at `init`.
    private func noteCountedColumns() throws {
        let settings = Settings(store)
        let said = Set(try settings.values(Policies.kind(of: MergePolicy.sum.name)).keys.map(\.folded))
        for target in try CountedColumns(store.catalog, on: connection).later(except: said) {
            try settings.set(Policies.kind(of: MergePolicy.sum.name), target, MergePolicy.sum.name)
        }
    }

    // MARK: Tables

    /// A table whose triggers stand at a table of another name was renamed, whatever bears its former name by now.
    ///
    /// - Returns: whether there is such a table.
    private func reconcileNames(noting gone: inout GoneValues) throws -> Bool {
        var isAny = false
        var moved: [(id: Value, former: String, name: String, logName: String)] = []
        let declarations = try TableDeclarations(on: connection)
        let triggers = Dictionary(
            try connection.rows(
                """
                SELECT name, tbl_name FROM sqlite_master
                WHERE type = 'trigger' AND name LIKE 'logsync\\_insert\\_%' ESCAPE '\\'
                """
            ).map { (String(text: $0[0]), String(text: $0[1])) }, uniquingKeysWith: { first, _ in first })
        let tables = try connection.rows("SELECT id, name, log_name FROM logsync_table")
        // A rebuild drops the triggers; a name that differs in case alone is found all the same.
        var schemas: [Int64: TableSchema] = [:]
        for row in tables {
            schemas[row[0].asInteger] = try TableSchema.read(String(text: row[1]), on: connection, among: declarations)
        }
        let lost = schemas.filter { triggers["logsync_insert_\($0.key)"] == nil }
        let archives = try archives(of: lost, among: declarations)
        for row in tables {
            let (id, name) = (row[0].asInteger, String(text: row[1]))
            let bearer = triggers["logsync_insert_\(id)"] ?? archives[id]
            guard let renamed = bearer ?? schemas[id]?.name, !renamed.utf8.elementsEqual(name.utf8)
            else { continue }
            // Under a name that none has: two tables may have exchanged theirs.
            try connection.run(
                "UPDATE logsync_table SET name = ?2 WHERE id = ?1", row[0], .text(Self.moved + String(row[0].asInteger))
            )
            moved.append((row[0], name, renamed, String(text: row[2])))
            isAny = true
        }
        for id in try followed(lost.filter { archives[$0.key] == nil }) {
            try giveUp(id)
            isAny = true
        }
        try moved.removeAll { try isGone($0.id, copying: $0.former, to: $0.name) }
        if isAny { try hideRowsOfDroppedTables(except: Set(moved.map(\.id.asInteger)), noting: &gone) }
        for (id, former, renamed, logName) in moved {
            if former.folded != renamed.folded { try FormerNames(connection).note(former, of: id.asInteger) }
            try connection.run("UPDATE logsync_table SET name = ?2 WHERE id = ?1", id, .text(renamed))
            try Settings(store).set("rename", renamed, logName)
        }
        return isAny
    }

    /// A table takes the name of one that was dropped. One of the two is gone then: the other, or, where it was a copy of that,
    /// itself, for the other was made anew.
    ///
    /// - Returns: whether it is itself.
    private func isGone(_ id: Value, copying former: String, to name: String) throws -> Bool {
        guard
            let bearer = try connection.scalar(
                "SELECT id FROM logsync_table WHERE name = ? COLLATE NOCASE", .text(name))
        else { return false }
        let isCopy = CopyName.isCopy(former, of: name)
        try giveUp(isCopy ? id.asInteger : bearer.asInteger)
        return isCopy
    }

    /// A table that came to be after `init` is replicated like the others, where its rows have an identity.
    ///
    /// - Parameter copies: tables that are left alone for the time being, by lower-case names.
    /// - Returns: those tables, by id.
    private func trackNewTables(except copies: Set<String>) throws -> Set<Int64> {
        let registered = Set(
            try connection.rows("SELECT name FROM logsync_table").map { String(text: $0[0]).folded })
        let names = try TableSchema.tableNames(on: connection).filter {
            !registered.contains($0.folded) && !AppSchema.notesMigrations($0) && !copies.contains($0.folded)
        }
        try releaseTables()
        try LeftTables(connection).follow(names)
        guard !names.isEmpty else { return [] }
        let otherKeys = try noteFirstKeys(of: names)
        var plan = InitializePlan(content: "", container: "", peerName: "")
        plan.settings = try SettingTable(connection).all()
        plan = plan.withContentSettings()
        // What this store left out stays its own choice, whatever settings anybody wrote.
        let left = TableNames(plan.skip + plan.local + (try AppSchema.leftTables(on: connection).map(\.name)))
        let registering = TableRegistration(
            connection: connection, plan: plan, absentNames: try HiddenRows.absentNames(on: connection))
        var added: Set<String> = []
        let declarations = try TableDeclarations(on: connection)
        for name in names where !left.contains(name) {
            let declared = try TableSchema.read(name, on: connection, among: declarations)
            guard let schema = declared, try !registering.isVersion(schema) else {
                continue
            }
            do {
                try registering.register(try registering.choice(schema))
                added.insert(schema.name)
                let logName = try Renames(connection).currentLogName(schema.name)
                // Its own is another table's, which was called so first.
                if !logName.hasSameBytes(as: schema.name) {
                    try Settings(store).set("rename", schema.name, logName)
                    try inheritPolicies(of: schema.name, by: schema, called: logName)
                }
            } catch let error as LogSyncError where error.code == .unsupportedTable || error.code == .usage {
                // It stays local, and `status` names it: a table without identity must not stop all tables.
                continue
            }
        }
        guard !added.isEmpty else { return [] }
        try store.reloadCatalog()
        let held = try holdTables(added)
        if !held.isEmpty {
            added.subtract(held)
            try store.reloadCatalog()
        }
        func new() -> [TrackedTable] { store.catalog.tables.filter { added.contains($0.schema.name) } }
        let keeping = try new().filter {
            try otherKeys.contains($0.name) || tablesOfOtherKeys.contains($0.name.folded) || hasRowsOfAnotherKey($0)
        }
        for table in keeping { try KeyHistory.keepIdentities(of: table.id, on: connection) }
        if !keeping.isEmpty { try store.reloadCatalog() }
        let tables = new()
        try Capture.equip(tables, on: connection)
        for table in tables {
            try tellOtherNames(of: table)
            try ReturnedRecords(store).prepare(table)
            try Capture.noteEverything(table, on: connection, milliseconds: "0")
        }
        return Set(tables.map(\.id))
    }

    // MARK: Rows without a table

    /// A missing table is never a deletion of its rows: they are hidden, without the values that went with the table.
    ///
    /// - Parameter moved: tables, by id, that have other names.
    private func hideRowsOfDroppedTables(except moved: Set<Int64> = [], noting gone: inout GoneValues) throws {
        let absent = try Catalog.absentTables(on: connection).filter { !moved.contains($0.id) }
        let extents = try absent.isEmpty ? [:] : TableExtent.all(on: connection)
        for table in absent {
            // A table whose triggers have gone to another name was renamed.
            guard try !Capture.hasTriggers(table.id, on: connection) else { continue }
            if !table.schema.name.hasPrefix(Self.moved) {
                try FormerNames(connection).note(gone: table.name, called: table.schema.name)
            }
            try FollowedLists(connection).forget(table.name)
            gone.tables.append(table.name)
            gone.noteUnrecorded(
                try GoneValues.firstUnrecorded(of: table, after: extents[table.id]?.recorded ?? 0, on: connection))
            let forgotten = ForgottenColumns(store)
            let lost = try forgotten.entries(of: Array(0..<table.columnCount), in: table)
            let known = try forgotten.all()
            try forgotten.add(lost)
            try DroppedRows(store).begin(table, forgotten: lost.filter { !known.contains($0) }.map(\.column))
            try hideRows(of: table)
            try KeyNames(store).learn(table.orderedKeyNames, of: table.name)
            for statement in ["DELETE FROM \(table.clock)", "DELETE FROM \(table.pending)"] {
                try connection.execute(statement)
            }
            connection.finalizeStatements()
            for name in [table.clock, table.unique, table.pending] {
                try connection.execute("DROP TABLE IF EXISTS \(name)")
            }
            for name in ["logsync_reserved", "logsync_column"] {
                try connection.run("DELETE FROM \(name) WHERE table_id = ?", .integer(table.id))
            }
            try connection.run("DELETE FROM logsync_table WHERE id = ?", .integer(table.id))
            try ReferenceHistory.forget(table.id, on: connection)
            try NamingColumns.forget(table.id, on: connection)
            try LeftCells.forget(table.id, on: connection)
            try TableExtent.forget(table.id, on: connection)
            try FormerNames(connection).forget(table.id)
        }
    }

    private func hideRows(of table: TrackedTable) throws {
        let (shownRows, dropped) = (ShownRows(store), DroppedRows(store))
        let deleted = try table.localInteger == nil ? [] : Capture.deletedRows(of: table, on: connection)
        let clock = ClockTable(table: table, connection: connection)
        for row in try connection.rows("SELECT row FROM \(table.clock)") {
            let position = row[0].asInteger
            // Where only the key columns of a store of before format 5 said which row it is, they took that with them.
            guard let record = try clock.record(at: position),
                let identity = record.named
                    ?? (table.schema.integerKey != nil ? RowIdentity(natural: [.integer(position)]) : nil)
            else { continue }
            let full = try shownRows.expand(record, nil, identity, at: position, in: table, lost: nil)
            try dropped.keep(
                identity, at: full.integer, record.digests, isDeleted: deleted.contains(position), of: table)
            try HiddenRows(store).put(
                HiddenRows.Row(
                    table: table.name, identity: identity, state: .unknownTable, clock: full.state,
                    integer: full.integer))
        }
    }

    /// Rows that refer to rows of a table which was not here show nothing in its place: they are decided again.
    private func reconsiderReferences(to tables: Set<Int64>) throws {
        for table in store.catalog.tables where tables.contains(table.id) {
            for (child, column) in store.catalog.referrers(of: table) {
                let clock = ClockTable(table: child, connection: connection)
                for row in try connection.rows("SELECT row FROM \(child.clock) WHERE extra IS NOT NULL") {
                    let versions = try clock.record(at: row[0].asInteger)?.state.cell(column.id).versions ?? []
                    let refers = versions.contains { if case .reference? = $0.value { true } else { false } }
                    guard refers else { continue }
                    try connection.run(
                        "UPDATE \(child.clock) SET conflict = coalesce(conflict, 0) | 2 WHERE row = ?", row[0])
                    store.hasReplaced = true
                }
            }
        }
    }

    /// Rows that were hidden because their table was not here are parked like other rows from now on, where all their
    /// values are known. Integers are reserved for them first, so that rows which refer to each other find them.
    private func adoptHiddenRows() throws {
        guard store.hasHidden else { return }
        let hidden = HiddenRows(store)
        let dropped = DroppedRows(store)
        for table in store.catalog.tables {
            let isLeft = try dropped.isWaiting(table.name)
            let rows = try hidden.rows(.unknownTable, of: table.name).filter { row in
                // Its program is about to put it there.
                if isLeft, try dropped.row(row.identity, in: table.name) != nil { return false }
                return row.clock.cellsByName.lostColumns.isEmpty
            }
            for row in rows.sorted(by: { ($0.integer ?? 0) < ($1.integer ?? 0) }) { _ = try adopt(row, in: table) }
        }
    }

    /// - Parameter hidden: a row whose table was not here, with all its values.
    /// - Returns: the row as it is kept from now on.
    func adopt(_ hidden: HiddenRows.Row, in table: TrackedTable) throws -> HiddenRows.Row {
        var row = hidden
        if !table.key.isEmpty {
            row = try KeyNames(store).complete(row, KeyNames(store).names(of: table.name) ?? table.orderedKeyNames)
        }
        row.state = row.clock.inserts.isEmpty ? .dead : .parked
        try HiddenRows(store).put(row)
        let identities = IdentityMap(store: store)
        guard row.state == .parked, table.localInteger != nil,
            try identities.integer(of: row.identity, in: table) == nil
        else { return row }
        let integer = try IntegerAllocator(store).next(hint: row.integer, for: row.identity, in: table)
        try identities.reserve(integer, for: row.identity, in: table)
        return row
    }
}
