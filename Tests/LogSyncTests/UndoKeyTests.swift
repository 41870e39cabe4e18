import GRDB
import LogSync
import LogSyncEditing
import LogSyncTesting
import Testing

@Suite("Undo of rows whose keys are much the same") struct UndoKeyTests {
    private let peers: TestPeers
    private let pool: DatabasePool
    private let undo: UndoLog

    private static let schema = """
        CREATE TABLE price(shop INTEGER, day INTEGER, v TEXT, PRIMARY KEY(shop, day));
        CREATE TABLE mark(id TEXT PRIMARY KEY, v TEXT);
        CREATE TABLE tag(name TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, v INTEGER);
        CREATE TABLE par(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE chi(id INTEGER PRIMARY KEY, par INTEGER REFERENCES par(id) ON DELETE SET NULL);
        """

    init() async throws {
        peers = try await TestPeers("a", "b") { pool in try pool.write { try $0.execute(sql: Self.schema) } }
        pool = peers["a"].pool
        try await pool.write {
            try $0.execute(
                sql: """
                    INSERT INTO price VALUES(1, NULL, 'n1'), (1, NULL, 'n2'), (1, 2, 'n3');
                    INSERT INTO mark VALUES('m', 'm1'), (NULL, 'm2'), (NULL, 'm3');
                    INSERT INTO tag VALUES('d', 6);
                    INSERT INTO par VALUES(1, 'p'), (2, 'q'), (9, 'z');
                    INSERT INTO chi VALUES(1, 2)
                    """)
        }
        undo = try await UndoLog(pool, tables: ["price", "mark", "tag", "par", "chi"])
        try await peers.settle()
    }

    private func rows(_ table: String, _ peer: String = "a") async throws -> [String] {
        try await peers[peer].pool.read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { row in
                row.databaseValues.map { $0.isNull ? "-" : "\($0.storage.value ?? "")" }.joined(separator: " ")
            }.sorted()
        }
    }

    /// Runs `sql` as a group that may be recorded before it is undone; what every table holds then is as before, and is again
    /// after a redo and another undo.
    private func check(_ sql: String, _ tables: String..., isRecorded: Bool) async throws {
        func all() async throws -> [[String]] {
            var found: [[String]] = []
            for table in tables { found.append(try await rows(table)) }
            return found
        }
        let before = try await all()
        try await pool.write { db in try undo.group("Edit", db) { try db.execute(sql: sql) } }
        if isRecorded { try await peers.settle() }
        let after = try await all()
        #expect(after != before)
        #expect(try await undo.undo()?.left == [])
        #expect(try await all() == before)
        if isRecorded { try await peers.settle() }
        #expect(try await undo.redo()?.left == [])
        #expect(try await all() == after)
        #expect(try await undo.undo()?.left == [])
        #expect(try await all() == before)
        try await peers.settle()
        try await peers.expectSame()
        for table in tables where table != "chi" { #expect(try await rows(table) == rows(table, "b")) }
    }

    @Test(
        "Rows whose primary key has a NULL in it are told apart",
        arguments: [
            "UPDATE price SET v = 'none'; UPDATE mark SET v = 'none'",
            "DELETE FROM price; DELETE FROM mark",
            "UPDATE price SET v = v || '!'; DELETE FROM price WHERE v = 'n1!'; UPDATE mark SET v = '!' WHERE v = 'm3'",
            "UPDATE price SET day = 7 WHERE v = 'n2'; UPDATE mark SET id = 'n' WHERE v = 'm2'",
            "INSERT INTO price VALUES(1, NULL, 'n1'); UPDATE price SET v = 'x'; DELETE FROM price WHERE day IS NULL",
        ], [true, false])
    func nullKeys(sql: String, isRecorded: Bool) async throws {
        try await check(sql, "price", "mark", isRecorded: isRecorded)
    }

    @Test(
        "A row whose key is the same in another case is another one",
        arguments: [
            "DELETE FROM tag WHERE name = 'd'; INSERT INTO tag VALUES('D', 4)",
            "UPDATE tag SET name = 'e' WHERE name = 'd'; INSERT INTO tag VALUES('D', 4)",
            "UPDATE tag SET name = 'D', v = 4",
            "REPLACE INTO tag VALUES('D', 4)",
        ], [true, false])
    func otherCase(sql: String, isRecorded: Bool) async throws {
        try await check(sql, "tag", isRecorded: isRecorded)
    }

    @Test(
        "A row that comes back has the integer that it had, which the group gave up",
        arguments: [
            "INSERT OR REPLACE INTO par VALUES(7, 'q')",
            "DELETE FROM par WHERE id = 2; INSERT INTO par VALUES(7, 'q')",
            "DELETE FROM par WHERE id = 9; INSERT INTO par VALUES(9, 'new')",
            "DELETE FROM par WHERE id = 2; INSERT INTO par VALUES(2, 'q')",
            "UPDATE OR REPLACE par SET name = 'q' WHERE id = 1",
        ], [true, false])
    func integers(sql: String, isRecorded: Bool) async throws {
        try await check(sql, "par", "chi", isRecorded: isRecorded)
    }
}
