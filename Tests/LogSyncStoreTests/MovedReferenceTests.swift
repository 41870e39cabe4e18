import LogSyncModel
import Testing

@testable import LogSyncStore

/// Tables are divided or joined, and what refers to their rows with them, on one machine after the other.
@Suite("References to other tables than before")
struct MovedReferenceTests {
    enum Key: String, CaseIterable, Sendable {
        case integer = "INTEGER"
        case text = "TEXT"

        func callAsFunction(_ name: String, _ number: Int) -> String {
            self == .integer ? "\(number)" : "'\(name)\(number)'"
        }
    }

    private func peers(_ sql: String) throws -> [TestPeer] {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: sql)
        let b = try TestPeer(folder, "b", cloning: a)
        return [a, b, try TestPeer(folder, "c", cloning: a)]
    }

    private func wait(_ peers: [TestPeer]) throws { for peer in peers { try peer.awaitAnotherMillisecond() } }

    // MARK: Divided

    /// Items 1 to 6 are notes, 7 to 10 tasks.
    private func dividedPeers(_ key: Key) throws -> [TestPeer] {
        let items = (1...10).map { "(\(key("i", $0)), '\($0 < 7 ? "note" : "task")', 'item \($0)')" }
        let comments = (1...10).map { "(\(key("c", $0)), 'on \($0)', \(key("i", $0)))" }
        return try peers(
            """
            CREATE TABLE items(id \(key.rawValue) PRIMARY KEY, kind TEXT, title TEXT);
            CREATE TABLE comments(id \(key.rawValue) PRIMARY KEY, text TEXT, item \(key.rawValue) REFERENCES items(id));
            INSERT INTO items VALUES \(items.joined(separator: ", "));
            INSERT INTO comments VALUES \(comments.joined(separator: ", "))
            """)
    }

    private func division(_ key: Key, join: String = "JOIN") -> String {
        """
        BEGIN; CREATE TABLE notes(id \(key.rawValue) PRIMARY KEY, title TEXT);
        CREATE TABLE tasks(id \(key.rawValue) PRIMARY KEY, title TEXT);
        INSERT INTO notes SELECT id, title FROM items WHERE kind = 'note';
        INSERT INTO tasks SELECT id, title FROM items WHERE kind = 'task';
        CREATE TABLE n(id \(key.rawValue) PRIMARY KEY, text TEXT, note \(key.rawValue) REFERENCES notes(id),
            task \(key.rawValue) REFERENCES tasks(id));
        INSERT INTO n SELECT c.id, text, CASE kind WHEN 'note' THEN i.id END, CASE kind WHEN 'task' THEN i.id END
            FROM comments AS c \(join) items AS i ON i.id = item;
        DROP TABLE comments; ALTER TABLE n RENAME TO comments; DROP TABLE items; COMMIT
        """
    }

    private static let divided = """
        SELECT text || ' ' || coalesce('note ' || notes.title, '') || coalesce('task ' || tasks.title, '') FROM comments
        LEFT JOIN notes ON notes.id = note LEFT JOIN tasks ON tasks.id = task ORDER BY comments.rowid
        """

    private static let undivided = "SELECT text || ' ' || title FROM comments LEFT JOIN items ON items.id = item"

    @Test("stay what they were where nobody has divided the tables yet, and no row is lost", arguments: Key.allCases)
    func divide(key: Key) throws {
        let peers = try dividedPeers(key)
        try peers[0].write(division(key))
        for peer in peers.dropFirst() {
            try peer.pull(from: peers[0])
            #expect(try peer.strings(Self.undivided).sorted() == (1...10).map { "on \($0) item \($0)" }.sorted())
        }
        for peer in peers.dropFirst() {
            try peer.write(division(key))
            try peer.record()
        }
        try converge(peers[0], peers[1], peers[2])
        for peer in peers {
            let shown = (1...10).map { "on \($0) \($0 < 7 ? "note" : "task") item \($0)" }
            #expect(try peer.strings(Self.divided).sorted() == shown.sorted(), "\(peer.name)")
            #expect(try peer.strings("SELECT count(*) FROM notes UNION ALL SELECT count(*) FROM tasks") == ["6", "4"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    enum Edit: CaseIterable, Sendable {
        /// As the other's migration is known, and before its own.
        case captured, recorded
        /// While neither has heard of the other.
        case unheard
    }

    @Test(
        "are those that a program has written before its migration, to the one table or the other",
        arguments: Key.allCases,
        Edit.allCases)
    func editBeforeDivision(key: Key, edit: Edit) throws {
        let peers = try dividedPeers(key)
        try peers[0].write(division(key))
        try peers[0].record()
        try wait(peers)
        // Of rows that the other does not write.
        try peers[0].write("UPDATE comments SET task = NULL, note = \(key("i", 5)) WHERE text = 'on 9'")
        if edit != .unheard { try peers[1].pull(from: peers[0]) }
        try wait(peers)
        for (text, item) in [("on 1", key("i", 8)), ("on 8", key("i", 3)), ("on 2", key("i", 4)), ("on 3", "NULL")] {
            try peers[1].write("UPDATE comments SET item = \(item) WHERE text = '\(text)'")
            try wait(peers)
        }
        if edit == .recorded { try peers[0].pull(from: peers[1]) }
        try wait(peers)
        try peers[1].write(division(key, join: "LEFT JOIN"))
        try peers[1].record()
        try peers[2].write(division(key))
        try converge(peers[0], peers[1], peers[2])
        for peer in peers {
            #expect(
                try peer.strings(Self.divided).sorted() == [
                    "on 1 task item 8", "on 10 task item 10", "on 2 note item 4", "on 3 ", "on 4 note item 4",
                    "on 5 note item 5", "on 6 note item 6", "on 7 task item 7", "on 8 note item 3", "on 9 note item 5",
                ], "\(peer.name)")
            #expect(try peer.store.audit().problems == [])
        }
    }

    // MARK: Joined

    private func joinedPeers(_ key: Key, both: Bool) throws -> [TestPeer] {
        let notes = (1...8).map { "(\(key("n", $0)), 'note \($0)')" }
        let tasks = (1...5).map { "(\(key("t", $0)), 'task \($0)')" }
        let comments = (1...8).map { number in
            let isTask = both && number % 2 == 0
            return """
                INSERT INTO comments(id, text, \(isTask ? "task" : "note"))
                VALUES(\(key("c", number)), 'on \(number)', \(key(isTask ? "t" : "n", isTask ? number / 2 : number)));
                """
        }
        return try peers(
            """
            CREATE TABLE notes(id \(key.rawValue) PRIMARY KEY, title TEXT);
            CREATE TABLE tasks(id \(key.rawValue) PRIMARY KEY, title TEXT);
            CREATE TABLE comments(id \(key.rawValue) PRIMARY KEY, text TEXT, note \(key.rawValue) REFERENCES notes(id)
                \(both ? ", task \(key.rawValue) REFERENCES tasks(id)" : ""));
            INSERT INTO notes VALUES \(notes.joined(separator: ", "));
            INSERT INTO tasks VALUES \(tasks.joined(separator: ", ")); \(comments.joined())
            """)
    }

    private func union(_ key: Key, both: Bool) -> String {
        let task = key == .integer ? "id + 100" : "id"
        let item = both ? "coalesce(note, \(key == .integer ? "task + 100" : "task"))" : "note"
        return """
            BEGIN; CREATE TABLE items(id \(key.rawValue) PRIMARY KEY, kind TEXT, title TEXT);
            INSERT INTO items SELECT id, 'note', title FROM notes;
            INSERT INTO items SELECT \(task), 'task', title FROM tasks;
            CREATE TABLE n(id \(key.rawValue) PRIMARY KEY, text TEXT, item \(key.rawValue) REFERENCES items(id));
            INSERT INTO n SELECT id, text, \(item) FROM comments;
            DROP TABLE comments; ALTER TABLE n RENAME TO comments; DROP TABLE notes; DROP TABLE tasks; COMMIT
            """
    }

    @Test(
        "go on being shown by those that have not joined the tables, and what each writes counts",
        arguments: Key.allCases, [false, true])
    func join(key: Key, both: Bool) throws {
        let peers = try joinedPeers(key, both: both)
        try peers[0].write(union(key, both: both))
        try peers[0].record()
        try wait(peers)
        try peers[0].write(
            "UPDATE comments SET item = (SELECT id FROM items WHERE title = 'note 6') WHERE text = 'on 1'")
        let shown = "SELECT text || ' ' || coalesce(notes.title, '') FROM comments LEFT JOIN notes ON notes.id = note"
        for peer in peers.dropFirst() {
            try peer.pull(from: peers[0])
            let count = try peer.strings(shown + " WHERE text = 'on 3'")
            #expect(count == ["on 3 note 3"])
            #expect(try peer.strings("SELECT count(*) FROM comments") == ["8"])
        }
        try wait(peers)
        try peers[1].write("UPDATE comments SET note = \(key("n", 7)) WHERE text = 'on 5'")
        if both { try peers[1].write("UPDATE comments SET task = \(key("t", 5)) WHERE text = 'on 8'") }
        try peers[0].pull(from: peers[1])
        // The same text names the same row; a number does not.
        let isShownAtOnce = key == .text && !both
        #expect(
            try peers[0].strings("SELECT title FROM comments JOIN items ON items.id = item WHERE text = 'on 5'")
                == [isShownAtOnce ? "note 7" : "note 5"])
        for peer in peers.dropFirst() {
            try peer.write(union(key, both: both))
            try peer.record()
        }
        try converge(peers[0], peers[1], peers[2])
        var expected = (1...8).map { both && $0 % 2 == 0 ? "on \($0) task \($0 / 2)" : "on \($0) note \($0)" }
        (expected[0], expected[4]) = ("on 1 note 6", "on 5 note 7")
        if both { expected[7] = "on 8 task 5" }
        for peer in peers {
            #expect(
                try peer.strings(
                    "SELECT text || ' ' || title FROM comments JOIN items ON items.id = item ORDER BY text")
                    == expected, "\(peer.name)")
            // What a peer makes of the former references is no row of its own.
            #expect(try peer.strings("SELECT count(*) FROM items") == ["13"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    // MARK: Renamed

    struct Renaming: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var key = Key.integer
        var sql: String

        static let all =
            Key.allCases.flatMap { key in
                [
                    Renaming(
                        testDescription: "the table was renamed, \(key)", key: key,
                        sql: """
                            ALTER TABLE notes RENAME TO items; CREATE TABLE n(id \(key.rawValue) PRIMARY KEY, text TEXT,
                                item \(key.rawValue) REFERENCES items(id), task \(key.rawValue) REFERENCES tasks(id));
                            INSERT INTO n SELECT id, text, note, task FROM comments; DROP TABLE comments;
                            ALTER TABLE n RENAME TO comments
                            """),
                    Renaming(
                        testDescription: "the table was made anew, \(key)", key: key,
                        sql: """
                            CREATE TABLE items(id \(key.rawValue) PRIMARY KEY, title TEXT);
                            INSERT INTO items SELECT * FROM notes; DROP TABLE notes; CREATE TABLE n(
                                id \(key.rawValue) PRIMARY KEY, text TEXT, item \(key.rawValue) REFERENCES items(id),
                                task \(key.rawValue) REFERENCES tasks(id));
                            INSERT INTO n SELECT id, text, note, task FROM comments; DROP TABLE comments;
                            ALTER TABLE n RENAME TO comments
                            """),
                ]
            }
    }

    @Test("are renamed columns, beside others, where these say the same", arguments: Renaming.all)
    func rename(renaming: Renaming) throws {
        let peers = try joinedPeers(renaming.key, both: true)
        try peers[0].write("BEGIN; \(renaming.sql); COMMIT")
        try peers[0].record()
        try peers[1].pull(from: peers[0])
        try peers[1].write("UPDATE comments SET note = \(renaming.key("n", 8)) WHERE text = 'on 1'")
        try peers[0].pull(from: peers[1])
        let shown =
            "SELECT title FROM comments JOIN items ON items.id = item WHERE text IN ('on 1', 'on 3') ORDER BY text"
        #expect(try peers[0].strings(shown) == ["note 8", "note 3"])
        for peer in peers.dropFirst() { try peer.write("BEGIN; \(renaming.sql); COMMIT") }
        try converge(peers[0], peers[1], peers[2])
        for peer in peers { #expect(try peer.strings(shown) == ["note 8", "note 3"]) }
    }
}
