import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// A row of a snapshot, by what names it.
struct SnapshotRowName: Hashable {
    var table: String
    var identity: RowIdentity
}

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
                number INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, identity BLOB NOT NULL,
                state BLOB NOT NULL, integer INTEGER, UNIQUE(identity, name));
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
    ///
    /// - Throws: `malformedLog` where it was put aside before.
    func add(_ full: RowState) throws {
        try scratch.run(
            "INSERT OR IGNORE INTO row(name, identity, state, integer) VALUES(?, ?, ?, ?)", .text(full.table),
            .blob(full.identity.bytes), .blob(ClockCodec.encodeHidden(full.state)[...]),
            full.integer.map { .integer($0) } ?? .null)
        guard scratch.changes == 1 else { throw Self.repeatedRow(in: full.table) }
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

    /// - Throws: `malformedLog` where the snapshot had the row before.
    func notePresent(_ row: Int64, in table: TrackedTable) throws {
        try scratch.run(
            "INSERT OR IGNORE INTO present(table_id, row) VALUES(?, ?)", .integer(table.id), .integer(row))
        guard scratch.changes == 1 else { throw Self.repeatedRow(in: table.name) }
    }

    /// A snapshot has every row once. Of two, the state would count both and keep one, and no snapshot of it would add up.
    static func repeatedRow(in table: String) -> LogSyncError {
        LogSyncError(
            .malformedLog, "a snapshot has a row of \(table) twice; nothing of it was imported",
            help: "Another snapshot or the log files are used instead.")
    }

    func isPresent(_ row: Int64, in table: TrackedTable) throws -> Bool {
        try scratch.integer("SELECT 1 FROM present WHERE table_id = ? AND row = ?", .integer(table.id), .integer(row))
            != nil
    }
}
