import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Tables that a store was told to leave out, and that a program's migration gives other names.
@Suite("Tables that are left out")
struct LeftTablesTests {
    private static let schema = """
        CREATE TABLE note(id TEXT PRIMARY KEY, body TEXT);
        CREATE TABLE secret(id INTEGER PRIMARY KEY, name TEXT, pw TEXT); INSERT INTO secret VALUES(1, 'a', 'hunter2');
        CREATE TABLE seen(id INTEGER PRIMARY KEY, item INTEGER, at REAL); INSERT INTO seen VALUES(1, 1, 0.5);
        """

    private func peer() throws -> TestPeer {
        try TestPeer(TestFolder(), "a", sql: Self.schema) { plan in
            plan.skip = ["secret"]
            plan.local = ["seen"]
        }
    }

    /// The replicated tables of the program's, after what was written is recorded.
    private func replicated(_ peer: TestPeer) throws -> [String] {
        _ = try peer.record()
        return try peer.strings(
            "SELECT name FROM logsync_table WHERE name <> 'logsync_setting' ORDER BY name")
    }

    @Test(
        "stay so under another name",
        arguments: [
            "ALTER TABLE secret RENAME TO secret_old; ALTER TABLE seen RENAME TO watched",
            "ALTER TABLE secret RENAME TO password; ALTER TABLE password ADD COLUMN salt TEXT; "
                + "ALTER TABLE seen RENAME TO watched; ALTER TABLE watched DROP COLUMN at",
            "CREATE TABLE password(id INTEGER PRIMARY KEY, name TEXT NOT NULL, pw TEXT); "
                + "INSERT INTO password SELECT * FROM secret; DROP TABLE secret",
            "CREATE TABLE new_secret(id INTEGER PRIMARY KEY, name TEXT, pw TEXT, salt); "
                + "INSERT INTO new_secret SELECT *, 0 FROM secret; DROP TABLE secret; ALTER TABLE new_secret RENAME TO secret",
        ])
    func renamed(migration: String) throws {
        let a = try peer()
        #expect(try replicated(a) == ["note"])
        try a.write(migration)
        #expect(try replicated(a) == ["note"])
        // Where the name is another by now, that is said.
        let isRenamed = try a.strings("SELECT name FROM sqlite_master WHERE name = 'secret'").isEmpty
        #expect(try a.store.health().leftByAnotherName.contains { $0.former == "secret" } == isRenamed)
        // As often as it likes, and also where the file was written anew in between.
        for name in ["second", "third"] {
            let table = try a.strings("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%pw%'")[0]
            try a.app.execute("VACUUM")
            #expect(try replicated(a) == ["note"])
            try a.write("ALTER TABLE \(table) RENAME TO \(name)")
            #expect(try replicated(a) == ["note"])
        }
    }

    @Test(
        "stay so where another table takes their name, and where a copy is looked at that is being made of them",
        arguments: [
            [
                "ALTER TABLE secret RENAME TO secret_2023; "
                    + "CREATE TABLE secret(id INTEGER PRIMARY KEY, name TEXT, pw TEXT)"
            ],
            [
                "ALTER TABLE secret RENAME TO secret_2023; "
                    + "CREATE TABLE secret(id INTEGER PRIMARY KEY, name TEXT, pw TEXT)",
                "ALTER TABLE secret_2023 RENAME TO kept",
                "ALTER TABLE secret RENAME TO secret_2023; "
                    + "CREATE TABLE secret(id INTEGER PRIMARY KEY, name TEXT, pw TEXT, salt)",
                "ALTER TABLE secret_2023 RENAME TO kept_2; ALTER TABLE kept RENAME TO kept_1",
            ],
            ["ALTER TABLE secret RENAME TO x; ALTER TABLE note RENAME TO secret"],
            ["ALTER TABLE note RENAME TO x; ALTER TABLE secret RENAME TO note; ALTER TABLE x RENAME TO secret"],
            [
                "CREATE TABLE password(id INTEGER PRIMARY KEY, name TEXT, pw TEXT, salt);"
                    + "INSERT INTO password SELECT *, 0 FROM secret; DROP TABLE secret"
            ],
            [
                "CREATE TABLE ef_temp_secret(id INTEGER PRIMARY KEY, name TEXT, pw TEXT, salt)",
                "INSERT INTO ef_temp_secret SELECT *, 0 FROM secret", "DROP TABLE secret",
                "ALTER TABLE ef_temp_secret RENAME TO secret", "INSERT INTO secret VALUES(2, 'b', 'hunter3', 1)",
            ],
        ])
    func named(migration: [String]) throws {
        let a = try peer()
        #expect(try replicated(a) == ["note"])
        for step in migration {
            try a.write(step)
            _ = try a.record()
        }
        // By its name in logs.
        #expect(
            try a.strings("SELECT log_name FROM logsync_table WHERE name <> 'logsync_setting'") == ["note"])
        let names = Set(try AppSchema.leftTables(on: a.app).map(\.name))
        #expect(names.isDisjoint(with: try replicated(a)))
    }

    @Test("are not what bears their name by now, to a clone")
    func cloned() throws {
        var plan = InitializePlan(content: "c", container: "/nowhere", peerName: "b")
        plan.settings = [
            ("identity", "note", "natural"), ("skip", "secret", "1"), ("local", "seen", "1"),
            ("rename", "secret", "note"),
        ]
        #expect(plan.withContentSettings().skip == [])
        #expect(plan.withContentSettings().local == ["seen"])
    }

    @Test("are no reason to leave out one that comes in the place of one that has gone")
    func another() throws {
        let a = try peer()
        try a.write("DROP TABLE secret; CREATE TABLE list(id INTEGER PRIMARY KEY, title TEXT, color TEXT)")
        #expect(try replicated(a) == ["list", "note"])
        #expect(try a.store.health().leftByAnotherName.isEmpty)
        // Two columns of three are no more than many tables have.
        try a.write("CREATE TABLE more(id INTEGER PRIMARY KEY, item INTEGER, size REAL); DROP TABLE seen")
        #expect(try replicated(a) == ["list", "more", "note"])
        // Nor is one that has all of its columns, once it has been gone for a look.
        let b = try TestPeer(TestFolder(), "b", sql: Self.schema) { $0.skip = ["secret"] }
        try b.write("DROP TABLE secret")
        #expect(try replicated(b) == ["note", "seen"])
        try b.write("CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, pw TEXT, mail TEXT)")
        #expect(try replicated(b) == ["note", "person", "seen"])
        // One of the former name is the same again.
        try a.write("CREATE TABLE secret(k TEXT PRIMARY KEY)")
        #expect(try replicated(a) == ["list", "more", "note"])
    }
}
