import LogSyncModel
import Testing

@testable import LogSyncStore

/// A table whose rows refer to each other by integers, and by names since a migration.
@Suite("Rows that refer to rows of their own table, whose key becomes a name")
struct SelfReferenceKeyTests {
    private static let migration = """
        PRAGMA foreign_keys = OFF; BEGIN;
        CREATE TABLE m(name TEXT PRIMARY KEY NOT NULL, up TEXT REFERENCES m(name));
        INSERT INTO m SELECT c.name, p.name FROM n c LEFT JOIN n p ON p.id = c.up; DROP TABLE n;
        ALTER TABLE m RENAME TO n; COMMIT
        """

    private func pair() throws -> (a: TestPeer, b: TestPeer) {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, up INTEGER REFERENCES n(id));
                INSERT INTO n VALUES(1, 'root', NULL), (2, 'a', 1), (3, 'b', 1), (4, 'aa', 2)
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        return (a, b)
    }

    /// As whatever imports does.
    private func meet(_ a: TestPeer, _ b: TestPeer) throws {
        for (peer, other) in [(b, a), (a, b)] {
            do {
                try peer.pull(from: other)
            } catch let unready as UnreadyTable {
                try peer.store.prepare(unready)
                try peer.pull(from: other)
            }
        }
        try converge(a, b)
    }

    private func expect(_ rows: [String], _ a: TestPeer, _ b: TestPeer) throws {
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name, up FROM n ORDER BY name") == rows)
            #expect(try peer.store.parkedRows(table: "n").isEmpty)
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("What one machine wrote before it heard of the other's migration comes back with its own")
    func first() throws {
        let (a, b) = try pair()
        try a.write("INSERT INTO n VALUES(5, 'na', 2), (6, 'nna', 5)")
        try b.write("INSERT INTO n VALUES(5, 'nb', 3), (6, 'nnb', 5); UPDATE n SET up = 3 WHERE name = 'aa'")
        try a.write(Self.migration)
        try meet(a, b)
        try b.write(Self.migration)
        try expect(["a|root", "aa|b", "b|root", "na|a", "nb|b", "nna|na", "nnb|nb", "root|NULL"], a, b)
    }

    @Test("A migration that finds names where it looks for integers takes nothing away")
    func names() throws {
        let (a, b) = try pair()
        try a.write(Self.migration)
        try meet(a, b)
        // Its parent is parked as long as its own migration has not run; so the key is enforced no more.
        try b.write("PRAGMA foreign_keys = OFF; INSERT INTO n VALUES(7, 'nb', 3), (8, 'nnb', 7)")
        try converge(a, b)
        try b.write(Self.migration)
        try expect(["a|root", "aa|a", "b|root", "nb|b", "nnb|nb", "root|NULL"], a, b)
    }
}
