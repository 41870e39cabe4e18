import Foundation
import GRDB
import LogSync
import LogSyncEditing
import LogSyncTesting
import Testing

@Suite("What an undo brings back, and what it has to leave") struct UndoEdgeTests {
    private let peers: TestPeers
    private let pool: DatabasePool
    private let undo: UndoLog

    private static let schema = """
        CREATE TABLE list(id TEXT PRIMARY KEY NOT NULL, name TEXT);
        CREATE TABLE item(
            id INTEGER PRIMARY KEY, title TEXT UNIQUE COLLATE NOCASE, stars INTEGER,
            list TEXT REFERENCES list(id) ON DELETE CASCADE, upper TEXT AS (upper(title)));
        INSERT INTO list VALUES('l', 'of all');
        INSERT INTO item(id, title, stars, list) VALUES(1, 'one', 1, 'l'), (2, 'two', 2, 'l');
        """

    init() async throws {
        peers = try await TestPeers("a", "b") { pool in try pool.write { try $0.execute(sql: Self.schema) } }
        pool = peers["a"].pool
        undo = try await UndoLog(pool, tables: ["list", "item"])
        try await peers.settle()
    }

    private func write(_ sql: String, _ peer: String = "a") async throws {
        try await peers[peer].pool.write { try $0.execute(sql: sql) }
    }

    private func group(_ name: String, _ sql: String) async throws {
        try await pool.write { db in try undo.group(name, db) { try db.execute(sql: sql) } }
    }

    private func rows() async throws -> [String] {
        try await pool.read { db in
            try String.fetchAll(
                db, sql: "SELECT id || ' ' || title || ' ' || stars || ' ' || coalesce(list, '-') FROM item ORDER BY id"
            )
        }
    }

    private static let all = ["1 one 1 l", "2 two 2 l"]

    @Test("Columns that are generated come by themselves")
    func generated() async throws {
        try await group("Edit", "UPDATE item SET title = 'uno' WHERE id = 1; DELETE FROM item WHERE id = 2")
        #expect(try await undo.undo() == UndoLog.Undone(name: "Edit", rows: 2, left: []))
        #expect(try await rows() == Self.all)
        _ = try await undo.redo()
        #expect(try await rows() == ["1 uno 1 l"])
    }

    @Test("Names of columns may have quotation marks, in keys, references and UNIQUE too")
    func quotationMarks() async throws {
        let schema = #"""
            CREATE TABLE "big list"("i""d" TEXT PRIMARY KEY NOT NULL);
            CREATE TABLE thing("k""" TEXT PRIMARY KEY NOT NULL, "si""ze" INTEGER UNIQUE, "it's" TEXT REFERENCES "big list"("i""d"));
            INSERT INTO "big list" VALUES('l');
            INSERT INTO thing VALUES('a', 1, 'l'), ('b', 2, 'l');
            """#
        let peers = try await TestPeers("a") { pool in try pool.write { try $0.execute(sql: schema) } }
        let pool = peers["a"].pool
        let undo = try await UndoLog(pool, tables: ["big list", "thing"])
        try await pool.write { db in
            try undo.group("Edit", db) {
                try db.execute(
                    sql: #"""
                        UPDATE thing SET "si""ze" = 9 WHERE "k""" = 'a'; DELETE FROM thing WHERE "k""" = 'b';
                        INSERT OR REPLACE INTO thing VALUES('c', 9, NULL);
                        """#)
            }
        }
        func rows() async throws -> [String] {
            try await pool.read { db in
                try String.fetchAll(
                    db, sql: #"SELECT "k""" || ' ' || "si""ze" || ' ' || coalesce("it's", '-') FROM thing ORDER BY 1"#)
            }
        }
        #expect(try await rows() == ["c 9 -"])
        let undone = try await undo.undo()
        #expect(undone?.left.isEmpty == true)
        #expect(try await rows() == ["a 1 l", "b 2 l"])
        _ = try await undo.redo()
        #expect(try await rows() == ["c 9 -"])
    }

    @Test(
        "Rows that REPLACE has displaced come back",
        arguments: [
            "INSERT OR REPLACE INTO item(id, title, stars) VALUES(1, 'new', 9)",
            "INSERT OR REPLACE INTO item(title, stars) VALUES('ONE', 9)",
            "INSERT OR REPLACE INTO item(id, title, stars) VALUES(2, 'One', 9)",
            "UPDATE OR REPLACE item SET title = 'TWO', stars = 9 WHERE id = 1",
            "UPDATE OR REPLACE item SET id = 2 WHERE id = 1",
            "REPLACE INTO item(id, title, stars) SELECT id, title || '!', 9 FROM item",
        ])
    func replaced(sql: String) async throws {
        try await group("Replace", sql)
        let after = try await rows()
        #expect(after != Self.all)
        #expect(try await undo.undo()?.left == [])
        #expect(try await rows() == Self.all)
        #expect(try await undo.redo()?.left == [])
        #expect(try await rows() == after)
        _ = try await undo.undo()
        try await peers.settle()
        try await peers.expectSame()
    }

    @Test(
        "Rows that stay are none that were displaced",
        arguments: [
            "INSERT OR IGNORE INTO item(id, title, stars) VALUES(1, 'new', 9); UPDATE item SET stars = 5 WHERE id = 2",
            "INSERT INTO item(id, title, stars) VALUES(7, 'two', 9) ON CONFLICT(title) DO UPDATE SET stars = 5",
        ])
    func stays(sql: String) async throws {
        try await group("Upsert", sql)
        #expect(try await rows() == ["1 one 1 l", "2 two 5 l"])
        #expect(try await undo.undo() == UndoLog.Undone(name: "Upsert", rows: 1, left: []))
        #expect(try await rows() == Self.all)
    }

    @Test("A group within a group is part of it, and one that fails is none, whatever its transaction does then")
    func nested() async throws {
        try await pool.write { db in
            try undo.group("Outer", db) {
                try db.execute(sql: "UPDATE item SET stars = 7 WHERE id = 1")
                try undo.group("Inner", db) { try db.execute(sql: "UPDATE item SET stars = 8 WHERE id = 2") }
                try db.execute(sql: "UPDATE item SET title = 'uno' WHERE id = 1")
            }
            #expect(throws: CancellationError.self) {
                try undo.group("Failing", db) {
                    try db.execute(sql: "DELETE FROM item")
                    throw CancellationError()
                }
            }
            try db.execute(sql: "UPDATE list SET name = 'of some'")
        }
        #expect(try await rows() == ["1 uno 7 l", "2 two 8 l"])
        #expect(try await undo.undo()?.name == "Outer")
        #expect(try await rows() == Self.all)
        #expect(try await undo.undo() == nil)
        #expect(try await pool.read { try String.fetchOne($0, sql: "SELECT name FROM list") } == "of some")
    }

    @Test("A row whose parent others have deleted is left, and the rest of its group is taken back")
    func parentGone() async throws {
        try await write("INSERT INTO list VALUES('m', 'of more')")
        try await group(
            "Empty",
            """
            UPDATE item SET list = 'm', stars = 5 WHERE id = 1; DELETE FROM item WHERE id = 2;
            UPDATE list SET name = 'of much' WHERE id = 'm'
            """)
        try await peers.settle()
        try await write("DELETE FROM list WHERE id = 'l'", "b")
        try await peers.settle()
        let undone = try #require(try await undo.undo())
        #expect(
            undone.left.map { "\($0.table) \($0.key[0]) \($0.column ?? "-")" }.sorted() == ["item 1 list", "item 2 -"])
        #expect(undone.rows == 2)
        #expect(try await rows() == ["1 one 1 m"])
        #expect(try await pool.read { try String.fetchOne($0, sql: "SELECT name FROM list") } == "of more")
        try await peers.settle()
        try await peers.expectSame()
    }

    @Test("A row to which others have added is left; rows of the group itself are in nobody's way")
    func childCame() async throws {
        try await group(
            "Add", "INSERT INTO list VALUES('n', 'new'); INSERT INTO item(title, stars, list) VALUES('three', 3, 'n')")
        try await peers.settle()
        try await write("INSERT INTO item(title, stars, list) VALUES('of b', 4, 'n')", "b")
        try await peers.settle()
        let undone = try #require(try await undo.undo())
        #expect(undone.left.map(\.table) == ["list"] && undone.rows == 1)
        #expect(try await rows().map { $0.split(separator: " ").last } == ["l", "l", "n"])
        try await group(
            "Add",
            """
            PRAGMA defer_foreign_keys = ON; INSERT INTO item(title, stars, list) VALUES('four', 4, 'o');
            INSERT INTO list VALUES('o', 'other')
            """)
        #expect(try await undo.undo() == UndoLog.Undone(name: "Add", rows: 2, left: []))
    }

    @Test("A unique value that another row has by now is left, and the other columns are restored")
    func taken() async throws {
        try await group("Rename", "UPDATE item SET title = 'uno', stars = 9 WHERE id = 1")
        try await write("UPDATE item SET title = 'one' WHERE id = 2")
        let undone = try #require(try await undo.undo())
        #expect(undone.left.map(\.column) == ["title"] && undone.rows == 1)
        #expect(try await rows() == ["1 uno 1 l", "2 one 2 l"])
    }

    @Test("An undo within a write of the program's has an author; groups can be forgotten")
    func author() async throws {
        try await group("Star", "UPDATE item SET stars = 9")
        let replicator = peers["a"].replicator
        try await pool.write { db in
            try replicator.record(db, author: "ann", context: "Undo Star") { _ = try undo.undo(db) }
        }
        #expect(try await rows() == Self.all)
        let last = try #require(try await replicator.history().last)
        #expect(last.author == "ann" && last.context == "Undo Star" && last.changes.count == 2)
        try await undo.removeAll()
        #expect(try await undo.redoName() == nil)
        try await group("Star", "UPDATE item SET stars = 8")
        #expect(try await undo.undo()?.rows == 2)
    }

    @Test("A table that a migration makes anew goes on being undone; one with other columns begins anew")
    func migrated() async throws {
        try await group("Star", "UPDATE item SET stars = 9 WHERE id = 1")
        // As a migration of GRDB's does it: to drop a table would delete what refers to its rows.
        try await pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            try db.inTransaction {
                try db.execute(
                    sql: """
                        CREATE TABLE new_list(id TEXT PRIMARY KEY NOT NULL, name TEXT);
                        INSERT INTO new_list SELECT * FROM list; DROP TABLE list; ALTER TABLE new_list RENAME TO list;
                        """)
                return .commit
            }
            try db.execute(sql: "PRAGMA foreign_keys = ON")
        }
        try await group("Name", "UPDATE list SET name = 'other'")
        #expect(try await undo.undo()?.rows == 1)
        #expect(try await undo.undo()?.name == "Star")
        #expect(try await rows() == Self.all)
        try await group("Star", "UPDATE item SET stars = 9 WHERE id = 1")
        try await write("ALTER TABLE item ADD COLUMN note TEXT")
        #expect(try await undo.undo() == nil)
        try await group("Note", "UPDATE item SET note = 'x' WHERE id = 1")
        #expect(try await undo.undo() == UndoLog.Undone(name: "Note", rows: 1, left: []))
        #expect(try await pool.read { try String.fetchAll($0, sql: "SELECT note FROM item WHERE note > ''") } == [])
    }
}
