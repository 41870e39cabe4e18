// Rows that a program has deleted and inserted again as they were (Documentation/model.md, particular rules).
//
// The problem. Programs save a list by deleting its rows and inserting them anew. Where a key says which row is which,
// each goes on as itself, and where it holds what it held `RowRecorder` writes nothing. Where rows have surrogate
// identities each would be a new one: an edit that another peer has made meanwhile would be lost to the delete, and where
// two machines save, each row would be there twice.
//
// The rule. A row that was deleted and a row that was inserted since the last recording are one if they hold the same:
// under one integer where the table has integers, in any place where it has no key, because a rowid means nothing there,
// or where columns that were chosen are its identity. Such a row continues its record, as if it had been updated to what
// it held, and nothing is recorded of it but references that mean another row by now. So does a row that shares a UNIQUE
// key with the deleted one, whatever else it holds, as one does that replaces it: what differs is recorded. A key of small
// numbers and references alone says nothing: a row that takes the place of another has it, too.
//
// The exception. What a row held when it was inserted nobody knows once it was written again. Without a name it is the one that
// was deleted under its integer, or in any place, if it holds a value which tells rows apart, and which these two alone
// hold; then it is recorded as an update.

import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Phase `keepRowsInsertedAgain` of one table.
struct RowsInsertedAgain {
    private let recording: TableRecording
    private var table: TrackedTable { recording.table }

    /// - Returns: nil where no row of the table was deleted, and where its rows go by the keys under which they are captured.
    init?(_ recording: TableRecording) {
        let table = recording.table
        guard !recording.captured.deleted.isEmpty,
            Self.isKeyless(table) || table.kind != .natural && table.localInteger != nil
        else { return nil }
        self.recording = recording
    }

    /// Whether a row has no name but the identity that it was given, wherever it stands.
    private static func isKeyless(_ table: TrackedTable) -> Bool {
        table.kind == .natural && table.key.isEmpty && table.localInteger == nil
    }

    /// While records are as they were.
    func keep() throws {
        if table.localInteger != nil { try keepInPlace() }
        // A row that a chosen column names is that one under another integer, too.
        if table.localInteger == nil || table.kind == .columns { try keepWherever() }
    }

    private func keepInPlace() throws {
        var changed: [(key: RowKey, row: TableReader.Row)] = []
        var places: [Int64: [UInt32]] = [:]
        for key in recording.captured.sortedKeys() {
            guard let rowid = key.rowid, let touched = recording.captured.touched[key], touched.isReinserted,
                touched.origin == nil, recording.captured.deleted[rowid] != nil,
                let record = try recording.clock.record(at: rowid), let row = try recording.currentRow(key, touched)
            else { continue }
            if holdsTheSame(row, record) || sharesKey(row, record) {
                recording.captured.takeBack(rowid, for: key)
            } else if touched.wasWrittenAgain {
                changed.append((key, row))
                places[rowid] = record.digests
            }
        }
        try keepChanged(changed, places)
    }

    private func keepWherever() throws {
        var places: [[UInt32]: [Int64]] = [:]
        for place in recording.captured.deleted.keys.sorted(by: >) {
            guard let record = try recording.clock.record(at: place) else { continue }
            places[record.digests, default: []].append(place)
        }
        /// Takes the deleted row of that place, or the first, where it holds the same.
        func take(_ key: RowKey, _ isWanted: (Int64) -> Bool) throws {
            guard let touched = recording.captured.touched[key], touched.origin == nil,
                let row = try recording.currentRow(key, touched)
            else { return }
            let digests = recording.reader.columnDigests(row.digests)
            guard let index = places[digests]?.lastIndex(where: isWanted), let place = places[digests]?[index],
                let record = try recording.clock.record(at: place), holdsTheSame(row, record)
            else { return }
            places[digests]?.remove(at: index)
            recording.captured.takeBack(place, for: key)
        }
        let keys = recording.captured.sortedKeys()
        for key in keys { try take(key) { $0 == key.rowid } }
        for key in keys { try take(key) { _ in true } }
        try keepSharing(keys, &places)
        var changed: [(key: RowKey, row: TableReader.Row)] = []
        for key in keys {
            guard let touched = recording.captured.touched[key], touched.origin == nil, touched.wasWrittenAgain,
                let row = try recording.currentRow(key, touched)
            else { continue }
            changed.append((key, row))
        }
        let left = places.flatMap { digests, places in places.map { ($0, digests) } }
        try keepChanged(changed, Dictionary(uniqueKeysWithValues: left))
    }

    /// Lets rows of a table without a key continue the deleted ones with which they share what is UNIQUE.
    ///
    /// - Parameter places: the records of deleted rows, by what these held.
    private func keepSharing(_ keys: [RowKey], _ places: inout [[UInt32]: [Int64]]) throws {
        guard table.kind != .columns, !table.uniqueSlots.isEmpty, !places.isEmpty else { return }
        var holders: [Int32: Int64] = [:]
        for place in places.values.joined() {
            for unique in try recording.clock.record(at: place)?.uniques ?? [] where unique != 0 {
                holders[unique] = place
            }
        }
        for key in keys {
            guard let touched = recording.captured.touched[key], touched.origin == nil,
                let row = try recording.currentRow(key, touched)
            else { continue }
            for unique in table.uniqueDigests({ row.values[$0] }) {
                guard let place = holders[unique], recording.captured.deleted[place] != nil,
                    let record = try recording.clock.record(at: place), sharesKey(row, record)
                else { continue }
                places[record.digests]?.removeAll { $0 == place }
                recording.captured.takeBack(place, for: key)
                break
            }
        }
    }

    /// - Parameters:
    ///   - rows: that were written after they were inserted.
    ///   - places: the records of deleted rows, with what these held.
    private func keepChanged(
        _ rows: [(key: RowKey, row: TableReader.Row)], _ places: [Int64: [UInt32]]
    ) throws {
        // Which row it is is said by columns that were chosen, whatever the others hold.
        guard !rows.isEmpty, !places.isEmpty, table.kind != .columns else { return }
        /// What deleted rows held, by column position; nil where several held it.
        var holders: [Int: [UInt32: Int64?]] = [:]
        for (place, digests) in places {
            for (position, column) in table.columns.enumerated()
            where column.id < digests.count && column.reference == nil {
                let isOnly = holders[position]?[digests[column.id]] == nil
                holders[position, default: [:]][digests[column.id]] = .some(isOnly ? place : nil)
            }
        }
        var isShared: [Int: [UInt32: Bool]] = [:]
        try recording.reader.forEachRow { _, values in
            for position in holders.keys where values[position].tellsRows {
                let digest = UInt32(truncatingIfNeeded: table.valueDigest.of(values[position]))
                guard holders[position]?[digest] != nil else { continue }
                isShared[position, default: [:]][digest] = isShared[position]?[digest] != nil
            }
        }
        var left = Set(places.keys)
        for (key, row) in rows {
            let found = Set(
                holders.compactMap { position, holders -> Int64? in
                    let digest = UInt32(truncatingIfNeeded: row.digests[position])
                    guard row.values[position].tellsRows, isShared[position]?[digest] == false,
                        row.values[position] != recording.store.defaultValue(of: table, position)
                    else { return nil }
                    return holders[digest] ?? nil
                }
            ).intersection(left)
            let own = key.rowid.flatMap { found.contains($0) ? $0 : nil }
            guard let place = table.localInteger == nil && found.count == 1 ? found.first : own else { continue }
            left.remove(place)
            recording.captured.takeBack(place, for: key)
        }
    }

    /// Whether a row has a UNIQUE key of the record's that tells rows apart. Columns that were chosen say it by themselves.
    ///
    /// Where the index is as new as the row, the record has the key of what stands at its place, and that is this row: so the
    /// columns have to agree, too, unless they may be spelled otherwise.
    private func sharesKey(_ row: TableReader.Row, _ record: ClockRecord) -> Bool {
        guard table.kind != .columns, !table.uniqueSlots.isEmpty else { return false }
        let uniques = table.uniqueDigests { row.values[$0] }
        let digests = recording.reader.columnDigests(row.digests)
        func agrees(_ part: (index: Int, collation: Collation)) -> Bool {
            let id = table.columns[part.index].id
            return part.collation != .binary || id < record.digests.count && digests[id] == record.digests[id]
        }
        return record.uniques.count == uniques.count
            && table.uniqueSlots.indices.contains { slot in
                uniques[slot] != 0 && uniques[slot] == record.uniques[slot]
                    && table.uniqueSlots[slot].allSatisfy(agrees)
                    && table.uniqueSlots[slot].contains {
                        table.columns[$0.index].reference == nil && row.values[$0.index].tellsRows
                    }
            }
    }

    private func holdsTheSame(_ row: TableReader.Row, _ record: ClockRecord) -> Bool {
        recording.reader.digest(row.digests) == record.digest
            && recording.reader.columnDigests(row.digests) == record.digests
    }
}
