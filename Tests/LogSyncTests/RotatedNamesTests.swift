import Foundation
import GRDB
import LogSync
import Testing

/// Migrations that give the names of columns to each other, or to new ones, more than once, on peers that look after each
/// and on peers that run all of them at once.
@Suite("Names that go from column to column, again and again")
struct RotatedNamesTests {
    /// What was `a` is `b` afterwards, what was `b` is `c`, what was `c` is `a`.
    private static let rotation = """
        ALTER TABLE t RENAME a TO tmp; ALTER TABLE t RENAME c TO a; ALTER TABLE t RENAME b TO c;
        ALTER TABLE t RENAME tmp TO b;
        """

    /// Which of two peers looks after each migration; the other one after the last.
    enum Order: CaseIterable {
        case firstInSteps, secondInSteps, bothInSteps, bothAtOnce
    }

    private func run(_ migrations: [String], _ order: Order, _ a: Machine, _ b: Machine) async throws {
        for migration in migrations {
            if order != .secondInSteps { try a.execute(migration) }
            if order == .firstInSteps || order == .bothInSteps { try await settle(a) }
        }
        if order == .secondInSteps { for migration in migrations { try a.execute(migration) } }
        for migration in migrations {
            try b.execute(migration)
            if order == .secondInSteps || order == .bothInSteps { try await settle(b) }
        }
    }

    /// Says of columns that are undecided that they were renamed.
    private func decide(_ machines: Machine...) async throws {
        for machine in machines {
            guard let undecided = try await machine.status().undecided.first else { continue }
            let renames = undecided.renamed.split(separator: " ").filter { $0.hasPrefix("t") }.map(String.init)
            try await machine.with { _ = try await $0.migrate("", renames: renames) }
        }
    }

    private func expect(_ expected: [String], _ query: String, _ machines: [Machine]) async throws {
        for machine in machines {
            #expect(try machine.strings(query) == expected, "\(machine.name)")
            #expect(try await machine.status().undecided.isEmpty)
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }

    private func pair(_ schema: String) async throws -> (World, Machine, Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(schema)
        try await a.initialize()
        return (world, a, try await world.clone("b"))
    }

    @Test(
        "Three columns rotate their names", arguments: Order.allCases,
        [1, 2, 3].flatMap { times in
            ["", "INSERT INTO t VALUES('1', 'a1', 'b1', 'c1'), ('2', 'x', 'x', 'x')"].map { (times, $0) }
        })
    func rotated(order: Order, times: (Int, String)) async throws {
        let (world, a, b) = try await pair("CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT, b TEXT, c TEXT);" + times.1)
        try await run(Array(repeating: Self.rotation, count: times.0), order, a, b)
        try await settle(a, b)
        let names = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]][times.0 % 3]
        let list = names.joined(separator: ", ")
        try a.execute("INSERT INTO t(k, \(list)) VALUES('3', 'a3', 'b3', 'c3')")
        try b.execute("INSERT INTO t(k, \(list)) VALUES('4', 'a4', 'b4', 'c4')")
        try await decide(a, b)
        try await settle(a, b)
        let first = times.1.isEmpty ? [] : ["1 a1 b1 c1", "2 x x x"]
        let query = "SELECT k || ' ' || \(names.joined(separator: " || ' ' || ")) FROM t ORDER BY k"
        try await expect(first + ["3 a3 b3 c3", "4 a4 b4 c4"], query, [a, b, try await world.clone("c")])
    }

    @Test("A peer that has not migrated yet gets what it knows by their former names", arguments: [true, false])
    func oldPeer(isFilled: Bool) async throws {
        let (world, a, b) = try await pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT, b TEXT, c TEXT);"
                + (isFilled ? "INSERT INTO t VALUES('1', 'a1', 'b1', 'c1')" : ""))
        let c = try await world.clone("c")
        for machine in [a, b] { try machine.execute(Self.rotation) }
        try await settle(a, b, c)
        try a.execute(Self.rotation)
        try await settle(a, b, c)
        try await decide(a, b)
        try a.execute("INSERT INTO t(k, c, a, b) VALUES('2', 'a2', 'b2', 'c2')")
        try b.execute("INSERT INTO t(k, b, c, a) VALUES('3', 'a3', 'b3', 'c3')")
        try c.execute("INSERT INTO t(k, a, b, c) VALUES('4', 'a4', 'b4', 'c4')")
        try await settle(a, b, c)
        let expected = (isFilled ? ["1 a1 b1 c1"] : []) + (2...4).map { "\($0) a\($0) b\($0) c\($0)" }
        for (machine, list) in [(a, ["c", "a", "b"]), (b, ["b", "c", "a"]), (c, ["a", "b", "c"])] {
            let query = "SELECT k || ' ' || \(list.joined(separator: " || ' ' || ")) FROM t ORDER BY k"
            #expect(try machine.strings(query) == expected)
        }
    }

    @Test("Names go round by way of a new one, by what rows hold, be they few", arguments: Order.allCases, [2, 7])
    func roundAndRenamed(order: Order, count: Int) async throws {
        let rows = (1...count).map { "('\($0)', 'a\($0)', 'b\($0)', 'c\($0)')" }.joined(separator: ", ")
        let (world, a, b) = try await pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT, b TEXT, c TEXT); INSERT INTO t VALUES\(rows)")
        let rebuild = """
            CREATE TABLE n(k TEXT PRIMARY KEY, w TEXT, c TEXT, a TEXT); INSERT INTO n SELECT k, b, c, a FROM t;
            DROP TABLE t; ALTER TABLE n RENAME TO t;
            """
        try await run([Self.rotation, rebuild], order, a, b)
        try await settle(a, b)
        try a.execute("UPDATE t SET w = 'by a' WHERE k = '1'; INSERT INTO t(k, w, c, a) VALUES('8', 'a8', 'b8', 'c8')")
        try b.execute("UPDATE t SET w = 'by b' WHERE k = '2'; INSERT INTO t(k, w, c, a) VALUES('9', 'a9', 'b9', 'c9')")
        try await settle(a, b)
        try await decide(a, b)
        try await settle(a, b)
        let expected =
            ["1 by a b1 c1", "2 by b b2 c2"]
            + (3...9).filter { $0 <= count || $0 > 7 }.map { "\($0) a\($0) b\($0) c\($0)" }
        try await expect(
            expected, "SELECT k || ' ' || w || ' ' || c || ' ' || a FROM t ORDER BY k",
            [a, b, try await world.clone("c")])
    }

    @Test("A name goes to a new column, and once more to another", arguments: Order.allCases, ["v_1", "v_2"])
    func takenInTurn(order: Order, last: String) async throws {
        let (world, a, b) = try await pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, w TEXT); INSERT INTO t VALUES('1', 'first', 'w')")
        let first = last == "v_1" ? "v_2" : "v_1"
        let migrations = [
            "ALTER TABLE t RENAME v TO v_1; ALTER TABLE t ADD COLUMN v TEXT;",
            (last == "v_1" ? "ALTER TABLE t RENAME v_1 TO v_2;" : "")
                + "ALTER TABLE t RENAME v TO \(last); ALTER TABLE t ADD COLUMN v TEXT;",
        ]
        try await run(migrations, order, a, b)
        for (machine, key) in [(a, "2"), (b, "3")] {
            try machine.execute(
                "INSERT INTO t(k, \(first), \(last), v) VALUES('\(key)', 'first', 'second', 'third')")
        }
        try await settle(a, b)
        try b.execute("UPDATE t SET \(last) = 'by b', v = 'by b' WHERE k = '1'")
        try await settle(a, b)
        let query = "SELECT k || ' ' || \(first) || ' ' || \(last) || ' ' || v FROM t ORDER BY k"
        try await expect(
            ["1 first by b by b", "2 first second third", "3 first second third"], query,
            [a, b, try await world.clone("c")])
    }

    /// In the same look another column may have a new name, come or go, and the key be another.
    struct Beside: Sendable {
        var declared: String
        var inserted = ""
        var selected = ""
        var key = "k TEXT PRIMARY KEY"

        static let all = [
            Beside(declared: ", w TEXT", inserted: ", w", selected: ", w"),
            Beside(declared: ", wx TEXT", inserted: ", wx", selected: ", w"),
            Beside(declared: ", w TEXT, z TEXT DEFAULT 'z'", inserted: ", w", selected: ", w"),
            Beside(declared: "", key: "k TEXT COLLATE NOCASE PRIMARY KEY"),
            Beside(declared: "", key: "id INTEGER PRIMARY KEY, k TEXT UNIQUE"),
        ]
    }

    @Test(
        "A rebuild that leaves columns at their places and gives their names to each other renames them",
        arguments: Beside.all)
    func exchangedInARebuild(beside: Beside) async throws {
        let (world, a, b) = try await pair(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT, b TEXT, w TEXT);
            INSERT INTO t VALUES('1', 'a1', 'b1', 'w'), ('2', 'a2', 'b2', 'w'), ('3', 'a3', 'b3', 'w')
            """)
        let migration = """
            CREATE TABLE t_new(\(beside.key), b TEXT, a TEXT\(beside.declared));
            INSERT INTO t_new(k, b, a\(beside.inserted)) SELECT k, a, b\(beside.selected) FROM t; DROP TABLE t;
            ALTER TABLE t_new RENAME TO t;
            """
        try a.execute(migration)
        try await settle(a)
        try b.execute("UPDATE t SET a = 'a2 by b' WHERE k = '2'")
        try await settle(a, b)
        #expect(try a.strings("SELECT b FROM t WHERE k = '2'") == ["a2 by b"])
        try b.execute(migration)
        try await settle(a, b)
        try await expect(
            ["a1 b1", "a2 by b b2", "a3 b3"], "SELECT b || ' ' || a FROM t ORDER BY k",
            [a, b, try await world.clone("c")])
    }

    /// Orders of columns in which `b` has what was `a`, `a` what was `b`, and `f` what was `e`.
    private static let orders = ["w, b, a, e, f", "b, w, a, f, e", "a, w, b, e, f", "f, e, b, a, w"]

    /// - Parameter order: with the new names.
    private func exchange(_ order: String) -> String {
        let former = ["a": "b", "b": "a", "e": "f", "f": "e"]
        let columns = order.split(separator: ", ").map(String.init)
        return """
            CREATE TABLE t_new(k TEXT PRIMARY KEY, \(columns.map { "\($0) TEXT" }.joined(separator: ", ")));
            INSERT INTO t_new(k, \(order)) SELECT k, \(columns.map { former[$0] ?? $0 }.joined(separator: ", ")) FROM t;
            DROP TABLE t; ALTER TABLE t_new RENAME TO t;
            """
    }

    /// As many rows have the one flag as the other.
    private static let flags = (0..<8).map { "('\($0)', 'a\($0)', 'b\($0)', 'w', '\($0 % 2)', '\($0 / 4)')" }
        .joined(separator: ", ")

    @Test(
        "A rebuild that exchanges names and puts columns in another order renames them", arguments: orders,
        [true, false])
    func exchangedInAnotherOrder(order: String, isAtOnce: Bool) async throws {
        let (world, a, b) = try await pair(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT, b TEXT, w TEXT, e TEXT, f TEXT); INSERT INTO t VALUES\(Self.flags)
            """)
        let former = try await world.clone("former")
        let byA = "UPDATE t SET b = 'a3 by a' WHERE k = '3'; INSERT INTO t(k, b, a) VALUES('8', 'a8', 'b8')"
        let byB = """
            UPDATE t SET a = 'a2 by b' WHERE k = '2'; INSERT INTO t VALUES('9', 'a9', 'b9', 'w', '0', '1')
            """
        try a.execute(exchange(order))
        if isAtOnce {
            try b.execute(byB)
            try b.execute(exchange(order))
            try a.execute(byA)
        } else {
            try await settle(a)
            try a.execute(byA)
            try b.execute(byB)
            try await settle(a, b)
            #expect(try a.strings("SELECT b FROM t WHERE k = '2'") == ["a2 by b"])
            #expect(try b.strings("SELECT a FROM t WHERE k = '3'") == ["a3 by a"])
            try b.execute(exchange(order))
        }
        try await settle(a, b, former)
        let marks = [2: " by b", 3: " by a"]
        let expected =
            (0..<8).map { "\($0) a\($0)\(marks[$0] ?? "") b\($0) \($0 % 2)\($0 / 4)" } + ["8 a8 b8 --", "9 a9 b9 01"]
        try await expect(
            expected,
            "SELECT k || ' ' || b || ' ' || a || ' ' || coalesce(f, '-') || coalesce(e, '-') FROM t ORDER BY k",
            [a, b, try await world.clone("c")])
        try await expect(
            expected,
            "SELECT k || ' ' || a || ' ' || b || ' ' || coalesce(e, '-') || coalesce(f, '-') FROM t ORDER BY k",
            [former])
    }

    @Test(
        "Exchanged columns in another order of which too few rows tell are undecided",
        arguments: ["t.a=b", "t.b=b"], [true, false])
    func undecidedInAnotherOrder(said: String, isAtOnce: Bool) async throws {
        let (world, a, b) = try await pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT, b TEXT, w TEXT); INSERT INTO t VALUES('1', 'a1', 'b1', 'w')")
        let isRenamed = said == "t.a=b"
        let migration = """
            CREATE TABLE t_new(k TEXT PRIMARY KEY, w TEXT, b TEXT, a TEXT);
            INSERT INTO t_new(k, w, b, a) SELECT k, w, a, b FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t;
            """
        try a.execute(migration)
        if isAtOnce { try b.execute(migration) }
        try await settle(a, b)
        #expect(try await a.status().undecided.first?.columns.map(\.name).sorted() == ["a", "b"])
        try a.execute("INSERT INTO t(k, b, a) VALUES('2', 'a2', 'b2')")
        if isAtOnce { try b.execute("INSERT INTO t(k, b, a) VALUES('3', 'a3', 'b3')") }
        try await settle(a, b)
        try await a.with { _ = try await $0.migrate("", renames: [said]) }
        try await settle(a, b)
        if !isAtOnce { try b.execute(migration) }
        try await settle(a, b)
        if isRenamed || isAtOnce {
            let rows = ["1 a1 b1", "2 a2 b2"] + (isAtOnce ? ["3 a3 b3"] : [])
            try await expect(
                rows, "SELECT k || ' ' || b || ' ' || a FROM t ORDER BY k", [a, b, try await world.clone("c")])
        }
    }

    @Test(
        "A rebuild in another order that writes values renames nothing",
        arguments: [
            "k, w, a, b", "k, w, CASE WHEN k < '2' THEN b ELSE a END, CASE WHEN k < '2' THEN a ELSE b END",
            "k, w, a || '!', b || '!'", "k, w, iif(k < '2', NULL, a), iif(k < '2', NULL, b)", "k, w, b, b",
        ])
    func writtenInAnotherOrder(selected: String) async throws {
        let (world, a, b) = try await pair(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT, b TEXT, w TEXT); INSERT INTO t
            VALUES('1', 'a1', 'b1', 'w'), ('2', 'a2', 'b2', 'w'), ('3', 'a3', 'b3', 'w'), ('4', 'a4', 'b4', 'w')
            """)
        try a.execute(
            """
            CREATE TABLE t_new(k TEXT PRIMARY KEY, w TEXT, a TEXT, b TEXT);
            INSERT INTO t_new(k, w, a, b) SELECT \(selected) FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t;
            """)
        let query = "SELECT k || ' ' || coalesce(a, '-') || ' ' || coalesce(b, '-') FROM t ORDER BY k"
        let expected = try a.strings(query)
        try await settle(a, b)
        try await expect(expected, query, [a, b, try await world.clone("c")])
    }

    @Test("A rebuild in another order that leaves all values behind makes the columns anew, and clears nobody's")
    func madeAnewInAnotherOrder() async throws {
        let (_, a, b) = try await pair(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT, b TEXT, w TEXT); INSERT INTO t
            VALUES('1', 'a1', 'b1', 'w'), ('2', 'a2', 'b2', 'w'), ('3', 'a3', 'b3', 'w'), ('4', 'a4', 'b4', 'w')
            """)
        try a.execute(
            """
            CREATE TABLE t_new(k TEXT PRIMARY KEY, w TEXT, a TEXT, b TEXT);
            INSERT INTO t_new(k, w) SELECT k, w FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t;
            """)
        try await settle(a, b)
        try a.execute("UPDATE t SET a = 'new' WHERE k = '1'")
        try await settle(a, b)
        let query = "SELECT k || ' ' || coalesce(a, '-') || ' ' || coalesce(b, '-') FROM t ORDER BY k"
        #expect(try a.strings(query) == ["1 new -", "2 - -", "3 - -", "4 - -"])
        #expect(try b.strings(query) == ["1 new b1", "2 a2 b2", "3 a3 b3", "4 a4 b4"])
        #expect(try await a.status().lacks.map(\.name).sorted() == ["t.a", "t.b"])
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test(
        "Tables that rotate their names, by ALTER TABLE or made anew, are what they hold",
        arguments: [true, false], [true, false])
    func rotatedTables(isRebuilt: Bool, looksFirst: Bool) async throws {
        let tables = ["x", "y", "z"]
        let (world, a, b) = try await pair(
            tables.map {
                "CREATE TABLE \($0)(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO \($0)(v) VALUES('\($0)1'), ('\($0)2');"
            }
            .joined())
        let rebuilds = tables.map {
            "CREATE TABLE n(id INTEGER PRIMARY KEY, v TEXT NOT NULL); INSERT INTO n SELECT * FROM \($0); DROP TABLE \($0);"
                + "ALTER TABLE n RENAME TO \($0);"
        }
        let rotation = "ALTER TABLE x RENAME TO away; ALTER TABLE z RENAME TO x; ALTER TABLE y RENAME TO z;"
        let migration = (isRebuilt ? rebuilds.joined() : "") + rotation + "ALTER TABLE away RENAME TO y;"
        func write(_ machine: Machine, _ mark: String) throws {
            for table in tables { try machine.execute("INSERT INTO \(table)(v) VALUES('\(table) \(mark)')") }
        }
        try write(b, "by b")
        try a.execute(migration)
        if looksFirst { try await a.sync() }
        try write(a, "by a")
        try await settle(a, b)
        #expect(try b.strings("SELECT v FROM x ORDER BY 1") == ["x by b", "x1", "x2", "y by a"])
        try write(b, "later")
        try b.execute(migration)
        try await settle(a, b)
        try await expect(
            ["x by b", "x later", "x1", "x2", "y by a"], "SELECT v FROM y ORDER BY 1",
            [a, b, try await world.clone("c")])
        try await expect(["x by a", "z by b", "z later", "z1", "z2"], "SELECT v FROM x ORDER BY 1", [a, b])
        try await expect(["y by b", "y later", "y1", "y2", "z by a"], "SELECT v FROM z ORDER BY 1", [a, b])
    }

    @Test("A table that is made anew and archived in one go is the archive", arguments: ["", " COLLATE NOCASE"])
    func archivedAfterARebuild(collation: String) async throws {
        let (world, a, b) = try await pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', '1'), ('2', '2'), ('3', '3'), ('4', '4')"
        )
        let rebuild = """
            CREATE TABLE t_new(k TEXT PRIMARY KEY\(collation), v TEXT); INSERT INTO t_new SELECT * FROM t; DROP TABLE t;
            ALTER TABLE t_new RENAME TO t;
            """
        let archive = "ALTER TABLE t RENAME TO t_old; CREATE TABLE t(k TEXT PRIMARY KEY\(collation), v TEXT);"
        try a.execute(rebuild)
        try await settle(a)
        try a.execute(archive)
        try await settle(a)
        try b.execute("INSERT INTO t VALUES('5', 'by b'); UPDATE t SET v = 'by b' WHERE k = '2'")
        try b.execute(rebuild + archive)
        try b.execute("INSERT INTO t VALUES('6', 'new'); DELETE FROM t_old WHERE k = '4'")
        try await settle(a, b)
        try await expect(
            ["old 1 1", "old 2 by b", "old 3 3", "old 5 by b", "t 6 new"],
            "SELECT 'old ' || k || ' ' || v FROM t_old UNION ALL SELECT 't ' || k || ' ' || v FROM t ORDER BY 1",
            [a, b, try await world.clone("c")])
    }

    @Test(
        "A table that is archived after its rows were changed, its key with them, is the archive",
        arguments: Order.allCases)
    func archivedAfterChanges(order: Order) async throws {
        let (world, a, b) = try await pair(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, n INTEGER DEFAULT 1, v TEXT);
            INSERT INTO t(k, v) VALUES('r1', '1'), ('r2', '2'), ('r3', '3'), ('r4', '4')
            """)
        let migrations = [
            """
            CREATE TABLE t_new(k TEXT PRIMARY KEY, n TEXT DEFAULT '1', v TEXT); INSERT INTO t_new SELECT k, n, v FROM t;
            DROP TABLE t; ALTER TABLE t_new RENAME TO t;
            """,
            "ALTER TABLE t RENAME v TO v_old; ALTER TABLE t ADD v TEXT; UPDATE t SET v = 'new ' || k;",
            "ALTER TABLE t RENAME n TO m;",
            """
            ALTER TABLE t RENAME TO t_old; CREATE TABLE t(k TEXT PRIMARY KEY, m TEXT DEFAULT '1', v_old TEXT, v TEXT);
            """,
        ]
        try b.execute("UPDATE t SET v = 'by b' WHERE k = 'r2'")
        try a.execute("UPDATE t SET v = 'by a' WHERE k = 'r3'")
        try await run(migrations, order, a, b)
        for (machine, key, former) in [(a, "5", "r1"), (b, "6", "r4")] {
            try machine.execute(
                "INSERT INTO t(k, v_old) VALUES('\(key)', 'new'); UPDATE t_old SET v_old = 'late' WHERE k = '\(former)'"
            )
        }
        try await settle(a, b)
        try await decide(a, b)
        try await settle(a, b)
        try await expect(
            ["old r1 late", "old r2 by b", "old r3 by a", "old r4 late", "t 5 new", "t 6 new"],
            "SELECT 'old ' || k || ' ' || v_old FROM t_old UNION ALL SELECT 't ' || k || ' ' || v_old FROM t ORDER BY 1",
            [a, b, try await world.clone("c")])
    }
}
