import Foundation
import GRDB
import LogSync
import Testing

/// Migrations that make a table and fill it from others, on machines that do not have the same rows at that time.
@Suite("Tables that migrations make and fill")
struct TablesOfMigrationsTests {
    enum Order: CaseIterable { case bothAtOnce, oneFirst }

    @Test(
        "A column that has moved to a table with integers of its own is there once, whatever was deleted meanwhile",
        arguments: Order.allCases, ["id", "name DESC"])
    func movedColumn(order: Order, by: String) async throws {
        let migration = """
            CREATE TABLE mail(id INTEGER PRIMARY KEY, person INTEGER NOT NULL REFERENCES person(id) ON DELETE CASCADE, at TEXT);
            INSERT INTO mail(person, at) SELECT id, mail FROM person ORDER BY \(by);
            ALTER TABLE person DROP COLUMN mail
            """
        try await migrate(
            """
            CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, mail TEXT);
            INSERT INTO person VALUES(1, 'ann', 'a@x'), (2, 'bob', 'b@x'), (3, 'cy', 'c@x'), (4, 'dan', 'd@x')
            """, migration, meanwhile: "DELETE FROM person WHERE name = 'bob'", order,
            query: "SELECT name || ' ' || at FROM mail JOIN person ON person.id = person ORDER BY 1",
            expected: ["ann a@x", "cy c@x", "dan d@x"], parked: 1)
    }

    @Test("What a machine has written into the table is there once where another one moves the column later")
    func movedLater() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, mail TEXT);
            INSERT INTO person VALUES(1, 'ann', 'a@x'), (2, 'bob', 'b@x')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = """
            CREATE TABLE mail(id INTEGER PRIMARY KEY, person INTEGER NOT NULL REFERENCES person(id), at TEXT);
            INSERT INTO mail(person, at) SELECT id, mail FROM person; ALTER TABLE person DROP COLUMN mail
            """
        try a.execute(migration)
        try a.execute(
            """
            INSERT INTO person(name) VALUES('cy');
            INSERT INTO mail(person, at) SELECT id, 'c@x' FROM person WHERE name = 'cy'
            """)
        try await settle(a, b)
        try b.execute(migration)
        try await settle(a, b)
        let query = "SELECT name || ' ' || coalesce(at, '-') FROM mail JOIN person ON person.id = person ORDER BY 1"
        for machine in [a, b, try await world.clone("c")] {
            #expect(try read(machine, query) == ["ann a@x", "bob b@x", "cy c@x"])
        }
    }

    @Test("Names that become rows are there once", arguments: Order.allCases, ["", "UNIQUE"])
    func names(order: Order, unique: String) async throws {
        let migration = """
            CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT \(unique));
            INSERT INTO city(name) SELECT DISTINCT city FROM person ORDER BY 1;
            ALTER TABLE person ADD city_id INTEGER REFERENCES city(id);
            UPDATE person SET city_id = (SELECT id FROM city WHERE city.name = city);
            ALTER TABLE person DROP COLUMN city
            """
        try await migrate(
            """
            CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
            INSERT INTO person VALUES(1, 'ann', 'Bern'), (2, 'bob', 'Bonn'), (3, 'cy', 'Bonn'), (4, 'dan', 'Rome')
            """, migration, meanwhile: "INSERT INTO person(name, city) VALUES('eve', 'Aarau'), ('fay', 'Rome')", order,
            query: "SELECT person.name || ' ' || city.name FROM person JOIN city ON city.id = city_id ORDER BY 1",
            expected: ["ann Bern", "bob Bonn", "cy Bonn", "dan Rome", "eve Aarau", "fay Rome"])
    }

    @Test("Rows that hold the same are as many as where there are most")
    func equalRows() async throws {
        try await migrate(
            """
            CREATE TABLE word(id INTEGER PRIMARY KEY, list TEXT, w TEXT);
            INSERT INTO word VALUES(1, 'x', 'a'), (2, 'x', 'b'), (3, 'y', 'a')
            """,
            """
            CREATE TABLE w(id INTEGER PRIMARY KEY, w TEXT); INSERT INTO w(w) SELECT w FROM word ORDER BY list DESC, w
            """, meanwhile: "INSERT INTO word(list, w) VALUES('z', 'b')", .bothAtOnce,
            query: "SELECT w FROM w ORDER BY 1", expected: ["a", "a", "b", "b"])
    }

    @Test("A founder who joins later with the rows of such a table has them once")
    func founder() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES(1, 'one')")
        try await a.initialize()
        let list = """
            CREATE TABLE land(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO land VALUES(7, 'Chad'), (8, 'Cuba')
            """
        try a.execute(list)
        _ = try await a.sync()
        let b = try world.machine("b")
        try b.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES(1, 'one'); \(list)")
        try await b.initialize()
        try await settle(a, b)
        for machine in [a, b] { #expect(try read(machine, "SELECT name FROM land ORDER BY 1") == ["Chad", "Cuba"]) }
    }

    /// Two machines run the migration, of which one has changed rows that the other has not seen.
    private func migrate(
        _ schema: String, _ migration: String, meanwhile: String, _ order: Order, query: String, expected: [String],
        parked: Int = 0
    ) async throws {
        for changed in [0, 1] {
            let world = try World()
            let a = try world.machine("a")
            try a.execute(schema)
            try await a.initialize()
            let b = try await world.clone("b")
            let machines = [a, b]
            try machines[changed].execute(meanwhile)
            try a.execute(migration)
            if order == .oneFirst { _ = try await a.sync() }
            try b.execute(migration)
            try await settle(a, b)
            for machine in [a, b, try await world.clone("c")] {
                #expect(try read(machine, query) == expected)
                #expect(try await machine.status().parked <= parked)
            }
        }
    }

    private func read(_ machine: Machine, _ sql: String) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: sql) }
    }
}
