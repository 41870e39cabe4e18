import LogFormat
import LogModel

/// The shortest way of merging updates and deletes whose author had seen every entry that they touch.
///
/// ``Merger`` goes that way itself for one row at a time; here it is done for a group's rows one after the other, where the
/// table has no unique keys beside its own, no counters and nothing kept beside it, nobody refers to what is changed, and
/// values stand in this store's columns as they are given. Rows whose record is marked, that are not where their identity
/// says, or whose entries the author had not all seen are left, and go the ways that all others go.
final class PlainChanging {
    private let merger: Merger
    private let group: RowGroup
    private let table: TrackedTable
    private let positions: [Int]
    private let clock: ClockUpdater
    private let select: Statement
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
        case .natural: guard !table.storesIdentity else { return nil }
        case .surrogate: guard table.localInteger != nil else { return nil }
        case .columns: return nil
        }
        if group.kind == .update {
            guard target.isKnown, target.hasNoKey, !target.hasReferences,
                group.columns.allSatisfy({ $0.operation == .set && $0.times.isEmpty })
            else { return nil }
            positions = target.positions.compactMap(\.self)
            guard Self.areFree(positions, table, session) else { return nil }
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
        select = try session.connection.prepare(table.selectPlainMerge)
    }

    /// Whether columns are part of no reference, of the table or to it.
    private static func areFree(_ positions: [Int], _ table: TrackedTable, _ session: Session) -> Bool {
        let held = session.foreignRules.of(table).flatMap(\.columns)
        let named = session.foreignRules.to(table).flatMap(\.parts).compactMap { part in
            if case .column(let position) = part { position } else { nil }
        }
        return Set(positions).isDisjoint(with: held + named)
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
    private static let rowid = 4
    private static let cells = 5

    /// Reads the row of an identity with its record. Where that is found by a key, the table's own says which it is.
    private func find(_ identity: RowIdentity) throws -> Bool {
        select.reset()
        guard identity.isSurrogate == (table.kind == .surrogate) else { return false }
        if table.kind == .surrogate {
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
        let assignments = positions.map { "\(SQL.name(table.columns[$0].local)) = ?" }
        let statement = try connection.prepare(
            "UPDATE OR ABORT \(table.quoted) SET \(assignments.joined(separator: ", ")) WHERE \(table.rowid) = ?")
        var changed: UInt64 = 0
        for position in positions { changed |= 1 << UInt64(position) }
        var left: [Int] = []
        var stamp = merger.stamp
        var digests = [UInt64](repeating: 0, count: table.columns.count)
        var record = [UInt32](repeating: 0, count: table.columnCount)
        for index in 0..<group.rowCount {
            let identity = group.identities[index]
            guard !group.namesBlobs(at: index), try find(identity),
                clock.stamps(of: positions).allSatisfy(merger.coverage.covers)
            else {
                left.append(index)
                continue
            }
            stamp.time = group.times[index]
            let rowid = select.integer(Self.rowid)
            for position in digests.indices { digests[position] = select.digest(Self.cells + position) }
            note(&changes, .update, listed: changes.updated.count, at: rowid)
            // What is being read would have to be found again once it is written.
            select.reset()
            for (place, position) in positions.enumerated() {
                let value = group.columns[place].values[index]
                digests[position] = Digest.of(value)
                statement.bind(value, at: place + 1)
            }
            statement.bind(rowid, at: positions.count + 1)
            guard try statement.writeOrRefuse() else {
                changes.unnote(.update)
                left.append(index)
                continue
            }
            var sum: UInt64 = 0
            for position in digests.indices {
                let id = table.columns[position].id
                sum &+= Digest.mix(digests[position], UInt64(id))
                record[id] = UInt32(truncatingIfNeeded: digests[position]).littleEndian
            }
            try clock.write(
                at: rowid, row: rowDigest(contentDigest(identity)), changed, positions, stamp, digests: record,
                digest: sum)
        }
        return left
    }

    // MARK: Deletes

    private func delete(_ changes: inout TableChanges) throws -> [Int] {
        let statement = try connection.prepare(table.deleteByRowid)
        let record = try connection.prepare(table.deleteClock)
        var left: [Int] = []
        var digests = KeyDigests()
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
            if table.findsByKeyDigest { digests.append(TrackedTable.fold(content), row: rowid) }
            if table.localInteger != nil {
                merger.dangling.note(rowid, identity, in: table)
                merger.standing.free(rowid, of: identity, in: table)
            }
        }
        try digests.remove(from: table, on: connection)
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
    /// Takes an identity, or the parts of a natural key; gives a plain record, its row's number and the row.
    var selectPlainMerge: String {
        let cells = columns.map { ", t.\(SQL.name($0.local))" }.joined()
        let found =
            kind == .surrogate
            ? "c.identity = ?" : keyColumnNames.map { "t.\(SQL.name($0)) = ?" }.joined(separator: " AND ")
        return """
            SELECT \(ClockUpdater.columns), c.row\(cells)
            FROM \(quoted) AS t JOIN \(clock) AS c ON c.row = t.\(rowid)
            WHERE \(found) AND \(ClockUpdater.condition(self))
            """
    }
}
