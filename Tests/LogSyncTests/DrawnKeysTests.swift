import Foundation
import GRDB
import LogSync
import Testing

/// Migrations that give rows keys at random, others on each machine.
@Suite("Keys that are drawn by lot")
struct DrawnKeysTests {
    private static let migration = """
        CREATE TABLE m AS SELECT id AS old, lower(hex(randomblob(16))) AS new FROM p;
        CREATE TABLE p_new(id TEXT PRIMARY KEY, name TEXT); INSERT INTO p_new SELECT m.new, name FROM p JOIN m ON m.old = p.id;
        CREATE TABLE c_new(id TEXT PRIMARY KEY, p TEXT REFERENCES p(id), v TEXT);
        INSERT INTO c_new SELECT lower(hex(randomblob(16))), m.new, v FROM c JOIN m ON m.old = c.p;
        DROP TABLE c; DROP TABLE p; DROP TABLE m; ALTER TABLE p_new RENAME TO p; ALTER TABLE c_new RENAME TO c;
        """

    enum Order: CaseIterable { case bothAtOnce, oneFirst, oneFirstAndSeen }

    @Test(
        "The rows of two machines stay the same, with one key each, and those that refer to them follow",
        arguments: Order.allCases)
    func drawn(order: Order) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), v TEXT);
            INSERT INTO p VALUES(1, 'ann'), (2, 'bob'); INSERT INTO c VALUES(1, 1, 'c1'), (2, 1, 'c2'), (3, 2, 'c3')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        try migrate(a)
        try a.execute("INSERT INTO p VALUES('of a', 'cy'); INSERT INTO c VALUES('c of a', 'of a', 'c4')")
        if order != .bothAtOnce { try await settle(a) }
        if order == .oneFirstAndSeen { try await settle(b) }
        try b.execute(
            "INSERT INTO p(name) VALUES('dan'); INSERT INTO c(p, v) SELECT id, 'c5' FROM p WHERE name = 'dan'")
        try b.execute("INSERT INTO c(p, v) SELECT id, 'c6' FROM p WHERE name = 'ann'")
        try migrate(b)
        try await settle(b)
        try await settle(a, b)
        let expected = ["ann c1", "ann c2", "ann c6", "bob c3", "cy c4", "dan c5"]
        for machine in [a, b, try await world.clone("c")] {
            let database = try machine.database()
            defer { try? database.close() }
            let shown = try await database.read {
                try String.fetchAll($0, sql: "SELECT name || ' ' || v FROM c JOIN p ON p.id = c.p ORDER BY name, v")
            }
            // A child that came meanwhile may be parked where both drew at once, and is listed.
            let isWhole = order == .oneFirstAndSeen
            #expect(
                isWhole ? shown == expected : Set(shown).isSuperset(of: Set(expected).subtracting(["ann c6"])),
                "\(shown)")
            #expect(try await machine.status().parked <= (isWhole ? 0 : 1))
        }
    }

    private func migrate(_ machine: Machine) throws {
        let database = try machine.database()
        defer { try? database.close() }
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            try db.inTransaction {
                try db.execute(sql: Self.migration)
                return .commit
            }
        }
    }
}
