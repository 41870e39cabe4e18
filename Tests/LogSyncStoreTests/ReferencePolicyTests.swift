import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Policies that take values for amounts, where the values are integers that name other rows in each store.
@Suite("Policies of amounts and columns that name rows")
struct ReferencePolicyTests {
    private static let sql = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT, parent INTEGER REFERENCES note(id), stars INTEGER);
        INSERT INTO note VALUES (1, 'one', NULL, 0), (2, 'two', NULL, 0), (3, 'three', NULL, 0);
        """
    private static let parents = "SELECT n.text, p.text, n.stars FROM note n LEFT JOIN note p ON p.id = n.parent"

    /// Two peers to which one integer names two rows.
    private func pair(_ policies: [(String, String)] = []) throws -> (TestPeer, TestPeer) {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.sql) { $0.policies = policies }
        let b = try TestPeer(folder, "b", cloning: a)
        try b.write("INSERT INTO note(id, text) VALUES (4, 'of b')")
        try a.write("INSERT INTO note(id, text) VALUES (4, 'of a')")
        try converge(a, b)
        try a.write("UPDATE note SET parent = 4 WHERE id = 3")
        try converge(a, b)
        return (a, b)
    }

    private func expectAlike(_ a: TestPeer, _ b: TestPeer, _ rows: Set<String>) throws {
        for peer in [a, b] {
            #expect(try Set(peer.strings(Self.parents)).isSuperset(of: rows))
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.store.record() == nil)
        }
        #expect(try a.strings("\(Self.parents) ORDER BY n.text") == b.strings("\(Self.parents) ORDER BY n.text"))
    }

    @Test("An edit of a reference shows one row everywhere, whatever set the policy", arguments: ["sum", "max", "min"])
    func edit(policy: String) throws {
        for target in ["note", "note.parent"] {
            let (a, b) = try pair()
            // As a setting comes from the folder, where nobody refuses it.
            try a.write("INSERT INTO logsync_setting(kind, target, value) VALUES('policy', '\(target)', '\(policy)')")
            try converge(a, b)
            try a.write("UPDATE note SET parent = 1, stars = stars + 2 WHERE id = 3")
            try b.awaitAnotherMillisecond()
            try b.write("UPDATE note SET stars = stars + 3 WHERE text = 'three'")
            try converge(a, b)
            let stars = target == "note" ? ["sum": 5, "max": 3, "min": 2][policy] ?? 0 : 3
            try expectAlike(a, b, ["three|one|\(stars)"])
            try b.write("UPDATE note SET parent = (SELECT id FROM note WHERE text = 'of b') WHERE text = 'three'")
            try converge(a, b)
            try expectAlike(a, b, ["three|of b|\(stars)"])
            let named = try a.store.unmadeObjects().map(\.object)
            #expect(named == (target == "note" ? [] : ["note.parent"]))
        }
    }

    @Test("Of two rows that peers referred to at once, the last writer's is shown")
    func conflict() throws {
        for policy in ["max", "min", "sum"] {
            for first in ["one", "two"] {
                let (a, b) = try pair([("note", policy)])
                try a.write("UPDATE note SET parent = (SELECT id FROM note WHERE text = '\(first)') WHERE id = 3")
                _ = try a.store.record()
                let last = first == "one" ? "two" : "one"
                try b.awaitAnotherMillisecond()
                try b.write(
                    "UPDATE note SET parent = (SELECT id FROM note WHERE text = '\(last)') WHERE text = 'three'")
                try converge(a, b)
                try expectAlike(a, b, ["three|\(last)|0"])
            }
        }
    }

    @Test("It is refused for such a column by name, and said of a table which columns it leaves out")
    func refused() throws {
        for policy in ["sum", "max", "min"] {
            #expect {
                try TestPeer(TestFolder(), "refused", sql: Self.sql) { $0.policies = [("note.parent", policy)] }
            } throws: {
                let error = $0 as? LogSyncError
                return error?.code == .usage && error?.message.contains("which row is meant") == true
            }
        }
        let (a, b) = try pair()
        #expect(throws: LogSyncError.self) { try a.store.setPolicy("Note.Parent", "sum") }
        #expect(try a.store.setPolicy("note", "sum").first?.contains("parent of note") == true)
        #expect(try a.store.setPolicy("note.stars", "max") == [])
        #expect(try a.store.setPolicy("note.parent", "first-writer") == [])
        try a.write("ALTER TABLE note ADD COLUMN other INTEGER REFERENCES note(id)")
        #expect(throws: LogSyncError.self) { try a.store.setPolicy("note.other", "sum") }
        try converge(a, b)
    }

    @Test("A reference in a key is none either")
    func key() throws {
        let sql = """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE c(parent INTEGER NOT NULL REFERENCES p(id), place INTEGER NOT NULL, count INTEGER,
                PRIMARY KEY(parent, place));
            INSERT INTO p VALUES (1, 'p'); INSERT INTO c VALUES (1, 1, 1);
            """
        for target in ["c.parent", "c.place"] {
            #expect(throws: LogSyncError.self) {
                try TestPeer(TestFolder(), "refused", sql: sql) { $0.policies = [(target, "sum")] }
            }
        }
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: sql) { $0.policies = [("c", "sum")] }
        let b = try TestPeer(folder, "b", cloning: a)
        for peer in [a, b] { try peer.write("UPDATE c SET place = 2, count = count + 1") }
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.strings("SELECT place FROM c") == ["2"])
        }
        #expect(try a.strings("SELECT * FROM c") == b.strings("SELECT * FROM c"))
    }

    @Test("A counter that comes to be a reference is none any more, and is named")
    func later() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE c(id INTEGER PRIMARY KEY, name TEXT, parent INTEGER);
                INSERT INTO p VALUES (1, 'one'), (2, 'two'); INSERT INTO c VALUES (1, 'c', 1);
                """
        ) { $0.policies = [("c.parent", "sum")] }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO p VALUES (3, 'of a')")
        try b.write("INSERT INTO p VALUES (3, 'of b')")
        try converge(a, b)
        for peer in [a, b] {
            try peer.write(
                """
                CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT, parent INTEGER REFERENCES p(id));
                INSERT INTO n SELECT * FROM c; DROP TABLE c; ALTER TABLE n RENAME TO c;
                """)
            _ = try peer.store.record()
        }
        try converge(a, b)
        try a.write("UPDATE c SET parent = 3")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT c.name, p.name FROM c JOIN p ON p.id = c.parent") == ["c|of a"])
            #expect(try peer.store.unmadeObjects().map(\.object).contains("c.parent"))
            #expect(try peer.store.audit().problems == [])
        }
    }
}
