import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// `verify` with `refill`: what is lost where a program drops a column, or a table, and adds it again.
@Suite("A column that has come back empty")
struct RefillTests {
    private static let migration = """
        ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD COLUMN v TEXT;
        ALTER TABLE t DROP COLUMN r; ALTER TABLE t ADD COLUMN r INTEGER REFERENCES p(id)
        """
    private static let rows =
        "SELECT k || coalesce(' ' || v, '') || coalesce(' ' || name, '') FROM t LEFT JOIN p ON p.id = r ORDER BY 1"

    /// One release on two machines: the first has run it, and written, when the second does. The machines have other integers.
    private func pair(_ more: String = "") async throws -> (World, Machine, Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, r INTEGER REFERENCES p(id), w INTEGER);
            INSERT INTO p VALUES(1, 'Ann'); INSERT INTO t VALUES('one', 'old 1', 1, 1), ('two', 'old 2', 1, 2);
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        try b.execute("INSERT INTO p VALUES(2, 'Bob')")
        try a.execute("INSERT INTO p VALUES(2, 'Cy')")
        try await settle(a, b)
        try a.execute(Self.migration + ";" + more)
        try await a.sync()
        try a.execute(
            """
            UPDATE t SET v = 'new 1', r = (SELECT id FROM p WHERE name = 'Cy') WHERE k = 'one';
            INSERT INTO t(k, v, r) VALUES('four', 'new 4', 1)
            """)
        try await settle(a, b)
        #expect(try b.strings(Self.rows) == ["four new 4 Ann", "one new 1 Cy", "two old 2 Ann"])
        try b.execute(Self.migration + ";" + more)
        try await settle(a, b)
        #expect(try b.strings(Self.rows) == ["four", "one", "two"])
        return (world, a, b)
    }

    private func refill(_ machine: Machine) async throws -> VerifyReport {
        try await Replicator.verify(machine.path, configuration: machine.configuration, refill: true)
    }

    @Test("gets what the transactions say, and nobody hears of it")
    func values() async throws {
        let (world, a, b) = try await pair()
        let before = try await b.status()
        let wrong = try await Replicator.verify(b.path, configuration: b.configuration)
        #expect(wrong.findings.map(\.code) == ["rows-differ"] && wrong.refilled == nil)
        func emptied() async throws -> [Finding] {
            try await Replicator.doctor(b.path, configuration: b.configuration).findings.filter {
                $0.code == "column-emptied"
            }
        }
        #expect(try await emptied().map(\.what) == ["t.v, t.r may lack values that others wrote"])
        let report = try await refill(b)
        #expect(report.findings.isEmpty && report.store == true, "\(report.findings)")
        #expect(try await emptied().isEmpty)
        #expect(report.refilled?.map(\.column) == ["t.r", "t.v"])
        #expect(report.refilled?.map(\.cells) == [3, 3])
        #expect(report.refilled?.allSatisfy(\.isWhole) == true)
        // As in a clone.
        let shown = ["four new 4 Ann", "one new 1 Cy", "two old 2 Ann"]
        #expect(try b.strings(Self.rows) == shown)
        #expect(try await world.clone("z").strings(Self.rows) == shown)
        let after = try await b.status()
        #expect(after.digest == before.digest && after.vector == before.vector && after.pending == 0)
        // What the column held on `a` went there, too, but not what was written since.
        #expect(try a.strings(Self.rows) == ["four new 4 Ann", "one new 1 Cy", "two"])
        #expect(try await refill(a).refilled?.map(\.cells) == [1, 1])
        #expect(try a.strings(Self.rows) == shown)
        // A snapshot has all of it again.
        #expect(try await refill(b).refilled == [])
        #expect(try await b.compact(dryRun: true).lacks.isEmpty)
        try a.execute("UPDATE t SET v = 'newer' WHERE k = 'two'")
        try await settle(a, b)
        #expect(try b.strings("SELECT v FROM t WHERE k = 'two'") == ["newer"])
    }

    @Test("keeps what was written to it since, recorded or not, and behind the triggers' back")
    func written() async throws {
        let (_, a, b) = try await pair()
        try b.execute("UPDATE t SET v = 'mine' WHERE k = 'one'")
        try await b.sync()
        try b.execute("UPDATE t SET v = 'unrecorded' WHERE k = 'two'")
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        shell.arguments = [
            "sqlite3", b.path, ".dbconfig enable_trigger off", "UPDATE t SET v = 'quiet' WHERE k = 'four'",
        ]
        try shell.run()
        shell.waitUntilExit()
        let report = try await refill(b)
        #expect(report.refilled?.map(\.cells) == [3, 0])
        #expect(try b.strings(Self.rows) == ["four quiet Ann", "one mine Cy", "two unrecorded Ann"])
        try await settle(a, b)
        #expect(try a.strings("SELECT v FROM t WHERE k = 'two'") == ["unrecorded"])
    }

    @Test("parks rows that what it gets does not let stand")
    func unique() async throws {
        let (_, a, b) = try await pair("CREATE UNIQUE INDEX i ON t(v)")
        try b.execute("INSERT INTO t(k, v) VALUES('five', 'new 1')")
        try await settle(b, a)
        #expect(try a.strings(Self.rows) == ["four new 4 Ann", "one new 1 Cy", "two"])
        #expect(try b.strings(Self.rows) == ["five new 1", "four", "one", "two"])
        let report = try await refill(b)
        #expect(report.findings.isEmpty && report.store == true, "\(report.findings)")
        #expect(try b.strings(Self.rows) == ["four new 4 Ann", "one new 1 Cy", "two old 2 Ann"])
        #expect(try await b.status().parked == 1)
        #expect(try await b.status().digest == a.status().digest)
    }

    @Test("gets them also under a name of which another peer has said later whose it is")
    func renamedLate() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, n INT);
            INSERT INTO t(k, v) VALUES('1', 'v1'), ('2', 'v2'), ('3', 'v3')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        func steps(_ name: String) -> [String] {
            [
                "ALTER TABLE t DROP COLUMN v", "ALTER TABLE t ADD COLUMN v TEXT", "ALTER TABLE t RENAME v TO w",
                "INSERT INTO t(k, w) VALUES('of \(name)', 'new')",
            ]
        }
        // The one looks after each step, the other at the end, and hears of it only then.
        for step in steps("b") {
            try b.execute(step)
            try await b.sync()
        }
        for step in steps("a") { try a.execute(step) }
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try await refill(machine).findings.isEmpty)
            let rows = try machine.strings("SELECT k || ' ' || w FROM t ORDER BY 1")
            #expect(rows == ["1 v1", "2 v2", "3 v3", "of a new", "of b new"], "\(machine.name)")
        }
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("is whole only if all is here that this store has")
    func partly() async throws {
        let (world, a, b) = try await pair()
        let peer = try await a.peer()
        for name in try world.logs(peer) {
            try FileManager.default.removeItem(atPath: world.logsPath(peer) + "/" + name)
        }
        let report = try await refill(b)
        #expect(report.refilled?.allSatisfy { !$0.isWhole && $0.cells < 3 } == true, "\(report)")
        // The owner puts its files back.
        try await settle(a, b)
        #expect(try await refill(b).refilled?.allSatisfy(\.isWhole) == true)
        #expect(try b.strings(Self.rows) == ["four new 4 Ann", "one new 1 Cy", "two old 2 Ann"])
    }

    @Test("of a table that was filled with other rows brings back those that it had")
    func table() async throws {
        let world = try World()
        let a = try world.machine("a")
        let table = "CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT);"
        try a.execute(table + "INSERT INTO p(name) VALUES('Ann'), ('Bob')")
        try await a.initialize()
        let b = try await world.clone("b")
        for step in ["DROP TABLE p", table, "INSERT INTO p VALUES(1, 'Xaver')"] {
            try a.execute(step)
            try await a.sync()
        }
        try await settle(a, b)
        #expect(try a.strings("SELECT name FROM p ORDER BY 1") == ["Xaver"])
        #expect(try b.strings("SELECT name FROM p ORDER BY 1") == ["Ann", "Bob", "Xaver"])
        let report = try await refill(a)
        #expect(report.findings.isEmpty && report.store == true, "\(report.findings)")
        #expect(try a.strings("SELECT name FROM p ORDER BY 1") == ["Ann", "Bob", "Xaver"])
        #expect(try await a.status().digest == b.status().digest)
        let doctor = try await Replicator.doctor(a.path, configuration: a.configuration)
        #expect(doctor.findings.isEmpty, "\(doctor.findings)")
    }

    @Test(
        "is no write, also where every row has been written since: ALTER TABLE moves no column",
        arguments: ["", "WITHOUT ROWID"])
    func everyRowWritten(form: String) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE t(x TEXT, k TEXT NOT NULL PRIMARY KEY, n INTEGER, m INTEGER) \(form);
            INSERT INTO t VALUES('x of one', 'one', 1, 1), ('x of two', 'two', 2, 2);
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        try b.execute("ALTER TABLE t DROP COLUMN x; ALTER TABLE t ADD COLUMN x TEXT; UPDATE t SET n = n + 10")
        try await settle(b, a)
        #expect(try a.strings("SELECT x || ' ' || n FROM t ORDER BY k") == ["x of one 11", "x of two 12"])
        #expect(try await refill(b).refilled?.map(\.cells) == [2])
        #expect(try b.strings("SELECT x || ' ' || n FROM t ORDER BY k") == ["x of one 11", "x of two 12"])
        // An UPDATE that clears it is one.
        try b.execute("UPDATE t SET x = NULL, n = 20")
        try await settle(b, a)
        #expect(try a.strings("SELECT coalesce(x, '') || n FROM t ORDER BY k") == ["20", "20"])
    }

    @Test("gets them, too, where somebody had to say that it is no other column by a new name")
    func decided() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, grp TEXT, x TEXT, k TEXT);
            INSERT INTO t VALUES(1, 'g', 'x of one', 'one'), (2, 'g', 'x of two', 'two');
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        try b.execute(
            """
            ALTER TABLE t RENAME COLUMN grp TO groups;
            CREATE TABLE n(id INTEGER PRIMARY KEY, groups TEXT, k TEXT, x TEXT);
            INSERT INTO n SELECT id, groups, k, NULL FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t
            """)
        try await b.sync()
        #expect(try await b.status().undecided.count == 1)
        try await b.with { _ = try await $0.migrate("", renames: ["t.groups=groups", "t.x=x"]) }
        try await settle(a, b)
        #expect(try b.strings("SELECT coalesce(x, 'none') FROM t") == ["none", "none"])
        #expect(try await refill(b).refilled?.map(\.cells) == [2])
        #expect(try b.strings("SELECT x FROM t ORDER BY k") == ["x of one", "x of two"])
        #expect(try await refill(b).findings.isEmpty)
    }

    @Test("in a copy of a store is refilled as another peer's")
    func copied() async throws {
        let (world, a, b) = try await pair()
        let peer = try await b.peer()
        try b.checkpoint()
        let copy = world.root + "/copy.db"
        try FileManager.default.copyItem(atPath: b.path, toPath: copy)
        try b.execute("INSERT INTO t(k) VALUES('b')", at: copy)
        let report = try await Replicator.verify(copy, configuration: b.configuration, refill: true)
        #expect(report.refilled?.map(\.cells) == [3, 3])
        #expect(try await b.peer(copy) != peer)
        try b.execute("INSERT INTO t(k) VALUES('a')")
        try await b.sync(copy)
        try await settle(a, b)
        #expect(try a.strings("SELECT k FROM t ORDER BY k") == ["a", "b", "four", "one", "two"])
        #expect(try await a.status().held.isEmpty)
    }

    @Test("is a store's: a folder has none")
    func folder() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let error = await #expect(throws: LogSyncError.self) {
            try await Replicator.verify(world.container, configuration: a.configuration, refill: true)
        }
        #expect(error?.code == .usage)
        #expect(try await refill(a).refilled == [])
    }
}
