import LogModel

/// Inserts rows that nobody has here yet, with their clock records, one after the other.
///
/// It gives what ``Standing/insert(_:_:integer:in:)`` and ``ClockTable/insert(_:at:)`` give for a row whose cells are all
/// of one insert and stand in this store's columns as they are given. What is anything else — a constraint refuses it, it
/// refers to a row that is not here — it leaves alone, for those who know how.
final class PlainRowInserter {
    let table: TrackedTable
    private let session: Session
    private let standing: Standing
    private let clock: ClockAppender
    private let statement: Statement
    private let exists: Statement
    private let parents: KnownParents
    private var highest: Int64 = 0
    private let scratch = Scratch()
    /// The values of the row at hand by position.
    private var values: [Value]
    private let key: [Int]

    private var connection: Connection { session.connection }

    /// Whether rows of a table may be inserted in this way now.
    static func suits(_ table: TrackedTable, _ session: Session, _ standing: Standing) throws -> Bool {
        guard ClockAppender.suits(table, session), table.name != "logsync_setting", !table.columns.isEmpty,
            !session.hasFolded
        else { return false }
        switch table.kind {
        case .natural: guard !table.keyHasReference else { return false }
        case .surrogate:
            guard table.localInteger != nil, !session.hasReserved, !standing.hasFreed(in: table) else { return false }
        case .columns: return false
        }
        // A reference to a row that is here is all that is looked for.
        for rule in session.foreignRules.of(table) where rule.strength != .loose {
            guard rule.isByInteger, table.columns[rule.columns[0]].reference == rule.parent.name else { return false }
        }
        return try !KeptRows(session).hasAny(of: table)
    }

    init(_ table: TrackedTable, _ session: Session, _ standing: Standing, _ stamp: Stamp) throws {
        self.table = table
        self.session = session
        self.standing = standing
        clock = try ClockAppender(table, session, stamp)
        statement = try session.connection.prepare(table.insertWhole)
        exists = try session.connection.prepare(table.existsByRowid)
        parents = try KnownParents(table, session)
        values = [Value](repeating: .null, count: table.columns.count)
        key = table.key.map(\.index)
        if table.localInteger != nil { highest = try standing.highestInteger(of: table) }
    }

    /// Puts down what was kept back. Call it before anything looks for one of the rows by its key.
    func flush() throws { try clock.flush() }

    /// Looks at the integers that the next rows would take, all at once: rows that come together have them in a row.
    func expect(_ hints: [Int64]) throws {
        areTaken = nil
        guard !table.schema.isAutoincrement, let first = hints.min(), let last = hints.max(), first > 0,
            last <= highest, last - first < 2 * Int64(hints.count)
        else { return }
        let sql = "SELECT count(*) FROM \(table.quoted) WHERE \(table.rowid) BETWEEN ? AND ?"
        if try connection.integer(sql, .integer(first), .integer(last)) == last - first + 1 { areTaken = first...last }
    }

    private var areTaken: ClosedRange<Int64>?

    // MARK: One row

    /// - Parameters:
    ///   - identity: nobody has it here, or the table's own key says so.
    ///   - hint: the row's integer at its author.
    ///   - stamp: the insert's.
    ///   - cells: those that were set after it, by column id.
    ///   - omitsKey: whether the columns of a natural key are the identity's to say.
    ///   - value: by column position, as logs have it.
    /// - Returns: the row's rowid; nil where it was left alone.
    func insert(
        _ identity: RowIdentity, hint: Int64?, _ stamp: Stamp, cells: [Int: Stamp] = [:], omitsKey: Bool,
        value: (Int) -> Value
    ) throws -> Int64? {
        guard identity.isSurrogate == (table.kind == .surrogate), try gather(omitsKey ? identity : nil, value) else {
            return nil
        }
        for position in values.indices { clock.digests[position] = Digest.of(values[position]) }
        if !table.uniqueSlots.isEmpty { clock.uniques = table.uniqueDigests { values[$0] } }
        if table.localInteger != nil { return try insertNumbered(identity, hint, stamp, cells) }
        bindValues(from: 1)
        guard try statement.writeOrRefuse() else { return nil }
        let rowid = connection.lastInsertedRow
        let isRecorded = try identity.bytes.withUnsafeBytes {
            try clock.append(at: rowid, identity: $0, stamp, cells: cells)
        }
        guard isRecorded else {
            try connection.run(table.deleteByRowid, .integer(rowid))
            return nil
        }
        return rowid
    }

    /// A row whose integer is this store's to give. Its record goes first: it tells whether the identity is new.
    private func insertNumbered(
        _ identity: RowIdentity, _ hint: Int64?, _ stamp: Stamp, _ cells: [Int: Stamp]
    ) throws -> Int64? {
        guard let integer = try freeInteger(hint) else { return nil }
        let isNew = try identity.bytes.withUnsafeBytes {
            try clock.append(at: integer, identity: $0, stamp, cells: cells)
        }
        guard isNew else { return nil }
        statement.bind(integer, at: 1)
        bindValues(from: 2)
        guard try statement.writeOrRefuse() else {
            try clock.remove(at: integer, identity, stamp, cells: cells)
            return nil
        }
        standing.take(integer, in: table)
        highest = max(highest, integer)
        return integer
    }

    /// The primary key of the row that was inserted last.
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
        for position in values.indices where !isSaid || !key.contains(position) {
            guard let given = try parents.local(value(position), at: position) else { return false }
            values[position] = given
        }
        return true
    }

    /// As ``Standing/freeInteger(hint:for:in:)`` where nothing is promised and nothing has gone.
    private func freeInteger(_ hint: Int64?) throws -> Int64? {
        if let hint, hint <= Standing.greatestInteger {
            if hint > highest { return hint }
            if !table.schema.isAutoincrement, areTaken?.contains(hint) != true {
                exists.reset()
                exists.bind(hint, at: 1)
                defer { exists.reset() }
                if try !exists.step() { return hint }
            }
        }
        let next = max(highest, 0) + 1
        return next <= Standing.greatestInteger ? next : nil
    }

    /// Values that stay where they are until the statement has run.
    private func bindValues(from first: Int) {
        var size = 0
        for value in values { size += value.byteCount }
        scratch.reserve(size)
        var argument = first
        for value in values {
            switch value {
            case .text(let bytes): statement.bind(lastingText: scratch.keep(bytes), at: argument)
            case .blob(let bytes): statement.bind(lasting: scratch.keep(bytes), at: argument)
            default: statement.bind(value, at: argument)
            }
            argument += 1
        }
    }

    /// Memory for a row's texts and blobs.
    private final class Scratch {
        private var capacity = 4096
        private var used = 0
        private var base = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 8)

        deinit { base.deallocate() }

        func reserve(_ size: Int) {
            used = 0
            guard size > capacity else { return }
            base.deallocate()
            capacity = size
            base = .allocate(byteCount: size, alignment: 8)
        }

        func keep(_ bytes: Bytes) -> UnsafeRawBufferPointer {
            let start = base + used
            let count = bytes.withUnsafeBytes { source -> Int in
                guard let from = source.baseAddress else { return 0 }
                start.copyMemory(from: from, byteCount: source.count)
                return source.count
            }
            used += count
            return UnsafeRawBufferPointer(start: start, count: count)
        }
    }
}

extension Value {
    fileprivate var byteCount: Int {
        switch self {
        case .text(let bytes), .blob(let bytes): bytes.count
        default: 0
        }
    }
}
