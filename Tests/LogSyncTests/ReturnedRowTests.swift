import Foundation
import GRDB
import LogSync
import LogSyncEditing
import LogSyncTesting
import Testing

@Suite("Rows that an undo brings back after their deletion was published") struct ReturnedRowTests {
    private let peers: TestPeers
    private let undo: UndoLog

    private var a: TestPeers.Peer { peers["a"] }
    private var b: TestPeers.Peer { peers["b"] }

    init() async throws {
        peers = try await TestPeers("a", "b") { pool in
            try pool.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE list(id TEXT PRIMARY KEY NOT NULL, name TEXT, stars INTEGER);
                        CREATE TABLE item(
                            id INTEGER PRIMARY KEY, title TEXT, stars INTEGER, list TEXT REFERENCES list(id) ON DELETE CASCADE);
                        CREATE TABLE step(
                            id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id) ON DELETE CASCADE, text TEXT);
                        INSERT INTO list VALUES('l', 'all', 1);
                        INSERT INTO item VALUES(1, 'one', 1, 'l'), (2, 'two', 2, 'l');
                        INSERT INTO step VALUES(1, 2, 'first');
                        """)
            }
        }
        undo = try await UndoLog(peers["a"].pool, tables: ["list", "item", "step"])
        try await peers.settle()
    }

    private func write(_ sql: String, _ peer: String = "a") async throws {
        try await peers[peer].pool.write { try $0.execute(sql: sql) }
    }

    private func group(_ name: String, _ sql: String) async throws {
        try await a.pool.write { db in try undo.group(name, db) { try db.execute(sql: sql) } }
    }

    private func rows(_ peer: TestPeers.Peer) async throws -> [String] {
        try await peer.pool.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT l.name || l.stars || ' ' || i.title || i.stars || ' ' || coalesce(s.text, '-')
                    FROM item AS i JOIN list AS l ON l.id = i.list LEFT JOIN step AS s ON s.item = i.id ORDER BY i.title
                    """)
        }
    }

    private func expect(_ expected: [String], lost: Int = 0) async throws {
        try await peers.expectSame()
        for peer in [a, b] {
            #expect(try await rows(peer) == expected, "\(peer.name)")
            #expect(try await peer.replicator.conflicts().conflicts.count == lost, "\(peer.name)")
        }
    }

    @Test(
        "An edit that another peer has lost to the delete is there with the row, and lost no more",
        arguments: ["item", "list"])
    func takesUp(table: String) async throws {
        let column = table == "item" ? "title" : "name"
        try await group("Delete", "DELETE FROM \(table) WHERE stars = \(table == "item" ? 2 : 1)")
        try await write("UPDATE \(table) SET \(column) = 'zwei' WHERE stars = \(table == "item" ? 2 : 1)", "b")
        try await peers.settle()
        try await expect(table == "item" ? ["all1 one1 -"] : [], lost: 1)
        #expect(try await undo.undo()?.left == [])
        try await peers.settle()
        try await expect(
            table == "item" ? ["all1 one1 -", "all1 zwei2 first"] : ["zwei1 one1 -", "zwei1 two2 first"])
    }

    @Test("An edit that arrives after the row has come back is one of that row")
    func late() async throws {
        peers.hold(from: "b", to: "a")
        try await group("Delete", "DELETE FROM item WHERE id = 2")
        try await write("UPDATE item SET stars = 7 WHERE id = 2", "b")
        try await peers.settle()
        _ = try await undo.undo()
        try await peers.settle()
        peers.deliver()
        try await peers.settle()
        try await peers.expectSame()
        #expect(try await rows(a).count == 2)
        #expect(try await a.replicator.conflicts().conflicts.map(\.column) == ["stars"])
        try await write("UPDATE item SET stars = 9 WHERE title = 'two'")
        try await peers.settle()
        try await expect(["all1 one1 -", "all1 two9 first"])
    }

    @Test("A row that has come back and gone again leaves its integer to another")
    func gone() async throws {
        try await group("Delete", "DELETE FROM item WHERE id = 2")
        try await write("UPDATE item SET title = 'zwei' WHERE id = 2", "b")
        try await peers.settle()
        _ = try await undo.undo()
        _ = try await undo.redo()
        try await write("INSERT INTO item VALUES(2, 'new', 2, 'l')")
        try await peers.settle()
        try await expect(["all1 new2 -", "all1 one1 -"], lost: 1)
    }

    @Test("A program's own insert of the same integer is another row")
    func another() async throws {
        try await group("Delete", "DELETE FROM item WHERE id = 2")
        try await write("UPDATE item SET title = 'zwei' WHERE id = 2", "b")
        try await peers.settle()
        try await write("INSERT INTO item VALUES(2, 'two', 2, 'l')")
        try await peers.settle()
        try await expect(["all1 one1 -", "all1 two2 -"], lost: 1)
    }

    @Test("What is undone and done again a few times is one row")
    func repeated() async throws {
        try await group("Delete", "DELETE FROM item WHERE id = 2")
        for _ in 0..<3 {
            try await peers.settle()
            _ = try await undo.undo()
            try await peers.settle()
            try await expect(["all1 one1 -", "all1 two2 first"])
            _ = try await undo.redo()
        }
        try await write("UPDATE item SET title = 'zwei' WHERE title = 'two'", "b")
        try await peers.settle()
        _ = try await undo.undo()
        try await peers.settle()
        try await expect(["all1 one1 -", "all1 zwei2 first"])
    }
}
