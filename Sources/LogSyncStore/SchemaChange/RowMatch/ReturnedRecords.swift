// The records of rows that a program puts back into a table which it has dropped (Documentation/model.md, particular rules).
//
// The problem. `DROP TABLE t; CREATE TABLE t; INSERT INTO t SELECT … FROM temp.t` in one go leaves the table with its rows,
// which are found to be what they were (`CopiedRows`). With a look after each statement the first finds a table that is
// gone: its rows are hidden, and a missing table deletes nothing. The last one finds rows that were inserted. As new
// ones they would be there twice at every other peer, and what others have written meanwhile would be lost to them.
//
// The rule. What the rows held is kept, as digests, with their integers. A row that comes is the one that has its key,
// or what was the key before the table was made anew; without one, the one that held the same, under its integer, in
// any place where it has none, or, where nothing refers to it, under another if it alone held that. Where most that
// have come hold much of what those under their integers did (`CopiedRows`), all of them are those: the program has
// changed them. A record is put back as it was before, so that what is recorded is the difference, and what others have
// written meanwhile is shown.
//
// An example. Records 1 = Ann and 2 = Bob are kept; another peer has renamed 2 to Rob. The program fills the table with 1 = Ann
// and 2 = Bob: nothing is recorded, and 2 shows Rob.

import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Puts back the records of rows that have just been inserted again, before they are recorded.
struct ReturnedRecords {
    private let store: OpenStore
    private let dropped: DroppedRows
    private let hidden: HiddenRows
    private let shownRows: ShownRows
    private var connection: Connection { store.connection }

    /// So many pairs tell.
    private static let enough = 1_000

    init(_ store: OpenStore) {
        self.store = store
        dropped = DroppedRows(store)
        hidden = HiddenRows(store)
        shownRows = ShownRows(store)
    }

    /// - Returns: the tables, by id, that have got records back.
    func giveBack(_ pending: PendingRows) throws -> Set<Int64> {
        guard store.hasHidden else { return [] }
        var returned: Set<Int64> = []
        // Parents first: what a row refers to says what it holds.
        for table in store.catalog.tables where pending.has(table) && table.hasRowid {
            guard let drop = try dropped.drop(of: table.name) else { continue }
            let isAny = try giveBack(table, Columns(drop, table))
            if isAny { returned.insert(table.id) }
            try dropped.end(table.name, isGoingOn: isAny)
        }
        return returned
    }

    /// Which of a table's columns were there before it was dropped.
    private struct Columns {
        let table: TrackedTable
        /// The places of digests, by column position; nil where the column is new.
        let places: [Int?]
        /// Whether every column that there was is there now, and no other.
        let areAll: Bool
        /// The keys by which rows may have been named: by position and collation.
        let keys: [[TrackedTable.KeyColumn]]

        init(_ drop: DroppedRows.Drop, _ table: TrackedTable) {
            self.table = table
            places = table.columns.map { column in drop.columns.lastIndex { $0.folded == column.name.folded } }
            areAll = places.allSatisfy { $0 != nil } && drop.columns.count == places.count
            let former = (drop.key ?? []).map { table.positions[$0.folded] }
            let before = drop.collations ?? []
            let collations = former.enumerated().map { place, position in
                before.indices.contains(place)
                    ? before[place]
                    : position.flatMap { table.schema.column(table.columns[$0].local) }
                        .flatMap { Collation(rawValue: $0.collation) } ?? .binary
            }
            let key = zip(former, collations).compactMap { position, collation in
                position.map { TrackedTable.KeyColumn(index: $0, collation: collation) }
            }
            keys = [key.count == former.count ? key : [], table.key].filter { !$0.isEmpty }
        }

        /// Columns that were there before, numbered by their digests.
        var known: [TrackedTable.Column] {
            zip(table.columns, places).compactMap { column, place in
                guard let place else { return nil }
                var column = column
                column.id = place
                return column
            }
        }

        /// What a row holds, by the places of digests; nil where not all of them are known.
        func digests(of row: TableReader.Row) -> [UInt32]? {
            guard areAll else { return nil }
            var digests = [UInt32](repeating: 0, count: places.count)
            for (position, place) in places.enumerated() {
                if let place { digests[place] = UInt32(truncatingIfNeeded: row.digests[position]) }
            }
            return digests
        }

        func known(_ values: [Value]) -> [Value] { values.indices.filter { places[$0] != nil }.map { values[$0] } }
    }

    private typealias Found = (row: TableReader.Row, dropped: DroppedRows.Row)

    private func giveBack(_ table: TrackedTable, _ columns: Columns) throws -> Bool {
        let places = try connection.rows(
            """
            SELECT DISTINCT row FROM \(table.pending) WHERE number > \(table.recorded) AND row IS NOT NULL
            AND row NOT IN (SELECT row FROM \(table.clock)) ORDER BY row
            """
        ).map(\.[0].asInteger)
        // As long as all of them are kept.
        var copies = CopiedRows(columns.known, of: table)
        let reader = shownRows.reader(table)
        if table.localInteger != nil {
            for place in places.prefix(Self.enough) {
                guard let row = try reader.row(at: place), let before = try dropped.row(at: place, in: table.name)
                else { continue }
                copies.add(columns.known(row.values), before.digests)
            }
        }
        let areLikely = !copies.isEmpty && copies.areLikely
        var isAny = false
        var left: [Int64] = []
        for place in places {
            guard let row = try reader.row(at: place) else { continue }
            if let dropped = try sure(row, at: place, columns) {
                isAny = try giveBack((row, dropped), at: place, columns) || isAny
            } else if areLikely {
                left.append(place)
            }
        }
        for place in left {
            guard let row = try reader.row(at: place), let before = try dropped.row(at: place, in: table.name)
            else { continue }
            isAny = try giveBack((row, before), at: place, columns) || isAny
        }
        return isAny
    }

    /// The row that a row is beyond doubt: by its key, or because it holds the same, under its integer where it has one.
    private func sure(_ row: TableReader.Row, at place: Int64, _ columns: Columns) throws -> DroppedRows.Row? {
        let table = columns.table
        for key in columns.keys {
            if let found = try named(row, by: key, in: table) { return found }
        }
        if table.localInteger == nil && !table.key.isEmpty { return nil }
        if table.localInteger != nil, let found = try dropped.row(at: place, in: table.name),
            isSame((row, found), columns)
        {
            return found
        }
        guard let digests = columns.digests(of: row) else { return nil }
        let found = try dropped.rows(holding: digests, in: table.name)
        if table.localInteger == nil { return found.first }
        // Under another integer: it alone held that, and no row names it by the former one.
        let tells = row.values.contains(where: \.tellsRows)
        return found.count == 1 && tells && !store.catalog.hasReferrers(table) ? found[0] : nil
    }

    /// The row that was named by what a row holds in the columns of a key.
    private func named(
        _ row: TableReader.Row, by key: [TrackedTable.KeyColumn], in table: TrackedTable
    ) throws -> DroppedRows.Row? {
        let parts = try key.compactMap { column in
            KeyPart(
                try shownRows.identityValue(row.values[column.index], column.index, in: table),
                collation: column.collation)
        }
        guard parts.count == key.count else { return nil }
        let epoch = store.catalog.keys.epoch(of: table.name, key: key.map { table.columns[$0.index].name })
        return try dropped.row(RowIdentity(natural: (epoch.map { [$0] } ?? []) + parts), in: table.name)
    }

    /// - Returns: false where the row is not hidden any more because its table was gone.
    private func giveBack(_ found: Found, at place: Int64, _ columns: Columns) throws -> Bool {
        let (table, row) = (columns.table, found.row)
        guard let hiddenRow = try lost(found.dropped.identity, in: table) else {
            try removeDeleted(found, at: place, columns)
            return false
        }
        var full = RowState(
            table: table.name, identity: hiddenRow.identity, state: hiddenRow.clock,
            integer: table.localInteger == nil ? nil : place)
        // The digests of what it held; of columns that are new, of what these begin with.
        let digests = table.columns.indices.map { position in
            columns.places[position].flatMap { $0 < found.dropped.digests.count ? found.dropped.digests[$0] : nil }
                ?? UInt32(truncatingIfNeeded: table.valueDigest.of(store.defaultValue(of: table, position)))
        }
        for (position, column) in table.columns.enumerated() {
            guard let name = full.state.cellsByName.keys.first(where: { $0.folded == column.name.folded }),
                let versions = full.state.cellsByName[name]?.versions, versions.count > 1
            else { continue }
            // What it showed is here again.
            for index in versions.indices where versions[index].value == nil {
                full.state.cellsByName[name]?.versions[index].value =
                    try shownRows.identityValue(row.values[position], position, in: table)
            }
        }
        var record = try shownRows.compress(full, shownAs: row, in: table)
        store.spellOutCounters(&record.state, shown: row.values, in: table)
        var isSame = true
        for (position, column) in table.columns.enumerated() where record.digests[column.id] != digests[position] {
            record.digests[column.id] = digests[position]
            isSame = false
        }
        if !isSame {
            record.digest = ~record.digest
            // What has come with its table says no time.
            try connection.run(
                "UPDATE \(table.pending) SET ms = ? WHERE number > \(table.recorded) AND row = ? AND ms = 0",
                .integer(store.configuration.clock.now()), .integer(place))
        }
        record.isReplaced = try !isShown(full, as: row, in: table)
        try hidden.take(table.name, hiddenRow.identity)
        let identities = IdentityMap(store: store)
        if let reserved = try identities.reservedInteger(of: hiddenRow.identity, in: table) {
            try identities.release(reserved, in: table)
        }
        _ = try ClockTable(table: table, connection: connection).insert(record, at: place)
        if table.keepsIdentities { try shownRows.keepKey(full, shownAs: row, at: place, in: table, replacing: [:]) }
        try dropped.forget(hiddenRow.identity, of: table.name)
        if record.isReplaced {
            store.hasReplaced = true
            try store.facts.set(StoreFacts.unsettled, .integer(1))
        }
        return true
    }

    /// A row that is hidden because its table was gone.
    private func lost(_ identity: RowIdentity, in table: TrackedTable) throws -> HiddenRows.Row? {
        try hidden.row(table.name, identity).flatMap { $0.state == .unknownTable && $0.clock.isAlive ? $0 : nil }
    }

    /// Others have deleted a row while it was not there: the program has put it back as it was, and means nothing by it, as long
    /// as it fills the table. Later it is a row that is inserted.
    private func removeDeleted(_ found: Found, at place: Int64, _ columns: Columns) throws {
        let (table, identity) = (columns.table, found.dropped.identity)
        let state = try hidden.row(table.name, identity)?.state
        guard state == nil || state == .dead, try dropped.isWaiting(table.name),
            try ClockTable(table: table, connection: connection).row(of: identity) == nil,
            isSame(found, columns),
            // A program's own connection would take what refers to it along.
            try connection.integer("PRAGMA foreign_keys") == 0
        else { return }
        try connection.withoutTriggers { try shownRows.remove(identity, at: place, in: table) }
        try dropped.forget(identity, of: table.name)
    }

    private func isSame(_ found: Found, _ columns: Columns) -> Bool {
        CopiedRows(columns.known, of: columns.table).isSame(columns.known(found.row.values), found.dropped.digests)
    }

    // MARK: When the table comes

    /// Before anything is recorded of a table that may have been dropped.
    func prepare(_ table: TrackedTable) throws {
        try dropped.arrive(table.name)
        guard table.localInteger != nil else { return }
        let identities = IdentityMap(store: store)
        // No other row takes one before the program has filled the table.
        for (identity, integer) in try dropped.places(in: table.name, areDeleted: false) {
            try identities.reserve(integer, for: identity, in: table)
        }
        try noteDeleted(in: table)
    }

    /// Rows that the program had deleted before the table went, and of which nobody has recorded it: their records are put back,
    /// and the deletion is noted as a trigger notes it.
    private func noteDeleted(in table: TrackedTable) throws {
        let nothing = table.columns.map { _ in Value.null }
        let row = TableReader.Row(values: nothing, of: table)
        for (identity, integer) in try dropped.places(in: table.name, areDeleted: true) {
            guard let hiddenRow = try lost(identity, in: table) else { continue }
            let full = RowState(table: table.name, identity: identity, state: hiddenRow.clock, integer: integer)
            try hidden.take(table.name, identity)
            _ = try ClockTable(table: table, connection: connection)
                .insert(shownRows.compress(full, shownAs: row, in: table), at: integer)
            try connection.run(
                "INSERT INTO \(table.pending)(kind, row, ms) VALUES (?, ?, ?)", .integer(Capture.Kind.delete.rawValue),
                .integer(integer), .integer(store.configuration.clock.now()))
            try dropped.forget(identity, of: table.name)
        }
    }

    /// Whether a row shows what others have written to it while it was not there.
    private func isShown(_ full: RowState, as row: TableReader.Row, in table: TrackedTable) throws -> Bool {
        try table.columns.enumerated().allSatisfy { position, column in
            guard let cell = full.state.cellsByName.first(where: { $0.key.folded == column.name.folded })?.value,
                let shown = store.shown(cell, table.name, column.name)
            else { return true }
            return try shown == shownRows.identityValue(row.values[position], position, in: table)
        }
    }
}
