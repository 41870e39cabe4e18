import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Merges one transaction of another peer into the store (MODEL.md, replicated state), within the caller's write
/// transaction, when nothing local is pending.
///
/// Rows that one transaction alone has to do with take a short way: an insert of a new row, an update or delete that
/// has seen all there is. Every other row is spelled out (``RowState``), changed as the model says, and put back.
final class Merger {
    let store: OpenStore
    let header: TransactionHeader
    let shownRows: ShownRows
    let stamp: Stamp
    let coverage: Coverage
    /// Whether values have to be read back, because this store's columns may change what they are given.
    let readsBack: Bool
    let dependencies: VersionVector
    var tables: [String: TableChanges] = [:]
    private var counts: [String: ChangeCounts] = [:]
    /// Rows that refer to rows still to come.
    var deferred: [(group: RowGroup, index: Int)] = []
    /// Gives the bytes of values that the transaction names.
    private(set) var blobs: BlobSource?
    /// Rows that a constraint refused, or that were taken out to make room.
    var undecided: [UndecidedRow] = []
    private var undecidedNames = UndecidedNames()
    /// Rows that others may refer to and that are no more, or are called something else.
    var formerRows: [FormerRow] = []

    let dangling: DanglingReferences
    /// Rows that this transaction took though this peer had edited them, as they were (`delete-loses`).
    var lost: [OverriddenRow] = []
    /// What was recorded to bring them back.
    private(set) var revived: RecordedTransaction?

    private var plainInserter: BatchInserter?

    private var connection: Connection { store.connection }

    init(_ store: OpenStore, _ header: TransactionHeader) throws {
        self.store = store
        self.header = header
        shownRows = ShownRows(store)
        dangling = DanglingReferences(store)
        guard case .seen(let dependencies) = try store.peers.dependencies(of: header, on: store.connection) else {
            throw LogSyncError(.malformedLog, "transaction \(header.dot) depends on others that are not here")
        }
        self.dependencies = dependencies
        let author = try store.peers.number(of: header.dot.peer, on: store.connection)
        coverage = store.peers.coverage(of: header) ?? Coverage(dependencies, peers: store.peers)
        stamp = Stamp(peer: author, sequence: header.dot.sequence, time: header.time)
        let schema = try store.schemaFingerprint()
        readsBack = header.schema == nil || header.schema != schema
    }

    func merge(_ incoming: IncomingTransaction) throws -> ImportedTransaction {
        blobs = incoming.blobs
        try incoming.forEachGroup { group in
            counts[group.table, default: ChangeCounts()] += ChangeCounts(
                inserted: group.kind == .insert ? group.rowCount : 0,
                updated: group.kind == .update ? group.rowCount : 0,
                deleted: group.kind == .delete ? group.rowCount : 0)
            let target = GroupTarget(group, store.catalog[group.table])
            for index in try applyPlain(group, target) { try apply(group, index, target, mayDefer: true) }
        }
        try flushPlain()
        try applyDeferred()
        try advance(to: incoming.chain)
        revived = try EditReinsertion(store, shownRows: shownRows).reinsert(lost, in: &undecided)
        // Who stands is decided by the settings as they are with this transaction.
        if tables["logsync_setting"] != nil { try PolicyChange(store: store, shownRows: shownRows).apply() }
        let touched = Set(counts.keys.compactMap { store.catalog[$0]?.id })
        try ShownRowsPass(store, shownRows: shownRows)
            .settle(undecided, formerRows: formerRows, touching: touched) { self.note($0, $1, $2, $3) }
        try dangling.settle()
        return ImportedTransaction(
            dot: header.dot, time: header.time, author: header.author, context: header.context, tables: tables)
    }

    private func advance(to chain: ChainHash) throws {
        try store.peers.advance(stamp.peer, to: header.dot.sequence, chain: chain, on: connection)
        try store.peers.keepDependencies(
            dependencies, hasNews: !header.dependencyChanges.isEmpty, of: stamp.peer, on: connection)
        try History.append(header, peer: stamp.peer, chain: chain, counts: counts, store)
    }

    /// Applies the changes of a group that nothing contests, and returns the others, by index.
    private func applyPlain(_ group: RowGroup, _ target: GroupTarget) throws -> [Int] {
        guard let plain = try BatchInsertMerge(group, target, self), let table = target.table else {
            try flushPlain()
            return try BatchChangeMerge(group, target, self)?.apply() ?? Array(0..<group.rowCount)
        }
        if plainInserter?.table !== table {
            try flushPlain()
            plainInserter = try BatchInserter(table, store, shownRows, stamp)
        }
        guard let plainInserter else { return [] }
        let left = try plain.insert(with: plainInserter)
        if !left.isEmpty { try flushPlain() }
        return left
    }

    /// Others may look for rows that were inserted in this way, and insert such themselves.
    private func flushPlain() throws {
        try plainInserter?.flush()
        plainInserter = nil
    }

    private func applyDeferred() throws {
        while !deferred.isEmpty {
            let waiting = deferred
            deferred = []
            for (group, index) in waiting {
                try apply(group, index, GroupTarget(group, store.catalog[group.table]), mayDefer: true)
            }
            guard deferred.count == waiting.count else { continue }
            // What is left refers to each other in a circle, or to rows that are not there at all.
            try reserveIntegers(to: deferred)
            for (group, index) in deferred {
                try apply(group, index, GroupTarget(group, store.catalog[group.table]), mayDefer: false)
            }
            deferred = []
        }
    }

    /// Rows that refer to each other get their integers before any of them is there.
    private func reserveIntegers(to rows: [(group: RowGroup, index: Int)]) throws {
        let identities = IdentityMap(store: store)
        for (group, index) in rows where group.kind == .insert {
            guard let table = store.catalog[group.table], table.localInteger != nil else { continue }
            let identity = group.identities[index]
            guard try identities.integer(of: identity, in: table) == nil else { continue }
            let hint = group.integers.isEmpty ? nil : group.integers[index]
            try identities.reserve(
                try shownRows.freeInteger(hint: hint, for: identity, in: table), for: identity, in: table)
        }
    }

    // MARK: One row

    func apply(_ group: RowGroup, _ index: Int, _ target: GroupTarget, mayDefer: Bool) throws {
        if let blobs, group.namesBlobs(at: index) { return try applyWhole(group, index, target, mayDefer, blobs) }
        let identity = group.identities[index]
        var stamp = stamp
        stamp.time = group.times[index]
        guard let table = target.table else {
            return try change(group, index, nil, stamp, hidden: try HiddenRows(store).row(group.table, identity))
        }
        if mayDefer, target.hasReferences || table.keyHasReference,
            try refersToMissing(group, index, target)
        {
            deferred.append((group, index))
            return
        }
        let isBound = try group.kind == .delete || satisfiesRules(group, index, target, table)
        if !isBound, mayDefer {
            deferred.append((group, index))
            return
        }
        if !undecided.isEmpty, undecidedNames.mayContain(identity, of: undecided),
            let position = undecided.lastIndex(where: { $0.full.identity == identity && $0.full.table == table.name })
        {
            let row = undecided.remove(at: position)
            undecidedNames = UndecidedNames()
            return try change(group, index, target, stamp, undecided: row)
        }
        let position = try shownRows.locate(identity, in: table)
        if position == nil, let hidden = try HiddenRows(store).row(table.name, identity) {
            return try change(group, index, target, stamp, hidden: hidden)
        }
        guard let position else {
            if group.kind != .insert { try RowGone.check(identity, in: table, store) }
            switch group.kind {
            case .insert where !isBound: return addUndecided(group, index, table, stamp)
            case .insert: return try insertNew(group, index, target, table, stamp)
            case .update: return try change(group, index, target, stamp, hidden: nil)
            case .delete: return
            }
        }
        guard let record = try ClockTable(table: table, connection: connection).record(at: position) else {
            throw LogSyncError(
                .invalidStore, "a row of \(table.name) has no clock record; nothing was imported",
                help: "Run `logsync rescan` on the store.")
        }
        if isBound, try applyDirectly(group, index, target, table, record, at: position, stamp) { return }
        let row = try shownRows.currentRow(identity, at: position, in: table)
        if row == nil, table.hasRowid { throw RowGone(table: table.name, identity: identity) }
        let full = try shownRows.expand(record, row, identity, at: position, in: table)
        try change(group, index, target, stamp, shown: (full, record, row, position))
    }

    private func refersToMissing(_ group: RowGroup, _ index: Int, _ target: GroupTarget) throws -> Bool {
        for case (let column, let name?) in zip(group.columns, target.references) {
            if try shownRows.local(column.values[index], name) == nil { return true }
        }
        guard let table = target.table, table.keyHasReference else { return false }
        return try shownRows.localKey(group.identities[index], in: table) == nil
    }

    /// Whether every row that this one will depend on stands already.
    private func satisfiesRules(
        _ group: RowGroup, _ index: Int, _ target: GroupTarget, _ table: TrackedTable
    ) throws -> Bool {
        guard !store.referenceRules.of(table).isEmpty else { return true }
        let parts = group.kind == .insert ? group.identities[index].naturalParts : nil
        let satisfied = try Neighbours(store, shownRows: shownRows).satisfiesRules(table) { position in
            if let column = target.positions.firstIndex(of: position) { return group.columns[column].values[index] }
            guard group.kind == .insert else { return nil }
            if let parts, let key = table.key.firstIndex(where: { $0.index == position }), parts.indices.contains(key) {
                return parts[key].value
            }
            return store.defaultValue(of: table, position)
        }
        // What cannot be told from this change alone is told when the row is spelled out: another column of the same key
        // may have come from elsewhere.
        return satisfied ?? false
    }

    /// A new row without the parent that it needs.
    private func addUndecided(_ group: RowGroup, _ index: Int, _ table: TrackedTable, _ stamp: Stamp) {
        let integer = group.integers.isEmpty ? nil : group.integers[index]
        var row = RowState(table: table.name, identity: group.identities[index], integer: integer)
        row.insert(stamp, cells: cells(group, index, table), coverage)
        store.countFull(1, row)
        note(table.name, .insert, nil, nil)
        undecided.append(UndecidedRow(full: row))
    }

    /// Notes a row that went, where others may depend on it.
    func noteFormer(_ row: TableReader.Row?, at position: Int64, in table: TrackedTable) {
        guard let row, store.referenceRules.to(table).contains(where: { $0.strength != .unenforced }) else { return }
        formerRows.append(FormerRow(table: table, integer: position, values: row.values))
    }

    // MARK: Short ways

    private func insertNew(
        _ group: RowGroup, _ index: Int, _ target: GroupTarget, _ table: TrackedTable, _ stamp: Stamp
    ) throws {
        let identity = group.identities[index]
        var full: RowState?
        let isPlain = target.isComplete && group.columns.allSatisfy { $0.times.isEmpty && $0.operation == .set }
        if !isPlain {
            var row = RowState(
                table: table.name, identity: identity, integer: group.integers.isEmpty ? nil : group.integers[index])
            row.insert(stamp, cells: cells(group, index, table), coverage)
            full = row
        }
        if let full {
            store.countFull(1, full)
            note(table.name, .insert, nil, nil)
            if try shownRows.showUncontested(full, in: table) {
                try noteKey(of: full, .insert, in: table)
            } else {
                undecided.append(UndecidedRow(full: full))
            }
            return
        }
        let values = try values(group, index, target, table)
        let integer = group.integers.isEmpty ? nil : group.integers[index]
        guard let inserted = try shownRows.insert(values, identity, integer: integer, in: table) else {
            var row = RowState(table: table.name, identity: identity, integer: integer)
            row.insert(stamp, cells: cells(group, index, table), coverage)
            store.countFull(1, row)
            note(table.name, .insert, nil, nil)
            undecided.append(UndecidedRow(full: row))
            return
        }
        let reader = shownRows.reader(table)
        let row: TableReader.Row
        if readsBack,
            let back = try inserted.rowid.map({ try reader.row(at: $0) })
                ?? reader.row(withKey: try shownRows.localKey(identity, in: table) ?? [])
        {
            row = back
        } else {
            row = TableReader.Row(values: values.map { $0 ?? .null })
        }
        var state = RowClock(insertedBy: stamp, columnCount: table.columnCount)
        for column in table.droppedColumns { state.setCell(column, CellState()) }
        if readsBack {
            for (position, given) in values.enumerated() where given != row.values[position] {
                let version = Version(
                    stamp: stamp, value: try shownRows.identityValue(given ?? .null, position, in: table))
                state.setCell(table.columns[position].id, CellState(versions: [version]))
            }
        }
        store.spellOutCounters(&state, shown: row.values, in: table)
        var record = ClockRecord(state, of: identity, shownAs: row, reader)
        record.breaksCheck = inserted.breaksCheck
        _ = try ClockTable(table: table, connection: connection).insert(record, at: inserted.rowid)
        try shownRows.redeemReservation(inserted.rowid, in: table)
        store.count(1, state, row: store.rowDigest(table, identity), table: table)
        note(table.name, .insert, table.primaryKey(of: row, at: inserted.rowid), nil)
    }

    /// An update or delete whose author had seen every entry that it touches. False where it had not.
    private func applyDirectly(
        _ group: RowGroup, _ index: Int, _ target: GroupTarget, _ table: TrackedTable, _ record: ClockRecord,
        at position: Int64, _ stamp: Stamp
    ) throws -> Bool {
        switch group.kind {
        case .insert:
            return false
        case .delete:
            guard record.state.allStamps.allSatisfy(coverage.covers) else { return false }
            let identity = group.identities[index]
            let row = try shownRows.currentRow(identity, at: position, in: table)
            try shownRows.remove(identity, at: position, in: table)
            let uniques =
                table.findsByKeyDigest && !identity.isSurrogate ? [table.keyDigest(identity)] : record.uniques
            try ClockTable(table: table, connection: connection).delete(position, uniques: uniques)
            store.count(-1, record.state, row: store.rowDigest(table, identity), table: table)
            dangling.note(position, identity, in: table)
            shownRows.free(position, of: identity, in: table)
            noteFormer(row, at: position, in: table)
            note(table.name, .delete, row.map { table.primaryKey(of: $0, at: position) }, nil)
            return true
        case .update:
            guard target.isKnown, target.hasNoKey, !record.isReplaced, !record.breaksCheck,
                !names(table, target.positions),
                group.columns.allSatisfy({ $0.operation == .set && $0.times.isEmpty })
            else { return false }
            return try updateDirectly(group, index, target, table, record, at: position, stamp)
        }
    }

    /// Whether rows of other tables name this table's by one of these columns.
    private func names(_ table: TrackedTable, _ positions: [Int?]) -> Bool {
        store.referenceRules.to(table).contains { rule in
            rule.parts.contains { if case .column(let position) = $0 { positions.contains(position) } else { false } }
        }
    }

    private func updateDirectly(
        _ group: RowGroup, _ index: Int, _ target: GroupTarget, _ table: TrackedTable, _ former: ClockRecord,
        at position: Int64, _ stamp: Stamp
    ) throws -> Bool {
        let identity = group.identities[index]
        var record = former
        record.state.extend(to: table.columnCount)
        for case let column? in target.positions {
            guard record.state.cell(table.columns[column].id).isCovered(by: coverage) else { return false }
        }
        let key =
            try table.hasRowid
            ? [.integer(position)] : shownRows.standingKey(identity, at: position, in: table) ?? []
        let condition = table.hasRowid ? "\(table.rowid) = ?" : table.keyCondition
        let assignments = target.positions.compactMap { $0 }.map { "\(SQL.name(table.columns[$0].local)) = ?" }
        let statement = try connection.prepare(
            "UPDATE OR ABORT \(table.quoted) SET \(assignments.joined(separator: ", ")) WHERE \(condition)")
        var argument = 1
        var given: [(position: Int, value: Value, original: Value)] = []
        for (column, place) in zip(group.columns, target.positions) {
            guard let place else { continue }
            let value = try shownRows.localOrReserved(column.values[index], target.reference(of: column, at: place))
            given.append((place, value, column.values[index]))
            statement.bind(value, at: argument)
            argument += 1
        }
        for value in key {
            statement.bind(value, at: argument)
            argument += 1
        }
        let written = try statement.write()
        guard written != .refused else { return false }
        record.breaksCheck = written == .breakingCheck
        guard let row = try shownRows.currentRow(identity, at: position, in: table) else { return false }
        let rowDigest = store.rowDigest(table, identity)
        for (place, value, original) in given {
            let id = table.columns[place].id
            store.count(-1, record.state.cell(id), row: rowDigest, column: table.columnDigests[id])
            store.count(1, row: rowDigest, column: table.columnDigests[id], stamp)
            let isShown =
                row.values[place] == value && !store.policies.isCounter(table.name, table.columns[place].name)
            let kept = isShown ? nil : original
            record.state.setCell(id, CellState(versions: [Version(stamp: stamp, value: kept)]))
        }
        let reader = shownRows.reader(table)
        record.digests = reader.columnDigests(row.digests)
        record.digest = reader.digest(row.digests)
        if !table.findsByKeyDigest { record.uniques = table.uniqueDigests { row.values[$0] } }
        try ClockTable(table: table, connection: connection)
            .update(record, at: position, formerUniques: former.uniques)
        note(table.name, .update, table.primaryKey(of: row, at: position), nil)
        return true
    }
}

extension Merger {
    /// Counts a change of a table, with the row's key where it is known.
    func note(_ table: String, _ kind: RowGroup.Kind, _ key: [Value]?, _ row: RowState?) {
        // In place: a copy would take the list of keys along, once a row.
        tables[table, default: TableChanges()].note(kind, key)
    }

    func noteKey(_ key: [Value], _ kind: RowGroup.Kind, in table: String) {
        tables[table, default: TableChanges()].noteKey(kind, key)
    }
}
