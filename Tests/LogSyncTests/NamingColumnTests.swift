import Foundation
import GRDB
import LogSync
import Testing

/// A migration changes by which column of its parent a row names that, and the name of the column that does stays.
@Suite("References by another column of the parent")
struct NamingColumnTests {
    /// What the parents' key is: the declaration of their table and what follows it, the column, and the type of a reference.
    struct Key: Sendable, CustomTestStringConvertible {
        var column: String
        var parents: String
        var options = ""
        var type: String

        var testDescription: String { column + options }

        static let integer = Key(
            column: "id", parents: "id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, num INT UNIQUE", type: "INTEGER")
        static let text = Key(column: "uid", parents: "uid TEXT PRIMARY KEY NOT NULL, num INT UNIQUE", type: "TEXT")
        static let number = Key(
            column: "num", parents: "num INT PRIMARY KEY NOT NULL, uid TEXT NOT NULL UNIQUE", type: "INT")
        static let withoutRowid = Key(
            column: "num", parents: "num INTEGER PRIMARY KEY NOT NULL, uid TEXT NOT NULL UNIQUE",
            options: " WITHOUT ROWID", type: "INT")
        static let all = [integer, text, number, withoutRowid]
    }

    /// Another key in place of one, for children that need not have a parent and for others.
    struct Change: Sendable, CustomTestStringConvertible {
        var from: Key
        var to: Key
        var notNull = ""

        var testDescription: String { "\(from.testDescription) becomes \(to.testDescription)\(notNull)" }

        static let all = Key.all.flatMap { from in
            Key.all.filter { $0.testDescription != from.testDescription }.map { Change(from: from, to: $0) }
        }

        func child(_ name: String, _ key: Key, _ parent: String = "p") -> String {
            "CREATE TABLE \(name)(k TEXT PRIMARY KEY, p \(key.type)\(notNull) REFERENCES \(parent)(\(key.column)), v TEXT)"
        }

        var schema: String {
            """
            CREATE TABLE p(\(from.parents))\(from.options); \(child("c", from));
            INSERT INTO p(uid, num) VALUES('pa', 1001), ('pb', 1002), ('pc', 1003);
            INSERT INTO c SELECT 'c' || uid, \(from.column), 'v' FROM p;
            """
        }

        var migration: String {
            """
            PRAGMA defer_foreign_keys = ON;
            CREATE TABLE new_p(\(to.parents))\(to.options); INSERT INTO new_p(uid, num) SELECT uid, num FROM p;
            \(child("new_c", to, "new_p"));
            INSERT INTO new_c SELECT k, (
                SELECT new_p.\(to.column) FROM new_p JOIN p AS former ON former.uid = new_p.uid
                WHERE former.\(from.column) = c.p), v FROM c;
            DROP TABLE c; DROP TABLE p; ALTER TABLE new_p RENAME TO p; ALTER TABLE new_c RENAME TO c
            """
        }
    }

    @Test(
        "go on naming the same rows, on the machine that has not migrated, too", arguments: Change.all,
        ["", " NOT NULL"])
    func bothWays(change: Change, notNull: String) async throws {
        var change = change
        change.notNull = notNull
        let (_, a, b) = try await machines(change)
        try a.execute(change.migration)
        try await settle(a, b)
        var expected = ["cpa pa", "cpb pb", "cpc pc"]
        #expect(try shown(b, change.from) == expected)

        try b.execute("INSERT INTO c SELECT 'b', \(change.from.column), 'v' FROM p WHERE uid = 'pa'")
        try a.execute("INSERT INTO c SELECT 'a', \(change.to.column), 'v' FROM p WHERE uid = 'pb'")
        try a.execute("UPDATE c SET p = (SELECT \(change.to.column) FROM p WHERE uid = 'pc') WHERE k = 'cpa'")
        try await settle(a, b)
        expected = ["a pb", "b pa", "cpa pc", "cpb pb", "cpc pc"]
        #expect(try shown(a, change.to) == expected)
        #expect(try shown(b, change.from) == expected)

        try b.execute(change.migration)
        try b.execute("UPDATE c SET v = 'edited' WHERE k = 'cpb'; DELETE FROM c WHERE k = 'b'")
        try await settle(a, b)
        expected.remove(at: 1)
        for machine in [a, b] {
            #expect(try shown(machine, change.to) == expected)
            #expect(try machine.count("SELECT count(*) FROM c WHERE k = 'cpb' AND v = 'edited'") == 1)
            let status = try await machine.status()
            #expect(status.parked == 0 && status.conflicts == 0, "\(status)")
        }
    }

    @Test("that another machine has edited before, or since, keep what that says", arguments: Change.all)
    func edits(change: Change) async throws {
        let (world, a, b) = try await machines(change)
        let late = try await world.clone("late")
        try b.execute("UPDATE c SET p = (SELECT \(change.from.column) FROM p WHERE uid = 'pc') WHERE k = 'cpa'")
        _ = try await b.sync()
        try a.execute(change.migration)
        try await settle(a, b)
        try b.execute(change.migration)
        try await settle(a, b)
        #expect(try shown(a, change.to) == ["cpa pc", "cpb pb", "cpc pc"])

        try a.execute("UPDATE c SET p = (SELECT \(change.to.column) FROM p WHERE uid = 'pa') WHERE k = 'cpb'")
        try await settle(a, b)
        // Nobody has touched a thing there.
        try late.execute(change.migration)
        try await settle(a, b, late)
        for machine in [a, b, late] {
            #expect(try shown(machine, change.to) == ["cpa pc", "cpb pa", "cpc pc"])
        }
    }

    @Test("are found where the column is new, or several rows may hold the same there", arguments: [true, false])
    func newColumn(isNew: Bool) async throws {
        let other = isNew ? "" : ", num"
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT\(other)); CREATE TABLE c(k TEXT PRIMARY KEY, p INT REFERENCES p(id));
            INSERT INTO p(id, name) VALUES(1, 'ann'), (2, 'bob'); INSERT INTO c VALUES('c1', 1), ('c2', 2)
            """)
        if !isNew { try a.execute("UPDATE p SET num = 1000 + id") }
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = """
            PRAGMA defer_foreign_keys = ON; CREATE TABLE new_p(num INT PRIMARY KEY NOT NULL, name TEXT);
            INSERT INTO new_p SELECT \(isNew ? "1000 + id" : "num"), name FROM p;
            CREATE TABLE new_c(k TEXT PRIMARY KEY, p INT REFERENCES new_p(num));
            INSERT INTO new_c SELECT k, (SELECT \(isNew ? "1000 + id" : "num") FROM p WHERE id = c.p) FROM c;
            DROP TABLE c; DROP TABLE p; ALTER TABLE new_p RENAME TO p; ALTER TABLE new_c RENAME TO c
            """
        try a.execute(migration)
        try await settle(a, b)
        #expect(try read(b, "SELECT k || ' ' || id FROM c JOIN p ON id = p ORDER BY 1") == ["c1 1", "c2 2"])
        try b.execute(migration)
        try await settle(a, b)
        for machine in [a, b] {
            #expect(
                try read(machine, "SELECT k || ' ' || num FROM c JOIN p ON num = p ORDER BY 1") == [
                    "c1 1001", "c2 1002",
                ])
        }
    }

    @Test("are found where two machines name them by different columns, and neither has heard of the other's")
    func bothTold() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, name TEXT NOT NULL UNIQUE);
            CREATE TABLE c(k TEXT PRIMARY KEY, p INTEGER REFERENCES p); INSERT INTO p VALUES(1, 'u1', 'ann'), (2, 'u2', 'bob');
            INSERT INTO c VALUES('c1', 1), ('c2', 2)
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        func migrate(_ machine: Machine, _ key: String, _ other: String) throws {
            try machine.execute(
                """
                PRAGMA defer_foreign_keys = ON; CREATE TABLE q(\(key) TEXT PRIMARY KEY NOT NULL, \(other) TEXT NOT NULL UNIQUE);
                INSERT INTO q SELECT \(key), \(other) FROM p; CREATE TABLE d(k TEXT PRIMARY KEY, p TEXT REFERENCES q);
                INSERT INTO d SELECT k, (SELECT \(key) FROM p WHERE id = c.p) FROM c; DROP TABLE c; DROP TABLE p;
                ALTER TABLE q RENAME TO p; ALTER TABLE d RENAME TO c
                """)
        }
        try migrate(a, "name", "uid")
        try migrate(b, "uid", "name")
        try a.execute("INSERT INTO c VALUES('a', 'bob')")
        try b.execute("INSERT INTO c VALUES('b', 'u1')")
        try await settle(a, b)
        for (machine, key) in [(a, "name"), (b, "uid")] {
            #expect(
                try read(machine, "SELECT k || ' ' || name FROM c JOIN p ON \(key) = p ORDER BY 1") == [
                    "a bob", "b ann", "c1 ann", "c2 bob",
                ])
            let status = try await machine.status()
            #expect(status.parked == 0 && status.conflicts == 0, "\(status)")
        }
    }

    @Test("are found where the key has another type", arguments: [("BLOB", "TEXT"), ("TEXT", "BLOB"), ("TEXT", "INT")])
    func types(from: String, to: String) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(u \(from) PRIMARY KEY NOT NULL, name TEXT); CREATE TABLE c(k TEXT, p \(from) REFERENCES p(u));
            INSERT INTO p VALUES(CAST('11' AS \(from)), 'ann'), (CAST('22' AS \(from)), 'bob');
            INSERT INTO c SELECT 'c1', u FROM p WHERE name = 'ann'
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = """
            CREATE TABLE new_p(u \(to) PRIMARY KEY NOT NULL, name TEXT);
            INSERT INTO new_p SELECT CAST(u AS \(to)), name FROM p;
            CREATE TABLE new_c(k TEXT, p \(to) REFERENCES new_p(u)); INSERT INTO new_c SELECT k, CAST(p AS \(to)) FROM c;
            DROP TABLE c; DROP TABLE p; ALTER TABLE new_p RENAME TO p; ALTER TABLE new_c RENAME TO c
            """
        try b.execute("INSERT INTO c SELECT 'c2', u FROM p WHERE name = 'bob'")
        try a.execute(migration)
        try await settle(a, b)
        let shown = "SELECT k || ' ' || name FROM c JOIN p ON u = p ORDER BY 1"
        for machine in [a, b] { #expect(try read(machine, shown) == ["c1 ann", "c2 bob"]) }
        try b.execute(migration)
        try await settle(a, b)
        for machine in [a, b, try await world.clone("clone")] {
            #expect(try read(machine, shown) == ["c1 ann", "c2 bob"])
            #expect(try await machine.status().parked == 0)
        }
    }

    @Test("bring no row back that was deleted, where edits win over deletes", arguments: Change.all)
    func deletes(change: Change) async throws {
        let (world, a, b) = try await machines(change, policies: [("c", "delete-loses")])
        let late = try await world.clone("late")
        for machine in [a, b] { try machine.execute(change.migration) }
        try await settle(a, b)
        try a.execute("DELETE FROM c WHERE k = 'cpa'")
        try await settle(a, b)
        try late.execute(change.migration)
        try await settle(a, b, late)
        for machine in [a, b, late] {
            #expect(try shown(machine, change.to) == ["cpb pb", "cpc pc"])
            #expect(try await machine.status().conflicts == 0)
        }
    }

    @Test("A row that a late migration has filled does not come back, either, and one that was edited does")
    func fills() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO t VALUES('x', '1'), ('y', '2'), ('z', '3')
            """)
        try await a.initialize(options([("t", "delete-loses")]))
        let (b, late) = (try await world.clone("b"), try await world.clone("late"))
        let migration = "ALTER TABLE t ADD COLUMN w TEXT; UPDATE t SET w = k || '!'"
        for machine in [a, b] { try machine.execute(migration) }
        try await settle(a, b)
        try a.execute("DELETE FROM t WHERE k IN ('x', 'y')")
        try await settle(a, b)
        try late.execute("UPDATE t SET v = 'edited' WHERE k = 'y'")
        try late.execute(migration)
        try await settle(a, b, late)
        for machine in [a, b, late] {
            #expect(try read(machine, "SELECT k || v FROM t ORDER BY 1") == ["yedited", "z3"])
        }
    }

    private func machines(
        _ change: Change, policies: [(target: String, policy: String)] = []
    ) async throws -> (world: World, a: Machine, b: Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(change.schema)
        try await a.initialize(options(policies))
        return (world, a, try await world.clone("b"))
    }

    private func options(_ policies: [(target: String, policy: String)]) -> InitializeOptions {
        var options = InitializeOptions()
        options.policies = policies
        return options
    }

    private func shown(_ machine: Machine, _ key: Key) throws -> [String] {
        try read(machine, "SELECT k || ' ' || uid FROM c JOIN p ON p.\(key.column) = c.p ORDER BY 1")
    }

    private func read(_ machine: Machine, _ sql: String) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: sql) }
    }
}
