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
        guard
            try found.isEmpty || found.records == 0 || saysTooLittle(found, of: column, and: name, in: table, schema),
            try isFilled(name, otherwiseThan: column, in: table, schema) == nil
        else { return nil }
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
            where new.declaredType == column.type {
                // A rebuild may change a column's type as well.
                let isRetyped = bearer.declaredType != column.type
                // ALTER TABLE adds columns after all others: one that has taken a name comes after the one that had it.
                guard isRebuilt || offset < place && !isRetyped else { continue }
                let told = try Renames(connection).told(new.name, in: table.name)
                guard told == nil || told == logName && toldBearer != logName else { continue }
                let moved =
                    try holdsValues(new, schema)
                    ? agreement(of: column, with: new.name, in: table, schema, countsWritten: true) : Agreement()
                let stayed = try agreement(
                    of: column, with: bearer.name, in: table, schema, countsWritten: true, countsConverted: isRetyped)
                // Where no value tells, one that has left its place to a new one may be that, unless another that went is.
                let isLeft =
                    try isRebuilt && moved.same + stayed.same == 0
                    && ColumnPlaces.isLeft(by: column, to: offset, known, present)
                    && !known.contains { try hasGone($0, among: present, to: new, in: table, schema) }
                guard moved.same > 0 && stayed.same * 2 < moved.same || isLeft else { continue }
                // The like may be there by chance, where one that went was at its place.
                let isCertain = moved.isMost && moved.distinct >= Self.few
                if try !isCertain && isPerhapsAnother((offset, new), of: known, present, in: table, schema) { continue }
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

    /// Whether a new column may be one at its place whose name is gone, and of which values say too little.
    private func isPerhapsAnother(
        _ new: (offset: Int, element: TableSchema.Column), of known: [KnownColumn], _ present: Present,
        in table: TrackedTable, _ schema: TableSchema
    ) throws -> Bool {
        try known.contains { column in
            try column.ordinal == new.offset && column.type == new.element.declaredType
                && !present.contains { $0.element.name.folded == column.name.folded }
                && undecidable(column, new, in: table, schema) != nil
        }
    }

    /// Whether a new column certainly holds what one held whose name is gone.
    private func hasGone(
        _ column: KnownColumn, among present: Present, to new: TableSchema.Column, in table: TrackedTable,
        _ schema: TableSchema
    ) throws -> Bool {
        guard column.type == new.declaredType,
            !present.contains(where: { $0.element.name.folded == column.name.folded })
        else { return false }
        let found = try agreement(of: column, with: new.name, in: table, schema, countsWritten: true)
        return found.isMost && found.distinct >= Self.few
    }

    /// Takes up columns again of which it has been decided what they are.
    ///
    /// - Parameter told: the names in logs of all columns, by lower-case name, where they are known.
    /// - Returns: those of which it has not, and how many of these were undecided before.
    func decide(
        _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable, _ schema: TableSchema,
        _ told: [String: String]?, _ changes: inout ColumnChanges
    ) throws -> ([UndecidedColumns.Column], before: Int) {
        let noted = try UndecidedColumns(connection).of(table.id)
        guard !noted.isEmpty else { return ([], 0) }
        if let told {
            let names = Set(noted.flatMap { [$0.place, $0.named] }.compactMap { $0?.folded })
            let held = Set(noted.map(\.name.folded))
            let known = Set(table.columnNames.map(\.folded))
            for place in present {
                let here = place.element.name.folded
                // What was left alone may be a column of which only other peers know, and holds what was written meanwhile.
                guard let name = told[here], case let isFormer = names.contains(name.folded),
                    isFormer || held.contains(here) && !known.contains(name.folded)
                else { continue }
                let id = try add(place.element, called: name, at: place.offset, to: table)
                changes.decided.append(id)
                if !isFormer { changes.foundNew.insert(id) }
            }
            return ([], 0)
        }
        let (undecided, others) = try following(noted, present, in: table, schema)
        // What is said of the ones says nothing of the others.
        guard others.isEmpty else { return (undecided + others, undecided.count) }
        var left: [UndecidedColumns.Column] = []
        for group in UndecidedColumns.groups(of: undecided) {
            let found = group.compactMap { column in
                present.first { $0.element.name.folded == column.name.folded }.map { (column, $0) }
            }
            // Where one has gone, the others are what they are called.
            // What has its former name again is the same either way.
            let isBack = group.allSatisfy { $0.place != nil && $0.name.folded == $0.former.folded }
            let areRenamed =
                try isBack
                ? true
                : UndecidedColumns(connection).areRenamed(group, among: undecided, in: table.name)
                    ?? (found.count == group.count ? nil : false)
            guard let areRenamed else {
                left += group
                continue
            }
            for (column, place) in found {
                let name = areRenamed ? column.place : column.named
                let id = try add(place.element, called: name, at: place.offset, to: table)
                changes.decided.append(id)
                if name == nil { changes.foundNew.insert(id) }
            }
        }
        return (left, left.count)
    }

    /// New columns that bear the name of one which is perhaps called otherwise by now: if it is not, that one has come back.
    func rivals(
        of undecided: [UndecidedColumns.Column], among added: [(offset: Int, element: TableSchema.Column)],
        in table: TrackedTable
    ) throws -> [UndecidedColumns.Column] {
        try added.compactMap { _, column in
            let name = try Renames(connection).logName(ofColumn: column.name, in: table.name)
            let other = undecided.first {
                $0.place != nil
                    && ($0.place?.folded == name.folded || $0.former.folded == column.name.folded)
            }
            return other.map {
                UndecidedColumns.Column(name: column.name, former: column.name, place: nil, named: $0.place)
            }
        }
    }

    /// Leaves columns alone until it is decided what they are.
    ///
    /// - Parameter changes: takes up what records say of them, once these are matched with rows.
    func hold(_ undecided: [UndecidedColumns.Column], in table: TrackedTable, _ changes: inout ColumnChanges) throws {
        let places = Set(undecided.compactMap { $0.place?.folded })
        let held = try columns(of: table).filter { column in
            logName(of: column, in: table).map { places.contains($0.folded) } ?? false
        }
        guard !held.isEmpty else { return }
        for column in held { try markDropped(column.id, of: table) }
        changes.held.append(HeldColumns(columns: undecided, ids: held.map { Int($0.id) }, former: table))
    }
}
