import Foundation
import GRDB
import LogSync
import LogSyncEditing
import LogSyncTesting
import Testing

@Suite("What triggers, foreign keys and bytes make of an undo") struct UndoTriggerTests {
    private func make(_ schema: String, _ tables: String...) async throws -> (TestPeers, UndoLog) {
        let peers = try await TestPeers("a", "b") { pool in try pool.write { try $0.execute(sql: schema) } }
        return (peers, try await UndoLog(peers["a"].pool, tables: tables))
    }

    private func group(_ sql: String, _ undo: UndoLog, _ peers: TestPeers) async throws {
        try await peers["a"].pool.write { db in try undo.group("Group", db) { try db.execute(sql: sql) } }
    }

    /// Each row's values, as text.
    private func rows(_ sql: String, _ peers: TestPeers, _ peer: String = "a") async throws -> [String] {
        try await peers[peer].pool.read { db in
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { String.fromDatabaseValue($0) ?? "\($0)" }.joined(separator: " ")
            }
        }
    }

    private static let counted = """
        CREATE TABLE list(id TEXT PRIMARY KEY NOT NULL, count INTEGER DEFAULT 0);
        CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, list TEXT, changed INTEGER DEFAULT 0);
        CREATE TRIGGER up AFTER INSERT ON item BEGIN UPDATE list SET count = count + 1 WHERE id = NEW.list; END;
        CREATE TRIGGER down AFTER DELETE ON item BEGIN UPDATE list SET count = count - 1 WHERE id = OLD.list; END;
        CREATE TRIGGER made AFTER INSERT ON item BEGIN UPDATE item SET changed = 7 WHERE id = NEW.id; END;
        INSERT INTO list(id) VALUES('l');
        INSERT INTO item VALUES('x', 'l', 0);
        """

    @Test(
        "What the program's triggers keep is counted once", arguments: [["list", "item"], ["item", "list"], ["item"]])
    func counted(tables: [String]) async throws {
        let peers = try await TestPeers("a", "b") { pool in try pool.write { try $0.execute(sql: Self.counted) } }
        let undo = try await UndoLog(peers["a"].pool, tables: tables)
        for (sql, after) in [
            ("INSERT INTO item(id, list) VALUES('y', 'l')", ["l 2", "x 7", "y 7"]), ("DELETE FROM item", ["l 0"]),
        ] {
            try await group(sql, undo, peers)
            for expected in [["l 1", "x 7"], after, ["l 1", "x 7"]] {
                let done = try await expected == after ? undo.redo() : undo.undo()
                #expect(done?.left == [])
                let found =
                    try await rows("SELECT * FROM list", peers)
                    + rows("SELECT id, changed FROM item ORDER BY id", peers)
                #expect(found == expected)
            }
        }
        try await peers.settle()
        try await peers.expectSame()
    }

    @Test("A row that is made and written in one group goes, and what others wrote keeps it whole")
    func madeAndWritten() async throws {
        let (peers, undo) = try await make("CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, title TEXT, stars)", "item")
        let sql = "INSERT INTO item VALUES('y', 'new', 1); UPDATE item SET title = 'newer'"
        try await group(sql, undo, peers)
        #expect(try await undo.undo() == UndoLog.Undone(name: "Group", rows: 1, left: []))
        try await group(sql, undo, peers)
        try await peers["a"].pool.write { try $0.execute(sql: "UPDATE item SET stars = 5") }
        let undone = try #require(try await undo.undo())
        #expect(undone.rows == 0 && undone.left.count == 1)
        #expect(try await rows("SELECT * FROM item", peers) == ["y newer 5"])
    }

    @Test(
        "What a foreign key's action has written by itself is not another's",
        arguments: [
            "UPDATE item SET id = 'z' || id",
            "UPDATE item SET id = 't' WHERE id = 'a'; UPDATE item SET id = 'a' WHERE id = 'b'",
            "DELETE FROM item WHERE id = 'a'; UPDATE item SET id = 'a' WHERE id = 'b'", "DELETE FROM item",
        ])
    func actions(sql: String) async throws {
        let (peers, undo) = try await make(
            """
            CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL);
            CREATE TABLE part(item TEXT REFERENCES item(id) ON UPDATE CASCADE ON DELETE CASCADE, n INTEGER,
                PRIMARY KEY(item, n));
            CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL,
                item TEXT REFERENCES item(id) ON UPDATE CASCADE ON DELETE SET NULL);
            INSERT INTO item VALUES('a'), ('b');
            INSERT INTO part VALUES('a', 1), ('b', 1);
            INSERT INTO note VALUES('k', 'a'), ('m', 'b');
            """, "item", "part", "note")
        let all = "SELECT id, NULL FROM item UNION ALL SELECT * FROM part UNION ALL SELECT * FROM note ORDER BY 1, 2"
        let before = try await rows(all, peers)
        try await group(sql, undo, peers)
        let after = try await rows(all, peers)
        for expected in [before, after, before] {
            let done = try await expected == after ? undo.redo() : undo.undo()
            #expect(done?.left == [])
            #expect(try await rows(all, peers) == expected)
        }
        try await peers.settle()
        #expect(try await rows(all, peers, "b") == before)
    }

    @Test("Texts come back with all of their bytes, and numbers of their kind; keys are told apart by them")
    func bytes() async throws {
        let (peers, undo) = try await make(
            """
            CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, title TEXT, n);
            INSERT INTO item VALUES('a', CAST(x'610062' AS TEXT), 1), (CAST(x'6100' AS TEXT), CAST(x'61ff' AS TEXT), 1.0);
            """, "item")
        let all = "SELECT hex(id), hex(title), typeof(n) FROM item ORDER BY 1"
        let before = ["61 610062 integer", "6100 61FF real"]
        for sql in [
            "UPDATE item SET title = 'new'", "UPDATE item SET n = n + 0.0; UPDATE item SET n = CAST(n AS INTEGER)",
            "DELETE FROM item", "UPDATE item SET title = 'new' WHERE length(CAST(id AS BLOB)) = 2",
            "INSERT INTO item(id) VALUES(CAST(x'610063' AS TEXT))",
        ] {
            try await group(sql, undo, peers)
            #expect(try await undo.undo()?.left == [])
            #expect(try await rows(all, peers) == before)
        }
        try await peers.settle()
        #expect(try await rows(all, peers, "b") == before)
    }

    @Test("A row that REPLACE has displaced by an expression or part of an index comes back")
    func displaced() async throws {
        let (peers, undo) = try await make(
            """
            CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, title TEXT, gone INTEGER DEFAULT 0, key TEXT AS (trim(title)));
            CREATE UNIQUE INDEX letters ON item(lower(key), gone % 2 DESC);
            INSERT INTO item(id, title) VALUES('x', 'one'), ('y', 'two');
            """, "item")
        let before = ["x one", "y two"]
        for sql in [
            "INSERT OR REPLACE INTO item(id, title, gone) VALUES('z', 'ONE', 2)",
            "UPDATE OR REPLACE item SET title = ' One' WHERE id = 'y'",
        ] {
            try await group(sql, undo, peers)
            #expect(try await rows("SELECT id FROM item", peers).contains("x") == false)
            #expect(try await undo.undo()?.left == [])
            #expect(try await rows("SELECT id, title FROM item ORDER BY id", peers) == before)
        }
    }

    @Test("A row that a trigger makes again while the group is undone goes again")
    func madeAgain() async throws {
        let (peers, undo) = try await make(
            """
            CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, stars INTEGER);
            CREATE TABLE last(id TEXT PRIMARY KEY NOT NULL, stars INTEGER);
            CREATE TRIGGER note AFTER UPDATE ON item BEGIN INSERT OR REPLACE INTO last VALUES(NEW.id, NEW.stars); END;
            INSERT INTO item VALUES('x', 1);
            """, "item", "last")
        try await group("UPDATE item SET stars = 2", undo, peers)
        #expect(try await undo.undo()?.left == [])
        #expect(try await rows("SELECT * FROM item UNION ALL SELECT * FROM last", peers) == ["x 1"])
        _ = try await undo.redo()
        #expect(try await rows("SELECT * FROM item UNION ALL SELECT * FROM last", peers) == ["x 2", "x 2"])
    }

    @Test("A row that comes back gets no integer to which another one of its group goes back")
    func integers() async throws {
        let (peers, undo) = try await make(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE part(id INTEGER PRIMARY KEY, name TEXT,
                item INTEGER REFERENCES item(id) ON DELETE CASCADE ON UPDATE CASCADE);
            INSERT INTO item VALUES(1, 'one'), (2, 'two');
            INSERT INTO part(name, item) VALUES('first', 1), ('second', 2);
            """, "item", "part")
        try await peers.settle()
        let all = "SELECT title, name FROM item LEFT JOIN part ON part.item = item.id ORDER BY title"
        for isSettled in [false, true] {
            try await group("UPDATE OR REPLACE item SET id = 1 WHERE id = 2", undo, peers)
            if isSettled { try await peers.settle() }
            _ = try await undo.undo()
            #expect(try await rows(all, peers) == ["one first", "two second"])
            try await peers.settle()
            #expect(try await rows(all, peers, "b") == ["one first", "two second"])
        }
    }

    @Test("A row that comes back refers to its parent, also where that goes back to another integer later")
    func parentMoves() async throws {
        let (peers, undo) = try await make(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE part(id INTEGER PRIMARY KEY, name TEXT,
                item INTEGER REFERENCES item(id) ON DELETE CASCADE ON UPDATE CASCADE);
            INSERT INTO item VALUES(4, 'four');
            INSERT INTO part(name, item) VALUES('first', 4);
            """, "item", "part")
        try await peers.settle()
        try await group("UPDATE item SET id = 9; DELETE FROM part", undo, peers)
        try await peers.settle()
        #expect(try await undo.undo()?.left == [])
        #expect(
            try await rows("SELECT * FROM item UNION ALL SELECT item, name FROM part", peers) == ["4 four", "4 first"])
    }

    @Test(
        "Rows go back to their integers with what refers to them, though others know these by now",
        arguments: [true, false])
    func renumbered(isSwap: Bool) async throws {
        let schema = """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), name TEXT);
            INSERT INTO p VALUES(1, 'a'), (2, 'b'); INSERT INTO c VALUES(1, 1, 'of a'), (2, 2, 'of b');
            """
        let (peers, undo) = try await make(schema, "p", "c")
        let rows = "SELECT p.id, c.id, c.name FROM c JOIN p ON p.id = c.p ORDER BY c.name"
        let (before, after) = (
            ["1 1 of a", "2 2 of b"], isSwap ? ["2 1 of a", "1 2 of b"] : ["11 1 of a", "12 2 of b"]
        )
        let move =
            isSwap
            ? "UPDATE p SET id = id + 2; UPDATE p SET id = 5 - id; UPDATE c SET p = 3 - p"
            : "UPDATE p SET id = id + 10; UPDATE c SET p = p + 10"
        for isSettled in [true, false] {
            try await group("PRAGMA defer_foreign_keys = ON; \(move)", undo, peers)
            #expect(try await self.rows(rows, peers) == after)
            if isSettled { try await peers.settle() }
            #expect(try await undo.undo()?.left == [])
            #expect(try await self.rows(rows, peers) == before)
            if isSettled { try await peers.settle() }
            #expect(try await undo.redo()?.left == [])
            #expect(try await self.rows(rows, peers) == after)
            if isSettled { try await peers.settle() }
            #expect(try await undo.undo()?.left == [])
            #expect(try await self.rows(rows, peers) == before)
            try await peers.settle()
            try await peers.expectSame()
        }
    }
}
