import Testing

/// The app changes its own schema, in its own time, with plain SQL.
@Suite(.turn) struct SchemaChangeTests {
    private static let schema = """
        CREATE TABLE word (word TEXT PRIMARY KEY, meaning TEXT, uses INTEGER DEFAULT 0, spare TEXT);
        CREATE TABLE item (id INTEGER PRIMARY KEY, title TEXT, spare TEXT);
        CREATE TABLE part (id INTEGER PRIMARY KEY, name TEXT, item_id INTEGER REFERENCES item (id));
        INSERT INTO word VALUES ('a', 'first', 1, 's'), ('b', 'second', 2, NULL);
        INSERT INTO item VALUES (1, 'one', 's'), (2, 'two', NULL);
        INSERT INTO part VALUES (1, 'p', 1), (2, 'q', 2);

        """

    /// A change, and writes that need it.
    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var sql: String
        var after: String

        init(_ name: String, _ sql: String, after: String) {
            testDescription = name
            self.sql = sql
            self.after = after
        }
    }

    static let changes: [Change] = [
        Change(
            "ADD COLUMN",
            "ALTER TABLE word ADD COLUMN origin TEXT; ALTER TABLE item ADD COLUMN price REAL DEFAULT 1.5;",
            after:
                "UPDATE word SET origin = 'latin'; INSERT INTO word VALUES ('c', 'third', 3, NULL, 'greek'); INSERT INTO item (title, price) VALUES ('three', 3.25);"
        ),
        Change(
            "ADD COLUMN with NOT NULL and a default", "ALTER TABLE word ADD COLUMN rank INTEGER NOT NULL DEFAULT 5;",
            after: "UPDATE word SET rank = 6 WHERE word = 'a'; INSERT INTO word (word) VALUES ('c');"),
        Change(
            "ADD COLUMN with a reference", "ALTER TABLE word ADD COLUMN item_id INTEGER REFERENCES item (id);",
            after:
                "UPDATE word SET item_id = 2 WHERE word = 'a'; INSERT INTO item VALUES (3, 'three', NULL); INSERT INTO word (word, item_id) VALUES ('c', 3);"
        ),
        Change(
            "RENAME COLUMN",
            "ALTER TABLE word RENAME COLUMN meaning TO sense; ALTER TABLE item RENAME COLUMN title TO name;",
            after:
                "UPDATE word SET sense = 'renamed' WHERE word = 'a'; INSERT INTO item (name) VALUES ('three'); DELETE FROM word WHERE word = 'b';"
        ),
        Change(
            "RENAME of key columns",
            "ALTER TABLE word RENAME COLUMN word TO term; ALTER TABLE item RENAME COLUMN id TO number;",
            after:
                "UPDATE word SET meaning = 'renamed' WHERE term = 'a'; INSERT INTO item (title) VALUES ('three'); DELETE FROM word WHERE term = 'b'; INSERT INTO part (name, item_id) VALUES ('r', 2);"
        ),
        Change(
            "DROP COLUMN", "ALTER TABLE word DROP COLUMN spare; ALTER TABLE item DROP COLUMN spare;",
            after:
                "UPDATE word SET meaning = 'dropped'; INSERT INTO item (title) VALUES ('three'); DELETE FROM word WHERE word = 'b';"
        ),
        Change(
            "RENAME TABLE", "ALTER TABLE word RENAME TO term;",
            after: "UPDATE term SET meaning = 'renamed'; INSERT INTO term (word) VALUES ('c');"),
        Change(
            "a new table and a new index",
            "CREATE TABLE tag (tag TEXT PRIMARY KEY, item_id INTEGER REFERENCES item (id)); CREATE INDEX item_title ON item (title);",
            after: "INSERT INTO tag VALUES ('x', 1), ('y', 2); UPDATE item SET title = 'indexed' WHERE id = 2;"),
        Change(
            "a rebuilt table",
            """
            PRAGMA foreign_keys = OFF; BEGIN;
            CREATE TABLE new_item (id INTEGER PRIMARY KEY, title TEXT NOT NULL COLLATE NOCASE, spare TEXT, extra INTEGER DEFAULT 7);
            INSERT INTO new_item (id, title, spare) SELECT id, title, spare FROM item;
            DROP TABLE item; ALTER TABLE new_item RENAME TO item; COMMIT;
            """,
            after:
                "UPDATE item SET title = 'rebuilt' WHERE id = 1; INSERT INTO item (title, extra) VALUES ('three', 8); DELETE FROM part WHERE id = 2; DELETE FROM item WHERE id = 2;"
        ),
        Change(
            "a rebuilt table with a text key",
            """
            BEGIN; CREATE TABLE new_word (word TEXT PRIMARY KEY, uses INTEGER DEFAULT 0, meaning TEXT, spare TEXT) WITHOUT ROWID;
            INSERT INTO new_word (word, meaning, uses, spare) SELECT word, meaning, uses, spare FROM word;
            DROP TABLE word; ALTER TABLE new_word RENAME TO word; COMMIT;
            """,
            after:
                "UPDATE word SET meaning = 'rebuilt' WHERE word = 'a'; INSERT INTO word (word) VALUES ('c'); DELETE FROM word WHERE word = 'b';"
        ),
    ]

    @Test(arguments: changes, Writer.allCases)
    func `both apps change their schema, at their own time, and go on writing`(change: Change, writer: Writer)
        async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            // Before a change rows that were captured are not yet recorded.
            try await one.write("UPDATE word SET uses = uses + 1; UPDATE part SET name = name || '!';", with: writer)
            try await one.write(change.sql, with: writer)
            try await one.write(change.after, with: writer)
            try await one.sync()
            // The other app is older for a while: it takes what it has columns for, and nothing stops.
            try await two.sync()
            try await two.write("UPDATE part SET name = name || ' older';")
            try await exchange(two, one)
            #expect(try await one.count("part", where: "name LIKE '% older'") > 0)
            // Then it follows.
            try await two.write(change.sql, with: writer)
            try await exchange(two, one)
            try await sandbox.expect(.meaning, [one, two], change.testDescription)
            try await two.write("UPDATE part SET name = name || ' newer';")
            try await exchange(two, one)
            try await sandbox.expect(.meaning, [one, two], change.testDescription)
        }
    }

    @Test func `a table that one app drops is no deletion of its rows`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            try await one.write("DROP TABLE word;")
            try await one.write("UPDATE part SET name = 'after the drop';")
            try await exchange(one, two)
            #expect(try await two.count("word") == 2)
            #expect(try await two.count("part", where: "name = 'after the drop'") == 2)
            try await two.write("INSERT INTO word (word) VALUES ('kept for one');")
            try await exchange(two, one)
            try await sandbox.expect(.meaning, [one, two], options: ["--structure-differs"])
        }
    }

    @Test func `a clone made after the change has the new schema and every row`() async throws {
        try await withSandbox { sandbox in
            let (one, _) = try await sandbox.pair(sql: Self.schema)
            for change in Self.changes where ["ADD COLUMN", "RENAME COLUMN"].contains(change.testDescription) {
                try await one.write(change.sql)
            }
            try await one.write("UPDATE word SET origin = 'x', sense = 'y';")
            try await one.sync()
            let three = try await sandbox.clone("three")
            try await sandbox.expect(.equal, [one, three])
        }
    }
}
