import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import LogSyncState
import Testing

@testable import LogSyncStore

@Suite struct ValueTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let values = [
        "NULL", "''", "x''", "1", "1.0", "'1'", "x'31'", "-0.0", "0", "0.0", "9e999", "-9e999", "9223372036854775807",
        "-9223372036854775808", "9223372036854775807.0", "1e-320", "3.0000000000000004", "'a' || char(0) || 'b'",
        "char(0)", "CAST(x'ff41c3' AS TEXT)", "CAST(x'c080' AS TEXT)", "x'00'", "'Zoë 🦉'", "zeroblob(3000000)",
        "CAST(zeroblob(100) AS TEXT)",
    ]

    private func expectSame(_ a: TestPeer, _ b: TestPeer, _ sql: String) throws {
        let (left, right) = (try a.dump(sql), try b.dump(sql))
        #expect(left.count == right.count)
        for (left, right) in zip(left, right) { #expect(left.map(Digest.of) == right.map(Digest.of), "\(left)") }
    }

    @Test func everyValueArrivesBitForBit() throws {
        let rows = Self.values.enumerated().map { "(\($0.offset), \($0.element))" }.joined(separator: ", ")
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id INT PRIMARY KEY, x); INSERT INTO t VALUES \(rows)")
        let b = try TestPeer(folder, "b", cloning: a)
        try expectSame(a, b, "SELECT id, x, typeof(x) FROM t ORDER BY id")
        try agree(a, b)
        // Every value becomes every next one.
        try a.write("CREATE TEMP TABLE u AS SELECT id, x FROM t")
        for shift in 1..<4 {
            try a.write("UPDATE t SET x = (SELECT u.x FROM u WHERE u.id = (t.id + \(shift)) % \(Self.values.count))")
            try agree(a, b)
            try expectSame(a, b, "SELECT id, x, typeof(x) FROM t ORDER BY id")
        }
    }

    @Test func aChangeOfTypeAloneIsAChange() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x); INSERT INTO t VALUES ('p', 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        for value in ["1.0", "'1'", "x'31'", "''", "x''", "NULL", "-0.0", "0.0"] {
            try a.write("UPDATE t SET x = \(value)")
            #expect(try a.recorded() == "t ~1", "\(value)")
            try agree(a, b)
            try expectSame(a, b, "SELECT x, typeof(x) FROM t")
        }
    }

    @Test func aValueThatAnotherSchemaChangesTravelsNoFurther() throws {
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x, y); INSERT INTO t VALUES ('p', '007', 1)")
        let b = try TestPeer(folder, "b", cloning: a, schema: "CREATE TABLE t(id TEXT PRIMARY KEY, x INTEGER, y TEXT);")
        #expect(try b.strings("SELECT x, typeof(x), y, typeof(y) FROM t") == ["7|integer|1|text"])
        #expect(try b.recorded() == nil)
        try b.write("UPDATE t SET y = 'z'")
        #expect(try b.recorded() == "t ~1")
        try a.write("UPDATE t SET x = '008'")
        try converge(a, b)
        #expect(try a.strings("SELECT * FROM t") == ["p|008|z"])
        #expect(try b.strings("SELECT * FROM t") == ["p|8|z"])
        #expect(try b.recorded() == nil)
        #expect(try b.store.audit().problems == [])
        try a.write("INSERT INTO t VALUES ('q', '009', 2)")
        try b.write("UPDATE t SET x = x + 1 WHERE id = 'p'")
        try converge(a, b)
        #expect(try a.strings("SELECT * FROM t ORDER BY id") == ["p|9|z", "q|009|2"])
        #expect(try b.strings("SELECT * FROM t ORDER BY id") == ["p|9|z", "q|9|2"])
        #expect(try b.recorded() == nil)
    }

    /// SQLite makes other characters of bytes that are no text: what is shown there is another key than the one that names the row.
    @Test(arguments: ["", " WITHOUT ROWID", ", u TEXT UNIQUE"])
    func bytesThatAreNoTextAreKeptByAnUTF16Database(_ kind: String) throws {
        let columns = "id TEXT PRIMARY KEY NOT NULL, x TEXT" + (kind.hasPrefix(",") ? kind : "")
        let end = kind.hasPrefix(",") ? "" : kind
        let a = try TestPeer(
            folder, "a",
            sql:
                """
                CREATE TABLE t(\(columns))\(end);
                INSERT INTO t(id, x) VALUES (CAST(x'80' AS TEXT), '1'), (CAST(x'81' AS TEXT), '2'), (char(0xFFFD), '3'),
                  ('four', '4'), ('plain', '0');
                """)
        let schema = "PRAGMA encoding='UTF-16le'; CREATE TABLE t(\(columns))\(end);"
        let b = try TestPeer(folder, "b", cloning: a, schema: schema)
        let filled = try TestPeer(folder, "filled", filling: a.snapshot(), from: a, schema: schema)
        try agree(a, filled, showsTheSame: false)
        try filled.write("UPDATE t SET x = x || '.' WHERE id <> 'plain'")
        try agree(a, filled, showsTheSame: false)
        #expect(try a.strings("SELECT count(*) FROM t") == ["5"])
        try a.write(
            "UPDATE t SET x = iif(id = 'plain', CAST(x'FF' AS TEXT), rtrim(x, '.'))")
        #expect(try b.store.rescan(b.store.prepareRescan(), naming: [:]).found == nil)
        try b.write("UPDATE t SET x = x || '!' WHERE id <> 'plain'")
        try agree(a, b, filled, showsTheSame: false)
        #expect(
            try a.strings("SELECT hex(id) || hex(x) FROM t ORDER BY x")
                == ["803121", "813221", "EFBFBD3321", "666F75723421", "706C61696EFF"])
        try a.write(
            "INSERT INTO t(id, x) VALUES (CAST(x'82' AS TEXT), '5'); UPDATE t SET x = '6' WHERE id = CAST(x'80' AS TEXT)"
        )
        try agree(a, b, filled, showsTheSame: false)
        #expect(try b.strings("SELECT x FROM t WHERE id <> 'plain' ORDER BY x") == ["2!", "3!", "4!", "5", "6"])
        try b.write("DELETE FROM t WHERE x IN ('5', '3!'); UPDATE t SET x = 'own' WHERE id = 'plain'")
        try agree(a, b, filled, showsTheSame: false)
        #expect(try a.strings("SELECT x FROM t ORDER BY x") == ["2!", "4!", "6", "own"])
        #expect(try b.store.rescan(b.store.prepareRescan(), naming: [:]).found == nil)
    }

    @Test func anUTF16DatabaseReplicatesWithAnUTF8One() throws {
        let a = try TestPeer(
            folder, "a",
            sql:
                "CREATE TABLE t(id TEXT PRIMARY KEY COLLATE NOCASE, x); INSERT INTO t VALUES ('Zoë', 'a' || char(0) || '🦉')"
        )
        let b = try TestPeer(
            folder, "b", cloning: a,
            schema: "PRAGMA encoding='UTF-16le'; CREATE TABLE t(id TEXT PRIMARY KEY COLLATE NOCASE, x);")
        #expect(try b.strings("PRAGMA encoding") == ["UTF-16le"])
        try b.write("INSERT INTO t VALUES ('ключ', 'žluť'); UPDATE t SET x = x || '!' WHERE id = 'zoë'")
        try agree(a, b)
        try expectSame(a, b, "SELECT * FROM t ORDER BY id")
        let c = try TestPeer(folder, "c", cloning: b)
        try c.pull(from: a)
        #expect(try c.strings("PRAGMA encoding") == ["UTF-16le"])
        try agree(a, b, c)
    }
}
