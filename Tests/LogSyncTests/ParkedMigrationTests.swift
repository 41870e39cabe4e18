import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// Rows that are parked while the app's next version goes over its tables.
@Suite("A parked row and a migration")
struct ParkedMigrationTests {
    /// As Django writes it: the program fills the column, and the schema has no default.
    private static func rebuild(_ fill: String) -> String {
        """
        CREATE TABLE n(id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE, title TEXT, sub TEXT NOT NULL);
        INSERT INTO n SELECT id, slug, title, \(fill) FROM p; DROP TABLE p; ALTER TABLE n RENAME TO p;
        """
    }

    private static let shown = "SELECT slug||' '||title||' '||coalesce(sub,'-') FROM p ORDER BY 1"

    /// Two machines with a row each under one slug, of which the second's is parked.
    private func pair(_ world: World) async throws -> (Machine, Machine) {
        let a = try world.machine("a")
        try a.execute("CREATE TABLE p(id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE, title TEXT)")
        try a.execute("INSERT INTO p(slug, title) VALUES('other', 'first')")
        try await a.initialize()
        let b = try await world.clone("b")
        try a.execute("INSERT INTO p(slug, title) VALUES('dup', 'a')")
        try await a.sync()
        try b.execute("INSERT INTO p(slug, title) VALUES('dup', 'b')")
        try await settle(a, b)
        #expect(try await a.status().parked == 1)
        return (a, b)
    }

    @Test("gets what the migration has put into every other row", arguments: [false, true])
    func fill(laterFirst: Bool) async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        try a.execute(Self.rebuild("'none'"))
        // What the program writes later is no fill.
        try await a.sync()
        try a.execute("UPDATE p SET sub = 'written' WHERE slug = 'other'")
        if laterFirst { try b.execute(Self.rebuild("'none'")) }
        try await settle(a, b)
        if !laterFirst { try b.execute(Self.rebuild("'none'")) }
        try await settle(a, b)
        try a.execute("DELETE FROM p WHERE title = 'a'")
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try rows(machine) == ["dup b none", "other first written"])
            #expect(try await machine.status().parked == 0)
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
        #expect(try await a.status().digest == b.status().digest)
        #expect(try rows(try await world.clone("c")) == ["dup b none", "other first written"])
    }

    @Test("shows the column's default")
    func defaults() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let migration = "ALTER TABLE p ADD COLUMN sub TEXT NOT NULL DEFAULT 'none'"
        try a.execute(migration)
        try await settle(a, b)
        try b.execute(migration)
        try a.execute("DELETE FROM p WHERE title = 'a'")
        try await settle(a, b)
        for machine in [a, b] { #expect(try rows(machine) == ["dup b none", "other first none"]) }
    }

    @Test("stays parked, and listed, where the migration has put another value into each row")
    func noFill() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        try a.execute(Self.rebuild("title"))
        try b.execute(Self.rebuild("title"))
        try await settle(a, b)
        try a.execute("DELETE FROM p WHERE title = 'a'")
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try rows(machine) == ["other first first"])
            #expect(try await machine.status().parked == 1)
        }
    }

    @Test(
        "is given no other row's value where the migration has put another into each, most of which are known already")
    func othersFilled() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        try a.execute("INSERT INTO p(slug, title) VALUES('x', 'second'), ('y', 'third')")
        let c = try await world.clone("c")
        try await settle(a, b, c)
        try c.execute(Self.rebuild("title"))
        try await settle(c, a)
        try b.execute("UPDATE p SET title = 'edited' WHERE slug = 'other'")
        try await settle(b, a)
        try a.execute(Self.rebuild("title"))
        try await settle(a, c)
        #expect(try rows(a).count == 4)
        try a.execute("DELETE FROM p WHERE title = 'a'")
        try await settle(a, c)
        for machine in [a, c] {
            #expect(try rows(machine).filter { $0.hasPrefix("dup") } == [])
            #expect(try await machine.status().parked == 1)
        }
    }

    @Test("is given nothing where the migration has put something into some rows")
    func someFilled() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let migration = "ALTER TABLE p ADD COLUMN sub TEXT; UPDATE p SET sub = 'chosen' WHERE slug = 'other'"
        try a.execute(migration)
        try await settle(a, b)
        try b.execute(migration)
        try a.execute("DELETE FROM p WHERE title = 'a'")
        try await settle(a, b)
        for machine in [a, b] { #expect(try rows(machine) == ["dup b -", "other first chosen"]) }
    }

    @Test(
        "holds in a new column of the key what the row holds that is shown in its place, where it is folded",
        arguments: [["at", "al", "bt", "bl"], ["bt", "at", "al", "bl"]])
    func folded(order: [String]) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE link(note TEXT, tag_id INTEGER REFERENCES tag, c TEXT, PRIMARY KEY(note, tag_id));
            INSERT INTO tag(name) VALUES('first')
            """)
        try await a.initialize()
        try await a.with { _ = try await $0.setPolicy("unique-merge", for: "tag") }
        try await settle(a)
        let b = try await world.clone("b")
        // Whose tag is older, and whose link, says which of them is folded into which.
        for step in order {
            let machine = step.hasPrefix("a") ? a : b
            try machine.execute(
                step.hasSuffix("t")
                    ? "INSERT INTO tag(name) VALUES('\(machine.name)'), ('work')"
                    : "INSERT INTO link SELECT 'n', id, 'by \(machine.name)' FROM tag WHERE name <> 'first'")
            try await Task.sleep(for: .milliseconds(2))
        }
        try await settle(a, b)
        let migration = """
            CREATE TABLE tag_new(name TEXT PRIMARY KEY NOT NULL); INSERT INTO tag_new SELECT name FROM tag;
            CREATE TABLE link_new(note TEXT, tag TEXT REFERENCES tag(name), c TEXT, PRIMARY KEY(note, tag));
            INSERT INTO link_new SELECT note, name, c FROM link JOIN tag ON id = tag_id;
            DROP TABLE link; DROP TABLE tag; ALTER TABLE tag_new RENAME TO tag; ALTER TABLE link_new RENAME TO link
            """
        for machine in [a, b] {
            #expect(try machine.count("SELECT count(*) FROM link") == 3)
            let database = try machine.database()
            try await database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA foreign_keys = OFF; BEGIN; \(migration); COMMIT")
            }
            try database.close()
            try await settle(a, b)
        }
        for machine in [a, b, try await world.clone("c")] {
            #expect(
                try machine.strings("SELECT tag || ' ' || c FROM link ORDER BY tag, c").map { $0.prefix(4) }
                    == ["a by", "b by", "work"])
            #expect(try machine.count("SELECT count(*) FROM link") == 3)
            // Two rows of one key, which hold something else each.
            #expect(try await machine.status().parked == 1)
        }
        #expect(try await a.status().digest == b.status().digest)
    }

    private func rows(_ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: Self.shown) }
    }
}
