import LogFormat
import LogModel

/// The shortest way of merging updates, and deletes whose author had seen every entry of the row.
///
/// ``Merger`` goes that way itself for one row at a time; here it is done for a group's rows one after the other, where the
/// table's unique keys all have digests, it has no counters and nothing kept beside it, nobody refers to what is changed, and
/// values stand in this store's columns as they are given. A reference to a row that stands may be changed, too: nothing
/// else is asked of a row that holds it. Where the author of an update had not seen every entry that it touches,
/// the versions are put side by side (``contest(_:_:_:)``). Rows whose record says more than that they are contested,
/// that are not where their identity says, or that a constraint refuses are left, and go the ways that all others go.
final class PlainChanging {
    private let merger: Merger
    private let group: RowGroup
    private let table: TrackedTable
    private let positions: [Int]
    private let clock: ClockUpdater
    private let parents: KnownParents
    private let select: Statement
    /// The values of the update at hand, by place among ``positions``.
    private var given: [Value]
    /// The digests of the row at hand, by position, and as its record has them.
    private var digests: [UInt64]
    private var record: [UInt32]
    /// Whether an update may change a unique key beside the table's own; then ``values`` are the row's, by position.
    private let touchesUniques: Bool
    private var values: [Value] = []

    private var connection: Connection { merger.session.connection }
    private var session: Session { merger.session }

    /// nil where the group is of another kind.
    init?(_ group: RowGroup, _ target: GroupTarget, _ merger: Merger) throws {
        let session = merger.session
        guard group.kind != .insert, !merger.readsBack, merger.floating.isEmpty, let table = target.table,
            ClockAppender.suits(table, session), 1...64 ~= table.columns.count, table.name != "logsync_setting",
            !table.keyHasReference, !session.hasFolded, !session.hasReserved
        else { return nil }
        switch table.kind {
        case .natural: break
        case .surrogate: guard table.localInteger != nil else { return nil }
        case .columns: return nil
        }
        if group.kind == .update {
            guard target.isKnown, target.hasNoKey,
                group.columns.allSatisfy({ $0.operation == .set && $0.times.isEmpty })
            else { return nil }
            positions = target.positions.compactMap(\.self)
            guard positions.count == group.columns.count,
                zip(group.columns, positions).allSatisfy({ $0.referencedTable == table.columns[$1].reference }),
                Self.areFree(positions, table, session)
            else { return nil }
        } else {
            positions = []
            guard group.columns.isEmpty, session.foreignRules.to(table).allSatisfy({ $0.strength == .loose }) else {
                return nil
            }
        }
        guard try !KeptRows(session).hasAny(of: table) else { return nil }
        self.merger = merger
        self.group = group
        self.table = table
        clock = try ClockUpdater(table, session)
        parents = try KnownParents(table, session)
        given = [Value](repeating: .null, count: positions.count)
        digests = [UInt64](repeating: 0, count: table.columns.count)
        record = [UInt32](repeating: 0, count: table.columnCount)
        touchesUniques = !Set(positions).isDisjoint(with: table.uniqueSlots.joined().map(\.index))
        select = try session.connection.prepare(table.selectPlainMerge)
    }

    /// Whether nobody names rows by these columns, and the references among them are satisfied by a row that stands.
    private static func areFree(_ positions: [Int], _ table: TrackedTable, _ session: Session) -> Bool {
        let rules = session.foreignRules
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
        defer { select.reset() }
        var changes = merger.tables.removeValue(forKey: table.name) ?? TableChanges()
        let left = try group.kind == .update ? update(&changes) : delete(&changes)
        if changes != TableChanges() { merger.tables[table.name] = changes }
        return left
    }

    // MARK: Finding

    /// What ``select`` gives beside the record: the rowid, then the row's columns.
    private static let rowid = ClockUpdater.columnCount
    private static let cells = ClockUpdater.columnCount + 1

    /// Reads the row of an identity with its record. Where that is found by a key, the table's own says which it is.
    private func find(_ identity: RowIdentity) throws -> Bool {
        select.reset()
        guard identity.isSurrogate == (table.kind == .surrogate) else { return false }
        if table.storesIdentity {
            select.bind(blob: identity.bytes, at: 1)
        } else {
            guard let parts = identity.naturalParts, parts.count == table.key.count else { return false }
            for (index, part) in parts.enumerated() { select.bind(part.value, at: index + 1) }
        }
        guard try select.step() else { return false }
        try clock.take(select)
        return true
    }

    private func rowDigest(_ content: UInt64) -> UInt64 { Digest.mix(table.nameDigest, content) }

    private func contentDigest(_ identity: RowIdentity) -> UInt64 {
        Digest.of(bytes: identity.bytes, seed: Digest.blobSeed)
    }

    private func note(_ changes: inout TableChanges, _ kind: RowGroup.Kind, listed: Int, at rowid: Int64) {
        guard listed < TableChanges.maximumKeys else { return changes.note(kind, nil) }
        let values = table.columns.indices.map { select.value(Self.cells + $0) }
        changes.note(kind, table.primaryKey(of: TableReader.Row(undigested: values), at: rowid))
    }

    // MARK: Updates

    private func update(_ changes: inout TableChanges) throws -> [Int] {
        let statement = try connection.prepare(table.update(positions))
        var changed: UInt64 = 0
        for position in positions { changed |= 1 << UInt64(position) }
        var left: [Int] = []
        var stamp = merger.stamp
        for index in 0..<group.rowCount {
            let identity = group.identities[index]
            guard !group.namesBlobs(at: index), try gather(index), try find(identity) else {
                left.append(index)
                continue
            }
            stamp.time = group.times[index]
            let rowid = select.integer(Self.rowid)
            for position in digests.indices { digests[position] = select.digest(Self.cells + position) }
            if touchesUniques { values = table.columns.indices.map { select.value(Self.cells + $0) } }
            note(&changes, .update, listed: changes.updated.count, at: rowid)
            let row = rowDigest(contentDigest(identity))
            let isDone: Bool
            if clock.allSatisfy(positions, merger.coverage.covers) {
                // What is being read would have to be found again once it is written.
                select.reset()
                isDone = try show(positions.indices, with: statement, at: rowid)
                if isDone {
                    let sum = gatherRecord()
                    try clock.write(at: rowid, row: row, changed, positions, stamp, digests: record, digest: sum)
                    try followUniques(at: rowid)
                }
            } else {
                isDone = try contest(stamp, row, at: rowid)
            }
            if !isDone {
                changes.unnote(.update)
                left.append(index)
            }
        }
        return left
    }

    /// Puts the values of an update into ``given``, as this store has them; false where a reference leads nowhere yet.
    private func gather(_ index: Int) throws -> Bool {
        for (place, position) in positions.enumerated() {
            guard let value = try parents.local(group.columns[place].values[index], at: position) else { return false }
            given[place] = value
        }
        return true
    }

    /// Writes given values to the row, and their digests into ``digests``. False where a constraint refuses them; then
    /// nothing was changed.
    ///
    /// - Parameter places: among ``positions``; the statement's arguments in this order, then the rowid.
    private func show(_ places: some Collection<Int>, with statement: Statement, at rowid: Int64) throws -> Bool {
        var argument = 1
        for place in places {
            digests[positions[place]] = Digest.of(given[place])
            if touchesUniques { values[positions[place]] = given[place] }
            statement.bind(given[place], at: argument)
            argument += 1
        }
        statement.bind(rowid, at: argument)
        return try statement.writeOrRefuse()
    }

    /// Puts the row's digests into ``record``; returns the whole row's.
    private func gatherRecord() -> UInt64 {
        var sum: UInt64 = 0
        for position in digests.indices {
            let id = table.columns[position].id
            sum &+= Digest.mix(digests[position], UInt64(id))
            record[id] = UInt32(truncatingIfNeeded: digests[position]).littleEndian
        }
        return sum
    }

    /// Adds the versions of an update to those that its author had not seen. The policy says which one is shown: the new
    /// one, or what is shown already. False where it is another one, which this store might show otherwise than it says,
    /// where the cell holds a reference or was counted, or where a constraint refuses the row; then nothing was changed.
    private func contest(_ stamp: Stamp, _ row: UInt64, at rowid: Int64) throws -> Bool {
        var cells: [(id: Int, cell: CellState)] = []
        var shown: [Int] = []
        for (place, position) in positions.enumerated() {
            let column = table.columns[position]
            guard column.reference == nil else { return false }
            let present = select.value(Self.cells + position)
            var cell = clock.cell(column.id)
            guard cell.additions.isEmpty else { return false }
            cell.versions.removeAll { merger.coverage.covers($0.stamp) }
            for index in cell.versions.indices where cell.versions[index].value == nil {
                cell.versions[index].value = present
            }
            cell.versions.append(Version(stamp: stamp, value: given[place]))
            let value = session.shown(cell, table.name, column.name)
            if value != present {
                guard value == given[place] else { return false }
                shown.append(place)
            }
            for index in cell.versions.indices where cell.versions[index].value == value {
                cell.versions[index].value = nil
            }
            cells.append((column.id, cell))
        }
        select.reset()
        if !shown.isEmpty {
            let statement = try connection.prepare(table.update(shown.map { positions[$0] }))
            guard try show(shown, with: statement, at: rowid) else { return false }
        }
        let sum = gatherRecord()
        try clock.write(at: rowid, row: row, cells, digests: record, digest: sum)
        try followUniques(at: rowid)
        return true
    }

    private func followUniques(at rowid: Int64) throws {
        if touchesUniques { try clock.follow(uniques: table.uniqueDigests { values[$0] }, at: rowid) }
    }

    // MARK: Deletes

    private func delete(_ changes: inout TableChanges) throws -> [Int] {
        let statement = try connection.prepare(table.deleteByRowid)
        let record = try connection.prepare(table.deleteClock)
        var left: [Int] = []
        var keys = KeyDigests()
        for index in 0..<group.rowCount {
            let identity = group.identities[index]
            guard try find(identity), clock.allStamps.allSatisfy(merger.coverage.covers) else {
                left.append(index)
                continue
            }
            let rowid = select.integer(Self.rowid)
            note(&changes, .delete, listed: changes.deleted.count, at: rowid)
            select.reset()
            statement.bind(rowid, at: 1)
            try statement.run()
            record.bind(rowid, at: 1)
            try record.run()
            let content = contentDigest(identity)
            clock.discount(row: rowDigest(content))
            if table.findsByKeyDigest { keys.append(TrackedTable.fold(content), row: rowid) }
            for digest in clock.uniques where digest != 0 { keys.append(digest, row: rowid) }
            if table.localInteger != nil {
                merger.dangling.note(rowid, identity, in: table)
                merger.standing.free(rowid, of: identity, in: table)
            }
        }
        try keys.remove(from: table, on: connection)
        return left
    }
}

extension TableChanges {
    /// Takes back what was noted last.
    fileprivate mutating func unnote(_ kind: RowGroup.Kind) {
        guard kind == .update else { return }
        if updated.count == counts.updated { updated.removeLast() }
        counts.updated -= 1
    }
}

extension TrackedTable {
    /// Takes values for columns by position, then the rowid.
    fileprivate func update(_ positions: [Int]) -> String {
        let assignments = positions.map { "\(SQL.name(columns[$0].local)) = ?" }
        return "UPDATE OR ABORT \(quoted) SET \(assignments.joined(separator: ", ")) WHERE \(rowid) = ?"
    }

    /// Takes an identity, or the parts of a natural key; gives a plain record, its row's number and the row.
    var selectPlainMerge: String {
        let cells = columns.map { ", t.\(SQL.name($0.local))" }.joined()
        let found =
            storesIdentity
            ? "c.identity = ?" : keyColumnNames.map { "t.\(SQL.name($0)) = ?" }.joined(separator: " AND ")
        return """
            SELECT \(ClockUpdater.columns), c.row\(cells)
            FROM \(quoted) AS t JOIN \(clock) AS c ON c.row = t.\(rowid)
            WHERE \(found) AND \(ClockUpdater.condition(self))
            """
    }
}
