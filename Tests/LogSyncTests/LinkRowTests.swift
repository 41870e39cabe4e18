import Foundation
import LogSync
import Testing

/// A row whose key names another row, `PRIMARY KEY(p, tag)`, is the row that it was when that other row gets another integer
/// or another key: what other machines have written to it meanwhile stays.
@Suite("Rows that are named by other rows")
struct LinkRowTests {
    private static let parents = "CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, made INT);"
    private static let rows = "INSERT INTO p VALUES(1, 'ann', 0), (3, 'bob', 0);"

    private static func links(_ name: String, _ type: String, _ parent: String, options: String = "") -> String {
        """
        CREATE TABLE \(name)(p \(type) REFERENCES \(parent) ON UPDATE CASCADE ON DELETE CASCADE, tag TEXT, v,
            PRIMARY KEY(p, tag))\(options);
        """
    }

    @Test(
        "keep edits of others when those rows get other integers",
        arguments: [
            "UPDATE p SET id = 30 WHERE id = 3", "UPDATE p SET id = id + 10",
            "UPDATE p SET id = 2 WHERE id = 3; INSERT INTO p VALUES(3, 'cid', 1)",
            "UPDATE p SET id = 7 WHERE id = 1; UPDATE p SET id = 1 WHERE id = 3; UPDATE p SET id = 3 WHERE id = 7",
            """
            PRAGMA defer_foreign_keys = ON; CREATE TABLE q(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, made INT);
            INSERT INTO q SELECT id * 10, name, made FROM p; \(links("other", "INTEGER", "q"))
            INSERT INTO other SELECT p * 10, tag, v FROM link; DROP TABLE link; DROP TABLE p;
            ALTER TABLE q RENAME TO p; ALTER TABLE other RENAME TO link
            """,
        ], ["", " WITHOUT ROWID"])
    func renumbered(change: String, options: String) async throws {
        let (world, a, b) = try await machines(
            Self.parents + Self.links("link", "INTEGER", "p", options: options) + Self.rows
                + "INSERT INTO link VALUES(1, 'x', 1), (3, 'x', 2), (3, 'y', 3)")
        try a.execute("UPDATE link SET v = 'edited' WHERE v = 2")
        _ = try await a.sync()
        // Later, and before it has seen that.
        try b.execute(change)
        try await settle(a, b)
        for machine in [a, b, try await world.clone("clone")] {
            #expect(try shown(machine, "id") == ["ann x 1", "bob x edited", "bob y 3"])
            let status = try await machine.status()
            #expect(status.parked == 0 && status.conflicts == 0, "\(status)")
        }
        let written = try await b.with { try await $0.log(peer: "b", table: "link") }
        #expect(written.isEmpty, "nobody has written a link there: \(written)")
    }

    @Test("that are deleted and inserted under another integer hold what was inserted")
    func insertedAgain() async throws {
        let (_, a, b) = try await machines(
            Self.parents + Self.links("link", "INTEGER", "p") + Self.rows
                + "INSERT INTO link VALUES(3, 'x', 2), (3, 'y', 3)")
        try a.execute("UPDATE link SET v = 'edited'")
        _ = try await a.sync()
        try b.execute(
            """
            CREATE TEMP TABLE former AS SELECT * FROM link; DELETE FROM link; UPDATE p SET id = 30 WHERE id = 3;
            INSERT INTO link VALUES(30, 'x', 'new'); INSERT INTO link SELECT 30, tag, v FROM former WHERE tag = 'y'
            """)
        try await settle(a, b)
        for machine in [a, b] { #expect(try shown(machine, "id") == ["bob x new", "bob y edited"]) }
    }

    private static let texts = "CREATE TABLE q(name TEXT PRIMARY KEY NOT NULL, made INT);"
    private static let integers = parents.replacingOccurrences(of: "TABLE p", with: "TABLE q")

    private static func migration(_ parents: String, to column: String) -> String {
        let named = "(SELECT q.\(column) FROM q JOIN p ON p.name = q.name WHERE p.\(column == "id" ? "name" : "id") ="
        let type = column == "id" ? "INTEGER" : "TEXT"
        return """
            PRAGMA defer_foreign_keys = ON; \(parents) INSERT INTO q(name, made) SELECT name, made FROM p;
            \(links("other", type, "q")) INSERT INTO other SELECT \(named) link.p), tag, v FROM link;
            CREATE TABLE s(k TEXT PRIMARY KEY, p \(type) REFERENCES q ON UPDATE CASCADE);
            INSERT INTO s SELECT k, \(named) t.p) FROM t;
            DROP TABLE link; DROP TABLE t; DROP TABLE p; ALTER TABLE q RENAME TO p;
            ALTER TABLE other RENAME TO link; ALTER TABLE s RENAME TO t;
            """
    }

    /// The value of a link, by the name of the other row.
    private static func set(_ value: String, _ name: String, _ tag: String, by column: String) -> String {
        """
        UPDATE link SET v = '\(value)'
        WHERE tag = '\(tag)' AND p = (SELECT \(column) FROM p WHERE name = '\(name)');
        """
    }

    @Test("are the same after a migration that names those rows by texts, and back", arguments: [true, false])
    func migrated(seesFirst: Bool) async throws {
        let (world, a, b) = try await machines(
            Self.parents + Self.links("link", "INTEGER", "p") + Self.rows
                + """
                CREATE TABLE t(k TEXT PRIMARY KEY, p INTEGER REFERENCES p ON UPDATE CASCADE);
                INSERT INTO link VALUES(1, 'x', 0), (1, 'y', 0), (3, 'x', 0), (3, 'y', 0), (3, 'z', 0);
                INSERT INTO t VALUES('c', 1), ('d', 3)
                """)
        let there = Self.migration(Self.texts, to: "name")
        let back = Self.migration(Self.integers, to: "id")
        try b.execute(Self.set("early", "bob", "x", by: "id"))
        // What is written then no trigger sees.
        try a.execute(there + Self.set("of a", "bob", "x", by: "name") + "UPDATE t SET p = 'bob' WHERE k = 'c'")
        if seesFirst { _ = try await a.sync() }
        try b.execute(Self.set("of b", "ann", "x", by: "id"))
        try b.execute(there + Self.set("late", "bob", "y", by: "name") + "UPDATE t SET p = 'ann' WHERE k = 'd'")
        try await settle(a, b)
        for machine in [a, b, try await world.clone("clone")] {
            #expect(try shown(machine, "name") == ["ann x of b", "ann y 0", "bob x of a", "bob y late", "bob z 0"])
            #expect(try machine.strings("SELECT k || ' ' || p FROM t ORDER BY k") == ["c bob", "d ann"])
        }

        try a.execute(back + Self.set("again", "ann", "x", by: "id"))
        try b.execute(Self.set("there", "bob", "x", by: "name") + "UPDATE t SET p = 'bob' WHERE k = 'd'")
        if seesFirst { _ = try await b.sync() }
        try b.execute(back + "UPDATE t SET p = (SELECT id FROM p WHERE name = 'ann') WHERE k = 'c'")
        try await settle(a, b)
        for machine in [a, b, try await world.clone("last")] {
            #expect(try shown(machine, "id") == ["ann x again", "ann y 0", "bob x there", "bob y late", "bob z 0"])
            #expect(
                try machine.strings("SELECT k || ' ' || name FROM t JOIN p ON p.id = t.p ORDER BY k") == [
                    "c ann", "d bob",
                ])
            #expect(try await machine.status().parked == 0)
        }
    }

    /// What names the other rows before a migration and after it.
    struct Naming: Sendable, CustomTestStringConvertible {
        var before: (column: String, declaration: String)
        var after: (column: String, declaration: String)

        var testDescription: String { "\(before.column) becomes \(after.column)" }

        static let all = [
            // A text becomes another, with and without the first one.
            Naming(
                before: ("name", "name TEXT PRIMARY KEY NOT NULL, made INT"),
                after: ("uid", "uid TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE, made INT")),
            Naming(
                before: ("uid", "uid TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE, made INT"),
                after: ("name", "name TEXT PRIMARY KEY NOT NULL, made INT")),
            Naming(
                before: ("uid", "uid TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE, made INT"),
                after: ("id", "id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, made INT")),
        ]

        func rows(_ column: String) -> String { column == "uid" ? "uid, name, made" : "name, made" }

        var schema: String {
            let values = ["ann", "bob"].map { before.column == "uid" ? "('u-\($0)', '\($0)', 0)" : "('\($0)', 0)" }
            return """
                CREATE TABLE p(\(before.declaration)); INSERT INTO p(\(rows(before.column))) VALUES \(values.joined(separator: ", "));
                \(LinkRowTests.links("link", "TEXT", "p"))
                INSERT INTO link SELECT \(before.column), tag, 0 FROM p JOIN (SELECT 'x' AS tag UNION SELECT 'y');
                CREATE TABLE t(k TEXT PRIMARY KEY, p TEXT REFERENCES p); INSERT INTO t SELECT name, \(before.column) FROM p
                """
        }

        var migration: String {
            let type = after.column == "id" ? "INTEGER" : "TEXT"
            let given = after.column == "uid" ? "'u-' || name, name, made" : "name, made"
            func named(_ column: String) -> String {
                "(SELECT q.\(after.column) FROM q JOIN p ON p.name = q.name WHERE p.\(before.column) = \(column))"
            }
            return """
                PRAGMA defer_foreign_keys = ON; CREATE TABLE q(\(after.declaration));
                INSERT INTO q(\(rows(after.column))) SELECT \(given) FROM p;
                \(LinkRowTests.links("other", type, "q")) INSERT INTO other SELECT \(named("link.p")), tag, v FROM link;
                CREATE TABLE s(k TEXT PRIMARY KEY, p \(type) REFERENCES q); INSERT INTO s SELECT k, \(named("t.p")) FROM t;
                DROP TABLE link; DROP TABLE t; DROP TABLE p; ALTER TABLE q RENAME TO p;
                ALTER TABLE other RENAME TO link; ALTER TABLE s RENAME TO t;
                """
        }
    }

    @Test("keep edits where other texts, or integers, name those rows", arguments: Naming.all)
    func renamed(naming: Naming) async throws {
        let (world, a, b) = try await machines(naming.schema)
        func refer(_ key: String, _ name: String) -> String {
            "UPDATE t SET p = (SELECT \(naming.after.column) FROM p WHERE name = '\(name)') WHERE k = '\(key)';"
        }
        try b.execute(Self.set("of b", "ann", "x", by: naming.before.column))
        try a.execute(
            naming.migration + Self.set("of a", "bob", "x", by: naming.after.column) + refer("ann", "bob"))
        _ = try await a.sync()
        try b.execute(
            naming.migration + Self.set("late", "bob", "y", by: naming.after.column) + refer("bob", "ann"))
        try await settle(a, b)
        for machine in [a, b, try await world.clone("clone")] {
            #expect(try shown(machine, naming.after.column) == ["ann x of b", "ann y 0", "bob x of a", "bob y late"])
            #expect(
                try machine.strings(
                    "SELECT k || ' ' || name FROM t JOIN p ON p.\(naming.after.column) = t.p ORDER BY k")
                    == ["ann bob", "bob ann"])
            #expect(try await machine.status().parked == 0)
        }
    }

    @Test("A machine that skips a release in which other texts name rows comes to the same as one that has run it")
    func skipped() async throws {
        let (world, a, b) = try await machines(Self.parents + Self.rows)
        let first = """
            CREATE TABLE q(uid TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE, made INT);
            INSERT INTO q SELECT 'u-' || name, name, made FROM p; DROP TABLE p; ALTER TABLE q RENAME TO p;
            """
        let second = """
            \(Self.texts) INSERT INTO q SELECT name, made FROM p; DROP TABLE p; ALTER TABLE q RENAME TO p;
            """
        try a.execute(first + "INSERT INTO p VALUES('u-cid', 'cid', 1)")
        try b.execute(first)
        try b.execute(second + "INSERT INTO p VALUES('dan', 2)")
        try await settle(a, b)
        try a.execute(second)
        try await settle(a, b)
        for machine in [a, b, try await world.clone("clone")] {
            #expect(try machine.strings("SELECT name || made FROM p ORDER BY 1") == ["ann0", "bob0", "cid1", "dan2"])
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("that had been named by texts keep edits of others, too")
    func renumberedLater() async throws {
        let (_, a, b) = try await machines(
            Self.texts.replacingOccurrences(of: "TABLE q", with: "TABLE p") + Self.links("link", "TEXT", "p")
                + """
                CREATE TABLE t(k TEXT PRIMARY KEY, p TEXT REFERENCES p); INSERT INTO p VALUES('ann', 0), ('bob', 0);
                INSERT INTO link VALUES('ann', 'x', 0), ('ann', 'y', 0), ('bob', 'x', 0), ('bob', 'y', 0)
                """)
        for machine in [a, b] { try machine.execute(Self.migration(Self.integers, to: "id")) }
        try await settle(a, b)
        try a.execute(Self.set("edited", "bob", "x", by: "id"))
        _ = try await a.sync()
        try b.execute("UPDATE p SET id = id + 50")
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try shown(machine, "id") == ["ann x 0", "ann y 0", "bob x edited", "bob y 0"])
        }
    }

    @Test(
        "Rows whose identities come from a former key are found when a rebuild numbers them anew and they were edited")
    func numberedUnderOtherKey() async throws {
        let (_, a, b) = try await machines(
            Self.parents + Self.links("link", "INTEGER", "p") + Self.rows
                + "CREATE TABLE t(k TEXT PRIMARY KEY, p INTEGER REFERENCES p ON UPDATE CASCADE)")
        for migration in [Self.migration(Self.texts, to: "name"), Self.migration(Self.integers, to: "id")] {
            for machine in [a, b] { try machine.execute(migration) }
            try await settle(a, b)
        }
        try a.execute("INSERT INTO t SELECT name, id FROM p")
        _ = try await a.sync()
        try b.execute(
            """
            CREATE TABLE q(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, made INT);
            INSERT INTO q SELECT id + 40, name, made + 1 FROM p; DROP TABLE p; ALTER TABLE q RENAME TO p
            """)
        try await settle(a, b)
        for machine in [a, b] {
            #expect(
                try machine.strings("SELECT k || ' ' || name || made FROM t JOIN p ON p.id = t.p ORDER BY k") == [
                    "ann ann1", "bob bob1",
                ])
        }
    }

    @Test(
        "Rows that a rebuild numbers anew are the same where a program has given integers before",
        arguments: ["", "UPDATE p SET id = 5 WHERE id = 3", "UPDATE p SET made = 9 WHERE id = 3"])
    func numberedAnew(before: String) async throws {
        let (_, a, b) = try await machines(
            Self.parents + Self.rows + "CREATE TABLE t(k TEXT PRIMARY KEY, p INT REFERENCES p)")
        try a.execute("INSERT INTO t VALUES('c', 3)")
        _ = try await a.sync()
        try b.execute(before)
        try b.execute("INSERT INTO p(name, made) VALUES('cid', 7)")
        try b.execute(
            """
            CREATE TABLE q(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, made INT);
            INSERT INTO q(name, made) SELECT name, made FROM p ORDER BY id; DROP TABLE p; ALTER TABLE q RENAME TO p
            """)
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try machine.strings("SELECT name FROM p ORDER BY name") == ["ann", "bob", "cid"])
            #expect(try machine.strings("SELECT name FROM t JOIN p ON p.id = t.p") == ["bob"])
        }
    }

    private func machines(_ schema: String) async throws -> (world: World, a: Machine, b: Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(schema)
        try await a.initialize()
        return (world, a, try await world.clone("b"))
    }

    private func shown(_ machine: Machine, _ key: String) throws -> [String] {
        try machine.strings(
            "SELECT name || ' ' || tag || ' ' || v FROM link JOIN p ON p.\(key) = link.p ORDER BY 1")
    }
}
