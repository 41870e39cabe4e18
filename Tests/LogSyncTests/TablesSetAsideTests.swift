import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// Tables that programs rename, and make new ones of their names: to change them, or to begin with an empty one.
@Suite("A table that is set aside under another name")
struct TablesSetAsideTests {
    private static let aside = "ALTER TABLE log RENAME TO log_old;"
    private static let new = "CREATE TABLE log(id INTEGER PRIMARY KEY, v TEXT, more INTEGER DEFAULT 5);"
    private static let copy = "INSERT OR IGNORE INTO log(id, v) SELECT id, v FROM log_old;"
    private static let drop = "DROP TABLE log_old;"
    private static let rows = "SELECT v FROM log ORDER BY v"
    private static let children = "SELECT t || ' ' || v FROM c LEFT JOIN log ON log.id = c.log ORDER BY t"

    private func pair(hasChild: Bool = false) async throws -> (World, Machine, Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE log(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO log(v) VALUES('1'), ('2')")
        if hasChild {
            try a.execute(
                "CREATE TABLE c(id INTEGER PRIMARY KEY, log INTEGER REFERENCES log(id), t TEXT); INSERT INTO c(log, t) VALUES(1, 'c1'), (2, 'c2')"
            )
        }
        try await a.initialize()
        return (world, a, try await world.clone("b"))
    }

    /// One connection of a program that does not let foreign keys follow a table to its new name.
    private func run(_ script: String, _ machine: Machine) throws {
        let database = try machine.database()
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; BEGIN; \(script) COMMIT")
        }
        try database.close()
    }

    /// A look at a store in which a table is being made anew.
    private func expectLocked(_ machine: Machine) async throws {
        let error = await #expect(throws: LogSyncError.self) { try await machine.sync() }
        #expect(error?.code == .locked && error?.message.contains("the table log anew: log_old") ?? false)
    }

    private func expectAgreement(_ world: World, _ machines: [Machine], _ expected: [String]) async throws {
        for machine in machines {
            #expect(try machine.strings(Self.rows) == expected, "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
        #expect(try await machines[0].status().digest == machines[1].status().digest)
        #expect(try await world.clone("z\(expected.count)").strings(Self.rows) == expected)
    }

    @Test("and made anew is the same one, wherever logsync looks", arguments: [true, false], [true, false])
    func rebuilt(hasChild: Bool, isFirst: Bool) async throws {
        let (world, a, b) = try await pair(hasChild: hasChild)
        let all = Self.aside + Self.new + Self.copy + Self.drop
        if !isFirst {
            try run(all, a)
            try await settle(a, b)
        }
        for (index, step) in [Self.aside, Self.new, Self.copy].enumerated() {
            try run(step, b)
            if hasChild && index == 1 || index == 2 { try await expectLocked(b) } else { try await b.sync() }
            if hasChild { #expect(try b.strings("SELECT t FROM c ORDER BY t") == ["c1", "c2"]) }
        }
        try b.execute("INSERT INTO log(v) VALUES('b')")
        try run(Self.drop, b)
        try await settle(b, a)
        #expect(try a.strings(Self.rows) == ["1", "2", "b"])
        if isFirst { try run(all, a) }
        for machine in [a, b] {
            try await settle(a, b)
            try machine.execute("INSERT INTO log(v) VALUES('late \(machine.name)')")
        }
        try await settle(a, b)
        try await expectAgreement(world, [a, b], ["1", "2", "b", "late a", "late b"])
        if hasChild { for machine in [a, b] { #expect(try machine.strings(Self.children) == ["c1 1", "c2 2"]) } }
    }

    @Test(
        "and made anew is done with, and no other change of the schema is waited with",
        arguments: [[true, false, false], [false, true, false], [false, false, true], [true, true, true]],
        [
            "ALTER TABLE c ADD COLUMN x",
            "CREATE TABLE c_new(id INTEGER PRIMARY KEY, log INTEGER, t TEXT, y TEXT);"
                + "INSERT INTO c_new(id, log, t) SELECT * FROM c; DROP TABLE c; ALTER TABLE c_new RENAME TO c",
        ])
    func finished(looks: [Bool], other: String) async throws {
        let (world, a, b) = try await pair(hasChild: true)
        for (step, isLookedAt) in zip([Self.aside, Self.new, Self.copy], looks) {
            try run(step, a)
            if isLookedAt { _ = try? await a.sync() }
        }
        try run(Self.drop, a)
        #expect(try await a.sync().outcome == .complete)
        try run(other + ";", a)
        #expect(try await a.sync().outcome == .complete)
        try a.execute("INSERT INTO log(v) VALUES('3')")
        try await settle(a, b)
        try await expectAgreement(world, [a, b], ["1", "2", "3"])
        #expect(try a.strings(Self.children) == ["c1 1", "c2 2"])
    }

    @Test("and made anew is the same one, though its program takes longer than logsync waits")
    func slow() async throws {
        let (world, a, b) = try await pair()
        var later = b
        for (index, step) in [Self.aside, Self.new, Self.copy].enumerated() {
            try run(step, b)
            // What is noted at one look is over at the next.
            for look in 1...2 {
                later.configuration.clock = FixedClock(SystemClock().now() + Int64(2 * index + look) * 120_000)
                do { try await later.sync() } catch let error as LogSyncError where error.code == .locked {}
            }
        }
        try await settle(later, a)
        // The copy counts as a table of its own by now, and rows of it are kept at the other peer.
        #expect(try await a.status().otherTables.map(\.there) == ["log 2"])
        try b.execute("INSERT INTO log(v) VALUES('b')")
        try run(Self.drop, b)
        try await settle(later, a)
        #expect(try a.strings(Self.rows) == ["1", "2", "b"])
        try a.execute("INSERT INTO log(v) VALUES('a')")
        try await settle(a, later)
        for machine in [a, later] { #expect(try machine.strings(Self.rows) == ["1", "2", "a", "b"]) }
        #expect(try await a.status().otherTables.isEmpty)
        #expect(try await world.clone("z").strings(Self.rows) == ["1", "2", "a", "b"])
    }

    @Test("is an archive as soon as the new one holds something else")
    func archived() async throws {
        let (world, a, b) = try await pair()
        try run(Self.aside + Self.new, a)
        try await settle(a, b)
        // Until then it is no table that was forgotten.
        let findings = try await Replicator.doctor(a.path, configuration: a.configuration).findings
        #expect(!findings.contains { $0.code == "not-replicated" })
        try a.execute("INSERT INTO log(v) VALUES('new a')")
        try await settle(a, b)
        try run(Self.aside + Self.new, b)
        try await settle(b, a)
        try b.execute("INSERT INTO log(v) VALUES('new b'); UPDATE log_old SET v = '1 b' WHERE v = '1'")
        try await settle(b, a)
        for machine in [a, b] {
            #expect(try machine.strings("SELECT v FROM log_old ORDER BY v") == ["1 b", "2"], "\(machine.name)")
        }
        try await expectAgreement(world, [a, b], ["new a", "new b"])
        // What others write to, too, is no copy that a program has made, though it comes to hold the same.
        try a.execute("INSERT INTO log(v) SELECT v FROM log_old")
        try await settle(a, b)
        try run(Self.drop, a)
        try a.execute("INSERT INTO log(v) VALUES('newest a')")
        try await settle(a, b)
        #expect(try b.strings("SELECT v FROM log_old ORDER BY v") == ["1 b", "2"])
        try await expectAgreement(world, [a, b], ["1 b", "2", "new a", "new b", "newest a"])
    }

    @Test(
        "has no say in what names the rows of the new one",
        arguments: ["k TEXT PRIMARY KEY NOT NULL, v", "k TEXT NOT NULL, v, PRIMARY KEY(k, v)", "k INT PRIMARY KEY, v"],
        [false, true])
    func otherKey(former: String, inSteps: Bool) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE log(\(former)); INSERT INTO log VALUES('1', 'old')")
        try await a.initialize()
        let b = try await world.clone("b")
        for machine in [a, b] {
            try run(Self.aside + "CREATE TABLE log(\(former));", machine)
            if inSteps { try await machine.sync() }
            try run("DROP TABLE log; CREATE TABLE log(id INTEGER PRIMARY KEY, k TEXT, v TEXT);", machine)
            // Each gives it the integer 1.
            try machine.execute("INSERT INTO log(v) VALUES('by \(machine.name)')")
        }
        try await settle(a, b)
        try await expectAgreement(world, [a, b], ["by a", "by b"])
        for machine in [a, b] { #expect(try machine.strings("SELECT v FROM log_old") == ["old"]) }
    }

    @Test("leaves the new one's rows to whoever makes it with the key that they have by then")
    func laterKey() async throws {
        let (world, a, b) = try await pair()
        let key = """
            CREATE TABLE log_new(uid TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO log_new SELECT 'u' || id, v FROM log;
            DROP TABLE log; ALTER TABLE log_new RENAME TO log;
            """
        try run(Self.aside + "CREATE TABLE log(id INTEGER PRIMARY KEY, v TEXT);", a)
        try a.execute("INSERT INTO log(v) VALUES('a')")
        try run(key, b)
        try await settle(a, b)
        try run(key, a)
        try await settle(a, b)
        // Rows that came under integers of their author's own are to be shown in a table of names.
        try run(Self.aside + "CREATE TABLE log(uid TEXT PRIMARY KEY NOT NULL, v TEXT);", b)
        try await settle(b, a)
        try await expectAgreement(world, [a, b], ["a"])
        for machine in [a, b] { #expect(try machine.strings("SELECT v FROM log_old ORDER BY v") == ["1", "2"]) }
    }

    @Test("and dropped at once is what others have archived step by step")
    func droppedAtOnce() async throws {
        let (world, a, b) = try await pair()
        try run(Self.aside + Self.new, b)
        try b.execute("INSERT INTO log(v) VALUES('new b')")
        try await settle(b, a)
        try a.execute("INSERT INTO log(v) VALUES('3')")
        try await settle(a, b)
        try run(Self.aside + Self.new + "INSERT INTO log(v) VALUES('new a');" + Self.drop, a)
        try await settle(a, b)
        #expect(try b.strings("SELECT v FROM log_old ORDER BY v") == ["1", "2", "3"])
        try run(Self.drop, b)
        try await settle(b, a)
        try await expectAgreement(world, [a, b], ["new a", "new b"])
    }

    @Test("where another peer's is not is told, with the command that makes them one", arguments: [true, false])
    func told(hasRemade: Bool) async throws {
        let (world, a, b) = try await pair()
        if hasRemade {
            try run(Self.aside + Self.new + "INSERT INTO log(v) VALUES('new a');" + Self.drop, a)
            try await settle(a, b)
        }
        for step in [Self.aside, Self.new + "INSERT INTO log(v) VALUES('new b');", Self.drop] {
            try run(step, b)
            try await settle(b, a)
        }
        let other = try #require(try await a.status().otherTables.first)
        #expect(other.table == "log" && other.here == "log" && other.there == "log 2")
        #expect(other.same == "logsync migrate \(a.path) --rename 'log 2=log'")
        #expect(try await b.status().otherTables.isEmpty)
        let findings = try await Replicator.doctor(a.path, configuration: a.configuration).findings
        #expect(findings.contains { $0.code == "other-table" && $0.severity == .trouble })
        try await a.with { _ = try await $0.migrate("", renames: ["log 2=log"]) }
        #expect(try await a.status().otherTables.isEmpty)
        try await settle(a, b)
        try b.execute("INSERT INTO log(v) VALUES('late')")
        try await settle(b, a)
        try await expectAgreement(world, [a, b], (hasRemade ? ["late", "new a"] : ["1", "2", "late"]) + ["new b"])
    }

    @Test("and made anew at once is told where it alone has rows, by which no other peer's is called")
    func toldWhereAloneItHasRows() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE g(id INTEGER PRIMARY KEY, v TEXT)")
        try await a.initialize()
        let b = try await world.clone("b")
        let renamed = "ALTER TABLE g RENAME TO log;"
        let remade = """
            CREATE TABLE n(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO n SELECT * FROM log; DROP TABLE log;
            ALTER TABLE n RENAME TO log;
            """
        for step in [renamed, remade] {
            try run(step, a)
            try await settle(a)
        }
        // Both at once, and no row that tells: it is a table of that name.
        try run(renamed + remade, b)
        try await settle(b, a)
        #expect(try await b.status().otherTables.isEmpty)
        try b.execute("INSERT INTO log(v) VALUES('1'), ('2')")
        try await settle(b, a)
        #expect(try a.strings(Self.rows) == [])
        let other = try #require(try await b.status().otherTables.first)
        #expect(other.table == "log" && other.here == "log" && other.there == "g")
        try await b.with { _ = try await $0.migrate("", renames: ["g=log"]) }
        try await settle(b, a)
        #expect(try await b.status().otherTables.isEmpty)
        try await expectAgreement(world, [a, b], ["1", "2"])
    }
}
