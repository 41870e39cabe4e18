import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What became of a table's columns.
struct ColumnChanges {
    /// By column id.
    var added: [Int] = []
    var dropped: [Int] = []
    /// Of which it has been decided what they are (``UndecidedColumns``).
    var decided: [Int] = []
}

extension SchemaReconciliation {
    struct KnownColumn {
        var id: Int64
        var name: String
        var type: String
        var ordinal: Int
    }

    /// Gives new columns their ids, notes dropped and renamed ones; by table id.
    func reconcileColumns() throws -> [Int64: ColumnChanges] {
        var changes: [Int64: ColumnChanges] = [:]
        for table in store.catalog.tables {
            let local = try connection.scalar("SELECT name FROM logsync_table WHERE id = ?", .integer(table.id))
            guard let local, let schema = try TableSchema.read(String(text: local), on: connection) else { continue }
            changes[table.id] = try reconcileColumns(table, schema)
        }
        return changes
    }

    private func reconcileColumns(_ table: TrackedTable, _ schema: TableSchema) throws -> ColumnChanges {
        var changes = ColumnChanges()
        var present = schema.columns.enumerated().filter { _, column in
            !column.isGenerated && !(table.kind != .natural && column.name == schema.integerKey)
        }
        let told = try Renames(connection).names(of: schema, in: table.name)
        var undecided = try decide(present, in: table, told, &changes)
        func leaveOut() {
            present.removeAll { column in
                undecided.contains { $0.name.folded == column.element.name.folded }
            }
        }
        leaveOut()
        // What has just been decided the catalog does not know yet.
        let decided = try columns(of: table).filter { changes.decided.contains(Int($0.id)) }.map { $0.name.folded }
        func asked() throws -> (known: [KnownColumn], present: [(offset: Int, element: TableSchema.Column)]) {
            let known = try columns(of: table).filter { !decided.contains($0.name.folded) }
            return (known, present.filter { !decided.contains($0.element.name.folded) })
        }
        var (former, new) = try asked()
        let before = former
        let adopted = try told.flatMap { try adopt($0, former, new, in: table, schema, &changes) }
        if adopted == nil {
            undecided += try renameShifted(former, new, in: table, schema)
            leaveOut()
            (former, new) = try asked()
            undecided += try renameTakenOver(former, new, in: table, schema)
            leaveOut()
        }
        var held = try hold(undecided, in: table)
        let known = try columns(of: table)
        let presentNames = Set(present.map { $0.element.name.folded })
        let knownNames = Set(known.map { $0.name.folded })
        var added = present.filter { new in
            // Of two names that are the same letters in other bytes, one would be taken for the other: it stays here.
            !knownNames.contains(new.element.name.folded)
                && !present.contains {
                    $0.element.name.folded == new.element.name.folded
                        && !$0.element.name.utf8.elementsEqual(new.element.name.utf8)
                        && $0.offset != new.offset
                }
        }
        // New columns come last: only a rename puts a new name before a column that was there already, unless the table
        // was rebuilt. As many of them as names are missing, and nothing was dropped.
        let lastKept = present.last { knownNames.contains($0.element.name.folded) }?.offset ?? -1
        let missing = known.filter { !presentNames.contains($0.name.folded) }.count
        let isRenamed =
            try added.count { $0.offset < lastKept } == missing && Capture.isInstalled(table, on: connection)
        /// New columns that values tell from those which were at their places.
        var distinct: [String] = []
        for column in known where !presentNames.contains(column.name.folded) {
            if let index = try added.firstIndex(where: { try isToldRename(of: column, to: $0.element.name, table) })
                ?? added.firstIndex(where: {
                    try $0.element.declaredType == column.type
                        && (isRenamed && $0.offset == column.ordinal
                            || isRename(
                                of: column, to: $0.element.name, at: $0.offset, present.count >= known.count, table,
                                schema))
                })
            {
                if let new = try undecidable(column, added[index], in: table, schema) {
                    undecided.append(new)
                    held += try hold([new], in: table)
                } else {
                    try rename(column, to: added[index].element, in: table)
                }
                added.remove(at: index)
            } else if let found = try moved(column, among: added, in: table, schema),
                try !found.isDoubtful || !isKey(column, of: table)
            {
                let new = added.remove(at: found.index).element
                if found.isDoubtful {
                    let place = table.columnNames[Int(column.id)]
                    let left = UndecidedColumns.Column(name: new.name, former: column.name, place: place, named: nil)
                    undecided.append(left)
                    held += try hold([left], in: table)
                } else {
                    try rename(column, to: new, in: table)
                }
            } else {
                try connection.run(
                    "UPDATE logsync_column SET dropped = 1 WHERE table_id = ?1 AND id = ?2", .integer(table.id),
                    .integer(column.id))
                changes.dropped.append(Int(column.id))
                distinct += added.filter { $0.offset == column.ordinal && $0.element.declaredType == column.type }
                    .map(\.element.name)
            }
        }
        try ForgottenColumns(store).add(ForgottenColumns(store).entries(of: changes.dropped, in: table))
        changes.dropped += held
        leaveOut()
        for index in undecided.indices {
            let name = undecided[index].name.folded
            undecided[index].ordinal = schema.columns.firstIndex { $0.name.folded == name }
        }
        if try UndecidedColumns(connection).of(table.id) != undecided {
            try UndecidedColumns(connection).set(undecided, of: table.id)
        }
        let inTurn = try adopted ?? namesTakenInTurn(added, before, in: table)
        for column in added {
            let name = inTurn[column.element.name.folded]
            changes.added.append(try add(column.element, called: name, at: column.offset, to: table))
        }
        for name in distinct where added.contains(where: { $0.element.name == name }) {
            // Another peer may have no values that tell.
            let logName = try connection.scalar(
                "SELECT log_name FROM logsync_column WHERE table_id = ? AND name = ? AND NOT dropped",
                .integer(table.id), .text(name))
            if let logName { try Settings(store).set("rename", "\(table.name).\(name)", String(text: logName)) }
        }
        for (_, column) in present {
            guard let known = known.first(where: { $0.name.folded == column.name.folded }),
                !known.name.utf8.elementsEqual(column.name.utf8)
            else { continue }
            try rename(known, to: column, in: table)
        }
        for (ordinal, column) in present {
            try connection.run(
                "UPDATE logsync_column SET ordinal = ?3 WHERE table_id = ?1 AND name = ?2 AND NOT dropped",
                .integer(table.id), .text(column.name), .integer(Int64(ordinal)))
        }
        if undecided.isEmpty { try tell(schema, of: table) }
        return changes
    }

    /// The columns that are not known to be dropped.
    func columns(of table: TrackedTable) throws -> [KnownColumn] {
        try connection.rows(
            "SELECT id, name, type, ordinal FROM logsync_column WHERE table_id = ? AND NOT dropped ORDER BY id",
            .integer(table.id)
        ).map {
            KnownColumn(
                id: $0[0].asInteger, name: String(text: $0[1]), type: String(text: $0[2]), ordinal: Int($0[3].asInteger)
            )
        }
    }

    func isKey(_ column: KnownColumn, of table: TrackedTable) -> Bool {
        table.orderedKeyNames.contains { $0.folded == table.columnNames[Int(column.id)].folded }
    }

    /// - Parameter logName: its name in logs; nil for a column that is new.
    func add(
        _ column: TableSchema.Column, called logName: String? = nil, at ordinal: Int, to table: TrackedTable
    ) throws -> Int {
        let id =
            try connection.integer(
                "SELECT coalesce(max(id), -1) + 1 FROM logsync_column WHERE table_id = ?", .integer(table.id)) ?? 0
        let name =
            try logName ?? Renames(connection).logName(ofNewColumn: column.name, in: table.name, id: table.id)
        try connection.run(
            "INSERT INTO logsync_column(table_id, id, name, log_name, type, ordinal) VALUES(?, ?, ?, ?, ?, ?)",
            .integer(table.id), .integer(id), .text(column.name), .text(name), .text(column.declaredType),
            .integer(Int64(ordinal)))
        if logName != nil || name != column.name {
            try Settings(store).set("rename", "\(table.name).\(column.name)", name)
        }
        return Int(id)
    }

    func rename(_ column: KnownColumn, to new: TableSchema.Column, in table: TrackedTable) throws {
        try connection.run(
            "UPDATE logsync_column SET name = ?3, type = ?4 WHERE table_id = ?1 AND id = ?2", .integer(table.id),
            .integer(column.id), .text(new.name), .text(new.declaredType))
        try Settings(store).set("rename", "\(table.name).\(new.name)", table.columnNames[Int(column.id)])
    }

    /// Whether another peer or `logsync migrate` has said that a column has this name now, of whatever type it is.
    func isToldRename(of column: KnownColumn, to name: String, _ table: TrackedTable) throws -> Bool {
        let told = try Renames(connection).logName(ofColumn: name, in: table.name)
        return told != name && told == table.columnNames[Int(column.id)]
    }

    /// A column that keeps its place, type and values under a new name is renamed.
    private func isRename(
        of column: KnownColumn, to name: String, at ordinal: Int, _ isAsMany: Bool, _ table: TrackedTable,
        _ schema: TableSchema
    ) throws -> Bool {
        // A name that is known to be another column's is not this one's.
        guard try Renames(connection).told(name, in: table.name) == nil else { return false }
        guard isAsMany, ordinal == column.ordinal else { return false }
        if try isSingleStatement(on: table) { return true }
        let found = try agreement(of: column, with: name, in: table, schema)
        return found.isEmpty || found.records == 0
            || found.same > 0 && found.same * 2 >= min(found.rows, found.records)
    }

    // MARK: Cells

    /// Takes dropped columns out of the rows' digests, and lets rows be recorded for which a new column's cells
    /// were kept.
    func reconcileCells(of table: TrackedTable, _ changes: ColumnChanges) throws {
        // What was written meanwhile is in the rows alone.
        let decided = changes.decided.sorted()
        if !decided.isEmpty {
            try Capture.noteEverything(table, on: connection)
            try HeldValues(of: table, on: connection).makeTable()
        }
        guard !changes.added.isEmpty || !changes.dropped.isEmpty || !decided.isEmpty else { return }
        let clock = ClockTable(table: table, connection: connection)
        let shownRows = ShownRows(store)
        let reader = shownRows.reader(table)
        let names = Set(changes.added.map { table.columnNames[$0].folded })
        let returned = returned(changes.added, in: table)
        let filter = changes.dropped.isEmpty && returned.isEmpty ? "WHERE extra IS NOT NULL" : ""
        for row in try connection.rows("SELECT row FROM \(table.clock) \(filter)") {
            let position = row[0].asInteger
            guard var record = try clock.record(at: position) else { continue }
            let present = try shownRows.currentRow(ofRecord: record.identity, at: position, in: table)
            if !changes.dropped.isEmpty {
                for id in changes.dropped where id < record.digests.count { record.digests[id] = 0 }
                // A row that was changed meanwhile differs in some column, which is enough to be recorded.
                if let present { record.digest = reader.digest(present.digests, columns: record.digests.count) }
                try clock.update(record, at: position, formerUniques: table.findsByKeyDigest ? [] : record.uniques)
            }
            if let present, !decided.isEmpty, try takeUp(decided, in: &record, present, reader) {
                try clock.update(record, at: position, formerUniques: table.findsByKeyDigest ? [] : record.uniques)
            }
            if let present, !returned.isEmpty {
                let isChanged = takeBack(returned, in: &record, present, reader)
                try clock.update(record, at: position, formerUniques: table.findsByKeyDigest ? [] : record.uniques)
                if isChanged { try Capture.note(at: position, identity: record.identity, in: table, store) }
            }
            if record.state.cellsByName.keys.contains(where: { names.contains($0.folded) }) {
                try Capture.note(at: position, identity: record.identity, in: table, store)
            }
        }
        if !decided.isEmpty { try HeldValues(of: table, on: connection).forget() }
    }

    // MARK: Rowids

    /// VACUUM may number the rows of a table without INTEGER PRIMARY KEY anew: records are matched to rows by key.
    ///
    /// - Returns: whether records of the table may be left whose rows nothing names any more.
    func matchRowids(_ table: TrackedTable) throws -> Bool {
        guard table.hasRowid, table.schema.integerKey == nil, table.kind == .natural else { return false }
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        let shownRows = ShownRows(store)
        var moves: [(from: Int64, to: Int64, uniques: [Int32])] = []
        var unidentified: [OrderedMatch.Side] = []
        try reader.forEachRow { rowid, values in
            guard let rowid else { return }
            let identity = try reader.naturalIdentity { try shownRows.knownValue(values[$0], $0, in: table) }
            guard let identity else {
                let digests = reader.columnDigests(values.map(table.valueDigest.of))
                unidentified.append(OrderedMatch.Side(number: rowid, digests: digests))
                return
            }
            if table.storesIdentity {
                guard let row = try FoldedKeys(store: store, table: table).row(of: identity), row != rowid else {
                    return
                }
                moves.append((row, rowid, try clock.record(at: row)?.uniques ?? []))
            } else {
                let digest = table.keyDigest(identity)
                let rows = try clock.rows(withUnique: digest)
                guard let row = rows.first, !rows.contains(rowid) else { return }
                moves.append((row, rowid, [digest]))
            }
        }
        let unnamed = try matchUnidentified(unidentified, table, clock)
        moves += unnamed.moves
        // Where another row has taken a deleted row's number, the captured deletion may say no more than that number.
        var isInTheWay = try clock.move(moves)
        let taken = Set(unidentified.map(\.number))
        for record in unnamed.orphans
        where taken.contains(record) && !unnamed.moves.contains(where: { $0.to == record }) {
            isInTheWay = try clock.vacate(record) || isInTheWay
        }
        return try compareUnidentified(table) || isInTheWay
    }

    /// What was captured of rows with a NULL in their keys says where they were, and other rows may be there now: all
    /// rows are compared instead. That a row was written where one is, and when, is kept.
    ///
    /// - Returns: whether there was any.
    private func compareUnidentified(_ table: TrackedTable) throws -> Bool {
        // Without a key no row is told apart by it.
        let hasNull =
            table.key.isEmpty ? "1" : table.key.indices.map { "k\($0) IS NULL" }.joined(separator: " OR ")
        let stale = "number > \(table.recorded) AND kind <> \(Capture.Kind.found.rawValue) AND (\(hasNull))"
        guard
            let last = try connection.integer(
                "SELECT max(number) FROM \(table.pending) WHERE \(stale) HAVING max(number) > 0")
        else { return false }
        let keys = table.keyColumnNames.map { ", t.\(SQL.name($0))" }.joined()
        try connection.execute(
            """
            INSERT INTO \(table.pending)(kind, row, ms\(table.key.indices.map { ", k\($0)" }.joined()))
            SELECT \(Capture.Kind.update.rawValue), written.row, written.ms\(keys)
            FROM (SELECT row, max(ms) AS ms FROM \(table.pending) WHERE \(stale) GROUP BY row) AS written
            JOIN \(table.quoted) AS t ON t.\(table.rowid) = written.row
            """)
        try Capture.noteEverything(table, on: connection)
        // The newest stays in any case, so that numbers go on.
        try connection.execute(
            """
            DELETE FROM \(table.pending) WHERE number <= \(last) AND kind <> \(Capture.Kind.found.rawValue)
            AND (\(hasNull)) AND number < (SELECT max(number) FROM \(table.pending))
            """)
        return true
    }

    /// Finds the records of rows that no key tells apart.
    private func matchUnidentified(
        _ rows: [OrderedMatch.Side], _ table: TrackedTable, _ clock: ClockTable
    ) throws -> (moves: [(from: Int64, to: Int64, uniques: [Int32])], orphans: [Int64]) {
        guard !rows.isEmpty else { return ([], []) }
        var records: [OrderedMatch.Side] = []
        for row in try connection.rows(
            "SELECT row, identity FROM \(table.clock) WHERE identity IS NOT NULL ORDER BY row")
        {
            guard case .blob(let bytes) = row[1], table.key.isEmpty || RowIdentity(unchecked: bytes).isSurrogate,
                let record = try clock.record(at: row[0].asInteger)
            else { continue }
            records.append(OrderedMatch.Side(number: row[0].asInteger, digests: record.digests))
        }
        let match = OrderedMatch(rows.sorted { $0.number < $1.number }, records, columns: table.columns.map(\.id))
        let moved = match.pairs.filter { $0.record != $0.row }
        try moveCaptured(moved, in: table)
        return (
            try moved.map { ($0.record, $0.row, try clock.record(at: $0.record)?.uniques ?? []) }, match.orphans
        )
    }

    /// Lets what was captured of rows name them by the numbers that they have now.
    private func moveCaptured(_ moved: [(record: Int64, row: Int64)], in table: TrackedTable) throws {
        let places = Dictionary(moved.map { ($0.record, $0.row) }) { first, _ in first }
        let condition = "number > \(table.recorded) AND kind <> \(Capture.Kind.found.rawValue)"
        guard !moved.isEmpty else { return }
        for row in try connection.rows("SELECT number, row FROM \(table.pending) WHERE \(condition)") {
            guard case .integer(let place) = row[1], let new = places[place] else { continue }
            try connection.run("UPDATE \(table.pending) SET row = ?2 WHERE number = ?1", row[0], .integer(new))
        }
    }
}
