// What programs did to the rows of one table since the last recording.
//
// The problem. A trigger notes each write as it happens: a number, its kind, the key and the rowid that it named, the
// time. A transaction says something else: of each row that is there whether it is new or continues a clock record, and
// of each clock record whether its row is gone. In between a row may have been written many times, deleted and inserted
// again, given another key, or displaced by REPLACE, which fires no delete trigger.
//
// The steps. Pending rows are applied in the order of their numbers to two maps that are empty at first: `touched`, the
// rows that are there, by key; and `deleted`, the clock records whose rows are gone.
//
//   insert       begins a row; after a delete under the same natural key it takes the deleted row's record back
//   update       touches a row, which continues the clock record that its key had, if any
//   delete       ends a row; its record counts as deleted, and a row that began meanwhile leaves nothing
//   key change   of a natural key is a delete and an insert, because another key is another row; of a local integer it
//                is the same row in another place
//
// Each clock record is accounted for once, by a row that continues it or by a deletion, so that no second row takes it.
//
// The exception. Rows that were written once, and that no other pending row names, are not applied at all:
// `SimpleChanges` has taken them out before.
//
// An example. `t(k PRIMARY KEY, v)` has a row 'a' with the clock record 1.
//
//   UPDATE t SET v = 2              touched a (origin 1)
//   UPDATE t SET k = 'b'            touched b (keyChangedFrom 1), deleted 1
//   INSERT INTO t VALUES('a', 3)    touched b (keyChangedFrom 1), touched a (formerRecord 1, isReinserted)
//
// It is recorded as an insert of b, which takes along the values of columns that are unknown here, and as an insert of
// a that covers all that record 1 says.

import LogSyncModel
import LogSyncSQLite

/// The pending rows of one table, applied in order.
struct CapturedChanges {
    let table: TrackedTable
    /// The rows that are there, or were when they were last written.
    private(set) var touched: [RowKey: TouchedRow] = [:]
    /// Clock records whose rows are gone.
    private(set) var deleted: [Int64: DeletedRow] = [:]
    private(set) var lastNumber: Int64
    /// Whether some row was written more than once, so that a key that displaced another row may be gone again.
    private(set) var hasIntermediateKeys = false
    private(set) var hasWrites = false
    /// The rowids that pending rows named, of a table whose rows are told apart by something else.
    private(set) var touchedRowids: Set<Int64> = []
    /// The keys of rows that an undo has brought back, be they there or not.
    private(set) var returned: Set<RowKey> = []
    private var sorted: [RowKey]?
    /// The row whose integer is being changed, between the two pending rows that say so.
    private var moving: TouchedRow?
    /// The record of the row whose natural key is being changed.
    private var keyChangedFrom: Int64?
    /// The records of rows that were deleted, by the key under which that was captured.
    private var recordOfDeleted: [RowKey: Int64] = [:]
    /// Clock records that a touched or a deleted row has taken.
    private var accounted: Set<Int64> = []
    private let origin: (RowKey, Int64?) throws -> Int64?

    /// Of a table that no program has written.
    ///
    /// - Parameter origin: the clock record that a key had before any of this, given the rowid if known.
    init(nothingOf table: TrackedTable, origin: @escaping (RowKey, Int64?) throws -> Int64?) {
        self.table = table
        self.origin = origin
        lastNumber = table.recorded
    }

    /// - Parameters:
    ///   - simple: rows that are recorded without being applied here.
    ///   - origin: the clock record that a key had before any of this, given the rowid if known.
    init(
        _ table: TrackedTable, besides simple: SimpleChanges? = nil, on connection: Connection,
        origin: @escaping (RowKey, Int64?) throws -> Int64?
    ) throws {
        self.table = table
        self.origin = origin
        lastNumber = simple?.lastNumber ?? table.recorded
        if let simple, !simple.isEmpty {
            hasWrites = true
            if simple.isAll { return }
        }
        let keys = table.capturesKey ? table.key.indices.map { ", k\($0)" }.joined() : ""
        let statement = try connection.prepare(
            "SELECT number, kind, row, ms\(keys) FROM \(table.pending) WHERE number > ? ORDER BY number")
        statement.bind(table.recorded, at: 1)
        defer { statement.reset() }
        while try statement.step() {
            let number = statement.integer(0)
            lastNumber = max(lastNumber, number)
            if simple?.contains(number: number) ?? false { continue }
            let rowid = statement.isNull(2) ? nil : statement.integer(2)
            guard let kind = Capture.Kind(rawValue: statement.integer(1)),
                let key = Self.key(in: table, rowid: rowid, value: { statement.value(4 + $0) })
            else { continue }
            try apply(kind, key, rowid: rowid, number: number, milliseconds: statement.integer(3))
        }
    }

    /// - Parameter value: the key's values as captured, by place in the key.
    static func key(in table: TrackedTable, rowid: Int64?, value: (Int) -> Value) -> RowKey? {
        guard table.capturesKey, !table.key.isEmpty else { return rowid.map { RowKey(rowid: $0) } }
        var parts: [KeyPart] = []
        for (index, key) in table.key.enumerated() {
            // A key with a NULL in it tells nothing apart: such a row is known by its rowid.
            guard let part = KeyPart(value(index), collation: key.collation) else {
                return rowid.map { RowKey(rowid: $0) }
            }
            parts.append(part)
        }
        return RowKey(natural: RowIdentity(natural: parts))
    }

    /// The keys of touched rows, in order.
    mutating func sortedKeys() -> [RowKey] {
        if let sorted, sorted.count == touched.count { return sorted }
        let keys = touched.keys.sorted { a, b in
            if let a = a.natural, let b = b.natural { return a < b }
            return (a.rowid ?? .min, b.natural == nil ? 0 : 1) < (b.rowid ?? .min, a.natural == nil ? 0 : 1)
        }
        sorted = keys
        return keys
    }

    // MARK: What recording finds out

    mutating func update(_ key: RowKey, _ body: (inout TouchedRow) throws -> Void) rethrows {
        guard var row = touched[key] else { return }
        try body(&row)
        touched[key] = row
    }

    /// Adds a row that no pending row named.
    mutating func add(_ key: RowKey, rowid: Int64?, milliseconds: Int64) throws {
        guard touched[key] == nil else { return }
        sorted = nil
        try touch(key, rowid: rowid, number: 0, milliseconds: milliseconds)
    }

    /// Lets the references of a row be recorded again, though no pending row named it.
    mutating func recordReferences(of key: RowKey, rowid: Int64?, milliseconds: Int64) throws {
        try add(key, rowid: rowid, milliseconds: milliseconds)
        touched[key]?.recordsReferences = true
    }

    /// The row is not there: it counts as deleted where it had a clock record.
    mutating func removeAbsent(_ key: RowKey) {
        guard let row = touched.removeValue(forKey: key) else { return }
        sorted = nil
        // Displaced with no trigger to say so, it may have displaced another row before.
        hasIntermediateKeys = true
        for record in [row.origin, row.formerRecord].compactMap({ $0 }) {
            add(DeletedRow(record: record, milliseconds: row.milliseconds, key: key))
        }
    }

    mutating func add(_ row: DeletedRow) {
        accounted.insert(row.record)
        deleted[row.record] = row
    }

    /// Whether a touched or a deleted row has taken a clock record.
    func accounts(for record: Int64) -> Bool { accounted.contains(record) }

    /// Lets a touched row continue a clock record.
    mutating func setOrigin(_ record: Int64, of key: RowKey) {
        accounted.insert(record)
        touched[key]?.origin = record
    }

    /// Lets a row that was inserted continue the record of a deleted one: it is that row.
    mutating func takeBack(_ record: Int64, for key: RowKey) {
        deleted[record] = nil
        touched[key]?.origin = record
        touched[key]?.isReinserted = false
    }

    // MARK: Applying pending rows

    private mutating func apply(
        _ kind: Capture.Kind, _ key: RowKey, rowid: Int64?, number: Int64, milliseconds: Int64
    ) throws {
        hasWrites = hasWrites || kind != .delete
        if table.capturesKey, let rowid { touchedRowids.insert(rowid) }
        switch kind {
        case .insert:
            try insert(key, rowid: rowid, number: number, milliseconds: milliseconds)
        case .returned:
            try insert(key, rowid: rowid, number: number, milliseconds: milliseconds)
            touched[key]?.isReturned = true
            returned.insert(key)
        case .update:
            try touch(key, rowid: rowid, number: number, milliseconds: milliseconds)
            touched[key]?.isFound = false
        case .found:
            // A trigger knows when a row was written; who compares rows does not.
            let captured = touched[key]?.milliseconds ?? milliseconds
            let isFound = touched[key]?.isFound ?? true
            try touch(key, rowid: rowid, number: number, milliseconds: captured)
            touched[key]?.isFound = isFound
        case .delete:
            try delete(key, rowid: rowid, milliseconds: milliseconds)
        case .rekeyedFrom:
            if table.capturesKey || (table.kind == .natural && !table.keyHasReference) {
                // Another natural key is another row. One that was inserted since the last recording continues the row
                // whose key it took then, if any.
                let inserted = touched[key].flatMap { $0.origin == nil ? $0 : nil }
                try delete(key, rowid: rowid, milliseconds: milliseconds)
                keyChangedFrom = inserted == nil ? recordOfDeleted[key] : inserted?.keyChangedFrom
            } else {
                try touch(key, rowid: rowid, number: number, milliseconds: milliseconds)
                moving = touched.removeValue(forKey: key)
            }
        case .rekeyedTo:
            guard let row = moving else {
                try insert(key, rowid: rowid, number: number, milliseconds: milliseconds)
                if let keyChangedFrom { touched[key]?.keyChangedFrom = keyChangedFrom }
                keyChangedFrom = nil
                return
            }
            moving = nil
            try move(row, to: key, number: number, milliseconds: milliseconds)
        }
    }

    /// A new row, or one that displaced the row of the same key and goes on as it.
    private mutating func insert(_ key: RowKey, rowid: Int64?, number: Int64, milliseconds: Int64) throws {
        if touchAgain(key, rowid: rowid, number: number, milliseconds: milliseconds) { return }
        var row = TouchedRow(
            origin: try unaccountedOrigin(key, rowid), number: number, lastNumber: number,
            insertMilliseconds: milliseconds, milliseconds: milliseconds, rowid: rowid)
        if let record = recordOfDeleted[key] {
            row.isReinserted = true
            // A row with a NULL in its key is told apart by its rowid alone: one that comes later is another row.
            if table.kind == .natural, key.natural != nil || table.schema.integerKey != nil {
                row.formerRecord = record
                deleted[record] = nil
            }
        }
        touched[key] = row
    }

    private mutating func touch(_ key: RowKey, rowid: Int64?, number: Int64, milliseconds: Int64) throws {
        if touchAgain(key, rowid: rowid, number: number, milliseconds: milliseconds) { return }
        touched[key] = TouchedRow(
            origin: try unaccountedOrigin(key, rowid), number: number, lastNumber: number,
            insertMilliseconds: milliseconds, milliseconds: milliseconds, rowid: rowid)
    }

    /// Returns whether the row has been touched before.
    private mutating func touchAgain(_ key: RowKey, rowid: Int64?, number: Int64, milliseconds: Int64) -> Bool {
        guard touched[key] != nil else { return false }
        hasIntermediateKeys = true
        touched[key]?.lastNumber = number
        touched[key]?.milliseconds = milliseconds
        touched[key]?.rowid = rowid
        return true
    }

    private mutating func delete(_ key: RowKey, rowid: Int64?, milliseconds: Int64) throws {
        let record: Int64?
        if let row = touched.removeValue(forKey: key) {
            // As it was before it went, it may have displaced another row.
            hasIntermediateKeys = true
            record = row.origin ?? row.formerRecord
        } else {
            record = try unaccountedOrigin(key, rowid)
        }
        guard let record else { return }
        recordOfDeleted[key] = record
        add(DeletedRow(record: record, milliseconds: milliseconds, key: key))
    }

    private mutating func move(_ row: TouchedRow, to key: RowKey, number: Int64, milliseconds: Int64) throws {
        // UPDATE OR REPLACE displaces the row that was there.
        try delete(key, rowid: key.rowid, milliseconds: milliseconds)
        var row = row
        row.lastNumber = number
        row.milliseconds = milliseconds
        row.rowid = key.rowid
        touched[key] = row
    }

    private mutating func unaccountedOrigin(_ key: RowKey, _ rowid: Int64?) throws -> Int64? {
        guard let record = try origin(key, rowid), accounted.insert(record).inserted else { return nil }
        return record
    }
}
