import LogSyncModel
import LogSyncSQLite

/// Translates the local integers of referenced rows to identities and back.
struct IdentityMap {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// What an integer that a reference holds is in logs: the identity of the row that has it, or of the row that will.
    ///
    /// Many programs write 0 or −1 for "none". No program gives a row such an integer by itself, so where no row has it,
    /// it is a value like others, and the same number everywhere. An invented one is in a database that has been a store before
    /// (``IntegerAllocator/reserve(for:in:)``), and another row's elsewhere.
    func logged(_ integer: Int64, in table: TrackedTable) throws -> Value {
        if integer > 0 || IntegerAllocator.isLeft(integer) { return .reference(try identity(of: integer, in: table)) }
        return try knownIdentity(of: integer, in: table).map { .reference($0) } ?? .integer(integer)
    }

    /// The identity of the row that has an integer, or the one promised to the row that will have it.
    func identity(of integer: Int64, in table: TrackedTable) throws -> RowIdentity {
        if let identity = try knownIdentity(of: integer, in: table) { return identity }
        if let only = table.onlyIdentity(at: integer),
            try ClockTable(table: table, connection: connection).row(of: only) == nil
        {
            try reserve(integer, for: only, in: table)
            return only
        }
        var hash = IdentityHash("reserved")
        hash.combine(store.salt)
        hash.combine(table.name)
        hash.combine(UInt64(bitPattern: integer))
        hash.combine(UInt64(bitPattern: store.configuration.clock.now()))
        let identity = hash.identity(prefix: UInt64(clamping: integer))
        try reserve(integer, for: identity, in: table)
        return identity
    }

    /// Whether a cell is a number, "none" to the program that has written it, though a row has that integer here: what the table
    /// shows says the row, so that the record has to spell the number out.
    func isNumberOfRow(_ cell: Value, in column: TrackedTable.Column) throws -> Bool {
        guard case .integer(let integer) = cell, integer <= 0,
            let parent = column.reference.flatMap({ store.catalog[$0] })
        else { return false }
        return try knownIdentity(of: integer, in: parent) != nil
    }

    func knownIdentity(of integer: Int64, in table: TrackedTable) throws -> RowIdentity? {
        if let identity = try ClockTable(table: table, connection: connection).identity(at: integer) {
            return identity
        }
        return try reservedIdentity(of: integer, in: table)
    }

    func reservedIdentity(of integer: Int64, in table: TrackedTable) throws -> RowIdentity? {
        guard store.hasReserved else { return nil }
        guard
            case .blob(let bytes)? = try connection.scalar(
                "SELECT identity FROM logsync_reserved WHERE table_id = ? AND integer = ?", .integer(table.id),
                .integer(integer))
        else { return nil }
        return RowIdentity(unchecked: bytes)
    }

    /// The integer promised to a row that has not come.
    func reservedInteger(of identity: RowIdentity, in table: TrackedTable) throws -> Int64? {
        guard store.hasReserved else { return nil }
        return try connection.integer(
            "SELECT integer FROM logsync_reserved WHERE identity = ? AND table_id = ?", .blob(identity.bytes),
            .integer(table.id))
    }

    func reserve(_ integer: Int64, for identity: RowIdentity, in table: TrackedTable) throws {
        try connection.run(
            "INSERT OR REPLACE INTO logsync_reserved(table_id, integer, identity) VALUES(?, ?, ?)",
            .integer(table.id), .integer(integer), .blob(identity.bytes))
        store.hasReserved = true
    }

    func release(_ integer: Int64, in table: TrackedTable) throws {
        guard store.hasReserved else { return }
        try connection.run(
            "DELETE FROM logsync_reserved WHERE table_id = ? AND integer = ?", .integer(table.id), .integer(integer))
    }

    /// The standing row that had an integer when it was found, as at `init`: its identity begins with it, and is the same on
    /// every peer. The least where several peers have found one.
    ///
    /// - Parameter isLeftOut: whether a row does not count, wherever it is.
    func firstIdentity(
        of integer: Int64, in table: TrackedTable, _ isLeftOut: (RowIdentity) -> Bool
    ) throws -> RowIdentity? {
        guard table.kind == .surrogate, table.storesIdentity, 1..<Self.firstTime ~= integer else { return nil }
        func least(_ integer: Int64) -> Value {
            let head = withUnsafeBytes(of: integer.bigEndian) { Array($0.dropFirst(2)) }
            return .blob(RowIdentity(surrogate: head + [UInt8](repeating: 0, count: 10)).bytes)
        }
        let statement = try connection.prepare(
            "SELECT identity FROM \(table.clock) WHERE identity >= ? AND identity < ? ORDER BY identity")
        statement.bind(least(integer), at: 1)
        statement.bind(least(integer + 1), at: 2)
        defer { statement.reset() }
        while try statement.step() {
            guard let identity = RowIdentity(checking: statement.bytes(0)) else { continue }
            if !isLeftOut(identity) { return identity }
        }
        return nil
    }

    /// The integer that a row had when it was found; nil for one that came later.
    static func firstInteger(of identity: RowIdentity) -> Int64? {
        guard identity.isSurrogate, identity.bytes.count > 6 else { return nil }
        let integer = identity.bytes.dropFirst().prefix(6).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return 1..<firstTime ~= integer ? integer : nil
    }

    /// Identities of rows that came later begin with the time, in milliseconds since 1970.
    private static let firstTime: Int64 = 1 << 40

    /// The integer of a referenced row, or of the one that it was folded into; nil where no row here has the identity
    /// and none is promised to it.
    ///
    /// - Parameter followsFolded: whether that other row counts.
    func integer(of identity: RowIdentity, in table: TrackedTable, followsFolded: Bool = true) throws -> Int64? {
        let clock = ClockTable(table: table, connection: connection)
        if let row = try clock.row(of: identity) { return row }
        if followsFolded, let winner = try HiddenRows(store).winner(of: identity, in: table),
            let row = try clock.row(of: winner)
        {
            return row
        }
        return try reservedInteger(of: identity, in: table)
    }
}
