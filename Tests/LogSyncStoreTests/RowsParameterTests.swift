import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Rows that go in by one statement, and what becomes of those that a constraint refuses.
@Suite struct RowsParameterTests {
    /// A database in memory.
    private final class Database {
        let connection: Connection

        init(_ sql: String) throws {
            var handle: OpaquePointer?
            #expect(sqlite3_open(":memory:", &handle) == SQLITE_OK)
            connection = Connection(try #require(handle))
            try connection.execute(sql)
        }

        func close() {
            connection.finalizeStatements()
            sqlite3_close_v2(connection.handle)
        }
    }

    private func write(_ rows: [[Value]], dropping: [Int] = [], on connection: Connection) throws -> [Int] {
        let width = rows[0].count
        let batch = RowsParameter(width: width)
        for row in rows { for value in row { batch.append(value) } }
        for row in dropping { batch.drop(row) }
        return try batch.write(
            with: try connection.prepare(
                "INSERT OR FAIL INTO t SELECT * FROM logsync_rows_\(width)(?)", readingRowsOf: width), on: connection)
    }

    @Test(arguments: ["UTF-8", "UTF-16le"])
    func valuesGoInBitForBit(encoding: String) throws {
        let values: [Value] = [
            .null, .integer(.min), .integer(.max), .integer(0), .real(0.1), .real(-0.0), .real(.infinity), .text(""),
            .text("é😀"), .text(String(repeating: "long ", count: 1000)), .blob([]), .blob([0, 255, 0]),
            .text([0x61, 0, 0x62]),
        ]
        let database = try Database("PRAGMA encoding = '\(encoding)'; CREATE TABLE t(n INTEGER PRIMARY KEY, a, b)")
        defer { database.close() }
        let connection = database.connection
        let rows = values.indices.map { [.integer(Int64($0)), values[$0], values[values.count - 1 - $0]] }
        #expect(try write(rows, on: connection) == [])
        #expect(try connection.rows("SELECT * FROM t ORDER BY n") == rows)
    }

    @Test func aTableMayHaveManyColumns() throws {
        let names = (0..<300).map { "c\($0)" }
        let database = try Database("CREATE TABLE t(\(names.joined(separator: ", ")))")
        defer { database.close() }
        let connection = database.connection
        let rows: [[Value]] = (0..<3).map { row in (0..<300).map { .integer(Int64(row * 1000 + $0)) } }
        #expect(try write(rows, on: connection) == [])
        #expect(try connection.rows("SELECT * FROM t ORDER BY c0") == rows)
    }

    @Test(arguments: [
        [], [0], [999], [0, 1, 2, 999], [3, 300, 301, 998], Array(0..<1000),
    ])
    func whatIsRefusedIsSaidAndTheOthersStand(refused: [Int]) throws {
        let schema = """
            CREATE TABLE t(n INTEGER PRIMARY KEY, name TEXT NOT NULL, u UNIQUE ON CONFLICT REPLACE, CHECK(u < 5000));
            CREATE INDEX i ON t(name, u); INSERT INTO t VALUES(-1, 'first', -1);
            """
        let database = try Database(schema)
        defer { database.close() }
        let connection = database.connection
        let set = Set(refused)
        let rows: [[Value]] = (0..<1000).map { row in
            guard set.contains(row) else { return [.integer(Int64(row)), .text("x"), .integer(Int64(row))] }
            switch row % 4 {
            case 0: return [.integer(Int64(row)), .text("x"), .integer(-1)]
            case 1: return [.integer(Int64(row)), .null, .integer(Int64(row))]
            case 2: return [.integer(-1), .text("x"), .integer(Int64(row))]
            default: return [.integer(Int64(row)), .text("x"), .integer(5000)]
            }
        }
        // A transaction whose rows before a refused one went with it would have to be known as such.
        try connection.execute("BEGIN")
        #expect(try write(rows, on: connection) == refused)
        try connection.execute("COMMIT")
        let stand = try connection.rows("SELECT n FROM t WHERE n >= 0 ORDER BY n").map { $0[0] }
        #expect(stand == (0..<1000).filter { !set.contains($0) }.map { .integer(Int64($0)) })
        #expect(try connection.rows("SELECT * FROM t WHERE n < 0") == [[.integer(-1), .text("first"), .integer(-1)]])
        #expect(try connection.rows("PRAGMA integrity_check") == [[.text("ok")]])
    }

    @Test func rowsThatAreLeftOutAreNotWritten() throws {
        let database = try Database("CREATE TABLE t(n INTEGER PRIMARY KEY, u UNIQUE)")
        defer { database.close() }
        let connection = database.connection
        let rows: [[Value]] = (0..<10).map { [.integer(Int64($0)), .integer(Int64($0 % 8))] }
        #expect(try write(rows, dropping: [0, 1, 5, 9], on: connection) == [])
        #expect(try connection.rows("SELECT n FROM t").map { $0[0].asInteger } == [2, 3, 4, 6, 7, 8])
    }

    /// With a trigger, rows before a refused one could be taken back unseen: that must not go unnoticed.
    @Test func rowsThatAreNotWrittenAsSaidAreAnError() throws {
        let schema =
            "CREATE TABLE t(n INTEGER PRIMARY KEY); CREATE TABLE u(n); "
            + "CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO u VALUES(new.n); END;"
        let database = try Database(schema)
        defer { database.close() }
        let connection = database.connection
        #expect(throws: LogSyncError.self) { try write([[.integer(1)], [.integer(2)]], on: connection) }
    }

    // MARK: Importing

    /// A table, and the SQL by which `a` inserts row `n` of 700, of which `b` has a rival for every seventh.
    static let tables = [
        "CREATE TABLE t(id TEXT PRIMARY KEY, name TEXT UNIQUE, v)",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, v)",
        "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, v)",
        "CREATE TABLE t(id TEXT PRIMARY KEY, name TEXT UNIQUE, v ANY) STRICT",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, up INTEGER REFERENCES t(id), v)",
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, v); CREATE VIRTUAL TABLE f USING fts5(name);
        CREATE TRIGGER i AFTER INSERT ON t BEGIN INSERT INTO f(rowid, name) VALUES(new.id, new.name); END;
        CREATE TRIGGER d AFTER DELETE ON t BEGIN DELETE FROM f WHERE rowid = old.id; END;
        """,
    ]

    @Test(arguments: tables, [false, true])
    func manyRowsOfWhichSomeAreRefused(schema: String, isNatural: Bool) throws {
        let clock = TestClock()
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: schema, clock: clock) {
            if isNatural { $0.identities["t"] = .natural }
        }
        let b = try TestPeer(folder, "b", cloning: a, clock: clock)
        clock.milliseconds += 1000
        let refers = schema.contains("up INTEGER")
        try b.write(Self.rows(of: "b", "value % 7 = 0", "value + 10000", refers: false))
        _ = try b.store.record()
        clock.milliseconds += 1000
        try a.write(Self.rows(of: "a", "1", "value", refers: refers))
        try agree(a, b)
        #expect(try b.strings("SELECT count(*) FROM t WHERE v = 'b'") == ["100"])
        // The younger rivals are parked; so are none but those, though rows refer to each other.
        if !refers { #expect(try b.strings("SELECT count(*) FROM t WHERE v = 'a'") == ["600"]) }
        if schema.contains("fts5") {
            #expect(try b.strings("SELECT count(*) FROM f") == ["700"])
            #expect(try a.strings("SELECT rowid FROM f ORDER BY 1") == a.strings("SELECT id FROM t ORDER BY 1"))
        }
        // A third, which gets all of it in one snapshot or another order.
        let c = try TestPeer(folder, "c", cloning: b, clock: clock)
        try agree(a, b, c)
    }

    @Test func tablesAreReplicatedThatHaveMoreColumnsThanFit() throws {
        let folder = try TestFolder()
        let names = (1..<1500).map { "c\($0)" }
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, \(names.joined(separator: ", ")))")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO t(id, c1, c1499) VALUES('x', 1, 2), ('y', 3, 4)")
        try agree(a, b)
        #expect(try b.strings("SELECT id, c1, c1499 FROM t") == ["x|1|2", "y|3|4"])
    }

    private static func rows(of peer: String, _ condition: String, _ id: String, refers: Bool) -> String {
        let columns = refers ? "id, name, v, up" : "id, name, v"
        return """
            WITH RECURSIVE s(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM s WHERE value < 700)
            INSERT INTO t(\(columns)) SELECT \(id), 'name ' || value, '\(peer)'\(refers ? ", nullif(value / 3, 0)" : "")
            FROM s WHERE \(condition) ORDER BY value * 37 % 701;
            """
    }
}
