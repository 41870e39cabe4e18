// What a backup had captured, and its former self recorded.
//
// The problem. A database that is restored may hold captured rows that nobody had recorded when the backup was made. The
// peer that it was recorded them a moment later, in the transaction right after the last one that the backup knows, which
// is in the folder. Recorded here as well, by the peer that the database has become, the same writes would count as two: a
// counter would go up twice, a row with an integer of its own would come twice, and one that was deleted since would come
// back.
//
// The steps. With that transaction at hand, and before anything is recorded:
//
//   a row that it inserts, and that is captured as new here, is taken out of its table and merged: as the transaction has
//   it, under the same integer and the identity that it was given
//   of a row that it updates or deletes, the captured rows are forgotten: the transaction is about to say the same
//
//   what a row was given again after the restore is kept aside
//
// Then what else is pending is recorded, and the rest of the transaction merged; rows that were written again hold again what
// they were given, which is recorded as what came after the transaction.
//
// Which row it is. A new row that has no natural key was given its identity by the number and the millisecond under which it
// was captured, and is found by that. Any other row is found by its key, and then counts as the same only where it was captured
// in the very millisecond that the transaction says, or holds what the transaction says: a clock that was set back between the
// transaction and the restore makes what was written after the restore look older than what the transaction says.
//
// The exception. A row is left as it is where this is not certain: it got another key meanwhile, holds something else than the
// transaction says, differs from its clock record in a column that the transaction does not set, or was written between the
// backup and the transaction as well as after the restore. Then it is recorded by the new peer, beside what the transaction
// says. Nothing is lost by that: values that lose are listed as conflicts. A counter may count such an amount twice.
//
// Example: the backup has a note that was inserted as number 7 in millisecond 1000. Its former self changed the note's text in
// millisecond 1500 and recorded an insert of the identity that 7 and 1000 make: the captured insert is forgotten, and the note
// comes with the later text. If the transaction's insert under the same integer has another identity, two notes come.
//
// Where a machine was cloned while it ran, both of its copies may have captured another row under the same number in the same
// millisecond. Of such a row with other values than the transaction says the captured time is moved, so that its identity is
// another.

import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Forgets the captured rows of a restored database that its former self has recorded, within the caller's write transaction.
struct RepeatedCaptures {
    private let store: OpenStore
    private let merge: TransactionMerge
    /// Whether a row counts as the same only if it was captured in the very millisecond that the transaction says: where it
    /// is not certain that the former self is no more, and has not written meanwhile.
    private let isExact: Bool
    private var writtenAgain: [WrittenAgain] = []
    private var connection: Connection { store.connection }
    private var shownRows: ShownRows { merge.shownRows }

    /// - Parameter merge: of the transaction, for the rows that are merged early.
    init(_ store: OpenStore, _ merge: TransactionMerge, isExact: Bool) {
        self.store = store
        self.merge = merge
        self.isExact = isExact
    }

    /// A row that a program wrote after the restore.
    private struct WrittenAgain {
        var table: TrackedTable
        var identity: RowIdentity
        /// What it holds; nil where it was deleted.
        var values: [Value]?
        /// By their ids, the columns that the transaction does not set and in which the row differs from its record, with the
        /// digests that are recorded.
        var unrecorded: [Int: UInt32]
        var milliseconds: Int64
    }

    /// Returns the rows that were merged early.
    ///
    /// - Throws: ``UncertainRepetition`` where one of them cannot be shown as the transaction has it.
    mutating func forget(_ incoming: IncomingTransaction) throws -> Set<RowName> {
        var merged: Set<RowName> = []
        let pending = try PendingRows(store)
        var captured: [Int64: CapturedRows] = [:]
        try incoming.forEachGroup { group in
            guard let table = store.catalog[group.table], pending.has(table), !table.holdsSettings else {
                return
            }
            var rows = try captured[table.id] ?? CapturedRows(of: table, store)
            let target = GroupTarget(group, table)
            for index in 0..<group.rowCount {
                let incomingRow = IncomingRow(group, index, target, merge.stamp)
                guard let (found, isSameInsert) = try self.found(incomingRow, &rows, in: table) else { continue }
                let row = try merge.whole(incomingRow, of: incoming)
                let repeated: Repetition
                switch try verdict(on: row, found, isSameInsert: isSameInsert, in: table) {
                case .repeated(let repetition): repeated = repetition
                case .new: continue
                case .namesake:
                    try giveOtherIdentity(to: found, in: table)
                    continue
                }
                rows.remove(found)
                for entry in found.entries {
                    try connection.run("DELETE FROM \(table.pending) WHERE number = ?", .integer(entry.number))
                }
                if let time = repeated.writtenAgain {
                    writtenAgain.append(
                        WrittenAgain(
                            table: table, identity: row.identity, values: try found.present?.values,
                            unrecorded: try unrecorded(row, found, in: table), milliseconds: time))
                }
                guard group.kind == .insert else { continue }
                try shownRows.remove(row.identity, at: found.position ?? 0, in: table)
                if try merge.mergeEarly(row, of: incoming) { merged.insert(RowName(table, row.identity)) }
            }
            captured[table.id] = rows
        }
        guard merge.undecided.isEmpty else { throw UncertainRepetition() }
        return merged
    }

    /// Lets rows that were written after the restore hold that again, and has it recorded.
    ///
    /// - Throws: ``UncertainRepetition`` where one of them is not shown.
    func writeAgain() throws {
        let shownRows = ShownRows(store)
        for row in writtenAgain {
            let table = row.table
            guard let position = try shownRows.locate(row.identity, in: table),
                let present = try shownRows.currentRow(row.identity, at: position, in: table)
            else { throw UncertainRepetition() }
            let key = table.key.map { present.values[$0.index] }
            if let values = row.values {
                let changed = table.columns.indices.filter { values[$0] != present.values[$0] }
                if !changed.isEmpty {
                    let statement = try RowStatement(table, on: connection) { table.update(changed, or: $0) }
                    let place = table.hasRowid ? [.integer(position)] : key
                    guard try statement.write(changed.map { values[$0] } + place) != .refused else {
                        throw UncertainRepetition()
                    }
                }
            } else {
                try shownRows.remove(row.identity, at: position, in: table)
            }
            try forgetRecorded(row.unrecorded, at: position, in: table)
            let captured = table.capturesKey ? key : []
            let columns = captured.indices.map { ", k\($0)" }.joined()
            let kind: Capture.Kind = row.values == nil ? .delete : .update
            let noted: [Value] = [
                .integer(kind.rawValue), table.hasRowid ? .integer(position) : .null, .integer(row.milliseconds),
            ]
            let statement = try connection.prepare(
                "INSERT INTO \(table.pending)(kind, row, ms\(columns)) VALUES(\(SQL.placeholders(3 + captured.count)))")
            for (index, value) in (noted + captured).enumerated() { statement.bind(value, at: index + 1) }
            try statement.run()
        }
    }

    /// Which columns of a row differ from its record that the transaction does not set, and what the record says of them: the
    /// transaction is merged as if the row held what is recorded.
    private func unrecorded(
        _ row: IncomingRow, _ found: CapturedRows.Row, in table: TrackedTable
    ) throws -> [Int: UInt32] {
        let set = Set(row.target.positions.compactMap { $0 })
        guard let position = try shownRows.locate(row.identity, in: table), let present = try found.present,
            let record = try ClockTable(table: table, connection: connection).record(at: position)
        else { return [:] }
        return table.columns.indices.reduce(into: [:]) { digests, index in
            let id = table.columns[index].id
            guard !set.contains(index), id < record.digests.count,
                record.digests[id] != UInt32(truncatingIfNeeded: present.digests[index])
            else { return }
            digests[id] = record.digests[id]
        }
    }

    /// Lets a record say again what it said of columns before the transaction was merged, so that what they hold is recorded.
    private func forgetRecorded(_ digests: [Int: UInt32], at position: Int64, in table: TrackedTable) throws {
        let clock = ClockTable(table: table, connection: connection)
        guard !digests.isEmpty, var record = try clock.record(at: position) else { return }
        for (id, digest) in digests { record.digests[id] = digest }
        try clock.update(record, at: position, formerUniques: record.uniques)
    }

    // MARK: Which row it is

    /// Where a row of the transaction would be captured here; nil where that cannot be told.
    private func key(of row: IncomingRow, in table: TrackedTable) throws -> RowKey? {
        if row.group.kind == .insert {
            if table.localInteger != nil { return row.integer.map { RowKey(rowid: $0) } }
            guard !table.key.isEmpty else { return nil }
            var values: [Value] = []
            for key in table.key {
                let value = row.value(at: key.index, in: table)
                guard let local = try shownRows.local(value, table.columns[key.index].reference) else { return nil }
                values.append(local)
            }
            if !table.capturesKey, case .integer(let rowid)? = values.first { return RowKey(rowid: rowid) }
            return CapturedChanges.key(in: table, rowid: nil) { values[$0] }
        }
        guard let position = try shownRows.locate(row.identity, in: table) else { return nil }
        guard table.capturesKey, !table.key.isEmpty else { return RowKey(rowid: position) }
        return try shownRows.currentRow(row.identity, at: position, in: table).flatMap { present in
            CapturedChanges.key(in: table, rowid: table.hasRowid ? position : nil) {
                present.values[table.key[$0].index]
            }
        }
    }

    /// What was captured of a row, and whether that is the insert which the former self recorded.
    private func found(
        _ row: IncomingRow, _ rows: inout CapturedRows, in table: TrackedTable
    ) throws -> (CapturedRows.Row, isSameInsert: Bool)? {
        guard let own = rows.row(of: row) else {
            return try rows.row(key(of: row, in: table)).map { ($0, false) }
        }
        // A backup may have given other rowids to the rows of a table without a key: then one that holds the same stands for it.
        guard table.key.isEmpty, table.localInteger == nil, row.target.isComplete else { return (own, true) }
        var values: [Value] = []
        for position in table.columns.indices {
            let value = row.value(at: position, in: table)
            guard let local = try shownRows.local(value, table.columns[position].reference) else { return (own, true) }
            values.append(local)
        }
        if try own.present?.values == values { return (own, true) }
        return (try rows.row(holding: values) ?? own, true)
    }

    /// What a captured row is to a row of the transaction.
    private enum Verdict {
        case repeated(Repetition)
        /// It has something that the transaction does not say, or may have.
        case new
        /// Another row, which would get the same identity.
        case namesake
    }

    private func verdict(
        on row: IncomingRow, _ found: CapturedRows.Row, isSameInsert: Bool, in table: TrackedTable
    ) throws -> Verdict {
        guard row.group.kind != .delete, let repetition = Repetition(of: row, found) else { return .new }
        // The identity tells when the row was inserted.
        if row.group.kind == .insert, row.identity.isSurrogate, IdentityMap.firstInteger(of: row.identity) == nil,
            !isSameInsert
        {
            return .new
        }
        let clock = ClockTable(table: table, connection: connection)
        let located = try shownRows.locate(row.identity, in: table)
        let record = try (located ?? found.position).flatMap { try clock.record(at: $0) }
        guard (record != nil) == (row.group.kind != .insert) else { return .new }
        let isSameTime = repetition.isSameTime || !isExact && isRaised(row, above: record)
        guard let present = try found.present, repetition.writtenAgain == nil else {
            // Of what was written over nothing but the time is left.
            let isRepeated = repetition.writtenAgain != nil && isSameTime && !(isExact && isSameInsert)
            return isRepeated ? .repeated(repetition) : .new
        }
        // Rowids that are no key may be others in a backup.
        if isSameInsert, !isExact, repetition.isInsertAlone, table.localInteger != nil { return .repeated(repetition) }
        guard isSameTime || !isExact else { return .new }
        if row.group.kind == .update, let record, !isAll(of: present, in: row, record, in: table) { return .new }
        switch try isHeld(row, by: present, record, isSameTime: isSameTime, in: table) {
        case true?: return .repeated(repetition)
        case false? where isExact && isSameInsert: return .namesake
        default: return .new
        }
    }

    /// Whether a change has its time from what it supersedes, which was later than the clock: then the time says nothing of when
    /// it was captured.
    private func isRaised(_ row: IncomingRow, above record: ClockRecord?) -> Bool {
        record?.state.allStamps.map(\.time).max()?.successor == row.stamp.time
    }

    /// Whether an update sets all columns in which a row differs from its record: what it holds beside that is known to nobody
    /// else.
    private func isAll(
        of present: TableReader.Row, in row: IncomingRow, _ record: ClockRecord, in table: TrackedTable
    ) -> Bool {
        let changed = table.columns.indices.filter { index in
            let id = table.columns[index].id
            return id >= record.digests.count
                || record.digests[id] != UInt32(truncatingIfNeeded: present.digests[index])
        }
        return Set(row.target.positions.compactMap { $0 }).isSuperset(of: changed)
    }

    /// Whether a row holds what an insert or update says; nil where that cannot be told.
    ///
    /// - Parameter isSameTime: whether it was captured when the transaction says: else an amount may have been added twice.
    private func isHeld(
        _ row: IncomingRow, by present: TableReader.Row, _ record: ClockRecord?, isSameTime: Bool,
        in table: TrackedTable
    ) throws -> Bool? {
        if row.group.kind == .insert, !row.target.isComplete { return nil }
        for (column, position) in zip(row.group.columns, row.target.positions) {
            guard let position else { return nil }
            let (value, held) = (column.values[row.index], present.values[position])
            guard column.operation == .add else {
                guard let local = try shownRows.local(value, table.columns[position].reference) else { return nil }
                if local != held { return false }
                continue
            }
            guard isSameTime, let record else { return nil }
            var cell = record.state.cell(table.columns[position].id)
            let base = try AmountBase(merge).place(of: column.bases[row.index])
            guard cell.versions.contains(where: { ($0.stamp.peer, $0.stamp.sequence) == base }),
                let former = store.shown(cell, table.name, table.columns[position].name)
            else { return nil }
            cell.additions.removeAll {
                ($0.basePeer, $0.baseSequence, $0.peer) == (base.number, base.sequence, row.stamp.peer)
            }
            cell.additions.append(
                Addition(
                    basePeer: base.number, baseSequence: base.sequence, peer: row.stamp.peer, stamp: row.stamp,
                    cumulative: value))
            guard let sum = store.shown(cell, table.name, table.columns[position].name),
                let amount = Counter.difference(from: former, to: held),
                Counter.tells(amount, from: former, to: held, sum: sum)
            else { return false }
        }
        return true
    }

    /// Moves the time at which a row was inserted by less than a second, so that no other store makes its identity: neither the
    /// one that has recorded another row under the number and time, nor a third one that moves its own.
    private func giveOtherIdentity(to found: CapturedRows.Row, in table: TrackedTable) throws {
        let number = found.entries.first?.number ?? 0
        let step = 1 + Int64(store.configuration.random() % 997)
        try connection.run(
            "UPDATE \(table.pending) SET ms = ms - ? WHERE number = ?", .integer(step), .integer(number))
    }
}

/// A row cannot be shown as the transaction has it that was captured here and recorded by the former self: nothing is taken
/// for a repetition then.
package struct UncertainRepetition: Error {}
