import Foundation
import GRDB
import LogSync
import LogSyncEditing
import LogSyncTesting
import Testing

@Suite("Rows that an undo brings back, at the edges") struct ReturnedRowEdgeTests {
    private let peers: TestPeers
    private let undo: UndoLog

    private var a: TestPeers.Peer { peers["a"] }
    private var b: TestPeers.Peer { peers["b"] }

    init() async throws {
        peers = try await TestPeers(
            "a", "b",
            rules: {
                $0.merge("item", "stock", by: .sum)
                $0.merge("item", "tags", by: .union)
            }
        ) { pool in
            try pool.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE item(
                            id INTEGER PRIMARY KEY, title TEXT UNIQUE, stock INTEGER, tags TEXT, body BLOB,
                            CHECK (stock < 100));
                        CREATE TABLE step(
                            id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id) ON DELETE CASCADE, text TEXT);
                        CREATE TABLE pair(x INTEGER, y TEXT, note TEXT, PRIMARY KEY (x, y));
                        CREATE TABLE word(w TEXT PRIMARY KEY, note TEXT, more TEXT) WITHOUT ROWID;
                        CREATE TABLE link(
                            item INTEGER REFERENCES item(id) ON DELETE CASCADE, w TEXT, note TEXT,
                            PRIMARY KEY (item, w)) WITHOUT ROWID;
                        INSERT INTO item VALUES(1, 'one', 10, '["a"]', NULL), (2, 'two', 20, '["b"]', NULL);
                        INSERT INTO step VALUES(1, 2, 'first'), (2, 2, 'second');
                        INSERT INTO pair VALUES(1, 'p', 'old');
                        INSERT INTO word VALUES('w', 'old', 'more');
                        INSERT INTO link VALUES(2, 'w', 'old');
                        """)
            }
        }
        undo = try await UndoLog(peers["a"].pool, tables: ["item", "step", "pair", "word", "link"])
        try await peers.settle()
    }

    private func write(_ sql: String, _ peer: String = "a") async throws {
        try await peers[peer].pool.write { try $0.execute(sql: sql) }
    }

    private func group(_ sql: String) async throws {
        try await a.pool.write { db in try undo.group("Change", db) { try db.execute(sql: sql) } }
    }

    private func rows(_ sql: String, _ peer: TestPeers.Peer) async throws -> [String] {
        try await peer.pool.read { try String.fetchAll($0, sql: sql) }
    }

    private func expect(_ sql: String, _ expected: [String], lost: Int = 0) async throws {
        try await peers.settle()
        try await peers.expectSame()
        for peer in [a, b] {
            let shown = try await rows(sql, peer)
            #expect(shown == expected, "\(peer.name)")
            let conflicts = try await peer.replicator.conflicts().conflicts
            #expect(conflicts.count == lost, "\(peer.name)")
        }
    }

    @Test("A deletion that is recorded within the group is one that can be taken back")
    func recordedWithin() async throws {
        try await a.pool.write { db in
            try undo.group("Delete", db) {
                try a.replicator.record(db, author: "ann") { try db.execute(sql: "DELETE FROM item WHERE id = 2") }
            }
        }
        try await write("UPDATE item SET title = 'zwei' WHERE id = 2", "b")
        try await peers.settle()
        let left = try await undo.undo()?.left
        #expect(left == [])
        try await expect("SELECT title FROM item ORDER BY id", ["one", "zwei"])
    }

    @Test("A row whose integer another peer's row has by now comes back")
    func integerTaken() async throws {
        try await group("DELETE FROM item WHERE id = 2")
        try await peers.settle()
        try await write("INSERT INTO item(title) VALUES('three')", "b")
        try await peers.settle()
        let left = try await undo.undo()?.left
        #expect(left == [])
        try await expect("SELECT title FROM item ORDER BY title", ["one", "three", "two"])
        try await expect(
            "SELECT text FROM step JOIN item ON item.id = step.item WHERE title = 'two'", ["first", "second"])
    }

    @Test("Children that went with their parent take up what was edited, and where they were moved to")
    func children() async throws {
        try await group("DELETE FROM item WHERE id = 2")
        try await write("UPDATE step SET text = 'erster' WHERE id = 1; UPDATE step SET item = 1 WHERE id = 2", "b")
        try await write("UPDATE link SET note = 'new' WHERE w = 'w'", "b")
        try await peers.settle()
        let left = try await undo.undo()?.left
        #expect(left == [])
        try await expect(
            "SELECT text || ' ' || title FROM step JOIN item ON item.id = step.item ORDER BY step.id",
            ["erster two", "second one"])
        try await expect("SELECT note || ' ' || title FROM link JOIN item ON item.id = link.item", ["new two"])
    }

    @Test("An edit to a unique value that another row has by now makes none of them go")
    func unique() async throws {
        try await group("DELETE FROM item WHERE id = 2")
        try await write("UPDATE item SET title = 'zwei' WHERE id = 2", "b")
        try await write("INSERT INTO item(id, title) VALUES(7, 'zwei')")
        try await peers.settle()
        _ = try await undo.undo()
        try await peers.settle()
        try await peers.expectSame()
        // One of the two is shown; the other is parked, with the rows that refer to it.
        let titles = try await rows("SELECT title FROM item ORDER BY title", a)
        #expect(titles == ["one", "zwei"])
        let parked = try await a.replicator.conflicts().parked
        #expect(parked.map(\.table).sorted() == ["item", "link", "step", "step"])
    }

    @Test("Rows with composite keys and without rowid come back with what was edited")
    func keys() async throws {
        try await group("DELETE FROM pair; DELETE FROM word")
        try await write("UPDATE pair SET note = 'new'; UPDATE word SET note = 'new'", "b")
        try await peers.settle()
        let left = try await undo.undo()?.left
        #expect(left == [])
        try await expect("SELECT note FROM pair UNION ALL SELECT note || more FROM word", ["new", "newmore"])
        for _ in 0..<2 {
            #expect(try await undo.redo() != nil)
            #expect(try await undo.undo() != nil)
        }
        try await expect("SELECT note FROM pair UNION ALL SELECT note || more FROM word", ["new", "newmore"])
    }

    @Test("Sets and large values that were edited meanwhile are there; a counter goes on from what it held")
    func policies() async throws {
        try await group("DELETE FROM item WHERE id = 2")
        try await write(
            "UPDATE item SET stock = stock + 5, tags = '[\"b\",\"c\"]', body = zeroblob(400000) WHERE id = 2", "b")
        try await peers.settle()
        let left = try await undo.undo()?.left
        #expect(left == [])
        try await expect(
            "SELECT title || stock || tags || coalesce(length(body), 'none') FROM item WHERE title = 'two'",
            ["two20[\"b\",\"c\"]400000"])
        try await write("UPDATE item SET stock = stock + 1 WHERE title = 'two'", "b")
        try await write("UPDATE item SET stock = stock + 2 WHERE title = 'two'")
        try await expect("SELECT stock FROM item WHERE title = 'two'", ["23"])
    }

    @Test("Two peers that bring one row back have it once")
    func both() async throws {
        let other = try await UndoLog(b.pool, tables: ["item", "step"])
        try await group("DELETE FROM item WHERE id = 2")
        try await b.pool.write { db in
            try other.group("Delete", db) { try db.execute(sql: "DELETE FROM item WHERE id = 2") }
        }
        try await peers.settle()
        _ = try await undo.undo()
        _ = try await other.undo()
        try await expect("SELECT title FROM item ORDER BY id", ["one", "two"])
        try await expect("SELECT text FROM step ORDER BY id", ["first", "second"])
    }

    @Test("A row that got another integer before it was deleted is there again, and nothing is left")
    func rekeyed() async throws {
        try await group("UPDATE item SET id = 9 WHERE id = 1; DELETE FROM item WHERE id = 9")
        try await peers.settle()
        let undone = try await undo.undo()
        #expect(undone?.left == [] && undone?.rows == 1)
        try await expect("SELECT title FROM item ORDER BY id", ["one", "two"])
    }

    @Test("A row that comes back before anybody has recorded its deletion is no change")
    func unrecorded() async throws {
        let count = try await a.replicator.log().count
        try await group("DELETE FROM item WHERE id = 1")
        _ = try await undo.undo()
        try await expect("SELECT title FROM item ORDER BY id", ["one", "two"])
        let log = try await a.replicator.log()
        #expect(log.count == count)
    }

    @Test("A row whose parent has gone since is not given to another that has the parent's integer")
    func anothersInteger() async throws {
        try await group("DELETE FROM step WHERE id = 1; UPDATE step SET item = 1 WHERE id = 2")
        try await write("DELETE FROM item WHERE id = 2")
        try await peers.settle()
        try await write("INSERT INTO item(title) VALUES('three')", "b")
        try await peers.settle()
        let integers = try await rows("SELECT id FROM item WHERE title = 'three'", a)
        #expect(integers == ["2"], "the integer is another row's")
        let left = try await undo.undo()?.left
        #expect(left.map { Set($0.map(\.column)) } == ["item", nil])
        try await expect("SELECT text || title FROM step JOIN item ON item.id = step.item", ["secondone"])
    }

    @Test("A row that another peer has brought back is left as it is, and its children find it")
    func broughtBack() async throws {
        let other = try await UndoLog(b.pool, tables: ["item"])
        try await group("DELETE FROM step WHERE item = 2; DELETE FROM link; DELETE FROM item WHERE id = 2")
        try await b.pool.write { db in
            try other.group("Delete", db) { try db.execute(sql: "DELETE FROM item WHERE id = 2") }
        }
        try await peers.settle()
        try await write("INSERT INTO item(title) VALUES('three')")
        _ = try await other.undo()
        try await peers.settle()
        _ = try await undo.undo()
        try await expect(
            "SELECT text || title FROM step JOIN item ON item.id = step.item ORDER BY text", ["firsttwo", "secondtwo"])
        try await expect("SELECT title FROM item ORDER BY title", ["one", "three", "two"])
    }

    @Test("A store that leaves hinders neither the program's deletes nor its undo")
    func left() async throws {
        _ = try await a.replicator.leave()
        try await write("DELETE FROM step WHERE id = 1")
        try await group("DELETE FROM item WHERE id = 2")
        let left = try await undo.undo()?.left
        #expect(left == [])
        let titles = try await rows("SELECT title FROM item ORDER BY id", a)
        #expect(titles == ["one", "two"])
    }

    @Test("A row of one transaction that another process records before the undo comes back as it was")
    func elsewhere() async throws {
        var configuration = SyncConfiguration(
            stateDirectory: URL(fileURLWithPath: a.pool.path).deletingLastPathComponent().path + "/state")
        configuration.machineID = "test-a"
        configuration.clock = peers.clock
        let beside = try Replicator(store: a.pool.path, configuration: configuration)
        try await group("DELETE FROM item WHERE id = 2")
        _ = try await beside.sync()
        try await write("UPDATE item SET title = 'zwei' WHERE id = 2", "b")
        try await peers.settle()
        let left = try await undo.undo()?.left
        #expect(left == [])
        _ = try await beside.sync()
        await beside.close()
        try await expect("SELECT title FROM item ORDER BY id", ["one", "zwei"])
    }

    @Test("A row whose identity cannot be read is not deleted: it would come back as another one")
    func unreadable() async throws {
        try await a.pool.write { db in
            let id = try Int.fetchOne(db, sql: "SELECT id FROM logsync_table WHERE name = 'item'") ?? 0
            try db.execute(sql: "ALTER TABLE logsync_clock_\(id) RENAME COLUMN identity TO away")
        }
        await #expect(throws: DatabaseError.self) { try await group("DELETE FROM item WHERE id = 1") }
        #expect(try await rows("SELECT title FROM item ORDER BY id", a) == ["one", "two"])
    }
}
