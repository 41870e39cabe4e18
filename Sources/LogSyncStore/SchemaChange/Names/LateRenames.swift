import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns of which another peer has said, after they came here, that they are others: that went, or that never were here.
///
/// A program that skips a release makes the changes of several at once. Where its rows hold nothing that tells, as in an empty
/// table, a column that was renamed goes here, and another comes; one that was added and then renamed comes under its last name
/// alone. A peer that has had each release knows better, and what it says may arrive after this store has looked at the schema.
/// Names may have gone from one column to another besides: then it is said of all columns at once what they are, and counts
/// where no row here has told (``UnprovenColumns``).
struct LateRenames {
    /// A column that is there under a first name of its own.
    struct Column {
        var own: TrackedTable.Column
        /// What it is, by its name in logs.
        var told: String
    }

    private let store: OpenStore
    private var connection: Connection { store.connection }

    init(_ store: OpenStore) { self.store = store }

    func areTold(in catalog: Catalog) throws -> Bool {
        let isAny = try connection.integer("SELECT EXISTS(SELECT 1 FROM logsync_setting WHERE kind = 'rename')") == 1
        return try isAny && catalog.tables.contains { try !columns(of: $0).isEmpty }
    }

    func columns(of table: TrackedTable) throws -> [Column] {
        let noted = try connection.rows(
            "SELECT log_name, dropped, name FROM logsync_column WHERE table_id = ?", .integer(table.id))
        let known = Set(noted.map { String(text: $0[0]).folded })
        // Those of which that has been decided: a column whose name is missing now may only have been renamed.
        let gone = Set(noted.filter { $0[1].asInteger != 0 }.map { String(text: $0[0]).folded })
        let present = Set(table.columns.map { $0.name.folded })
        let keys = Set(table.orderedKeyNames.map { $0.folded })
        let renames = Renames(connection)
        let list = try isOfLaterVersion(table) ? nil : renames.names(of: table.schema, in: table.name)
        // Names that have changed since the last look are not late: they are followed by what rows held then.
        let areLooked = Set(noted.filter { $0[1].asInteger == 0 }.map { String(text: $0[2]).folded })
            .isSuperset(of: list?.keys.filter { table.kind == .natural || $0 != table.schema.integerKey?.folded } ?? [])
        if let list, areLooked, case let columns = try unproven(list, keys, of: table), !columns.isEmpty {
            return columns
        }
        var taken: Set<String> = []
        let found = try table.columns.compactMap { column -> Column? in
            guard let told = try renames.told(column.local, in: table.name), !present.contains(told.folded),
                taken.insert(told.folded).inserted
            else { return nil }
            // A name that has gone from one column to another is this one's in a version of the schema alone.
            guard
                try list.map({ $0[column.local.folded]?.folded == told.folded })
                    ?? (!renames.isTangled(column.local, in: table.name) || isOverruled(column, in: table))
            else { return nil }
            let isNew = !known.contains(told.folded) && !keys.contains(column.name.folded)
            let isLate = try gone.contains(told.folded) || isNew && isSkipped(column, told, of: table)
            return isLate ? Column(own: column, told: told) : nil
        }
        return try found.isEmpty || !UndecidedColumns(connection).of(table.id).isEmpty ? [] : found
    }

    /// The columns that are others than their names alone have told.
    ///
    /// - Parameters:
    ///   - list: what the columns are, by lower-case name.
    ///   - keys: the names in logs of the key's columns, in lower case.
    private func unproven(_ list: [String: String], _ keys: Set<String>, of table: TrackedTable) throws -> [Column] {
        let columns = table.columns.compactMap { column in
            list[column.local.folded].flatMap { told in
                told.folded == column.name.folded ? nil : Column(own: column, told: told)
            }
        }
        let unproven = UnprovenColumns(connection)
        let isUnproven = try columns.allSatisfy { column in
            try !keys.contains(column.own.name.folded) && unproven.contains(column.own, of: table)
        }
        return try isUnproven && UndecidedColumns(connection).of(table.id).isEmpty ? columns : []
    }

    /// Whether this store has skipped the name that a column had before, and that it has never heard of here. A name under
    /// which the peer that renamed another to it had met this column is this one's, if the column was here from the beginning.
    ///
    /// A setting alone is anybody's word: rows have to have values under that name, which this store keeps and cannot show.
    private func isSkipped(_ column: TrackedTable.Column, _ told: String, of table: TrackedTable) throws -> Bool {
        guard column.name.folded == column.local.folded,
            let said = try stamp(ofRename: "\(table.name).\(column.local)"),
            said.peer != store.own
        else { return false }
        let seen = try seen(by: said)
        let clock = ClockTable(table: table, connection: connection)
        let isUnproven = try UnprovenColumns(connection).contains(column, of: table)
        var isKept = false
        for position in try clock.allRows() {
            guard let state = try clock.record(at: position)?.state else { continue }
            let isMet =
                !isUnproven
                && state.cell(column.id).stamps.contains { stamp in
                    stamp.peer == said.peer || seen.map { $0.covers(stamp) } ?? (stamp.time <= said.time)
                }
            if isMet { return false }
            isKept = isKept || state.cellsByName.keys.contains { $0.folded == told.folded }
        }
        return isKept
    }

    /// Whether what this store has said of all columns of so small a table, every row of which a program may have written by then,
    /// is contradicted for one of them by a peer that knew it: the rows of that one tell.
    private func isOverruled(_ column: TrackedTable.Column, in table: TrackedTable) throws -> Bool {
        let target = try Renames.target(table.schema, table.name)
        guard let said = try Renames(connection).said(of: target),
            try FollowedLists(connection).value(target) == said,
            let list = try cell(of: Renames.list, target)?.stamps.max(by: store.precedes),
            let rename = try stamp(ofRename: "\(table.name).\(column.local)"), rename.peer != store.own,
            try UnprovenColumns(connection).contains(column, of: table)
        else { return false }
        let rows =
            try connection.integer(
                "SELECT count(*) FROM (SELECT 1 FROM \(table.clock) LIMIT \(SchemaReconciliation.fewRows))") ?? 0
        return try rows < SchemaReconciliation.fewRows && seen(by: rename)?.covers(list) ?? false
    }

    /// What a peer had seen when it wrote an entry; nil where that is not known any more.
    private func seen(by stamp: Stamp) throws -> Coverage? {
        try store.peers.dependencies(of: stamp.peer, at: stamp.sequence, on: connection).map {
            Coverage($0, peers: store.peers)
        }
    }

    /// Which transaction has said what a name means; nil where that is not recorded yet.
    private func stamp(ofRename target: String) throws -> Stamp? {
        try cell(of: "rename", target)?.stamps.max(by: store.precedes)
    }

    /// Whether what is said of a table's columns is said by one that knew what this store has followed there: they have come to
    /// mean others since, in a later version of the schema that has the same columns again.
    func isOfLaterVersion(_ table: TrackedTable) throws -> Bool {
        let target = try Renames.target(table.schema, table.name)
        guard let followed = try FollowedLists(connection).value(target),
            try Renames(connection).said(of: target) != followed,
            let cell = try cell(of: Renames.list, target)
        else { return false }
        return !cell.versions.contains { $0.value == .text(followed) }
    }

    /// What is known of a setting; nil where it is not recorded yet.
    private func cell(of kind: String, _ target: String) throws -> CellState? {
        guard let settings = store.catalog[SettingTable.name],
            let value = settings.position(named: "value"),
            let row = try connection.integer(
                "SELECT rowid FROM logsync_setting WHERE kind = ? AND target = ? COLLATE NOCASE", .text(kind),
                .text(target))
        else { return nil }
        return try ClockTable(table: settings, connection: connection).record(at: row)?
            .state.cell(settings.columns[value].id)
    }
}

/// A column that is another from now on than it was taken for.
struct RenamedColumn {
    /// The id that it has had.
    let own: Int
    /// Its name in logs until now.
    let name: String
    /// Its id from now on.
    let id: Int
    /// Its name in logs from now on.
    let told: String
    /// The ids under which the column that it is was here before, and has been dropped since.
    let former: [Int]

    /// What a record says of it until now.
    fileprivate struct Written {
        var cell: CellState
        /// What the row holds there; nil where it is not there.
        var digest: UInt32?
        /// Whether that is not what was recorded.
        var isChanged: Bool
        /// Whether that is what was recorded of the column that it is, under its other name.
        var isKnown: Bool
        /// That, as logs have it, where it is as recorded.
        var shown: Value?
        /// Whether that is what the column begins with.
        var isDefault: Bool

        /// Whether a program has written it after what is known of the column that it is, or since it was recorded.
        ///
        /// - Parameters:
        ///   - stamps: of what is known of that column, without what this store has written there by mistake.
        ///   - isAnother: whether what it was until now is another column, so that other peers' writes are that one's.
        ///   - mistaken: whether what this store has written there by mistake is the last of all.
        ///   - former: what the column that it is held when it was dropped here.
        func isLater(
            than stamps: [Stamp], isAnother: Bool, mistaken: Bool, over former: [CellState], _ state: RowClock,
            _ store: OpenStore
        ) -> Bool {
            if isKnown { return false }
            if isChanged { return true }
            let own = isAnother ? cell.stamps.filter { $0.peer == store.own } : cell.stamps
            guard let last = own.max(by: store.precedes) else { return false }
            // With a row that was inserted a column may have come back without what it held.
            if isDefault && cell.isInserted(state) { return false }
            if cell.isFilled(state) { return mistaken || differs(from: former) }
            return stamps.max(by: store.precedes).map { !store.precedes(last, $0) } ?? true
        }

        /// Whether a row holds something, and not what the column that it is held when it was dropped.
        private func differs(from former: [CellState]) -> Bool {
            let versions = former.flatMap(\.versions)
            return !versions.isEmpty && shown != nil && !versions.contains { $0.value == shown }
        }
    }

    /// - Parameter known: the digest that was recorded of the column that it is.
    fileprivate func written(
        in record: inout ClockRecord, _ present: TableReader.Row?, known: UInt32?, of table: TrackedTable,
        _ store: OpenStore
    ) throws -> Written {
        let position = table.columns.firstIndex { $0.id == id }
        let digest = position.flatMap { place in
            present.map { UInt32(truncatingIfNeeded: $0.digests[place]) }
        }
        let recorded = own < record.digests.count ? record.digests[own] : nil
        let shown = try position.flatMap { place in
            try recorded != nil && recorded == digest
                ? present.map { try ShownRows(store).identityValue($0.values[place], place, in: table) } : nil
        }
        let isDefault = position.map { present?.values[$0] == store.defaultValue(of: table, $0) } ?? false
        let cell = record.state.take(own, shown)
        return Written(
            cell: cell, digest: digest, isChanged: recorded != nil && recorded != digest,
            isKnown: known != nil && known == digest, shown: shown, isDefault: isDefault)
    }
}

extension [RenamedColumn] {
    /// The ids of columns in which rows hold what is another's, one that was called as these are until now.
    var ofOthers: Set<Int> { Set(filter(holdsOthers).map(\.id)) }

    private func holdsOthers(_ column: RenamedColumn) -> Bool {
        contains { $0.told.folded == column.name.folded }
    }

    /// Lets a record say of each column what it says of the one that it is, by that name, and keep by the other name what it
    /// says of it. What a program has put there stays: it is recorded again, unless another peer's write is later.
    ///
    /// What a column is may be one of the others until now, so what all of them hold is taken out first.
    func move(
        in record: inout ClockRecord, _ present: TableReader.Row?, in table: TrackedTable, _ store: OpenStore
    ) throws {
        let digests = record.digests
        let found = try map { column in
            let known = first { $0.name.folded == column.told.folded }.map(\.own)
            return try column.written(
                in: &record, present, known: known.flatMap { $0 < digests.count ? digests[$0] : nil }, of: table, store)
        }
        // Those of which none of the others is what they were.
        var left = zip(self, found).map { (name: $0.name, cell: $1.cell) }
        for (column, written) in zip(self, found) {
            let name = record.state.cellsByName.keys.first { $0.folded == column.told.folded } ?? column.told
            var cell = record.state.cellsByName.removeValue(forKey: name) ?? CellState()
            var (stamps, isMistaken) = (cell.stamps, false)
            if let other = left.firstIndex(where: { $0.name.folded == column.told.folded }) {
                let mistaken = left.remove(at: other).cell
                isMistaken = (stamps + mistaken.stamps).max(by: store.precedes)?.peer == store.own
                stamps += mistaken.stamps.filter { $0.peer != store.own }
                cell.add(mistaken)
            }
            let former = column.former.map { record.state.cell($0) }
            let isWritten = written.isLater(
                than: stamps + former.flatMap(\.stamps), isAnother: holdsOthers(column), mistaken: isMistaken,
                over: former, record.state, store)
            for id in column.former { cell.add(record.state.take(id, isWritten ? nil : written.shown)) }
            if !cell.isEmpty { record.state.cellsByName[column.told] = cell }
            guard let digest = written.digest, let present,
                let identity = try record.named ?? ShownRows(store).spelledIdentity(present, in: table)
            else { continue }
            // What it is not said to have held was written since.
            try HeldValues(of: table, on: store.connection)
                .note(isWritten ? ~digest : digest, of: column.told, in: identity)
        }
        for (name, cell) in left where !cell.isEmpty {
            record.state.cellsByName[name, default: CellState()].add(cell)
        }
    }
}

extension CellState {
    fileprivate mutating func add(_ other: CellState) {
        versions += other.versions
        additions += other.additions
    }
}

extension RowClock {
    /// Takes out what is known of a column.
    ///
    /// - Parameter shown: what the table has shown of it, as logs have it; nil where that is not known.
    fileprivate mutating func take(_ column: Int, _ shown: Value?) -> CellState {
        var cell = self.cell(column)
        setCell(column, CellState())
        for index in cell.versions.indices where cell.versions[index].value == nil {
            cell.versions[index].value = shown
        }
        return cell
    }
}

extension SchemaReconciliation {
    /// Takes columns for what another peer has said since that they are.
    func renameLate(
        _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable, _ changes: inout ColumnChanges
    ) throws {
        let late = try LateRenames(store).columns(of: table)
        let columns = late.compactMap { column in
            present.first { $0.element.name == column.own.local }.map { (Int64(column.own.id), column.told, $0) }
        }
        // One that is left alone for now may be what another of them is.
        guard columns.count == late.count else { return }
        try take(columns, in: table, &changes)
    }

    /// Lets columns be the ones that logs call so, each of which another of them may have been.
    ///
    /// - Parameter columns: by their ids until now.
    func take(
        _ columns: [(own: Int64, told: String, place: (offset: Int, element: TableSchema.Column))],
        in table: TrackedTable, _ changes: inout ColumnChanges
    ) throws {
        for column in columns { try markDropped(column.own, of: table) }
        for column in columns {
            let id = try add(column.place.element, called: column.told, at: column.place.offset, to: table)
            changes.decided.append(id)
            changes.renamedLate.append(
                RenamedColumn(
                    own: Int(column.own), name: table.columnNames[Int(column.own)], id: id, told: column.told,
                    former: table.droppedColumns.filter { table.columnNames[$0].folded == column.told.folded }))
        }
    }

    /// Whether the name that a column gets is what other peers have called it from the beginning, as they skipped the one that
    /// it has had here. Rows have values under that name, of which this store never had a column, and most of these are
    /// this one's.
    func isKnown(_ column: KnownColumn, as name: String, in table: TrackedTable) throws -> Bool {
        guard try !isKey(column, of: table), !table.columnNames.contains(where: { $0.folded == name.folded }) else {
            return false
        }
        let none = UInt32(truncatingIfNeeded: table.valueDigest.of(.null))
        let clock = ClockTable(table: table, connection: connection)
        var (same, other) = (0, 0)
        for row in try connection.rows("SELECT row FROM \(table.clock) WHERE extra IS NOT NULL LIMIT 100000") {
            guard let record = try clock.record(at: row[0].asInteger),
                let cell = record.state.cellsByName.first(where: { $0.key.folded == name.folded })?.value,
                let shown = store.shown(cell, table.name, name), record.digests.indices.contains(Int(column.id)),
                case let digest = record.digests[Int(column.id)], digest != none
            else { continue }
            if digest == UInt32(truncatingIfNeeded: table.valueDigest.of(shown)) { same += 1 } else { other += 1 }
        }
        return same > other
    }
}
