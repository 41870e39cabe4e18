import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The shortest way of merging updates, and deletes whose author had seen every entry of the row.
///
/// ``RowMerge`` goes that way itself for one row at a time; here it is done for a group's rows one after the other, where the
/// table's unique keys all have digests, it has no counters and nothing kept beside it, nobody refers to what is changed, and
/// values stand in this store's columns as they are given. A reference to a row that stands may be changed, too: nothing
/// else is asked of a row that holds it. Where the author of an update had not seen every entry that it touches,
/// the versions are put side by side (``contest(_:_:at:)``). Rows whose record says more than that they are contested,
/// that are not where their identity says, or that a constraint refuses are left, and go the ways that all others go.
final class BatchChangeMerge {
    private let transaction: TransactionMerge
    private let group: RowGroup
    private let table: TrackedTable
    private let positions: [Int]
    /// The columns' names in the table.
    private let names: [String]
    private let clock: BatchClockUpdater
    private let parents: ParentIntegerCache
    /// Finds the rows that are named by ``keys``.
    private let select: Statement
    /// The place of each row in the group, then its identity or the parts of its key.
    private let keys: RowsParameter
    /// The positions of the columns that are read of each row, and where those are that an update touches or a key consists
    /// of: by place among ``positions``, or in the primary key.
    private let read: [Int]
    private let touched: [Int]
    private let primaryKey: [Int]
    /// The values of the update at hand, by place among ``positions``.
    ///
    /// This and the next two are written several times a row, and handed to nobody while they change.
    @exclusivity(unchecked) private var given: [Value]
    /// What the record at hand says: the digests of its columns, by id, and of the whole row.
    @exclusivity(unchecked) private var digests: [UInt32]
    @exclusivity(unchecked) private var digest: UInt64 = 0
    /// Whether an update may change a unique key beside the table's own; then ``values`` are the row's, by position.
    private let touchesUniques: Bool
    private var values: [Value] = []

    private var connection: Connection { transaction.store.connection }
    private var store: OpenStore { transaction.store }

    /// nil where the group is of another kind.
    init?(_ group: RowGroup, _ target: GroupTarget, _ transaction: TransactionMerge) throws {
        let store = transaction.store
        guard group.kind != .insert, target.keepsValues, transaction.undecided.isEmpty,
            let table = target.table,
            store.batching(of: table).isSuperset(of: group.kind == .update ? .mergingUpdates : .mergingDeletes),
            table.conflicts != .probed,
            // A reference may name a row that was folded, or one that has not come.
            !store.hasFolded, !store.hasReserved
        else { return nil }
        if group.kind == .update {
            guard target.isKnown, target.hasNoKey,
                group.columns.allSatisfy({ $0.operation == .set && $0.times.isEmpty })
            else { return nil }
            positions = target.positions.compactMap(\.self)
            guard positions.count == group.columns.count,
                zip(group.columns, positions).allSatisfy({ $0.referencedTable == table.columns[$1].reference }),
                Self.areFree(positions, table, store), !store.awaitsFills(table, in: positions)
            else { return nil }
        } else {
            positions = []
            guard try group.columns.isEmpty && store.tombstoneColumns(of: table).isEmpty else { return nil }
        }
        names = positions.map { table.columns[$0].local }
        guard try !store.isContested(table) else { return nil }
        self.transaction = transaction
        self.group = group
        self.table = table
        clock = try BatchClockUpdater(table, store)
        parents = try ParentIntegerCache(table, store)
        given = [Value](repeating: .null, count: positions.count)
        digests = [UInt32](repeating: 0, count: table.columnCount)
        touchesUniques = !Set(positions).isDisjoint(with: table.uniqueSlots.joined().map(\.index))
        let key = table.primaryKeyPositions
        let read = touchesUniques ? Array(table.columns.indices) : Set(positions + key).sorted()
        self.read = read
        touched = positions.map { Self.cells + (read.firstIndex(of: $0) ?? 0) }
        primaryKey = key.map { Self.cells + (read.firstIndex(of: $0) ?? 0) }
        keys = RowsParameter(width: 1 + (table.storesIdentity ? 1 : table.key.count))
        select = try store.connection.prepare(table.selectSimpleMerge(read), readingRowsOf: keys.width)
    }

    /// Whether nobody names rows by these columns, and the references among them are satisfied by a row that stands.
    private static func areFree(_ positions: [Int], _ table: TrackedTable, _ store: OpenStore) -> Bool {
        let rules = store.referenceRules
        let named = rules.to(table).flatMap(\.parts).compactMap { part in
            if case .column(let position) = part { position } else { nil }
        }
        let held = rules.of(table).filter { rule in
            !rule.isByInteger || table.columns[rule.columns[0]].reference != rule.parent.name
        }
        return Set(positions).isDisjoint(with: named + held.flatMap(\.columns))
    }

    /// Returns the rows that are left, by index.
    func apply() throws -> [Int] {
        try transaction.notes.withChanges(of: table.name) { changes in
            try group.kind == .update ? update(&changes) : delete(&changes)
        }
    }

    // MARK: Finding

    /// What ``select`` gives: the row's place in the group, its record, the rowid, and the columns that are ``read``.
    private static let record = 1
    private static let rowid = record + BatchClockUpdater.columnCount
    private static let digest = rowid + 1
    private static let cells = digest + 2

    /// Finds the rows of the group with their records, some at a time. Where records are found by a key, the table's own
    /// says which it is.
    ///
    /// A row is changed while it is being read: that disturbs nobody, as each is looked for by its key, which stays.
    ///
    /// - Parameter body: is given a row's index; returns whether it is done.
    /// - Returns: the rows that are not, by index.
    private func forEachRow(_ body: (Int) throws -> Bool) throws -> [Int] {
        var isDone = [Bool](repeating: false, count: group.rowCount)
        var next = 0
        while next < group.rowCount {
            keys.removeAll()
            while next < group.rowCount, keys.count < RowsParameter.batch {
                append(next)
                next += 1
            }
            try keys.read(with: select) {
                try clock.take(select, from: Self.record)
                let index = Int(select.integer(0))
                isDone[index] = try body(index)
            }
        }
        return isDone.indices.filter { !isDone[$0] }
    }

    /// Adds what a row is found by.
    private func append(_ index: Int) {
        let identity = group.identities[index]
        guard identity.isSurrogate == (table.kind == .surrogate), !group.namesBlobs(at: index) else { return }
        if table.storesIdentity {
            keys.append(Int64(index))
            return identity.bytes.withUnsafeBytes { keys.append(blob: $0) }
        }
        guard let parts = identity.naturalParts, parts.count == table.key.count else { return }
        keys.append(Int64(index))
        for part in parts { keys.append(part.value) }
    }

    private func rowDigest(_ content: UInt64) -> UInt64 { Digest.mix(table.nameDigest, content) }

    private func contentDigest(_ identity: RowIdentity) -> UInt64 {
        Digest.of(bytes: identity.bytes, seed: Digest.blobSeed)
    }

    private func note(_ changes: inout TableChanges, _ kind: RowGroup.Kind, listed: Int, at rowid: Int64) {
        guard listed < TableChanges.maximumKeys else { return changes.note(kind, nil) }
        changes.note(kind, primaryKey.isEmpty ? [.integer(rowid)] : primaryKey.map(select.value), columns: names)
    }

    // MARK: Updates

    private func update(_ changes: inout TableChanges) throws -> [Int] {
        let statement = try connection.prepare(table.update(positions))
        var changed: UInt64 = 0
        for position in positions { changed |= 1 << UInt64(position) }
        var stamp = transaction.stamp
        return try forEachRow { index in
            guard !table.isOfOtherKey(group.identities[index], clock.cellsByName), try gather(index) else {
                return false
            }
            stamp.time = group.times[index]
            let rowid = select.integer(Self.rowid)
            takeDigests()
            if touchesUniques { values = read.indices.map { select.value(Self.cells + $0) } }
            let row = rowDigest(contentDigest(group.identities[index]))
            let listed = changes.updated.count
            if clock.allSatisfy(positions, transaction.coverage.covers) {
                guard try show(positions.indices, with: statement, at: rowid) else { return false }
                try clock.write(at: rowid, row: row, changed, positions, stamp, digests: digests, digest: digest)
            } else {
                guard try contest(stamp, row, at: rowid) else { return false }
            }
            if touchesUniques { try clock.follow(uniques: table.uniqueDigests { values[$0] }, at: rowid) }
            note(&changes, .update, listed: listed, at: rowid)
            return true
        }
    }

    private func takeDigests() {
        digest = UInt64(bitPattern: select.integer(Self.digest))
        select.withBytes(Self.digest + 1) { bytes in
            for id in digests.indices { digests[id] = bytes.loadUnaligned(fromByteOffset: id * 4, as: UInt32.self) }
        }
    }

    /// Puts the values of an update into ``given``, as this store has them; false where a reference leads nowhere yet.
    private func gather(_ index: Int) throws -> Bool {
        for (place, position) in positions.enumerated() {
            guard let value = try parents.local(group.columns[place].values[index], at: position) else { return false }
            given[place] = value
        }
        return true
    }

    /// Writes given values to the row, and their digests into ``digests`` and ``digest``. False where a constraint refuses
    /// them; then nothing was changed.
    ///
    /// - Parameter places: among ``positions``; the statement's arguments in this order, then the rowid.
    private func show(_ places: some Collection<Int>, with statement: Statement, at rowid: Int64) throws -> Bool {
        var argument = 1
        for place in places {
            statement.bind(given[place], at: argument)
            argument += 1
        }
        statement.bind(rowid, at: argument)
        guard try statement.writeOrRefuse() else { return false }
        for place in places {
            let id = table.columns[positions[place]].id
            let new = table.valueDigest.of(given[place])
            digest &-= Digest.mix(select.digest(touched[place], by: table.valueDigest), UInt64(id))
            digest &+= Digest.mix(new, UInt64(id))
            digests[id] = UInt32(truncatingIfNeeded: new).littleEndian
            if touchesUniques { values[positions[place]] = given[place] }
        }
        return true
    }

    /// Adds the versions of an update to versions that its author had not seen. The policy says which one is shown: the new
    /// one, or what is shown already. False where it is another one, which this store might show otherwise than it says,
    /// where the cell holds a reference or was counted, or where a constraint refuses the row; then nothing was changed.
    private func contest(_ stamp: Stamp, _ row: UInt64, at rowid: Int64) throws -> Bool {
        var cells: [(id: Int, cell: CellState)] = []
        var shown: [Int] = []
        for (place, position) in positions.enumerated() {
            let column = table.columns[position]
            guard column.reference == nil else { return false }
            let present = select.value(touched[place])
            var cell = clock.cell(column.id)
            guard cell.additions.isEmpty else { return false }
            cell.versions.removeAll { transaction.coverage.covers($0.stamp) }
            for index in cell.versions.indices where cell.versions[index].value == nil {
                cell.versions[index].value = present
            }
            cell.versions.append(Version(stamp: stamp, value: given[place]))
            let value = store.shown(cell, table.name, column.name)
            if value != present {
                guard value == given[place] else { return false }
                shown.append(place)
            }
            for index in cell.versions.indices where cell.versions[index].value == value {
                cell.versions[index].value = nil
            }
            cells.append((column.id, cell))
        }
        if !shown.isEmpty {
            let statement = try connection.prepare(table.update(shown.map { positions[$0] }))
            guard try show(shown, with: statement, at: rowid) else { return false }
        }
        try clock.write(at: rowid, row: row, cells, digests: digests, digest: digest)
        return true
    }

    // MARK: Deletes

    private func delete(_ changes: inout TableChanges) throws -> [Int] {
        let statement = try connection.prepare(table.deleteByRowid)
        let record = try connection.prepare(table.deleteClock)
        var digests = KeyDigests()
        let left = try forEachRow { index in
            guard clock.allStamps.allSatisfy(transaction.coverage.covers) else { return false }
            let identity = group.identities[index]
            let rowid = select.integer(Self.rowid)
            note(&changes, .delete, listed: changes.deleted.count, at: rowid)
            statement.bind(rowid, at: 1)
            try statement.run()
            record.bind(rowid, at: 1)
            try record.run()
            let content = contentDigest(identity)
            clock.discount(row: rowDigest(content))
            if table.findsByKeyDigest { digests.append(TrackedTable.fold(content), row: rowid) }
            for digest in clock.uniques where digest != 0 { digests.append(digest, row: rowid) }
            if table.localInteger != nil {
                transaction.dangling.note(rowid, identity, in: table)
                transaction.shownRows.integers.free(rowid, of: identity, in: table)
            }
            return true
        }
        try digests.remove(from: table, on: connection)
        return left
    }
}

extension TrackedTable {
    /// Takes identities, or the parts of natural keys, each after a number; gives that number, a plain record, its row's
    /// number, and columns of the row by position.
    fileprivate func selectSimpleMerge(_ positions: [Int]) -> String {
        if let known = simpleMerges[positions] { return known }
        let cells = positions.map { ", t.\(SQL.name(columns[$0].local))" }.joined()
        // A plus keeps a column of ours from having a say in how values are compared.
        let found =
            storesIdentity
            ? "c.identity = s.c1"
            : keyColumnNames.enumerated().map { "t.\(SQL.name($1)) = +s.c\($0 + 1)" }.joined(separator: " AND ")
        let width = storesIdentity ? 2 : key.count + 1
        let tables =
            storesIdentity
            ? "\(clock) AS c CROSS JOIN \(quoted) AS t" : "\(quoted) AS t CROSS JOIN \(clock) AS c"
        let sql = """
            SELECT s.c0, \(BatchClockUpdater.columns), c.row, c.digest, c.digests\(cells)
            FROM logsync_rows_\(width)(?) AS s CROSS JOIN \(tables)
            WHERE c.row = t.\(rowid) AND \(found) AND \(BatchClockUpdater.condition(self))
            """
        simpleMerges[positions] = sql
        return sql
    }
}
