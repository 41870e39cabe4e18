import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns of which nothing tells what they were (``UndecidedColumns``).
extension SchemaReconciliation {
    /// A column that went and one that came at its place, where no value says that they are the same, and no other peer:
    /// nil where something does.
    func undecidable(
        _ column: KnownColumn, _ new: (offset: Int, element: TableSchema.Column), in table: TrackedTable,
        _ schema: TableSchema
    ) throws -> UndecidedColumns.Column? {
        let name = new.element.name
        guard try !isKey(column, of: table), try !isToldRename(of: column, to: name, table) else { return nil }
        if try isSingleStatement(on: table) { return nil }
        let isInstalled = try Capture.isInstalled(table, on: connection)
        // None is added before a column that was there.
        let isLast = try !columns(of: table).contains { other in
            schema.columns.enumerated().contains { $0 > new.offset && $1.name.folded == other.name.folded }
        }
        if isInstalled && !isLast { return nil }
        let found = try agreement(of: column, with: name, in: table, schema)
        guard found.isEmpty || found.records == 0 else { return nil }
        return UndecidedColumns.Column(
            name: name, former: column.name, place: table.columnNames[Int(column.id)], named: nil)
    }

    /// Follows columns whose names new ones have taken, by ALTER TABLE, or in a rebuild where another peer or `logsync
    /// migrate` has said so.
    ///
    /// - Returns: columns of a rebuilt table that may be renamed and have had their names taken, or copied into new ones and
    ///   given other values: both leave what they held in the new column, and something else under the name.
    func renameTakenOver(
        _ known: [KnownColumn], _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable,
        _ schema: TableSchema
    ) throws -> [UndecidedColumns.Column] {
        let isRebuilt = try !Capture.isInstalled(table, on: connection)
        var added = present.filter { new in
            !known.contains { $0.name.folded == new.element.name.folded }
        }
        var undecided: [UndecidedColumns.Column] = []
        for column in known where try !isKey(column, of: table) {
            guard let (place, bearer) = present.first(where: { $0.element.name.folded == column.name.folded }) else {
                continue
            }
            let logName = table.columnNames[Int(column.id)]
            let toldBearer = try Renames(connection).told(bearer.name, in: table.name) ?? logName
            for (index, (offset, new)) in added.enumerated()
            where new.declaredType == column.type && bearer.declaredType == column.type {
                // ALTER TABLE adds columns after all others: one that has taken a name comes after the one that had it.
                guard isRebuilt || offset < place else { continue }
                let told = try Renames(connection).told(new.name, in: table.name)
                guard told == nil || told == logName && toldBearer != logName, try holdsValues(new, schema) else {
                    continue
                }
                let moved = try agreement(of: column, with: new.name, in: table, schema, countsWritten: true)
                let stayed = try agreement(of: column, with: bearer.name, in: table, schema, countsWritten: true)
                guard moved.same > 0, stayed.same * 2 < moved.same else { continue }
                added.remove(at: index)
                if told != nil || !isRebuilt {
                    try rename(column, to: new, in: table)
                } else {
                    undecided += [
                        UndecidedColumns.Column(name: new.name, former: column.name, place: logName, named: nil),
                        UndecidedColumns.Column(name: bearer.name, former: column.name, place: nil, named: logName),
                    ]
                }
                break
            }
        }
        return undecided
    }

    /// Takes up columns again of which it has been decided what they are.
    ///
    /// - Parameter told: the names in logs of all columns, by lower-case name, where they are known.
    /// - Returns: those of which it has not.
    func decide(
        _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable, _ told: [String: String]?,
        _ changes: inout ColumnChanges
    ) throws -> [UndecidedColumns.Column] {
        let noted = try UndecidedColumns(connection).of(table.id)
        guard !noted.isEmpty else { return [] }
        if let told {
            let names = Set(noted.flatMap { [$0.place, $0.named] }.compactMap { $0?.folded })
            for place in present {
                guard let name = told[place.element.name.folded], names.contains(name.folded) else { continue }
                changes.decided.append(try add(place.element, called: name, at: place.offset, to: table))
            }
            return []
        }
        let undecided = try following(noted, present, in: table)
        let found = undecided.compactMap { column in
            present.first { $0.element.name.folded == column.name.folded }.map { (column, $0) }
        }
        // Where one has gone, the others are what they are called.
        // What has its former name again is the same either way.
        let isBack = undecided.allSatisfy { $0.place != nil && $0.name.folded == $0.former.folded }
        let areRenamed =
            try isBack
            ? true
            : UndecidedColumns(connection).areRenamed(undecided, in: table.name)
                ?? (found.count == undecided.count ? nil : false)
        guard let areRenamed else { return undecided }
        for (column, place) in found {
            let name = areRenamed ? column.place : column.named
            changes.decided.append(try add(place.element, called: name, at: place.offset, to: table))
        }
        return []
    }

    /// Undecided columns may be called something else by now: ALTER TABLE leaves them where they are, unless it drops one; and
    /// so does a rebuild in which another name stands where one of theirs is gone.
    private func following(
        _ undecided: [UndecidedColumns.Column], _ present: [(offset: Int, element: TableSchema.Column)],
        in table: TrackedTable
    ) throws -> [UndecidedColumns.Column] {
        let known = try columns(of: table)
        let isInstalled = try Capture.isInstalled(table, on: connection)
        let count = known.count + undecided.count
        guard isInstalled ? present.count >= count : present.count == count else { return undecided }
        let names = Set(present.map { $0.element.name.folded })
        let taken = Set(known.map { $0.name.folded } + undecided.map { $0.name.folded })
        let followed = undecided.map { column in
            var column = column
            let new = present.first { $0.offset == column.ordinal }?.element.name
            guard let new, new.folded != column.name.folded,
                isInstalled || !names.contains(column.name.folded) && !taken.contains(new.folded)
            else { return column }
            column.name = new
            guard column.place != nil else {
                // The one that took a name, and leaves it.
                column.former = new
                return column
            }
            column.named = undecided.first { $0.former.folded == new.folded }?.place
            return column
        }
        return Set(followed.map { $0.name.folded }).count == followed.count ? followed : undecided
    }

    /// Leaves columns alone until it is decided what they are.
    ///
    /// - Parameter changes: takes up what records say of them, once these are matched with rows.
    func hold(_ undecided: [UndecidedColumns.Column], in table: TrackedTable, _ changes: inout ColumnChanges) throws {
        let held = try columns(of: table).filter { column in
            undecided.contains { $0.former.folded == column.name.folded }
        }
        guard !held.isEmpty else { return }
        for column in held {
            try connection.run(
                "UPDATE logsync_column SET dropped = 1 WHERE table_id = ?1 AND id = ?2", .integer(table.id),
                .integer(column.id))
        }
        changes.held.append(HeldColumns(columns: undecided, ids: held.map { Int($0.id) }, former: table))
    }
}
