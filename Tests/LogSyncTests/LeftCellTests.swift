import Foundation
import LogSync
import Testing

/// What programs write to a column that is left alone until it is known what it is no log has.
@Suite("Columns that are left alone")
struct LeftCellTests {
    private static let column = "ALTER TABLE t ADD COLUMN owner_id INT"

    /// Two machines of which the second has `owner_id` of its own in each row.
    private func machines(options: String = "") async throws -> (a: Machine, b: Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO owner(name) VALUES('o'), ('p'), ('q');
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE)\(options); INSERT INTO t VALUES('x', '1'), ('y', '2')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        for machine in [a, b] { try machine.execute(Self.column) }
        try b.execute("UPDATE t SET owner_id = code + 0")
        try await settle(b, a)
        #expect(try await b.status().heldReferences.map(\.column) == ["owner_id"])
        return (a, b)
    }

    private func shown(_ machine: Machine) throws -> [String] {
        try machine.strings("SELECT k || ' ' || code || ' ' || coalesce(owner_id, '-') FROM t ORDER BY k")
    }

    @Test("keep what they hold while rows exchange what is UNIQUE, and are parked", arguments: ["", " WITHOUT ROWID"])
    func parked(options: String) async throws {
        let (a, b) = try await machines(options: options)
        try a.execute(
            """
            UPDATE t SET code = 'away' WHERE k = 'x'; UPDATE t SET code = '1' WHERE k = 'y';
            UPDATE t SET code = '2' WHERE k = 'x'
            """)
        try await settle(a, b)
        #expect(try shown(b) == ["x 2 1", "y 1 2"])

        try a.execute("INSERT INTO t(k, code) VALUES('n', '3')")
        _ = try await a.sync()
        try b.execute("INSERT INTO t VALUES('m', '3', 3)")
        try await settle(b, a)
        #expect(try shown(b) == ["n 3 -", "x 2 1", "y 1 2"])
        try a.execute("UPDATE t SET code = '4' WHERE k = 'n'")
        try await settle(a, b)
        #expect(try shown(b) == ["m 3 3", "n 4 -", "x 2 1", "y 1 2"])
    }

    @Test("hold nothing in a row that is inserted anew, and what a constraint refuses as soon as it does not")
    func refused() async throws {
        let (a, b) = try await machines()
        try a.execute("INSERT INTO t(k, code) VALUES('n', '3')")
        _ = try await a.sync()
        try b.execute("INSERT INTO t VALUES('m', '3', 3)")
        try await settle(b, a)
        try await b.with { _ = try await $0.dropParked(table: "t", key: [.text(Array("m".utf8)[...])]) }
        try await settle(b, a)
        try a.execute("INSERT INTO t(k, code) VALUES('m', '5')")
        try await settle(a, b)
        #expect(try shown(b) == ["m 5 -", "n 3 -", "x 1 1", "y 2 2"])
        try a.execute("UPDATE t SET code = '7' WHERE k = 'n'")
        try b.execute("UPDATE t SET code = '7' WHERE k = 'm'")
        try await settle(a, b)
        #expect(try shown(b) == ["n 7 -", "x 1 1", "y 2 2"])
        try a.execute("UPDATE t SET code = '3' WHERE k = 'n'")
        try await settle(a, b)
        #expect(try shown(b) == ["m 7 -", "n 3 -", "x 1 1", "y 2 2"])

        try a.execute("INSERT INTO t(k, code) VALUES('l', '4')")
        _ = try await a.sync()
        try b.execute("CREATE UNIQUE INDEX one ON t(owner_id); INSERT INTO t VALUES('o', '4', 3)")
        try await settle(b, a)
        #expect(try shown(b) == ["l 4 -", "m 7 -", "n 3 -", "x 1 1", "y 2 2"])
        try b.execute("UPDATE t SET owner_id = 3 WHERE k = 'n'")
        try a.execute("UPDATE t SET code = '6' WHERE k = 'l'")
        try await settle(a, b)
        #expect(try shown(b) == ["l 6 -", "m 7 -", "n 3 3", "o 4 -", "x 1 1", "y 2 2"])
        try a.execute("UPDATE t SET code = '8' WHERE k = 'l'")
        try b.execute("UPDATE t SET owner_id = NULL WHERE k = 'n'; UPDATE t SET code = '8' WHERE k = 'o'")
        try await settle(a, b)
        #expect(try shown(b) == ["l 8 -", "m 7 -", "n 3 -", "x 1 1", "y 2 2"])
        try a.execute("UPDATE t SET code = '9' WHERE k = 'l'")
        try await settle(a, b)
        #expect(try shown(b) == ["l 9 -", "m 7 -", "n 3 -", "o 8 3", "x 1 1", "y 2 2"])
    }

    @Test("are written with their rows where it is known by then what they are, unless others have written them")
    func decided() async throws {
        let (a, b) = try await machines()
        try a.execute("INSERT INTO t(k, code) VALUES('n', '3'), ('o', '4')")
        _ = try await a.sync()
        try b.execute("INSERT INTO t VALUES('l', '3', 3), ('m', '4', 2)")
        try await settle(b, a)
        #expect(try shown(b) == ["n 3 -", "o 4 -", "x 1 1", "y 2 2"])
        try await b.with { _ = try await $0.migrate("", references: ["t.owner_id=owner"]) }
        try await settle(b, a)
        try a.execute("UPDATE t SET code = '5' WHERE k = 'n'")
        try await settle(a, b)
        for machine in [a, b] { #expect(try shown(machine) == ["l 3 3", "n 5 -", "o 4 -", "x 1 1", "y 2 2"]) }
        try a.execute("UPDATE t SET code = '6' WHERE k = 'o'; UPDATE t SET owner_id = 1 WHERE k = 'l'")
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try shown(machine) == ["l 3 1", "m 4 2", "n 5 -", "o 6 -", "x 1 1", "y 2 2"])
            #expect(try await machine.status().parked == 0)
        }
    }
}
