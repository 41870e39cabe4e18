import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// Migrations that give a table another key, on one peer first and on the other later, with rows written meanwhile.
@Suite("A key that becomes another")
struct KeyMigrationTests {
    struct Story: Sendable, CustomTestStringConvertible {
        var name: String
        var schema: String
        /// What the app's next version does.
        var migration: String
        /// Written on the first peer after its migration.
        var new: String = ""
        /// Written on the second before its own.
        var old: String = ""
        /// Written on both when both have migrated, one after the other.
        var later: (first: String, second: String) = ("", "")
        var query: String
        var expected: [String]
        var options: [String: InitializeOptions.Identity] = [:]

        var testDescription: String { name }
    }

    private static func rebuild(_ table: String, _ declaration: String, _ select: String) -> String {
        "CREATE TABLE new_\(table)(\(declaration.replacing(")WR", with: ""))"
            + "\(declaration.hasSuffix(")WR") ? ") WITHOUT ROWID" : ")");"
            + " INSERT OR IGNORE INTO new_\(table) \(select) FROM \(table); DROP TABLE \(table);"
            + " ALTER TABLE new_\(table) RENAME TO \(table);"
    }

    static let stories: [Story] =
        ["", "WR"].flatMap { (suffix: String) -> [Story] in
            let tail = suffix.isEmpty ? "" : ")WR"
            let without = suffix.isEmpty ? "" : " WITHOUT ROWID"
            return [
                Story(
                    name: "a column joins it\(without)",
                    schema:
                        "CREATE TABLE w(a TEXT PRIMARY KEY NOT NULL, b TEXT NOT NULL DEFAULT 'd', v TEXT)\(without);"
                        + "INSERT INTO w VALUES('1','x','1'),('2','y','2'),('3','q','3')",
                    migration: rebuild(
                        "w", "a TEXT NOT NULL, b TEXT NOT NULL DEFAULT 'd', v TEXT, PRIMARY KEY(a,b)" + tail,
                        "SELECT a,b,v"),
                    new: "INSERT INTO w VALUES('1','z','3'); DELETE FROM w WHERE a = '3'",
                    old: "UPDATE w SET v='2e' WHERE a='2'; INSERT INTO w(a,v) VALUES('5','five')",
                    later: ("UPDATE w SET v='last' WHERE a='5'", "INSERT INTO w VALUES('1','y','new')"),
                    query: "SELECT a||b||v FROM w ORDER BY 1", expected: ["1x1", "1ynew", "1z3", "2y2e", "5dlast"]),
                Story(
                    name: "a column joins it, and rows of both keys are written at once\(without)",
                    schema:
                        "CREATE TABLE w(a TEXT PRIMARY KEY NOT NULL, b TEXT NOT NULL DEFAULT 'd', v TEXT)\(without);"
                        + "INSERT INTO w VALUES('1','x','1'),('2','y','2'),('3','q','3')",
                    migration: rebuild(
                        "w", "a TEXT NOT NULL, b TEXT NOT NULL DEFAULT 'd', v TEXT, PRIMARY KEY(a,b)" + tail,
                        "SELECT a,b,v"),
                    new: "INSERT INTO w VALUES('1','z','3'),('3','z','3'); UPDATE w SET v=v||'!'",
                    old: "INSERT INTO w(a,v) VALUES('5','five')",
                    later: ("UPDATE w SET v=v||'?'", "DELETE FROM w WHERE a='3'"),
                    query: "SELECT a||b||v FROM w ORDER BY 1", expected: ["1x1!?", "1z3!?", "2y2!?", "5dfive?"]),
                Story(
                    name: "a column leaves it\(without)",
                    schema:
                        "CREATE TABLE w(a TEXT NOT NULL, b TEXT NOT NULL DEFAULT 'd', v TEXT, PRIMARY KEY(a,b))\(without);"
                        + "INSERT INTO w(a,v) VALUES('1','1'),('2','2'),('3','3'),('4','4')",
                    migration: "UPDATE w SET v=v||'.' WHERE a='4';"
                        + rebuild("w", "a TEXT PRIMARY KEY NOT NULL, v TEXT" + tail, "SELECT a,v"),
                    new: "INSERT INTO w VALUES('5','5'); UPDATE w SET v='1e' WHERE a='1'",
                    old: "UPDATE w SET v='2e' WHERE a='2'; DELETE FROM w WHERE a='3'; DELETE FROM w WHERE a='4';"
                        + "INSERT INTO w(a,v) VALUES('6','6')",
                    later: ("UPDATE w SET v=v||'?'", "DELETE FROM w WHERE a='6'"),
                    query: "SELECT a||v FROM w ORDER BY 1", expected: ["11e?", "22e?", "55?"]),
                Story(
                    name: "its columns change places\(without)",
                    schema: "CREATE TABLE w(a TEXT NOT NULL, b TEXT NOT NULL, v TEXT, PRIMARY KEY(a,b))\(without);"
                        + "INSERT INTO w VALUES('1','x','1'),('2','y','2'),('x','1','other')",
                    migration: rebuild(
                        "w", "a TEXT NOT NULL, b TEXT NOT NULL, v TEXT, PRIMARY KEY(b,a)" + tail, "SELECT a,b,v"),
                    new: "UPDATE w SET v='1e' WHERE a='1'; INSERT INTO w VALUES('y','2','swapped')",
                    old: "UPDATE w SET v='2e' WHERE a='2'; DELETE FROM w WHERE a='x'",
                    later: ("UPDATE w SET v='again' WHERE v='swapped'", "UPDATE w SET a='9' WHERE a='1'"),
                    query: "SELECT a||b||v FROM w ORDER BY 1", expected: ["2y2e", "9x1e", "y2again"]),
                Story(
                    name: "it ignores case\(without)",
                    schema: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT, w TEXT)\(without);"
                        + "INSERT INTO t VALUES('Bob','b1','w'),('Ann','a1','w')",
                    migration: rebuild(
                        "t", "k TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, v TEXT, w TEXT" + tail, "SELECT k,v,w"),
                    new: "UPDATE t SET v='b2' WHERE k='bob'; INSERT INTO t VALUES('Cid','c','w')",
                    old: "UPDATE t SET w='w2' WHERE k='Bob'; DELETE FROM t WHERE k='Ann'",
                    later: ("UPDATE t SET v='c2' WHERE k='CID'", "INSERT INTO t VALUES('ANN','back','w')"),
                    query: "SELECT k||v||w FROM t ORDER BY 1", expected: ["ANNbackw", "Bobb2w2", "Cidc2w"]),
                Story(
                    name: "a number takes its place\(without)",
                    schema:
                        "CREATE TABLE w(name TEXT PRIMARY KEY NOT NULL, v TEXT)\(without); INSERT INTO w VALUES('a','1'),('b','2')",
                    migration: rebuild(
                        "w", "id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, v TEXT", "SELECT NULL,name,v"),
                    new: "INSERT INTO w(name,v) VALUES('c','new')",
                    old: "UPDATE w SET v='1e' WHERE name='a'; INSERT INTO w VALUES('c','old')",
                    later: ("UPDATE w SET v='2e' WHERE name='b'", "DELETE FROM w WHERE name='a'"),
                    query: "SELECT name FROM w ORDER BY 1", expected: ["b", "c"]),
                Story(
                    name: "a text takes the place of a number\(without)",
                    schema:
                        "CREATE TABLE n(id INTEGER PRIMARY KEY, body TEXT); INSERT INTO n VALUES(1,'one'),(2,'two')",
                    migration: rebuild("n", "id TEXT PRIMARY KEY NOT NULL, body TEXT" + tail, "SELECT 'u-'||body,body"),
                    new: "UPDATE n SET body='1e' WHERE body='one'; INSERT INTO n VALUES('x','new')",
                    old: "UPDATE n SET body='2e' WHERE id=2",
                    later: ("DELETE FROM n WHERE body='2e'", "UPDATE n SET body='late' WHERE id='x'"),
                    query: "SELECT body FROM n ORDER BY 1", expected: ["1e", "late"]),
                Story(
                    name: "a name takes the place of a number, after a column has come\(without)",
                    schema: "CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT NOT NULL, v TEXT);"
                        + "INSERT INTO n(name,v) VALUES('a','1'),('b','1'),('c','1'),('d','4')",
                    migration: "ALTER TABLE n ADD COLUMN more TEXT DEFAULT 'm'; UPDATE n SET v='4e' WHERE name='d';"
                        + rebuild(
                            "n", "name TEXT PRIMARY KEY NOT NULL, v TEXT, more TEXT DEFAULT 'm'" + tail,
                            "SELECT name,v,more"),
                    new: "DELETE FROM n WHERE name='a'",
                    old: "DELETE FROM n WHERE name='b'; UPDATE n SET v='3e' WHERE name='c'",
                    later: ("INSERT INTO n(name,v) VALUES('e','5')", "DELETE FROM n WHERE name='d'"),
                    query: "SELECT name||v||more FROM n ORDER BY 1", expected: ["c3em", "e5m"]),
                Story(
                    name: "a number goes beside the column chosen for identity\(without)",
                    schema:
                        "CREATE TABLE t(id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, v TEXT);"
                        + "INSERT INTO t VALUES(1,'a','1'),(2,'b','2')",
                    migration: rebuild(
                        "t", "code TEXT NOT NULL UNIQUE, v TEXT, g TEXT PRIMARY KEY NOT NULL" + tail,
                        "SELECT code,v,'g-'||code"),
                    new: "INSERT INTO t VALUES('c','new','g-c')",
                    old: "INSERT INTO t(code,v) VALUES('c','old'); UPDATE t SET v='1e' WHERE code='a'",
                    later: ("UPDATE t SET v='2e' WHERE code='b'", "DELETE FROM t WHERE code='a'"),
                    query: "SELECT code FROM t ORDER BY 1", expected: ["b", "c"], options: ["t": .columns(["code"])]),
            ]
        } + [
            Story(
                name: "its text becomes a number",
                schema: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO t VALUES('5','x'),('6','y')",
                migration: rebuild("t", "k INT PRIMARY KEY NOT NULL, v TEXT", "SELECT k,v"),
                new: "UPDATE t SET v='5e' WHERE k=5",
                old: "INSERT INTO t VALUES('1','one'); UPDATE t SET v='6e' WHERE k='6'",
                query: "SELECT k||v FROM t ORDER BY 1", expected: ["1one", "55e", "66e"]),
            Story(
                name: "the columns chosen for identity are unique no more",
                schema:
                    "CREATE TABLE t(id INTEGER PRIMARY KEY, code TEXT NOT NULL, v TEXT); CREATE UNIQUE INDEX tc ON t(code);"
                    + "INSERT INTO t VALUES(1,'a','1'),(2,'b','2')",
                migration: "DROP INDEX tc", new: "INSERT INTO t(code,v) VALUES('a','second')",
                old: "UPDATE t SET v='1e' WHERE id=1; INSERT INTO t(code,v) VALUES('c','3')",
                later: ("UPDATE t SET v='3e' WHERE code='c'", "INSERT INTO t(code,v) VALUES('b','more')"),
                query: "SELECT code||v FROM t ORDER BY 1", expected: ["a1e", "asecond", "b2", "bmore", "c3e"],
                options: ["t": .columns(["code"])]),
            Story(
                name: "the column chosen for identity goes",
                schema:
                    "CREATE TABLE t(id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, v TEXT); INSERT INTO t VALUES(1,'a','1'),(2,'b','2')",
                migration: rebuild("t", "id INTEGER PRIMARY KEY, v TEXT", "SELECT id,v"),
                new: "INSERT INTO t(v) VALUES('new')", old: "UPDATE t SET v='2e' WHERE id=2",
                later: ("UPDATE t SET v='newer' WHERE v='new'", "DELETE FROM t WHERE v='1'"),
                query: "SELECT v FROM t ORDER BY 1", expected: ["2e", "newer"], options: ["t": .columns(["code"])]),
            Story(
                name: "the column chosen for identity is renamed",
                schema:
                    "CREATE TABLE t(id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, v TEXT); INSERT INTO t VALUES(1,'a','1'),(2,'b','2')",
                migration: "ALTER TABLE t RENAME code TO kode", new: "INSERT INTO t(kode,v) VALUES('c','3')",
                old: "INSERT INTO t(code,v) VALUES('c','3')",
                later: ("UPDATE t SET v=v||'!'", "INSERT INTO t(kode,v) VALUES('d','4')"),
                query: "SELECT kode||v FROM t ORDER BY 1", expected: ["a1!", "b2!", "c3!", "d4"],
                options: ["t": .columns(["code"])]),
            Story(
                name: "an integer that is the same everywhere is renamed",
                schema:
                    "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT UNIQUE, w TEXT); INSERT INTO t VALUES(1,'a','1'),(2,'b','2')",
                migration: "ALTER TABLE t RENAME id TO number", new: "INSERT INTO t VALUES(5,'e','5')",
                old: "INSERT INTO t VALUES(5,'e','5'); UPDATE t SET w='2e' WHERE id=2",
                later: ("UPDATE t SET w=w||'!'", "INSERT INTO t VALUES(7,'g','7')"),
                query: "SELECT number||v||w FROM t ORDER BY 1", expected: ["1a1!", "2b2e!", "5e5!", "7g7"],
                options: ["t": .natural]),
            Story(
                name: "a join table gets a number",
                schema: """
                    CREATE TABLE a(id INTEGER PRIMARY KEY, u TEXT); CREATE TABLE b(id INTEGER PRIMARY KEY, u TEXT);
                    CREATE TABLE ab(a INT NOT NULL REFERENCES a, b INT NOT NULL REFERENCES b, v TEXT, PRIMARY KEY(a,b));
                    INSERT INTO a(u) VALUES('a1'),('a2'); INSERT INTO b(u) VALUES('b1'),('b2');
                    INSERT INTO ab VALUES(1,1,'x'),(1,2,'y');
                    """,
                migration: rebuild(
                    "ab",
                    "id INTEGER PRIMARY KEY AUTOINCREMENT, a INT NOT NULL REFERENCES a, b INT NOT NULL REFERENCES b, v TEXT, UNIQUE(a,b)",
                    "SELECT NULL,a,b,v"),
                new: "INSERT INTO ab(a,b,v) VALUES(2,1,'new')",
                old: "INSERT INTO ab VALUES(2,2,'old'); UPDATE ab SET v='xe' WHERE v='x'",
                query: "SELECT a||b||v FROM ab ORDER BY 1", expected: ["11xe", "12y", "21new", "22old"]),
            Story(
                name: "there is none any more",
                schema: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO t VALUES('a','1'),('b','2')",
                migration: rebuild("t", "k TEXT, v TEXT", "SELECT k,v"),
                new: "INSERT INTO t VALUES('a','second')", old: "UPDATE t SET v='2e' WHERE k='b'",
                later: ("UPDATE t SET v='third' WHERE v='second'", "DELETE FROM t WHERE v='1'"),
                query: "SELECT k||v FROM t ORDER BY 1", expected: ["athird", "b2e"]),
            Story(
                name: "the key is renamed and a column dropped at once",
                schema:
                    "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT, w TEXT); INSERT INTO t VALUES('a','1','x'),('b','2','y')",
                migration: "ALTER TABLE t DROP COLUMN w; ALTER TABLE t RENAME COLUMN k TO kk",
                new: "UPDATE t SET v='1e' WHERE kk='a'", old: "UPDATE t SET v='2e' WHERE k='b'",
                later: ("INSERT INTO t VALUES('c','3')", "UPDATE t SET v='1f' WHERE kk='a'"),
                query: "SELECT kk||v FROM t ORDER BY 1", expected: ["a1f", "b2e", "c3"]),
        ]
        + ["INT NOT NULL UNIQUE", "INTEGER"].map { type in
            Story(
                name: "another row's integer leaves its name to one of the table's own, as p_id \(type)",
                schema:
                    "CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT);"
                    + "CREATE TABLE t(id INTEGER PRIMARY KEY REFERENCES p(id) ON DELETE CASCADE, note TEXT);"
                    + "INSERT INTO p VALUES(2,'p2'),(3,'p3'),(4,'p4'),(5,'p5'); INSERT INTO t SELECT id,'n'||id FROM p",
                migration: rebuild(
                    "t", "id INTEGER PRIMARY KEY, p_id \(type) REFERENCES p(id) ON DELETE CASCADE, note TEXT",
                    "SELECT NULL,id,note"),
                new: "INSERT INTO p VALUES(6,'of a'); INSERT INTO t(p_id,note) VALUES(6,'na');"
                    + "UPDATE t SET note='a2' WHERE p_id=2",
                old: "INSERT INTO p VALUES(6,'of b'); INSERT INTO t VALUES(6,'nb'); UPDATE t SET note='b4' WHERE id=4",
                later: (
                    "UPDATE t SET note='a5' WHERE note='n5'",
                    "DELETE FROM p WHERE name='p3'; DELETE FROM t WHERE note='n3';"
                        + "UPDATE t SET note=note||'!' WHERE p_id=(SELECT id FROM p WHERE name='of a')"
                ),
                query: "SELECT p.name||' '||note FROM t LEFT JOIN p ON p_id=p.id ORDER BY 1",
                expected: ["of a na!", "of b nb", "p2 a2", "p4 b4", "p5 a5"])
        }
        + [("UNIQUE", ""), ("UNIQUE", " WITHOUT ROWID"), ("", "")].map { unique, without in
            Story(
                name:
                    "a text leaves its name to an integer of the table's own, and is \(unique.isEmpty ? "a column" : "unique")"
                    + without,
                schema: "CREATE TABLE t(id TEXT NOT NULL PRIMARY KEY, note TEXT)\(without);"
                    + "INSERT INTO t VALUES('u1','n1'),('u2','n2'),('u3','n3'),('u4','n4')",
                migration: rebuild(
                    "t", "id INTEGER PRIMARY KEY, uuid TEXT NOT NULL \(unique), note TEXT", "SELECT NULL,id,note"),
                new: "INSERT INTO t(uuid,note) VALUES('u6','n6'); UPDATE t SET note='a1' WHERE uuid='u1'",
                old: "INSERT INTO t VALUES('u5','n5'); UPDATE t SET note='b2' WHERE id='u2'",
                later: ("UPDATE t SET note=note||'!' WHERE id=3", "DELETE FROM t WHERE uuid='u4'"),
                query: "SELECT uuid||' '||note FROM t ORDER BY 1",
                expected: ["u1 a1", "u2 b2", "u3 n3!", "u5 n5", "u6 n6"])
        }

    @Test("loses no row and no write, and stops nobody", arguments: stories, [false, true])
    func story(story: Story, secondSyncsFirst: Bool) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(story.schema)
        var options = InitializeOptions()
        options.identities = story.options
        try await a.initialize(options)
        let b = try await world.clone("b")
        try await settle(a, b)
        try a.execute(story.migration)
        if secondSyncsFirst { try await a.sync() }
        try a.execute(story.new)
        try b.execute(story.old)
        for machine in secondSyncsFirst ? [b, a, b, a] : [a, b, a, b] {
            #expect(try await machine.sync().held.isEmpty)
        }
        try b.execute(story.migration)
        try await settle(a, b)
        try a.execute(story.later.first)
        try await settle(a, b)
        try b.execute(story.later.second)
        try await settle(a, b)
        for machine in [a, b] {
            let shown = try rows(story.query, machine)
            #expect(shown == story.expected, "\(machine.name): \(shown)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
        #expect(try await a.status().digest == b.status().digest)
        // From log files, and from a snapshot.
        #expect(try rows(story.query, try await world.clone("c")) == story.expected)
        try await b.snapshot()
        #expect(try rows(story.query, try await world.clone("d")) == story.expected)
    }

    private static let numbered =
        "CREATE TABLE t(id INTEGER PRIMARY KEY, note TEXT, grp TEXT DEFAULT 'g', hrp TEXT DEFAULT 'g', uid TEXT NOT NULL)"
    private static let named =
        "CREATE TABLE t(note TEXT, grp TEXT DEFAULT 'g', hrp TEXT DEFAULT 'g', uid TEXT PRIMARY KEY NOT NULL)"

    /// An integer that is not replicated comes or goes, and all columns after it are at other places, which tell where
    /// two hold the same.
    @Test(
        "Columns that are renamed in the same go are what they were, as where somebody looks in between",
        arguments: [true, false])
    func renamedWithTheKey(losesInteger: Bool) async throws {
        let world = try World()
        let a = try world.machine("a")
        let columns = losesInteger ? "id, note, grp, hrp, uid" : "note, grp, hrp, uid"
        try a.execute(
            (losesInteger ? Self.numbered : Self.named) + "; INSERT INTO t(note, uid) VALUES('1', 'x'), ('2', 'y')")
        try await a.initialize()
        let b = try await world.clone("b")
        let names = (losesInteger ? Self.numbered : Self.named).replacing("rp", with: "rpx")
        let steps = [
            "CREATE TEMP TABLE away AS SELECT * FROM t; DROP TABLE t; \(names);"
                + "INSERT INTO t(\(columns.replacing("rp", with: "rpx"))) SELECT \(columns) FROM away; DROP TABLE away",
            Self.rebuild(
                "t",
                String(
                    (losesInteger ? Self.named : Self.numbered).replacing("rp", with: "rpx").dropFirst(15).dropLast()),
                losesInteger ? "SELECT note, grpx, hrpx, uid" : "SELECT NULL, note, grpx, hrpx, uid"),
        ]
        for step in steps {
            try a.execute(step)
            try await a.sync()
        }
        for step in steps { try b.execute(step) }
        try await settle(a, b)
        try b.execute("UPDATE t SET grpx = 'by b' WHERE uid = 'x'")
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try rows("SELECT uid || grpx || hrpx FROM t ORDER BY 1", machine) == ["xby bg", "ygg"])
            let findings = try await Replicator.doctor(machine.path, configuration: machine.configuration).findings
            #expect(findings.filter { $0.severity != .note }.isEmpty, "\(findings)")
        }
    }

    /// Who founds a content in which rows go by a column that was chosen.
    private func founder(of world: World) async throws -> Machine {
        let machine = try world.machine("a")
        try machine.execute(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, code TEXT UNIQUE, v TEXT); INSERT INTO t(code, v) VALUES('r', '1')")
        var options = InitializeOptions()
        options.identities = ["t": .columns(["code"])]
        try await machine.initialize(options)
        return machine
    }

    @Test(
        "Where rows go by columns that were chosen, those are the first key: what becomes the key later does not hold them"
    )
    func chosenColumnsAreTheFirstKey() async throws {
        let world = try World()
        let a = try await founder(of: world)
        let b = try await world.clone("b")
        let migration = Self.rebuild(
            "t", "code TEXT, v TEXT, uuid TEXT NOT NULL PRIMARY KEY", "SELECT code, v, lower(hex(randomblob(16)))")
        try a.execute(migration)
        try await settle(a)
        try b.execute("INSERT INTO t(code, v) VALUES('by b', '2')")
        try await settle(b, a)
        #expect(try rows("SELECT v FROM t WHERE uuid = code", a) == [])
        try b.execute(migration)
        try b.execute("INSERT INTO t VALUES('new', '3', 'by b')")
        try await settle(a, b)
        let query = "SELECT code || ' ' || v || ' ' || uuid FROM t ORDER BY 1"
        let shown = try rows(query, a)
        #expect(shown.count == 3)
        for machine in [b, try await world.clone("c")] { #expect(try rows(query, machine) == shown) }
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("Columns that were chosen name rows whatever the key becomes, in a clone as in a store that has migrated")
    func chosenColumnsStay() async throws {
        let world = try World()
        let a = try await founder(of: world)
        try a.execute(
            Self.rebuild(
                "t", "code TEXT UNIQUE, v TEXT, g TEXT NOT NULL PRIMARY KEY)WR",
                "SELECT code, v, 'g-' || code"))
        try await settle(a)
        let c = try await world.clone("c")
        // Each makes the same row.
        for machine in [a, c] { try machine.execute("INSERT INTO t VALUES('n', '\(machine.name)', 'g-n')") }
        try await settle(a, c)
        for machine in [a, c] {
            #expect(try rows("SELECT code FROM t ORDER BY 1", machine) == ["n", "r"])
            #expect(try await machine.status().parked == 0)
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }

    /// What a migration makes of `p(id TEXT PRIMARY KEY)` and of its children.
    private static func numbered(_ order: String) -> String {
        """
        CREATE TABLE p_new(id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE);
        INSERT INTO p_new(uid) SELECT uid FROM p ORDER BY uid \(order);
        CREATE TABLE t_new(id TEXT PRIMARY KEY, p_id INT REFERENCES p(id));
        INSERT INTO t_new SELECT t.id, n.id FROM t JOIN p ON p.id = p_id JOIN p_new n USING(uid);
        DROP TABLE t; DROP TABLE p; ALTER TABLE p_new RENAME TO p; ALTER TABLE t_new RENAME TO t
        """
    }

    @Test(
        "Where integers that say something else than the key come in its place, they are each machine's own",
        arguments: ["ASC", "DESC"], [0, 1, 2])
    func numberedAnew(order: String, when: Int) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id TEXT NOT NULL PRIMARY KEY, uid TEXT NOT NULL UNIQUE);
            CREATE TABLE t(id TEXT PRIMARY KEY, p_id TEXT REFERENCES p(id));
            INSERT INTO p VALUES('k0', 'P0'), ('k1', 'P1'), ('k2', 'P2');
            INSERT INTO t VALUES('t0', 'k0'), ('t1', 'k1'), ('t2', 'k2')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        func migrate(_ machine: Machine, _ order: String) throws {
            let database = try machine.database()
            defer { try? database.close() }
            try database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA foreign_keys = OFF; BEGIN; \(Self.numbered(order)); COMMIT")
            }
        }
        try migrate(b, "ASC")
        if when > 0 { try await settle(b, a) }
        if when < 2 { try migrate(a, order) }
        try b.execute("INSERT INTO t SELECT 'b' || uid, id FROM p")
        try await settle(b, a)
        if when == 2 { try migrate(a, order) }
        try await settle(a, b)
        for machine in [a, b] { try machine.execute("INSERT INTO p(uid) VALUES('P of \(machine.name)')") }
        try await settle(a, b)
        let query = "SELECT t.id || ' ' || uid FROM t LEFT JOIN p ON p.id = p_id ORDER BY 1"
        let c = try await world.clone("c")
        try await settle(a, b, c)
        for machine in [a, b, c] {
            let doctor = try await Replicator.doctor(machine.path, configuration: machine.configuration).findings
            #expect(
                doctor.filter { $0.severity != .note }.allSatisfy { $0.code == "undecided-key" },
                "\(machine.name): \(doctor)")
            #expect(
                try rows(query, machine) == ["bP0 P0", "bP1 P1", "bP2 P2", "t0 P0", "t1 P1", "t2 P2"], "\(machine.name)"
            )
            #expect(
                try rows("SELECT uid FROM p ORDER BY 1", machine) == ["P of a", "P of b", "P0", "P1", "P2"],
                "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test(
        "A table without rows whose text key becomes an integer says the same on all machines",
        arguments: ["uuid TEXT NOT NULL UNIQUE, note TEXT", "name TEXT UNIQUE, note TEXT"],
        [true, false])
    func emptyTable(columns: String, isFirstAlone: Bool) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE t(id TEXT NOT NULL PRIMARY KEY, note TEXT)")
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = Self.rebuild("t", "id INTEGER PRIMARY KEY, \(columns)", "SELECT NULL, id, note")
        let name = String(columns.prefix(4))
        try a.execute(migration)
        try a.execute("INSERT INTO t(\(name), note) VALUES('x', 'by a')")
        if isFirstAlone { try await settle(a, b) }
        try b.execute(migration)
        try b.execute("INSERT INTO t(\(name), note) VALUES('y', 'by b')")
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] {
            #expect(
                try rows("SELECT \(name) || note FROM t ORDER BY 1", machine) == ["xby a", "yby b"], "\(machine.name)")
            #expect(try await machine.status().parked == 0)
        }
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("A text that is no integer is parked where the key has become an INTEGER PRIMARY KEY, and holds nobody up")
    func textsAmongIntegers() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            "CREATE TABLE t(id TEXT NOT NULL PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'a'), ('2', 'b')")
        try await a.initialize()
        let b = try await world.clone("b")
        try a.execute(Self.rebuild("t", "id INTEGER PRIMARY KEY, v TEXT", "SELECT CAST(id AS INTEGER), v"))
        try await a.sync()
        try b.execute("INSERT INTO t VALUES('x', 'by b'), ('7', 'more')")
        try await settle(b, a)
        try b.execute("UPDATE t SET v = 'later' WHERE id = '2'")
        try await settle(b, a)
        for machine in [a, try await world.clone("c")] {
            #expect(try rows("SELECT id || v FROM t ORDER BY id", machine) == ["1a", "2later", "7more"])
            #expect(try await machine.status().parked == 1)
        }
        #expect(try rows("SELECT id || v FROM t ORDER BY id", b) == ["1a", "2later", "7more", "xby b"])
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("What refers to a row that two peers have inserted goes on doing so when values kept for it come to it")
    func insertedTwice() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE item(uid TEXT NOT NULL, z TEXT NOT NULL, v TEXT, PRIMARY KEY(uid, z));
            INSERT INTO item VALUES('i1', 'z', '1'), ('i2', 'z', '2');
            CREATE TABLE link(
                id INTEGER PRIMARY KEY, item_uid TEXT NOT NULL, z TEXT,
                FOREIGN KEY(item_uid, z) REFERENCES item(uid, z));
            INSERT INTO link VALUES(1, 'i1', 'z'), (2, 'i2', 'z');
            """)
        try await a.initialize()
        let (b, d) = (try await world.clone("b"), try await world.clone("d"))
        try await b.with { _ = try await $0.leave() }
        var options = InitializeOptions()
        options.peerName = "b again"
        try await b.initialize(options)
        func rebuild(_ item: String, _ values: String) -> String {
            """
            CREATE TEMP TABLE away AS SELECT id, item_uid FROM link; DROP TABLE link;
            CREATE TABLE new(uid TEXT NOT NULL PRIMARY KEY, v TEXT\(item)); INSERT INTO new SELECT uid, v\(values) FROM item;
            DROP TABLE item; ALTER TABLE new RENAME TO item;
            CREATE TABLE link(id INTEGER PRIMARY KEY, item_uid TEXT NOT NULL REFERENCES item(uid));
            INSERT INTO link SELECT id, item_uid FROM away; DROP TABLE away;
            """
        }
        let (key, column) = (rebuild("", ""), rebuild(", w TEXT", ", 'w' || v"))
        try a.execute(key + column)
        try await a.sync()
        try d.execute(key)
        try await d.sync()
        try d.execute(column)
        try await settle(a, d)
        for machine in [a, d] {
            #expect(
                try rows("SELECT item_uid || v || w FROM link JOIN item ON uid = item_uid ORDER BY 1", machine) == [
                    "i11w1", "i22w2",
                ])
        }
        #expect(try await a.status().digest == d.status().digest)
    }

    @Test(
        "A key that is a column's name at first, another's then, and at last that one's beside an integer",
        arguments: [false, true])
    func threeKeys(importsFirst: Bool) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE item(guid TEXT PRIMARY KEY NOT NULL, uid TEXT NOT NULL UNIQUE, t TEXT);
            INSERT INTO item VALUES('k1', '1', 'a'), ('k2', '2', 'b');
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        let second = Self.rebuild("item", "uid TEXT PRIMARY KEY NOT NULL, t TEXT", "SELECT uid, t")
        let third =
            "CREATE TABLE n(id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, t TEXT); INSERT INTO n(uid, t) SELECT uid, t FROM item;"
            + "DROP TABLE item; ALTER TABLE n RENAME TO item;"
        for migration in [second, third] {
            try a.execute(migration)
            try await a.sync()
        }
        try a.execute("INSERT INTO item(uid, t) VALUES('k1', 'x'), ('n2', 'y')")
        try await a.sync()
        if importsFirst {
            // A key of the last kind says nothing of one of the first.
            try await b.sync()
            #expect(try rows("SELECT guid || uid || t FROM item ORDER BY 1", b) == ["k11a", "k22b"])
        }
        for migration in [second, third] {
            try b.execute(migration)
            try await b.sync()
        }
        try b.execute("UPDATE item SET t = 'z' WHERE uid = 'n2'; INSERT INTO item(uid, t) VALUES('n3', 'w')")
        try await settle(a, b)
        let c = try await world.clone("c")
        for machine in [a, b, c] {
            #expect(try rows("SELECT uid || t FROM item ORDER BY 1", machine) == ["1a", "2b", "k1x", "n2z", "n3w"])
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }

    private func rows(_ query: String, _ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: query) }
    }
}
