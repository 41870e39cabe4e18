import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Turns captured rows into a transaction (MODEL.md, recording), within the caller's write transaction.
///
/// Every table's events are played through first, while clock records still say what was; then the rows that are gone
/// are taken away and those that moved are followed; then identities are given, parents first, so that references can
/// be translated; and last each touched row is compared with its clock record, and what differs is written down.
final class Recorder {
    let store: OpenStore
    let milliseconds: Int64
    var events: [Int64: CapturedChanges] = [:]
    /// Rows that were written once and nothing else, by table; they are not among the events.
    private(set) var plain: [Int64: SimpleChanges] = [:]
    private var plainDeletes: [Int64: BatchDeleteRecorder] = [:]
    private var writer: TransactionWriter?
    private let author: String?
    private let context: String?
    /// By table and place, the records of rows that went away of which a row takes something along when its natural key
    /// changes: values of columns unknown here, or that it breaks a CHECK.
    var legacies: [Int64: [Int64: ClockRecord]] = [:]

    var connection: Connection { store.connection }
    var identities: IdentityMap { IdentityMap(store: store) }

    private let dangling: DanglingReferences
    /// What integers stood for before any of this, where that changes; nil for nothing.
    var former: [Int64: [Int64: RowIdentity?]] = [:]
    /// What is written back to tables, when every row that something refers to has its record.
    var showing: [() throws -> Void] = []
    /// The rows to compare, by table.
    var staged: [Int64: [StagedRow]] = [:]
    /// Rows that lost their identity, by table: deleted, unless another row takes the identity in the same transaction.
    var buried: [Int64: [RowIdentity: (stamps: [Stamp], milliseconds: Int64)]] = [:]
    /// The integers that those rows had.
    private var buriedAt: [Int64: [RowIdentity: Int64]] = [:]

    init(_ store: OpenStore, author: String?, context: String?) {
        self.store = store
        self.author = author
        self.context = context
        milliseconds = store.configuration.clock.now()
        dangling = DanglingReferences(store)
    }

    /// Whether anything was captured since the last recording.
    static func hasPending(_ store: OpenStore) throws -> Bool {
        if !store.orphanScans.isEmpty { return true }
        for table in store.catalog.tables {
            let last = try store.connection.integer("SELECT max(number) FROM \(table.pending)") ?? 0
            if last > table.recorded { return true }
        }
        return false
    }

    func record() throws -> RecordedTransaction? {
        // What the last look at the schema found concerns this recording, whether or not there is anything to record.
        defer {
            store.orphanScans = []
            store.newTables = []
            store.newColumns = [:]
            // They hold on to the recorder.
            events = [:]
            plainDeletes = [:]
            showing = []
        }
        guard try Self.hasPending(store) else { return nil }
        for table in store.catalog.tables where table.localInteger != nil {
            // What was imported has integers of its own.
            table.high = max(table.high, try ClockTable(table: table, connection: connection).highestRow() ?? 0)
        }
        for table in store.catalog.tables {
            if try SimpleChanges.suits(table, store) { plain[table.id] = try SimpleChanges(table, store) }
            events[table.id] = try collect(table)
        }
        for table in store.catalog.tables { try findDisplaced(table) }
        try giveUpBrokenKeys()
        for table in store.catalog.tables { try rememberFormer(table) }
        for table in store.catalog.tables {
            try bury(table)
            if let plain = plain[table.id], !plain.deletes.isEmpty {
                plainDeletes[table.id] = try BatchDeleteRecorder(plain, self) { self.dangling.note($0, $1, in: table) }
            }
        }
        for table in store.catalog.tables { try follow(table) }
        try dangling.settle()
        // A row whose reference came to mean another row is added on the way, in any table.
        while try store.catalog.tables.contains(where: { try identify($0) }) {}
        // Deletions first: what they free is taken by the inserts of the same transaction.
        for table in store.catalog.tables.reversed() {
            try renounce(table)
            try plainDeletes[table.id]?.write()
        }
        try flushGroups()
        for table in store.catalog.tables {
            try compare(table)
            if let plain = plain[table.id] {
                if !plain.updates.isEmpty { try BatchUpdateRecorder(plain, self).write() }
                if !plain.inserts.isEmpty { try BatchInsertRecorder(plain, self).write() }
            }
        }
        for show in showing { try show() }
        for table in store.catalog.tables { try settlePending(table) }
        guard let writer else { return nil }
        let recorded = try writer.finish()
        self.writer = nil
        try store.saveDigest()
        return recorded
    }

    /// The transaction being written, begun with the first change.
    func transaction() throws -> TransactionWriter {
        if let writer { return writer }
        let fingerprint = try store.schemaFingerprint()
        let writer = try TransactionWriter(
            store, milliseconds: milliseconds, schema: fingerprint, author: author, context: context)
        self.writer = writer
        return writer
    }

    /// Encodes the changes collected so far; a table's changes stay together.
    func flushGroups() throws {
        try writer?.flush()
    }

    // MARK: Rows that are gone

    private func bury(_ table: TrackedTable) throws {
        guard let events = events[table.id] else { return }
        let clock = ClockTable(table: table, connection: connection)
        for death in events.deaths.values.sorted(by: { $0.record < $1.record }) {
            guard let record = try clock.record(at: death.record) else { continue }
            guard let identity = record.named ?? naturalIdentity(of: death.location, in: table) else { continue }
            bury(identity, record, milliseconds: death.milliseconds, in: table)
            if table.localInteger != nil { buriedAt[table.id, default: [:]][identity] = death.record }
            let uniques = table.findsByKeyDigest ? [table.keyDigest(identity)] : record.uniques
            try clock.delete(death.record, uniques: uniques)
            dangling.note(death.record, identity, in: table)
            if !record.state.cellsByName.isEmpty || record.breaksCheck {
                legacies[table.id, default: [:]][death.record] = record
            }
        }
    }

    /// Takes a row's entries out of the state digest and remembers that it went.
    func bury(_ identity: RowIdentity, _ record: ClockRecord, milliseconds: Int64, in table: TrackedTable) {
        store.count(-1, record.state, row: store.rowDigest(table, identity), table: table)
        buried[table.id, default: [:]][identity] = (record.state.allStamps, milliseconds)
    }

    private func naturalIdentity(of location: RowKey, in table: TrackedTable) -> RowIdentity? {
        if let key = location.key { return key }
        guard let rowid = location.rowid, table.kind == .natural, table.schema.integerKey != nil else { return nil }
        return RowIdentity(natural: [.integer(rowid)])
    }

    // MARK: Rows that moved

    private func follow(_ table: TrackedTable) throws {
        guard table.hasRowid, let places = events[table.id]?.places(), let events = events[table.id] else { return }
        let clock = ClockTable(table: table, connection: connection)
        var moves: [(from: Int64, to: Int64, uniques: [Int32])] = []
        for place in places {
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
                $0.movedFrom = origin
            }
        }
        try clock.move(moves)
    }

    // MARK: Identities

    /// Returns whether there was a row to identify.
    private func identify(_ table: TrackedTable) throws -> Bool {
        guard let places = events[table.id]?.places(), let events = events[table.id] else { return false }
        var isAny = false
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        for place in places {
            guard let life = events.lives[place], !life.isIdentified else { continue }
            isAny = true
            self.events[table.id]?.update(place) { $0.isIdentified = true }
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
            if table.localInteger != nil, identity != former || life.movedFrom != nil, let rowid = place.rowid {
                let reserved = try identities.reservedIdentity(of: rowid, in: table)
                if reserved != nil { try identities.release(rowid, in: table) }
                let mayBeReferredTo =
                    former != nil || life.restarted || rowid <= table.high || reserved != nil && reserved != identity
                if mayBeReferredTo { try forceReferrers(to: rowid, in: table) }
                // A row that went and came back elsewhere has left its integer too, whenever it went.
                let left =
                    try life.movedFrom
                    ?? identity.flatMap { try buriedAt[table.id]?[$0] ?? identities.reservedInteger(of: $0, in: table) }
                if let left, left != rowid {
                    // They are found by what they were called.
                    try forceReferrers(to: left, in: table)
                    if try identities.reservedIdentity(of: left, in: table) == identity {
                        self.former[table.id, default: [:]][left] = .some(identity)
                        try identities.release(left, in: table)
                    }
                }
                table.high = max(table.high, rowid)
            }
        }
        return isAny
    }

    private func newSurrogate(_ table: TrackedTable, _ life: TouchedRow, _ place: RowKey) throws -> RowIdentity {
        if table.localInteger != nil, let rowid = place.rowid,
            let reserved = try identities.reservedIdentity(of: rowid, in: table),
            try HiddenRows(store).row(table.name, reserved)?.state != .parked
        {
            // A row that is parked is a row already: this one came later.
            return reserved
        }
        if store.newTables.contains(table.id), life.insertMilliseconds == 0, let rowid = life.rowid ?? place.rowid,
            let row = try TableReader(table: table, store: store).row(at: rowid)
        {
            return InitialRows.identity(of: row, rowid, table)
        }
        var hash = IdentityHash("row")
        hash.combine(store.salt)
        hash.combine(table.name)
        hash.combine(UInt64(bitPattern: life.number))
        hash.combine(UInt64(bitPattern: life.insertMilliseconds))
        return hash.identity(prefix: UInt64(bitPattern: life.insertMilliseconds))
    }

    /// The rows that hold an integer which now means another row are recorded again, though nobody touched them.
    private func forceReferrers(to integer: Int64, in table: TrackedTable) throws {
        for (child, column) in store.catalog.referrers(of: table) {
            let keys = child.capturesKey ? child.keyColumnNames.map { ", \(SQL.name($0))" }.joined() : ""
            let rowid = child.hasRowid ? child.rowid : "NULL"
            let statement = try connection.prepare(
                "SELECT \(rowid)\(keys) FROM \(child.quoted) WHERE \(SQL.name(column.local)) = ?")
            statement.bind(integer, at: 1)
            defer { statement.reset() }
            while try statement.step() {
                let rowid = statement.isNull(0) ? nil : statement.integer(0)
                // Recorded whole in any case.
                if let rowid, plain[child.id]?.inserted(at: rowid) ?? false { continue }
                guard let place = CapturedChanges.location(child, rowid: rowid, value: { statement.value(1 + $0) })
                else { continue }
                try events[child.id]?.force(place, rowid: rowid, milliseconds: milliseconds)
            }
        }
    }

    // MARK: Helpers

    /// A value as logs have it: the integer of a referenced row becomes its identity.
    func translated(_ value: Value, _ position: Int, in table: TrackedTable) throws -> Value {
        guard case .integer(let integer) = value, let name = table.columns[position].reference,
            let parent = store.catalog[name]
        else { return value }
        return .reference(try identity(of: integer, in: parent))
    }

    /// The identity that an integer stands for with all of this.
    func identity(of integer: Int64, in parent: TrackedTable) throws -> RowIdentity {
        if let identity = events[parent.id]?.lives[RowKey(rowid: integer)]?.identity { return identity }
        if let identity = plain[parent.id]?.identity(at: integer) { return identity }
        return try identities.identity(of: integer, in: parent)
    }

    /// When it was captured, no later than now and above everything it supersedes.
    func raised(_ captured: Int64, above stamps: [Stamp]) -> HybridTime {
        raised(captured, above: stamps.lazy.map(\.time).max())
    }

    /// - Parameter latest: the latest time of what it supersedes; nil where that is nothing.
    func raised(_ captured: Int64, above latest: HybridTime?) -> HybridTime {
        let limit = milliseconds + store.configuration.maximumDrift
        let base = captured > limit ? milliseconds : min(captured, milliseconds)
        let time = HybridTime(milliseconds: base)
        guard let latest, latest >= time else { return time }
        return latest.successor
    }

    /// Forgets the pending rows that were recorded, all but the newest, which keeps their numbers from restarting.
    private func settlePending(_ table: TrackedTable) throws {
        guard let events = events[table.id] else { return }
        plain[table.id]?.raiseHigh()
        if events.lastNumber > table.recorded {
            if let plain = plain[table.id], plain.entries.count > 100 {
                try plain.forgetPending()
            } else {
                try connection.run("DELETE FROM \(table.pending) WHERE number < ?", .integer(events.lastNumber))
            }
            table.recorded = events.lastNumber
        }
        try connection.run(
            "UPDATE logsync_table SET recorded = ?2, high = ?3 WHERE id = ?1 AND (recorded <> ?2 OR high <> ?3)",
            .integer(table.id), .integer(table.recorded), .integer(table.high))
    }
}
