import LogModel
import Testing

@testable import LogStore

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
}
