import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Inserts rows that nobody has here yet, with their clock records, some at a time (``RowsParameter``).
///
/// It gives what ``ShownRows/insert(_:_:integer:in:)`` and ``ClockTable/insert(_:at:)`` give for a row whose cells are all
/// of one insert and stand in this store's columns as they are given. What is anything else — a constraint refuses it, it
/// refers to a row that is not here — it leaves alone, for those who know how: at once, or when the rows are written.
final class BatchInserter {
    let table: TrackedTable
    /// The positions of columns of which the rows' inserts say nothing; they show what they begin with.
    let missing: [Int]
    private let store: OpenStore
    private let shownRows: ShownRows
    private let clock: BatchClockInserter
    private let statement: Statement
    private let exists: Statement
    private let parents: ParentIntegerCache
    /// The greatest integer that the table has or has given out, in rows that wait, too.
    private var highest: Int64 = 0
    /// The positions of the other columns.
    private let given: [Int]
    /// The values of the row at hand by position; of missing columns what they begin with, in all rows.
    private var values: [Value]
    private let key: [Int]
    private let collations: [Collation]
    /// The position of the column that is the rowid, where it is one of the replicated ones.
    private let integerKey: Int?
    private let refersToItself: Bool
    /// Each row's rowid, then its values.
    private let batch: RowsParameter
    /// One a row of the batch.
    private var waiting: [PendingRow] = []
    private let limit: Int
    private var left: [Int] = []

    /// A row that is not written yet.
    private struct PendingRow {
        var token: Int
        var rowid: Int64
    }

    /// How many bytes of rows are written at a time, about.
    private static let bytes = 256 << 10

    private var connection: Connection { store.connection }

    /// Whether rows of a table may be inserted in this way now.
    static func suits(_ table: TrackedTable, _ store: OpenStore) -> Bool {
        store.batching(of: table).isSuperset(of: .merging) && table.conflicts != .probed && !store.hasFolded
    }

    init(
        _ table: TrackedTable, without missing: [Int] = [], _ store: OpenStore, _ shownRows: ShownRows, _ stamp: Stamp
    ) throws {
        self.table = table
        self.missing = missing
        self.store = store
        self.shownRows = shownRows
        clock = try BatchClockInserter(table, store, stamp, without: missing.map { table.columns[$0].id })
        given = table.columns.indices.filter { !missing.contains($0) }
        integerKey = table.integerKeyPosition
        batch = RowsParameter(width: table.insertWidth)
        // Where triggers fire, or a STRICT table looks at types, a row that is refused takes all of its statement with it.
        let isAlone = try table.schema.isStrict || store.hasCopiedTriggers(on: table)
        limit = isAlone ? 1 : RowsParameter.batch
        statement = try store.connection.prepare(
            isAlone ? table.insertRow : table.insertRows, readingRowsOf: batch.width)
        exists = try store.connection.prepare(table.existsByRowid)
        parents = try ParentIntegerCache(table, store)
        values = [Value](repeating: .null, count: table.columns.count)
        for position in missing { values[position] = store.defaultValue(of: table, position) }
        key = table.key.map(\.index)
        collations = table.key.map(\.collation)
        refersToItself = table.columns.contains { $0.reference == table.name }
        if table.localInteger != nil { try readHighest() }
    }

    /// Finds out where the next rows may stand: others have inserted some, maybe.
    private func readHighest() throws {
        if table.localInteger != nil {
            highest = try shownRows.integers.highest(of: table)
        } else if integerKey == nil {
            highest = try connection.integer("SELECT max(\(table.rowid)) FROM \(table.quoted)") ?? 0
        }
    }

    /// Puts down what was kept back. Call it before anything looks for one of the rows by its key, and after ``write()``.
    func flush() throws { try clock.flush() }

    /// Looks at the integers that the next rows would take, all at once: rows that come together have them in a row.
    func expect(_ hints: [Int64?]) throws {
        let hints = hints.compactMap { $0 }
        areTaken = nil
        areFree = nil
        guard let first = hints.min(), let last = hints.max(), first > 0,
            last <= highest, last - first < 2 * Int64(hints.count)
        else { return }
        let sql = "SELECT count(*) FROM \(table.quoted) WHERE \(table.rowid) BETWEEN ? AND ?"
        switch try connection.integer(sql, .integer(first), .integer(last)) {
        case last - first + 1: areTaken = first...last
        // Of two rows that would take one of them the table refuses the second.
        case 0: areFree = first...last
        default: break
        }
    }

    private var areTaken: ClosedRange<Int64>?
    private var areFree: ClosedRange<Int64>?

    // MARK: One row

    /// Takes a row, to be written with others.
    ///
    /// - Parameters:
    ///   - identity: nobody has it here, or the table's own key says so.
    ///   - token: by which ``write()`` names it.
    ///   - hint: the row's integer at its author.
    ///   - stamp: the insert's.
    ///   - cells: the cells that were set after it, by column id.
    ///   - omitsKey: whether the columns of a natural key are the identity's to say.
    ///   - value: by column position, as logs have it.
    /// - Returns: the row's rowid; nil where it is left alone.
    func insert(
        _ identity: RowIdentity, _ token: Int, hint: Int64?, _ stamp: Stamp, cells: [Int: Stamp] = [:],
        omitsKey: Bool, value: (Int) -> Value
    ) throws -> Int64? {
        guard identity.isSurrogate == (table.kind == .surrogate), try gather(omitsKey ? identity : nil, value),
            omitsKey || table.kind != .natural || identity.isSpelled(by: values, at: key, collations)
        else { return nil }
        if waiting.isEmpty { try readHighest() }
        guard let rowid = try rowid(hint), try isNew(identity, at: rowid) else { return nil }
        for position in values.indices { clock.digests[position] = table.valueDigest.of(values[position]) }
        if !table.uniqueSlots.isEmpty { clock.uniques = table.uniqueDigests { values[$0] } }
        identity.bytes.withUnsafeBytes { clock.append(at: rowid, identity: $0, stamp, cells: cells) }
        if integerKey == nil { batch.append(rowid) }
        for value in values { batch.append(value) }
        waiting.append(PendingRow(token: token, rowid: rowid))
        highest = max(highest, rowid)
        if waiting.count >= limit || batch.byteCount >= Self.bytes { try writeBatch() }
        return rowid
    }

    /// The primary key of the row that was taken last.
    func primaryKey(at rowid: Int64) -> [Value] {
        table.primaryKey(of: TableReader.Row(undigested: values), at: rowid)
    }

    /// Puts together the row's values as this store has them; false where a reference leads nowhere yet.
    ///
    /// - Parameter identity: what says the key; nil where the values do.
    private func gather(_ identity: RowIdentity?, _ value: (Int) -> Value) throws -> Bool {
        let isSaid = table.kind == .natural && identity != nil
        if isSaid, let identity {
            guard let parts = identity.naturalParts, parts.count == key.count else { return false }
            for (part, position) in zip(parts, key) {
                if case .reference = part { return false }
                values[position] = part.value
            }
        }
        for position in given where !isSaid || !key.contains(position) {
            guard let given = try local(value(position), at: position) else { return false }
            values[position] = given
        }
        return true
    }

    private func local(_ value: Value, at position: Int) throws -> Value? {
        if let given = try parents.local(value, at: position) { return given }
        guard refersToItself, !waiting.isEmpty else { return nil }
        // The row that it refers to may be one that waits.
        try writeBatch()
        return try parents.local(value, at: position)
    }

    /// Whether nothing beside the table has to do with a row or its integer: it is not kept there, and no row was promised the
    /// integer, or left it in this transaction, when others may still refer to it.
    private func isNew(_ identity: RowIdentity, at rowid: Int64) throws -> Bool {
        if store.hasHidden, try HiddenRows(store).contains(table.name, identity) { return false }
        guard table.localInteger != nil else { return true }
        let (integers, identities) = (shownRows.integers, IdentityMap(store: store))
        return try integers.leftInteger(of: identity, in: table) == nil
            && integers.leftIdentity(of: rowid, in: table) == nil
            && identities.reservedInteger(of: identity, in: table) == nil
            && identities.reservedIdentity(of: rowid, in: table) == nil
    }

    /// Where the row is to stand.
    private func rowid(_ hint: Int64?) throws -> Int64? {
        if table.localInteger != nil { return try freeInteger(hint) }
        guard let integerKey else { return highest < Int64.max ? max(highest, 0) + 1 : nil }
        guard case .integer(let rowid) = values[integerKey] else { return nil }
        return rowid
    }

    /// As ``IntegerAllocator/next(hint:for:in:)`` where nothing is promised and nothing has gone.
    private func freeInteger(_ hint: Int64?) throws -> Int64? {
        if let hint, hint <= IntegerAllocator.greatest, try !shownRows.integers.meansNone(hint, in: table) {
            if hint > highest { return hint }
            if areFree?.contains(hint) ?? false, shownRows.integers.mayGive(hint, in: table) { return hint }
            if shownRows.integers.mayGive(hint, in: table), areTaken?.contains(hint) != true,
                !waiting.contains(where: { $0.rowid == hint })
            {
                exists.reset()
                exists.bind(hint, at: 1)
                defer { exists.reset() }
                if try !exists.step() { return hint }
            }
        }
        return highest < IntegerAllocator.greatest ? max(highest, 0) + 1 : nil
    }

    // MARK: Writing

    /// Writes the rows that wait.
    ///
    /// - Returns: the tokens of rows that were left alone since this was called last.
    func write() throws -> [Int] {
        try writeBatch()
        defer { left = [] }
        return left
    }

    private func writeBatch() throws {
        guard !waiting.isEmpty else { return }
        let refused = try table.localInteger == nil ? writeNamed() : writeNumbered()
        if table.localInteger != nil {
            let places = Set(refused)
            for (place, row) in waiting.enumerated() where !places.contains(place) {
                shownRows.integers.take(row.rowid, in: table)
            }
        }
        left += refused.map { waiting[$0].token }
        batch.removeAll()
        clock.removeAll()
        waiting.removeAll(keepingCapacity: true)
    }

    /// Rows whose keys say who they are; a table of these refuses one that is there.
    private func writeNamed() throws -> [Int] {
        let refused = try batch.write(with: statement, on: connection)
        clock.drop(refused)
        let recorded = try clock.write()
        for place in recorded { try connection.run(table.deleteByRowid, .integer(waiting[place].rowid)) }
        return refused + recorded
    }

    /// Rows whose integers are this store's to give. Their records go first: they tell whether the identities are new.
    private func writeNumbered() throws -> [Int] {
        let recorded = try clock.write()
        for place in recorded { batch.drop(place) }
        let refused = try batch.write(with: statement, on: connection)
        try clock.remove(refused)
        return refused + recorded
    }
}
