import LogSyncModel
import Testing

@testable import LogSyncStore

/// Programs that save rows by deleting and inserting them, while other rows go on referring to their integers.
@Suite("Rows that others refer to, deleted and inserted again")
struct ReinsertedParentTests {
    private func pair(_ items: String, declares: Bool = true) throws -> (a: TestPeer, b: TestPeer) {
        let folder = try TestFolder()
        let schema = """
            CREATE TABLE lists(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO lists VALUES(1, 'one'), (2, 'two');
            CREATE TABLE items(\(items)); INSERT INTO items(list_id, t) VALUES(1, 'first'), (2, 'second');
            """
        let a = try TestPeer(folder, "a", sql: schema) { plan in
            if !declares { plan.references = [("items", "list_id", "lists")] }
        }
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    private static let items = "id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists(id), t TEXT"
    private static let shown = "SELECT t, name FROM items LEFT JOIN lists ON lists.id = list_id ORDER BY t"

    /// Saves all lists as they are.
    private static func save(_ more: String = "") -> String {
        """
        BEGIN; CREATE TEMP TABLE saved AS SELECT * FROM lists; DELETE FROM lists; INSERT INTO lists SELECT * FROM saved;
        \(more); DROP TABLE saved; COMMIT
        """
    }

    private func expect(_ rows: [String], _ a: TestPeer, _ b: TestPeer, _ shown: String = shown) throws {
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings(shown) == rows)
            #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test(
        "They are the rows that were there, as long as a row refers to them",
        arguments: [
            items, "id INTEGER PRIMARY KEY, list_id INTEGER, t TEXT",
            "list_id INTEGER REFERENCES lists(id), t TEXT, PRIMARY KEY(list_id, t)",
            "list_id INTEGER REFERENCES lists(id), t TEXT, PRIMARY KEY(list_id, t)) WITHOUT ROWID; CREATE TABLE x(y",
        ])
    func stay(items: String) throws {
        let (a, b) = try pair(items, declares: items.contains("REFERENCES"))
        try a.write(Self.save())
        try b.write("INSERT INTO items(list_id, t) VALUES(1, 'third')")
        try expect(["first|one", "second|two", "third|one"], a, b)
        #expect(try a.strings("SELECT count(*) FROM lists") == ["2"])
    }

    @Test("Nothing is recorded of the rows that refer to them, also where these were written in the same transaction")
    func nothingElse() throws {
        let (a, b) = try pair(Self.items)
        try a.write(Self.save("UPDATE items SET t = t || '!'"))
        try b.write("UPDATE items SET list_id = 2 WHERE id = 1; INSERT INTO items(list_id, t) VALUES(1, 'third')")
        try expect(["first!|two", "second!|two", "third|one"], a, b)
    }

    @Test("Two machines that save the same rows have them once")
    func both() throws {
        let (a, b) = try pair(Self.items)
        for peer in [a, b] { try peer.write(Self.save()) }
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM lists ORDER BY name") == ["one", "two"])
            #expect(try peer.strings(Self.shown) == ["first|one", "second|two"])
        }
    }

    @Test("A row that is saved anew where nobody knows of the key yet is the one that numbers meant", arguments: 0..<4)
    func renewedWhileDeclared(order: Int) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, made INTEGER);
                CREATE TABLE t(uid TEXT PRIMARY KEY, owner INTEGER); INSERT INTO p VALUES(1, 'a', 0), (2, 'b', 0);
                INSERT INTO t VALUES('r', 1), ('s', 2);
                """
        ) { $0.notReferences = [("t", "owner")] }
        let b = try TestPeer(folder, "b", cloning: a)
        let declare = """
            BEGIN; CREATE TABLE n(uid TEXT PRIMARY KEY, owner INTEGER REFERENCES p(id) ON DELETE CASCADE);
            INSERT INTO n SELECT * FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT;
            """
        let renew = "BEGIN; DELETE FROM p WHERE id = 2; INSERT INTO p VALUES(2, 'b', 1); COMMIT;"
        switch order {
        case 0:
            try a.write(declare)
            try a.record()
            try b.write(renew)
            try agree(a, b)
            try b.write(declare)
        case 1:
            try b.write(renew)
            try b.record()
            for peer in [a, b] { try peer.write(declare) }
        case 2:
            try b.write(renew + declare)
            try a.write(declare)
        default:
            try b.write(renew)
            try agree(a, b)
            for peer in [a, b] { try peer.write(declare) }
        }
        try agree(a, b)
        for peer in [a, b] {
            let query = "SELECT uid, name, made FROM t LEFT JOIN p ON p.id = owner ORDER BY uid"
            #expect(try peer.strings(query) == ["r|a|0", "s|b|1"])
            #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
        }
    }

    @Test("Saving a row reads none of those that refer to it")
    func cost() throws {
        func cost(of write: String, items: Int) throws -> UInt64 {
            let (a, _) = try pair(Self.items)
            try a.write(
                """
                WITH i(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM i WHERE n < \(items))
                INSERT INTO items(list_id, t) SELECT 1, 'more ' || n FROM i
                """)
            try a.record()
            try a.write(write)
            let begin = processorTime()
            try a.record()
            return processorTime() - begin
        }
        let save = """
            BEGIN; CREATE TEMP TABLE saved AS SELECT * FROM lists; DELETE FROM lists;
            INSERT INTO lists SELECT id, name || '!' FROM saved; DROP TABLE saved; COMMIT
            """
        _ = try cost(of: save, items: 10)
        let (few, many) = (try cost(of: save, items: 10), try cost(of: save, items: 10_000))
        #expect(many < few * 24, "\(few), \(many)")
    }

    @Test(
        "A row that takes the number of one to which nothing referred any more is another row",
        arguments: [
            "INSERT INTO items VALUES(9, 2, 'first')", "UPDATE items SET list_id = 2 WHERE id = 1",
            "DELETE FROM items; INSERT INTO items VALUES(1, 2, 'first')",
        ])
    func another(write: String) throws {
        let (a, b) = try pair(Self.items)
        try a.write(
            """
            BEGIN; DELETE FROM items WHERE list_id = 2; DELETE FROM lists WHERE id = 2;
            INSERT INTO lists VALUES(2, 'another'); \(write); COMMIT
            """)
        try b.write("UPDATE lists SET name = 'edited' WHERE id = 2")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM lists ORDER BY name") == ["another", "one"])
            #expect(try peer.strings(Self.shown).contains("first|another"))
            #expect(try peer.store.audit().problems == [])
        }
        // Of the list that is gone, the edit is listed.
        #expect(try a.store.conflicts(table: "lists", all: false).map(\.column) == ["name"])
    }
}
