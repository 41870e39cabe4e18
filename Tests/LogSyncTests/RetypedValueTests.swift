import Foundation
import GRDB
import LogSync
import Testing

/// Values that some peers have as another type than they were written in.
@Suite("Values of columns with another type")
struct RetypedValueTests {
    let world: World
    let a: Machine

    init() throws {
        world = try World()
        a = try world.machine("a")
    }

    private func peers(_ schema: String, policy: (target: String, policy: String)? = nil) async throws -> [Machine] {
        try a.execute(schema)
        try await a.initialize()
        if let policy { _ = try await a.with { try await $0.setPolicy(policy.policy, for: policy.target) } }
        try await settle(a)
        let others = [try await world.clone("b"), try await world.clone("c")]
        return [a] + others
    }

    private func rebuild(_ columns: String) -> String {
        "CREATE TABLE n(\(columns)); INSERT INTO n SELECT * FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t"
    }

    private func expect(_ machines: [Machine], _ query: String, _ expected: String) async throws {
        for machine in machines {
            #expect(try machine.strings(query) == [expected], "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(machine.name): \(report.findings)")
        }
    }

    @Test(
        "What was written is compared, whoever had it as which type by then",
        arguments: [
            ("INT", "TEXT", "9", "10", "min", "9"), ("INT", "TEXT", "9", "10", "max", "10"),
            ("TEXT", "INT", "'9'", "'10'", "max", "9"), ("TEXT", "REAL", "'9'", "'10'", "min", "10.0"),
        ], [true, false])
    func compared(
        value: (from: String, to: String, a: String, b: String, policy: String, shown: String), isSetLate: Bool
    ) async throws {
        let all = try await peers(
            "CREATE TABLE t(k TEXT PRIMARY KEY, x \(value.from), y); INSERT INTO t VALUES('r', 0, 1)",
            policy: isSetLate ? nil : ("t.x", value.policy))
        let (b, c) = (all[1], all[2])
        try a.execute("UPDATE t SET x = \(value.a)")
        try b.execute("UPDATE t SET x = \(value.b)")
        try await settle(a, b, a)
        let migration = rebuild("k TEXT PRIMARY KEY, x \(value.to), y")
        // One looks at its new schema before it hears of either, the others afterwards.
        try c.execute(migration)
        try await settle(c)
        try a.execute(migration)
        try b.execute(migration)
        if isSetLate {
            try await settle(a, b)
            _ = try await a.with { try await $0.setPolicy(value.policy, for: "t.x") }
        }
        try await settle(a, b, c, a, b, c)
        let d = try await world.clone("d")
        try await expect(all + [d], "SELECT CAST(x AS TEXT) FROM t", value.shown)
        try b.execute("UPDATE t SET y = 2")
        try await settle(b, a, c)
        try await expect(all, "SELECT CAST(x AS TEXT) FROM t", value.shown)
    }

    @Test(
        "What a row says in a column of another type is not recorded as it shows it, where others of its columns are written",
        arguments: [(nil as String?, "k = 'r2'"), ("last-writer-row", "x = 'x2'")])
    func restated(policy: String?, write: String) async throws {
        let all = try await peers(
            "CREATE TABLE t(k TEXT PRIMARY KEY, x, y TEXT); INSERT INTO t VALUES('r', 'x', 'y')",
            policy: policy.map { ("t", $0) })
        let b = all[1]
        try a.execute(rebuild("k TEXT PRIMARY KEY, x, y NUMERIC"))
        try await settle(a)
        try b.execute("UPDATE t SET y = '12345678901234567890123'")
        try await settle(b, a)
        #expect(try a.strings("SELECT typeof(y) FROM t") == ["real"])
        try a.execute("UPDATE t SET \(write)")
        try await settle(a, b, all[2])
        try await expect(
            [b, all[2]], "SELECT y FROM t WHERE \(write)", "12345678901234567890123")
        try a.execute("UPDATE t SET y = 7")
        try await settle(a, b, all[2])
        try await expect(all, "SELECT CAST(y AS TEXT) FROM t", "7")
    }

    @Test("A column that was dropped and added again is not cleared elsewhere by writes to others of its row's columns")
    func wholeRows() async throws {
        let all = try await peers(
            "CREATE TABLE t(k TEXT PRIMARY KEY, x, y); INSERT INTO t VALUES('r', 'x', 'y')",
            policy: ("t", "last-writer-row"))
        try a.execute("ALTER TABLE t DROP y; ALTER TABLE t ADD y")
        try await settle(a)
        try a.execute("UPDATE t SET x = 'x2'")
        try await settle(a, all[1], all[2])
        try await expect([all[1], all[2]], "SELECT x || y FROM t", "x2y")
        try a.execute("UPDATE t SET y = 'y2'")
        try await settle(a, all[1], all[2])
        try await expect(all, "SELECT x || y FROM t", "x2y2")
    }
}
