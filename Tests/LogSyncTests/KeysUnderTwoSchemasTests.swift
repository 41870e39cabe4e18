import Foundation
import GRDB
import LogSync
import Testing

/// One machine has made another key of an integer, and others have not yet: each goes on naming rows in its own way.
@Suite("References while one machine has given rows other keys")
struct KeysUnderTwoSchemasTests {
    struct Kind: Sendable, CustomTestStringConvertible {
        var name: String
        var schema: String
        var migrated: String
        var isDeclared = true

        var testDescription: String { name }
    }

    static let kinds = [
        Kind(
            name: "a foreign key",
            schema: "CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), v TEXT)",
            migrated: """
                CREATE TABLE new_c(id INTEGER PRIMARY KEY, p TEXT REFERENCES new_p(id), v TEXT);
                INSERT INTO new_c SELECT c.id, (SELECT new FROM m WHERE old = p), v FROM c;
                """),
        Kind(
            name: "one that must be there",
            schema: "CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER NOT NULL REFERENCES p(id), v TEXT)",
            migrated: """
                CREATE TABLE new_c(id INTEGER PRIMARY KEY, p TEXT NOT NULL REFERENCES new_p(id), v TEXT);
                INSERT INTO new_c SELECT c.id, (SELECT new FROM m WHERE old = p), v FROM c;
                """),
        Kind(
            name: "part of the row's own key",
            schema: "CREATE TABLE c(p INTEGER REFERENCES p(id), v TEXT, PRIMARY KEY(p, v))",
            migrated: """
                CREATE TABLE new_c(p TEXT REFERENCES new_p(id), v TEXT, PRIMARY KEY(p, v));
                INSERT INTO new_c SELECT (SELECT new FROM m WHERE old = p), v FROM c;
                """),
        Kind(
            name: "one that is not declared", schema: "CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER, v TEXT)",
            migrated: """
                CREATE TABLE new_c(id INTEGER PRIMARY KEY, p TEXT, v TEXT);
                INSERT INTO new_c SELECT c.id, (SELECT new FROM m WHERE old = p), v FROM c;
                """, isDeclared: false),
    ]

    @Test(
        "Each machine shows its own key of the same row, whichever wrote it", arguments: kinds,
        ["'u-' || name", "CAST(id * 10 AS TEXT)"])
    func bothWays(kind: Kind, key: String) async throws {
        // Numbers that machines give each other's rows are exchanged row by row where they are part of keys.
        if kind.name == "part of the row's own key", key.contains("id") { return }
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE); \(kind.schema);
            INSERT INTO p VALUES(1, 'ann'), (2, 'bob'); INSERT INTO c(p, v) VALUES(1, 'c1'), (2, 'c2'), (2, 'c3')
            """)
        var options = InitializeOptions()
        if !kind.isDeclared { options.references = [InitializeOptions.Reference(table: "c", column: "p", parent: "p")] }
        _ = try await a.initialize(options)
        let b = try await world.clone("b")
        // From here on integers differ.
        try a.execute(
            "INSERT INTO p(name) VALUES('of a'); INSERT INTO c(p, v) SELECT id, 'ca' FROM p WHERE name = 'of a'")
        try b.execute(
            "INSERT INTO p(name) VALUES('of b'); INSERT INTO c(p, v) SELECT id, 'cb' FROM p WHERE name = 'of b'")
        try await settle(a, b)
        try migrate(a, kind, key)
        try await settle(a, b)
        var expected = ["ann c1", "bob c2", "bob c3", "of a ca", "of b cb"]
        #expect(try shown(b) == expected)
        #expect(try b.count("SELECT count(*) FROM c WHERE typeof(p) <> 'integer'") == 0)

        try a.execute("INSERT INTO c(p, v) SELECT id, 'a2' FROM p WHERE name = 'of b'")
        try a.execute("INSERT INTO p VALUES('new', 'new'); INSERT INTO c(p, v) VALUES('new', 'a3')")
        try b.execute("INSERT INTO c(p, v) SELECT id, 'b2' FROM p WHERE name = 'of a'")
        try b.execute("UPDATE c SET p = (SELECT id FROM p WHERE name = 'ann') WHERE v = 'c3'")
        try await settle(a, b)
        expected = ["ann c1", "ann c3", "bob c2", "new a3", "of a b2", "of a ca", "of b a2", "of b cb"]
        #expect(try shown(a) == expected)
        #expect(try shown(b) == expected)

        try migrate(b, kind, key)
        try await settle(a, b)
        let clone = try await world.clone("clone")
        for machine in [a, b, clone] {
            #expect(try shown(machine) == expected)
            #expect(try await machine.status().parked == 0)
        }
        #expect(try keys(a) == keys(b))
    }

    @Test("A clone of the migrated schema reads history, though the references are enforced no more and must be there")
    func unenforced() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            PRAGMA defer_foreign_keys = ON; CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            INSERT INTO p VALUES(1, 'ann'), (2, 'bob');
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER NOT NULL, v TEXT); INSERT INTO c VALUES(1, 1, 'c1'), (2, 99, 'c2')
            """)
        var options = InitializeOptions()
        options.references = [InitializeOptions.Reference(table: "c", column: "p", parent: "p")]
        _ = try await a.initialize(options)
        try a.execute(
            """
            CREATE TABLE new_p(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE);
            INSERT INTO new_p SELECT 'u-' || id, name FROM p;
            CREATE TABLE new_c(id INTEGER PRIMARY KEY, p TEXT NOT NULL, v TEXT);
            INSERT INTO new_c SELECT id, 'u-' || p, v FROM c;
            DROP TABLE c; DROP TABLE p; ALTER TABLE new_p RENAME TO p; ALTER TABLE new_c RENAME TO c
            """)
        _ = try await a.sync()
        let clone = try await world.clone("clone")
        #expect(try read(clone, "SELECT p || ' ' || v FROM c ORDER BY v") == ["u-1 c1", "u-99 c2"])
        #expect(try await Replicator.verify(a.path, configuration: a.configuration).findings.isEmpty)
    }

    @Test("A migration breaks no reference by what it lets rows name", arguments: [0, 1])
    func enforcedStill(exchanged: Int) async throws {
        let kind = Self.kinds[exchanged]
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE); \(kind.schema);
            INSERT INTO p VALUES(1, 'ann'); INSERT INTO c(p, v) VALUES(1, 'c1')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        for machine in [a, b] {
            try machine.execute(
                """
                INSERT INTO p(name) VALUES('of \(machine.name)');
                INSERT INTO c(p, v) SELECT id, 'c\(machine.name)' FROM p WHERE name = 'of \(machine.name)'
                """)
        }
        try await settle(a, b)
        for machine in [a, b] {
            // The second machine's own keys are nobody's once it takes over the first's.
            try migrate(machine, kind, "CAST(id * 10 + \(machine.name == "b" ? 1 : 0) AS TEXT)")
            try await settle(a, b)
        }
        for machine in [a, b] {
            #expect(try await machine.status().unenforced.isEmpty)
            #expect(try shown(machine) == ["ann c1", "of a ca", "of b cb"])
        }
    }

    @Test(
        "An integer that becomes a text and an integer again is a number of each machine's own to all of them",
        arguments: [true, false], ["n-", ""])
    func thereAndBack(isStepwise: Bool, prefix: String) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE); \(Self.kinds[0].schema);
            INSERT INTO p VALUES(1, 'ann'), (2, 'bob'); INSERT INTO c(p, v) VALUES(1, 'c1'), (2, 'c2'), (2, 'c3')
            """)
        try await a.initialize()
        let (b, c) = (try await world.clone("b"), try await world.clone("c"))
        let text = "'\(prefix)' || id"
        try migrate(a, Self.kinds[0], text)
        try await settle(a, b)
        if isStepwise {
            try migrate(b, Self.kinds[0], text)
            try await settle(a, b)
        }
        try migrateBack(a, prefix)
        try await settle(a, b)
        if !isStepwise { try migrate(b, Self.kinds[0], text) }
        try migrateBack(b, prefix)
        try await settle(a, b, c)
        let expected = ["ann c1", "bob c2", "bob c3"]
        for machine in [a, b, c] { #expect(try shown(machine) == expected) }
        try migrate(c, Self.kinds[0], text)
        try migrateBack(c, prefix)
        try await settle(a, b, c)
        for machine in [a, b, c, try await world.clone("clone")] {
            #expect(try shown(machine) == expected)
            #expect(try await Replicator.verify(machine.path, configuration: machine.configuration).findings.isEmpty)
        }
    }

    private func migrateBack(_ machine: Machine, _ prefix: String) throws {
        try machine.execute(
            """
            CREATE TABLE new_p(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            INSERT INTO new_p SELECT CAST(substr(id, \(prefix.count + 1)) AS INTEGER), name FROM p;
            CREATE TABLE new_c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES new_p(id), v TEXT);
            INSERT INTO new_c SELECT id, CAST(substr(p, \(prefix.count + 1)) AS INTEGER), v FROM c;
            DROP TABLE c; DROP TABLE p; ALTER TABLE new_p RENAME TO p; ALTER TABLE new_c RENAME TO c
            """)
    }

    @Test("Rows that refer to rows of their own table are shown at once", arguments: ["", "NOT NULL"])
    func ownTable(notNull: String) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, up INTEGER \(notNull) REFERENCES t(id), v TEXT);
            INSERT INTO t VALUES(1, 1, 'root'), (2, 1, 'x'), (4, 2, 'y'), (3, 4, 'z')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        try a.execute(
            """
            CREATE TABLE new_t(id TEXT PRIMARY KEY NOT NULL, up TEXT \(notNull) REFERENCES new_t(id), v TEXT);
            INSERT INTO new_t SELECT 'u-' || v, 'u-' || (SELECT v FROM t AS p WHERE p.id = t.up), v FROM t ORDER BY id = 3, id;
            DROP TABLE t; ALTER TABLE new_t RENAME TO t
            """)
        try await settle(a, b)
        let query = "SELECT t.v || ' ' || p.v FROM t JOIN t AS p ON p.id = t.up ORDER BY 1"
        for machine in [a, b] { #expect(try read(machine, query) == ["root root", "x root", "y x", "z y"]) }
    }

    @Test("How a migration names the parents of rows that were deleted elsewhere is no edit that was lost")
    func noLostEdits() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE); \(Self.kinds[0].schema);
            INSERT INTO p VALUES(1, 'ann'), (2, 'bob'); INSERT INTO c(p, v) VALUES(1, 'c1'), (2, 'c2'), (2, 'c3')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        try b.execute("DELETE FROM c WHERE v <> 'c1'; DELETE FROM p WHERE id = 2")
        try migrate(a, Self.kinds[0], "'u-' || name")
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try await machine.status().conflicts == 0)
            #expect(try shown(machine) == ["ann c1"])
        }
    }

    private func migrate(_ machine: Machine, _ kind: Kind, _ key: String) throws {
        try machine.execute(
            """
            CREATE TEMP TABLE m AS SELECT id AS old, \(key) AS new FROM p;
            CREATE TABLE new_p(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE);
            INSERT INTO new_p SELECT new, name FROM p JOIN m ON old = id;
            \(kind.migrated)
            DROP TABLE c; DROP TABLE p; ALTER TABLE new_p RENAME TO p; ALTER TABLE new_c RENAME TO c
            """)
    }

    private func shown(_ machine: Machine) throws -> [String] {
        try read(machine, "SELECT name || ' ' || v FROM c JOIN p ON p.id = c.p ORDER BY 1")
    }

    private func keys(_ machine: Machine) throws -> [String] {
        try read(machine, "SELECT id || ' ' || name FROM p ORDER BY 1")
    }

    private func read(_ machine: Machine, _ sql: String) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: sql) }
    }

    @Test(
        "A table without a key that gets an integer for one has its rows in each clone, and takes those of who joins with it",
        arguments: [false, true])
    func keyless(isMigrated: Bool) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE t(name TEXT, v TEXT); INSERT INTO t VALUES('x', '1'), ('y', '2'), ('z', '3')")
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = """
            CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT, v TEXT); INSERT INTO n(name, v) SELECT name, v FROM t;
            DROP TABLE t; ALTER TABLE n RENAME TO t
            """
        if isMigrated {
            try a.execute(migration)
            try await a.sync()
        }
        try a.execute("UPDATE t SET v = 'edited' WHERE name = 'z'; INSERT INTO t(name, v) VALUES('new', '4')")
        try await settle(a, b)
        let c = try await world.clone("c")
        let d = try world.machine("d")
        try d.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, v TEXT); INSERT INTO t VALUES(2, 'of d', '5')")
        try await d.initialize()
        try await settle(a, b, c, d)
        // Of the schema that came last, which is that of who joined.
        let f = try await world.clone("f")
        if !isMigrated {
            for machine in [a, c] { try machine.execute(migration) }
            try await settle(a, c, d)
        }
        try b.execute(migration)
        try await settle(b, a, c, d, f)
        for machine in [a, b, c, d, f, try await world.clone("e")] {
            #expect(
                try machine.strings("SELECT name || ' ' || v FROM t ORDER BY 1") == [
                    "new 4", "of d 5", "x 1", "y 2", "z edited",
                ], "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }
}
