import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The rows of one table that were written once since the last recording and to which nothing else happened: most of
/// what a program's bulk writes leave behind.
///
/// Applied as ``CapturedChanges``, such a row begins without a former record, continues the record at its rowid, or
/// ends as that. All of it is known here from the pending rows alone, so they are taken out before the others are
/// applied, and recorded in one pass (``BatchInsertRecorder``, ``BatchUpdateRecorder``, ``BatchDeleteRecorder``). A row
/// is simple where its pending row is the only one that names its key or its rowid, and
///
/// - it was inserted, is in its table where it was captured and under the key that was captured, and no clock record
///   has its rowid or its key; where its integer is local, that is above all that the table ever had, so that no row
///   refers to it yet; or
/// - it was updated or deleted, and the clock record at its rowid is its own and has nothing out of the ordinary; where
///   it was updated, it is still there as it was captured;
///
/// and, where it is there, no other clock record has the digest of one of its unique keys, so that it displaced no row.
///
/// All other rows go the general way, and so do all rows of a table that lacks one of ``Batching/recording``.
final class SimpleChanges {
    let table: TrackedTable
    let store: OpenStore
    /// One a pending row: in the order of their numbers where rows were inserted, of their rowids else.
    @exclusivity(unchecked) private(set) var entries: [Entry] = []
    /// The identities of rows as bytes, see ``range(_:)``; those of surrogate rows come when they are known.
    ///
    /// These two are read and appended to several times a row, and handed to nobody while they change.
    @exclusivity(unchecked) var keys = ByteArena()
    /// Indexes of simple ``entries`` in the order in which rows are best logged: by key, or by rowid.
    private(set) var inserts: [Int] = []
    private(set) var updates: [Int] = []
    private(set) var deletes: [Int] = []
    private(set) var lastNumber: Int64
    private var high: Int64 = 0
    /// When the first row was captured, in milliseconds since 1970.
    private var firstTime: Int64 = 0
    /// The digests of unique keys beside the table's own.
    private var uniques: [Int32] = []

    /// The rows of entries that were there when these were read.
    struct Cells {
        var cells: RowBuffer
        /// By entry; -1 where a row was not kept.
        var rows: [Int32] = []
    }

    /// What was read of rows that programs have inserted, until ``takeCells()``.
    private var insertedCells: Cells?

    /// There is one for each row of a program's largest transaction: 32 bytes.
    struct Entry {
        var rowid: Int64
        /// Counted from the first entry's: see ``SimpleChanges/number(of:)``, ``SimpleChanges/milliseconds(of:)``.
        fileprivate(set) var numberOffset: UInt32
        fileprivate var timeOffset: Int32
        fileprivate var keyStart: UInt32
        fileprivate var keyLength: Int32
        /// Where the digests of its unique keys begin.
        fileprivate var uniqueStart: Int32 = 0
        var kind: UInt8
        var isSimple: Bool

        func `is`(_ kind: Capture.Kind) -> Bool { Int64(self.kind) == kind.rawValue }
    }

    private var connection: Connection { store.connection }

    /// - Parameter isOne: whether there is known to be no more than one pending row.
    init(_ table: TrackedTable, _ store: OpenStore, isOne: Bool) throws {
        self.table = table
        self.store = store
        lastNumber = table.recorded
        try read(byRow: !isOne && isFirstChanged())
        guard !entries.isEmpty else { return }
        let order = sorted()
        try checkDigests()
        try checkIdentities(order)
        for index in order where entries[index].isSimple {
            if entries[index].is(.insert) {
                inserts.append(index)
                high = max(high, entries[index].rowid)
            } else if entries[index].is(.update) {
                updates.append(index)
            } else {
                deletes.append(index)
            }
        }
        if table.kind == .surrogate { identify() }
    }

    var isEmpty: Bool { inserts.isEmpty && updates.isEmpty && deletes.isEmpty }

    /// Whether every pending row is simple.
    var isAll: Bool { inserts.count + updates.count + deletes.count == entries.count }

    /// Indexes of ``entries`` by number, from the first call of ``contains(number:)`` on.
    var byNumber: [Int] = []

    /// The digests of a row's unique keys beside the table's own, by slot.
    func uniques(_ entry: Entry) -> [Int32] {
        let start = Int(entry.uniqueStart)
        return table.uniqueSlots.isEmpty ? [] : Array(uniques[start..<start + table.uniqueSlots.count])
    }

    /// From the first call of ``deleted(_:)`` on.
    var deletedRowids: [Int64] = []
    /// New rows by rowid, from the first look-up on.
    var rowids: [Int] = []

    /// The digest of a row's identity, see ``StateDigest/identity(_:)``.
    @inline(__always)
    func identityDigest(_ entry: Entry) -> UInt64 {
        keys.bytes.withUnsafeBytes { StateDigest.identity(UnsafeRawBufferPointer(rebasing: $0[range(entry)])) }
    }

    /// Where a row's identity is in ``keys``.
    func range(_ entry: Entry) -> Range<Int> { Int(entry.keyStart)..<Int(entry.keyStart) + Int(entry.keyLength) }

    /// The number of a simple entry's pending row.
    func number(of entry: Entry) -> Int64 { table.recorded + Int64(entry.numberOffset) }

    /// When the row of a simple entry was captured, in milliseconds since 1970.
    func milliseconds(of entry: Entry) -> Int64 { firstTime + Int64(entry.timeOffset) }

    /// The identity of a row whose record keeps it.
    func setIdentity(_ bytes: UnsafeRawBufferPointer, at index: Int) {
        entries[index].keyStart = UInt32(keys.count)
        entries[index].keyLength = Int32(bytes.count)
        keys.append(bytes)
    }

    /// Once other rows have been identified by what the table had before.
    func raiseHigh() { if table.localInteger != nil { table.high = max(table.high, high) } }

    /// Forgets all pending rows but the newest. Emptying a table costs a fraction of deleting its rows
    /// (<https://www.sqlite.org/lang_delete.html>, the truncate optimization).
    func forgetPending() throws {
        let rows = try connection.rows("SELECT * FROM \(table.pending) WHERE number = ?", .integer(lastNumber))
        try connection.execute("DELETE FROM \(table.pending)")
        for row in rows {
            let statement = try connection.prepare(
                "INSERT INTO \(table.pending) VALUES(\(SQL.placeholders(row.count)))")
            for (index, value) in row.enumerated() { statement.bind(value, at: index + 1) }
            try statement.run()
        }
    }

    // MARK: Reading

    /// The rows of all simple inserts; nil where they have to be read again.
    func takeCells() -> Cells? {
        defer { insertedCells = nil }
        return insertedCells
    }

    /// Whether the first pending row says of a row that it was there: programs insert rows in the order of their rowids, and
    /// change them in any.
    private func isFirstChanged() throws -> Bool {
        try connection.integer(
            "SELECT kind FROM \(table.pending) WHERE number > ? ORDER BY number LIMIT 1", .integer(table.recorded))
            != Capture.Kind.insert.rawValue
    }

    private func read(byRow isByRow: Bool) throws {
        let statement = try connection.prepare(table.selectSimpleChanges(isByRow: isByRow))
        statement.bind(table.recorded, at: 1)
        defer { statement.reset() }
        let keyCount = table.capturesKey ? table.key.count : 0
        var cells = isByRow ? nil : Cells(cells: RowBuffer(width: table.columns.count))
        while try statement.step() {
            let (number, start) = (statement.integer(0), keys.count)
            if entries.isEmpty { firstTime = statement.integer(3) }
            let (numberOffset, timeOffset) = (number - table.recorded, statement.integer(3) &- firstTime)
            var entry = Entry(
                rowid: statement.integer(2), numberOffset: UInt32(clamping: numberOffset),
                timeOffset: Int32(clamping: timeOffset), keyStart: UInt32(clamping: start), keyLength: 0,
                kind: UInt8(truncatingIfNeeded: statement.integer(1)), isSimple: false)
            let isKnown = appendKey(of: statement, keyCount, rowid: entry.rowid)
            entry.keyLength = Int32(keys.count - start)
            // Where a clock jumped by weeks, or there are more rows than fit, some are not simple.
            let fits = entry.numberOffset == numberOffset && entry.timeOffset == timeOffset && entry.keyStart == start
            entry.isSimple = fits && isKnown && !statement.isNull(2) && isSimple(entry, statement)
            if entry.isSimple, !table.uniqueSlots.isEmpty, !entry.is(.delete) {
                entry.uniqueStart = Int32(uniques.count)
                uniques += table.uniqueDigests { statement.value(6 + keyCount + $0) }
            }
            lastNumber = max(lastNumber, number)
            try keep(entry, statement, from: 6 + keyCount, in: &cells)
            entries.append(entry)
            if entries.count == Self.sample { try reserve() }
        }
        insertedCells = cells
        if isByRow, entries.contains(where: { $0.is(.insert) }) { entries.sort { $0.numberOffset < $1.numberOffset } }
    }

    private func pendingCount() throws -> Int {
        Int(clamping: try connection.integer("SELECT count(*) FROM \(table.pending)") ?? 0)
    }

    /// Makes room for all rows at once: an array that grows is there twice.
    private func reserve() throws {
        let room = try pendingCount()
        entries.reserveCapacity(room)
        keys.reserve((table.kind == .surrogate ? Self.surrogateLength : keys.count / entries.count + 1) * room)
    }

    private func keep(_ entry: Entry, _ statement: Statement, from first: Int, in cells: inout Cells?) throws {
        guard cells != nil else { return }
        guard entry.isSimple && entry.is(.insert) else {
            cells?.rows.append(-1)
            return
        }
        let row = cells?.cells.count ?? 0
        cells?.rows.append(Int32(row))
        cells?.cells.append(statement, from: first)
        let limit = store.configuration.recordingMemory
        if row == Self.sample { cells?.cells.reserve(rows: try pendingCount(), limit: limit) }
        if cells?.cells.size ?? 0 > limit { cells = nil }
    }

    /// A byte that says so, and 16.
    private static let surrogateLength = 17

    /// How many rows say how large the rest of them are.
    private static let sample = 256

    private func isSimple(_ entry: Entry, _ statement: Statement) -> Bool {
        let isThere = statement.integer(4) != 0
        let record = Record(rawValue: statement.integer(5))
        switch Capture.Kind(rawValue: Int64(entry.kind)) {
        case .insert:
            return isThere && record == Record.none && (table.localInteger == nil || entry.rowid > table.high)
                && entry.rowid != table.schema.onlyInteger
        case .update: return isThere && record == .simple
        case .delete: return record == .simple
        default: return false
        }
    }

    /// False where the key is none of those whose spelling is the identity's.
    private func appendKey(of statement: Statement, _ count: Int, rowid: Int64) -> Bool {
        if table.kind == .surrogate { return true }
        var isKnown = true
        keys.beginNaturalKey()
        if count == 0 {
            keys.appendKey(integer: rowid)
            return true
        }
        for column in 6..<6 + count {
            switch statement.type(column) {
            case SQLITE_INTEGER: keys.appendKey(integer: statement.integer(column))
            case SQLITE_TEXT: statement.withBytes(column) { keys.appendKey(text: $0) }
            case SQLITE_BLOB: statement.withBytes(column) { keys.appendKey(blob: $0) }
            case SQLITE_FLOAT:
                // As keys are told apart: 1.0 is 1.
                guard let part = KeyPart(statement.value(column), collation: .binary) else { return false }
                part.append(to: &keys)
                isKnown = false
            default: return false
            }
        }
        return isKnown
    }

    // MARK: Sorting out

    /// All rows in order; takes out those whose key or rowid another pending row names.
    private func sorted() -> [Int] {
        leaveOutSharedRowids()
        guard table.capturesKey else { return entries.indices.sorted { entries[$0].rowid < entries[$1].rowid } }
        return keys.bytes.withUnsafeBytes { keys in
            entries.withUnsafeMutableBufferPointer { entries in
                let order = KeyOrder(parts: table.key.count)
                func key(_ index: Int) -> UnsafeRawBufferPointer {
                    let entry = entries[index]
                    return UnsafeRawBufferPointer(
                        rebasing: keys[Int(entry.keyStart)..<Int(entry.keyStart) + Int(entry.keyLength)])
                }
                var places = entries.indices.map { (prefix: order.prefix(key($0)), index: $0) }
                places.sort {
                    $0.prefix != $1.prefix ? $0.prefix < $1.prefix : order.precedes(key($0.index), key($1.index))
                }
                for next in places.indices.dropFirst() where places[next].prefix == places[next - 1].prefix {
                    let (a, b) = (places[next - 1].index, places[next].index)
                    if key(a).elementsEqual(key(b)) {
                        entries[a].isSimple = false
                        entries[b].isSimple = false
                    }
                }
                return places.map(\.index)
            }
        }
    }

    private func leaveOutSharedRowids() {
        // Where a program inserts, they rise nearly always.
        let isAscending = zip(entries, entries.dropFirst()).allSatisfy { $0.rowid < $1.rowid }
        if isAscending { return }
        let byRowid = entries.indices.sorted { entries[$0].rowid < entries[$1].rowid }
        for (a, b) in zip(byRowid, byRowid.dropFirst()) where entries[a].rowid == entries[b].rowid {
            entries[a].isSimple = false
            entries[b].isSimple = false
        }
    }

    /// Takes out new rows that may have a clock record, and changed rows that have none: by the digests of their keys.
    /// So are rows taken out of which another record has the digest of a unique key.
    private func checkDigests() throws {
        guard table.hasUniqueDigests else { return }
        var digests: [(digest: Int32, index: Int)] = []
        digests.reserveCapacity(entries.count)
        keys.bytes.withUnsafeBytes { keys in
            for index in entries.indices where entries[index].isSimple {
                let entry = entries[index]
                if table.findsByKeyDigest {
                    let key = UnsafeRawBufferPointer(rebasing: keys[range(entry)])
                    digests.append((TrackedTable.fold(StateDigest.identity(key)), index))
                } else if !entry.is(.delete) {
                    for digest in uniques(entry) where digest != 0 { digests.append((digest, index)) }
                }
            }
        }
        digests.sort { $0.digest < $1.digest }
        var scan = try DigestScan(table, on: connection)
        defer { scan.finish() }
        for (digest, index) in digests {
            let rows = try scan.rows(with: digest)
            let rowid = entries[index].rowid
            let isSimple =
                if entries[index].is(.insert) { rows.isEmpty } else {
                    table.findsByKeyDigest ? rows.contains(rowid) : rows.allSatisfy { $0 == rowid }
                }
            if !isSimple { entries[index].isSimple = false }
        }
    }

    /// The same by the identities that records keep.
    private func checkIdentities(_ order: [Int]) throws {
        guard table.kind == .natural, table.storesIdentity else { return }
        let statement = try connection.prepare(table.clockRowByIdentity)
        for index in order where entries[index].isSimple {
            statement.bind(blob: keys.bytes[range(entries[index])], at: 1)
            let record = try statement.step() ? statement.integer(0) : nil
            if record != (entries[index].is(.insert) ? nil : entries[index].rowid) { entries[index].isSimple = false }
            statement.reset()
        }
    }

    // MARK: Identities

    /// Gives new rows their surrogate identities, as ``Recorder`` does.
    private func identify() {
        var hash = SurrogateHash(store, table)
        for index in inserts {
            let start = keys.count
            entries[index].keyStart = UInt32(start)
            hash.append(number: number(of: entries[index]), milliseconds: milliseconds(of: entries[index]), to: &keys)
            entries[index].keyLength = Int32(keys.count - start)
        }
    }
}
