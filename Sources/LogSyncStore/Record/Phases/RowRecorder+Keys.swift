import LogSyncModel
import LogSyncState

/// Columns that name other rows, where what they mean has changed or has become known.
extension RowRecorder {
    /// Columns that name rows by other keys now, and in which the row names none: what another peer, which has migrated before,
    /// has recorded there is such a key already, of which the migration here could make nothing. It stays.
    ///
    /// - Parameter positions: of columns that hold something else than the record says.
    /// - Returns: those of them.
    func keepKeys(
        _ positions: [Int], of row: Row, _ former: ClockRecord, in record: inout ClockRecord
    ) throws -> [Int] {
        var kept: [Int] = []
        for position in positions where row[position].isNull {
            let column = table.columns[position]
            guard let value = try recorder.named.key(former.digests[column.id], in: column, of: table) else { continue }
            var cell = record.state.cell(column.id)
            let shown = cell.versions.indices.filter { cell.versions[$0].value == nil }
            guard !shown.isEmpty else { continue }
            for index in shown { cell.versions[index].value = value }
            record.state.setCell(column.id, cell)
            kept.append(position)
        }
        return kept
    }

    /// Whether a column that names a row by its key now holds the key that another peer has said, which this one showed as
    /// its own integer until now.
    func isSaid(_ position: Int, of row: Row, in record: inout ClockRecord) -> Bool {
        let column = table.columns[position]
        var cell = record.state.cell(column.id)
        guard let shown = store.shown(cell, table.name, column.name), shown == row[position] else { return false }
        for index in cell.versions.indices where cell.versions[index].value == shown {
            cell.versions[index].value = nil
        }
        record.state.setCell(column.id, cell)
        return true
    }

    /// Whether a column was left alone until it was known what it refers to, and the row has held something else there.
    func isWrittenSinceHeld(_ column: TrackedTable.Column, at index: Int, of row: Row) throws -> Bool {
        guard recorder.findings.releasedColumns[table.id]?.contains(column.id) ?? false else { return false }
        return try HeldValues(of: table, on: store.connection).digest(of: column.name, in: row.identity)
            != UInt32(truncatingIfNeeded: row.values.digests[index])
    }

    /// Whether a column names the row that it named at the last recording, by the same integer or by the one that this row
    /// has got since. That is no write, and says nothing against one that another peer makes.
    func namesSameRow(_ position: Int, of row: Row, _ former: ClockRecord) throws -> Bool {
        guard let parent = table.columns[position].reference.flatMap({ store.catalog[$0] }),
            let recording = recorder.recording(of: parent), case .integer(let integer) = row[position],
            !former.showsNumber(row.values.values, position, in: table)
        else { return false }
        let digest = former.digests[table.columns[position].id]
        func held(_ integer: Int64) -> Bool {
            UInt32(truncatingIfNeeded: table.valueDigest.of(.integer(integer))) == digest
        }
        if recording.isEmpty { return held(integer) }
        let named = try recording.identity(at: integer) ?? recording.identities.knownIdentity(of: integer, in: parent)
        return named.map { recording.formerIntegers(of: $0).contains(where: held) } ?? false
    }

    /// The columns, by position, in which the row held the integer of another row and now holds the same number as that row's
    /// key. To other peers the record says which row it is, and not which key that has.
    func formerReferences(of row: Row, _ former: ClockRecord) -> [Int] {
        guard let ended = recorder.findings.namingChanges[table.id] else { return [] }
        return table.columns.indices.filter { position in
            let id = table.columns[position].id
            return ended[id] != nil && former.isReference(row[position], in: id)
                && !differs(position, of: row, former)
        }
    }

    /// Whether a column names the row that it named at the last recording by another key, because a migration has changed by which
    /// key it names rows.
    func restatesReference(_ position: Int, of row: Row, _ former: ClockRecord) throws -> Bool {
        let column = table.columns[position]
        guard recorder.findings.namingChanges[table.id]?[column.id] != nil else { return false }
        guard !row[position].isNull, let keys = try recorder.named.formerKeys(of: column, in: table) else {
            return true
        }
        return keys[row[position]] == former.digests[column.id]
    }

    /// The columns, by position, that have come to be references, and in which the row shows a number that this peer wrote,
    /// or the one that its row has got since: what others wrote the record spells out (``ReferenceChange``).
    ///
    /// - Parameter converted: the columns, by position, in which the row has that number as another type than it was written.
    func newReferences(of row: Row, _ former: ClockRecord, converted: Set<Int>) throws -> [Int] {
        guard let found = recorder.findings.newReferences[table.id] else { return [] }
        return try table.columns.indices.filter { position in
            let column = table.columns[position]
            guard found.columns.contains(column.id), column.id < former.digests.count,
                try !differs(position, of: row, former) || converted.contains(position)
                    || namesSameRow(position, of: row, former),
                store.wrote(former.state.cell(column.id), of: column, in: table, found.own)
            else { return false }
            return try recorder.translated(row[position], position, in: table) != row[position]
        }
    }

    /// Lets the history say that a row which goes on under its identity has another key: the integer in it is another.
    func noteFormerKey(of row: Row) {
        guard table.localInteger == nil, let former = recording.tombstones[row.identity]?.key,
            former != table.primaryKey(of: row.values, at: row.touched.rowid ?? row.key.rowid)
        else { return }
        recorder.untold.noteFormerKey(former, of: table)
    }

    /// Whether a row holds what its record says, under the same identity.
    func isSame(_ row: Row, _ record: ClockRecord) -> Bool {
        (record.named ?? row.identity) == row.identity && reader.digest(row.values.digests) == record.digest
            && reader.columnDigests(row.values.digests) == record.digests
    }

    /// Gives a row its record back whose key holds other integers now, and names the same rows by these: it is the row that it
    /// was, and its other columns say what they said. That is not known before all rows have their identities.
    ///
    /// A row that a program has deleted and inserted is a new one, unless it holds what it held.
    ///
    /// - Parameter released: the record of the row that had the row's place.
    /// - Returns: the record, with its place; nil where the row is another.
    func continued(_ row: Row, _ released: ClockRecord?) throws -> (place: Int64, record: ClockRecord)? {
        guard let tombstone = recording.tombstones[row.identity], let record = tombstone.record else { return nil }
        let touched = row.touched
        let isSame =
            try touched.keyChangedFrom == tombstone.place || recorder.findings.orphanScans.contains(table.id)
            || table.columns.indices.allSatisfy { position in
                guard table.columns[position].id < record.digests.count else { return false }
                return try !differs(position, of: row, record) || namesSameRow(position, of: row, record)
            }
        guard isSame, record.state.isAlive else { return nil }
        let place: Int64
        if let origin = touched.origin ?? touched.formerRecord {
            guard let released else { return nil }
            try clock.update(record, at: origin, formerUniques: released.uniques)
            place = origin
        } else {
            let rowid = table.hasRowid ? touched.rowid ?? row.key.rowid : nil
            if let rowid { try clock.vacate(rowid) }
            place = try clock.insert(record, at: rowid)
        }
        store.count(1, record.state, row: store.rowDigest(table, row.identity), table: table)
        if table.mapsKeys {
            let spelled = try reader.naturalIdentity { try recorder.translated(row[$0], $0, in: table) }
            try FoldedKeys(store: store, table: table).keep(row.identity, at: place, spelled: spelled)
        }
        recorder.untold.noteKey(table.primaryKey(of: row.values, at: place), of: table)
        return (place, record)
    }
}
