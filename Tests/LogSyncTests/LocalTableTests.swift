import Foundation
import LogSyncModel
import LogSync
import Testing

@Suite("Tables that are copied once and never replicated")
struct LocalTableTests {
    let world: World
    let a: Machine

    init() throws {
        world = try World()
        a = try world.machine("a")
        try a.makeDatabase()
    }

    private func schemas() async throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: "\(world.contentPath)/peers/\(try await a.peer())/schemas")
    }

    private func initialize(_ sql: String, local: [String] = []) async throws -> InitializeReport {
        try a.execute(sql)
        var options = InitializeOptions()
        options.local = local
        return try await a.initialize(options)
    }

    @Test("Their rows are published with the schema, not with each change, and a clone has them as they were then")
    func once() async throws {
        _ = try await initialize(
            "CREATE TABLE cache(id INTEGER PRIMARY KEY, v); INSERT INTO cache(v) VALUES('first')", local: ["cache"])
        for number in 1...3 {
            try a.execute("INSERT INTO cache(v) VALUES('later \(number)')")
            try a.insert("note \(number)")
            try await a.sync()
        }
        #expect(try await schemas().count == 1)
        let b = try await world.clone("b")
        #expect(try b.count("SELECT count(*) FROM cache") == 1)
        #expect(try b.ids().count == 3)
        // With the schema they are published anew, whoever looks.
        try a.execute("ALTER TABLE note ADD COLUMN colour TEXT")
        try a.insert("after")
        try await a.sync()
        #expect(try await schemas().count == 2)
        #expect(try await world.clone("c").count("SELECT count(*) FROM cache") == 4)
        _ = try await a.with { try await $0.sync() }
        #expect(try await schemas().count == 2)
    }

    @Test("The doctor says where their rows refer to rows that another peer has deleted")
    func stranded() async throws {
        _ = try await initialize(
            """
            INSERT INTO note(id) VALUES('one'), ('two');
            CREATE TABLE log(id INTEGER PRIMARY KEY, note TEXT REFERENCES note);
            INSERT INTO log(note) VALUES('one'), ('two');
            """, local: ["log"])
        let b = try await world.clone("b")
        try a.execute("DELETE FROM log; DELETE FROM note WHERE id = 'one'")
        try await settle(a, b)
        for (machine, places) in [(a, []), (b, ["\(b.path): log"])] {
            let report = try await Replicator.doctor(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.code == "broken-foreign-key" }.map(\.place) == places, "\(report)")
        }
    }

    @Test("A schema that is gone from the folder is written again, with the rows of now")
    func again() async throws {
        _ = try await initialize(
            "CREATE TABLE cache(id INTEGER PRIMARY KEY, v); INSERT INTO cache(v) VALUES('first')", local: ["cache"])
        try a.execute("INSERT INTO cache(v) VALUES('second')")
        let name = try #require(try await schemas().first)
        try FileManager.default.removeItem(
            atPath: "\(world.contentPath)/peers/\(try await a.peer())/schemas/\(name)")
        try a.insert("one")
        try await a.sync()
        try await a.sync()
        #expect(try await schemas().count == 1)
        #expect(try await world.clone("b").count("SELECT count(*) FROM cache") == 2)
    }

    @Test("What notes the schema's version goes with each change, for a program must not run a migration twice")
    func versions() async throws {
        _ = try await initialize("CREATE TABLE schema_version(v INTEGER); INSERT INTO schema_version VALUES(1)")
        try a.execute("UPDATE schema_version SET v = 2")
        try a.insert("one")
        try await a.sync()
        #expect(try await world.clone("b").count("SELECT v FROM schema_version") == 2)
    }

    @Test(
        "The tables in which frameworks note migrations are local by themselves",
        arguments: [
            "migrations", "migratehistory", "_yoyo_migration", "room_master_table", "schema_version", "Z_METADATA",
            "databasechangelog", "__drizzle_migrations", "android_metadata", "VersionInfo", "directus_migrations",
            "_migrations",
        ])
    func known(name: String) async throws {
        let report = try await initialize(
            "CREATE TABLE \"\(name)\"(id INTEGER PRIMARY KEY, v); INSERT INTO \"\(name)\"(v) VALUES(1)")
        #expect(report.tables.first { $0.table == name }?.identity == "local")
        let b = try await world.clone("b")
        #expect(try b.count("SELECT count(*) FROM \"\(name)\"") == 1)
        try a.execute("INSERT INTO \"\(name)\"(v) VALUES(2)")
        try await settle(a, b)
        #expect(try b.count("SELECT count(*) FROM \"\(name)\"") == 1)
        #expect(try b.count("SELECT count(*) FROM note") == 0)
    }

    @Test("Unless an identity is named for one; and names that say version are pointed out")
    func pointedOut() async throws {
        try a.execute(
            """
            CREATE TABLE version(id INTEGER PRIMARY KEY, v); CREATE TABLE app_migration_log(id INTEGER PRIMARY KEY, v);
            CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value); CREATE TABLE hibernate_sequence(k PRIMARY KEY, v);
            CREATE TABLE orders_seq(next_val BIGINT); INSERT INTO orders_seq VALUES(51);
            CREATE TABLE VersionTable(id INTEGER PRIMARY KEY, schema_version INTEGER);
            CREATE TABLE facts(name TEXT PRIMARY KEY NOT NULL, value); INSERT INTO facts VALUES('version', 3);
            CREATE TABLE album(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE song_meta(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE song(id INTEGER PRIMARY KEY, meta REFERENCES song_meta);
            """)
        var options = InitializeOptions()
        try options.addIdentity("version=natural")
        let report = try await a.initialize(options)
        #expect(report.tables.first { $0.table == "version" }?.identity == "natural")
        #expect(report.tables.first { $0.table == "VersionTable" }?.identity == "local")
        for table in ["app_migration_log", "meta", "hibernate_sequence", "orders_seq", "facts"] {
            let suggestions = report.tables.first { $0.table == table }?.suggestions ?? []
            #expect(suggestions.contains { $0.contains("--local \(table)") }, "\(table): \(suggestions)")
        }
        for table in ["album", "song_meta"] {
            #expect(report.tables.first { $0.table == table }?.suggestions == [], "\(table)")
        }
        let b = try await world.clone("b")
        try a.execute("INSERT INTO version(v) VALUES(1)")
        try await settle(a, b)
        #expect(try b.count("SELECT count(*) FROM version") == 1)
    }
}
