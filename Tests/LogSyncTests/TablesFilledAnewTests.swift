import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// Tables that programs drop, make again and fill with what they held, a transaction a step: without a copy of another name,
/// or with one that is temporary, as SQLite's own questions and answers recommend it.
@Suite("A table that is dropped, made again and filled")
struct TablesFilledAnewTests {
    private static let rows = "SELECT p.name || coalesce(' ' || t, '') FROM p LEFT JOIN c ON c.p = p.id ORDER BY 1"
    private static let table = "CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT, n INTEGER DEFAULT 0);"

    private static let child = "CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), t TEXT)"

    /// A program that does not enforce foreign keys meanwhile.
    private func run(_ script: String, _ machine: Machine) throws {
        let database = try machine.database()
        try database.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA foreign_keys = OFF; \(script)") }
        try database.close()
    }

    /// Rows that were there at the beginning, and others; one peer has an integer that the other has not.
    private func pair(
        _ declaration: String = table, hasChild: Bool = true
    ) async throws -> (World, Machine, Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            "\(declaration); INSERT INTO p(name) VALUES('Ann'), ('Bob'); \(hasChild ? Self.child : "")"
        )
        try await a.initialize()
        let b = try await world.clone("b")
        try b.execute("INSERT INTO p(name) VALUES('Cy')")
        try a.execute("INSERT INTO p(name) VALUES('Di')")
        if hasChild { try a.execute("INSERT INTO c(p, t) SELECT rowid, 'of ' || name FROM p") }
        try await settle(a, b)
        return (world, a, b)
    }

    private func expectAgreement(_ world: World, _ machines: [Machine], _ expected: [String], _ query: String = rows)
        async throws
    {
        for machine in machines {
            #expect(try machine.strings(query) == expected, "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
            let doctor = try await Replicator.doctor(machine.path, configuration: machine.configuration)
            #expect(doctor.findings.filter { $0.severity != .note }.isEmpty, "\(doctor.findings)")
        }
        #expect(try await machines[0].status().digest == machines[1].status().digest)
        #expect(try await world.clone("z").strings(query) == expected)
    }

    @Test(
        "has its rows, wherever logsync looks",
        arguments: [([0, 1, 2], true), ([0, 1, 2], false), ([0], true), ([0], false), ([0, 1], true), ([1], false)])
    func filled(looks: [Int], isEdited: Bool) async throws {
        let (world, a, b) = try await pair()
        let kept = try a.strings("SELECT id || ', ''' || name || ''', ' || n FROM p")
        let steps = ["DROP TABLE p", Self.table, "INSERT INTO p VALUES(\(kept.joined(separator: "), (")))"]
        for (index, step) in steps.enumerated() {
            try run(step, a)
            if looks.contains(index) { try await a.sync() }
            if isEdited && index == 0 {
                try b.execute("UPDATE p SET name = 'Rob' WHERE name = 'Bob'; UPDATE p SET n = 7 WHERE name = 'Di'")
                try b.execute("INSERT INTO p(name) VALUES('Eve')")
                try await b.sync()
                if looks.contains(index) { try await a.sync() }
            }
        }
        try await settle(a, b)
        let bob = isEdited ? "Rob" : "Bob"
        try await expectAgreement(
            world, [a, b], (["Ann of Ann", "\(bob) of Bob", "Cy", "Di of Di"] + (isEdited ? ["Eve"] : [])).sorted())
        if isEdited { #expect(try a.strings("SELECT n FROM p WHERE name = 'Di'") == ["7"]) }
    }

    @Test(
        "has its rows under another key, wherever logsync looks",
        arguments: [
            "uid TEXT NOT NULL, kind TEXT NOT NULL DEFAULT 'k', name TEXT, PRIMARY KEY(uid, kind)",
            "id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, name TEXT",
            "id INTEGER PRIMARY KEY, uid TEXT NOT NULL, name TEXT",
            "uid TEXT NOT NULL COLLATE NOCASE PRIMARY KEY, name TEXT",
            "uid TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY(name)",
            "uid TEXT NOT NULL, name TEXT",
        ],
        [[true, false], [false, true], [true, true]])
    func filledUnderAnotherKey(columns: String, looks: [Bool]) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(uid TEXT NOT NULL PRIMARY KEY, name TEXT);
            INSERT INTO p VALUES('A', 'Ann'), ('B', 'Bob'), ('C', 'Cy'), ('D', 'Di')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        for (machine, isLookedAt) in zip([a, b], looks) {
            let values = try machine.strings("SELECT '''' || uid || ''', ''' || name || '''' FROM p")
            let steps = [
                "DROP TABLE p", "CREATE TABLE p(\(columns))",
                "INSERT INTO p(uid, name) VALUES(\(values.joined(separator: "), (")))",
            ]
            for step in isLookedAt ? steps : [steps.joined(separator: ";")] {
                try run(step, machine)
                try await machine.sync()
            }
            try await settle(a, b)
            if machine.name == a.name {
                try b.execute("UPDATE p SET name = 'Rob' WHERE uid = 'B'")
                try a.execute("UPDATE p SET name = 'Dora' WHERE uid = 'D'; INSERT INTO p(uid, name) VALUES('E', 'Eve')")
                try await settle(a, b)
            }
        }
        try a.execute("DELETE FROM p WHERE uid = 'A'")
        try b.execute("UPDATE p SET name = 'Cyr' WHERE uid = 'C'")
        try await settle(a, b)
        try await expectAgreement(
            world, [a, b], ["B Rob", "C Cyr", "D Dora", "E Eve"], "SELECT uid || ' ' || name FROM p ORDER BY 1")
    }

    private static let names = "SELECT name || ' ' || n FROM p ORDER BY 1"

    /// A look after each step.
    private func make(_ machine: Machine, _ declaration: String, _ fills: String...) async throws {
        for step in ["DROP TABLE p", declaration] + fills {
            try run(step, machine)
            try await machine.sync()
        }
    }

    @Test(
        "has its rows by their keys, or by what they hold",
        arguments: [
            "CREATE TABLE p(name TEXT PRIMARY KEY, n INTEGER DEFAULT 0)",
            "CREATE TABLE p(name TEXT, n INTEGER DEFAULT 0)",
            "CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER DEFAULT 0)",
        ])
    func keys(declaration: String) async throws {
        let (world, a, b) = try await pair(declaration, hasChild: false)
        let kept = try a.strings("SELECT '(''' || name || ''', ' || n || ')' FROM p ORDER BY name")
        try a.execute("DROP TABLE p")
        try await a.sync()
        try b.execute("UPDATE p SET n = 5 WHERE name = 'Di'")
        try await b.sync()
        try a.execute(declaration)
        try await a.sync()
        // In parts, and in another order.
        try a.execute("INSERT INTO p(name, n) VALUES\(kept[2]), \(kept[3])")
        try await a.sync()
        try a.execute("INSERT INTO p(name, n) VALUES\(kept[0]), \(kept[1])")
        try await settle(a, b)
        try await expectAgreement(world, [a, b], ["Ann 0", "Bob 0", "Cy 0", "Di 5"], Self.names)
    }

    @Test("says what the program has changed, and has its new columns")
    func changed() async throws {
        let (world, a, b) = try await pair()
        try await make(
            a, "CREATE TABLE p(id INTEGER PRIMARY KEY, more TEXT DEFAULT 'x', name TEXT)",
            "INSERT INTO p(id, name) VALUES(1, 'Ann'), (2, 'Bobby')",
            "INSERT INTO p(id, name, more) SELECT rowid, name, 'y' FROM (SELECT 3 AS rowid, 'Di' AS name UNION SELECT 4, 'Cy')"
        )
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try machine.strings(Self.rows) == ["Ann of Ann", "Bobby of Bob", "Cy", "Di of Di"])
        }
        #expect(try await a.status().digest == b.status().digest)
        try b.execute("ALTER TABLE p ADD COLUMN more TEXT DEFAULT 'x'")
        try await settle(b, a)
        #expect(try b.strings("SELECT more FROM p ORDER BY name") == ["x", "x", "y", "y"])
        _ = world
    }

    @Test("has other rows where they hold something else")
    func others() async throws {
        let (world, a, b) = try await pair(hasChild: false)
        try await make(a, Self.table, "INSERT INTO p(id, name) VALUES(1, 'Xaver'), (2, 'Yvonne'), (3, 'Zoe')")
        try await settle(a, b)
        // A missing table deletes nothing; what it held is in a clone, and doctor says so.
        #expect(try a.strings(Self.names) == ["Xaver 0", "Yvonne 0", "Zoe 0"])
        let all = ["Ann 0", "Bob 0", "Cy 0", "Di 0", "Xaver 0", "Yvonne 0", "Zoe 0"]
        #expect(try b.strings(Self.names) == all)
        #expect(try await world.clone("z").strings(Self.names) == all)
        let report = try await Replicator.doctor(a.path, configuration: a.configuration)
        #expect(report.findings.contains { $0.code == "column-dropped" })
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("lacks the rows that were deleted before it went, and while it was not there", arguments: [true, false])
    func deleted(isOneGo: Bool) async throws {
        let (world, a, b) = try await pair(hasChild: false)
        // Nobody looks between this and the table's end.
        try a.execute("DELETE FROM p WHERE name = 'Ann'; UPDATE p SET n = 4 WHERE name = 'Di'; DROP TABLE p")
        try await a.sync()
        try b.execute("DELETE FROM p WHERE name = 'Bob'")
        try await settle(b, a)
        #expect(try b.strings(Self.names) == ["Ann 0", "Cy 0", "Di 0"])
        let fill = "INSERT INTO p VALUES(2, 'Bob', 0), (3, 'Di', 4), (4, 'Cy', 0)"
        try a.execute(isOneGo ? Self.table + fill : Self.table)
        try await a.sync()
        if !isOneGo { try a.execute(fill) }
        try await settle(a, b)
        try await expectAgreement(world, [a, b], ["Cy 0", "Di 4"], Self.names)
    }

    @Test("keeps a row that its program inserts later, though others have deleted one that held the same")
    func insertedLater() async throws {
        let (world, a, b) = try await pair(hasChild: false)
        try a.execute("DROP TABLE p")
        try await a.sync()
        try b.execute("DELETE FROM p WHERE name = 'Bob'")
        try await settle(b, a)
        try a.execute(Self.table + "INSERT INTO p VALUES(3, 'Di', 0), (4, 'Cy', 0)")
        try await settle(a, b)
        var later = a
        later.configuration.clock = FixedClock(SystemClock().now() + 61_000)
        try await later.sync()
        try a.execute("INSERT INTO p VALUES(2, 'Bob', 0)")
        try await settle(later, b)
        #expect(try a.strings(Self.names) == ["Bob 0", "Cy 0", "Di 0"])
        #expect(try b.strings(Self.names) == ["Ann 0", "Bob 0", "Cy 0", "Di 0"])
        _ = world
    }

    @Test("shows what others have written to it when its program has had a minute")
    func unfilled() async throws {
        let (_, a, b) = try await pair(hasChild: false)
        try a.execute("DROP TABLE p")
        try await a.sync()
        try b.execute("UPDATE p SET name = 'Rob', n = 3 WHERE name = 'Bob'")
        try await b.sync()
        try await a.sync()
        try a.execute(Self.table)
        try await a.sync()
        let x = try a.strings("SELECT quote(id) || quote(name) || quote(n) FROM p")
        #expect(x == [])
        var later = a
        later.configuration.clock = FixedClock(SystemClock().now() + 61_000)
        try await later.sync()
        #expect(try a.strings("SELECT id || name FROM p") == ["2Rob"])
    }

    @Test("is referred to as before, by rows of others too, and by those that are written while it is gone")
    func referred() async throws {
        let (world, a, b) = try await pair()
        try b.execute("INSERT INTO c(p, t) SELECT id, 'by b' FROM p WHERE name = 'Cy'")
        try await settle(a, b)
        let query = "SELECT id || ',' || quote(name) FROM p WHERE id > 2 ORDER BY name"
        #expect(try a.strings(query) != b.strings(query), "the integers of Cy and Di are others on each machine")
        let number = try ["Cy", "Di"].map { try a.strings("SELECT id FROM p WHERE name = '\($0)'")[0] }
        let rows = try a.strings("SELECT '(' || id || ',' || quote(name) || ')' FROM p").joined(separator: ",")
        for step in [
            "DROP TABLE p",
            "INSERT INTO c(p, t) VALUES(\(number[0]), 'new'); UPDATE c SET p = \(number[1]) WHERE t = 'of Ann'",
            Self.table, "INSERT INTO p(id, name) VALUES\(rows)",
        ] {
            try run(step, a)
            try await a.sync()
        }
        try await settle(a, b)
        let expected = ["Ann", "Bob of Bob", "Cy by b", "Cy new", "Di of Ann", "Di of Di"]
        try await expectAgreement(world, [a, b], expected)
    }
}
