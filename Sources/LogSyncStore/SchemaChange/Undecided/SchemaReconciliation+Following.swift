import LogSyncModel
import LogSyncSQLite
import LogSyncState

// Which columns undecided ones (`UndecidedColumns`) are, where a migration names them, or others, otherwise.
//
// The problem. Of an undecided column it is not known what logs call it. But it is one column of the program's table, and goes
// on being that where the program renames it, moves it, gives its name to another or another's to it. A program that
// lets names go round does not leave out the columns that are undecided here: a look at the others alone would take one
// column for another.
//
// The rule. Undecided columns are looked at together with the others, by the same rules of names, places and values. What
// they held at the last look is noted for that (`UndecidedCells`). They stay undecided under the name that they have
// then. Where nothing tells which of them, or of the others, is which, all these are undecided.

/// What a migration has made of columns' names.
struct MovedNames {
    typealias Known = SchemaReconciliation.KnownColumn

    var renamed: [(column: Known, new: TableSchema.Column)] = []
    /// Beside each the column that it is if names have stayed; nil where it is new then.
    var undecided: [(column: Known, new: TableSchema.Column, named: Known?)] = []
    /// A column that bears the name of one that is undecided, and is new if that has another name.
    var bearer: (name: TableSchema.Column, of: Known)?

    static let none = MovedNames()
}

extension SchemaReconciliation {
    typealias Present = [(offset: Int, element: TableSchema.Column)]

    /// Notes what columns are called by now; not of columns that are undecided already.
    ///
    /// - Returns: the ones of which nothing tells.
    func take(_ moved: MovedNames, in table: TrackedTable) throws -> [UndecidedColumns.Column] {
        for (column, new) in moved.renamed where !column.isUndecided { try rename(column, to: new, in: table) }
        var undecided = try moved.undecided.filter { !$0.column.isUndecided }.map { column, new, named in
            UndecidedColumns.Column(
                name: new.name, former: column.name, place: logName(of: column, in: table),
                named: try named.flatMap { logName(of: $0, in: table) } ?? newName(new.name, in: table))
        }
        if let (bearer, column) = moved.bearer {
            undecided.append(
                UndecidedColumns.Column(
                    name: bearer.name, former: bearer.name, place: nil, named: logName(of: column, in: table)))
        }
        return undecided
    }

    /// - Returns: undecided columns by the names that they have now, and columns that have come to be undecided together
    ///   with them.
    func following(
        _ undecided: [UndecidedColumns.Column], _ present: Present, in table: TrackedTable, _ schema: TableSchema
    ) throws -> (followed: [UndecidedColumns.Column], others: [UndecidedColumns.Column]) {
        let pseudonyms = undecided.enumerated().compactMap { index, column in
            column.ordinal.map { place in
                KnownColumn(
                    id: -1 - Int64(index), name: column.name,
                    type: column.type ?? present.first { $0.offset == place }?.element.declaredType ?? "",
                    ordinal: place)
            }
        }
        var followed = undecided
        var left = pseudonyms
        func follow(_ column: KnownColumn, to new: TableSchema.Column) throws {
            left.removeAll { $0.id == column.id }
            guard column.name.folded != new.name.folded else { return }
            let index = Int(-1 - column.id)
            followed[index] = try self.followed(undecided[index], to: new.name, among: undecided, in: table)
        }
        let moved = try shifted(columns(of: table) + pseudonyms, present, in: table, schema)
        let others = try take(moved, in: table)
        for (column, new) in moved.renamed + moved.undecided.map({ ($0.column, $0.new) }) where column.isUndecided {
            try follow(column, to: new)
        }
        let known = try columns(of: table)
        let isTaken = Set(known.map { $0.name.folded } + followed.map { $0.name.folded })
        var added = present.filter { !isTaken.contains($0.element.name.folded) }
        let places = ColumnPlaces(known + pseudonyms, present)
        for column in left {
            guard
                let index = try successor(
                    of: column, among: added, places, present, count: known.count + pseudonyms.count, in: table, schema)
            else { continue }
            try follow(column, to: added.remove(at: index).element)
        }
        return Set(followed.map { $0.name.folded }).count == followed.count ? (followed, others) : (undecided, others)
    }

    /// Which of the new columns is an undecided one: whose name is gone, or borne by another that came.
    ///
    /// - Parameter count: of all columns that were there.
    private func successor(
        of column: KnownColumn, among added: Present, _ places: ColumnPlaces, _ present: Present, count: Int,
        in table: TrackedTable, _ schema: TableSchema
    ) throws -> Int? {
        let found = try added.indices.filter { added[$0].element.declaredType == column.type }.map { index in
            (index, try agreement(of: column, with: added[index].element.name, in: table, schema))
        }.filter { $0.1.same > 0 }
        let most = found.max { $0.1.same < $1.1.same }
        let best = found.count { $0.1.same == most?.1.same } == 1 ? most : nil
        if let bearer = present.first(where: { $0.element.name.folded == column.name.folded }) {
            guard let best else { return nil }
            let stayed = try agreement(of: column, with: bearer.element.name, in: table, schema)
            return stayed.same * 2 < best.1.same ? best.0 : nil
        }
        if try Capture.isInstalled(table, on: connection) {
            return added.firstIndex { places.place(of: column) == $0.offset }
                ?? added.firstIndex { present.count >= count && places.isSame(column, at: $0.offset) }
                ?? best.flatMap { places.mayBe(column, at: added[$0.0].offset) ? $0.0 : nil }
        }
        return best?.0 ?? added.firstIndex { present.count == count && $0.offset == column.ordinal }
    }

    private func followed(
        _ column: UndecidedColumns.Column, to name: String, among undecided: [UndecidedColumns.Column],
        in table: TrackedTable
    ) throws -> UndecidedColumns.Column {
        var column = column
        column.earlier = (column.earlier ?? []) + [column.name]
        column.name = name
        if column.place == nil {
            // The one that took a name, and leaves it.
            column.former = name
        } else {
            column.named =
                try undecided.first { $0.former.folded == name.folded }?.place ?? newName(name, in: table)
        }
        return column
    }

    /// What logs call a column if it is new; nil where that is its own name.
    private func newName(_ name: String, in table: TrackedTable) throws -> String? {
        let isAnother =
            try connection.integer(
                "SELECT 1 FROM logsync_column WHERE table_id = ? AND log_name = ? COLLATE NOCASE", .integer(table.id),
                .text(name)) != nil
        return try isAnother ? Renames(connection).freeName(like: name, in: table.id, besides: [name]) : nil
    }

    /// What records are noted to hold in undecided columns, by column and record.
    func heldDigests(of columns: [KnownColumn], in table: TrackedTable) throws -> [Int64: [Int64: UInt32]] {
        var held: [Int64: [Int64: UInt32]] = [:]
        for column in columns where column.isUndecided {
            held[column.id] = try UndecidedCells(table, in: store).digests(of: column.name)
        }
        return held
    }
}
