import LogSyncModel
import Testing

@testable import LogSyncStore

@Suite struct DroppedColumnTests {
    @Test func whatWasWrittenBeforeAColumnWentIsRecorded() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x, y, z); INSERT INTO t VALUES ('p', 1, 1, 1), ('q', 1, 1, 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET x = 2")
        try a.write("ALTER TABLE t DROP COLUMN z")
        try a.write("UPDATE t SET y = 3 WHERE id = 'p'")
        try converge(a, b)
        #expect(try b.strings("SELECT id, x, y FROM t ORDER BY id") == ["p|2|3", "q|2|1"])
        #expect(try a.store.record() == nil)
        #expect(try a.store.audit().problems == [])
    }

    @Test func aRowThatOnlyTheColumnKeptOutStandsWhenThatGoes() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x, y NOT NULL)")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("CREATE TABLE t2(id TEXT PRIMARY KEY, x); DROP TABLE t; ALTER TABLE t2 RENAME TO t")
        try a.write("INSERT INTO t VALUES('p', 1)")
        try converge(a, b)
        #expect(try b.strings("SELECT id FROM t") == [])
        try b.write("ALTER TABLE t DROP COLUMN y")
        _ = try b.store.record()
        #expect(try b.strings("SELECT * FROM t") == ["p|1"])
        #expect(try b.store.audit().problems == [])
        // Nor a constraint that a rebuild leaves out.
        try a.write("CREATE TABLE u(id TEXT PRIMARY KEY, x)")
        try b.write("CREATE TABLE u(id TEXT PRIMARY KEY, x NOT NULL)")
        try a.write("INSERT INTO u VALUES('q', NULL)")
        try converge(a, b)
        #expect(try b.strings("SELECT id FROM u") == [])
        try b.write(
            "CREATE TABLE u2(id TEXT PRIMARY KEY, x); INSERT INTO u2 SELECT * FROM u; DROP TABLE u; ALTER TABLE u2 RENAME TO u"
        )
        _ = try b.store.record()
        #expect(try b.strings("SELECT id FROM u") == ["q"])
        #expect(try b.store.audit().problems == [])
    }
}
