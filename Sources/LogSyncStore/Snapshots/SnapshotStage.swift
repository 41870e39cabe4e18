import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Rows that a join has to look at, put aside in a private database that SQLite keeps on disk where it is large and
/// removes by itself.
final class SnapshotStage {
    private let scratch: Connection

    init() throws {
        var handle: OpaquePointer?
        // An empty name: a temporary database. Source: <https://www.sqlite.org/inmemorydb.html#temp_db>.
        let code = sqlite3_open_v2("", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        guard code == SQLITE_OK, let handle else {
            sqlite3_close_v2(handle)
            throw LogSyncError(.ioError, "no temporary database could be made; nothing was imported")
        }
        try Connection.defend(handle, trustsSchema: false)
        scratch = Connection(handle)
        try scratch.execute(
            """
            PRAGMA journal_mode = OFF;
            PRAGMA synchronous = OFF;
            CREATE TABLE row(
                number INTEGER PRIMARY KEY, name TEXT NOT NULL, identity BLOB NOT NULL, state BLOB NOT NULL,
                integer INTEGER);
            CREATE TABLE present(table_id INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY(table_id, row))
                WITHOUT ROWID;
            BEGIN;
            """)
    }

    deinit {
        scratch.finalizeStatements()
        sqlite3_close_v2(scratch.handle)
    }

    /// Puts a row aside as the snapshot has it; without entries where the snapshot does not have it.
    func add(_ full: RowState) throws {
        try scratch.run(
            "INSERT INTO row(name, identity, state, integer) VALUES(?, ?, ?, ?)", .text(full.table),
            .blob(full.identity.bytes), .blob(ClockCodec.encodeHidden(full.state)[...]),
            full.integer.map { .integer($0) } ?? .null)
    }

    /// Goes through the rows in the order in which they came.
    func forEachRow(_ body: (_ number: Int64, RowState) throws -> Void) throws {
        let statement = try scratch.prepare("SELECT number, name, identity, state, integer FROM row ORDER BY number")
        defer { statement.reset() }
        while try statement.step() { try body(statement.integer(0), Self.row(statement)) }
    }

    func row(_ number: Int64) throws -> RowState? {
        let statement = try scratch.prepare("SELECT number, name, identity, state, integer FROM row WHERE number = ?")
        statement.bind(number, at: 1)
        defer { statement.reset() }
        return try statement.step() ? Self.row(statement) : nil
    }

    private static func row(_ statement: Statement) throws -> RowState {
        RowState(
            table: statement.string(1), identity: RowIdentity(unchecked: statement.bytes(2)),
            state: try ClockCodec.decodeHidden(statement.bytes(3)),
            integer: statement.isNull(4) ? nil : statement.integer(4))
    }

    // MARK: What the snapshot has

    func notePresent(_ row: Int64, in table: TrackedTable) throws {
        try scratch.run(
            "INSERT OR IGNORE INTO present(table_id, row) VALUES(?, ?)", .integer(table.id), .integer(row))
    }

    func isPresent(_ row: Int64, in table: TrackedTable) throws -> Bool {
        try scratch.integer("SELECT 1 FROM present WHERE table_id = ? AND row = ?", .integer(table.id), .integer(row))
            != nil
    }
}
