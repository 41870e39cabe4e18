import LogSyncModel
import LogSyncSQLite

/// How far a table is recorded. It is among the facts of the store, which each transaction writes anyway: in a table of its own
/// it would be one page more to write.
struct TableExtent: Equatable {
    /// The last pending number that was recorded.
    var recorded: Int64 = 0
    /// The greatest integer that a row ever had.
    var high: Int64 = 0

    /// Before the table's number. It stands beside the facts that change as often.
    private static let prefix = "extent "

    /// By table id; those of tables that nobody has written are left out.
    static func all(on connection: Connection) throws -> [Int64: TableExtent] {
        try StoreFacts(connection).values(under: prefix).reduce(into: [:]) { extents, fact in
            let words = String(text: fact.value).split(separator: " ").compactMap { Int64($0) }
            guard let table = Int64(fact.name), words.count == 2 else { return }
            extents[table] = TableExtent(recorded: words[0], high: words[1])
        }
    }

    func keep(of table: Int64, on connection: Connection) throws {
        try StoreFacts(connection).set(Self.prefix + String(table), .text("\(recorded) \(high)"))
    }

    /// For a table that is a store's no more: its number may be given again.
    static func forget(_ table: Int64, on connection: Connection) throws {
        try StoreFacts(connection).remove(prefix + String(table))
    }

    /// SQL that takes over what older formats kept in `logsync_table`, whose columns stay: SQLite drops none where a view or a
    /// trigger of the program's is broken.
    static let upgrade = """
        INSERT INTO logsync_store(key, value)
            SELECT '\(prefix)' || id, recorded || ' ' || high FROM logsync_table WHERE recorded > 0 OR high > 0;
        """
}
