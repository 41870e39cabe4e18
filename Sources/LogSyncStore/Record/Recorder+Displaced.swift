import LogSyncModel
import LogSyncSQLite

/// Rows that are gone though no trigger said so: REPLACE displaces what shares a unique key with the row it writes.
extension Recorder {
    func findDisplaced(_ table: TrackedTable) throws {
        guard var events = events[table.id] else { return }
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        for place in events.places() {
            guard let row = try present(place, &events, reader: reader) else {
                events.end(place)
                continue
            }
            if table.kind == .columns { try findSameIdentity(row, at: place, &events, clock: clock, reader: reader) }
            guard !table.uniqueSlots.isEmpty, let life = events.lives[place] else { continue }
            var displaced: [Int64] = []
            for digest in table.uniqueDigests({ row.values[$0] }) {
                for record in try clock.rows(withUnique: digest)
                where record != life.origin && !isClaimed(record, events) && !displaced.contains(record) {
                    if try clock.exists(record), try !isPresent(record, reader: reader, clock: clock) {
                        displaced.append(record)
                    }
                }
            }
            try settle(displaced, at: place, &events, clock: clock)
        }
        try findDisplacedByRowid(&events, clock: clock, reader: reader)
        try findOrphans(&events, clock: clock, reader: reader)
        self.events[table.id] = events
    }

    /// Whether it is known already what became of a record's row.
    private func isClaimed(_ record: Int64, _ events: CapturedChanges) -> Bool {
        events.isClaimed(record) || plain[events.table.id]?.deleted(record) ?? false
    }

    /// A row with the identity of one that is gone goes on as it, under its own integer.
    private func findSameIdentity(
        _ row: TableReader.Row, at place: RowKey, _ events: inout CapturedChanges, clock: ClockTable,
        reader: TableReader
    ) throws {
        let identity = try reader.naturalIdentity { try formerlyTranslated(row.values[$0], $0, in: clock.table) }
        guard let identity, let record = try clock.row(of: identity), let life = events.lives[place],
            record != life.origin, !isClaimed(record, events), try !isPresent(record, reader: reader, clock: clock)
        else { return }
        if life.origin == nil {
            events.claim(record)
            events.update(place) { $0.origin = record }
        } else {
            events.add(DeletedRow(record: record, milliseconds: life.milliseconds, location: RowKey(rowid: record)))
        }
    }

    private func formerlyTranslated(_ value: Value, _ position: Int, in table: TrackedTable) throws -> Value {
        guard case .integer(let integer) = value, let name = table.columns[position].reference,
            let parent = store.catalog[name],
            let identity = try identities.knownIdentity(of: integer, in: parent)
        else { return value }
        return .reference(identity)
    }

    /// On a surrogate table a new row that displaced exactly one goes on as it; otherwise what was displaced is gone.
    private func settle(
        _ displaced: [Int64], at place: RowKey, _ events: inout CapturedChanges, clock: ClockTable
    ) throws {
        guard let life = events.lives[place] else { return }
        if clock.table.kind == .surrogate, displaced.count == 1, life.origin == nil, !life.restarted {
            events.claim(displaced[0])
            events.update(place) { $0.origin = displaced[0] }
            return
        }
        for record in displaced {
            events.add(DeletedRow(record: record, milliseconds: life.milliseconds, location: place))
        }
    }

    /// Rows with keys of their own whose rowids others took.
    private func findDisplacedByRowid(
        _ events: inout CapturedChanges, clock: ClockTable, reader: TableReader
    ) throws {
        for rowid in events.touchedRowids.sorted() where try clock.exists(rowid) && !isClaimed(rowid, events) {
            guard let identity = try clock.name(at: rowid), let parts = identity.naturalParts,
                try !isPresent(rowid, reader: reader, clock: clock)
            else { continue }
            // VACUUM may have moved it.
            if let key = try localKey(parts, of: reader.table), try reader.rowid(withKey: key) != nil { continue }
            events.add(DeletedRow(record: rowid, milliseconds: milliseconds, location: RowKey(key: identity)))
        }
    }

    /// Records whose rows are gone without any event: displaced through a key that has no digest or is gone again.
    private func findOrphans(_ events: inout CapturedChanges, clock: ClockTable, reader: TableReader) throws {
        let table = clock.table
        let suspects =
            (table.hasSecondaryUnique || table.kind == .columns) && events.hasWrites
            && (table.hasOpaqueUnique || events.hasIntermediateKeys)
        guard store.orphanScans.contains(table.id) || suspects else { return }
        let rows = try connection.rows("SELECT row FROM \(table.clock)")
        for row in rows {
            let record = row[0].asInteger
            guard !isClaimed(record, events), try !isPresent(record, reader: reader, clock: clock) else { continue }
            guard let location = try locationOfOrphan(record, clock: clock) else { continue }
            events.add(DeletedRow(record: record, milliseconds: milliseconds, location: location))
        }
    }

    /// Nil where nothing says any more which key the row had: such a record is kept as it is.
    private func locationOfOrphan(_ record: Int64, clock: ClockTable) throws -> RowKey? {
        if clock.table.storesIdentity || clock.table.schema.integerKey != nil { return RowKey(rowid: record) }
        return try clock.name(at: record).map { RowKey(key: $0) }
    }

    private func isPresent(_ record: Int64, reader: TableReader, clock: ClockTable) throws -> Bool {
        let table = reader.table
        if table.hasRowid {
            guard table.kind == .natural, table.schema.integerKey == nil else { return try reader.exists(record) }
            // A rebuild may have put another row under the number.
            guard let row = try reader.row(at: record) else { return false }
            let known = try clock.name(at: record)
            if known == nil, !table.storesIdentity { return true }
            let identity = try reader.naturalIdentity { try formerlyTranslated(row.values[$0], $0, in: table) }
            return identity == nil ? known?.isSurrogate ?? true : identity == known
        }
        guard let identity = try clock.identity(at: record), let parts = identity.naturalParts else { return false }
        guard let key = try localKey(parts, of: reader.table) else { return false }
        return try reader.row(withKey: key) != nil
    }

    /// A key's values as this store has them.
    private func localKey(_ parts: [KeyPart], of table: TrackedTable) throws -> [Value]? {
        var values: [Value] = []
        for (part, column) in zip(parts, table.key) {
            guard case .reference(let identity) = part, let name = table.columns[column.index].reference,
                let parent = store.catalog[name]
            else {
                values.append(part.value)
                continue
            }
            guard let integer = try identities.integer(of: identity, in: parent) else { return nil }
            values.append(.integer(integer))
        }
        return values
    }

    /// Reads the row at a place, noting its rowid; nil where there is none.
    private func present(
        _ place: RowKey, _ events: inout CapturedChanges, reader: TableReader
    ) throws -> TableReader.Row? {
        if place.key == nil {
            guard let rowid = place.rowid else { return nil }
            return try reader.row(at: rowid)
        }
        guard reader.table.hasRowid else { return try reader.row(withKey: place.keyValues) }
        guard let rowid = try reader.rowid(withKey: place.keyValues) else { return nil }
        events.update(place) { $0.rowid = rowid }
        return try reader.row(at: rowid)
    }
}
