import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

@Suite struct PolicyTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Two peers write one cell without having seen each other; `a` writes first.
    private func conflict(_ policy: String, _ first: String, _ second: String) throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x, y); INSERT INTO t VALUES ('p', 0, 0)"
        ) {
            $0.policies = [("t.x", policy)]
        }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET x = \(first)")
        try a.awaitAnotherMillisecond()
        try b.write("UPDATE t SET x = \(second)")
        try converge(a, b)
        return (a, b)
    }

    @Test(arguments: [
        ("last-writer", "1", "2", "2"), ("first-writer", "1", "2", "1"), ("manual", "1", "2", "2"),
        ("max", "7", "5.5", "7"), ("max", "'a'", "9", "a"), ("min", "7", "5.5", "5.5"), ("min", "NULL", "3", "3"),
        ("prefer a,b", "1", "2", "1"), ("prefer b,a", "1", "2", "2"), ("prefer nobody", "1", "2", "2"),
        ("union", "'[1,2]'", "'[2,3]'", "[1,2,3]"), ("union", "'no array'", "'[3]'", "[3]"),
    ])
    func bothPeersShowWhatThePolicySays(policy: String, first: String, second: String, shown: String) throws {
        let (a, b) = try conflict(policy, first, second)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT x FROM t") == [shown])
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.store.record() == nil)
        }
        #expect(try a.store.conflicts(table: nil, all: true).count == 1)
    }

    @Test func aLaterWriteSettlesTheConflict() throws {
        let (a, b) = try conflict("union", "'[1]'", "'[2]'")
        try b.write("UPDATE t SET x = '[9]'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT x FROM t") == ["[9]"])
            #expect(try peer.store.summary().conflicts == 0)
        }
    }

    @Test func aChangedPolicyIsInForceOnEveryPeer() throws {
        let (a, b) = try conflict("last-writer", "1", "2")
        try b.write("UPDATE logsync_setting SET value = 'first-writer' WHERE kind = 'policy'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT x FROM t") == ["1"])
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.store.record() == nil)
        }
    }

    @Test func lastWriterRowShowsOneOfThePairsWritten() throws {
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x, y); INSERT INTO t VALUES ('p', 0, 0)"
        ) {
            $0.policies = [("t", "last-writer-row")]
        }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET x = 1")
        try a.awaitAnotherMillisecond()
        try b.write("UPDATE t SET y = 9")
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT x, y FROM t") == ["0|9"]) }
    }

    @Test func aPolicyThatNobodyKnowsIsRefused() throws {
        #expect {
            try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x)") {
                $0.policies = [("t.x", "magic")]
            }
        } throws: { ($0 as? LogSyncError)?.code == .usage }
    }

    @Test func whoRefersToWhatAPolicyNoLongerShowsIsParked() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(id TEXT PRIMARY KEY, x INTEGER UNIQUE);
                CREATE TABLE c(id TEXT PRIMARY KEY, u INTEGER REFERENCES t(x));
                INSERT INTO t VALUES ('p', 0);
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET x = 1")
        try a.awaitAnotherMillisecond()
        try b.write("UPDATE t SET x = 2")
        try converge(a, b)
        try a.write("INSERT INTO c VALUES('child', 2)")
        try converge(a, b)
        try b.write("INSERT INTO logsync_setting(kind, target, value) VALUES('policy', 't.x', 'first-writer')")
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT x FROM t") == ["1"])
            #expect(try peer.strings("SELECT * FROM c") == [])
            #expect(try peer.store.summary().parked == 1)
        }
    }

    @Test func policiesAreListedByTheNamesThatTablesAndColumnsHaveNow() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, gone INTEGER)")
        try a.store.setPolicy("t.n", "sum")
        try a.store.setPolicy("t.gone", "max")
        for migration in [
            "ALTER TABLE t DROP COLUMN gone", "ALTER TABLE t RENAME COLUMN n TO m; ALTER TABLE t ADD COLUMN n INTEGER",
            "ALTER TABLE t RENAME TO u",
        ] {
            try a.write(migration)
            try a.record()
        }
        try a.store.setPolicy("u.n", "min")
        let listed = Dictionary(uniqueKeysWithValues: try a.store.policies().map { ($0.target, $0.policy) })
        #expect(listed == ["u.m": "sum", "u.n": "min", "t.gone": "max"])
    }

    @Test func aTableWithADotInItsNameHasPolicies() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE "a.b"(k TEXT PRIMARY KEY, "c.d", n INTEGER); INSERT INTO "a.b" VALUES ('x', 0, 0);
                CREATE TABLE a(k TEXT PRIMARY KEY, "b.e");
                """)
        for target in ["a.b.n", "a.b.c.d", "a.b.e"] { try a.store.setPolicy(target, "max") }
        try a.store.setPolicy("a.b", "last-writer-row")
        for target in ["a.b.x", "a.x", "b.n"] {
            #expect(throws: LogSyncError.self) { try a.store.setPolicy(target, "max") }
        }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE \"a.b\" SET n = 7")
        _ = try a.store.record()
        try b.write("UPDATE \"a.b\" SET n = 5")
        _ = try b.store.record()
        try converge(a, b)
        #expect(try b.strings("SELECT n FROM \"a.b\"") == ["7"])
    }
}
