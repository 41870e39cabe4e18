import Foundation
import GRDB
import LogSync
import LogSyncEditing
import LogSyncTesting
import Testing

@Suite("Undo, and peers for the tests of programs") struct UndoTests {
    private let peers: TestPeers
    private let undo: UndoLog

    private var a: TestPeers.Peer { peers["a"] }
    private var b: TestPeers.Peer { peers["b"] }

    init() async throws {
        peers = try await TestPeers("a", "b") { pool in
            try pool.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, title TEXT, stars INTEGER) WITHOUT ROWID;
                        CREATE TABLE step(id INTEGER PRIMARY KEY, item TEXT REFERENCES item(id) ON DELETE CASCADE, text TEXT)
                        """)
            }
        }
        undo = try await UndoLog(peers["a"].pool, tables: ["item", "step"])
        try await write("INSERT INTO item VALUES('x', 'one', 1), ('y', 'two', 2); INSERT INTO step VALUES(1, 'x', 's')")
        try await peers.settle()
    }

    private func write(_ sql: String, _ peer: String = "a") async throws {
        try await peers[peer].pool.write { try $0.execute(sql: sql) }
    }

    private func group(_ name: String, _ sql: String) async throws {
        try await a.pool.write { db in try undo.group(name, db) { try db.execute(sql: sql) } }
    }

    private func items(_ peer: TestPeers.Peer) async throws -> [String] {
        try await peer.pool.read { db in
            try String.fetchAll(
                db, sql: "SELECT id || title || stars || (SELECT count(*) FROM step WHERE item = item.id) FROM item")
        }
    }

    @Test("An undo is a new change, which the other peer gets, and redo another")
    func undoes() async throws {
        try await group(
            "Edit", "UPDATE item SET title = 'uno', stars = 9 WHERE id = 'x'; DELETE FROM item WHERE id = 'y'")
        try await peers.settle()
        #expect(try await items(b) == ["xuno91"])
        #expect(try await undo.undoName() == "Edit")
        #expect(try await undo.undo() == UndoLog.Undone(name: "Edit", rows: 2, left: []))
        try await peers.settle()
        #expect(try await items(b) == ["xone11", "ytwo20"])
        try await peers.expectSame()
        #expect(try await undo.redoName() == "Edit")
        #expect(try await undo.undoName() == nil)
        _ = try await undo.redo()
        #expect(try await items(a) == ["xuno91"])
        _ = try await undo.undo()
        #expect(try await items(a) == ["xone11", "ytwo20"])
    }

    @Test("A row comes back with the rows that were deleted with it, and one that was inserted goes")
    func rows() async throws {
        try await group("Delete", "DELETE FROM item WHERE id = 'x'")
        try await group("Add", "INSERT INTO item VALUES('z', 'three', 3)")
        #expect(try await undo.undo()?.name == "Add")
        #expect(try await undo.undo()?.rows == 2)
        #expect(try await items(a) == ["xone11", "ytwo20"])
        #expect(try await undo.undo() == nil)
        // A new group makes what was undone past.
        try await group("Other", "UPDATE item SET stars = 5")
        #expect(try await undo.redo() == nil)
    }

    @Test("What others wrote since is left alone, and said")
    func leaves() async throws {
        try await group("Edit", "UPDATE item SET title = 'mine', stars = 9")
        try await group("Add", "INSERT INTO item VALUES('z', 'new', 1)")
        try await peers.settle()
        try await write("UPDATE item SET title = 'theirs' WHERE id IN ('x', 'z')", "b")
        try await write("DELETE FROM item WHERE id = 'y'", "b")
        try await peers.settle()
        let added = try #require(try await undo.undo())
        #expect(added.rows == 0 && added.left.map(\.key) == [["z".databaseValue]])
        let edited = try #require(try await undo.undo())
        #expect(edited.rows == 1)
        #expect(Set(edited.left.map { "\($0.key[0]) \($0.column ?? "gone")" }) == ["\"x\" title", "\"y\" gone"])
        #expect(try await items(a) == ["xtheirs11", "ztheirs10"])
        try await peers.settle()
        try await peers.expectSame()
    }

    @Test("A group that fails leaves nothing to undo")
    func fails() async throws {
        await #expect(throws: DatabaseError.self) {
            try await group("Wrong", "UPDATE item SET stars = 0; INSERT INTO item VALUES('x', 'again', 0)")
        }
        #expect(try await undo.undoName() == nil)
        try await write("UPDATE item SET stars = 7")
        #expect(try await undo.undoName() == nil)
    }

    // MARK: Test peers

    @Test("What is held does not arrive until it is delivered, and peers that differ are said to")
    func courier() async throws {
        peers.hold(from: "a", to: "b")
        try await write("UPDATE item SET title = 'held' WHERE id = 'x'")
        try await write("UPDATE item SET stars = 8 WHERE id = 'y'", "b")
        try await peers.settle()
        #expect(try await items(b) == ["xone11", "ytwo80"])
        #expect(try await items(a) == ["xheld11", "ytwo80"])
        let error = await #expect(throws: PeersDiffer.self) { try await peers.expectSame() }
        #expect(error?.description.contains("held") == true)
        peers.deliver()
        try await peers.settle()
        try await peers.expectSame()
        #expect(try await items(b) == ["xheld11", "ytwo80"])
    }

    @Test("The clock says which of two writes is the later one")
    func clock() async throws {
        try await write("UPDATE item SET title = 'early' WHERE id = 'x'", "b")
        _ = try await b.replicator.export()
        try await write("UPDATE item SET title = 'late' WHERE id = 'x'")
        peers.clock.advance(by: .seconds(60))
        try await peers.settle()
        try await peers.expectSame()
        #expect(try await a.replicator.conflicts().conflicts.count == 1)
    }
}
