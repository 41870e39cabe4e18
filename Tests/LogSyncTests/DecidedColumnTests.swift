import Foundation
import LogSync
import Testing

/// What becomes of undecided columns once something is said of them, or of one of them.
@Suite("What is said of undecided columns")
struct DecidedColumnTests {
    let world: World
    let a: Machine

    init() throws {
        world = try World()
        a = try world.machine("a")
    }

    private func started(_ schema: String) async throws -> Machine {
        try a.execute(schema)
        try await a.initialize()
        return try await world.clone("b")
    }

    @Test(
        "That one column was renamed says nothing of another one that came and went besides", arguments: [false, true])
    func groups(isKey: Bool) async throws {
        let b = try await started(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO p(name) VALUES('x'), ('y'), ('z');
            CREATE TABLE t(id INTEGER PRIMARY KEY, slug TEXT UNIQUE, title TEXT,
              cat INTEGER\(isKey ? " REFERENCES p(id)" : ""));
            INSERT INTO t(slug, title, cat) VALUES('r1', 'R1', 1), ('r2', 'R2', 2), ('r3', 'R3', 3), ('r4', 'R4', 1)
            """)
        try await settle(a, b)
        let first = """
            ALTER TABLE t ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0; ALTER TABLE t ADD COLUMN servings INTEGER;
            UPDATE t SET servings = 4; ALTER TABLE t RENAME COLUMN title TO name;
            """
        let second = """
            CREATE TABLE new_t(id INTEGER PRIMARY KEY, slug TEXT UNIQUE, name TEXT, deleted INTEGER NOT NULL DEFAULT 0,
              servings INTEGER);
            INSERT INTO new_t SELECT id, slug, name, deleted, servings FROM t;
            DROP TABLE t; ALTER TABLE new_t RENAME TO t;
            """
        try b.execute(first)
        try await b.sync()
        try b.execute(second)
        // The other skipped a release.
        try a.execute(first + second)
        try await a.sync()
        let undecided = try await a.status().undecided.flatMap(\.columns)
        #expect(undecided.map(\.name) == ["deleted"])
        // It has come before the other went, which the other peer has seen.
        try await settle(b, a)
        let shown = "SELECT slug || ' ' || name || ' ' || deleted || ' ' || servings FROM t ORDER BY slug"
        let expected = ["r1 R1 0 4", "r2 R2 0 4", "r3 R3 0 4", "r4 R4 0 4"]
        for machine in [a, b, try await world.clone("c")] { #expect(try machine.strings(shown) == expected) }
        for machine in [a, b] {
            #expect(try await machine.status().undecided.isEmpty)
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }

    @Test(
        "What a program writes to a new column that is undecided stays, where its own machine decides",
        arguments: ["a", "b"])
    func writtenWhereDecided(writer: String) async throws {
        let b = try await started(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT);
            INSERT INTO t VALUES('k1', 'v1'), ('k2', 'v2'), ('k3', 'v3')
            """)
        try await settle(a, b)
        for machine in [a, b] {
            try machine.execute(
                """
                CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, v_old TEXT, v TEXT);
                INSERT INTO n SELECT k, v, k || ' filled' FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t
                """)
        }
        try await settle(a, b)
        #expect(try await a.status().undecided.flatMap(\.columns).map(\.name) == ["v_old", "v"])
        try (writer == "a" ? a : b).execute("UPDATE t SET v = 'written' WHERE k = 'k2'")
        try await settle(a, b)
        try await a.with { _ = try await $0.migrate("", renames: ["t.v=v_old"]) }
        try await settle(a, b)
        let expected = ["v1 k1 filled", "v2 written", "v3 k3 filled"]
        for machine in [a, b, try await world.clone("c")] {
            #expect(try machine.strings("SELECT v_old || ' ' || v FROM t ORDER BY k") == expected)
        }
    }

    @Test(
        "What was written last is shown of rows that keep another identity than their key, too",
        arguments: [false, true])
    func writtenLastUnderGivenIdentity(isRecordedBefore: Bool) async throws {
        let b = try await started(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT NOT NULL, w TEXT, v INTEGER DEFAULT 0)")
        let renaming = """
            CREATE TABLE n(id INTEGER PRIMARY KEY, k TEXT NOT NULL, w TEXT, v_old INTEGER DEFAULT 0);
            INSERT INTO n SELECT id, k, w, v FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t
            """
        let rekeying = """
            CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, w TEXT, v_old INTEGER DEFAULT 0);
            INSERT INTO n SELECT k, w, v_old FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t
            """
        // Nothing tells what a column is in a table without rows.
        try b.execute(renaming + "; " + rekeying)
        try await settle(b)
        #expect(try await b.status().undecided.flatMap(\.columns).map(\.name) == ["v_old"])
        try a.execute("INSERT INTO t(k, w, v) VALUES('k1', 'w1', 41), ('k2', 'w2', 42), ('k3', 'w3', 43)")
        try await settle(a, b)
        try a.execute(renaming)
        usleep(5000)
        try b.execute("UPDATE t SET v_old = 7, w = 'by b' WHERE k = 'k1'")
        if isRecordedBefore { try await settle(b) }
        try await settle(a, b, a)
        try a.execute(rekeying)
        try await settle(a, b, a)
        for machine in [a, b, try await world.clone("c")] {
            #expect(
                try machine.strings("SELECT k || ' ' || w || ' ' || v_old FROM t ORDER BY k")
                    == ["k1 by b 7", "k2 w2 42", "k3 w3 43"], "\(machine.name)")
        }
    }

    @Test("What was written last is shown, whether its writer knew by then what the column is")
    func writtenLast() async throws {
        let b = try await started(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT);
            INSERT INTO t VALUES('k1', 'v1'), ('k2', 'v2'), ('k3', 'v3')
            """)
        try await settle(a, b)
        func write(_ value: String, to row: String, on machine: Machine) throws {
            try machine.execute("UPDATE t SET v_old = '\(value)' WHERE k = '\(row)'")
            // Clocks tell milliseconds.
            usleep(5000)
        }
        // So few rows say nothing of which column is which.
        try a.execute(
            """
            CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, v_old TEXT, v TEXT);
            INSERT INTO n SELECT k, v, k || ' filled' FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
            UPDATE t SET v_old = 'early' WHERE k = 'k1'
            """)
        try await settle(a)
        #expect(try await a.status().undecided.flatMap(\.columns).map(\.name) == ["v_old", "v"])
        try b.execute("ALTER TABLE t RENAME v TO v_old; ALTER TABLE t ADD v TEXT; UPDATE t SET v = k || ' filled'")
        try write("b1", to: "k1", on: b)
        try write("a2", to: "k2", on: a)
        // Rows that are compared because their table was made anew were not written.
        try a.execute(
            """
            CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, v_old TEXT, v TEXT);
            INSERT INTO n SELECT * FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t
            """)
        try await settle(a)
        try write("b2", to: "k2", on: b)
        try write("b3", to: "k3", on: b)
        try write("a3", to: "k3", on: a)
        try await settle(b, a, b)
        for machine in [a, b, try await world.clone("c")] {
            #expect(try machine.strings("SELECT v_old FROM t ORDER BY k") == ["b1", "b2", "a3"], "\(machine.name)")
            #expect(try await machine.status().undecided.isEmpty)
        }
    }

    @Test(
        "What others have written meanwhile is shown in rows that nobody has written here, where a column is found to be new"
    )
    func edited() async throws {
        let b = try await started(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT UNIQUE, v TEXT);
            INSERT INTO t(u, v) VALUES('1', 'x1'), ('2', 'x2'), ('3', 'x3'), ('4', 'x4')
            """)
        try await settle(a, b)
        let first = "ALTER TABLE t ADD COLUMN j TEXT; UPDATE t SET j = 'j' || v;"
        let second = """
            CREATE TABLE new_t(id INTEGER PRIMARY KEY, u TEXT UNIQUE, j TEXT);
            INSERT INTO new_t SELECT id, u, j FROM t; DROP TABLE t; ALTER TABLE new_t RENAME TO t;
            """
        // This store hears of the other's column when it has looked at its own.
        try b.execute(first)
        try await b.sync()
        try a.execute(first + second)
        try await settle(a, b)
        #expect(try await a.status().undecided.flatMap(\.columns).map(\.name) == ["j"])
        try b.execute("UPDATE t SET j = 'by b' WHERE u = '2'")
        try await settle(b, a)
        try a.execute("UPDATE t SET j = 'by a' WHERE u = '3'; CREATE TABLE other(id INTEGER PRIMARY KEY)")
        try await a.sync()
        try b.execute(second)
        try await settle(b, a)
        for machine in [a, b] {
            #expect(try machine.strings("SELECT j FROM t ORDER BY u") == ["jx1", "by b", "by a", "jx4"])
        }
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("All that programs have added to a counter counts that was undecided meanwhile")
    func counted() async throws {
        let b = try await started(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, hits INTEGER NOT NULL DEFAULT 0);
            INSERT INTO t VALUES('k1', 10), ('k2', 20), ('k3', 30), ('k4', 40)
            """)
        try await settle(a, b)
        try await a.with { _ = try await $0.setPolicy("sum", for: "t.hits") }
        try await settle(a, b)
        // What a counter held says nothing any more where programs have added to it in all rows.
        let renaming = """
            CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, visits INTEGER NOT NULL DEFAULT 0);
            INSERT INTO n SELECT k, hits FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
            """
        try a.execute("\(renaming) UPDATE t SET visits = visits + 1; UPDATE t SET visits = visits + 2 WHERE k = 'k1'")
        try await a.sync()
        #expect(try await a.status().undecided.flatMap(\.columns).map(\.name) == ["visits"])
        try b.execute("ALTER TABLE t RENAME hits TO visits; UPDATE t SET visits = visits + 100 WHERE k < 'k3'")
        try await b.sync()
        try a.execute("UPDATE t SET visits = visits + 1000 WHERE k IN ('k2', 'k4')")
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] {
            #expect(
                try machine.strings("SELECT visits FROM t ORDER BY k") == ["113", "1121", "31", "1041"],
                "\(machine.name)")
            #expect(try await machine.status().undecided.isEmpty)
        }
    }

    @Test(
        "A counter that was renamed is not taken for a column of another type in the same rebuild that held such numbers"
    )
    func retypedBeside() async throws {
        let b = try await started(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, place INTEGER, hits INTEGER NOT NULL DEFAULT 0);
            INSERT INTO t VALUES('k1', 1, 0), ('k2', 2, 0), ('k3', 3, 0), ('k4', 4, 0)
            """)
        try await settle(a, b)
        try await a.with { _ = try await $0.setPolicy("sum", for: "t.hits") }
        try await settle(a, b)
        let migration = """
            ALTER TABLE t RENAME hits TO visits;
            CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, place TEXT, visits INTEGER NOT NULL DEFAULT 0);
            INSERT INTO n SELECT k, 'place ' || place, visits FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
            """
        try b.execute(migration)
        try await b.sync()
        try a.execute("UPDATE t SET hits = 2 WHERE k = 'k1'; UPDATE t SET hits = 7 WHERE k <> 'k1'; \(migration)")
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] {
            #expect(try machine.strings("SELECT visits FROM t ORDER BY k") == ["2", "7", "7", "7"], "\(machine.name)")
            #expect(try machine.strings("SELECT place FROM t ORDER BY k").first == "place 1", "\(machine.name)")
            #expect(try await machine.status().undecided.isEmpty)
        }
    }

    @Test(
        "A NULL that a program has put into an undecided column is a write, whenever it was written",
        arguments: ["a", "b"], [false, true])
    func emptied(decider: String, isSeen: Bool) async throws {
        let b = try await started(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n TEXT, m TEXT);
            INSERT INTO t VALUES('k1', 'n1', 'm1'), ('k2', 'n2', 'm2')
            """)
        let migration = """
            CREATE TABLE new_t(k TEXT PRIMARY KEY NOT NULL, m TEXT, cnt TEXT, x INTEGER);
            INSERT INTO new_t(k, m, cnt) SELECT k, m, n FROM t; DROP TABLE t; ALTER TABLE new_t RENAME TO t;
            """
        try b.execute(migration)
        if isSeen { try await b.sync() }
        try b.execute("UPDATE t SET cnt = NULL WHERE k = 'k1'")
        try await b.sync()
        try a.execute(migration)
        try await settle(a, b)
        let deciding = decider == "a" ? a : b
        #expect(try await deciding.status().undecided.flatMap(\.columns).map(\.name) == ["cnt"])
        try await deciding.with { _ = try await $0.migrate("", renames: ["t.n=cnt"]) }
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] {
            #expect(
                try machine.strings("SELECT k || coalesce(cnt, '-') || m FROM t ORDER BY k") == ["k1-m1", "k2n2m2"])
        }
        for machine in [a, b] {
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }
}
