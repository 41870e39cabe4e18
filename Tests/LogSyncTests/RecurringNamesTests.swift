import LogSync
import Testing

/// Columns and tables whose names go round, so that a release leaves the names that an earlier one left, and means others.
@Suite("Names that come round again")
struct RecurringNamesTests {
    struct Round: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var schema: String
        /// Each run and looked at by itself.
        var statements: [String]
        /// What is written when a round is over, by its number.
        var write: @Sendable (Int) -> String
        var query: String
        /// What all show after the last round, of which there are three.
        var expected: [String]
        /// What a clone writes, and all show then.
        var later: (write: String, shown: [String])

        private static let steps = [
            "ALTER TABLE t DROP COLUMN prev", "ALTER TABLE t RENAME COLUMN cur TO prev",
            "ALTER TABLE t ADD COLUMN cur TEXT",
        ]

        private static func columns(_ description: String, _ statements: [String]) -> Round {
            Round(
                testDescription: description,
                schema: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, prev TEXT, cur TEXT)", statements: statements,
                write: { "UPDATE t SET cur = '\($0) ' || k WHERE k < 'k4'" },
                query: "SELECT k || ' ' || coalesce(prev, '-') || ', ' || coalesce(cur, '-') FROM t ORDER BY k",
                expected: ["k1 2 k1, 3 k1", "k2 2 k2, 3 k2", "k3 2 k3, 3 k3", "k4 -, -"],
                later: (
                    "UPDATE t SET prev = 'p', cur = 'c' WHERE k = 'k4'",
                    ["k1 2 k1, 3 k1", "k2 2 k2, 3 k2", "k3 2 k3, 3 k3", "k4 p, c"]
                ))
        }

        static let all = [
            columns("columns", steps), columns("columns, in one look", [steps.joined(separator: "; ")]),
            Round(
                testDescription: "a column of another type",
                schema: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, cur TEXT, w TEXT)",
                statements: [
                    "ALTER TABLE t ADD COLUMN cur_new INT",
                    "UPDATE t SET cur_new = length(cur) WHERE typeof(cur) = 'text'",
                    "UPDATE t SET cur_new = cur + 1 WHERE typeof(cur) = 'integer'",
                    "ALTER TABLE t DROP COLUMN cur", "ALTER TABLE t RENAME COLUMN cur_new TO cur",
                ], write: { "UPDATE t SET cur = \($0)00 WHERE k = 'k1'" },
                query: "SELECT k || ' ' || cur FROM t ORDER BY k", expected: ["k1 300", "k2 7", "k3 7", "k4 7"],
                later: ("UPDATE t SET cur = 9 WHERE k = 'k4'", ["k1 300", "k2 7", "k3 7", "k4 9"])),
            Round(
                testDescription: "tables",
                schema:
                    "CREATE TABLE archive(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE log(id INTEGER PRIMARY KEY, v TEXT)",
                statements: [
                    "DROP TABLE archive; ALTER TABLE log RENAME TO archive; CREATE TABLE log(id INTEGER PRIMARY KEY, v TEXT)"
                ], write: { "INSERT INTO log(v) VALUES('\($0) first'), ('\($0) second')" },
                query: "SELECT 'old ' || v FROM archive UNION ALL SELECT 'new ' || v FROM log ORDER BY 1",
                expected: ["new 3 first", "new 3 second", "old 2 first", "old 2 second"],
                later: (
                    "INSERT INTO log(v) VALUES('by c'); INSERT INTO archive(v) VALUES('by c')",
                    ["new 3 first", "new 3 second", "new by c", "old 2 first", "old 2 second", "old by c"]
                )),
        ]
    }

    private func world(_ round: Round) async throws -> (World, Machine, Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(round.schema)
        if round.schema.contains("TABLE t(") {
            let columns = try a.strings("SELECT name FROM pragma_table_info('t') WHERE name <> 'k'")
            try a.execute(
                "INSERT INTO t VALUES "
                    + (1...4).map { row in
                        "('k\(row)', " + columns.map { "'\($0) \(row)'" }.joined(separator: ", ") + ")"
                    }
                    .joined(separator: ", "))
        }
        try await a.initialize()
        return (world, a, try await world.clone("b"))
    }

    private func check(_ round: Round, _ world: World, _ machines: [Machine]) async throws {
        let c = try await world.clone("c")
        for machine in machines + [c] {
            #expect(try machine.strings(round.query) == round.expected, "\(machine.name)")
        }
        try c.execute(round.later.write)
        try await settle(c, machines[0], machines[1])
        for machine in machines + [c] {
            #expect(try machine.strings(round.query) == round.later.shown, "\(machine.name)")
            #expect(try await machine.troubles() == [], "\(machine.name)")
        }
        for machine in machines { #expect(try await machine.status().digest == c.status().digest) }
    }

    @Test("mean what they mean in each round, to those who take part in all of them", arguments: Round.all)
    func together(round: Round) async throws {
        let (world, a, b) = try await world(round)
        for number in 1...3 {
            for statement in round.statements {
                for machine in number == 2 ? [b, a] : [a, b] {
                    try machine.execute(statement)
                    try await settle(a, b)
                }
            }
            try (number == 2 ? b : a).execute(round.write(number))
            try await settle(a, b)
        }
        try await check(round, world, [a, b])
    }

    @Test("mean what they meant to one that is a round behind, until it follows", arguments: Round.all)
    func behind(round: Round) async throws {
        let (world, a, b) = try await world(round)
        func migrate(_ machine: Machine) async throws {
            for statement in round.statements {
                try machine.execute(statement)
                try await settle(a, b)
            }
        }
        for number in 1...2 {
            try await migrate(a)
            try await migrate(b)
            try a.execute(round.write(number))
            try await settle(a, b)
        }
        try await migrate(a)
        let before = try b.strings(round.query)
        // Another table's schema changes meanwhile.
        try b.execute("CREATE TABLE other(k TEXT PRIMARY KEY)")
        try await settle(a, b)
        #expect(try b.strings(round.query) == before)
        #expect(try await b.troubles().filter { !$0.hasPrefix("kept-for-schema") } == [])
        try await migrate(b)
        try a.execute("CREATE TABLE other(k TEXT PRIMARY KEY)")
        try b.execute(round.write(3))
        try await settle(a, b)
        try await check(round, world, [a, b])
    }

    @Test("mean what they mean in each round, to those who have followed one with an earlier version of logsync")
    func upgraded() async throws {
        let round = Round.all[0]
        let (world, a, b) = try await world(round)
        for number in 1...3 {
            for statement in round.statements {
                for machine in [a, b] {
                    try machine.execute(statement)
                    try await settle(a, b)
                }
            }
            try a.execute(round.write(number))
            try await settle(a, b)
            for machine in [a, b] { try machine.execute("DELETE FROM logsync_store WHERE key LIKE 'followed %'") }
            try b.execute(round.write(number))
            try a.execute("UPDATE t SET prev = prev || ''; UPDATE t SET cur = cur || '' WHERE k = 'k1'")
            try await settle(a, b)
        }
        try await check(round, world, [a, b])
    }

    @Test(
        "begin anew where what bore them was renamed and dropped",
        arguments: [
            (
                "CREATE TABLE log(k TEXT PRIMARY KEY, v TEXT); INSERT INTO log VALUES('k1', 'old'), ('k2', 'old')",
                [
                    "ALTER TABLE log RENAME TO log_1", "DROP TABLE log_1",
                    "CREATE TABLE log(k TEXT PRIMARY KEY, v TEXT)",
                ], "INSERT INTO log VALUES('k3', 'new')", "SELECT k || ' ' || v FROM log", ["k3 new"]
            ),
            (
                "CREATE TABLE log(k TEXT PRIMARY KEY, v TEXT); INSERT INTO log VALUES('k1', 'old'), ('k2', 'old')",
                [
                    "ALTER TABLE log RENAME TO log_1; CREATE TABLE log(k TEXT PRIMARY KEY, v TEXT)",
                    "DROP TABLE log_1",
                    "ALTER TABLE log RENAME TO log_2; CREATE TABLE log(k TEXT PRIMARY KEY, v TEXT)",
                ], "INSERT INTO log VALUES('k3', 'new')", "SELECT k || ' ' || v FROM log", ["k3 new"]
            ),
            (
                """
                CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, pin TEXT);
                INSERT INTO t VALUES('k1', 'old 1'), ('k2', 'old 2'), ('k3', 'old 3')
                """,
                [
                    "ALTER TABLE t RENAME COLUMN pin TO old_pin", "ALTER TABLE t DROP COLUMN old_pin",
                    "ALTER TABLE t ADD COLUMN pin TEXT",
                ], "UPDATE t SET pin = 'new' WHERE k = 'k1'", "SELECT k || coalesce(pin, '') FROM t ORDER BY k",
                ["k1new", "k2", "k3"]
            ),
        ])
    func anew(schema: String, steps: [String], write: String, query: String, expected: [String]) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(schema)
        try await a.initialize()
        let b = try await world.clone("b")
        for step in steps {
            for machine in [a, b] {
                try machine.execute(step)
                try await settle(a, b)
            }
        }
        try a.execute(write)
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] {
            #expect(try machine.strings(query) == expected, "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
            #expect(try await machine.troubles() == [])
        }
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("begin anew under the former name where one that made these steps at once has deleted what others dropped")
    func skipping() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            "CREATE TABLE log(k TEXT PRIMARY KEY, v TEXT); INSERT INTO log VALUES('k1', 'old'), ('k2', 'old')")
        try await a.initialize()
        let b = try await world.clone("b")
        let steps = [
            "ALTER TABLE log RENAME TO log_1", "DROP TABLE log_1", "CREATE TABLE log(k TEXT PRIMARY KEY, v TEXT)",
        ]
        for step in steps.dropLast() {
            try a.execute(step)
            try await settle(a, b)
        }
        try b.execute(steps.joined(separator: ";"))
        try await settle(b, a)
        try a.execute(steps[2])
        try await settle(a, b)
        try a.execute("INSERT INTO log VALUES('a', 'new')")
        try b.execute("INSERT INTO log VALUES('b', 'new')")
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] {
            #expect(try machine.strings("SELECT k FROM log ORDER BY k") == ["a", "b"], "\(machine.name)")
        }
    }
}

extension Machine {
    /// What `doctor` finds, but for notes.
    fileprivate func troubles() async throws -> [String] {
        try await Replicator.doctor(path, configuration: configuration).findings.filter { $0.severity != .note }
            .map { "\($0.code) \($0.place)" }
    }
}
