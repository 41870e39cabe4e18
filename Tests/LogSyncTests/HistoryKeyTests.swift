import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

@Suite("Keys and columns that change while the history is kept") struct HistoryKeyTests {
    private let world: World
    private let a: Machine
    private let b: Machine

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT, done INTEGER DEFAULT 0);
            CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, color TEXT) WITHOUT ROWID;
            CREATE TABLE item_tag(item INTEGER NOT NULL REFERENCES item(id), tag TEXT NOT NULL REFERENCES tag(name),
                PRIMARY KEY(item, tag));
            """)
        _ = try await a.initialize()
        b = try await world.clone("b")
        // The integers of a's rows are others at b.
        try b.execute("INSERT INTO item(title) VALUES('of b 1'), ('of b 2'), ('of b 3')")
        try await settle(b, a)
    }

    /// `table kind key columns`, in order.
    private func told(_ transactions: [HistoryTransaction]) -> [String] {
        transactions.flatMap(\.changes).map { change in
            let key = change.key.values.map { "\($0.databaseValue)" }.joined(separator: ",").replacing("\"", with: "")
            return ([change.table, change.kind.rawValue, key] + change.columns.sorted()).joined(separator: " ")
        }
    }

    @Test("A row to which a program gives another integer has gone and come, as the history of this store alone has it")
    func renumbered() async throws {
        try a.execute("INSERT INTO item(id, title) VALUES(10, 'ten')")
        try await settle(a, b)
        let seen = try await a.with { try await $0.historyToken() }
        let other = try await b.with { try await $0.historyToken() }
        for sql in ["UPDATE item SET id = 20 WHERE id = 10", "UPDATE item SET id = 30, done = 1 WHERE id = 20"] {
            try a.execute(sql)
            try await settle(a, b)
        }
        let entries = try await a.with { try await $0.history(HistoryFilter(after: seen)) }
        #expect(entries.allSatisfy { $0.isLocal && $0.isComplete })
        #expect(
            told(entries) == [
                "item insert 20", "item delete 10", "item insert 30", "item update 30 done", "item delete 20",
            ])
        #expect(try await b.with { try await $0.history(HistoryFilter(after: other)) }.flatMap(\.changes).count == 1)
    }

    @Test("What refers to a row to which a program gives another integer goes along in the history of this store alone")
    func renumberedParents() async throws {
        try a.execute(
            """
            CREATE TABLE part(id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id) ON UPDATE CASCADE, size INTEGER);
            INSERT INTO item(id, title) VALUES(10, 'ten'), (11, 'eleven');
            INSERT INTO tag VALUES('one', 'red');
            INSERT INTO item_tag VALUES(10, 'one');
            INSERT INTO part VALUES(1, 10, 1), (2, 11, 1), (3, 10, 1);
            """)
        try await settle(a, b)
        let seen = try await a.with { try await $0.historyToken() }
        let steps: [(sql: String, told: [String])] = [
            // By the schema, and by hand where the schema does not say what comes of it.
            (
                "UPDATE item_tag SET item = 20 WHERE item = 10; UPDATE item SET id = 20 WHERE id = 10",
                [
                    "item insert 20", "item delete 10", "item_tag insert 20,one", "item_tag delete 10,one",
                    "part update 1 item", "part update 3 item",
                ]
            ),
            (
                "UPDATE item SET id = 30 WHERE id = 20; UPDATE part SET size = 2 WHERE id < 3; DELETE FROM item_tag",
                [
                    "item insert 30", "item delete 20", "item_tag delete 20,one", "part update 1 item size",
                    "part update 2 size",
                    "part update 3 item",
                ]
            ),
            ("UPDATE part SET id = 9 WHERE id = 3", ["part insert 9", "part delete 3"]),
        ]
        for (sql, expected) in steps {
            let before = try await a.with { try await $0.historyToken() }
            try a.execute("PRAGMA defer_foreign_keys = ON; \(sql)")
            try await settle(a, b)
            let entries = try await a.with { try await $0.history(HistoryFilter(after: before)) }
            #expect(told(entries) == expected)
        }
        #expect(try await a.with { try await $0.history(HistoryFilter(after: seen)) }.allSatisfy(\.isComplete))
    }

    @Test("What is kept of deleted rows goes on where columns are renamed; keys of before a migration have no columns")
    func migrated() async throws {
        for machine in [a, b] { try machine.execute("DROP TABLE item_tag") }
        try a.execute("INSERT INTO tag VALUES('one', 'red'), ('two', 'blue')")
        try await settle(a, b)
        try await b.with { try await $0.keepTombstones(of: "tag", columns: ["color"]) }
        for machine in [a, b] { try machine.execute("ALTER TABLE tag RENAME COLUMN color TO tint") }
        try await settle(a, b)
        let seen = try await b.with { try await $0.historyToken() }
        try a.execute("DELETE FROM tag WHERE name = 'one'")
        try await settle(a, b)
        func deleted() async throws -> HistoryTransaction.Change? {
            try await b.with { try await $0.history(HistoryFilter(after: seen)) }.flatMap(\.changes).first
        }
        #expect(try await deleted()?.tombstone == ["tint": "red".databaseValue])
        #expect(try await deleted()?.key["name"] == "one".databaseValue)
        let migration = """
            CREATE TABLE new(tint TEXT PRIMARY KEY NOT NULL, name TEXT); INSERT INTO new SELECT tint, name FROM tag;
            DROP TABLE tag; ALTER TABLE new RENAME TO tag;
            """
        for machine in [a, b] { try machine.execute(migration) }
        try await settle(a, b)
        let key = try #require(try await deleted()?.key)
        #expect(key["tint"].isNull && key.values == [.text("one")])
        try a.execute("UPDATE tag SET name = 'deux'")
        try await settle(a, b)
        let last = try await b.with { try await $0.history(HistoryFilter(after: seen)) }.flatMap(\.changes).last
        #expect(last?.key["tint"] == "blue".databaseValue)
    }
}
