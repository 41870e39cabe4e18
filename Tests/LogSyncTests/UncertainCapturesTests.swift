import Foundation
import GRDB
import LogSync
import Testing

/// What a program has written looks like what the former self of its store recorded, and is something else.
@Suite("Captured rows that look like recorded ones")
struct UncertainCapturesTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE entry(id INTEGER PRIMARY KEY, text TEXT, n INTEGER);
            CREATE TABLE word(k TEXT PRIMARY KEY, n INTEGER NOT NULL, remark TEXT);
            CREATE TABLE line(text TEXT, n INTEGER);
            INSERT INTO entry VALUES(1, 'base', 0); INSERT INTO word VALUES('w', 0, '');
            """)
        var options = InitializeOptions()
        options.policies = [("word.n", "sum")]
        try await a.initialize(options)
        b = try await world.clone("b")
        try await settle(a, b)
    }

    /// Has what is pending captured at another time.
    ///
    /// - Parameter time: in SQL, from what it is (`ms`), in milliseconds since 1970.
    private func capture(_ path: String, at time: String) throws {
        let database = try a.database(path)
        defer { try? database.close() }
        try database.write { database in
            let tables = try String.fetchAll(
                database, sql: "SELECT name FROM sqlite_master WHERE name GLOB 'logsync_pending_*'")
            for table in tables { try database.execute(sql: "UPDATE \(table) SET ms = \(time)") }
        }
    }

    private func copy(to path: String) throws {
        let database = try a.database()
        defer { try? database.close() }
        try database.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
    }

    private func rows(_ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read {
            try String.fetchAll(
                $0,
                sql: """
                    SELECT 'e' || text || n AS line FROM entry UNION ALL SELECT k || n || remark FROM word
                    UNION ALL SELECT 'l' || text || n FROM line ORDER BY 1
                    """)
        }
    }

    @Test("What a program writes after a restore, while the clock is behind, is kept beside what its former self wrote")
    func clockBehind() async throws {
        let backup = world.root + "/backup.db"
        try copy(to: backup)
        try a.execute(
            """
            INSERT INTO entry VALUES(2, 'former', 2), (3, 'same', 3); UPDATE entry SET n = 5 WHERE id = 1;
            UPDATE word SET n = n + 1; INSERT INTO word VALUES('k', 1, 'former'); INSERT INTO line VALUES('same', 1)
            """)
        try await settle(a, b)
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: a.path + suffix) }
        try FileManager.default.copyItem(atPath: backup, toPath: a.path)
        try a.execute(
            """
            INSERT INTO entry VALUES(2, 'restored', 2), (3, 'same', 3); UPDATE entry SET n = 7 WHERE id = 1;
            UPDATE word SET n = n + 1; INSERT INTO word VALUES('k', 1, 'restored'); INSERT INTO line VALUES('same', 1)
            """)
        try capture(a.path, at: "ms - 86400000")
        try await a.sync()
        try await settle(a, b)
        #expect(try await a.status().identity?.kind == .restored)
        // What was captured a day before the version that it supersedes comes right after that, and before the other one.
        let expected = [
            "ebase5", "eformer2", "erestored2", "esame3", "esame3", "k1former", "lsame1", "lsame1", "w2",
        ]
        #expect(try rows(a) == expected)
        #expect(try rows(b) == expected)
        let values = try await b.with { try await $0.conflicts() }.conflicts.flatMap { $0.versions.map(\.value.value) }
        #expect(values.contains(.integer(7)) && values.contains(.text("restored")), "\(values)")
    }

    @Test("Two rows that a store and its copy have captured in one millisecond are two")
    func sameMillisecond() async throws {
        let directory = world.root + "/copy"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let copy = directory + "/notes.db"
        try self.copy(to: copy)
        let time = String(Int64(Date().timeIntervalSince1970 * 1000))
        try a.execute(
            """
            INSERT INTO entry VALUES(2, 'one', 1), (3, 'same', 3); UPDATE word SET n = n + 1;
            INSERT INTO word VALUES('k', 1, 'one'); INSERT INTO line VALUES('one', 1)
            """)
        try capture(a.path, at: time)
        try await settle(a, b)
        try a.execute(
            """
            INSERT INTO entry VALUES(2, 'two', 1), (3, 'same', 3); UPDATE word SET n = n + 10;
            INSERT INTO word VALUES('k', 1, 'two'); INSERT INTO line VALUES('two', 1)
            """, at: copy)
        try capture(copy, at: time)
        try await a.sync(copy)
        try await settle(a, b)
        let shown = try rows(b)
        #expect(try rows(a) == shown)
        #expect(Set(shown).isSuperset(of: ["ebase0", "eone1", "etwo1", "esame3", "w11", "lone1", "ltwo1"]), "\(shown)")
        #expect(shown.count == 8 && shown.contains { $0 == "k1one" || $0 == "k1two" }, "\(shown)")
        let values = try await b.with { try await $0.conflicts() }.conflicts.flatMap { $0.versions.map(\.value.value) }
        #expect(values.contains(.text("one")) && values.contains(.text("two")), "\(values)")
    }
}
