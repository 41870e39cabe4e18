import LogFormat
import LogModel

/// Turns captured rows into a transaction (MODEL.md, recording), within the caller's write transaction.
///
/// Every table's events are played through first, while clock records still say what was; then the rows that are gone
/// are taken away and those that moved are followed; then identities are given, parents first, so that references can
/// be translated; and last each touched row is compared with its clock record, and what differs is written down.
final class Recorder {
    let session: Session
    let milliseconds: Int64
    var events: [Int64: PendingEvents] = [:]
    private var writer: TransactionWriter?
    private let author: String?
    private let context: String?
    /// Cells of columns unknown here, of rows that went away, by table and record: a row takes them along when its
    /// natural key changes.
    var unknownCells: [Int64: [Int64: [String: CellState]]] = [:]

    var connection: Connection { session.connection }
    var references: References { References(session: session) }

    init(_ session: Session, author: String?, context: String?) {
        self.session = session
        self.author = author
        self.context = context
        milliseconds = session.configuration.clock.now()
    }

    /// Whether anything was captured since the last recording.
    static func hasPending(_ session: Session) throws -> Bool {
        if !session.orphanScans.isEmpty { return true }
        for table in session.catalog.tables {
            let last = try session.connection.integer("SELECT max(number) FROM \(table.pending)") ?? 0
            if last > table.recorded { return true }
        }
        return false
    }

    func record() throws -> RecordedTransaction? {
        guard try Self.hasPending(session) else { return nil }
        for table in session.catalog.tables { events[table.id] = try collect(table) }
        for table in session.catalog.tables { try findDisplaced(table) }
        for table in session.catalog.tables { try bury(table) }
        for table in session.catalog.tables { try follow(table) }
        for table in session.catalog.tables { try identify(table) }
        for table in session.catalog.tables { try compare(table) }
        for table in session.catalog.tables { try settlePending(table) }
        session.orphanScans = []
        guard let writer else { return nil }
        let recorded = try writer.finish()
        self.writer = nil
        try session.saveDigest()
        return recorded
    }

    /// The transaction being written, begun with the first change.
    func transaction() throws -> TransactionWriter {
        if let writer { return writer }
        let fingerprint = try session.schemaFingerprint()
        let writer = try TransactionWriter(
            session, milliseconds: milliseconds, schema: fingerprint, author: author, context: context)
        self.writer = writer
        return writer
    }

    /// Encodes the changes collected so far; a table's changes stay together.
    func flushGroups() throws {
        try writer?.flush()
    }

    // MARK: What happened

    private func collect(_ table: TrackedTable) throws -> PendingEvents {
        let clock = ClockTable(table: table, connection: connection)
        return try PendingEvents(table, on: connection) { location, rowid in
            guard let key = location.key else {
                guard let rowid = location.rowid, try clock.exists(rowid) else { return nil }
                return rowid
            }
            if table.findsByKeyDigest { return try self.recordByDigest(key, hint: rowid, clock: clock) }
            guard let identity = try self.formerIdentity(of: key, in: table) else { return nil }
            return try clock.row(of: identity)
        }
    }

    /// The identity that a key stood for before any of this: references by their former identities.
    private func formerIdentity(of key: RowIdentity, in table: TrackedTable) throws -> RowIdentity? {
        guard table.keyHasReference else { return key }
        var parts: [KeyPart] = []
        for (part, column) in zip(key.naturalParts ?? [], table.key) {
            guard case .integer(let integer) = part, let name = table.columns[column.index].reference,
                let parent = session.catalog[name]
            else {
                parts.append(part)
                continue
            }
            guard let identity = try references.knownIdentity(of: integer, in: parent) else { return nil }
            parts.append(.reference(identity))
        }
        return RowIdentity(natural: parts)
    }

    /// The record whose key has this digest. A record whose row is there with another key is somebody else's.
    private func recordByDigest(_ key: RowIdentity, hint: Int64?, clock: ClockTable) throws -> Int64? {
        let reader = TableReader(table: clock.table, session: session)
        var orphan: Int64?
        for row in try clock.rows(withUnique: clock.table.keyDigest(key)) where try clock.exists(row) {
            if row == hint { return row }
            if let present = try reader.row(at: row) {
                if reader.naturalIdentity({ present.values[$0] }) == key { return row }
            } else {
                orphan = row
            }
        }
        return orphan
    }

    // MARK: Rows that REPLACE displaced

    private func findDisplaced(_ table: TrackedTable) throws {
        guard var events = events[table.id] else { return }
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, session: session)
        for place in events.places {
            guard let row = try present(place, &events, reader: reader) else {
                events.end(place)
                continue
            }
            guard !table.uniqueSlots.isEmpty, let life = events.lives[place] else { continue }
            var displaced: [Int64] = []
            for digest in table.uniqueDigests({ row.values[$0] }) {
                for record in try clock.rows(withUnique: digest)
                where record != life.origin && !events.isClaimed(record) && !displaced.contains(record) {
                    if try clock.exists(record), try !isPresent(record, reader: reader, clock: clock) {
                        displaced.append(record)
                    }
                }
            }
            try settle(displaced, at: place, &events, clock: clock)
        }
        try findOrphans(&events, clock: clock, reader: reader)
        self.events[table.id] = events
    }

    /// On a surrogate table a new row that displaced exactly one goes on as it; otherwise what was displaced is gone.
    private func settle(
        _ displaced: [Int64], at place: Location, _ events: inout PendingEvents, clock: ClockTable
    ) throws {
        guard let life = events.lives[place] else { return }
        if clock.table.kind == .surrogate, displaced.count == 1, life.origin == nil, !life.restarted {
            events.claim(displaced[0])
            events.update(place) { $0.origin = displaced[0] }
            return
        }
        for record in displaced {
            events.add(Death(record: record, milliseconds: life.milliseconds, location: place))
        }
    }

    /// Records whose rows are gone without any event: displaced through a key that has no digest or is gone again.
    private func findOrphans(_ events: inout PendingEvents, clock: ClockTable, reader: TableReader) throws {
        let table = clock.table
        let suspects =
            table.hasSecondaryUnique && events.hasWrites && (table.hasOpaqueUnique || events.hasIntermediateKeys)
        guard session.orphanScans.contains(table.id) || suspects else { return }
        let rows = try connection.rows("SELECT row FROM \(table.clock)")
        for row in rows {
            let record = row[0].asInteger
            guard !events.isClaimed(record), try !isPresent(record, reader: reader, clock: clock) else { continue }
            guard let location = try locationOfOrphan(record, clock: clock) else { continue }
            events.add(Death(record: record, milliseconds: milliseconds, location: location))
        }
    }

    /// Nil where nothing says any more which key the row had: such a record is kept as it is.
    private func locationOfOrphan(_ record: Int64, clock: ClockTable) throws -> Location? {
        if clock.table.storesIdentity || clock.table.schema.integerKey != nil { return Location(rowid: record) }
        return try clock.identity(at: record).map { Location(key: $0) }
    }

    private func isPresent(_ record: Int64, reader: TableReader, clock: ClockTable) throws -> Bool {
        if reader.table.hasRowid { return try reader.exists(record) }
        guard let identity = try clock.identity(at: record), let parts = identity.naturalParts else { return false }
        guard let key = try localKey(parts, of: reader.table) else { return false }
        return try reader.row(withKey: key) != nil
    }

    /// A key's values as this store has them.
    private func localKey(_ parts: [KeyPart], of table: TrackedTable) throws -> [Value]? {
        var values: [Value] = []
        for (part, column) in zip(parts, table.key) {
            guard case .reference(let identity) = part, let name = table.columns[column.index].reference,
                let parent = session.catalog[name]
            else {
                values.append(part.value)
                continue
            }
            guard let integer = try references.integer(of: identity, in: parent) else { return nil }
            values.append(.integer(integer))
        }
        return values
    }

    /// Reads the row at a place, noting its rowid; nil where there is none.
    private func present(
        _ place: Location, _ events: inout PendingEvents, reader: TableReader
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

    // MARK: Rows that are gone

    private func bury(_ table: TrackedTable) throws {
        guard let events = events[table.id] else { return }
        let clock = ClockTable(table: table, connection: connection)
        for death in events.deaths.values.sorted(by: { $0.record < $1.record }) {
            guard let record = try clock.record(at: death.record) else { continue }
            guard let identity = record.identity ?? naturalIdentity(of: death.location, in: table) else { continue }
            try recordDelete(of: identity, record, at: death.record, milliseconds: death.milliseconds, clock: clock)
        }
        if !events.deaths.isEmpty { try writer?.flush() }
    }

    private func naturalIdentity(of location: Location, in table: TrackedTable) -> RowIdentity? {
        if let key = location.key { return key }
        guard let rowid = location.rowid, table.kind == .natural, table.schema.integerKey != nil else { return nil }
        return RowIdentity(natural: [.integer(rowid)])
    }

    private func recordDelete(
        of identity: RowIdentity, _ record: ClockRecord, at row: Int64, milliseconds: Int64, clock: ClockTable
    ) throws {
        let table = clock.table
        let transaction = try transaction()
        let time = raised(milliseconds, above: record.state.allStamps)
        try transaction.append(table, .delete, identity, time: time, integer: nil, cells: [])
        session.count(-1, record.state, row: session.rowDigest(table, identity), table: table)
        let uniques = table.findsByKeyDigest ? [table.keyDigest(identity)] : record.uniques
        try clock.delete(row, uniques: uniques)
        if !record.state.unknown.isEmpty { unknownCells[table.id, default: [:]][row] = record.state.unknown }
    }

    // MARK: Rows that moved

    private func follow(_ table: TrackedTable) throws {
        guard table.hasRowid, let events = events[table.id] else { return }
        let clock = ClockTable(table: table, connection: connection)
        var moves: [(from: Int64, to: Int64, uniques: [Int32])] = []
        for place in events.places {
            guard let life = events.lives[place], let origin = life.origin ?? life.former,
                let target = life.rowid ?? place.rowid, origin != target
            else { continue }
            let uniques =
                if table.findsByKeyDigest, let key = place.key { [table.keyDigest(key)] } else {
                    try clock.record(at: origin)?.uniques ?? []
                }
            moves.append((origin, target, uniques))
            self.events[table.id]?.update(place) {
                if life.origin != nil { $0.origin = target } else { $0.former = target }
            }
        }
        try clock.move(moves)
    }

    // MARK: Identities

    private func identify(_ table: TrackedTable) throws {
        guard let events = events[table.id] else { return }
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, session: session)
        for place in events.places {
            guard let life = events.lives[place] else { continue }
            let former = try life.origin.flatMap { try clock.identity(at: $0) }
            var identity = former
            switch table.kind {
            case .surrogate:
                if identity == nil { identity = try newSurrogate(table, life, place) }
            case .natural:
                if place.key == nil && table.schema.integerKey == nil {
                    if identity == nil { identity = try newSurrogate(table, life, place) }
                } else {
                    // Given when compared: it may hold identities of rows in tables yet to come.
                    continue
                }
            case .columns:
                guard let rowid = place.rowid, let row = try reader.row(at: rowid) else { continue }
                identity = try reader.naturalIdentity { try self.translated(row.values[$0], $0, in: table) }
                if identity == nil { identity = try former ?? newSurrogate(table, life, place) }
            }
            self.events[table.id]?.update(place) { $0.identity = identity }
            if table.localInteger != nil, identity != former, let rowid = place.rowid {
                let mayBeReferredTo = former != nil || life.restarted || rowid <= table.high
                if mayBeReferredTo { try forceReferrers(to: rowid, in: table) }
                table.high = max(table.high, rowid)
            }
        }
    }

    private func newSurrogate(_ table: TrackedTable, _ life: Life, _ place: Location) throws -> RowIdentity {
        if table.localInteger != nil, let rowid = place.rowid,
            let promised = try references.reservedIdentity(of: rowid, in: table)
        {
            try references.release(rowid, in: table)
            return promised
        }
        var hash = IdentityHash("row")
        hash.combine(session.salt)
        hash.combine(table.name)
        hash.combine(UInt64(bitPattern: life.number))
        hash.combine(UInt64(bitPattern: life.insertMilliseconds))
        return hash.identity(prefix: UInt64(bitPattern: life.insertMilliseconds))
    }

    /// The rows that hold an integer which now means another row are recorded again, though nobody touched them.
    private func forceReferrers(to integer: Int64, in table: TrackedTable) throws {
        for (child, column) in session.catalog.referrers(of: table) {
            let keys = child.capturesKey ? child.keyColumnNames.map { ", \(SQL.name($0))" }.joined() : ""
            let rowid = child.hasRowid ? child.rowid : "NULL"
            let statement = try connection.prepare(
                "SELECT \(rowid)\(keys) FROM \(child.quoted) WHERE \(SQL.name(column.name)) = ?")
            statement.bind(integer, at: 1)
            defer { statement.reset() }
            while try statement.step() {
                let rowid = statement.isNull(0) ? nil : statement.integer(0)
                guard let place = PendingEvents.location(child, rowid: rowid, value: { statement.value(1 + $0) })
                else { continue }
                try events[child.id]?.force(place, rowid: rowid, milliseconds: milliseconds)
            }
        }
    }

    // MARK: Helpers

    /// A value as logs have it: the integer of a referenced row becomes its identity.
    func translated(_ value: Value, _ position: Int, in table: TrackedTable) throws -> Value {
        guard case .integer(let integer) = value, let name = table.columns[position].reference,
            let parent = session.catalog[name]
        else { return value }
        if let identity = events[parent.id]?.lives[Location(rowid: integer)]?.identity {
            return .reference(identity)
        }
        return .reference(try references.identity(of: integer, in: parent))
    }

    /// When it was captured, no later than now and above everything it supersedes.
    func raised(_ captured: Int64, above stamps: [Stamp]) -> HybridTime {
        let limit = milliseconds + session.configuration.maximumDrift
        let base = captured > limit ? milliseconds : min(captured, milliseconds)
        var time = HybridTime(milliseconds: base)
        for stamp in stamps where stamp.time >= time { time = stamp.time.successor }
        return time
    }

    /// Forgets the pending rows that were recorded, all but the newest, which keeps their numbers from restarting.
    private func settlePending(_ table: TrackedTable) throws {
        guard let events = events[table.id] else { return }
        if events.lastNumber > table.recorded {
            try connection.run("DELETE FROM \(table.pending) WHERE number < ?", .integer(events.lastNumber))
            table.recorded = events.lastNumber
        }
        try connection.run(
            "UPDATE logsync_table SET recorded = ?2, high = ?3 WHERE id = ?1 AND (recorded <> ?2 OR high <> ?3)",
            .integer(table.id), .integer(table.recorded), .integer(table.high))
    }
}

extension ClockState {
    /// Every entry's stamp.
    var allStamps: [Stamp] {
        var stamps = inserts + deletes + [base].compactMap { $0 }
        for cell in cells.values { stamps += cell.stamps }
        for cell in unknown.values { stamps += cell.stamps }
        return stamps
    }
}

extension CellState {
    var stamps: [Stamp] { versions.map(\.stamp) + additions.map(\.stamp) }
}
