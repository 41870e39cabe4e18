import Foundation
import GRDB
import LogSyncModel
import LogSync
import Testing

@Suite("A migration takes hold whole or not at all, and is captured right through")
struct MigrateTests {
    static let schema = """
        CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars TEXT);
        CREATE TABLE list(id INTEGER PRIMARY KEY, title TEXT UNIQUE);
        CREATE TABLE item(id INTEGER PRIMARY KEY, list INTEGER REFERENCES list(id), what TEXT);
        CREATE TABLE log(what TEXT);
        CREATE TRIGGER noted AFTER INSERT ON note BEGIN INSERT INTO log VALUES(NEW.id); END;
        INSERT INTO note VALUES('n1', 'a', '1'), ('n2', 'b', '2');
        INSERT INTO list VALUES(1, 'l1'), (2, 'l2'); INSERT INTO item VALUES(1, 1, 'x'), (2, 2, 'y');
        """
    /// SQLite's way to change what ALTER TABLE cannot: <https://www.sqlite.org/lang_altertable.html>, section 7.
    static let rebuild = """
        PRAGMA foreign_keys = OFF;
        BEGIN TRANSACTION;
        -- A column gets another name, another type and another place.
        CREATE TABLE new_note(rating INTEGER, id TEXT PRIMARY KEY NOT NULL, body TEXT NOT NULL DEFAULT '');
        INSERT INTO new_note SELECT stars, id, body FROM note;
        DROP TABLE note;
        ALTER TABLE new_note RENAME TO note;
        CREATE TRIGGER noted AFTER INSERT ON note BEGIN INSERT INTO log VALUES(NEW.id); END;
        PRAGMA foreign_key_check;
        COMMIT;
        PRAGMA foreign_keys = ON;
        """

    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute(Self.schema)
        var options = InitializeOptions()
        options.skip = ["log"]
        try await a.initialize(options)
        b = try await world.clone("b")
        try await settle(a, b)
    }

    @discardableResult
    private func migrate(
        _ machine: Machine, _ sql: String, _ renames: String..., dryRun: Bool = false
    ) async throws -> MigrationReport {
        try await machine.with { try await $0.migrate(sql, renames: renames, dryRun: dryRun) }
    }

    private func strings(_ machine: Machine, _ sql: String) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: sql) }
    }

    private func schema(_ machine: Machine) throws -> [String] {
        try strings(machine, "SELECT coalesce(sql, name) FROM sqlite_master ORDER BY type, name")
    }

    @Test("A rebuild that renames records no phantom, goes on being captured, and the name reaches the others")
    func rebuilt() async throws {
        try a.execute("UPDATE note SET body = 'before' WHERE id = 'n1'")
        let report = try await migrate(a, Self.rebuild, "note.stars=rating")
        #expect(report.pending["note"]?.updated == 1)
        #expect(report.renamed.map { "\($0.table) \($0.from) \($0.to)" } == ["note stars rating"])
        // '1' became 1, which is a change of each row and nothing more.
        #expect(report.recorded == ["note": ChangeCounts(updated: 2)])
        try a.execute("UPDATE note SET rating = 5 WHERE id = 'n2'; INSERT INTO note(id, rating) VALUES('n3', 3)")
        try await settle(a, b)
        #expect(try strings(b, "SELECT id || body || stars FROM note ORDER BY 1") == ["n1before1", "n2b5", "n33"])
        // The other migrates later, by the same script, and is told nothing about names.
        try b.execute("UPDATE note SET stars = '9' WHERE id = 'n1'")
        let second = try await migrate(b, Self.rebuild)
        #expect(second.renamed.map(\.to) == ["rating"])
        try await settle(a, b)
        for machine in [a, b] {
            #expect(
                try strings(machine, "SELECT id || body || rating FROM note ORDER BY 1") == [
                    "n1before9", "n2b5", "n33",
                ])
        }
        #expect(try await a.status().digest == b.status().digest)
        #expect(try await a.status().conflicts == 0)
        #expect(try await a.with { try await $0.rescan() }.found.isEmpty)
    }

    @Test("What the script does to rows is one transaction, and the app's own triggers fire once")
    func rows() async throws {
        let before = try await a.status().vector[a.peer()]
        let report = try await migrate(
            a,
            """
            ALTER TABLE list ADD COLUMN colour TEXT DEFAULT 'red';
            ALTER TABLE item RENAME COLUMN what TO text;
            UPDATE list SET colour = 'blue' WHERE id = 1;
            INSERT INTO note(id) VALUES('new');
            DELETE FROM item WHERE id = 2;
            """)
        #expect(report.statements == 5)
        #expect(
            report.recorded == [
                "list": ChangeCounts(updated: 1), "note": ChangeCounts(inserted: 1), "item": ChangeCounts(deleted: 1),
            ])
        #expect(report.renamed.map(\.to) == ["text"])
        #expect(try await a.status().vector[a.peer()] == before + 1)
        #expect(try strings(a, "SELECT what FROM log WHERE what = 'new'") == ["new"])
        try await settle(a, b)
        #expect(try b.ids() == ["n1", "n2", "new"])
        try await migrate(
            b, "ALTER TABLE list ADD COLUMN colour TEXT DEFAULT 'red'; ALTER TABLE item RENAME COLUMN what TO text")
        try await settle(a, b)
        #expect(try strings(b, "SELECT title || colour FROM list ORDER BY id") == ["l1blue", "l2red"])
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("A table renamed by ALTER TABLE or by a rebuild goes on as the same")
    func tables() async throws {
        let report = try await migrate(
            a,
            """
            ALTER TABLE list RENAME TO folder;
            CREATE TABLE entry(id INTEGER PRIMARY KEY, list INTEGER REFERENCES folder(id), what TEXT);
            INSERT INTO entry SELECT * FROM item;
            DROP TABLE item;
            """, "item=entry")
        #expect(report.recorded.isEmpty, "nothing changed but names")
        #expect(Set(report.renamed.map(\.to)) == ["folder", "entry"])
        try a.execute("UPDATE entry SET what = 'z' WHERE id = 1; INSERT INTO folder VALUES(3, 'l3')")
        try await settle(a, b)
        #expect(try strings(b, "SELECT what FROM item ORDER BY id") == ["z", "y"])
        #expect(try b.count("SELECT count(*) FROM list") == 3)
        #expect(try await a.status().digest == b.status().digest)
        let c = try await world.clone("c")
        #expect(try strings(c, "SELECT what FROM entry ORDER BY id") == ["z", "y"])
    }

    @Test(
        "A script that fails, leaves its transaction or breaks keys changes nothing",
        arguments: [
            ("ALTER TABLE note ADD COLUMN x;\n\nUPDATE note SET y = 1;", "line 3"),
            ("DELETE FROM note; ROLLBACK;", "ROLLBACK"), ("ALTER TABLE note ADD COLUMN x; VACUUM", "VACUUM"),
            ("/* ; */ ATTACH 'other.db' AS other", "ATTACH"), ("DELETE FROM list WHERE id = 1;", "foreign keys"),
            ("DROP TABLE note; CREATE TABLE no te(x);", "line 1"), ("INSERT INTO list VALUES(9, 'l1')", "UNIQUE"),
        ])
    func refused(sql: String, said: String) async throws {
        let (before, digest) = (try schema(a), try await a.status().digest)
        let error = await #expect(throws: LogSyncError.self) { try await migrate(a, sql) }
        #expect(error?.code == .invalidScript && error?.message.contains(said) == true, "\(String(describing: error))")
        #expect(error?.message.contains("nothing was changed") == true)
        #expect(try schema(a) == before)
        #expect(try await a.status().digest == digest)
        try a.insert("after")
        try await settle(a, b)
        #expect(try b.ids() == ["after", "n1", "n2"])
    }

    @Test(
        "A rename that is not what the script does is refused",
        arguments: [
            "note.absent=rating", "note.stars=absent", "note.body=rating", "nowhere.a=b", "list=absent", "x", "a.=b",
        ])
    func wrongRename(rename: String) async throws {
        let before = try schema(a)
        let error = await #expect(throws: LogSyncError.self) { try await migrate(a, Self.rebuild, rename) }
        #expect(error?.code == .usage, "\(String(describing: error))")
        #expect(try schema(a) == before)
    }

    @Test("A dry run says what would be and changes nothing")
    func dry() async throws {
        let before = try schema(a)
        let report = try await migrate(
            a, Self.rebuild + "CREATE TABLE loose(rowid, oid, _rowid_);", "note.stars=rating", dryRun: true)
        #expect(report.dryRun && report.recorded["note"]?.updated == 2 && report.renamed.map(\.to) == ["rating"])
        #expect(report.notReplicated == ["loose"])
        #expect(try schema(a) == before)
        #expect(try await a.sync().recorded == 0)
    }

    @Test("A running replicator lets go and goes on; a long writer is waited for, then 75")
    func others() async throws {
        let replicator = try a.replicator()
        await replicator.start()
        try await eventually("a runs") { try await !a.status().peers.isEmpty }
        try await migrate(a, "ALTER TABLE note ADD COLUMN x; INSERT INTO note(id) VALUES('new')")
        try await eventually("it is published") { try await a.status().outbox == 0 }
        try await b.sync()
        #expect(try b.ids() == ["n1", "n2", "new"])
        await replicator.stop()
        await replicator.close()
        var hasty = a
        hasty.configuration.wait = .milliseconds(50)
        let impatient = hasty
        try await a.holding {
            let error = await #expect(throws: LogSyncError.self) {
                try await impatient.with { try await $0.migrate("DELETE FROM note") }
            }
            #expect(error?.code == .locked)
        }
        #expect(try a.ids().count == 3)
    }
}
