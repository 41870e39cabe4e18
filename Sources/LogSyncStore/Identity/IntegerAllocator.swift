import LogSyncModel
import LogSyncSQLite

/// Gives surrogate rows their integers (Documentation/model.md, particular rules, integers), and remembers which integers rows left in this
/// transaction: a reference that still holds one means the row that left.
final class IntegerAllocator {
    /// SQLite and most languages count exactly up to here.
    static let greatest: Int64 = 1 << 53

    /// Below it are the integers of rows that are not here: far from what programs write for "none", and within what
    /// 32 bits hold.
    static let promised: Int64 = -2_000_000_000

    /// Whether an integer may be one that ``reserve(for:in:)`` has made. What programs draw at random lies beyond nearly always.
    static func isInvented(_ integer: Int64) -> Bool { -greatest...promised ~= integer }

    /// Whether an integer that names no row may be one that ``reserve(for:in:)`` has made when the database was another store. A
    /// program's "none" may be the least number of 32 bits; so many rows that are not here no store has.
    static func isLeft(_ integer: Int64) -> Bool { (promised - 100_000_000)..<promised ~= integer }

    private let store: OpenStore
    /// The greatest integer that a table has or has given out, by table id, once it is known.
    private var highest: [Int64: Int64] = [:]
    /// The greatest integer that a table had given out when this transaction began, by table id.
    private var before: [Int64: Int64] = [:]
    /// The integer that was free when one was last looked for, by table id: above all that there are, and from below where
    /// the top is taken.
    private var searched: [Int64: Int64] = [:]
    private var searchedFromBelow: [Int64: Int64] = [:]
    /// The integers of rows that this transaction took away, by table id.
    private var formerIntegers: [Int64: [RowIdentity: Int64]] = [:]
    /// The same the other way round; the last row that had an integer counts.
    private var formerIdentities: [Int64: [Int64: RowIdentity]] = [:]

    private var connection: Connection { store.connection }
    private var identities: IdentityMap { IdentityMap(store: store) }

    init(_ store: OpenStore) { self.store = store }

    // MARK: Giving

    /// The integer for a row that is to be shown: one reserved for it, else its author's where free, else the next free one.
    func next(hint: Int64?, for identity: RowIdentity, in table: TrackedTable) throws -> Int64 {
        if let reserved = try identities.reservedInteger(of: identity, in: table) {
            if try !exists(reserved, in: table) { return reserved }
            try identities.release(reserved, in: table)
        }
        let highest = try highest(of: table)
        if let hint, hint <= Self.greatest, try !isStillReferredTo(hint, in: table), try !meansNone(hint, in: table) {
            if hint > highest, try identities.reservedIdentity(of: hint, in: table) == nil { return hint }
            if mayGive(hint, in: table), try !exists(hint, in: table),
                try identities.reservedIdentity(of: hint, in: table) == nil
            {
                return hint
            }
        }
        // What is below the integer that was found last was taken then.
        let isTopTaken = highest >= Self.greatest
        var next =
            isTopTaken
            ? try searchedFromBelow[table.id] ?? firstGap(in: table)
            : max(Self.following(highest), searched[table.id] ?? 0)
        while try exists(next, in: table) || identities.reservedIdentity(of: next, in: table) != nil
            || isStillReferredTo(next, in: table)
        { next = Self.following(next) }
        if isTopTaken { searchedFromBelow[table.id] = next } else { searched[table.id] = next }
        return next
    }

    /// The lowest integer from 1 on that no row has.
    private func firstGap(in table: TrackedTable) throws -> Int64 {
        guard try exists(1, in: table) else { return 1 }
        let last = try connection.integer(
            """
            SELECT \(table.rowid) FROM \(table.quoted) AS "row" WHERE \(table.rowid) >= 1 AND NOT EXISTS (
                SELECT 1 FROM \(table.quoted) AS other WHERE other.\(table.rowid) = "row".\(table.rowid) + 1)
            ORDER BY \(table.rowid) LIMIT 1
            """)
        return Self.following(last ?? 0)
    }

    /// The integer after another; from below where the top is taken.
    static func following(_ integer: Int64) -> Int64 { integer < greatest ? max(integer, 0) + 1 : 1 }

    /// An integer for a row that is not here, of which a reference must hold something: the one that the row had where it left
    /// in this transaction, else one far below zero, where no program's next row comes by chance.
    func reserve(for identity: RowIdentity, in table: TrackedTable) throws -> Int64 {
        if let former = try formerInteger(of: identity, in: table) {
            try identities.reserve(former, for: identity, in: table)
            return former
        }
        let reserved = try connection.integer(
            "SELECT min(integer) FROM logsync_reserved WHERE table_id = ?", .integer(table.id))
        let present = try connection.integer("SELECT min(\(table.rowid)) FROM \(table.quoted)")
        let lowest = min(reserved ?? 0, present ?? 0, formerIdentities[table.id]?.keys.min() ?? 0, Self.promised)
        var integer = lowest > -Self.greatest ? lowest - 1 : Self.promised
        while try lowest <= -Self.greatest
            && (exists(integer, in: table) || leftIdentity(of: integer, in: table) != nil
                || identities.reservedIdentity(of: integer, in: table) != nil)
        { integer -= 1 }
        try identities.reserve(integer, for: identity, in: table)
        return integer
    }

    /// Whether rows that are not here are promised an integer far below zero, which gives way to another when they come. Rows that
    /// are found by such an integer alone keep it.
    func givesWay(_ integer: Int64, in table: TrackedTable) -> Bool {
        integer <= Self.promised && mayBeLeft(table)
    }

    /// Whether what refers to a row of the table can hold another integer instead.
    func mayBeLeft(_ table: TrackedTable) -> Bool {
        store.catalog.referrers(of: table).allSatisfy { child, column in
            child.hasRowid || !child.key.contains { child.columns[$0.index].id == column.id }
        }
    }

    /// Whether an integer that no row has may be given to one, though greater ones have been. AUTOINCREMENT promises that
    /// none comes twice: it may where this transaction alone has gone beyond it.
    func mayGive(_ integer: Int64, in table: TrackedTable) -> Bool {
        !table.schema.isAutoincrement || store.isBeingFilled || before[table.id].map { integer > $0 } ?? false
    }

    /// Notes that a row is shown under an integer that was free.
    func take(_ integer: Int64, in table: TrackedTable) {
        if let known = highest[table.id] { highest[table.id] = max(known, integer) }
        table.high = max(table.high, integer)
    }

    /// The greatest integer that the table has, or has given out.
    func highest(of table: TrackedTable) throws -> Int64 {
        let present = try highestPresent(in: table)
        guard table.schema.isAutoincrement else { return present }
        let given = try connection.integer(
            "SELECT seq FROM sqlite_sequence WHERE name = ?", .text(table.schema.name))
        let highest = max(present, given ?? 0)
        if before[table.id] == nil { before[table.id] = highest }
        return highest
    }

    private func highestPresent(in table: TrackedTable) throws -> Int64 {
        if let known = highest[table.id] { return known }
        let found = try connection.integer("SELECT max(\(table.rowid)) FROM \(table.quoted)") ?? 0
        highest[table.id] = found
        return found
    }

    private func exists(_ integer: Int64, in table: TrackedTable) throws -> Bool {
        try TableReader(table: table, store: store).exists(integer)
    }

    // MARK: Integers that rows left

    /// Notes that a row is no more. Of a table to whose rows no column refers nobody asks, and there may be very many.
    func free(_ integer: Int64, of identity: RowIdentity, in table: TrackedTable) {
        guard store.catalog.hasReferrers(table) else { return }
        formerIntegers[table.id, default: [:]][identity] = integer
        formerIdentities[table.id, default: [:]][integer] = identity
    }

    /// The integer that a row had which left in this transaction, whatever has it now.
    func leftInteger(of identity: RowIdentity, in table: TrackedTable) -> Int64? {
        formerIntegers[table.id]?[identity]
    }

    /// The row that left an integer in this transaction.
    func leftIdentity(of integer: Int64, in table: TrackedTable) -> RowIdentity? {
        formerIdentities[table.id]?[integer]
    }

    /// The integer of a row that left in this transaction, where nothing else has it: rows that held it go on holding it.
    func formerInteger(of identity: RowIdentity, in table: TrackedTable) throws -> Int64? {
        guard let former = leftInteger(of: identity, in: table), try !exists(former, in: table),
            try identities.reservedIdentity(of: former, in: table) == nil
        else { return nil }
        return former
    }

    /// Whether rows still hold the integer of one that has just left: they would come to mean the new row.
    private func isStillReferredTo(_ integer: Int64, in table: TrackedTable) throws -> Bool {
        guard leftIdentity(of: integer, in: table) != nil else { return false }
        return try isHeld(integer, in: table)
    }

    /// Whether rows hold an integer as a plain value, "none" to their program (``IdentityMap/logged(_:in:)``): they would
    /// come to mean the new row.
    func meansNone(_ integer: Int64, in table: TrackedTable) throws -> Bool {
        guard integer <= 0, try identities.knownIdentity(of: integer, in: table) == nil else { return false }
        return try isHeld(integer, in: table)
    }

    private func isHeld(_ integer: Int64, in table: TrackedTable) throws -> Bool {
        for (child, column) in store.catalog.referrers(of: table) {
            let sql = "SELECT 1 FROM \(child.quoted) WHERE \(SQL.name(column.local)) = ? LIMIT 1"
            if try connection.integer(sql, .integer(integer)) != nil { return true }
        }
        return false
    }
}
