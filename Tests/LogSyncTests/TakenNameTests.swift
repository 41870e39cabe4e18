import Foundation
import LogSync
import Testing

/// One look sees all of a migration by ALTER TABLE, which leaves what rows hold: what a column holds says which it is.
@Suite("Names that columns take from others which were dropped")
struct TakenNameTests {
    struct Case: CustomTestStringConvertible {
        let migration: [String]
        /// What one machine writes after its migration, and the other before its own.
        let after: String
        let before: String
        /// What all show, the columns but the key in their order.
        let expected: [String]
        /// A column that came back under its name is none that this is about.
        var without = "k"
        var testDescription: String { migration.joined(separator: ", ") }
    }

    private static let cases = [
        Case(
            migration: ["DROP COLUMN b", "RENAME COLUMN c TO b"], after: "b = 'by a' WHERE k = '1'",
            before: "c = 'by b' WHERE k = '2'", expected: ["by a d1", "by b d2", "c3 d3"]),
        Case(
            migration: ["DROP COLUMN b", "RENAME COLUMN c TO b", "RENAME COLUMN d TO c"],
            after: "b = 'by a' WHERE k = '1'", before: "d = 'by b' WHERE k = '2'",
            expected: ["by a d1", "c2 by b", "c3 d3"]),
        Case(
            migration: ["RENAME COLUMN b TO o", "RENAME COLUMN c TO b", "DROP COLUMN o"],
            after: "b = 'by a' WHERE k = '1'", before: "c = 'by b' WHERE k = '2'",
            expected: ["by a d1", "by b d2", "c3 d3"]),
        Case(
            migration: ["RENAME COLUMN d TO z", "DROP COLUMN c", "ADD COLUMN c TEXT"],
            after: "z = 'by a' WHERE k = '1'", before: "d = 'by b' WHERE k = '2'",
            expected: ["b1 by a", "b2 by b", "b3 d3"], without: "c"),
        Case(
            migration: ["RENAME COLUMN c TO z", "DROP COLUMN d", "ADD COLUMN c TEXT"],
            after: "c = 'by a' WHERE k = '1'", before: "c = 'by b' WHERE k = '2'",
            expected: ["b1 c1 by a", "b2 by b -", "b3 c3 -"]),
    ]

    @Test("a column is the one whose values it holds", arguments: cases)
    func taken(_ given: Case) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, b TEXT, c TEXT, d TEXT);
            INSERT INTO t VALUES('1', 'b1', 'c1', 'd1'), ('2', 'b2', 'c2', 'd2'), ('3', 'b3', 'c3', 'd3')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = given.migration.map { "ALTER TABLE t \($0)" }.joined(separator: "; ")
        try a.execute(migration)
        try await settle(a, b)
        try a.execute("UPDATE t SET \(given.after)")
        try b.execute("UPDATE t SET \(given.before)")
        try await settle(a, b)
        try b.execute(migration)
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] {
            let names = try machine.strings(
                "SELECT name FROM pragma_table_info('t') WHERE name NOT IN ('k', '\(given.without)')")
            let columns = names.map { "coalesce(\($0), '-')" }.joined(separator: " || ' ' || ")
            #expect(try machine.strings("SELECT \(columns) FROM t ORDER BY k") == given.expected, "\(machine.name)")
        }
        #expect(try await a.status().digest == b.status().digest)
    }
}
