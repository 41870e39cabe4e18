import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import Testing

@Suite("Functions whose cost is bounded") struct BoundedFunctionTests {
    private func connection(_ schema: String) throws -> Connection {
        var handle: OpaquePointer?
        try #require(sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
        let connection = Connection(try #require(handle))
        try connection.execute(schema)
        return connection
    }

    private static let values: [Value] = [
        .null, .integer(0), .integer(-12), .integer(112), .real(1.5), .real(-0.0), .text(""), .text("a"), .text("%a_"),
        .text("A*[b-c]?"), .text("abcABC"), .text("\u{E9}t\u{E9} 112"), .text("  a b  "),
        .text([0xFF, 0x61, 0x00, 0x62]),
        .blob([]), .blob([0x61]), .blob([0x00, 0x61, 0xFF]),
    ]

    @Test(
        "return what SQLite's own return",
        arguments: [
            "instr(?1, ?2)", "?1 LIKE ?2", "?1 GLOB ?2",
            "?1 LIKE ?2 ESCAPE 'a'", "replace(?1, ?2, ?3)", "trim(?1, ?2)", "ltrim(?1, ?2)", "rtrim(?1, ?2)",
        ])
    func same(expression: String) throws {
        let plain = try connection("CREATE TABLE t(a CHECK (a NOT LIKE 'x'))")
        let bounded = try connection("CREATE TABLE t(a CHECK (a NOT LIKE 'x'))")
        defer { for connection in [plain, bounded] { sqlite3_close_v2(connection.handle) } }
        try bounded.boundFunctions()
        let sql = "SELECT hex(\(expression)), typeof(\(expression)), ?3"
        for first in Self.values {
            for second in Self.values {
                for third in Self.values.prefix(expression.contains("?3") ? .max : 1) {
                    let all = try [plain, bounded].map { connection in
                        try connection.rows(sql, first, second, third).first.map { [$0[0], $0[1]] }
                    }
                    #expect(all[0] == all[1], "\(expression) of \(first), \(second), \(third)")
                }
            }
        }
        plain.finalizeStatements()
        bounded.finalizeStatements()
    }

    @Test("may be called in an index, and SQLite finds the index sound without them")
    func index() throws {
        let bounded = try connection(
            "CREATE TABLE t(a, b AS (replace(a, 'x', 'yy'))); CREATE INDEX i ON t(instr(a, 'x'), b) WHERE a LIKE '%x%'")
        defer { sqlite3_close_v2(bounded.handle) }
        try bounded.boundFunctions()
        for value in Self.values { try bounded.run("INSERT INTO t(a) VALUES(?), ('x' || ?)", value, value) }
        #expect(try bounded.rows("PRAGMA integrity_check").map { $0[0] } == [.text("ok")])
        bounded.finalizeStatements()
    }

    @Test("are an extension's own where one has replaced SQLite's: what its index holds was made by those")
    func replaced() throws {
        let bounded = try connection("CREATE TABLE t(a CHECK (instr(a, 'x') = 0), b AS (trim(a, 'x')))")
        defer { sqlite3_close_v2(bounded.handle) }
        sqlite3_create_function_v2(
            bounded.handle, "TRIM", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nil,
            { context, _, _ in sqlite3_result_int(context, 7) }, nil, nil, nil)
        try bounded.boundFunctions()
        try bounded.run("INSERT INTO t VALUES('abc')")
        #expect(try bounded.rows("SELECT b, rtrim(a, 'c') FROM t") == [[.integer(7), .text("ab")]])
        let long = Value.text(Array(repeating: 0x61, count: 2_000_000)[...])
        #expect(throws: LogSyncError.self) { try bounded.run("INSERT INTO t SELECT instr(?1, ?1 || ?1)", long) }
        bounded.finalizeStatements()
    }

    @Test("refuse no call outside of a statement that writes, and no short one")
    func bounds() throws {
        let bounded = try connection("CREATE TABLE t(a, CHECK (instr(a, 'b') = 0))")
        defer { sqlite3_close_v2(bounded.handle) }
        try bounded.boundFunctions()
        let long = Value.text(Array(repeating: 0x61, count: 2_000_000)[...])
        try bounded.run("INSERT INTO t(a) VALUES(?)", long)
        #expect(try bounded.integer("SELECT instr(?1, ?1)", long) == 1)
        #expect(throws: LogSyncError.self) {
            try bounded.run(
                "UPDATE t SET a = instr(?1, 'c' || ?1 || ?1)", .text(Array(repeating: 0x61, count: 2_000_000)[...]))
        }
        bounded.finalizeStatements()
    }
}
