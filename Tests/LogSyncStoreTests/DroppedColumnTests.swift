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

    @Test(
        "A column that comes back is the same column, and who writes it supersedes what it held", arguments: [0, 1, 2])
    func comesBack(edits: Int) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x, n); INSERT INTO t VALUES('p', 1, 1), ('q', 1, 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        // Rows of more versions than the one that they began with.
        for edit in 0..<edits {
            try [a, b][edit].write("UPDATE t SET n = \(edit + 2)")
            if edit == 0 { try converge(a, b) }
        }
        if edits > 1 {
            try a.write("UPDATE t SET n = 8")
            try converge(a, b)
        }
        let before = try b.strings("SELECT n FROM t WHERE id = 'q'")
        for _ in 0..<2 {
            try a.write("ALTER TABLE t DROP COLUMN n")
            _ = try a.store.record()
            try a.write("ALTER TABLE t ADD COLUMN n DEFAULT 9")
            _ = try a.store.record()
            try converge(a, b)
        }
        #expect(try a.strings("SELECT * FROM t ORDER BY id") == ["p|1|9", "q|1|9"])
        #expect(try b.strings("SELECT n FROM t WHERE id = 'q'") == before)
        try b.write("UPDATE t SET n = 20 WHERE id = 'p'")
        try converge(a, b)
        #expect(try a.strings("SELECT * FROM t ORDER BY id") == ["p|1|20", "q|1|9"])
        try a.write("UPDATE t SET n = 30 WHERE id = 'q'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT * FROM t ORDER BY id") == ["p|1|20", "q|1|30"])
            #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test func whatWasWrittenWhileAColumnWasAwayIsShownWhenItComesBack() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x, n); INSERT INTO t VALUES('p', 1, 1), ('q', 1, 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("ALTER TABLE t DROP COLUMN n")
        _ = try a.store.record()
        try b.write("UPDATE t SET n = 5 WHERE id = 'p'")
        try converge(a, b)
        // With a value of the program's own before anybody looks.
        try a.write("ALTER TABLE t ADD COLUMN n DEFAULT 9")
        try a.write("UPDATE t SET n = 4 WHERE id = 'q'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT * FROM t ORDER BY id") == ["p|1|5", "q|1|4"])
            #expect(try peer.store.audit().problems == [])
        }
        try b.write("UPDATE t SET n = n + 1")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT * FROM t ORDER BY id") == ["p|1|6", "q|1|5"])
            #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
            #expect(try peer.store.audit().problems == [])
        }
    }
}
