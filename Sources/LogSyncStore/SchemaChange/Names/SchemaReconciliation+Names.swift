import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Names that have gone from one column to another.
extension SchemaReconciliation {
    /// Follows columns whose names have gone from one to the other, so that a name says nothing: `RENAME x TO old_x`, then
    /// `RENAME y TO x`, or a name that a new column took.
    ///
    /// ALTER TABLE leaves columns where they are, and in their order where it drops one. So where columns at their
    /// old places have other names, the values tell which of both is meant: more of them are as the records have them by the
    /// places, or by the names. Where they do not tell, and nobody has, columns are what they are called if ``ColumnPlaces``
    /// allow it: one was dropped, and another added.
    ///
    /// - Returns: the columns that are called otherwise, and those of which nothing tells.
    func shifted(
        _ known: [KnownColumn], _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable,
        _ schema: TableSchema
    ) throws -> MovedNames {
        guard try Capture.isInstalled(table, on: connection) else {
            return try exchanged(known, present, in: table, schema)
        }
        let shifts = try (0...cameBack(known, present, in: table, schema)).compactMap { count in
            Shift(known, present, without: count)
        }
        guard var shift = shifts.first else { return .none }
        if shifts.count > 1 {
            var most = try score(shift.byPlace, in: table, schema)
            for other in shifts.dropFirst() {
                let score = try score(other.byPlace, in: table, schema)
                if score > most { (shift, most) = (other, score) }
            }
        }
        let (known, present, byPlace, byName) = (shift.known, shift.present, shift.byPlace, shift.byName)
        var (places, names) = (try score(byPlace, in: table, schema), try score(byName, in: table, schema))
        let isToldByValues = names > places
        if places == names {
            // Nothing is in them: what another peer has said. What was said of a name that is still there says what it was.
            (places, names) = (try told(byPlace, table), 0)
            let moved = byPlace.filter { $1.name.folded != $0.name.folded }
            let isExchange = Set(moved.map { $0.0.name.folded }) == Set(moved.map { $0.1.name.folded })
            if places == names, isExchange, try moved.allSatisfy({ try !isKey($0.0, of: table) }) {
                return MovedNames(
                    undecided: moved.map { column, new in
                        (column, new, known.first { $0.name.folded == new.name.folded })
                    })
            }
            if places == names, !isExchange {
                if ColumnPlaces(known, present).canBeAsNamed {
                    // What rows hold that were written since says less, but no less than the places.
                    places = try score(byPlace, in: table, schema, countsWritten: true)
                    names = try score(byName, in: table, schema, countsWritten: true)
                } else if try !moved.contains(where: { try isContradicted($0.0, by: $0.1, in: table, schema) }) {
                    places += 1
                }
            }
        }
        guard places > names else {
            // Another peer may have no values that tell.
            for (column, new) in byName where try isToldByValues && !isKey(column, of: table) {
                guard byPlace.contains(where: { $0.1.name == new.name && $0.0.id != column.id }),
                    let logName = logName(of: column, in: table)
                else { continue }
                try Settings(store).set("rename", "\(table.name).\(new.name)", logName)
            }
            return .none
        }
        // The last of them may have been dropped, and a new one be at its place.
        let renamed = try byPlace.filter { column, new in
            try new.name.folded != column.name.folded && !isContradicted(column, by: new, in: table, schema)
        }
        return MovedNames(renamed: renamed)
    }

    /// How many columns ALTER TABLE may have dropped and added again, after all others, so that nothing of what they held is
    /// there.
    private func cameBack(
        _ known: [KnownColumn], _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable,
        _ schema: TableSchema
    ) throws -> Int {
        var back: Set<Int64> = []
        for (_, new) in present.reversed() {
            guard let column = known.first(where: { $0.name.folded == new.name.folded }),
                known.contains(where: { $0.ordinal > column.ordinal && !back.contains($0.id) }),
                try isContradicted(column, by: new, in: table, schema)
            else { break }
            back.insert(column.id)
        }
        return back.count
    }

    /// Columns, with what stands at their places and what bears their names by now, where that is not the same.
    private struct Shift {
        let known: [KnownColumn]
        let present: [(offset: Int, element: TableSchema.Column)]
        let byPlace: [(KnownColumn, TableSchema.Column)]
        let byName: [(KnownColumn, TableSchema.Column)]

        /// - Parameter count: so many of the last columns were dropped and added again.
        init?(_ known: [KnownColumn], _ present: [(offset: Int, element: TableSchema.Column)], without count: Int) {
            let back = Set(present.suffix(count).map { $0.element.name.folded })
            let (known, present) = (known.filter { !back.contains($0.name.folded) }, Array(present.dropLast(count)))
            // Fewer, where others were dropped: what is left stands in the same order.
            let left =
                present.count < known.count || count > 0
                ? SchemaReconciliation.placed(known, at: present) : known
            guard !left.isEmpty else { return nil }
            byPlace = left.compactMap { column in
                present.first { $0.offset == column.ordinal && $0.element.declaredType == column.type }.map {
                    (column, $0.element)
                }
            }
            let byName = left.compactMap { column in
                present.first { $0.element.name.folded == column.name.folded }.map { (column, $0.element) }
            }
            let isShifted = byPlace.contains { column, new in
                // The name is another column's, or the column's former name is at another place.
                new.name.folded != column.name.folded
                    && (byName.contains { $0.1.name.folded == new.name.folded }
                        || byName.contains { $0.0.id == column.id })
            }
            guard byPlace.count == left.count, isShifted else { return nil }
            (self.known, self.present, self.byName) = (known, present, byName)
        }
    }

    /// Whether rows that have not been written since hold nothing in a column of what their records have of the one that it
    /// would be: ALTER TABLE would have left that there.
    func isContradicted(
        _ column: KnownColumn, by new: TableSchema.Column, in table: TrackedTable, _ schema: TableSchema
    ) throws -> Bool {
        let found = try agreement(of: column, with: new.name, in: table, schema)
        return found.records > 0 && found.same == 0
    }

    /// The columns whose names are all that a table has now, with the places at which these stand; none where others have come.
    fileprivate static func placed(
        _ known: [KnownColumn], at present: [(offset: Int, element: TableSchema.Column)]
    ) -> [KnownColumn] {
        let names = Set(present.map { $0.element.name.folded })
        let left = known.filter { names.contains($0.name.folded) }.sorted { $0.ordinal < $1.ordinal }
        guard left.count == present.count else { return [] }
        return zip(left, present).map { column, place in
            var column = column
            column.ordinal = place.offset
            return column
        }
    }

    /// How many values are as the records have them, if these columns are those.
    private func score(
        _ pairs: [(KnownColumn, TableSchema.Column)], in table: TrackedTable, _ schema: TableSchema,
        countsWritten: Bool = false
    ) throws -> Int {
        try pairs.reduce(0) {
            try $0
                + agreement(of: $1.0, with: $1.1.name, in: table, schema, countsWritten: countsWritten).same
        }
    }

    /// A rebuild may put columns at other places, give their names to each other, or both (``ExchangedNames``). One that
    /// leaves the order of their names as it is has written values. Others may have come, gone or been renamed at once, so
    /// places are those among the names that were there before.
    private func exchanged(
        _ known: [KnownColumn], _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable,
        _ schema: TableSchema
    ) throws -> MovedNames {
        let names = Set(present.map { $0.element.name.folded })
        let columns = known.sorted { $0.ordinal < $1.ordinal }.filter { names.contains($0.name.folded) }
        let places = Dictionary(columns.enumerated().map { ($1.name.folded, $0) }) { first, _ in first }
        let order = present.compactMap { places[$0.element.name.folded] }
        guard order != Array(columns.indices), Set(order).count == columns.count else { return .none }
        if let handed = try handedOn(columns, present, in: table, schema) { return handed }
        let there = columns.compactMap { schema.column($0.name) }
        guard there.count == columns.count else { return .none }
        let areKeys = try columns.map { try isKey($0, of: table) }
        let choices = columns.indices.map { column in
            areKeys[column]
                ? []
                : columns.indices.filter {
                    $0 != column && !areKeys[$0] && columns[column].type == there[$0].declaredType
                }
        }
        let exchanged = ExchangedNames(
            rows: try digests(of: there, in: table, schema), records: try digests(of: columns, in: table),
            choices: choices, none: UInt32(truncatingIfNeeded: table.valueDigest.of(.null)))
        switch exchanged.finding(places: order) {
        case .none: return .none
        case .renamed(let renaming):
            return MovedNames(
                renamed: renaming.enumerated().filter { $0.offset != $0.element }.map { (columns[$0], there[$1]) })
        case .undecided(let renaming):
            return MovedNames(
                undecided: renaming.enumerated().filter { $0.offset != $0.element }.map { column, new in
                    (columns[column], there[new], columns[new])
                })
        }
    }

    /// So many rows are compared.
    static let compared = 100_000

    /// What rows hold.
    private func digests(
        of columns: [TableSchema.Column], in table: TrackedTable, _ schema: TableSchema
    ) throws -> [[UInt32]] {
        let statement = try Statement(
            "SELECT \(SQL.list(columns.map(\.name))) FROM \(SQL.name(schema.name)) LIMIT \(Self.compared)",
            on: connection)
        var rows: [[UInt32]] = []
        while try statement.step() {
            rows.append(columns.indices.map { UInt32(truncatingIfNeeded: statement.digest($0, by: table.valueDigest)) })
        }
        return rows
    }

    /// What records say.
    private func digests(of columns: [KnownColumn], in table: TrackedTable) throws -> [[UInt32]] {
        let none = UInt32(truncatingIfNeeded: table.valueDigest.of(.null))
        let held = try heldDigests(of: columns, in: table)
        let statement = try Statement("SELECT digests, row FROM \(table.clock) LIMIT \(Self.compared)", on: connection)
        var records: [[UInt32]] = []
        while try statement.step() {
            let (digests, row) = (statement.withBytes(0, ClockTable.digests), statement.integer(1))
            records.append(
                columns.map { column in
                    if let held = held[column.id] { return held[row] ?? none }
                    return digests.indices.contains(Int(column.id)) ? digests[Int(column.id)] : none
                })
        }
        return records
    }

    /// How many of these pairs another peer or `logsync migrate` has named.
    private func told(_ pairs: [(KnownColumn, TableSchema.Column)], _ table: TrackedTable) throws -> Int {
        try pairs.count { try isToldRename(of: $0.0, to: $0.1.name, table) }
    }

    /// Takes columns for what another peer has found those of precisely this schema to be, unless the values here say that
    /// they are not.
    ///
    /// - Parameter told: the names in logs by lower-case name.
    /// - Returns: the names in logs of columns that are new here; nil where the values contradict.
    func adopt(
        _ told: [String: String], _ known: [KnownColumn],
        _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable, _ schema: TableSchema,
        _ changes: inout ColumnChanges
    ) throws -> [String: String]? {
        func pairs(_ isSame: (KnownColumn, (offset: Int, element: TableSchema.Column)) -> Bool)
            -> [(KnownColumn, TableSchema.Column)]
        {
            known.compactMap { column in present.first { isSame(column, $0) }.map { (column, $0.element) } }
        }
        let meant = pairs { column, new in
            told[new.element.name.folded]?.folded == table.columnNames[Int(column.id)].folded
        }
        let byName = pairs { $1.element.name.folded == $0.name.folded }
        let byPlace = pairs { $1.offset == $0.ordinal && $1.element.declaredType == $0.type }
        let isAsKnown =
            meant.count == known.count && meant.allSatisfy { $0.name.folded == $1.name.folded }
        if !isAsKnown {
            let score = try score(meant, in: table, schema)
            if try self.score(byName, in: table, schema) > score { return nil }
            if try present.count >= known.count && self.score(byPlace, in: table, schema) > score { return nil }
        }
        for (column, new) in meant where column.name.folded != new.name.folded {
            try rename(column, to: new, in: table)
        }
        for column in known where !meant.contains(where: { $0.0.id == column.id }) {
            try markDropped(column.id, of: table)
            changes.dropped.append(Int(column.id))
        }
        return told
    }

    /// Columns that ALTER TABLE has added before one that took a known column's name, and that are called after that name:
    /// each had the name for a while, in several migrations of which nobody has looked in between (`note` is renamed to
    /// `note_1`, a new `note` comes, and the same again). They are named as after a look at each.
    ///
    /// - Parameter former: the columns as they were known before.
    /// - Returns: names in logs by lower-case name.
    func namesTakenInTurn(
        _ added: [(offset: Int, element: TableSchema.Column)], _ former: [KnownColumn], in table: TrackedTable
    ) throws -> [String: String] {
        guard added.count > 1, try Capture.isInstalled(table, on: connection) else { return [:] }
        var names: [String: String] = [:]
        let present = try columns(of: table)
        for last in added {
            let name = last.element.name
            // A known column was called so, and is called something else now.
            guard
                let moved = former.first(where: { $0.name.folded == name.folded }),
                present.contains(where: { $0.id == moved.id && $0.name.folded != name.folded })
            else { continue }
            for column in added where column.offset < last.offset {
                let other = column.element.name
                guard other.folded.hasPrefix(name.folded) || other.folded.hasSuffix(name.folded),
                    column.element.declaredType == last.element.declaredType,
                    try Renames(connection).told(other, in: table.name) == nil
                else { continue }
                names[other.folded] = try Renames(connection).freeName(
                    like: name, in: table.id, besides: Set(names.values))
            }
            if !names.isEmpty, try Renames(connection).told(name, in: table.name) == nil {
                names[name.folded] = try Renames(connection).freeName(
                    like: name, in: table.id, besides: Set(names.values))
            }
        }
        return names
    }

    /// Says to other peers what each column is, where a name by itself does not.
    func tell(_ schema: TableSchema, of table: TrackedTable) throws {
        let rows = try connection.rows(
            "SELECT name, log_name, dropped FROM logsync_column WHERE table_id = ?", .integer(table.id))
        let known = rows.filter { $0[2].asInteger == 0 }.map { (String(text: $0[0]), String(text: $0[1])) }
        let first = Set(rows.map { String(text: $0[1]).folded })
        // A name that was another column's before, or has come back to its own.
        let renames = Renames(connection)
        let isTangled = try known.contains { name, logName in
            try name.folded == logName.folded
                ? renames.told(name, in: table.name) != nil : first.contains(name.folded)
        }
        // Where another peer knows a column better, that is taken up first (``LateRenames``).
        let gone = first.subtracting(known.map { $0.1.folded })
        let isKnownBetter = try known.contains { name, _ in
            try renames.told(name, in: table.name).map { gone.contains($0.folded) } ?? false
        }
        let (target, names) = try listed(schema, table)
        let (said, followed) = (try renames.said(of: target), FollowedLists(connection))
        let value = try KeyList.encode(names)
        if said == value { return try followed.note(target, value) }
        // What was said of an earlier version with these columns has been followed.
        guard try said == nil ? isTangled : followed.value(target) == said, !isKnownBetter,
            Set(names.map { $0.folded }).count == names.count
        else { return }
        try Settings(store).set(Renames.list, target, value)
        try followed.note(target, value)
    }

    /// Notes that a table's columns are what is said of them. A store has not noted that which an earlier version has made.
    func noteFollowed(_ table: TrackedTable) throws {
        let (target, names) = try listed(table.schema, table)
        guard let said = try Renames(connection).said(of: target), try KeyList.encode(names) == said else { return }
        try FollowedLists(connection).note(target, said)
    }

    /// What the setting is called that says of all columns of a table what they are, and what they are here.
    private func listed(_ schema: TableSchema, _ table: TrackedTable) throws -> (target: String, names: [String]) {
        let known = try connection.rows(
            "SELECT name, log_name FROM logsync_column WHERE table_id = ? AND NOT dropped", .integer(table.id)
        ).map { (String(text: $0[0]).folded, String(text: $0[1])) }
        let names = schema.columns.filter { !$0.isGenerated }.map { column in
            known.first { $0.0 == column.name.folded }?.1 ?? column.name
        }
        return (try Renames.target(schema, table.name), names)
    }
}
