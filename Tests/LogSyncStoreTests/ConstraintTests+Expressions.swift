import LogSyncModel
import Testing

@testable import LogSyncStore

/// Rows for which an expression of the schema raises an error: no table can hold them.
extension ConstraintTests {
    struct RaisingSchema: Sendable {
        /// Of `t(k, a, b)`, with a row `x`.
        var sql: String
        /// Either is good by itself.
        var halves: (String, String)
        /// Of `b`, with which the row is good again.
        var mend: Value
    }

    static let raisingSchemas = [
        RaisingSchema(
            sql: """
                CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT DEFAULT '[1', b TEXT DEFAULT ']', CHECK(json_array_length(a || b) > 0));
                INSERT INTO t VALUES('x', '[1', ']');
                """,
            halves: ("UPDATE t SET a = '[', b = '6]'", "UPDATE t SET b = ',2]'"), mend: .text("2]")),
        RaisingSchema(
            sql: """
                CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT DEFAULT '[', b TEXT DEFAULT ']');
                CREATE INDEX i ON t(json(a || b)); INSERT INTO t VALUES('x', '[1', ']');
                """,
            halves: ("UPDATE t SET a = '{\"p\":1', b = '}'", "UPDATE t SET b = ',2]'"), mend: .text("}")),
        RaisingSchema(
            sql: """
                CREATE TABLE t(k TEXT PRIMARY KEY, a INT, b INT, g AS (abs(a - b)) STORED);
                INSERT INTO t(k, a, b) VALUES('x', 1, 0);
                """,
            halves: ("UPDATE t SET a = -9223372036854775807", "UPDATE t SET b = 1"), mend: .integer(0)),
        RaisingSchema(
            sql: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, a INT, b INT, g AS (abs(a - b)));
                CREATE UNIQUE INDEX i ON t(k, g) WHERE g > 0; INSERT INTO t(k, a, b) VALUES('x', 1, 0);
                """,
            halves: ("UPDATE t SET a = -9223372036854775807", "UPDATE t SET b = 1"), mend: .integer(0)),
    ]

    @Test(arguments: raisingSchemas.indices, [false, true])
    func aRowForWhichAnExpressionRaisesAnErrorIsParkedAndAllElseGoesOn(index: Int, isReversed: Bool) throws {
        let schema = Self.raisingSchemas[index]
        let (_, a, b) = try pair(schema.sql)
        try a.write(
            """
            BEGIN; INSERT INTO t(k) VALUES('before'); \(schema.halves.0) WHERE k = 'x'; INSERT INTO t(k) VALUES('behind');
            COMMIT
            """)
        try record(a)
        try b.write("\(schema.halves.1) WHERE k = 'x'")
        try record(b)
        try isReversed ? settle(b, a) : settle(a, b)
        for peer in [a, b] {
            #expect(try parked(peer) == ["t expression"])
            try peer.write("INSERT INTO t(k) VALUES('\(peer.name)')")
        }
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT k FROM t ORDER BY k") == ["a", "b", "before", "behind"])
        }
        let row = try #require(try b.store.parkedRows(table: nil, all: false).first)
        clock.milliseconds += 1000
        try b.store.setParked(table: "t", key: row.key, column: "b", value: schema.mend)
        try settle(a, b)
        for peer in [a, b] {
            #expect(try parked(peer) == [])
            #expect(try peer.strings("SELECT count(*) FROM t") == ["5"])
        }
    }

    @Test func anIndexOfOneVersionKeepsOutTheRowsForWhichItRaisesAnError() throws {
        let (folder, a, b) = try pair("CREATE TABLE t(k INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(0, '{\"p\":1}')")
        {
            $0.identities = ["t": .natural]
        }
        try b.write("CREATE INDEX i ON t(json_extract(a, '$.p'))")
        try settle(a, b)
        // Many rows that nothing contests are written at once, as long as their values are no blobs.
        try a.write(
            """
            WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 600)
            INSERT INTO t SELECT i, CASE i WHEN 300 THEN 'x' ELSE '1' END FROM c
            """)
        try record(a)
        try settle(a, b)
        try a.write("UPDATE t SET a = 'plain text' WHERE k = 0")
        try record(a)
        try settle(a, b)
        #expect(try parked(a) == [])
        #expect(try a.strings("SELECT count(*) FROM t") == ["601"])
        #expect(try parked(b) == ["t expression", "t expression"])
        #expect(try b.strings("SELECT count(*) FROM t") == ["599"])
        let c = try TestPeer(folder, "c", cloning: b, clock: clock)
        try settle(a, b, c)
        #expect(try parked(c) == ["t expression", "t expression"])
        try b.write("DROP INDEX i")
        try settle(a, b)
        #expect(try parked(b) == [])
        #expect(try b.strings("SELECT count(*) FROM t") == ["601"])
    }
}
