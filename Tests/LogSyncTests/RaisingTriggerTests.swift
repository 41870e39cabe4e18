import LogSync
import LogSyncModel
import LogSyncSQLite
import Testing

/// Triggers that keep a table of each machine's own, and refuse rows, or fail.
@Suite("A trigger that keeps a table of this store's own and refuses rows")
struct RaisingTriggerTests {
    private static let schema = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, note TEXT); CREATE TABLE log(note TEXT UNIQUE, n INTEGER NOT NULL);
        INSERT INTO t(note) VALUES('one'), ('two');
        """

    private func pair(_ triggers: String) async throws -> (World, Machine, Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(Self.schema + triggers)
        var options = InitializeOptions()
        options.skip = ["log"]
        _ = try await a.initialize(options)
        return (world, a, try await world.clone("b"))
    }

    private func expect(_ rows: [String], _ world: World, _ machines: Machine...) async throws {
        for machine in machines + [try await world.clone("z")] {
            #expect(try machine.strings("SELECT note FROM t ORDER BY note") == rows, "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }

    @Test(
        "refuses none that another peer has written, and keeps its table all the same",
        arguments: ["RAISE(ABORT, 'full')", "RAISE(ROLLBACK, 'full')", "RAISE(FAIL, 'full')", "RAISE(IGNORE)"],
        ["BEFORE INSERT", "BEFORE UPDATE"])
    func raises(raise: String, event: String) async throws {
        let (world, a, b) = try await pair(
            """
            CREATE TRIGGER quota \(event) ON t BEGIN
                INSERT INTO log VALUES(NEW.note, 1);
                SELECT CASE WHEN (SELECT count(*) FROM t) >= 3 THEN \(raise) END;
            END
            """)
        // Each has room for one more.
        if event == "BEFORE INSERT" {
            try a.execute("INSERT INTO t(note) VALUES('of a')")
            try b.execute("INSERT INTO t(note) VALUES('of b')")
        } else {
            try a.execute("UPDATE t SET note = 'of a' WHERE note = 'one'; INSERT INTO t(note) VALUES('three')")
            try b.execute("UPDATE t SET note = 'of b' WHERE note = 'two'; INSERT INTO t(note) VALUES('four')")
        }
        try await settle(a, b)
        let rows = event == "BEFORE INSERT" ? ["of a", "of b", "one", "two"] : ["four", "of a", "of b", "three"]
        try await expect(rows, world, a, b)
        #expect(try a.strings("SELECT note FROM log WHERE note LIKE 'of%' ORDER BY note") == ["of a", "of b"])
    }

    @Test("is named where what it writes is refused, and left out of a clone")
    func fails() async throws {
        let (world, a, b) = try await pair(
            "CREATE TRIGGER keep AFTER INSERT ON t BEGIN INSERT INTO log VALUES(NEW.note, NEW.id % 7 - 3); END;")
        try b.execute("INSERT INTO log VALUES('both', 1)")
        try a.execute("INSERT INTO t(note) VALUES('both')")
        try await settle(a)
        _ = try await b.sync()
        let held = try await b.status().held
        #expect(held.map(\.reason) == [.trigger])
        #expect(held.first?.detail?.contains("the trigger keep refuses a row of t") == true, "\(held)")
        let findings = try await Replicator.doctor(b.path, configuration: b.configuration).findings
        let finding = try #require(findings.first { $0.code == "held-trigger" }, "\(findings)")
        #expect(finding.severity == .trouble && finding.why.contains("the trigger keep"))
        #expect(finding.help?.contains("mend the trigger of this store's program") == true)
        // It is the machine's own table.
        try b.execute("DELETE FROM log")
        try await settle(a, b)
        try await expect(["both", "one", "two"], world, a, b)
    }

    @Test("is left out of a clone where what it needs is not there")
    func leftOut() async throws {
        let (world, a, b) = try await pair(
            """
            CREATE TRIGGER keep AFTER INSERT ON t BEGIN
                INSERT INTO log VALUES(NEW.note, (SELECT n FROM log WHERE note = 'first'));
            END;
            """)
        try a.execute("INSERT INTO log VALUES('first', 1); INSERT INTO t(note) VALUES('three')")
        try await settle(a)
        let c = try await world.clone("c")
        #expect(try await c.status().unmade.map(\.object) == ["keep"])
        #expect(try c.strings("SELECT note FROM t ORDER BY note") == ["one", "three", "two"])
        let report = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        _ = b
    }

    @Test(
        "has its conditions taken out of its copy",
        arguments: [
            (
                " BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'no; (no)') WHERE 1; INSERT INTO l VALUES(1); END",
                " BEFORE INSERT ON t BEGIN SELECT NULL WHERE 1; INSERT INTO l VALUES(1); END"
            ),
            (
                " AFTER DELETE ON t WHEN OLD.\"RAISE\" BEGIN SELECT 'RAISE(IGNORE)'; END",
                " AFTER DELETE ON t WHEN OLD.\"RAISE\" BEGIN SELECT 'RAISE(IGNORE)'; END"
            ),
        ])
    func withoutConditions(body: String, copied: String) {
        let copy = TriggerBody.withoutRaise(body)
        #expect(copy.split(separator: " ") == copied.split(separator: " "), "\(copy)")
    }
}
