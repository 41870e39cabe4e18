import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What became of a table's columns.
struct ColumnChanges {
    /// By column id.
    var added: [Int] = []
    var dropped: [Int] = []
    /// Those in place of which others of their names have come.
    var replaced: [Int] = []
    /// Those of which nothing tells what they are.
    var held: [HeldColumns] = []
    /// Columns that seem to refer to other rows, of which nobody has said so.
    var heldReferences: [HeldReferences.Column] = []
    /// Of which it has been decided what they are (``UndecidedColumns``).
    var decided: [Int] = []
    /// Those of them that are new, and none that was here.
    var foundNew: Set<Int> = []
    /// Those of them that were here under first names of their own (``LateRenames``).
    var renamedLate: [RenamedColumn] = []
    /// Those of the added ones of which another peer has said that they are columns which went: they were only renamed.
    var regained: [Int] = []
    /// Those of the dropped ones in place of which columns have come that refer to other rows, and these.
    var movedReferences: (gone: [Int], new: [Int]) = ([], [])
    /// Those of the added ones of which it has been decided whether they refer to other rows (``HeldReferences``).
    var released: [Int] = []

    /// Whether each is what it was, but for what it may be called.
    var areNone: Bool {
        added.isEmpty && dropped.isEmpty && replaced.isEmpty && held.isEmpty && heldReferences.isEmpty
            && decided.isEmpty && renamedLate.isEmpty
    }
}

extension SchemaReconciliation {
    struct KnownColumn {
        var id: Int64
        var name: String
        var type: String
        var ordinal: Int

        /// Whether it is left alone until it is decided what it is: only its name and its place are known.
        var isUndecided: Bool { id < 0 }
    }

    /// Gives new columns their ids, notes dropped and renamed ones; by table id.
    ///
    /// - Parameter kinds: tables in which an integer that is not replicated has come or gone, by id.
    func reconcileColumns(_ kinds: [Int64: FormerKey]) throws -> [Int64: ColumnChanges] {
        var changes: [Int64: ColumnChanges] = [:]
        for table in store.catalog.tables {
            let local = try connection.scalar("SELECT name FROM logsync_table WHERE id = ?", .integer(table.id))
            guard let local, let schema = try TableSchema.read(String(text: local), on: connection) else { continue }
            changes[table.id] = try reconcileColumns(table, schema, isOfOtherKind: kinds[table.id] != nil)
        }
        return changes
    }

    private func reconcileColumns(
        _ table: TrackedTable, _ schema: TableSchema, isOfOtherKind: Bool
    ) throws -> ColumnChanges {
        var changes = ColumnChanges()
        let places = schema.columns.enumerated().filter { _, column in
            !column.isGenerated && !(table.kind != .natural && column.name == schema.integerKey)
        }
        var present = places
        if isOfOtherKind, try UndecidedColumns(connection).of(table.id).isEmpty {
            // The integer that has come or gone has moved all that stand after it.
            try countPlaces(of: table)
            present = places.enumerated().map { ($0.offset, $0.element.element) }
        }
        // Of two names that are the same letters in other bytes, one would be taken for the other: what is new stays here.
        let registered = Set(try columns(of: table).map { Array($0.name.asciiFolded.utf8) })
        func isRegistered(_ name: String) -> Bool { registered.contains(Array(name.asciiFolded.utf8)) }
        let all = present
        present.removeAll { column in
            !isRegistered(column.element.name)
                && all.contains {
                    $0.element.name.folded == column.element.name.folded
                        && ($0.offset < column.offset || isRegistered($0.element.name))
                }
        }
        let formerlyHeld = Set(try HeldReferences(connection).of(table.id).map { $0.column.folded })
        let stillHeld = try heldReferences(of: table)
        present.removeAll { stillHeld.contains($0.element.name.folded) }
        let told = try Renames(connection).names(of: schema, in: table.name)
        try renameLate(present, in: table, &changes)
        let wasUndecided = try !UndecidedColumns(connection).of(table.id).isEmpty
        var (undecided, heldBefore) = try decide(present, in: table, schema, told, &changes)
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
            // Columns have been looked at by now together with undecided ones, where there are any.
            if !wasUndecided || told != nil {
                undecided += try take(shifted(former, new, in: table, schema), in: table)
            }
            leaveOut()
            (former, new) = try asked()
            undecided += try renameTakenOver(former, new, in: table, schema)
            leaveOut()
            (former, new) = try asked()
            try takeNamesOfDropped(former, new, in: table, schema, &changes)
        }
        try hold(Array(undecided.dropFirst(heldBefore)), in: table, &changes)
        let known = try columns(of: table)
        let presentNames = Set(present.map { $0.element.name.folded })
        let knownNames = Set(known.map { $0.name.folded })
        var added = present.filter { !knownNames.contains($0.element.name.folded) }
        // A rebuild may put columns anywhere.
        let columnPlaces = try Capture.isInstalled(table, on: connection) ? ColumnPlaces(known, present) : nil
        /// New columns that values tell from those which were at their places.
        var distinct: [String] = []
        /// Columns that came before another went, which to peers that look at both at once may be one.
        var earlier: [String] = []
        for column in known where !presentNames.contains(column.name.folded) {
            if let index = try added.firstIndex(where: { try isToldRename(of: column, to: $0.element.name, table) })
                ?? added.firstIndex(where: {
                    try isSameType($0.element, column, in: table, schema)
                        && !refersToOthers($0.element, than: column, among: known, in: table, schema)
                        && (columnPlaces?.place(of: column) == $0.offset
                            || isRename(
                                of: column, to: $0.element.name, at: $0.offset, columnPlaces,
                                isAsMany: present.count >= known.count, table, schema))
                })
            {
                if let new = try undecidable(column, added[index], in: table, schema) {
                    undecided.append(new)
                    try hold([new], in: table, &changes)
                } else if try isKnown(column, as: added[index].element.name, in: table) {
                    try take([(column.id, added[index].element.name, added[index])], in: table, &changes)
                } else {
                    try rename(column, to: added[index].element, in: table)
                }
                added.remove(at: index)
            } else if let found = try moved(column, among: added, known, columnPlaces, in: table, schema),
                try !found.isDoubtful || !isKey(column, of: table)
            {
                let new = added.remove(at: found.index).element
                if found.isDoubtful {
                    let place = table.columnNames[Int(column.id)]
                    let left = UndecidedColumns.Column(name: new.name, former: column.name, place: place, named: nil)
                    undecided.append(left)
                    try hold([left], in: table, &changes)
                } else {
                    try rename(column, to: new, in: table)
                }
            } else {
                try markDropped(column.id, of: table)
                changes.dropped.append(Int(column.id))
                earlier += try cameBefore(column, present, in: table)
                distinct += try added.filter { $0.offset == column.ordinal && $0.element.declaredType == column.type }
                    .map(\.element.name).filter {
                        let found = try agreement(of: column, with: $0, in: table, schema)
                        return try found.rows > 0 && found.records > 0 && found.same == 0
                            || isFilled($0, otherwiseThan: column, in: table, schema) == true
                    }
            }
        }
        try ForgottenColumns(store).drop(changes.dropped, of: table)
        let rivals = try rivals(of: undecided, among: added, in: table)
        undecided += rivals
        added.removeAll { column in rivals.contains { $0.name == column.element.name } }
        leaveOut()
        for index in undecided.indices {
            let name = undecided[index].name.folded
            undecided[index].ordinal = schema.columns.firstIndex { $0.name.folded == name }
            undecided[index].type = schema.column(name)?.declaredType
        }
        if try UndecidedColumns(connection).of(table.id) != undecided {
            try UndecidedColumns(connection).set(undecided, of: table.id)
        }
        let others = try columnsOfOthers(added, before, without: changes.dropped, in: table, schema)
        changes.movedReferences.gone = others.gone
        let inTurn = try adopted ?? namesTakenInTurn(added, before, in: table)
        for column in try returnedFirst(added, called: inTurn, in: table) {
            let name = inTurn[column.element.name.folded]
            let id = try add(column.element, called: name, at: column.offset, to: table)
            changes.added.append(id)
            if adopted != nil {
                changes.regained.append(id)
            } else {
                try UnprovenColumns(connection).note(id, of: table)
            }
            if columnPlaces != nil { try AwaitedFills(store).begin(id, of: table.id) }
            if formerlyHeld.contains(column.element.name.folded) { changes.released.append(id) }
            if others.new.contains(column.element.name) { changes.movedReferences.new.append(id) }
        }
        for name in others.new.union(distinct).sorted().filter({ name in added.contains { $0.element.name == name } })
            + earlier
        {
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
        for (ordinal, column) in places {
            try connection.run(
                "UPDATE logsync_column SET ordinal = ?3 WHERE table_id = ?1 AND name = ?2 AND NOT dropped",
                .integer(table.id), .text(column.name), .integer(Int64(ordinal)))
        }
        if undecided.isEmpty { try tell(schema, of: table) }
        let areAsBefore = try before.map(\.name) == columns(of: table).map(\.name) && haveOrder(before, in: present)
        if try adopted == nil && !areAsBefore && !hasRecords(table) {
            try UnprovenColumns(connection).note(table)
        }
        return changes
    }

    /// The column's entries stay, its values and its name are no more.
    func markDropped(_ column: Int64, of table: TrackedTable) throws {
        try connection.run(
            "UPDATE logsync_column SET dropped = 1 WHERE table_id = ? AND id = ?", .integer(table.id), .integer(column))
    }

    /// The columns that came to the table at an earlier look, have the type of one that goes, and of which nobody has said
    /// anything.
    private func cameBefore(_ column: KnownColumn, _ present: Present, in table: TrackedTable) throws
        -> [String]
    {
        try table.columns.filter { other in
            try present.contains { $0.element.name == other.local && $0.element.declaredType == column.type }
                && other.local == other.name && UnprovenColumns(connection).contains(other, of: table)
                && Renames(connection).told(other.local, in: table.name) == nil
        }.map(\.local)
    }

    /// Whether columns that bear the names which they had come one after the other as they did.
    private func haveOrder(
        _ former: [KnownColumn], in present: [(offset: Int, element: TableSchema.Column)]
    ) -> Bool {
        let (before, now) = (Set(former.map(\.name.folded)), Set(present.map(\.element.name.folded)))
        return former.sorted { $0.ordinal < $1.ordinal }.map(\.name.folded).filter(now.contains)
            == present.map(\.element.name.folded).filter(before.contains)
    }

    private func hasRecords(_ table: TrackedTable) throws -> Bool {
        try connection.integer("SELECT 1 FROM \(table.clock) LIMIT 1") != nil
    }

    /// Notes the types that columns have now; those of keys are noted by then. Returns the columns, by table and column id, that
    /// make something else of their values than before.
    func reconcileTypes() throws -> [Int64: Set<Int>] {
        var retyped: [Int64: Set<Int>] = [:]
        for table in store.catalog.tables {
            for former in try columns(of: table) {
                guard let column = table.schema.column(former.name),
                    Affinity(former.type) != Affinity(column.declaredType)
                else { continue }
                try connection.run(
                    "UPDATE logsync_column SET type = ?3 WHERE table_id = ?1 AND id = ?2", .integer(table.id),
                    .integer(former.id), .text(column.declaredType))
                retyped[table.id, default: []].insert(Int(former.id))
            }
        }
        return retyped
    }

    /// Nil where it is not decided, or has been just now.
    func logName(of column: KnownColumn, in table: TrackedTable) -> String? {
        let id = Int(column.id)
        return table.columnNames.indices.contains(id) ? table.columnNames[id] : nil
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

    /// Notes of each column how many others come before it, in place of where it stands among all that the table has.
    private func countPlaces(of table: TrackedTable) throws {
        for (place, column) in try columns(of: table).sorted(by: { $0.ordinal < $1.ordinal }).enumerated() {
            try connection.run(
                "UPDATE logsync_column SET ordinal = ?3 WHERE table_id = ?1 AND id = ?2", .integer(table.id),
                .integer(column.id), .integer(Int64(place)))
        }
    }

    /// Whether a column is of the key that the table's rows go by, be it there under its name or not.
    func isKey(_ column: KnownColumn, of table: TrackedTable) throws -> Bool {
        guard let name = logName(of: column, in: table) else { return false }
        let names = try connection.scalar("SELECT key_columns FROM logsync_table WHERE id = ?", .integer(table.id))
        guard case .text? = names, let names else { return false }
        return try KeyList.decode(String(text: names)).contains { $0.folded == name.folded }
    }

    /// - Parameter logName: its name in logs; nil for a column that is new.
    func add(
        _ column: TableSchema.Column, called logName: String? = nil, at ordinal: Int, to table: TrackedTable
    ) throws -> Int {
        let id =
            try connection.integer(
                "SELECT coalesce(max(id), -1) + 1 FROM logsync_column WHERE table_id = ?", .integer(table.id)) ?? 0
        let isTaken = try logName.map { try Renames(connection).isTaken($0, in: table.id) } ?? true
        let name =
            try logName.flatMap { isTaken ? nil : $0 }
            ?? Renames(connection).logName(ofNewColumn: column.name, in: table.name, id: table.id)
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
        return told != name && told == logName(of: column, in: table)
    }

    /// A column that keeps its place, type and values under a new name is renamed.
    ///
    /// - Parameters:
    ///   - places: where ALTER TABLE can have left the columns; nil where the table was rebuilt.
    ///   - isAsMany: whether the table has as many columns as before, so that none needs to have been dropped.
    private func isRename(
        of column: KnownColumn, to name: String, at place: Int, _ places: ColumnPlaces?, isAsMany: Bool,
        _ table: TrackedTable, _ schema: TableSchema
    ) throws -> Bool {
        // A name that is known to be another column's is not this one's, unless it goes from one to another.
        let renames = Renames(connection)
        guard try renames.told(name, in: table.name) == nil || renames.isTangled(name, in: table.name) else {
            return false
        }
        let isSamePlace = places?.isSame(column, at: place) ?? (place == column.ordinal)
        guard isAsMany && isSamePlace || places?.mayBe(column, at: place) == true else { return false }
        if try isAsMany && isSamePlace && isSingleStatement(on: table) { return true }
        let found = try agreement(of: column, with: name, in: table, schema)
        if isAsMany && isSamePlace && (found.isEmpty || found.records == 0) {
            return try isFilled(name, otherwiseThan: column, in: table, schema) != true
                && !isOfOthers(name, in: table)
        }
        if try isAsMany && isSamePlace && saysTooLittle(found, of: column, and: name, in: table, schema) {
            return try !isOfOthers(name, in: table)
        }
        // ALTER TABLE gives a new column its default in all rows, which a column that was dropped may have held as well.
        let isDefault = found.distinct < 2 && schema.column(name)?.defaultSQL != nil
        return found.same > 0 && found.same * 2 >= min(found.rows, found.records)
            && (isAsMany && isSamePlace || !isDefault)
    }

    /// Whether a rebuilt table has something else in a column than so few records say of another that programs may have
    /// written all of them since; or than those of a counter, which programs add to in all rows.
    func saysTooLittle(
        _ found: Agreement, of column: KnownColumn, and name: String, in table: TrackedTable, _ schema: TableSchema
    ) throws -> Bool {
        let isCounter = logName(of: column, in: table).map { store.policies.isCounter(table.name, $0) } ?? false
        // Where more have come than went, one may have been divided.
        let present = schema.columns.count {
            !$0.isGenerated && !(table.kind != .natural && $0.name == schema.integerKey)
        }
        let few = try present > columns(of: table).count ? Self.few : Self.fewRows
        guard isCounter ? !found.isMost : found.same == 0 && found.records < few,
            let new = schema.column(name)
        else { return false }
        return try !isKey(column, of: table) && !Capture.isInstalled(table, on: connection) && holdsValues(new, schema)
    }
}
