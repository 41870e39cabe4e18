import LogSyncModel
import Testing

@testable import LogSyncStore

/// Columns in which programs count the rows of other tables.
@Suite("Columns in which a program counts rows")
struct CountedColumnTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let tables = """
        CREATE TABLE thread(id INTEGER PRIMARY KEY, name TEXT, messages INTEGER NOT NULL DEFAULT 0, last TEXT, seq INTEGER DEFAULT 0);
        CREATE TABLE message(id INTEGER PRIMARY KEY, thread_id INTEGER NOT NULL REFERENCES thread(id), body TEXT);
        INSERT INTO thread(name) VALUES('Ann'), ('Bob');
        """

    private func pair(_ sql: String) throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: sql)
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    private func policies(_ peer: TestPeer) throws -> [String] {
        try peer.strings("SELECT target, value FROM logsync_setting WHERE kind = 'policy' ORDER BY 1")
    }

    @Test(
        "What triggers add and take away on two peers at once adds up",
        arguments: [
            ("messages = messages + 1", "messages = messages - 1"),
            ("messages = coalesce(messages, 0) + 1, last = NEW.body", "messages = max(0, messages - 1)"),
            (
                "\"messages\" = (SELECT count(*) FROM message WHERE thread_id = NEW.thread_id)",
                "messages = CASE WHEN messages > 0 THEN messages - 1 ELSE 0 END"
            ),
        ])
    func adds(insert: String, delete: String) throws {
        let (a, b) = try pair(
            Self.tables + """
                CREATE TRIGGER added AFTER INSERT ON message BEGIN
                    UPDATE thread SET \(insert), seq = seq + 1 WHERE id = NEW.thread_id; END;
                CREATE TRIGGER removed AFTER DELETE ON message BEGIN
                    UPDATE thread SET \(delete) WHERE id = OLD.thread_id; END;
                INSERT INTO message(thread_id, body) VALUES(1, 'one'), (2, 'two');
                """)
        try a.write("INSERT INTO message(thread_id, body) VALUES(1, 'a'), (1, 'aa'), (2, 'aaa')")
        try b.write(
            """
            INSERT INTO message(thread_id, body) VALUES(1, 'b'); DELETE FROM message WHERE body = 'two';
            INSERT INTO thread(name) VALUES('Cid'); INSERT INTO message(thread_id, body) VALUES(3, 'c');
            """)
        try converge(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings(
                    """
                    SELECT name, messages, (SELECT count(*) FROM message WHERE thread_id = thread.id) FROM thread ORDER BY 1
                    """) == ["Ann|4|4", "Bob|1|1", "Cid|1|1"])
        }
        // A number that is only added to may be one that is never to be given twice.
        #expect(try policies(a) == ["thread.messages|sum"])
    }

    @Test("So does what an upsert counts")
    func upserts() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE entry(id INTEGER PRIMARY KEY, word TEXT); CREATE TABLE words(word TEXT PRIMARY KEY, n INTEGER NOT NULL);
            CREATE TRIGGER added AFTER INSERT ON entry BEGIN
                INSERT INTO words VALUES(NEW.word, 1) ON CONFLICT(word) DO UPDATE SET n = n + 1; END;
            CREATE TRIGGER removed AFTER DELETE ON entry BEGIN UPDATE words SET n = n - 1 WHERE word = OLD.word; END;
            INSERT INTO entry(word) VALUES('x'), ('y');
            """)
        for peer in [a, b] { try peer.write("INSERT INTO entry(word) VALUES('x'), ('\(peer.name)')") }
        try b.write("DELETE FROM entry WHERE word = 'y'")
        try converge(a, b)
        #expect(try a.strings("SELECT word, n FROM words ORDER BY 1") == ["a|1", "b|1", "x|3", "y|0"])
    }

    @Test("A column that is called as a count and is one adds up, and one that is none does not")
    func named() throws {
        let tables = """
            CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT, posts_count INTEGER DEFAULT 0 NOT NULL, likes_count INTEGER);
            CREATE TABLE posts(id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users, title TEXT);
            CREATE TABLE likes(id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users);
            INSERT INTO users VALUES(1, 'ann', 2, 9), (2, 'bob', 0, 0); INSERT INTO posts VALUES(1, 1, 'x'), (2, 1, 'y');
            INSERT INTO likes VALUES(1, 1);
            """
        let (a, b) = try pair(tables)
        #expect(try policies(a) == ["users.posts_count|sum"])
        for peer in [a, b] {
            try peer.write(
                "INSERT INTO posts(user_id, title) VALUES(1, '\(peer.name)'); UPDATE users SET posts_count = posts_count + 1 "
                    + "WHERE id = 1")
        }
        try converge(a, b)
        #expect(try b.strings("SELECT posts_count FROM users") == ["4", "0"])
    }

    @Test(
        "A count may be called after one row or all of them, count only some, and be of a table that is empty yet",
        arguments: [
            ("posts_count", 2, true), ("post_count", 1, true), ("num_posts", 2, true), ("postCount", 2, true),
            ("nb_posts", 1, true), ("posts_counter", 2, true), ("blog_post_count", 2, true), ("post_count", nil, true),
            ("post_count", 3, false), ("post_count", 0, false), ("post_count", -1, false), ("post_size", 2, false),
            ("likes_count", 2, false), ("count", 2, false), ("posts_count_limit", 2, false),
        ] as [(String, Int?, Bool)])
    func called(column: String, count: Int?, isCount: Bool) throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT, \(column) INTEGER DEFAULT 0 NOT NULL);
                CREATE TABLE blog_posts(id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users, title TEXT);
                CREATE TABLE likes(id INTEGER PRIMARY KEY, blog_post_id INTEGER REFERENCES blog_posts);
                """
                    + (count.map {
                        """
                        INSERT INTO users VALUES(1, 'ann', \($0)), (2, 'bob', 0);
                        INSERT INTO blog_posts VALUES(1, 1, 'x'), (2, 1, 'y');
                        """
                    } ?? ""))
        #expect(try policies(a) == (isCount ? ["users.\(column)|sum"] : []))
    }

    @Test(
        "A count in a table WITHOUT ROWID is no reason to refuse it, whatever it is told by",
        arguments: [
            "thread(id INTEGER PRIMARY KEY, k UNIQUE, post_count INTEGER) WITHOUT ROWID",
            "thread(id INTEGER PRIMARY KEY REFERENCES top(id), k, post_count INTEGER) WITHOUT ROWID",
            "thread(id INT PRIMARY KEY, k, post_count INTEGER, rowid, oid, _rowid_) WITHOUT ROWID",
        ], ["REFERENCES thread(id)", ""])
    func withoutRowid(thread: String, reference: String) throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE top(id INTEGER PRIMARY KEY, post_count INTEGER); CREATE TABLE \(thread);
                CREATE TABLE post(id TEXT PRIMARY KEY, thread INTEGER \(reference)) WITHOUT ROWID;
                INSERT INTO top VALUES(7, 2); INSERT INTO thread(id, k, post_count) VALUES(7, 1, 2);
                INSERT INTO post VALUES('p', 7), ('q', 7);
                """
        ) { if reference.isEmpty { $0.references = [(table: "post", column: "thread", parent: "thread")] } }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE thread SET post_count = 3")
        try converge(a, b)
        #expect(try b.strings("SELECT post_count FROM thread") == ["3"])
        #expect(try !policies(a).contains { $0.hasPrefix("thread.") })
    }

    @Test(
        "So does what triggers count that come with a migration, in tables and columns that come with it or were there")
    func later() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE room(id INTEGER PRIMARY KEY, name TEXT, seen INTEGER DEFAULT 0); INSERT INTO room(name) VALUES('x');
            CREATE TABLE visit(id INTEGER PRIMARY KEY, room INTEGER REFERENCES room(id), who TEXT);
            """)
        #expect(try policies(a) == [])
        for peer in [a, b] {
            try peer.write(
                """
                CREATE TABLE person(name TEXT PRIMARY KEY, seen INTEGER NOT NULL DEFAULT 0, chosen INTEGER DEFAULT 0);
                CREATE TRIGGER came AFTER INSERT ON visit BEGIN
                    UPDATE room SET seen = seen + 1 WHERE id = NEW.room;
                    UPDATE person SET seen = seen + 1, chosen = chosen + 1 WHERE name = NEW.who; END;
                CREATE TRIGGER went AFTER DELETE ON visit BEGIN
                    UPDATE room SET seen = seen - 1 WHERE id = OLD.room;
                    UPDATE person SET seen = seen - 1, chosen = chosen - 1 WHERE name = OLD.who; END;
                """)
            if peer === a {
                try a.write("INSERT INTO person(name) VALUES('Ann'); INSERT INTO visit(room, who) VALUES(1, 'Ann')")
            }
            _ = try peer.store.record()
        }
        #expect(try policies(b) == ["person.chosen|sum", "person.seen|sum", "room.seen|sum"])
        try a.store.setPolicy("person.chosen", "max")
        try converge(a, b)
        for peer in [a, b] { try peer.write("INSERT INTO visit(room, who) VALUES(1, 'Ann')") }
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT seen FROM room UNION ALL SELECT seen FROM person") == ["3", "3"])
        }
        // What was chosen meanwhile stays so when the schema changes again.
        try b.write("ALTER TABLE visit ADD COLUMN note TEXT")
        try converge(a, b)
        #expect(try policies(b) == ["person.chosen|max", "person.seen|sum", "room.seen|sum"])
    }

    @Test("A policy that was chosen stays")
    func chosen() throws {
        for (index, policies) in [[("thread.messages", "max")], [("thread", "last-writer-row")]].enumerated() {
            let a = try TestPeer(
                folder, "a\(index)",
                sql: Self.tables + """
                    CREATE TRIGGER added AFTER INSERT ON message BEGIN
                        UPDATE thread SET messages = messages + 1 WHERE id = NEW.thread_id; END;
                    CREATE TRIGGER removed AFTER DELETE ON message BEGIN
                        UPDATE thread SET messages = messages - 1 WHERE id = OLD.thread_id; END;
                    """
            ) { $0.policies = policies.map { (target: $0.0, policy: $0.1) } }
            #expect(try self.policies(a) == policies.map { "\($0.0)|\($0.1)" })
        }
    }
}
