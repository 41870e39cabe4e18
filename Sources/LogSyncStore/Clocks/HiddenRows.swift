import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Rows that do not stand in a table of this store: parked, dead with entries left, or of a table that is not here.
struct HiddenRows {
    enum State: String, CaseIterable {
        case parked
        case dead
        case unknownTable = "unknown"
    }

    struct Row {
        var table: String
        var identity: RowIdentity
        var state: State
        var reason: String?
        var clock: RowClock
        /// Its author's integer, a hint for when it stands again.
        var integer: Int64?
        /// The row that shows in its place.
        var folded: RowIdentity?
        /// What keeps it out as long as that does not change.
        var waits: Wait?
    }

    /// What a parked row waits for.
    enum Wait: Equatable {
        /// That a standing row with the same unique key goes or changes.
        case row(table: Int64, position: Int64, mark: Int64)
        /// That a row stands which does not.
        case parent(table: Int64, identity: RowIdentity)
    }

    private let store: OpenStore
    private var connection: Connection { store.connection }

    init(_ store: OpenStore) { self.store = store }

    func row(_ table: String, _ identity: RowIdentity) throws -> Row? {
        guard store.hasHidden else { return nil }
        let rows = try connection.rows(
            "SELECT table_name, identity, state, reason, clock, integer, folded FROM logsync_kept WHERE table_name = ? AND identity = ?",
            .text(table), .blob(identity.bytes))
        return try rows.first.flatMap(Self.decode)
    }

    func contains(_ table: String, _ identity: RowIdentity) throws -> Bool {
        guard store.hasHidden else { return false }
        let sql = "SELECT 1 FROM logsync_kept WHERE table_name = ? AND identity = ?"
        return try connection.integer(sql, .text(table), .blob(identity.bytes)) != nil
    }

    func rows(_ state: State, of table: String? = nil) throws -> [Row] {
        guard store.hasHidden else { return [] }
        return try connection.rows(
            """
            SELECT table_name, identity, state, reason, clock, integer, folded FROM logsync_kept
            WHERE state = ?1 AND (?2 IS NULL OR table_name = ?2)
            """, .text(state.rawValue), table.map { .text($0) } ?? .null
        ).compactMap(Self.decode)
    }

    /// What a table that is not here is called in this store, which keeps all its rows under one name: of names that are one
    /// to SQLite, or the same letters in other bytes, the one that came first.
    func name(ofAbsent table: String) throws -> String {
        if store.cached.absentNames == nil {
            store.cached.absentNames = store.hasHidden ? try Self.absentNames(on: connection) : [:]
        }
        let folded = table.folded
        if let name = store.cached.absentNames?[folded] { return name }
        store.cached.absentNames?[folded] = table
        return table
    }

    /// What tables that are not here are called, by folded name.
    static func absentNames(on connection: Connection) throws -> [String: String] {
        let names = try connection.rows(
            """
            WITH RECURSIVE absent(name) AS (
                SELECT min(table_name) FROM logsync_kept WHERE state = 'unknown' UNION ALL
                SELECT (SELECT min(table_name) FROM logsync_kept WHERE state = 'unknown' AND table_name > name)
                FROM absent WHERE name IS NOT NULL)
            SELECT name FROM absent WHERE name IS NOT NULL
            """
        ).map { String(text: $0[0]) }
        return Dictionary(names.map { ($0.folded, $0) }) { first, _ in first }
    }

    /// Whether rows are kept of a table that is not here, which logs call so.
    static func isAbsent(_ table: String, on connection: Connection) throws -> Bool {
        try connection.integer(
            "SELECT EXISTS(SELECT 1 FROM logsync_kept WHERE state = 'unknown' AND table_name = ? COLLATE NOCASE)",
            .text(table)) == 1
    }

    func hasAny(of table: TrackedTable) throws -> Bool {
        guard store.hasHidden else { return false }
        let sql = "SELECT EXISTS(SELECT 1 FROM logsync_kept WHERE table_name = ?)"
        return try connection.integer(sql, .text(table.name)) == 1
    }

    func count(_ state: State) throws -> Int {
        Int(try connection.integer("SELECT count(*) FROM logsync_kept WHERE state = ?", .text(state.rawValue)) ?? 0)
    }

    func foldedCount() throws -> Int {
        guard store.hasFolded else { return 0 }
        return Int(try connection.integer("SELECT count(*) FROM logsync_kept WHERE folded IS NOT NULL") ?? 0)
    }

    /// Keeps a row. Its shares of the state digest are the caller's to count.
    func put(_ row: Row) throws {
        store.hasHidden = true
        let wait: [Value] =
            switch row.waits {
            case .row(let table, let position, let mark): [.integer(table), .integer(position), .integer(mark), .null]
            case .parent(let table, let identity): [.integer(table), .null, .null, .blob(identity.bytes)]
            case nil: [.null, .null, .null, .null]
            }
        try connection.run(
            """
            INSERT OR REPLACE INTO logsync_kept(
                table_name, identity, state, reason, clock, integer, folded, waits_table, waits_row, waits_mark,
                waits_identity)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .text(row.table), .blob(row.identity.bytes), .text(row.state.rawValue),
            row.reason.map { .text($0) } ?? .null, .blob(ClockCodec.encodeHidden(row.clock)[...]),
            row.integer.map { .integer($0) } ?? .null, row.folded.map { .blob($0.bytes) } ?? .null, wait[0],
            wait[1], wait[2], wait[3])
        if row.folded != nil { store.hasFolded = true }
    }

    /// The parked rows of a table for which something may have changed.
    func rowsToReconsider(in table: TrackedTable, _ tables: [TrackedTable]) throws -> [Row] {
        guard store.hasHidden else { return [] }
        // Each table's clock records say whether the row that is waited for is as it was.
        let waited = try connection.rows(
            "SELECT DISTINCT waits_table FROM logsync_kept WHERE state = 'parked' AND table_name = ?",
            .text(table.name))
        var found: [Row] = []
        for entry in waited {
            let selected =
                "SELECT table_name, identity, state, reason, clock, integer, folded FROM logsync_kept AS kept"
            let rest = "state = 'parked' AND table_name = ?1 AND waits_table IS ?2"
            guard let other = tables.first(where: { .integer($0.id) == entry[0] }) else {
                found += try connection.rows("\(selected) WHERE \(rest)", .text(table.name), entry[0])
                    .compactMap(Self.decode)
                continue
            }
            found += try connection.rows(
                """
                \(selected) WHERE \(rest) AND CASE WHEN waits_identity IS NULL
                    THEN NOT EXISTS(SELECT 1 FROM \(other.clock) AS clock
                        WHERE clock.row = kept.waits_row AND \(ClockTable.mark) = kept.waits_mark)
                    ELSE EXISTS(SELECT 1 FROM \(other.clock) WHERE identity = kept.waits_identity) END
                """, .text(table.name), entry[0]
            ).compactMap(Self.decode)
        }
        return found
    }

    /// The parked rows that wait for a row.
    func waiting(for identity: RowIdentity, at position: Int64?, in table: TrackedTable) throws -> [Row] {
        guard store.hasHidden else { return [] }
        let selected = "SELECT table_name, identity, state, reason, clock, integer, folded FROM logsync_kept"
        var rows = try connection.rows(
            "\(selected) WHERE waits_identity = ? AND waits_table = ?", .blob(identity.bytes), .integer(table.id))
        if let position {
            rows += try connection.rows(
                "\(selected) WHERE waits_table = ? AND waits_row = ?", .integer(table.id), .integer(position))
        }
        return try rows.compactMap(Self.decode)
    }

    /// The row that shows in the place of one that was folded into it; nil where that was not.
    func winner(of identity: RowIdentity, in table: TrackedTable) throws -> RowIdentity? {
        guard store.hasFolded else { return nil }
        guard
            case .blob(let bytes)? = try connection.scalar(
                "SELECT folded FROM logsync_kept WHERE table_name = ? AND identity = ? AND folded IS NOT NULL",
                .text(table.name), .blob(identity.bytes))
        else { return nil }
        return RowIdentity(unchecked: bytes)
    }

    /// The rows that were folded into another.
    func folded(into identity: RowIdentity, in table: TrackedTable) throws -> [Row] {
        guard store.hasFolded else { return [] }
        return try connection.rows(
            """
            SELECT table_name, identity, state, reason, clock, integer, folded FROM logsync_kept
            WHERE folded = ? AND table_name = ?
            """, .blob(identity.bytes), .text(table.name)
        ).compactMap(Self.decode)
    }

    /// Takes a row out, with its shares of the state digest.
    func remove(_ table: String, _ identity: RowIdentity) throws -> RowClock? {
        guard let row = try row(table, identity) else { return nil }
        try connection.run(
            "DELETE FROM logsync_kept WHERE table_name = ? AND identity = ?", .text(table), .blob(identity.bytes))
        store.countHidden(-1, row)
        return row.clock
    }

    /// Takes a row out and leaves its shares of the state digest as they are.
    func take(_ table: String, _ identity: RowIdentity) throws {
        try connection.run(
            "DELETE FROM logsync_kept WHERE table_name = ? AND identity = ?", .text(table), .blob(identity.bytes))
    }

    private static func identity(_ value: Value) -> RowIdentity? {
        if case .blob(let bytes) = value { RowIdentity(unchecked: bytes) } else { nil }
    }

    private static func decode(_ row: [Value]) throws -> Row? {
        guard case .blob(let identity) = row[1], case .blob(let clock) = row[4],
            let state = State(rawValue: String(text: row[2]))
        else { return nil }
        return Row(
            table: String(text: row[0]), identity: RowIdentity(unchecked: identity), state: state,
            reason: row[3].isNull ? nil : String(text: row[3]), clock: try ClockCodec.decodeHidden(clock),
            integer: row[5].isNull ? nil : row[5].asInteger, folded: Self.identity(row[6]))
    }
}

extension OpenStore {
    /// Adds or takes away a kept row's shares of the state digest. All its cells are by name.
    func countHidden(_ sign: Int, _ row: HiddenRows.Row) {
        let digest = rowDigest(row.table, row.identity)
        for stamp in row.clock.insertEntries { count(sign, row: digest, column: StateDigest.insertColumn, stamp) }
        for (name, cell) in row.clock.cellsByName { count(sign, cell, row: digest, column: StateDigest.column(name)) }
    }
}
