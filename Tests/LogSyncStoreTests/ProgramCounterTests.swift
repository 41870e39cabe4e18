import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Rows of the program's in which it notes the integers that it gives to rows.
@Suite("Counters of the program's own")
struct ProgramCounterTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// As a program that has one counter for all tables: notes have 1, 3, 5, and tags 2, 4, 6.
    private static let catalog = """
        CREATE TABLE variables(id INTEGER PRIMARY KEY, name TEXT UNIQUE, value);
        CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT); CREATE TABLE tags(id INTEGER PRIMARY KEY, text TEXT);
        CREATE TABLE later(id INTEGER PRIMARY KEY, text TEXT);
        INSERT INTO notes VALUES(11, 'a'), (13, 'b'), (15, 'c'); INSERT INTO tags VALUES(12, 'a'), (14, 'b'), (16, 'c');
        INSERT INTO variables VALUES(1, 'theme', 'dark'), (2, 'unread_count', 99);
        """

    private func found(_ sql: String, in name: String = "app") throws -> [String] {
        try folder.examine(sql, in: name).counters.map { counter in
            "\(counter.table).\(counter.column) \(counter.target) +\(counter.ahead)"
        }
    }

    @Test(
        "What a program takes integers from, in a row of its settings, is kept above the rows that come, however it is written",
        arguments: [("20", "integer"), ("20.0", "real"), ("'20'", "text")])
    func kept(value: String, type: String) throws {
        let a = try TestPeer(
            folder, "a", sql: Self.catalog + "INSERT INTO variables VALUES(3, 'entityIDCounter', \(value));")
        let b = try TestPeer(folder, "b", cloning: a)
        let counter = "(SELECT CAST(value AS INTEGER) FROM variables WHERE name = 'entityIDCounter')"
        let take = """
            UPDATE variables SET value = CASE typeof(value) WHEN 'text' THEN CAST(value + 1 AS TEXT) ELSE value + 1 END
            WHERE name = 'entityIDCounter';
            """
        for round in 1...3 {
            for peer in [a, b] {
                for table in ["notes", "tags", "later"] {
                    try peer.write(take + "INSERT INTO \(table) VALUES(\(counter), '\(peer.name)\(round)')")
                }
            }
            try converge(a, b)
        }
        for peer in [a, b] {
            #expect(try peer.strings("SELECT count(*) FROM notes") == ["9"])
            #expect(try peer.strings("SELECT count(*) FROM later") == ["6"])
            #expect(
                try peer.strings(
                    "SELECT typeof(value), CAST(value AS INTEGER) >= (SELECT max(id) FROM later) FROM variables WHERE id = 3"
                )
                    == ["\(type)|1"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("It counts the table that it names, or those whose integers it has given")
    func counted() throws {
        #expect(
            try found(Self.catalog + "INSERT INTO variables VALUES(3, 'next_note_id', 16);")
                == ["variables.value notes.id +1"])
        #expect(
            try found(Self.catalog + "INSERT INTO variables VALUES(3, 'last_tag_id', 16);", in: "b")
                == ["variables.value tags.id +0"])
        #expect(
            try found(Self.catalog + "INSERT INTO variables VALUES(3, 'next_id', 17);", in: "c")
                == ["later", "notes", "tags", "variables"].map { "variables.value \($0).id +1" })
        let apart = """
            CREATE TABLE settings(key TEXT PRIMARY KEY, value INTEGER); CREATE TABLE a(id INTEGER PRIMARY KEY);
            CREATE TABLE b(id INTEGER PRIMARY KEY); INSERT INTO a VALUES(1), (2), (9); INSERT INTO b VALUES(1), (2);
            INSERT INTO settings VALUES('last_id', 9);
            """
        #expect(try found(apart, in: "d") == ["settings.value a.id +0"])
        let sequence = """
            CREATE TABLE hibernate_sequence(next_val INTEGER); INSERT INTO hibernate_sequence VALUES(8);
            CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id INTEGER PRIMARY KEY);
            INSERT INTO a VALUES(1), (7); INSERT INTO b VALUES(2), (3);
            """
        #expect(try found(sequence, in: "e") == ["a", "b"].map { "hibernate_sequence.next_val \($0).id +1" })
    }

    @Test(
        "What only says an integer of a row is none, nor what is below those that there are",
        arguments: [
            ("last_selected_id", 16), ("current_note_id", 15), ("next_note_id", 3), ("version", 99), ("next_id", 12),
            ("download_counter", 99), ("max_width", 100), ("next_backup", 99),
        ])
    func others(name: String, value: Int) throws {
        #expect(try found(Self.catalog + "INSERT INTO variables VALUES(3, '\(name)', \(value));") == [])
    }

    /// A table that is not replicated notes the integers of one that is.
    private static func noted(_ table: String, _ row: String = "") -> String {
        "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT); INSERT INTO note VALUES(1, 'a'), (2, 'b'); \(table); \(row)"
    }

    private func setting(_ allocator: ProgramAllocator) throws -> String {
        let text = try allocator.text().replacing("'", with: "''")
        return
            "INSERT OR REPLACE INTO logsync_setting(kind, target, value) VALUES('allocator', '\(allocator.target)', '\(text)')"
    }

    @Test(
        "A table of this store's own is written for no counter that the folder names later, unless it is found here, too"
    )
    func told() throws {
        let sql = Self.noted(
            "CREATE TABLE machine(name TEXT PRIMARY KEY, port INTEGER); INSERT INTO machine VALUES('me', 22)",
            "CREATE TABLE counters(name TEXT PRIMARY KEY, value INTEGER); INSERT INTO counters VALUES('last_note_id', 1)"
        )
        let a = try TestPeer(folder, "a", sql: sql, plan: { $0.local = ["machine", "counters"] })
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write(
            setting(
                ProgramAllocator(
                    table: "machine", column: "port", countedTable: "note", countedColumn: "id", ahead: 1000)))
        try converge(a, b)
        try a.write("INSERT INTO note(text) VALUES('c')")
        try converge(a, b)
        #expect(try b.strings("SELECT port FROM machine") == ["22"])
        #expect(try b.store.health().laggingCounters.isEmpty)

        try a.write(
            setting(
                ProgramAllocator(
                    table: "counters", column: "value", key: ["name": .text("last_note_id")], countedTable: "note",
                    countedColumn: "id")))
        try b.write("UPDATE counters SET value = 3")
        try converge(a, b)
        try a.write("INSERT INTO note(text) VALUES('d')")
        try converge(a, b)
        #expect(try b.strings("SELECT value FROM counters") == ["4"])
        #expect(try a.strings("SELECT port, value FROM machine, counters") == ["22|1"])
    }

    @Test(
        "What refuses to be raised stays, is named, and keeps nothing from coming in",
        arguments: ["value INTEGER CHECK(value < 5)", "value INTEGER, v INTEGER CHECK(v < 5) AS (value)"],
        [true, false])
    func refused(column: String, isLocal: Bool) throws {
        let sql = Self.noted(
            "CREATE TABLE counters(name TEXT PRIMARY KEY, \(column))",
            "INSERT INTO counters(name, value) VALUES('last_note_id', 2)")
        let a = try TestPeer(folder, "a", sql: sql, plan: { if isLocal { $0.local = ["counters"] } })
        let b = try TestPeer(folder, "b", cloning: a)
        try b.write("INSERT INTO note VALUES(9, 'of b')")
        try converge(a, b)
        #expect(try a.strings("SELECT text FROM note WHERE id > 2") == ["of b"])
        #expect(try a.strings("SELECT value FROM counters") == ["2"])
        #expect(try a.store.health().laggingCounters.map(\.wanted) == [9])
        try a.write("INSERT INTO note VALUES(12, 'of a')")
        #expect(try a.store.health().laggingCounters.isEmpty)
        try a.record()
        #expect(try a.store.health().laggingCounters.map(\.wanted) == [12])
        #expect(try a.store.audit().problems == [])
    }

    @Test(
        "It is kept above the rows that come under the names that a migration gives it",
        arguments: [
            "ALTER TABLE counters RENAME TO settings", "ALTER TABLE counters RENAME COLUMN value TO val",
            "ALTER TABLE counters RENAME COLUMN name TO called", "ALTER TABLE note RENAME TO notes",
            "ALTER TABLE note RENAME COLUMN id TO number",
        ])
    func renamed(migration: String) throws {
        let sql = Self.noted(
            "CREATE TABLE counters(name TEXT PRIMARY KEY, value INTEGER)",
            "INSERT INTO counters(name, value) VALUES('last_note_id', 2)")
        let a = try TestPeer(folder, "a", sql: sql)
        let b = try TestPeer(folder, "b", cloning: a)
        for peer in [a, b] {
            try peer.write(migration)
            try peer.record()
        }
        try converge(a, b)
        try b.write("INSERT INTO \(migration.contains("notes") ? "notes" : "note")(text) VALUES('c'), ('d')")
        try converge(a, b)
        #expect(
            try a.strings("SELECT * FROM \(migration.contains("settings") ? "settings" : "counters")") == [
                "last_note_id|4"
            ])
        #expect(try a.digest() == b.digest())
    }

    @Test("One that the store knew when it was made stays where the folder names another in its place")
    func writtenOver() throws {
        let sql = Self.noted(
            "CREATE TABLE machine(name TEXT PRIMARY KEY, port INTEGER); INSERT INTO machine VALUES('me', 22)",
            "CREATE TABLE counters(name TEXT PRIMARY KEY, value INTEGER); INSERT INTO counters VALUES('last_note_id', 2)"
        )
        let a = try TestPeer(folder, "a", sql: sql, plan: { $0.local = ["machine", "counters"] })
        let b = try TestPeer(folder, "b", cloning: a)
        try b.write(
            setting(
                ProgramAllocator(
                    table: "machine", column: "port", countedTable: "note", countedColumn: "id", ahead: 1000)))
        try b.write("INSERT INTO note VALUES(9, 'of b')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT value, port FROM counters, machine") == ["9|22"])
        }
    }
}
