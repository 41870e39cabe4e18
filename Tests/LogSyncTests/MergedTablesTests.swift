import Foundation
import LogSync
import LogSyncModel
import Testing

/// Two tables whose rows a migration puts into one, on each machine by itself.
@Suite("Tables that become one")
struct MergedTablesTests {
    private static let migration = merging()

    /// - Parameter prefix: of the keys that rows get.
    private static func merging(_ prefix: String = "") -> String {
        """
        CREATE TABLE item(uid TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, title TEXT, done INTEGER, rank INTEGER);
        INSERT INTO item SELECT '\(prefix)' || uid, 'note', title, NULL, rank FROM note;
        INSERT INTO item SELECT '\(prefix)' || uid, 'task', title, done, rank FROM task; DROP TABLE note; DROP TABLE task;
        """
    }

    private func pair(_ notes: Int, _ tasks: Int) async throws -> (Machine, Machine, World) {
        let world = try World()
        let a = try world.machine("a")
        let rows =
            (1...notes).map { "INSERT INTO note VALUES('n\($0)', 'title \($0)', \($0));" }
            + (1...tasks).map { "INSERT INTO task VALUES('t\($0)', 'task \($0)', \($0 % 2), \(20 + $0));" }
        try a.execute(
            """
            CREATE TABLE note(uid TEXT PRIMARY KEY NOT NULL, title TEXT, rank INTEGER);
            CREATE TABLE task(uid TEXT PRIMARY KEY NOT NULL, title TEXT, done INTEGER, rank INTEGER);\(rows.joined())
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        return (a, b, world)
    }

    private func expect(_ expected: [String], _ machines: [Machine]) throws {
        for machine in machines {
            let shown = try machine.strings(
                """
                SELECT uid || ' ' || title || ' ' || coalesce(done, '-') || ' ' || rank FROM item
                WHERE uid IN ('n1', 'n2', 't1', 't2') ORDER BY uid
                """)
            #expect(shown == expected, "\(machine.name)")
        }
    }

    @Test(
        "keep what was edited in the one, whichever has more rows, when another machine migrates",
        arguments: [(10, 3), (3, 10), (10, 10), (9, 2), (2, 9), (150, 4)])
    func editedAfter(notes: Int, tasks: Int) async throws {
        let (a, b, world) = try await pair(notes, tasks)
        try a.execute(Self.migration)
        try await settle(a, b)
        try a.execute(
            """
            UPDATE item SET title = 'by a' WHERE uid IN ('n1', 't1'); UPDATE item SET done = 7 WHERE uid = 't2';
            UPDATE item SET rank = 70 WHERE uid IN ('n2', 't2')
            """)
        try await settle(a, b)
        try b.execute(Self.migration)
        try await settle(b, a)
        try expect(
            ["n1 by a - 1", "n2 title 2 - 70", "t1 by a 1 21", "t2 task 2 7 70"], [a, b, try await world.clone("c")])
    }

    @Test(
        "keep what was edited in them by a machine that had not migrated",
        arguments: [(10, 3), (3, 10), (10, 10), (9, 2), (2, 9), (150, 4)])
    func editedBefore(notes: Int, tasks: Int) async throws {
        let (a, b, world) = try await pair(notes, tasks)
        try a.execute(Self.migration)
        try await settle(a, b)
        try b.execute(
            """
            UPDATE note SET title = 'by b' WHERE uid = 'n1'; UPDATE task SET title = 'by b' WHERE uid = 't1';
            UPDATE task SET done = 7 WHERE uid = 't2'; UPDATE note SET rank = 70 WHERE uid = 'n2';
            UPDATE task SET rank = 70 WHERE uid = 't2'
            """)
        try await settle(b, a)
        try b.execute(Self.migration)
        try await settle(b, a)
        try expect(
            ["n1 by b - 1", "n2 title 2 - 70", "t1 by b 1 21", "t2 task 2 7 70"], [a, b, try await world.clone("c")])
    }

    @Test("keep what was edited in the one where its rows have other keys", arguments: [(10, 4), (4, 10), (150, 4)])
    func rekeyed(notes: Int, tasks: Int) async throws {
        let (a, b, _) = try await pair(notes, tasks)
        let migration = Self.merging("x")
        try a.execute(migration)
        try await settle(a, b)
        try a.execute("UPDATE item SET title = 'by a', rank = 700 WHERE uid IN ('xn1', 'xt1')")
        try await settle(a, b)
        try b.execute(migration)
        try await settle(b, a)
        for machine in [a, b] {
            let shown = try machine.strings(
                "SELECT uid || ' ' || title || ' ' || rank FROM item WHERE rank = 700 ORDER BY 1")
            #expect(shown == ["xn1 by a 700", "xt1 by a 700"], "\(machine.name)")
        }
    }

    @Test("are none of them, whenever this machine looks while they are being put into it", arguments: 1...5)
    func looked(at statements: Int) async throws {
        let (a, b, world) = try await pair(12, 7)
        let all = Self.migration.split(separator: ";").map(String.init).filter {
            $0.contains("item") || $0.contains("DROP")
        }
        #expect(all.count == 5)
        for statement in all.prefix(statements) { try a.execute(statement) }
        try await a.sync()
        for statement in all.dropFirst(statements) { try a.execute(statement) }
        try await settle(a, b)
        #expect(try b.strings("SELECT uid FROM note ORDER BY rank") == (1...12).map { "n\($0)" })
        #expect(try b.strings("SELECT uid FROM task ORDER BY rank") == (1...7).map { "t\($0)" })
        try b.execute("UPDATE task SET title = 'by b' WHERE uid = 't1'")
        try b.execute(Self.migration)
        try await settle(b, a)
        for machine in [a, b, try await world.clone("c")] {
            #expect(try machine.strings("SELECT count(*) || '' FROM item") == ["19"])
            #expect(try machine.strings("SELECT title FROM item WHERE uid = 't1'") == ["by b"])
        }
    }

    @Test(
        "keep what was edited in the one where the next release renames its column, and a machine takes both",
        arguments: [false, true])
    func renamed(isLate: Bool) async throws {
        let (a, b, world) = try await pair(10, 10)
        let renaming = "ALTER TABLE item RENAME COLUMN title TO name; ALTER TABLE item ADD COLUMN color TEXT"
        try a.execute(Self.migration)
        try await settle(a, b)
        if !isLate { try a.execute("UPDATE item SET title = 'by a' WHERE uid IN ('n1', 't1')") }
        try await settle(a, b)
        try a.execute(renaming)
        try await settle(a, b)
        if isLate { try a.execute("UPDATE item SET name = 'by a' WHERE uid IN ('n1', 't1')") }
        try await settle(a, b)
        try b.execute(Self.migration + renaming)
        try await settle(b, a)
        for machine in [a, b, try await world.clone("c")] {
            #expect(
                try machine.strings("SELECT name FROM item WHERE uid IN ('n1', 'n2', 't1', 't2') ORDER BY uid")
                    == ["by a", "title 2", "by a", "task 2"], "\(machine.name)")
        }
    }

    @Test(
        "keep what was edited in the one and in them where a machine takes two releases, and hears of the first alone")
    func renamedUnheard() async throws {
        let (a, b, world) = try await pair(10, 10)
        let renaming = "ALTER TABLE item RENAME COLUMN title TO name; ALTER TABLE item ADD COLUMN color TEXT"
        try b.execute(
            "UPDATE note SET title = 'by b' WHERE uid = 'n3'; UPDATE task SET title = 'by b' WHERE uid = 't3'")
        try a.execute(Self.migration)
        try await settle(a, b)
        try b.execute(
            "UPDATE note SET title = 'by b' WHERE uid = 'n4'; UPDATE task SET title = 'by b' WHERE uid = 't4'")
        try a.execute(
            "UPDATE item SET title = 'by a' WHERE uid IN ('n1', 't1'); UPDATE item SET rank = 9 WHERE uid IN ('n3', 't4')"
        )
        try b.execute(
            "UPDATE note SET title = 'by b' WHERE uid IN ('n5', 'n6'); UPDATE task SET title = 'by b' WHERE uid = 't5'")
        try await settle(a, b)
        try a.execute("UPDATE item SET title = 'by a' WHERE uid IN ('n5', 't5')")
        try await settle(a, b)
        try a.execute(renaming)
        try a.execute("UPDATE item SET name = 'by a' WHERE uid IN ('n2', 't2')")
        try await a.sync()
        try b.execute(Self.migration + renaming)
        try await settle(b, a)
        for machine in [a, b, try await world.clone("c")] {
            let shown = try machine.strings(
                """
                SELECT uid || ' ' || name || ' ' || rank FROM item
                WHERE uid IN ('n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 't1', 't2', 't3', 't4', 't5')
                ORDER BY uid
                """)
            #expect(
                shown == [
                    "n1 by a 1", "n2 by a 2", "n3 by b 9", "n4 by b 4", "n5 by a 5", "n6 by b 6", "n7 title 7 7",
                    "t1 by a 21", "t2 by a 22", "t3 by b 23", "t4 by b 9", "t5 by a 25",
                ], "\(machine.name)")
        }
    }

    @Test("keep what a third machine edits in the one, whenever others had edited the same rows before a migration")
    func editedElsewhere() async throws {
        let (a, b, world) = try await pair(10, 10)
        let c = try await world.clone("c")
        try a.execute(Self.migration)
        try c.execute(Self.migration)
        try await settle(a, b, c)
        try c.execute("UPDATE item SET title = 'by c' WHERE uid IN ('n1', 't1')")
        try a.execute("UPDATE item SET rank = 9 WHERE uid IN ('n1', 't1')")
        try await settle(a, b)
        try b.execute(Self.migration)
        try await settle(b, c, a)
        for machine in [a, b, c] {
            let shown = try machine.strings("SELECT title || ' ' || rank FROM item WHERE uid IN ('n1', 't1')")
            #expect(shown == ["by c 9", "by c 9"], "\(machine.name)")
        }
    }

    @Test(
        "keep what was edited where a machine is stopped in its migration, looks, and goes on after another has migrated",
        arguments: 1...4, [false, true])
    func stopped(after statements: Int, isFirst: Bool) async throws {
        let (a, b, world) = try await pair(10, 10)
        let all = Self.migration.split(separator: ";").map(String.init).filter {
            $0.contains("item") || $0.contains("DROP")
        }
        for statement in all.prefix(statements) { try a.execute(statement) }
        try await settle(a, b)
        try b.execute(
            "UPDATE note SET title = 'by b' WHERE uid = 'n1'; UPDATE task SET title = 'by b' WHERE uid = 't1'")
        if !isFirst { try await b.sync() }
        try b.execute(Self.migration.replacingOccurrences(of: "CREATE TABLE", with: "CREATE TABLE IF NOT EXISTS"))
        try await b.sync()
        try b.execute("UPDATE item SET rank = 70 WHERE uid IN ('n2', 't2')")
        try await b.sync()
        // What it has copied by then nobody copies again.
        if statements < 3 { try a.execute("UPDATE task SET title = 'by a' WHERE uid = 't3'") }
        for statement in all.dropFirst(statements) { try a.execute(statement) }
        try await settle(a, b)
        try expect(
            ["n1 by b - 1", "n2 title 2 - 70", "t1 by b 1 21", "t2 task 2 0 70"], [a, b, try await world.clone("c")])
        for machine in [a, b] {
            let shown = try machine.strings("SELECT title FROM item WHERE uid IN ('n3', 't3') ORDER BY uid")
            #expect(shown == ["title 3", statements < 3 ? "by a" : "task 3"], "\(machine.name)")
        }
    }

    @Test("have what the last migration makes of an edit, where others before have seen none of it")
    func editedWithin() async throws {
        let (a, b, world) = try await pair(10, 10)
        let c = try await world.clone("c")
        let migration = Self.migration.split(separator: ";").map {
            $0.hasPrefix("CREATE")
                ? $0 + ";" : $0.split(separator: " title, ").joined(separator: " upper(title), ") + ";"
        }.joined()
        try a.execute(migration)
        try await a.sync()
        try a.execute("UPDATE item SET rank = 9 WHERE uid IN ('n1', 't1')")
        try await settle(a, b)
        try b.execute(migration)
        try await settle(b, c)
        try c.execute(
            "UPDATE note SET title = 'by c' WHERE uid = 'n1'; UPDATE task SET title = 'by c' WHERE uid = 't1'")
        try c.execute(migration)
        try await settle(c, a, b)
        for machine in [a, b, c] {
            let shown = try machine.strings("SELECT title || ' ' || rank FROM item WHERE uid IN ('n1', 't1')")
            #expect(shown == ["BY C 9", "BY C 9"], "\(machine.name)")
        }
    }

    @Test("keep what was edited in the one where one of them had a single row", arguments: [(9, 1), (1, 9)])
    func single(notes: Int, tasks: Int) async throws {
        let (a, b, _) = try await pair(notes, tasks)
        try a.execute(Self.migration)
        try await settle(a, b)
        try a.execute("UPDATE item SET title = 'by a' WHERE uid IN ('n1', 't1')")
        try await settle(a, b)
        try b.execute(Self.migration)
        try await settle(b, a)
        for machine in [a, b] {
            #expect(try machine.strings("SELECT uid FROM item WHERE title = 'by a' ORDER BY uid") == ["n1", "t1"])
        }
    }
}
