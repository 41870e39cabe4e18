import LogSync
import LogSyncModel
import LogSyncSQLite
import Testing

/// Columns whose defaults come to something else wherever and whenever SQLite is asked.
@Suite("A default of the time, or by lot")
struct DefaultTimesTests {
    private static let query = "SELECT k || ' ' || made FROM t ORDER BY k"

    private func migration(_ value: String) -> String {
        """
        CREATE TABLE u(k TEXT PRIMARY KEY, note TEXT, made TEXT NOT NULL DEFAULT \(value));
        INSERT INTO u(k, note) SELECT k, note FROM t; DROP TABLE t; ALTER TABLE u RENAME TO t;
        """
    }

    private func expectAgreement(_ world: World, _ clone: String, _ machines: Machine...) async throws {
        let first = try machines[0].strings(Self.query)
        for machine in machines + [try await world.clone(clone)] {
            #expect(try machine.strings(Self.query) == first, "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
        #expect(try await machines[0].status().digest == machines[1].status().digest)
    }

    @Test(
        "is the same on every peer, whoever has written the row and whenever it was looked at",
        arguments: ["CURRENT_TIMESTAMP", "(datetime('now'))", "(hex(randomblob(8)))", "(strftime('%s') || '!')"])
    func sameEverywhere(value: String) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE t(k TEXT PRIMARY KEY, note TEXT); INSERT INTO t VALUES('1', 'one'), ('2', 'two')")
        try await a.initialize()
        let b = try await world.clone("b")
        let c = try await world.clone("c")
        // Looked at in the same second.
        try a.execute(migration(value))
        let made = try a.strings(Self.query)
        try await settle(a, b)
        try b.execute(migration(value))
        // The third one's program is the older one still.
        try c.execute("INSERT INTO t VALUES('3', 'three')")
        try await settle(a, b, c)
        try await expectAgreement(world, "y", a, b)
        try c.execute(migration(value))
        try b.execute("INSERT INTO t(k) VALUES('4')")
        try await settle(a, b, c)
        try await expectAgreement(world, "z", a, b, c)
        #expect(Set(try a.strings(Self.query)).intersection(made).count == 2 || value != "CURRENT_TIMESTAMP")
    }

    @Test(
        "stands for itself where it is the same always",
        arguments: [
            ("'now'", "'now'"), ("CURRENT_TIMESTAMP", "'1970-01-01 00:00:00'"), ("current_date", "'1970-01-01'"),
            ("(datetime('now', 'localtime'))", "(datetime('1970-01-01 00:00:00', 'localtime'))"),
            ("(unixepoch())", "(unixepoch('1970-01-01 00:00:00'))"), ("(random())", "(0)"),
            ("(abs(random() % 7))", "(abs(0 % 7))"), ("(lower('NOW'))", "(lower('NOW'))"),
            ("(strftime('%s'))", "(strftime('%s', '1970-01-01 00:00:00'))"), ("\"random\"", "\"random\""),
            ("-1.5", "-1.5"), ("(2.5e-3 + random())", "(2.5e-3 + 0)"), ("x'6162'", "x'6162'"),
        ])
    func fixed(declared: String, fixed: String) {
        #expect(FixedDefault(declared).sql == fixed)
    }
}
