import LogSyncModel
import Testing

@testable import LogSyncStore

/// `ALTER TABLE … ADD z` and `UPDATE t SET z = …` in two transactions, with a look in between.
@Suite("Columns that are filled after a look at them")
struct LaterFillTests {
    private struct Pair {
        let a: TestPeer
        let b: TestPeer
        private let folder: TestFolder

        init(key: String = "k TEXT PRIMARY KEY", rows: Int = 9) throws {
            folder = try TestFolder()
            a = try TestPeer(folder, "a", sql: "CREATE TABLE t(\(key), v TEXT)")
            b = try TestPeer(folder, "b", cloning: a)
            for row in 1...rows { try a.write("INSERT INTO t VALUES(\(row), 'v\(row)')") }
            try converge(a, b)
        }

        /// Each statement is looked at by itself.
        func migrate(_ peer: TestPeer, _ fill: String = "UPDATE t SET z = 'low'") throws {
            for statement in ["ALTER TABLE t ADD COLUMN z TEXT", fill] {
                try peer.awaitAnotherMillisecond()
                try peer.write(statement)
                try converge(a, b)
            }
        }

        func shown(_ query: String = "SELECT k, z FROM t ORDER BY k") throws -> [String] {
            try agree(a, b)
            let shown = try a.strings(query)
            #expect(try b.strings(query) == shown)
            return shown
        }
    }

    private static let computed = "UPDATE t SET z = CASE WHEN length(v) = 2 THEN 'low' ELSE 'x' END"

    @Test(
        "show what another has written there before",
        arguments: [
            ("k TEXT PRIMARY KEY", "UPDATE t SET z = 'low'"), ("k INTEGER PRIMARY KEY", computed),
        ])
    func written(key: String, fill: String) throws {
        let pair = try Pair(key: key)
        try pair.migrate(pair.a, fill)
        try pair.a.write("UPDATE t SET z = 'HIGH' WHERE k = 3; INSERT INTO t(k, v, z) VALUES(10, 'v', 'new')")
        try converge(pair.a, pair.b)
        try pair.b.awaitAnotherMillisecond()
        try pair.b.write("ALTER TABLE t ADD COLUMN z TEXT")
        try converge(pair.a, pair.b)
        try pair.a.write("UPDATE t SET z = 'between' WHERE k = 4")
        try converge(pair.a, pair.b)
        try pair.b.awaitAnotherMillisecond()
        try pair.b.write(fill)
        try pair.b.write("UPDATE t SET z = 'by b' WHERE k = 5")
        try converge(pair.a, pair.b)
        let found = try pair.shown("SELECT k || ' ' || z FROM t WHERE k IN (2, 3, 4, 5, 10) ORDER BY 0 + k")
        #expect(found == ["2 low", "3 HIGH", "4 between", "5 by b", "10 new"])
        #expect(try pair.a.record() == nil)
        #expect(try pair.b.record() == nil)
        for peer in [pair.a, pair.b] { #expect(try peer.store.conflicts(table: nil, all: true).isEmpty) }
    }

    @Test("go on as others when they are filled, so that what a program writes to all rows then counts")
    func afterwards() throws {
        let pair = try Pair()
        try pair.migrate(pair.a)
        try pair.migrate(pair.b)
        try pair.a.write("UPDATE t SET z = 'HIGH' WHERE k = '3'")
        try converge(pair.a, pair.b)
        try pair.b.awaitAnotherMillisecond()
        try pair.b.write("UPDATE t SET z = 'all'")
        try converge(pair.a, pair.b)
        #expect(try pair.shown("SELECT DISTINCT z FROM t") == ["all"])
    }

    @Test("are written by what does not go over all rows")
    func some() throws {
        let pair = try Pair()
        try pair.migrate(pair.a)
        try pair.b.write("ALTER TABLE t ADD COLUMN z TEXT")
        try converge(pair.a, pair.b)
        try pair.a.write("UPDATE t SET z = 'HIGH' WHERE k = '3'")
        try converge(pair.a, pair.b)
        try pair.b.awaitAnotherMillisecond()
        try pair.b.write("UPDATE t SET z = 'some' WHERE k < '8'")
        try converge(pair.a, pair.b)
        #expect(try pair.shown("SELECT z, count(*) FROM t GROUP BY z") == ["low|2", "some|7"])
    }

    @Test("are written by a statement that comes long after")
    func late() throws {
        let pair = try Pair()
        try pair.migrate(pair.a)
        try pair.a.write("UPDATE t SET z = 'HIGH' WHERE k = '3'")
        try converge(pair.a, pair.b)
        try pair.b.write("ALTER TABLE t ADD COLUMN z TEXT")
        try converge(pair.a, pair.b)
        try pair.b.write(
            "UPDATE logsync_store SET value = value - 700000 WHERE key LIKE 'awaited fill %'; UPDATE t SET z = 'all'")
        try converge(pair.a, pair.b)
        #expect(try pair.shown("SELECT DISTINCT z FROM t") == ["all"])
    }
}
