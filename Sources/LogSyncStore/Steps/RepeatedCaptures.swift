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
// The exception. A row is left as it is where this is not certain: it got another key meanwhile, differs from its clock record
// in a column that the transaction does not set, or was written between the backup and the transaction as well as after the
// restore. Then it is recorded by the new peer, and nothing is lost by saying it twice.

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
                let row = IncomingRow(group, index, target, merge.stamp)
                guard let found = try rows.row(key(of: row, in: table)) ?? sameRow(row, &rows, in: table),
                    let repeated = Repetition(of: row, found, isExact: isExact),
                    try isRepeated(row, found, repeated, in: table)
                else { continue }
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
                    let statement = try connection.prepare(table.update(changed))
                    let place = table.hasRowid ? [.integer(position)] : key
                    for (index, value) in (changed.map { values[$0] } + place).enumerated() {
                        statement.bind(value, at: index + 1)
                    }
                    guard try statement.write() != .refused else { throw UncertainRepetition() }
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

    /// Of a table without a key, whose rows are told apart by nothing: a new row that holds the same.
    private func sameRow(
        _ row: IncomingRow, _ rows: inout CapturedRows, in table: TrackedTable
    ) throws -> CapturedRows.Row? {
        guard row.group.kind == .insert, table.key.isEmpty, table.localInteger == nil, row.target.isComplete else {
            return nil
        }
        var values: [Value] = []
        for position in table.columns.indices {
            let value = row.value(at: position, in: table)
            guard let local = try shownRows.local(value, table.columns[position].reference) else { return nil }
            values.append(local)
        }
        return try rows.row(holding: values) { Repetition(of: row, $0, isExact: isExact) != nil }
    }

    private func isRepeated(
        _ row: IncomingRow, _ found: CapturedRows.Row, _ repeated: Repetition, in table: TrackedTable
    ) throws -> Bool {
        let clock = ClockTable(table: table, connection: connection)
        let located = try shownRows.locate(row.identity, in: table)
        let position = try located ?? found.position
        let record = try position.flatMap { try clock.record(at: $0) }
        let present = try found.present
        guard present != nil || repeated.writtenAgain != nil else { return row.group.kind == .delete && record != nil }
        switch row.group.kind {
        case .insert: return record == nil
        case .delete: return record != nil && repeated.writtenAgain == nil
        case .update:
            guard let record else { return false }
            guard repeated.writtenAgain == nil, let present else { return true }
            // What it holds beside that is known to nobody else.
            let changed = table.columns.indices.filter { index in
                let id = table.columns[index].id
                return id >= record.digests.count
                    || record.digests[id] != UInt32(truncatingIfNeeded: present.digests[index])
            }
            return Set(row.target.positions.compactMap { $0 }).isSuperset(of: changed)
        }
    }
}

/// What is pending of a row and is in its former self's transaction, too.
private struct Repetition {
    /// When it was last written after the restore; nil where it was not.
    let writtenAgain: Int64?

    /// nil where it cannot be told.
    init?(of row: IncomingRow, _ found: CapturedRows.Row, isExact: Bool) {
        let recorded = row.stamp.time.milliseconds
        // That a row was looked at says nothing of when it was written.
        let writes = found.entries.filter { $0.kind != .found || $0.milliseconds <= recorded }
        let former = writes.filter { $0.milliseconds <= recorded }
        guard let latest = former.map(\.milliseconds).max(),
            former.allSatisfy({ [.insert, .update, .found].contains($0.kind) }),
            writes.allSatisfy({ [.insert, .update, .delete, .found].contains($0.kind) })
        else { return nil }
        writtenAgain = writes.lazy.map(\.milliseconds).filter { $0 > recorded }.max()
        guard latest == recorded || !isExact && writtenAgain == nil else { return nil }
    }
}

/// A row cannot be shown as the transaction has it that was captured here and recorded by the former self: nothing is taken
/// for a repetition then.
package struct UncertainRepetition: Error {}

/// The pending rows of one table, by the row that they name.
private struct CapturedRows {
    /// What is pending of one row.
    struct Row {
        var key: RowKey
        var entries: [(number: Int64, kind: Capture.Kind, milliseconds: Int64)] = []
        /// Where it was when it was written last; nil where the table has no rowid.
        var rowid: Int64?
        let reader: TableReader

        /// Where it is; nil where it is gone, or the table has no rowid. A backup may have numbered the rows of a table anew.
        var position: Int64? {
            get throws {
                guard reader.table.hasRowid else { return nil }
                return key.natural == nil ? rowid ?? key.rowid : try reader.rowid(withKey: key.values)
            }
        }

        /// The row as it is.
        var present: TableReader.Row? {
            get throws {
                try reader.table.hasRowid
                    ? position.flatMap { try reader.row(at: $0) } : reader.row(withKey: key.values)
            }
        }
    }

    private var rows: [RowKey: Row] = [:]
    /// By what they hold; made when it is first asked for.
    private var keysByValues: [[Value]: [RowKey]]?

    init(of table: TrackedTable, _ store: OpenStore) throws {
        let keys = table.capturesKey ? table.key.indices.map { ", k\($0)" }.joined() : ""
        let statement = try store.connection.prepare(
            "SELECT number, kind, row, ms\(keys) FROM \(table.pending) WHERE number > ? ORDER BY number")
        statement.bind(table.recorded, at: 1)
        defer { statement.reset() }
        let reader = TableReader(table: table, store: store)
        while try statement.step() {
            let rowid = statement.isNull(2) ? nil : statement.integer(2)
            guard let key = CapturedChanges.key(in: table, rowid: rowid, value: { statement.value(4 + $0) }) else {
                continue
            }
            let kind = Capture.Kind(rawValue: statement.integer(1)) ?? .found
            var row = rows[key] ?? Row(key: key, reader: reader)
            row.entries.append((statement.integer(0), kind, statement.integer(3)))
            row.rowid = rowid
            rows[key] = row
        }
    }

    func row(_ key: RowKey?) -> Row? { key.flatMap { rows[$0] } }

    mutating func row(holding values: [Value], _ isSame: (Row) -> Bool) throws -> Row? {
        let keysByValues = try keysByValues ?? keysOfRows()
        self.keysByValues = keysByValues
        return keysByValues[values]?.compactMap { rows[$0] }.first(where: isSame)
    }

    private func keysOfRows() throws -> [[Value]: [RowKey]] {
        var keys: [[Value]: [RowKey]] = [:]
        for (key, row) in rows {
            if let present = try row.present { keys[present.values, default: []].append(key) }
        }
        return keys.mapValues { $0.sorted { ($0.rowid ?? 0) < ($1.rowid ?? 0) } }
    }

    mutating func remove(_ row: Row) { rows[row.key] = nil }
}
