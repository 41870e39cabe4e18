import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What a clock record holds beside its entries.
struct ClockRecord {
    var state: RowClock
    /// The 32-bit digest of each column's value as the table returns it, by column id.
    var digests: [UInt32]
    /// Of the whole row.
    var digest: UInt64
    /// nil where the key columns say it.
    var identity: RowIdentity?
    /// What the key columns say, for when they are gone; kept where records are found by its digest alone.
    var key: RowIdentity?
    /// The digests of the row's unique keys, by slot.
    var uniques: [Int32]
    /// Whether a reference shows something else than its version: the row that it names does not stand.
    var isReplaced = false
    /// Whether the row breaks a CHECK constraint.
    var breaksCheck = false

    /// The mark of a record whose only mark is that it is contested.
    static let contested: Int64 = 1

    /// Which row it is of, as far as the record itself says.
    var named: RowIdentity? { identity ?? key }

    /// The column `conflict`: what has to be found again without looking at every record.
    fileprivate var marks: Int64 {
        (state.isContested ? Self.contested : 0) | (isReplaced ? 2 : 0) | (breaksCheck ? 4 : 0)
    }
}

extension ClockRecord {
    /// Whether a row shows, in a column of references, a number of which its author has not said what it means.
    ///
    /// - Parameter row: by column position.
    func showsNumber(_ row: [Value], _ position: Int, in table: TrackedTable) -> Bool {
        table.isUntranslated(row[position], at: position)
            && state.cell(table.columns[position].id).versions.contains {
                $0.value.map { table.number($0, at: position) } == row[position]
            }
    }

    /// Whether what a row shows in a column which was one of references names another row: that is left to the row, where
    /// a value of which its author has not said what it means, or a key from a peer that has migrated, is spelled out.
    func isReference(_ shown: Value, in column: Int) -> Bool {
        guard !shown.isNull, column < digests.count else { return false }
        let versions = state.cell(column).versions
        return !versions.isEmpty && !versions.contains { $0.value == shown }
    }
}

extension ClockTable {
    /// The columns, by position, in which rows may show such numbers, by the rows' records.
    ///
    /// - Parameter isMeant: whether such a number, at a position, is the key that another peer has given to a row.
    func shownNumbers(except isMeant: (Value, Int) throws -> Bool) throws -> [Int64: [Int]] {
        var numbers: [Int64: [Int]] = [:]
        guard table.columns.contains(where: { $0.reference != nil }) else { return [:] }
        for row in try connection.rows("SELECT row FROM \(table.clock) WHERE extra IS NOT NULL") {
            guard let state = try record(at: row[0].asInteger)?.state else { continue }
            let places = try table.columns.indices.filter { place in
                try state.cell(table.columns[place].id).versions.contains { version in
                    try version.value.map { try table.isUntranslated($0, at: place) && !isMeant($0, place) } ?? false
                }
            }
            if !places.isEmpty { numbers[row[0].asInteger] = places }
        }
        return numbers
    }
}

extension ClockTable {
    /// Whether rows have entries in a column that is not here, of a name in logs, which another peer has made.
    func haveCells(named name: String, notOf peer: Int64) throws -> Bool {
        let rows = try Statement("SELECT row FROM \(table.clock) WHERE extra IS NOT NULL", on: connection)
        while try rows.step() {
            guard let state = try record(at: rows.integer(0))?.state else { continue }
            let isTheirs = state.cellsByName.contains { cell in
                cell.key.folded == name.folded && cell.value.stamps.contains { $0.peer != peer }
            }
            if isTheirs { return true }
        }
        return false
    }
}

extension ClockRecord {
    /// The record of a row that stands as `row`.
    init(_ state: RowClock, of identity: RowIdentity, shownAs row: TableReader.Row, _ reader: TableReader) {
        let table = reader.table
        let isStored = table.storesIdentity || identity.isSurrogate
        self.init(
            state: state, digests: reader.columnDigests(row.digests), digest: reader.digest(row.digests),
            identity: isStored ? identity : nil, key: !isStored && table.findsByKeyDigest ? identity : nil,
            uniques: table.uniques(of: identity) { row.values[$0] })
    }
}

/// Reads and writes the clock records of one table.
struct ClockTable {
    let table: TrackedTable
    let connection: Connection

    func record(at row: Int64) throws -> ClockRecord? {
        try record(at: row, sql: table.selectClock, keepsKey: table.findsByKeyDigest)
    }

    /// The digests of a record's columns, by column id.
    static func digests(_ bytes: UnsafeRawBufferPointer) -> [UInt32] {
        (0..<bytes.count / 4).map {
            UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self))
        }
    }

    /// - Parameter keepsKey: whether the key stands in place of the digests of unique keys.
    func record(at row: Int64, sql: String, keepsKey: Bool) throws -> ClockRecord? {
        let statement = try connection.prepare(sql)
        statement.bind(row, at: 1)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let base = Stamp(
            peer: statement.integer(0), sequence: UInt64(bitPattern: statement.integer(1)),
            time: HybridTime(rawValue: UInt64(bitPattern: statement.integer(2))))
        let digests = statement.withBytes(4, Self.digests)
        var state = RowClock(insertedBy: base, columnCount: digests.count)
        if base.peer == 0 {
            state.base = nil
            state.columnCount = 0
        }
        if !statement.isNull(5) { try ClockCodec.decodeExtra(statement.bytes(5), into: &state) }
        return ClockRecord(
            state: state, digests: digests, digest: UInt64(bitPattern: statement.integer(3)),
            identity: statement.isNull(6) ? nil : RowIdentity(unchecked: statement.bytes(6)),
            key: statement.isNull(7) || !keepsKey ? nil : RowIdentity(unchecked: statement.bytes(7)),
            uniques: keepsKey ? [] : Self.uniques(statement, 7),
            isReplaced: statement.integer(8) & 2 != 0, breaksCheck: statement.integer(8) & 4 != 0)
    }

    /// The digests of unique keys that a column holds.
    static func uniques(_ statement: Statement, _ column: Int) -> [Int32] {
        if statement.isNull(column) { return [] }
        return statement.withBytes(column) { bytes in
            (0..<bytes.count / 4).map {
                Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self))
            }
        }
    }

    /// What tells whether a record is as it was: who inserted the row, and what it shows.
    static let mark = """
        (clock.digest + clock.peer * 31 + clock.sequence * 37 + coalesce(length(clock.extra), 0)) % 4503599627370496
        """

    func mark(at row: Int64) throws -> Int64? {
        try connection.integer("SELECT \(Self.mark) FROM \(table.clock) AS clock WHERE row = ?", .integer(row))
    }

    func allRows() throws -> [Int64] {
        let statement = try Statement("SELECT row FROM \(table.clock)", on: connection)
        var rows: [Int64] = []
        while try statement.step() { rows.append(statement.integer(0)) }
        return rows
    }

    func exists(_ row: Int64) throws -> Bool {
        let statement = try connection.prepare(table.identityByRow)
        statement.bind(row, at: 1)
        defer { statement.reset() }
        return try statement.step()
    }

    func identity(at row: Int64) throws -> RowIdentity? { try identity(at: row, table.identityByRow) }

    /// Which row a record is of, as far as the record itself says.
    func name(at row: Int64) throws -> RowIdentity? { try identity(at: row, table.nameByRow) }

    private func identity(at row: Int64, _ sql: String) throws -> RowIdentity? {
        let statement = try connection.prepare(sql)
        statement.bind(row, at: 1)
        defer { statement.reset() }
        guard try statement.step(), !statement.isNull(0) else { return nil }
        return RowIdentity(unchecked: statement.bytes(0))
    }

    /// The record with a stored identity.
    func row(of identity: RowIdentity) throws -> Int64? {
        let statement = try connection.prepare(table.clockRowByIdentity)
        statement.bind(blob: identity.bytes, at: 1)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : nil
    }

    func insert(_ record: ClockRecord, at row: Int64?) throws -> Int64 {
        let statement = try connection.prepare(table.insertClock)
        try write(record, at: row, with: statement)
        let row = row ?? connection.lastInsertedRow
        try addUniques(record.uniques, row: row)
        return row
    }

    func update(_ record: ClockRecord, at row: Int64, formerUniques: [Int32]) throws {
        let statement = try connection.prepare(table.updateClock)
        try write(record, at: row, with: statement)
        if record.uniques != formerUniques {
            try removeUniques(formerUniques, row: row)
            try addUniques(record.uniques, row: row)
        }
    }

    func delete(_ row: Int64, uniques: [Int32]) throws {
        let statement = try connection.prepare(table.deleteClock)
        statement.bind(row, at: 1)
        try statement.run()
        try removeUniques(uniques, row: row)
        guard table.mapsKeys else { return }
        try connection.run(
            "DELETE FROM logsync_shown WHERE table_id = ? AND row = ?", .integer(table.id), .integer(row))
    }

    /// Follows a row whose rowid changed.
    func move(_ row: Int64, to target: Int64, uniques: [Int32]) throws {
        let statement = try connection.prepare(table.moveClock)
        statement.bind(row, at: 1)
        statement.bind(target, at: 2)
        try statement.run()
        try removeUniques(uniques, row: row)
        try addUniques(uniques, row: target)
        try moveShownKey(row, to: target)
    }

    private func moveShownKey(_ row: Int64, to target: Int64) throws {
        guard table.keyHasReference || table.mapsKeys else { return }
        try connection.run(
            "UPDATE OR REPLACE logsync_shown SET row = ?3 WHERE table_id = ?1 AND row = ?2", .integer(table.id),
            .integer(row), .integer(target))
    }

    /// Follows rows whose rowids changed, by way of numbers that no row has: one may move to where another still is.
    /// A record that nobody moves and that stands in the way is put aside; its row is found by its key, where it has one.
    ///
    /// - Returns: whether there was such a record.
    @discardableResult
    func move(_ moves: [(from: Int64, to: Int64, uniques: [Int32])]) throws -> Bool {
        guard !moves.isEmpty else { return false }
        var isInTheWay = false
        var free = try FreeNumbers(besides: [.init(table: table.clock)], and: moves.map(\.to), on: connection)
        var parked: [(from: Int64, to: Int64, uniques: [Int32])] = []
        for move in moves {
            let aside = try free.next()
            try self.move(move.from, to: aside, uniques: move.uniques)
            parked.append((aside, move.to, move.uniques))
        }
        for move in parked {
            isInTheWay = try vacate(move.to) || isInTheWay
            try self.move(move.from, to: move.to, uniques: move.uniques)
        }
        return isInTheWay
    }

    /// Puts a record aside that stands at a row number which is not its row's any more.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func vacate(_ row: Int64) throws -> Bool {
        guard try exists(row) else { return false }
        var numbers = try FreeNumbers(besides: [.init(table: table.clock)], on: connection)
        let free = try numbers.next()
        try connection.run(table.moveClock, .integer(row), .integer(free))
        if table.hasUniqueDigests {
            try connection.run("UPDATE \(table.unique) SET row = ?2 WHERE row = ?1", .integer(row), .integer(free))
        }
        try moveShownKey(row, to: free)
        return true
    }

    private func write(_ record: ClockRecord, at row: Int64?, with statement: Statement) throws {
        let state = record.state
        if let row { statement.bind(row, at: 1) } else { statement.bindNull(at: 1) }
        if let identity = record.identity {
            statement.bind(blob: identity.bytes, at: 2)
        } else {
            statement.bindNull(at: 2)
        }
        statement.bind(state.base?.peer ?? 0, at: 3)
        statement.bind(Int64(bitPattern: state.base?.sequence ?? 0), at: 4)
        statement.bind(Int64(bitPattern: state.base?.time.rawValue ?? 0), at: 5)
        statement.bind(Int64(bitPattern: record.digest), at: 6)
        record.digests.withUnsafeBytes { statement.bind(blob: Array($0)[...], at: 7) }
        if let extra = ClockCodec.encodeExtra(state) {
            statement.bind(blob: extra[...], at: 8)
        } else {
            statement.bindNull(at: 8)
        }
        if table.findsByKeyDigest {
            if let key = record.key { statement.bind(blob: key.bytes, at: 9) } else { statement.bindNull(at: 9) }
        } else if record.uniques.isEmpty {
            statement.bindNull(at: 9)
        } else {
            record.uniques.withUnsafeBytes { statement.bind(blob: Array($0)[...], at: 9) }
        }
        if record.marks != 0 { statement.bind(record.marks, at: 10) } else { statement.bindNull(at: 10) }
        try statement.run()
    }

    // MARK: Unique keys

    func addUniques(_ uniques: [Int32], row: Int64) throws {
        for digest in uniques where digest != 0 {
            let statement = try connection.prepare(table.insertUnique)
            statement.bind(Int64(digest), at: 1)
            statement.bind(row, at: 2)
            try statement.run()
        }
    }

    func removeUniques(_ uniques: [Int32], row: Int64) throws {
        for digest in uniques where digest != 0 {
            let statement = try connection.prepare(table.deleteUnique)
            statement.bind(Int64(digest), at: 1)
            statement.bind(row, at: 2)
            try statement.run()
        }
    }

    func rows(withUnique digest: Int32) throws -> [Int64] {
        guard digest != 0 else { return [] }
        let statement = try connection.prepare(table.rowsByUnique)
        statement.bind(Int64(digest), at: 1)
        defer { statement.reset() }
        var rows: [Int64] = []
        while try statement.step() { rows.append(statement.integer(0)) }
        return rows
    }
}
