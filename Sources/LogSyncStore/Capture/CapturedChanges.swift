import LogSyncModel
import LogSyncSQLite

/// Where a row stands: by its rowid, or by its key where that is what tells rows apart.
struct RowKey: Hashable {
    var rowid: Int64?
    /// The key's local values, normalised; integers of referenced rows stay integers.
    var key: RowIdentity?

    var keyValues: [Value] { key?.naturalParts?.map(\.value) ?? [] }
}

/// What happened to one row between two recordings.
struct TouchedRow {
    /// The clock record that the row had at the last recording or import; nil where it had none.
    var origin: Int64?
    /// The pending number and time of the insert that began it, or of its first event.
    var number: Int64
    var insertMilliseconds: Int64
    /// When it was last touched.
    var milliseconds: Int64
    /// Whether it was deleted and inserted again meanwhile.
    var restarted = false
    /// The record of the former life at the same place, where it was deleted in between.
    var former: Int64?
    /// The record of the row that this one was before its natural key changed.
    var renamedFrom: Int64?
    /// The rowid at the last event, where the table has one.
    var rowid: Int64?
    /// The integer that its row had before, where it has another now.
    var movedFrom: Int64?
    /// Whether every column is to be recorded whatever the digests say.
    var isForced = false
    /// Whether its identity was looked for.
    var isIdentified = false
    /// The identity given to it, once it is known; that of a natural key is made when the row is compared.
    var identity: RowIdentity?
}

/// A row that is gone.
struct DeletedRow {
    var record: Int64
    var milliseconds: Int64
    /// Its key where the record does not keep the identity.
    var location: RowKey
}

/// The events of one table's pending rows, played through in order.
struct CapturedChanges {
    let table: TrackedTable
    private(set) var lives: [RowKey: TouchedRow] = [:]
    /// Rows that are gone, by clock record.
    private(set) var deaths: [Int64: DeletedRow] = [:]
    private(set) var lastNumber: Int64
    /// Whether some row was written more than once, so that a key that displaced another row may be gone again.
    private(set) var hasIntermediateKeys = false
    private(set) var hasWrites = false
    /// The rowids that events named, of a table whose rows are told apart by something else.
    private(set) var touchedRowids: Set<Int64> = []
    private var sorted: [RowKey]?
    private var moving: TouchedRow?
    private var renamed: Int64?
    private var deathAt: [RowKey: Int64] = [:]
    /// Clock records that a life or a death has taken.
    private var claimed: Set<Int64> = []
    private let origin: (RowKey, Int64?) throws -> Int64?

    /// - Parameters:
    ///   - plain: rows that are recorded without being played through.
    ///   - origin: the clock record that a location had before any of this, given its rowid if known.
    init(
        _ table: TrackedTable, besides plain: SimpleChanges? = nil, on connection: Connection,
        origin: @escaping (RowKey, Int64?) throws -> Int64?
    ) throws {
        self.table = table
        self.origin = origin
        lastNumber = plain?.lastNumber ?? table.recorded
        if let plain, !plain.isEmpty {
            hasWrites = true
            if plain.isAll { return }
        }
        let keys = table.capturesKey ? table.key.indices.map { ", k\($0)" }.joined() : ""
        let statement = try connection.prepare(
            "SELECT number, kind, row, ms\(keys) FROM \(table.pending) WHERE number > ? ORDER BY number")
        statement.bind(table.recorded, at: 1)
        defer { statement.reset() }
        while try statement.step() {
            let number = statement.integer(0)
            lastNumber = max(lastNumber, number)
            if plain?.contains(number: number) ?? false { continue }
            let rowid = statement.isNull(2) ? nil : statement.integer(2)
            guard let kind = Capture.Kind(rawValue: statement.integer(1)),
                let location = Self.location(table, rowid: rowid, value: { statement.value(4 + $0) })
            else { continue }
            try play(kind, location, rowid: rowid, number: number, milliseconds: statement.integer(3))
        }
    }

    static func location(_ table: TrackedTable, rowid: Int64?, value: (Int) -> Value) -> RowKey? {
        guard table.capturesKey else { return rowid.map { RowKey(rowid: $0) } }
        var parts: [KeyPart] = []
        for (index, key) in table.key.enumerated() {
            // A key with a NULL in it tells nothing apart: such a row is known by its rowid.
            guard let part = KeyPart(value(index), collation: key.collation) else {
                return rowid.map { RowKey(rowid: $0) }
            }
            parts.append(part)
        }
        return RowKey(key: RowIdentity(natural: parts))
    }

    /// The places that were touched, in the order of their keys.
    mutating func places() -> [RowKey] {
        if let sorted, sorted.count == lives.count { return sorted }
        let places = lives.keys.sorted { a, b in
            if let a = a.key, let b = b.key { return a < b }
            return (a.rowid ?? .min, b.key == nil ? 0 : 1) < (b.rowid ?? .min, a.key == nil ? 0 : 1)
        }
        sorted = places
        return places
    }

    /// Adds a row that is to be recorded again though no event named it.
    mutating func force(_ location: RowKey, rowid: Int64?, milliseconds: Int64) throws {
        if lives[location] == nil {
            sorted = nil
            try touch(location, rowid: rowid, number: 0, milliseconds: milliseconds)
        }
        lives[location]?.isForced = true
    }

    mutating func update(_ location: RowKey, _ body: (inout TouchedRow) throws -> Void) rethrows {
        guard var life = lives[location] else { return }
        try body(&life)
        lives[location] = life
    }

    /// The row is not there: its life ends, with its record where it has one.
    mutating func end(_ location: RowKey) {
        guard let life = lives.removeValue(forKey: location) else { return }
        sorted = nil
        // Displaced without an event, it may have displaced another row before.
        hasIntermediateKeys = true
        for record in [life.origin, life.former].compactMap({ $0 }) {
            add(DeletedRow(record: record, milliseconds: life.milliseconds, location: location))
        }
    }

    mutating func add(_ death: DeletedRow) {
        claimed.insert(death.record)
        deaths[death.record] = death
    }

    /// Whether a life or a death already accounts for a record.
    func isClaimed(_ record: Int64) -> Bool { claimed.contains(record) }

    mutating func claim(_ record: Int64) { claimed.insert(record) }

    private mutating func play(
        _ kind: Capture.Kind, _ location: RowKey, rowid: Int64?, number: Int64, milliseconds: Int64
    ) throws {
        hasWrites = hasWrites || kind != .delete
        if table.capturesKey, let rowid { touchedRowids.insert(rowid) }
        switch kind {
        case .insert:
            try begin(location, rowid: rowid, number: number, milliseconds: milliseconds)
        case .update, .found:
            try touch(location, rowid: rowid, number: number, milliseconds: milliseconds)
        case .delete:
            try remove(location, rowid: rowid, milliseconds: milliseconds)
        case .rekeyedFrom:
            if table.capturesKey || (table.kind == .natural && !table.keyHasReference) {
                // Another natural key is another row. One that came to be since the last recording is of whom it took
                // its key from then, if anybody.
                let came = lives[location].flatMap { $0.origin == nil ? $0 : nil }
                try remove(location, rowid: rowid, milliseconds: milliseconds)
                renamed = came == nil ? deathAt[location] : came?.renamedFrom
            } else {
                try touch(location, rowid: rowid, number: number, milliseconds: milliseconds)
                moving = lives.removeValue(forKey: location)
            }
        case .rekeyedTo:
            guard let moved = moving else {
                try begin(location, rowid: rowid, number: number, milliseconds: milliseconds)
                if let renamed { lives[location]?.renamedFrom = renamed }
                renamed = nil
                return
            }
            moving = nil
            try arrive(moved, at: location, milliseconds: milliseconds)
        }
    }

    /// An insert: a new row, or one that displaced what stood at its place and goes on as it.
    private mutating func begin(_ location: RowKey, rowid: Int64?, number: Int64, milliseconds: Int64) throws {
        if lives[location] != nil {
            hasIntermediateKeys = true
            lives[location]?.milliseconds = milliseconds
            lives[location]?.rowid = rowid
            return
        }
        var life = TouchedRow(
            origin: try unclaimedOrigin(location, rowid), number: number, insertMilliseconds: milliseconds,
            milliseconds: milliseconds, rowid: rowid)
        if let record = deathAt[location] {
            life.restarted = true
            // A row with a NULL in its key is told apart by its rowid alone: what came later is another row.
            if table.kind == .natural, location.key != nil || table.schema.integerKey != nil {
                life.former = record
                deaths[record] = nil
            }
        }
        lives[location] = life
    }

    private mutating func touch(_ location: RowKey, rowid: Int64?, number: Int64, milliseconds: Int64) throws {
        if lives[location] != nil {
            hasIntermediateKeys = true
            lives[location]?.milliseconds = milliseconds
            lives[location]?.rowid = rowid
            return
        }
        lives[location] = TouchedRow(
            origin: try unclaimedOrigin(location, rowid), number: number, insertMilliseconds: milliseconds,
            milliseconds: milliseconds, rowid: rowid)
    }

    private mutating func remove(_ location: RowKey, rowid: Int64?, milliseconds: Int64) throws {
        let record: Int64?
        if let life = lives.removeValue(forKey: location) {
            // What it was before it went may have displaced another row.
            hasIntermediateKeys = true
            record = life.origin ?? life.former
        } else {
            record = try unclaimedOrigin(location, rowid)
        }
        guard let record else { return }
        deathAt[location] = record
        add(DeletedRow(record: record, milliseconds: milliseconds, location: location))
    }

    private mutating func arrive(_ life: TouchedRow, at location: RowKey, milliseconds: Int64) throws {
        // What stood there was displaced by UPDATE OR REPLACE.
        try remove(location, rowid: location.rowid, milliseconds: milliseconds)
        var life = life
        life.milliseconds = milliseconds
        life.rowid = location.rowid
        lives[location] = life
    }

    private mutating func unclaimedOrigin(_ location: RowKey, _ rowid: Int64?) throws -> Int64? {
        guard let record = try origin(location, rowid), claimed.insert(record).inserted else { return nil }
        return record
    }
}
