import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// Names that are taken over, parents that are renewed, schemas that differ.
@Suite("A schema in motion")
struct SchemaInMotionTests {
    let world: World
    let a: Machine
    let b: Machine

    init() throws {
        world = try World()
        a = try world.machine("a")
        b = try world.machine("b")
    }

    func begin(_ schema: String) async throws {
        try a.execute(schema)
        try await a.initialize()
        _ = try await world.clone("b")
        try await settle(a, b)
    }

    func rows(_ query: String, _ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: query) }
    }

    /// Both show the same, say the same and verify, and a clone from logs and one from a snapshot show it too.
    func expect(_ query: String, _ expected: [String]) async throws {
        try await settle(a, b)
        for machine in [a, b] {
            let shown = try rows(query, machine)
            #expect(shown == expected, "\(machine.name): \(shown)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
        #expect(try await a.status().digest == b.status().digest)
        #expect(try rows(query, try await world.clone("c")) == expected)
        try await b.snapshot()
        #expect(try rows(query, try await world.clone("d")) == expected)
    }

    // MARK: Names

    @Test(
        "A column is followed where it moves under another name, and where others come and go at the same time",
        arguments: [
            "ALTER TABLE t RENAME x TO z; CREATE TABLE u(y TEXT, z TEXT, n INTEGER DEFAULT 1, k TEXT PRIMARY KEY NOT NULL);"
                + "INSERT INTO u(k, n, z, y) SELECT k, n, z, y FROM t; DROP TABLE t; ALTER TABLE u RENAME TO t",
            "ALTER TABLE t RENAME x TO z; ALTER TABLE t ADD x TEXT; UPDATE t SET x = 'new ' || k; ALTER TABLE t DROP n",
        ])
    func movedUnderAnotherName(migration: String) async throws {
        try await begin(
            "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER DEFAULT 1, x TEXT, y TEXT);"
                + "INSERT INTO t(k, x, y) VALUES('1','x1','y1'),('2','x2','y2'),('3','x3','y3'),('4','x4','y4')")
        try a.execute(migration)
        try a.execute("UPDATE t SET z = 'by a' WHERE k = '1'")
        try b.execute("UPDATE t SET x = 'by b' WHERE k = '2'")
        try await settle(a, b)
        #expect(try rows("SELECT x FROM t ORDER BY k", b) == ["by a", "by b", "x3", "x4"])
        try b.execute(migration)
        try await expect("SELECT z || ' ' || y FROM t ORDER BY k", ["by a y1", "by b y2", "x3 y3", "x4 y4"])
    }

    @Test("Rows of a table that everybody has dropped are kept, and are no trouble any more")
    func droppedByAll() async throws {
        try await begin(
            "CREATE TABLE t(k TEXT PRIMARY KEY); CREATE TABLE d(k TEXT PRIMARY KEY); INSERT INTO d VALUES('1')")
        func kept() async throws -> [Finding] {
            try await Replicator.doctor(a.path, configuration: a.configuration).findings
                .filter { $0.code == "kept-for-schema" }
        }
        try a.execute("DROP TABLE d")
        try b.execute("INSERT INTO d VALUES('2')")
        try await settle(a, b)
        #expect(try await kept().map(\.severity) == [.trouble])
        try b.execute("DROP TABLE d")
        try await settle(a, b)
        #expect(try await kept().map(\.severity) == [.note])
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("Values follow their columns where another column takes the name")
    func takenName() async throws {
        try await begin(
            "CREATE TABLE t(k TEXT PRIMARY KEY, x TEXT, y TEXT); INSERT INTO t VALUES('1','x1','y1'),('2','x2','y2')")
        let migration = "ALTER TABLE t RENAME COLUMN x TO old_x; ALTER TABLE t RENAME COLUMN y TO x"
        try a.execute(migration)
        try b.execute("UPDATE t SET y='y1e' WHERE k='1'")
        try await settle(a, b)
        try b.execute(migration)
        try await settle(a, b)
        try b.execute("UPDATE t SET old_x='late' WHERE k='2'")
        try await expect("SELECT k||old_x||x FROM t ORDER BY 1", ["1x1y1e", "2latey2"])
    }

    @Test("Two columns may exchange their names", arguments: [true, false])
    func swappedNames(hasRows: Bool) async throws {
        try await begin(
            "CREATE TABLE t(k TEXT PRIMARY KEY, first TEXT, last TEXT);"
                + (hasRows ? "INSERT INTO t VALUES('1','f1','l1')" : ""))
        let migration = """
            ALTER TABLE t RENAME COLUMN first TO z; ALTER TABLE t RENAME COLUMN last TO first;
            ALTER TABLE t RENAME COLUMN z TO last;
            """
        if hasRows {
            try a.execute(migration)
            try await settle(a, b)
            try b.execute("UPDATE t SET first='f2' WHERE k='1'")
            try await settle(a, b)
            try b.execute(migration)
            try await expect("SELECT k||first||last FROM t", ["1l1f2"])
        } else {
            // Nothing tells that they did, until it is said on one.
            for machine in [a, b] { try machine.execute(migration) }
            try a.execute("INSERT INTO t VALUES('1','l1','f1')")
            try await settle(a, b)
            for machine in [a, b] { #expect(try await machine.status().undecided.count == 1) }
            try await a.with { _ = try await $0.migrate("", renames: ["t.first=last", "t.last=first"]) }
            try await settle(a, b)
            for machine in [a, b] { #expect(try rows("SELECT k||first||last FROM t", machine) == ["1f1l1"]) }
        }
    }

    @Test("A table that is archived under another name stays itself when its name comes back", arguments: [1, 2])
    func archivedTable(steps: Int) async throws {
        let log = "CREATE TABLE log(id INTEGER PRIMARY KEY, v TEXT)"
        try await begin("\(log); INSERT INTO log(v) VALUES('1'),('2')")
        try a.execute("ALTER TABLE log RENAME TO log_2023")
        try await settle(a, b)
        try a.execute("\(log); INSERT INTO log(v) VALUES('new'); UPDATE log_2023 SET v='1e' WHERE v='1'")
        try await settle(a, b)
        try b.execute("ALTER TABLE log RENAME TO log_2023")
        if steps == 2 { try await settle(a, b) }
        try b.execute(log)
        try await expect(
            "SELECT v FROM log UNION ALL SELECT '2023 '||v FROM log_2023 ORDER BY 1", ["2023 1e", "2023 2", "new"])
    }

    @Test("A table that takes the name of an archived one has its policies", arguments: [false, true])
    func policiesOfArchived(isAtOnce: Bool) async throws {
        let log = "CREATE TABLE log(day TEXT PRIMARY KEY NOT NULL, hits INTEGER NOT NULL DEFAULT 0);"
        try await begin("\(log) INSERT INTO log VALUES('mon', 1)")
        try await a.with { _ = try await $0.setPolicy("sum", for: "log.hits") }
        try await settle(a, b)
        let migration = "ALTER TABLE log RENAME TO log_2023; \(log) INSERT INTO log VALUES('tue', 0)"
        try a.execute(migration)
        if isAtOnce { try b.execute(migration) }
        try await settle(a, b)
        if !isAtOnce { try b.execute(migration.replacing("INSERT", with: "INSERT OR IGNORE")) }
        try await settle(a, b)
        for machine in [a, b] {
            try machine.execute("UPDATE log SET hits = hits + 10; UPDATE log_2023 SET hits = hits + 100")
        }
        try await expect(
            "SELECT day || ' ' || hits FROM log UNION ALL SELECT day || ' ' || hits FROM log_2023 ORDER BY 1",
            ["mon 201", "tue 20"])
    }

    @Test(
        "A name that differs in case alone is the same",
        arguments: [
            "ALTER TABLE t RENAME COLUMN name TO Name", "ALTER TABLE t RENAME COLUMN k TO K",
            "ALTER TABLE t RENAME TO t_x; ALTER TABLE t_x RENAME TO T",
        ])
    func caseOfNames(migration: String) async throws {
        try await begin("CREATE TABLE t(k TEXT PRIMARY KEY, name TEXT); INSERT INTO t VALUES('a','1')")
        for machine in [a, b] {
            try machine.execute(migration)
            try await machine.sync()
        }
        try a.execute("UPDATE t SET name='2'")
        try await expect("SELECT k||name FROM t", ["a2"])
    }

    @Test("Names fold as SQLite folds them: TÄ is not tä")
    func foldedNames() async throws {
        try await begin(
            """
            CREATE TABLE "TÄ"(k TEXT PRIMARY KEY NOT NULL, "XÉ" INT, "xé" INT);
            CREATE TABLE "tä"(k TEXT PRIMARY KEY NOT NULL, v INT);
            """)
        try a.execute("INSERT INTO \"TÄ\" VALUES('x',1,2)")
        try b.execute("INSERT INTO \"tä\" VALUES('x',3),('y',4)")
        try await expect(
            "SELECT k||\"XÉ\"||\"xé\" FROM \"TÄ\" UNION ALL SELECT k||v FROM \"tä\" ORDER BY 1", ["x12", "x3", "y4"])
    }

    @Test("Names of the same letters in other bytes are refused, and passed over where they come later")
    func composedNames() async throws {
        let (composed, decomposed) = ("\u{E4}", "a\u{308}")
        try a.execute("CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, \"\(composed)\" INT, \"\(decomposed)\" INT)")
        let error = await #expect(throws: LogSyncError.self) { try await a.initialize() }
        #expect(error?.code == .unsupportedTable)
        try a.execute("ALTER TABLE t DROP COLUMN \"\(decomposed)\"")
        try await a.initialize()
        try a.execute("ALTER TABLE t ADD COLUMN \"\(decomposed)\" INT; INSERT INTO t VALUES('x', 1, 2)")
        #expect(try await a.sync().published == 1)
    }

    @Test("A policy is set by the name that a table or column has now")
    func policyByName() async throws {
        try await begin("CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, n INT); INSERT INTO t VALUES('a','x',10)")
        for machine in [a, b] {
            try machine.execute("ALTER TABLE t RENAME TO tt; ALTER TABLE tt RENAME COLUMN n TO total")
            try await machine.sync()
        }
        _ = try await a.with { try await $0.setPolicy("sum", for: "tt.total") }
        try await settle(a, b)
        try a.execute("UPDATE tt SET total=total+1")
        try b.execute("UPDATE tt SET total=total+5")
        try await expect("SELECT k||total FROM tt", ["a16"])
    }

    // MARK: Rows

    @Test(
        "A join row whose parent is renewed under its integer is another row",
        arguments: [
            "DELETE FROM book; INSERT INTO book VALUES(1,'second'); INSERT INTO book_tag VALUES(1,'x','2')",
            "DELETE FROM book_tag; DELETE FROM book; INSERT INTO book VALUES(1,'second'); INSERT INTO book_tag VALUES(1,'x','2')",
        ], ["", " WITHOUT ROWID"])
    func renewedParent(sql: String, kind: String) async throws {
        try await begin(
            """
            CREATE TABLE book(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE book_tag(
                book INTEGER NOT NULL REFERENCES book ON DELETE CASCADE ON UPDATE CASCADE, tag TEXT NOT NULL, n TEXT,
                PRIMARY KEY(book,tag))\(kind);
            INSERT INTO book VALUES(1,'first'); INSERT INTO book_tag VALUES(1,'x','1');
            """)
        try a.execute(sql)
        try await settle(a, b)
        #expect(try await b.status().parked == 0)
        try a.execute(
            "UPDATE book SET id=2; INSERT INTO book VALUES(1,'third'); INSERT INTO book_tag VALUES(1,'x','3')")
        try await expect(
            "SELECT title||tag||n FROM book JOIN book_tag ON book=id ORDER BY 1", ["secondx2", "thirdx3"])
    }

    @Test("References show when the table that they lead to comes", arguments: [true, false])
    func parentTableLater(takesSnapshot: Bool) async throws {
        try await begin("CREATE TABLE c(id INTEGER PRIMARY KEY, p INT REFERENCES p(id), uid TEXT)")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, uid TEXT); INSERT INTO p VALUES(1,'p1'),(2,'p2');
            INSERT INTO c VALUES(1,1,'c1'),(2,2,'c2'),(3,1,'c3');
            """)
        try await settle(a, b)
        try a.execute("UPDATE c SET p=2 WHERE uid='c3'")
        try await settle(a, b)
        if takesSnapshot { try await b.snapshot() }
        try b.execute("CREATE TABLE p(id INTEGER PRIMARY KEY, uid TEXT)")
        try await expect("SELECT c.uid||p.uid FROM c JOIN p ON p.id=c.p ORDER BY 1", ["c1p1", "c2p2", "c3p2"])
    }

    @Test("Rows that contest each other by the thousand cost what each costs")
    func manyContested() async throws {
        try await begin("CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, v TEXT)")
        func cost(_ range: ClosedRange<Int>) async throws -> Double {
            for machine in [a, b] {
                try machine.execute(
                    """
                    WITH RECURSIVE c(i) AS (VALUES(\(range.lowerBound)) UNION ALL SELECT i+1 FROM c WHERE i<\(range.upperBound))
                    INSERT INTO t(k, v) SELECT 'k'||i, '\(machine.name)' FROM c
                    """)
            }
            try await a.sync()
            let begin = clock()
            try await b.sync()
            let end = clock()
            try await settle(a, b)
            return Double(end - begin)
        }
        let few = try await cost(1...500)
        let many = try await cost(1001...3000)
        // Four times as many; sixteen times the cost were they compared with each other.
        #expect(many < few * 9, "\(few), \(many)")
        #expect(try await a.status().parked == 2500)
    }

    @Test("Values in conflict within a parked row are listed")
    func parkedConflict() async throws {
        try await begin(
            """
            CREATE TABLE p(k TEXT PRIMARY KEY);
            CREATE TABLE c(k TEXT PRIMARY KEY, p TEXT REFERENCES p ON DELETE CASCADE, v TEXT);
            INSERT INTO p VALUES('r');
            """)
        let c = try await world.clone("e")
        try b.execute("DELETE FROM p")
        try c.execute("INSERT INTO c VALUES('f','r','of c')")
        try a.execute("INSERT INTO c VALUES('f','r','of a')")
        try await settle(a, b, c)
        let report = try await a.with { try await $0.conflicts() }
        #expect(report.parked.count == 1)
        #expect(report.conflicts.map(\.column) == ["v"])
        #expect(report.conflicts.first?.versions.count == 2)
        #expect(try await a.status().conflicts == 1)
        // Either can be taken; the row stays parked, for its parent is not there.
        let version = try #require(report.conflicts.first?.versions.first)
        try await a.with {
            try await $0.takeVersion(
                Dot(version.peer.id, version.sequence), table: "c", key: [.text(Array("f".utf8)[...])], column: "v")
        }
        #expect(try await a.status().conflicts == 0)
    }

    @Test("An index over an expression of the row's own integer stops nobody")
    func uniqueOfInteger() async throws {
        try await begin("CREATE TABLE inv(id INTEGER PRIMARY KEY, uid TEXT); CREATE UNIQUE INDEX ih ON inv(id/2)")
        try a.execute("INSERT INTO inv VALUES(2,'a1')")
        try b.execute("INSERT INTO inv VALUES(2,'b1'),(4,'b2')")
        try await expect("SELECT uid FROM inv ORDER BY 1", ["a1", "b1", "b2"])
    }

    @Test("A store is verified by its own schema")
    func otherSchema() async throws {
        try await begin("CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('a','007')")
        try b.execute(
            """
            CREATE TABLE n(k TEXT PRIMARY KEY, v INTEGER); INSERT INTO n SELECT * FROM t; DROP TABLE t;
            ALTER TABLE n RENAME TO t; CREATE UNIQUE INDEX i ON t(v);
            """)
        try await settle(a, b)
        try a.execute("INSERT INTO t VALUES('b','0012'),('c','12')")
        try await settle(a, b)
        for machine in [a, b] {
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }

    @Test("A table that is left out may use what only its program has")
    func foreignCollation() async throws {
        let database = try a.database()
        try await database.write { db in
            db.add(collation: DatabaseCollation("localized") { $0.caseInsensitiveCompare($1) })
            try db.execute(
                sql: """
                    CREATE TABLE note(id TEXT PRIMARY KEY, body TEXT);
                    CREATE TABLE deck(id INTEGER PRIMARY KEY, name TEXT COLLATE localized UNIQUE);
                    INSERT INTO note VALUES('one', ''); INSERT INTO deck(name) VALUES('b'),('a');
                    """)
        }
        try database.close()
        var options = InitializeOptions()
        options.skip = ["deck"]
        try await a.initialize(options)
        _ = try await world.clone("b")
        try b.insert("two")
        try await settle(a, b)
        #expect(try a.ids() == ["one", "two"])
        for machine in [a, b] {
            let report = try await Replicator.doctor(machine.path, configuration: machine.configuration)
            #expect(report.findings.map(\.code) == ["unchecked"], "\(report.findings)")
            #expect(try machine.count("SELECT count(*) FROM sqlite_master WHERE name = 'deck'") == 1)
        }
        _ = try await Replicator.verify(a.path, configuration: a.configuration)
    }
}
