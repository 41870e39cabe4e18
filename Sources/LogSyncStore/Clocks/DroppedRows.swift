import Foundation
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What the rows of tables that a program has dropped held, as digests: it may make the table again and fill it.
struct DroppedRows {
    private let store: OpenStore
    private var connection: Connection { store.connection }

    init(_ store: OpenStore) { self.store = store }

    /// A row as its record knew it.
    struct Row {
        var identity: RowIdentity
        /// By the columns of ``Drop``.
        var digests: [UInt32]
    }

    /// What is known of a table of that name in logs.
    struct Drop: Codable, Equatable {
        /// Names in logs, in the order of the digests; empty where a column had gone before.
        var columns: [String]
        /// The key's names in logs, in key order; nil in stores of before they were kept.
        var key: [String]?
        /// How the key's columns compared; none where rows were captured by their integers.
        var collations: [Collation]?
        /// The columns that this has put among the ``ForgottenColumns``.
        var forgotten: [String]
        /// When the table was here again, or rows have come back last, in milliseconds since 1970; nil where it is not here, and
        /// where its program has had the time to fill it.
        var since: Int64?
    }

    /// For how long, in milliseconds, rows are left to the program that fills the table.
    private static let patience: Int64 = 60_000

    private static let fact = "dropped table "

    /// - Returns: nil where nothing is kept of such a table.
    func drop(of table: String) throws -> Drop? {
        guard store.hasHidden else { return nil }
        return try store.facts.text(Self.fact + table).map(Self.decode)
    }

    private static func decode(_ text: String) throws -> Drop {
        try JSONDecoder().decode(Drop.self, from: Data(text.utf8))
    }

    private func set(_ drop: Drop, _ table: String) throws {
        store.hasDropped = nil
        let text = String(decoding: try JSONEncoder().encode(drop), as: UTF8.self)
        try store.facts.set(Self.fact + table, .text(text))
    }

    // MARK: Keeping

    /// Before the clock records of a table that has gone go. What was kept of one of that name and has not come back
    /// does not come any more where it had other columns.
    func begin(_ table: TrackedTable, forgotten: [String]) throws {
        try connection.execute(StoreSchema.dropped)
        let columns = try connection.rows(
            "SELECT iif(dropped, '', log_name) FROM logsync_column WHERE table_id = ? ORDER BY id", .integer(table.id)
        ).map { String(text: $0[0]) }
        let before = try drop(of: table.name)
        if let before, before.columns != columns { try forget(table.name) }
        let shape = try connection.scalar("SELECT shape FROM logsync_table WHERE id = ?", .integer(table.id))
        try set(
            Drop(
                columns: columns, key: table.orderedKeyNames,
                collations: shape.map { TrackedTable.Shape(String(text: $0)).collations },
                forgotten: (before?.forgotten ?? []) + forgotten),
            table.name)
    }

    /// - Parameters:
    ///   - integer: the one that it had, where that is local to this store.
    ///   - isDeleted: whether its program had deleted it, which nobody has recorded.
    func keep(
        _ identity: RowIdentity, at integer: Int64?, _ digests: [UInt32], isDeleted: Bool, of table: TrackedTable
    ) throws {
        try connection.run(
            "INSERT OR REPLACE INTO logsync_dropped(table_name, identity, integer, digests, deleted) VALUES(?, ?, ?, ?, ?)",
            .text(table.name), .blob(identity.bytes), integer.map { .integer($0) } ?? .null,
            .blob(digests.withUnsafeBytes { Array($0)[...] }), .integer(isDeleted ? 1 : 0))
    }

    // MARK: Finding

    func row(at integer: Int64, in table: String) throws -> Row? {
        try row("integer = ?2", .integer(integer), in: table)
    }

    func row(_ identity: RowIdentity, in table: String) throws -> Row? {
        try row("identity = ?2", .blob(identity.bytes), in: table)
    }

    /// The rows that held all the same, two at most.
    func rows(holding digests: [UInt32], in table: String) throws -> [Row] {
        try rows("digests = ?2", .blob(digests.withUnsafeBytes { Array($0)[...] }), in: table)
    }

    private func row(_ condition: String, _ value: Value, in table: String) throws -> Row? {
        try rows(condition, value, in: table).first
    }

    private func rows(_ condition: String, _ value: Value, in table: String) throws -> [Row] {
        let statement = try connection.prepare(
            "SELECT identity, digests FROM logsync_dropped WHERE table_name = ?1 AND \(condition) LIMIT 2")
        statement.bind(.text(table), at: 1)
        statement.bind(value, at: 2)
        defer { statement.reset() }
        var rows: [Row] = []
        while try statement.step() {
            rows.append(
                Row(
                    identity: RowIdentity(unchecked: statement.bytes(0)),
                    digests: statement.withBytes(1, ClockTable.digests)))
        }
        return rows
    }

    /// Rows that have local integers, with these.
    ///
    /// - Parameter areDeleted: whether the program had deleted them.
    func places(in table: String, areDeleted: Bool) throws -> [(RowIdentity, Int64)] {
        guard try drop(of: table) != nil else { return [] }
        return try connection.rows(
            """
            SELECT identity, integer FROM logsync_dropped
            WHERE table_name = ? AND integer IS NOT NULL AND deleted = ?
            """, .text(table), .integer(areDeleted ? 1 : 0)
        ).compactMap { row in
            guard case .blob(let bytes) = row[0] else { return nil }
            return (RowIdentity(unchecked: bytes), row[1].asInteger)
        }
    }

    // MARK: The program's time

    /// The table is here again.
    func arrive(_ table: String) throws {
        guard var drop = try drop(of: table) else { return }
        drop.since = store.configuration.clock.now()
        try set(drop, table)
    }

    /// Whether a row of a table that was dropped and is here again goes on waiting: for values that went with the table, or for
    /// the program, which may be about to put it there.
    ///
    /// - Parameter hidden: as it was kept.
    func isWaiting(_ hidden: HiddenRows.Row, _ full: RowState) throws -> Bool {
        guard hidden.state == .unknownTable else { return false }
        if !full.state.cellsByName.lostColumns.isEmpty { return true }
        return try isWaiting(hidden.table) && row(hidden.identity, in: hidden.table) != nil
    }

    /// Whether some table's program has had the time to fill it.
    static func isOver(_ store: OpenStore) throws -> Bool {
        guard store.hasHidden, store.hasDropped != false else { return false }
        let waiting = try store.facts.values(under: fact).compactMap { try decode(String(text: $0.value)).since }
        store.hasDropped = !waiting.isEmpty
        let now = store.configuration.clock.now()
        return !waiting.allSatisfy { 0..<patience ~= now - $0 }
    }

    /// Whether a table's rows are left to its program for the time being.
    func isWaiting(_ table: String) throws -> Bool {
        guard var drop = try drop(of: table), let since = drop.since else { return false }
        if 0..<Self.patience ~= store.configuration.clock.now() - since { return true }
        drop.since = nil
        try set(drop, table)
        return false
    }

    // MARK: Forgetting

    func forget(_ identity: RowIdentity, of table: String) throws {
        try connection.run(
            "DELETE FROM logsync_dropped WHERE table_name = ? AND identity = ?", .text(table), .blob(identity.bytes))
    }

    /// Where all rows have come back nothing is lost that was lost with the table.
    ///
    /// - Parameter isGoingOn: whether some have just come.
    func end(_ table: String, isGoingOn: Bool) throws {
        guard let drop = try drop(of: table) else { return }
        let isAny = "SELECT EXISTS(SELECT 1 FROM logsync_dropped WHERE table_name = ?)"
        guard try connection.integer(isAny, .text(table)) == 0 else {
            if isGoingOn { try arrive(table) }
            return
        }
        try forget(table)
        let lost = Set(try HiddenRows(store).rows(.unknownTable, of: table).flatMap(\.clock.cellsByName.lostColumns))
        try ForgottenColumns(store).remove(
            drop.forgotten.filter { !lost.contains($0) }.map { ColumnName(table, $0) })
    }

    private func forget(_ table: String) throws {
        try connection.run("DELETE FROM logsync_dropped WHERE table_name = ?", .text(table))
        try store.facts.remove(Self.fact + table)
        store.hasDropped = nil
    }
}
