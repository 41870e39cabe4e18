import LogSync
import LogSyncModel
import Testing

/// What goes on with names while columns are undecided: nothing of it may end in another column.
@Suite("Names that change while columns are undecided")
struct UndecidedNamesTests {
    /// A rebuild after which `v` may be called `v_o`, or may have been copied to it.
    private static let taken = rebuild(
        "k TEXT PRIMARY KEY, v_o TEXT, a TEXT, b TEXT, v TEXT", "k, v, a, b, 'new ' || k")

    private static func rebuild(_ columns: String, _ values: String, after: String = "") -> String {
        """
        CREATE TABLE n(\(columns)); INSERT INTO n SELECT \(values) FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
        \(after)
        """
    }

    private func pair(_ schema: String) async throws -> (World, Machine, Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(schema)
        try await a.initialize()
        return (world, a, try await world.clone("b"))
    }

    private func decide(_ machines: Machine...) async throws {
        for machine in machines {
            guard let undecided = try await machine.status().undecided.first else { continue }
            let renames = undecided.renamed.split(separator: " ").filter { $0.hasPrefix("t.") }.map(String.init)
            try await machine.with { _ = try await $0.migrate("", renames: renames) }
        }
    }

    private func expect(_ expected: [String], _ query: String, _ world: World, _ machines: Machine...) async throws {
        for machine in machines + [try await world.clone("z")] {
            #expect(try machine.strings(query) == expected, "\(machine.name)")
            #expect(try await machine.status().undecided.isEmpty)
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }

    @Test("Undecided columns take part where names go round in a rebuild")
    func goRound() async throws {
        let (world, a, b) = try await pair(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, a TEXT, b TEXT);
            INSERT INTO t VALUES('1', 'v1', 'a1', 'b1'), ('2', 'v2', 'a2', 'b2'), ('3', 'v3', 'a3', 'b3');
            """)
        // What was `v_o` is `a`, what was `a` is `b`, what was `b` is `v_o`.
        let round = Self.rebuild(
            "k TEXT PRIMARY KEY, a TEXT, b TEXT, v_o TEXT, v TEXT, e TEXT DEFAULT 'e'", "k, v_o, a, b, v, 'e'")
        for machine in [a, b] {
            try machine.execute(Self.taken)
            try await settle(machine)
            #expect(try await machine.status().undecided.first?.columns.map(\.name) == ["v_o", "v"])
            try machine.execute(round)
            try machine.execute("INSERT INTO t(k, a, b, v_o) VALUES('\(machine.name)', 'v', 'a', 'b')")
            try await settle(machine)
            #expect(try await machine.status().undecided.first?.columns.map(\.name) == ["a", "v"])
        }
        try await decide(a)
        try await settle(a, b)
        try a.execute("UPDATE t SET a = 'by a' WHERE k = '1'")
        try b.execute("UPDATE t SET b = 'by b' WHERE k = '2'")
        try await settle(a, b)
        try await expect(
            ["1 by a a1 b1", "2 v2 by b b2", "3 v3 a3 b3", "a v a b", "b v a b"],
            "SELECT k || ' ' || a || ' ' || b || ' ' || v_o FROM t ORDER BY k", world, a, b)
    }

    @Test("A column whose name a new one takes while it is undecided is followed by what it holds")
    func takenAgain() async throws {
        let (world, a, b) = try await pair(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, a TEXT, b TEXT);
            INSERT INTO t VALUES('1', 'v1', 'a1', 'b1'), ('2', 'v2', 'a2', 'b2');
            """)
        let again = Self.rebuild(
            "k TEXT PRIMARY KEY, v TEXT, a TEXT, b TEXT, v_o TEXT", "k, v, a, b, v_o",
            after: "ALTER TABLE t RENAME v_o TO v_o_o; ALTER TABLE t ADD v_o TEXT; UPDATE t SET v_o = 'new ' || k;")
        for machine in [a, b] {
            try machine.execute(Self.taken)
            try await settle(machine)
            try machine.execute(again)
            try await settle(machine)
            #expect(try await machine.status().undecided.first?.columns.map(\.name) == ["v_o_o", "v"])
        }
        try await decide(a)
        try await settle(a, b)
        try b.execute("UPDATE t SET v_o_o = 'by b' WHERE k = '2'")
        try await settle(a, b)
        try await expect(
            ["1 v1 new 1", "2 by b new 2"], "SELECT k || ' ' || v_o_o || ' ' || v FROM t ORDER BY k", world, a, b)
    }

    @Test(
        "A column that comes under the name of one that is perhaps called otherwise is undecided with it",
        arguments: ["renamed", "not renamed"], [true, false])
    func rival(decision: String, isWritten: Bool) async throws {
        let (world, a, b) = try await pair("CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT)")
        let renamed = Self.rebuild("k TEXT PRIMARY KEY, w TEXT", "k, v")
        for machine in [a, b] {
            if isWritten { try machine.execute("INSERT INTO t VALUES('\(machine.name)', 'old')") }
            try machine.execute(renamed)
            try await settle(machine)
            #expect(try await machine.status().undecided.first?.columns.map(\.name) == ["w"])
            try machine.execute("ALTER TABLE t ADD v TEXT; INSERT INTO t VALUES('of \(machine.name)', 'w', 'v')")
            try await settle(machine)
            #expect(try await machine.status().undecided.first?.columns.map(\.name) == ["w", "v"])
        }
        if decision == "renamed" {
            try await decide(a)
        } else {
            try await a.with { _ = try await $0.migrate("", renames: ["t.w=w", "t.v=v"]) }
        }
        try await settle(a, b)
        let rows = try a.strings("SELECT k || ' ' || coalesce(w, '-') || ' ' || coalesce(v, '-') FROM t ORDER BY k")
        #expect(rows.filter { $0.hasPrefix("of") } == ["of a w v", "of b w v"])
        try await expect(
            rows, "SELECT k || ' ' || coalesce(w, '-') || ' ' || coalesce(v, '-') FROM t ORDER BY k", world, a, b)
    }

    @Test("Names that a rebuild hands on to others and at last to a new column are followed", arguments: [2, 5])
    func handedOn(count: Int) async throws {
        let rows = (1...count).map { "('\($0)', 'v\($0)', 'a\($0)', 'b\($0)')" }.joined(separator: ", ")
        let (world, a, b) = try await pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, a TEXT, b TEXT); INSERT INTO t VALUES\(rows)")
        // What was `v` is `v_o`, what was `b` is `v`, what was `a` is `b`, and `a` is new.
        let handed = Self.rebuild("k TEXT PRIMARY KEY, b TEXT, v_o TEXT, v TEXT, a TEXT", "k, a, v, b, 'new ' || k")
        for machine in [a, b] {
            try machine.execute(handed)
            try await settle(machine)
            #expect(try await machine.status().undecided.first?.columns.contains { $0.name == "v_o" } ?? false)
        }
        try await decide(a)
        try await settle(a, b)
        try b.execute("UPDATE t SET v = 'by b', v_o = 'too' WHERE k = '2'")
        try await settle(a, b)
        try await expect(
            ["1 v1 a1 b1 new 1", "2 too a2 by b new 2"]
                + (3...5).filter { $0 <= count }.map { "\($0) v\($0) a\($0) b\($0) new \($0)" },
            "SELECT k || ' ' || v_o || ' ' || b || ' ' || v || ' ' || a FROM t ORDER BY k", world, a, b)
    }

    @Test("A column that has left its place to a new one in a table without values is undecided")
    func left() async throws {
        let (world, a, b) = try await pair("CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, a TEXT)")
        let migration = Self.rebuild("k TEXT PRIMARY KEY, w TEXT, a TEXT, v TEXT", "k, v, a, NULL")
        for machine in [a, b] { try machine.execute(migration) }
        try await settle(a)
        #expect(try await a.status().undecided.first?.columns.map(\.name) == ["w", "v"])
        try await settle(a, b)
        for machine in [a, b] { try machine.execute("INSERT INTO t VALUES('\(machine.name)', 'w', 'a', 'v')") }
        try await decide(a)
        try await settle(a, b)
        try await expect(
            ["a w a v", "b w a v"], "SELECT k || ' ' || w || ' ' || a || ' ' || v FROM t ORDER BY k", world, a, b)
    }

    @Test("A column that leaves its place empty is not the renamed one that has come to stand there")
    func emptied() async throws {
        let rows = (1...4).map { "('x\($0)', 'n\($0)', '\($0)')" }.joined(separator: ", ")
        let (world, a, b) = try await pair(
            "CREATE TABLE t(x TEXT, note TEXT, k TEXT PRIMARY KEY); INSERT INTO t VALUES\(rows)")
        let migration = Self.rebuild(
            "note TEXT, k TEXT PRIMARY KEY, x TEXT", "note, k, NULL", after: "ALTER TABLE t RENAME note TO notex;")
        try b.execute(migration)
        try b.execute("UPDATE t SET notex = 'by b' WHERE k = '1'")
        try await b.sync()
        #expect(try await b.status().undecided.isEmpty)
        try a.execute("UPDATE t SET note = 'by a' WHERE k = '2'")
        try await settle(a, b)
        try a.execute(migration)
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] {
            #expect(try machine.strings("SELECT notex FROM t ORDER BY k") == ["by b", "by a", "n3", "n4"])
            #expect(try await machine.status().undecided.isEmpty)
        }
    }

    @Test("A column that holds its default alone may be renamed in a rebuild that drops another, or be a new one")
    func defaults() async throws {
        let (world, a, b) = try await pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER DEFAULT 1, x TEXT, w TEXT); INSERT INTO t(k) VALUES('1'), ('2')"
        )
        let migration = Self.rebuild("k TEXT PRIMARY KEY, m INTEGER DEFAULT 1, w TEXT", "k, n, w")
        for machine in [a, b] { try machine.execute(migration) }
        try await settle(a)
        #expect(try await a.status().undecided.first?.columns.map(\.name) == ["m"])
        try await settle(a, b)
        try await decide(a)
        try b.execute("UPDATE t SET m = 7 WHERE k = '2'")
        try await settle(a, b)
        try await expect(["1 1", "2 7"], "SELECT k || ' ' || m FROM t ORDER BY k", world, a, b)
        let doctor = try await Replicator.doctor(a.path, configuration: a.configuration)
        #expect(doctor.findings.filter { $0.severity == .trouble && $0.what.contains("t.n") }.isEmpty, "\(doctor)")
    }

    @Test(
        "Names go round while columns before them are dropped and added again", arguments: [1, 2], [true, false])
    func roundBehindOthers(count: Int, hasOthers: Bool) async throws {
        let dropped = count == 1 ? ["x"] : ["x", "y"]
        let columns =
            ["k TEXT PRIMARY KEY"] + ["x", "y", "a", "b", "c"].map { "\($0) TEXT" } + (hasOthers ? ["n INTEGER"] : [])
        let (world, a, b) = try await pair(
            """
            CREATE TABLE t(\(columns.joined(separator: ", ")));
            INSERT INTO t(k, x, y, a, b, c) VALUES('1', 'x1', 'y1', 'a1', 'b1', 'c1'), ('2', 'x2', 'y2', 'a2', 'b2', 'c2')
            """)
        let steps = dropped.map { "ALTER TABLE t DROP COLUMN \($0); ALTER TABLE t ADD COLUMN \($0) TEXT;" }
        let round = """
            ALTER TABLE t RENAME a TO away; ALTER TABLE t RENAME b TO a; ALTER TABLE t RENAME c TO b;
            ALTER TABLE t RENAME away TO c;
            """
        try b.execute("UPDATE t SET c = 'by b' WHERE k = '2'")
        try await settle(b, a)
        // The one looks after each step, the other at the end.
        for step in steps + [round] {
            try b.execute(step)
            try await settle(b)
        }
        try b.execute("INSERT INTO t(k, a, b, c) VALUES('3', 'b3', 'c3', 'a3')")
        try a.execute(steps.joined() + round)
        try a.execute("UPDATE t SET a = 'by a' WHERE k = '1'")
        try await settle(a, b)
        for machine in [a, b, try await world.clone("z")] {
            let rows = try machine.strings("SELECT k || ' ' || c || ' ' || a || ' ' || b FROM t ORDER BY k")
            #expect(rows == ["1 a1 by a c1", "2 a2 b2 by b", "3 a3 b3 c3"], "\(machine.name)")
            #expect(try await machine.status().undecided.isEmpty)
        }
    }

    @Test("What a column is said to be counts before what others have written since they heard it")
    func saidInBetween() async throws {
        let (world, a, b) = try await pair("CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT)")
        let c = try await world.clone("c")
        let renamed = Self.rebuild("k TEXT PRIMARY KEY, v_o TEXT", "k, v")
        let renewed = Self.rebuild("k TEXT PRIMARY KEY, v_o TEXT, v TEXT", "k, v_o, NULL")
        for step in [renamed, renewed] {
            try a.execute(step)
            try await settle(a)
        }
        #expect(try await a.status().undecided.first?.columns.map(\.name) == ["v_o", "v"])
        // With both at once, and no row that tells, columns are what they are called.
        for machine in [b, c] {
            try machine.execute(renamed + renewed)
            try await settle(machine)
        }
        try c.execute("INSERT INTO t VALUES('1', 'old', 'new')")
        for machine in [c, b, a] { try await settle(machine) }
        try await decide(a)
        // What the one has said comes to the third together with what the other has made of it.
        for machine in [a, b, c] { try await settle(machine) }
        try await settle(a, b, c)
        try await expect(["1 old new"], "SELECT k || ' ' || v_o || ' ' || v FROM t", world, a, b)
        #expect(try c.strings("SELECT k || ' ' || v_o || ' ' || v FROM t") == ["1 old new"])
    }

    @Test(
        "What is said of the name that an undecided column had is not said of the one that has taken it",
        arguments: [true, false])
    func nameTaken(looksInBetween: Bool) async throws {
        let (world, a, b) = try await pair(
            """
            CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT, u TEXT);
            INSERT INTO t VALUES(1, 'a', 'r1'), (2, 'b', 'r2'), (3, 'c', 'r3'), (4, 'd', 'r4'), (5, 'e', 'r5')
            """)
        let renamed = Self.rebuild("k INTEGER PRIMARY KEY, v_1 TEXT, u TEXT", "k, v, u")
        let taken = """
            ALTER TABLE t RENAME v_1 TO v_2; ALTER TABLE t ADD v_1 TEXT; UPDATE t SET v_1 = k || ' new'
            """
        // So few rows say nothing here.
        try b.execute(renamed)
        for key in 1...4 { try b.execute("UPDATE t SET v_1 = 'by b' WHERE k = \(key)") }
        try await settle(b)
        #expect(try await b.status().undecided.first?.columns.map(\.name) == ["v_1"])
        try b.execute(taken)
        if looksInBetween { try await settle(b) }
        try a.execute(renamed)
        // What is told is taken up at the look after the import.
        for machine in [a, b, b] { try await machine.sync() }
        #expect(try await b.status().undecided.isEmpty)
        try a.execute(taken)
        try await settle(a, b)
        let expected = (1...4).map { "\($0) by b \($0) new" } + ["5 e 5 new"]
        try await expect(expected, "SELECT k || ' ' || v_2 || ' ' || v_1 FROM t ORDER BY k", world, a, b)
    }

    @Test("What is said once more of a column that is known by another name keeps its time")
    func saidOnceMore() async throws {
        let (world, a, b) = try await pair("CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT)")
        let c = try await world.clone("c")
        let steps = ["ALTER TABLE t ADD COLUMN x TEXT", "ALTER TABLE t RENAME x TO y"]
        for machine in [a, c] {
            try machine.execute(steps.joined(separator: ";"))
            try await settle(machine)
        }
        try c.execute("INSERT INTO t VALUES('1', 'v', 'old')")
        try await settle(c, a, b)
        try b.execute("INSERT INTO t VALUES('2', 'v')")
        for step in steps {
            try b.execute(step)
            try await b.sync()
        }
        try c.execute("UPDATE t SET y = 'new' WHERE k = '1'")
        _ = try await c.with { try await $0.import() }
        // The other one hears what the column is before it hears of that.
        try await a.sync()
        try await settle(a, b, c)
        for machine in [a, b, c, try await world.clone("z")] {
            #expect(try machine.strings("SELECT y FROM t WHERE k = '1'") == ["new"], "\(machine.name)")
        }
    }

    @Test("Names that go round in a rebuild of a table of which few rows are known are undecided")
    func roundOfFew() async throws {
        let (world, a, b) = try await pair("CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT, b TEXT, c TEXT, w TEXT)")
        let round = Self.rebuild("k TEXT PRIMARY KEY, c TEXT, a TEXT, b TEXT, w TEXT", "k, a, b, c, w")
        try a.execute("INSERT INTO t VALUES('1', 'a1', 'b1', 'c1', 'w')")
        try await a.sync()
        // What it holds is as recorded in two of the columns.
        try a.execute("UPDATE t SET c = 'c2'; INSERT INTO t VALUES('2', 'a2', 'b2', 'c2', 'w')")
        try a.execute(round)
        try await a.sync()
        #expect(try await a.status().undecided.first?.columns.map(\.name).sorted() == ["a", "b", "c"])
        try await settle(b)
        try b.execute("INSERT INTO t VALUES('3', 'a3', 'b3', 'c3', 'w')")
        try b.execute(round)
        try await decide(a)
        try await settle(a, b)
        try await expect(
            ["1 a1 b1 c2", "2 a2 b2 c2", "3 a3 b3 c3"],
            "SELECT k || ' ' || c || ' ' || a || ' ' || b FROM t ORDER BY k",
            world, a, b)
    }

    @Test(
        "A new column of another type that takes a name leaves it undecided which one had it", arguments: [true, false])
    func otherType(isRenamed: Bool) async throws {
        let (world, a, b) = try await pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, a TEXT); INSERT INTO t VALUES('1', 1001, 'a'), ('2', 1002, 'a')"
        )
        let migration = Self.rebuild(
            "k TEXT PRIMARY KEY, n_old INTEGER, a TEXT, n TEXT", "k, n, a, NULL", after: "UPDATE t SET n = 'text' || k;"
        )
        try b.execute(migration)
        try await b.sync()
        #expect(try await b.status().undecided.first?.columns.map(\.name) == ["n_old", "n"])
        try a.execute("UPDATE t SET n = 7 WHERE k = '1'")
        try await settle(a, b)
        #expect(try b.strings("SELECT n FROM t ORDER BY k") == ["text1", "text2"])
        try await b.with {
            _ = try await $0.migrate("", renames: isRenamed ? ["t.n=n_old"] : ["t.n_old=n_old", "t.n=n"])
        }
        try await settle(a, b)
        try a.execute(migration)
        try await settle(a, b)
        // As a new column it has what the first one's migration has put there.
        try await expect(
            isRenamed ? ["1 7 text1", "2 1002 text2"] : ["1 1001 text1", "2 1002 text2"],
            "SELECT k || ' ' || n_old || ' ' || n FROM t ORDER BY k", world, a, b)
    }

    @Test("A column that gets another type and is kept as it was under another name has its own still")
    func otherTypeOfTheSame() async throws {
        let (world, a, b) = try await pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, a TEXT); INSERT INTO t VALUES('1', 1001, 'a'), ('2', 1002, 'a')"
        )
        let migration = Self.rebuild("k TEXT PRIMARY KEY, n_old INTEGER, a TEXT, n TEXT", "k, n, a, CAST(n AS TEXT)")
        try b.execute(migration)
        try await b.sync()
        #expect(try await b.status().undecided.isEmpty)
        try a.execute("UPDATE t SET n = 7 WHERE k = '1'")
        try await settle(a, b)
        try a.execute(migration)
        try await settle(a, b)
        try await expect(["1 7", "2 1002"], "SELECT k || ' ' || n FROM t ORDER BY k", world, a, b)
    }
}
