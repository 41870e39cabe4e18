import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// Migrations after which nothing tells which column is which: the columns are left alone until it is said.
@Suite("Columns of which nothing tells what they were")
struct UndecidedColumnTests {
    private static let exchange =
        "ALTER TABLE t RENAME x TO tmp; ALTER TABLE t RENAME y TO x; ALTER TABLE t RENAME tmp TO y;"
    private static let anew = "ALTER TABLE t DROP COLUMN x; ALTER TABLE t ADD COLUMN x TEXT;"
    private static let shown = "SELECT coalesce(x,'-')||' '||coalesce(y,'-') FROM t ORDER BY 1"

    private func pair(_ world: World, _ rows: String = "") async throws -> (Machine, Machine) {
        let a = try world.machine("a")
        try a.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT, y TEXT);" + rows)
        try await a.initialize()
        return (a, try await world.clone("b"))
    }

    private func expectAgreement(_ a: Machine, _ b: Machine, _ expected: [String], _ query: String = shown) async throws
    {
        for machine in [a, b] {
            #expect(try rows(query, machine) == expected)
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
            #expect(try await machine.status().undecided.isEmpty)
        }
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test(
        "are left alone after two have exchanged their names in a table without values, until a command says it",
        arguments: ["", "INSERT INTO t VALUES(1,'same','same'),(2,NULL,NULL)"])
    func exchanged(rows: String) async throws {
        let world = try World()
        let (a, b) = try await pair(world, rows)
        try a.execute(Self.exchange)
        try await settle(a, b)
        let undecided = try #require(try await a.status().undecided.first)
        #expect(undecided.table == "t")
        #expect(undecided.columns.map(\.name) == ["y", "x"])
        #expect(undecided.renamed.hasSuffix(" --rename t.x=y --rename t.y=x"), "\(undecided.renamed)")
        #expect(undecided.notRenamed.hasSuffix(" --rename t.y=y --rename t.x=x"), "\(undecided.notRenamed)")
        let finding = try await doctor(a).first { $0.code == "undecided-columns" }
        #expect(finding?.help?.contains(undecided.renamed) ?? false)

        try a.execute("INSERT INTO t(x, y) VALUES('new x', 'new y')")
        try await settle(a, b)
        #expect(try self.rows(Self.shown, b).last == "- -" || !rows.isEmpty)
        try await a.with { _ = try await $0.migrate("", renames: ["t.x=y", "t.y=x"]) }
        try await settle(a, b)
        try b.execute(Self.exchange)
        try await settle(a, b)
        let expected = rows.isEmpty ? ["new x new y"] : ["- -", "new x new y", "same same"]
        try await expectAgreement(a, b, expected)
        #expect(try self.rows(Self.shown, try await world.clone("c")) == expected)
    }

    @Test("leave nothing behind when the store leaves, and neither do tables that were dropped")
    func left() async throws {
        let world = try World()
        let (a, _) = try await pair(
            world,
            "INSERT INTO t VALUES(1,'same','same'); CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO u(v) VALUES('v')"
        )
        try a.execute(Self.exchange + "DROP TABLE u")
        try await a.sync()
        let own = "SELECT name FROM sqlite_master WHERE name LIKE 'logsync%'"
        #expect(try Set(["logsync_undecided", "logsync_dropped"]).isSubset(of: a.strings(own)))
        try await a.with { _ = try await $0.leave() }
        #expect(try a.strings(own) == [])
    }

    @Test("are what they are called where the command says so")
    func madeAnew() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        try a.execute(Self.anew)
        try await settle(a, b)
        try a.execute("INSERT INTO t(x, y) VALUES('ax', 'ay')")
        try b.execute("INSERT INTO t(x, y) VALUES('bx', 'by')")
        try await settle(a, b)
        #expect(try rows(Self.shown, a) == ["- -", "ax ay"])
        try await a.with { _ = try await $0.migrate("", renames: ["t.x=x", "t.y=y"]) }
        try await settle(a, b)
        try await expectAgreement(a, b, ["ax ay", "bx by"])
    }

    @Test("are what a peer says that has values to tell", arguments: [true, false])
    func told(isExchange: Bool) async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let migration = isExchange ? Self.exchange : Self.anew
        try a.execute(migration)
        try await settle(a, b)
        try a.execute("INSERT INTO t(x, y) VALUES('ax', 'ay')")
        try b.execute("INSERT INTO t(x, y) VALUES('bx', 'by')")
        try await settle(a, b)
        #expect(try await a.status().undecided.count == 1)
        try b.execute(migration)
        try await settle(a, b)
        guard !isExchange else { return try await expectAgreement(a, b, ["ax ay", "by bx"]) }
        // What the column held that went is lost where it went, and nobody has cleared it.
        #expect(try rows(Self.shown, a) == ["ax ay", "bx by"])
        #expect(try rows(Self.shown, b) == ["- by", "ax ay"])
        #expect(try await b.status().lacks.map(\.name) == ["t.x"])
        #expect(try await a.status().undecided.isEmpty)
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("may be one that came in a rebuild where another went", arguments: ["t.x=z", "t.z=z"])
    func rebuilt(said: String) async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let isRenamed = said == "t.x=z"
        let migration = """
            CREATE TABLE n(id INTEGER PRIMARY KEY, z TEXT, y TEXT);
            INSERT INTO n SELECT id, \(isRenamed ? "x" : "NULL"), y FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
            """
        try a.execute(migration)
        try await settle(a, b)
        try a.execute("INSERT INTO t(z, y) VALUES('az', 'ay')")
        try b.execute("INSERT INTO t(x, y) VALUES('bx', 'by')")
        try await settle(a, b)
        #expect(try await a.status().undecided.first?.columns.map(\.name) == ["z"])
        try await a.with { _ = try await $0.migrate("", renames: [said]) }
        try await settle(a, b)
        try b.execute(migration)
        try await settle(a, b)
        try await expectAgreement(
            a, b, isRenamed ? ["az ay", "bx by"] : ["- by", "az ay"],
            "SELECT coalesce(z,'-')||' '||y FROM t ORDER BY 1")
    }

    @Test("have what was written meanwhile where another peer says that they are new ones")
    func newElsewhere() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        for machine in [a, b] {
            try machine.execute(
                """
                CREATE TABLE n(id INTEGER PRIMARY KEY, z TEXT, y TEXT);
                INSERT INTO n SELECT id, NULL, y FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
                """)
            try await machine.sync()
            try machine.execute("INSERT INTO t(z, y) VALUES('\(machine.name) z', 'y')")
            try await machine.sync()
            #expect(try await machine.status().undecided.first?.columns.map(\.name) == ["z"])
        }
        try await a.with { _ = try await $0.migrate("", renames: ["t.z=z"]) }
        try await settle(a, b)
        try await expectAgreement(a, b, ["a z y", "b z y"], "SELECT z||' '||y FROM t ORDER BY 1")
    }

    @Test(
        "may have had their names taken in a rebuild, or have been copied and changed",
        arguments: ["t.x=x_old", "t.x=x"], ["id INTEGER PRIMARY KEY, ", ""])
    func takenOver(said: String, key: String) async throws {
        let world = try World()
        let a = try world.machine("a")
        let y = key.isEmpty ? "y TEXT PRIMARY KEY NOT NULL" : "y TEXT"
        let tail = key.isEmpty ? ") WITHOUT ROWID" : ")"
        try a.execute(
            "CREATE TABLE t(\(key)w TEXT, \(y)\(tail); INSERT INTO t(w, y) VALUES('1', 'a'), ('2', 'b'), ('3', 'c')")
        try await a.initialize()
        let b = try await world.clone("b")
        // What has been said of its name before says nothing of what becomes of it now.
        for machine in [a, b] {
            try machine.execute("ALTER TABLE t RENAME w TO x")
            try await settle(a, b)
        }
        let migration = """
            CREATE TABLE n(\(key)x TEXT, \(y), x_old TEXT\(tail);
            INSERT INTO n(x, y, x_old) SELECT 'new ' || y, y, x FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
            """
        try a.execute(migration)
        try await settle(a, b)
        let undecided = try #require(try await a.status().undecided.first)
        #expect(undecided.columns.map(\.name) == ["x_old", "x"])
        #expect(undecided.renamed.hasSuffix(".db --rename t.x=x_old"), "\(undecided.renamed)")
        #expect(undecided.notRenamed.hasSuffix(".db --rename t.x_old=x_old --rename t.x=x"), "\(undecided.notRenamed)")
        // Neither has been told of anything yet, and both write.
        #expect(try rows("SELECT x FROM t ORDER BY y", b) == ["1", "2", "3"])
        try a.execute("INSERT INTO t(x, y, x_old) VALUES('new d', 'd', '4')")
        try b.execute("UPDATE t SET x = 'by b' WHERE y = 'b'; INSERT INTO t(x, y) VALUES('5', 'e')")
        try await settle(a, b)
        try await a.with { _ = try await $0.migrate("", renames: [said]) }
        try await settle(a, b)
        let isRenamed = said == "t.x=x_old"
        let query = "SELECT y || ' ' || coalesce(x_old, '-') || ' ' || coalesce(x, '-') FROM t ORDER BY y"
        if isRenamed {
            #expect(try rows("SELECT x FROM t ORDER BY y", b) == ["1", "by b", "3", "4", "5"])
            #expect(try rows(query, a) == ["a 1 new a", "b by b new b", "c 3 new c", "d 4 new d", "e 5 -"])
        }
        try b.execute(migration)
        try await settle(a, b)
        let found = try rows(query, a)
        try await expectAgreement(a, b, found, query)
        if isRenamed {
            #expect(found == ["a 1 new a", "b by b new b", "c 3 new c", "d 4 new d", "e 5 new e"])
        } else {
            #expect(found.map { $0.split(separator: " ").count >= 3 }.allSatisfy { $0 })
        }
    }

    @Test("are none after one statement, which says that it was a renaming")
    func oneStatement() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        try a.execute("ALTER TABLE t RENAME y TO z")
        try await settle(a, b)
        #expect(try await a.status().undecided.isEmpty)
        try a.execute("INSERT INTO t(x, z) VALUES('ax', 'az')")
        try await settle(a, b)
        #expect(try rows(Self.shown, b) == ["ax az"])
    }

    @Test(
        "are none where the rows that were not written since tell",
        arguments: [
            "ALTER TABLE t RENAME y TO z", "ALTER TABLE t RENAME y TO z; CREATE INDEX i ON t(z)",
            "CREATE TABLE n(id INTEGER PRIMARY KEY, x TEXT, z TEXT); INSERT INTO n SELECT * FROM t; DROP TABLE t; "
                + "ALTER TABLE n RENAME TO t",
        ])
    func rowsThatWereNotWritten(migration: String) async throws {
        let world = try World()
        let (a, b) = try await pair(
            world, "INSERT INTO t VALUES(1,'1','a'),(2,'2','b'),(3,'3','c'),(4,'4','d'),(5,'5','e')")
        for (machine, name) in [(a, "a"), (b, "b")] {
            try machine.execute("UPDATE t SET y = '\(name)' || y WHERE x IN ('1', '2', '3')")
            try machine.execute("INSERT INTO t(x, y) VALUES('new', 'of \(name)')")
            try machine.execute(migration)
            try machine.execute("UPDATE t SET z = z || '!' WHERE x = '1'")
        }
        try await settle(a, b)
        let expected = ["1 ba!", "2 bb", "3 bc", "4 d", "5 e", "new of a", "new of b"]
        try await expectAgreement(a, b, expected, "SELECT x||' '||z FROM t ORDER BY 1")
    }

    @Test("are those of a rebuilt table of which every row was written since")
    func everyRowWasWritten() async throws {
        let world = try World()
        let (a, b) = try await pair(world, "INSERT INTO t VALUES(1,'1','a'),(2,'2','b')")
        try a.execute("UPDATE t SET y = y || '!'")
        try a.execute(
            "CREATE TABLE n(id INTEGER PRIMARY KEY, x TEXT, z TEXT); INSERT INTO n SELECT * FROM t; DROP TABLE t;"
                + "ALTER TABLE n RENAME TO t")
        try await settle(a, b)
        #expect(try await a.status().undecided.first?.columns.map(\.name) == ["z"])
        try await a.with { _ = try await $0.migrate("", renames: ["t.y=z"]) }
        try await settle(a, b)
        #expect(try rows(Self.shown, b) == ["1 a!", "2 b!"])
    }

    @Test("are held in a table whose key becomes an integer at once")
    func heldUnderAnotherKey() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            "CREATE TABLE t(k TEXT NOT NULL, l TEXT NOT NULL DEFAULT 'g', x TEXT, PRIMARY KEY(k, l));"
                + "INSERT INTO t(k, x) VALUES('r1', '1'), ('r2', '2'), ('r3', '3')")
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = """
            CREATE TABLE n(id INTEGER PRIMARY KEY, k TEXT, l TEXT DEFAULT 'g', x_old TEXT, x TEXT);
            INSERT INTO n(k, l, x_old, x) SELECT k, l, x, 'new ' || k FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
            """
        for machine in [a, b] { try machine.execute(migration) }
        try b.execute("DELETE FROM t WHERE k = 'r1'")
        try await settle(a, b)
        for machine in [a, b] {
            guard try await !machine.status().undecided.isEmpty else { continue }
            try await machine.with { _ = try await $0.migrate("", renames: ["t.x=x_old"]) }
        }
        try await settle(a, b)
        try await expectAgreement(
            a, b, ["r2 2 new r2", "r3 3 new r3"], "SELECT k || ' ' || x_old || ' ' || x FROM t ORDER BY 1")
    }

    /// Where a row is by the time that columns are left alone: rebuilds number rows anew, by what they hold, by the columns
    /// that say which they are, or because the integers are nobody's.
    struct Numbering: CustomTestStringConvertible, Sendable {
        var key: String
        var number: String
        var identities: [String: InitializeOptions.Identity] = [:]
        var testDescription: String { "\(key) \(identities.isEmpty ? "" : "by columns")" }

        static let all = [
            Numbering(key: "id INTEGER PRIMARY KEY, k TEXT UNIQUE", number: "id * 10 + 3"),
            // Another row is where the record is.
            Numbering(key: "id INTEGER PRIMARY KEY, k TEXT UNIQUE", number: "id * 2"),
            Numbering(
                key: "id INTEGER PRIMARY KEY, k TEXT UNIQUE", number: "id % 4 + 1", identities: ["t": .columns(["k"])]),
            Numbering(key: "k TEXT PRIMARY KEY", number: ""),
        ]
    }

    @Test("are held with what their rows hold, wherever these are", arguments: Numbering.all)
    func heldWhileRowsAreNumbered(numbering: Numbering) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            "CREATE TABLE t(\(numbering.key), x TEXT);"
                + "INSERT INTO t(k, x) VALUES('r0', '0'), ('r1', '1'), ('r2', '2'), ('r3', '3')")
        var options = InitializeOptions()
        options.identities = numbering.identities
        try await a.initialize(options)
        let b = try await world.clone("b")
        let id = numbering.number.isEmpty ? ("", "") : ("id, ", "\(numbering.number), ")
        let anew = """
            CREATE TABLE n(\(numbering.key), x TEXT); INSERT INTO n(\(id.0)k, x) SELECT \(id.1)k, x FROM t;
            DROP TABLE t; ALTER TABLE n RENAME TO t;
            """
        let taken = """
            CREATE TABLE n(\(numbering.key), x_old TEXT, x TEXT);
            INSERT INTO n(\(id.0)k, x_old, x) SELECT \(id.0)k, x, 'new ' || k FROM t;
            DROP TABLE t; ALTER TABLE n RENAME TO t;
            """
        try a.execute("DELETE FROM t WHERE k = 'r0'")
        // No trigger sees the update.
        try a.execute(anew + "UPDATE t SET x = 'by a' WHERE k = 'r1';" + taken)
        try b.execute(anew + taken)
        try await settle(b, a)
        for machine in [a, b] {
            #expect(try await machine.status().undecided.count == 1)
            try await machine.with { _ = try await $0.migrate("", renames: ["t.x=x_old"]) }
        }
        try await settle(a, b)
        let query = "SELECT k || ' ' || x_old || ' ' || x FROM t ORDER BY 1"
        let expected = ["r1 by a new r1", "r2 2 new r2", "r3 3 new r3"]
        try await expectAgreement(a, b, expected, query)
        #expect(try rows(query, try await world.clone("c")) == expected)
    }

    @Test("may refer to rows that are numbered anew while they are undecided")
    func referToNumberedRows() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO p VALUES(1, 'p1'), (2, 'p2'), (3, 'p3'), (4, 'p4'), (5, 'p5');
            CREATE TABLE t(k TEXT PRIMARY KEY, p INTEGER REFERENCES p(id));
            INSERT INTO t VALUES('r1', 1), ('r2', 2), ('r3', 3), ('r4', 4)
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        let parents = """
            CREATE TABLE q(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO q SELECT id * 10, name FROM p;
            DROP TABLE p; ALTER TABLE q RENAME TO p;
            """
        let taken = """
            CREATE TABLE n(k TEXT PRIMARY KEY, p_old INTEGER REFERENCES p(id), p INTEGER REFERENCES p(id));
            INSERT INTO n SELECT k, p, (SELECT max(id) FROM p) FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
            """
        func migrate(_ machine: Machine, _ sql: String) throws {
            let database = try machine.database()
            defer { try? database.close() }
            try database.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA foreign_keys = OFF; BEGIN; \(sql) COMMIT")
            }
        }
        for machine in [a, b] { try migrate(machine, taken) }
        try await settle(a, b)
        for machine in [a, b] { #expect(try await machine.status().undecided.count == 1) }
        try b.execute("UPDATE t SET p_old = (SELECT id FROM p WHERE name = 'p5') WHERE k = 'r2'")
        for machine in [a, b] { try migrate(machine, parents + "UPDATE t SET p = p * 10, p_old = p_old * 10;") }
        try await settle(a, b)
        // What counts as written there counts as written now, later than what b has written.
        try await b.with { _ = try await $0.migrate("", renames: ["t.p=p_old"]) }
        try await settle(a, b)
        try await expectAgreement(
            a, b, ["r1 p1 p5", "r2 p5 p5", "r3 p3 p5", "r4 p4 p5"],
            "SELECT k || ' ' || o.name || ' ' || n.name FROM t JOIN p o ON o.id = p_old JOIN p n ON n.id = t.p ORDER BY 1"
        )
    }

    private static let renamings = [
        "ALTER TABLE t RENAME x TO z",
        """
        CREATE TABLE n(id INTEGER PRIMARY KEY, x_old TEXT, z TEXT, y TEXT); INSERT INTO n SELECT * FROM t; DROP TABLE t;
        ALTER TABLE n RENAME TO t;
        """,
    ]

    @Test(
        "may be called otherwise before it is decided what they are", arguments: ["t.x=x_old", "t.z=z"], renamings)
    func renamedWhileUndecided(said: String, renaming: String) async throws {
        let world = try World()
        let (a, b) = try await pair(world, "INSERT INTO t VALUES(1,'1','a'),(2,'2','b'),(3,'3','c'),(4,'4','d')")
        let taken = """
            CREATE TABLE n(id INTEGER PRIMARY KEY, x_old TEXT, x TEXT, y TEXT);
            INSERT INTO n(id, x_old, x, y) SELECT id, x, 'new ' || y, y FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
            """
        try a.execute(taken)
        try await settle(a)
        try b.execute(taken)
        try b.execute("UPDATE t SET x_old = 'by b' WHERE y = 'b'")
        for machine in [a, b] {
            try machine.execute(renaming)
            try machine.execute("UPDATE t SET x_old = 'by \(machine.name)' WHERE y = '\(machine.name)'")
        }
        try await settle(a)
        #expect(try await a.status().undecided.first?.columns.map(\.name) == ["x_old", "z"])
        try await settle(a, b)
        for machine in [a, b] where try await !machine.status().undecided.isEmpty {
            try await machine.with { _ = try await $0.migrate("", renames: [said]) }
        }
        try await settle(a, b)
        try await expectAgreement(
            a, b, ["a by a new a", "b by b new b", "c 3 new c", "d 4 new d"],
            "SELECT y || ' ' || x_old || ' ' || z FROM t ORDER BY 1")
    }

    private func doctor(_ machine: Machine) async throws -> [Finding] {
        try await Replicator.doctor(machine.path, configuration: machine.configuration).findings
    }

    private func rows(_ query: String, _ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: query) }
    }
}
