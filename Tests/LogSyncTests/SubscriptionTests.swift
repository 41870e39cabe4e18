import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

@Suite("Subscriptions") struct SubscriptionTests {
    private let world: World
    private let a: Machine
    private let b: Machine

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT, priority INTEGER DEFAULT 0, list TEXT);
            CREATE TABLE list(name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, shared INTEGER) WITHOUT ROWID;
            INSERT INTO item(title, priority) VALUES('one', 1), ('five', 5);
            """)
        _ = try await a.initialize()
        b = try await world.clone("b")
        try await settle(a, b)
    }

    private static let urgent = Subscription(name: "urgent", table: "item", condition: "priority >= 3")

    /// What waits to be told, as `kind keys`; it is taken away.
    private func told(_ machine: Machine, _ count: Int) async throws -> [String] {
        try await machine.with { replicator in
            var events = try await replicator.subscribe(Self.urgent).makeAsyncIterator()
            var told: [String] = []
            for _ in 0..<count {
                let event = try #require(await events.next())
                let keys = event.rows.map { "\($0.values[0].databaseValue)" }.sorted().joined(separator: " ")
                told.append("\(event.kind.rawValue) \(keys)" + (event.isTruncated ? " …" : ""))
                try await replicator.markTold(event)
            }
            return told
        }
    }

    private func fired(_ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: "SELECT event FROM logsync_firing ORDER BY id") }
    }

    private func subscribe(_ machine: Machine, _ subscription: Subscription = urgent) async throws {
        _ = try await machine.with { try await $0.subscribe(subscription) }
    }

    @Test("Rows that imports make enter, leave and change within a condition are told of, others are not")
    func kinds() async throws {
        try await subscribe(b)
        try a.execute(
            """
            UPDATE item SET priority = 4 WHERE title = 'one';
            UPDATE item SET title = 'cinq' WHERE title = 'five';
            INSERT INTO item(id, title, priority) VALUES(10, 'low', 0), (11, 'high', 9);
            """)
        try await settle(a, b)
        #expect(try fired(b) == ["enters", "changes"])
        try a.execute("UPDATE item SET priority = 0 WHERE title = 'one'; DELETE FROM item WHERE id IN (10, 11)")
        try await settle(a, b)
        #expect(try fired(b) == ["enters", "changes", "leaves"])
        // What this store's own programs do is no news, and is known all the same.
        try b.execute("UPDATE item SET priority = 7")
        try await settle(b, a)
        try a.execute("UPDATE item SET title = 'eins' WHERE title = 'one'")
        try await settle(a, b)
        #expect(try fired(b) == ["enters", "changes", "leaves", "changes"])
        #expect(try await told(b, 4) == ["enters 1 11", "changes 2", "leaves 1 11", "changes 1"])
        #expect(try fired(b).isEmpty)
    }

    @Test("What waits from before is told, and counts as told, before a daemon's first round")
    func beforeTheFirstRound() async throws {
        _ = try await b.with { try await $0.register(Self.urgent) }
        try a.execute("INSERT INTO item(title, priority) VALUES('high', 9)")
        try await settle(a, b)
        #expect(try fired(b) == ["enters"])
        let replicator = try b.replicator()
        var events = replicator.firings().makeAsyncIterator()
        let event = try #require(await events.next())
        try await replicator.markTold(event)
        #expect(try fired(b).isEmpty)
        await replicator.close()
    }

    @Test("What another process imports is told here, once, and what was told is not told again")
    func once() async throws {
        let replicator = try b.replicator()
        var events = try await replicator.subscribe(Self.urgent).makeAsyncIterator()
        for round in 0..<3 {
            try a.execute("INSERT INTO item(title, priority) VALUES('high', 9)")
            try await a.sync()
            try await b.sync()
            _ = try await replicator.sync()
            let event = try #require(await events.next())
            #expect(event.kind == .enters && event.rows.count == 1 && event.id == Int64(round + 1))
        }
        // The last was handed out, and is there until the next is asked for, or it is said to have been told.
        #expect(try fired(b) == ["enters"])
        await replicator.close()
        let next = try b.replicator()
        var again = try await next.subscribe(Self.urgent).makeAsyncIterator()
        let event = try #require(await again.next())
        #expect(event.id == 3)
        try await next.markTold(event)
        #expect(try fired(b).isEmpty)
        await next.close()
    }

    @Test(
        "A write within the program's own connection counts as known, and as news where it is asked for",
        arguments: [false, true])
    func local(includesLocal: Bool) async throws {
        let subscription = Subscription(
            name: "urgent", table: "ITEM", condition: "priority >= 3", includesLocal: includesLocal)
        try await subscribe(b, subscription)
        let queue = try b.database()
        try await b.with { replicator in
            try await replicator.write(in: queue) { try $0.execute(sql: "UPDATE item SET priority = 8") }
            _ = try await replicator.sync()
        }
        try queue.close()
        #expect(try b.count("SELECT count(*) FROM logsync_member") == 2)
        #expect(try fired(b) == (includesLocal ? ["enters", "changes"] : []))
        try a.execute("DELETE FROM item")
        try await settle(a, b)
        #expect(try fired(b).last == "leaves")
    }

    @Test("More rows than the history lists are compared as a whole")
    func many() async throws {
        try await subscribe(b)
        try a.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 12100)
            INSERT INTO item(id, title, priority) SELECT i, 'n', i % 2 * 9 FROM n
            """)
        try await settle(a, b)
        #expect(try fired(b) == ["enters", "changes"])
        let inside = try b.count("SELECT count(*) FROM item WHERE priority >= 3")
        #expect(try b.count("SELECT count(*) FROM logsync_member") == inside)
        try a.execute("DELETE FROM item WHERE priority = 9 AND id < 200")
        try await settle(a, b)
        #expect(try fired(b) == ["enters", "changes", "leaves"])
    }

    @Test("Keys that a collation holds equal are one row")
    func collation() async throws {
        try a.execute("INSERT INTO list VALUES('Home', 0)")
        try await settle(a, b)
        try await subscribe(b, Subscription(name: "shared", table: "list", condition: "shared"))
        try a.execute("UPDATE list SET shared = 1 WHERE name = 'home'")
        try await settle(a, b)
        try b.execute("DELETE FROM list WHERE name = 'HOME'")
        try await settle(b, a)
        #expect(try fired(b) == ["enters"] && b.count("SELECT count(*) FROM logsync_member") == 0)
    }

    @Test(
        "A condition reads the program's tables and calls what is harmless, and nothing else",
        arguments: [
            ("priority >= 3 AND title LIKE 'a%'", true), ("EXISTS (SELECT 1 FROM list WHERE name = item.list)", true),
            ("lower(title) = 'x' -- all of them", true), ("", false), ("priority >= ?", false), ("nothing = 1", false),
            ("1) UNION SELECT (1", false), ("1); DROP TABLE item; --", false), ("(1", false),
            ("EXISTS (SELECT 1 FROM logsync_store)", false), ("EXISTS (SELECT 1 FROM sqlite_master)", false),
            ("EXISTS (SELECT 1 FROM pragma_table_info('item'))", false), ("load_extension('x')", false),
            ("1; ATTACH 'x' AS y", false), ("zeroblob(1) = fts3_tokenizer('simple')", false),
        ])
    func conditions(condition: String, isTaken: Bool) async throws {
        let subscription = Subscription(name: "s", table: "item", condition: condition)
        if isTaken {
            try await subscribe(b, subscription)
            #expect(try await b.with { try await $0.subscriptions() } == [subscription])
        } else {
            let error = await #expect(throws: LogSyncError.self) { try await subscribe(b, subscription) }
            #expect(error?.code == .usage && error?.message.contains("nothing was changed") == true)
            #expect(try await b.with { try await $0.subscriptions() }.isEmpty)
        }
    }

    @Test("A condition that the schema has left behind says so, hinders no import, and goes on when it can")
    func leftBehind() async throws {
        try await subscribe(b)
        try b.execute("ALTER TABLE item RENAME COLUMN priority TO rank")
        try a.execute("INSERT INTO item(title, priority) VALUES('high', 9)")
        try await settle(a, b)
        #expect(try b.count("SELECT count(*) FROM item WHERE title = 'high'") == 1)
        let trouble = try await b.with { try await $0.subscriptions() }.first?.trouble
        #expect(trouble?.contains("priority") == true)
        #expect(try fired(b).isEmpty)
        try b.execute("ALTER TABLE item RENAME COLUMN rank TO priority")
        try a.execute("INSERT INTO item(title, priority) VALUES('low', 0)")
        try await settle(a, b)
        #expect(try fired(b) == ["enters"])
        #expect(try await b.with { try await $0.subscriptions() }.first?.trouble == nil)
    }

    @Test("Removing a subscription forgets what it had to tell, and leaving the content removes all of it")
    func removing() async throws {
        try await subscribe(b)
        try a.execute("UPDATE item SET priority = 9")
        try await settle(a, b)
        #expect(try !fired(b).isEmpty)
        try await b.with { try await $0.unsubscribe("urgent") }
        #expect(try fired(b).isEmpty && b.count("SELECT count(*) FROM logsync_member") == 0)
        let error = await #expect(throws: LogSyncError.self) { try await b.with { try await $0.unsubscribe("urgent") } }
        #expect(error?.code == .usage)
        try await subscribe(b)
        _ = try await b.with { try await $0.leave() }
        #expect(try b.count("SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'") == 0)
    }

    @Test("Rows to which a program gives other integers stay within, and leave under these")
    func renumbered() async throws {
        try await subscribe(b)
        try b.execute("UPDATE item SET id = 60 WHERE title = 'five'")
        try await settle(b, a)
        #expect(try fired(b).isEmpty)
        try a.execute("UPDATE item SET title = 'cinq' WHERE title = 'five'")
        try await settle(a, b)
        try a.execute("UPDATE item SET priority = 0")
        try await settle(a, b)
        #expect(try await told(b, 2) == ["changes 60", "leaves 60"])
    }

    @Test("A migration that gives the table another key leaves rows within, and they leave under that")
    func otherKey() async throws {
        try await subscribe(b)
        let migration = """
            CREATE TABLE new(title TEXT PRIMARY KEY NOT NULL, priority INTEGER DEFAULT 0);
            INSERT INTO new SELECT title, priority FROM item; DROP TABLE item; ALTER TABLE new RENAME TO item;
            """
        for machine in [a, b] { try machine.execute(migration) }
        try await settle(a, b)
        #expect(try fired(b).isEmpty)
        try a.execute("UPDATE item SET priority = 4 WHERE title = 'one'; DELETE FROM item WHERE title = 'five'")
        try await settle(a, b)
        #expect(try await told(b, 2) == ["enters \"one\"", "leaves \"five\""])
    }

    @Test("A condition on a table that is not here says so")
    func tableGone() async throws {
        try await subscribe(b)
        try b.execute("DROP TABLE item")
        try a.execute("UPDATE item SET priority = 9")
        try await settle(a, b)
        let trouble = try await b.with { try await $0.subscriptions().map(\.trouble) }
        #expect(try fired(b).isEmpty && trouble == ["the table item is not in this store"])
    }
}
