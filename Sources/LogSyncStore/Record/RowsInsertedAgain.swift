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
// it held, and nothing is recorded of it but references that mean another row by now.

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
    static func isKeyless(_ table: TrackedTable) -> Bool {
        table.kind == .natural && table.key.isEmpty && table.localInteger == nil
    }

    /// While records are as they were.
    func keep() throws {
        if table.localInteger != nil { try keepInPlace() }
        // A row that a chosen column names is that one under another integer, too.
        if table.localInteger == nil || table.kind == .columns { try keepWherever() }
    }

    private func keepInPlace() throws {
        for key in recording.captured.sortedKeys() {
            guard let rowid = key.rowid, let touched = recording.captured.touched[key], touched.isReinserted,
                touched.origin == nil, recording.captured.deleted[rowid] != nil,
                let record = try recording.clock.record(at: rowid), let row = try recording.currentRow(key, touched),
                holdsTheSame(row, record)
            else { continue }
            recording.captured.takeBack(rowid, for: key)
        }
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
    }

    private func holdsTheSame(_ row: TableReader.Row, _ record: ClockRecord) -> Bool {
        recording.reader.digest(row.digests) == record.digest
            && recording.reader.columnDigests(row.digests) == record.digests
    }
}
