import LogSyncModel
import Testing

@testable import LogSyncStore

@Suite struct AppTriggerTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test func aFullTextIndexIsKeptRight() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
                CREATE VIRTUAL TABLE "note fts" USING fts5(body, content='note', content_rowid='id');
                CREATE TRIGGER "note ""ai" AFTER INSERT ON note BEGIN
                  INSERT INTO "note fts"(rowid, body) VALUES (new.id, new.body); END;
                CREATE TRIGGER note_ad AFTER DELETE ON note BEGIN
                  INSERT INTO "note fts"("note fts", rowid, body) VALUES ('delete', old.id, old.body); END;
                CREATE TRIGGER note_au AFTER UPDATE ON note BEGIN
                  INSERT INTO "note fts"("note fts", rowid, body) VALUES ('delete', old.id, old.body);
                  INSERT INTO "note fts"(rowid, body) VALUES (new.id, new.body); END;
                INSERT INTO note(body) VALUES ('red apple'), ('green pear');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        #expect(try b.strings("SELECT rowid FROM \"note fts\" WHERE \"note fts\" MATCH 'apple'") == ["1"])
        try a.write(
            "UPDATE note SET body = 'blue plum' WHERE id = 1; DELETE FROM note WHERE id = 2; INSERT INTO note(body) VALUES ('apple')"
        )
        try converge(a, b)
        #expect(
            try b.strings("SELECT body FROM \"note fts\" WHERE \"note fts\" MATCH 'apple OR plum' ORDER BY 1") == [
                "apple", "blue plum",
            ])
        #expect(try b.strings("SELECT count(*) FROM \"note fts\" WHERE \"note fts\" MATCH 'pear'") == ["0"])
        try b.write("INSERT INTO \"note fts\"(\"note fts\") VALUES ('integrity-check')")
    }

    @Test func jsonIsComputedAsTheProgramDoes() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE doc(id INTEGER PRIMARY KEY, data TEXT CHECK(json_valid(data)),
                    title TEXT GENERATED ALWAYS AS (json_extract(data, '$.title')), size DEFAULT (json_array(1)));
                CREATE UNIQUE INDEX doc_title ON doc(data ->> 'title'); CREATE INDEX doc_t ON doc(title);
                CREATE VIRTUAL TABLE found USING fts5(title);
                CREATE TRIGGER doc_ai AFTER INSERT ON doc BEGIN
                  INSERT INTO found(rowid, title) VALUES (new.id, json_extract(new.data, '$.title')); END;
                CREATE VIEW tag AS SELECT value FROM doc, json_each(doc.data, '$.tags');
                CREATE VIEW hit AS SELECT rowid, bm25(found) AS rank FROM found WHERE found MATCH 'red';
                INSERT INTO doc(data) VALUES ('{"title":"red apple","tags":["x"]}');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        #expect(try b.store.unmadeObjects().isEmpty)
        try a.write("INSERT INTO doc(data) VALUES ('{\"title\":\"red plum\",\"tags\":[\"y\"]}')")
        try b.write("INSERT INTO doc(data) VALUES ('{\"title\":\"green pear\",\"tags\":[\"z\"]}')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT title FROM doc ORDER BY 1") == ["green pear", "red apple", "red plum"])
            #expect(try peer.strings("SELECT value FROM tag ORDER BY 1") == ["x", "y", "z"])
            #expect(try peer.strings("SELECT count(*) FROM hit") == ["2"])
        }
    }

    @Test func triggersThatWriteTrackedTablesStaySilent() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE film(id INTEGER PRIMARY KEY, title TEXT, last_update TEXT);
                CREATE TABLE audit(id INTEGER PRIMARY KEY, what TEXT);
                CREATE TRIGGER film_update AFTER UPDATE OF title ON film BEGIN
                  UPDATE film SET last_update = strftime('%f', 'now') || random() WHERE id = new.id;
                  INSERT INTO audit(what) VALUES (new.title); END;
                INSERT INTO film(title) VALUES ('x');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE film SET title = 'y'")
        try converge(a, b)
        #expect(try a.strings("SELECT * FROM film") == b.strings("SELECT * FROM film"))
        #expect(try b.strings("SELECT what FROM audit") == ["y"])
        #expect(try a.store.record() == nil)
        #expect(try b.store.record() == nil)
    }

    @Test func ofTriggersThatWriteBothKindsTheOtherHalfFires() throws {
        let schema = """
            CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, edited INTEGER NOT NULL DEFAULT 0);
            CREATE TABLE [change log](id INTEGER PRIMARY KEY, what TEXT);
            CREATE VIRTUAL TABLE found USING fts5(body, content='note', content_rowid='id');
            CREATE TABLE "told; once"(n);
            CREATE TRIGGER "note up" AFTER UPDATE OF body ON note WHEN new.body <> 'BEGIN' BEGIN
              UPDATE OR REPLACE note SET edited = CASE WHEN edited < 9 THEN edited + 1 ELSE 9 END WHERE id = new.id;
              -- one; comment
              INSERT INTO found(found, rowid, body) VALUES ('delete', old.id, old.body);
              INSERT INTO found(rowid, body) VALUES (new.id, new.body);
              INSERT INTO `change log`(what) VALUES ('a;b');
              DELETE FROM "told; once" WHERE n > 1000; END;
            CREATE TRIGGER note_in AFTER INSERT ON note BEGIN
              INSERT INTO found(rowid, body) VALUES (new.id, new.body);
              INSERT INTO "told; once" VALUES(1); END;
            INSERT INTO note(body) VALUES ('red');
            """
        let a = try TestPeer(folder, "a", sql: schema) { $0.local = ["told; once"] }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE note SET body = 'green'")
        try agree(a, b)
        #expect(try b.strings("SELECT body, edited FROM note") == ["green|1"])
        #expect(try b.strings("SELECT what FROM \"change log\"") == ["a;b"])
        #expect(try b.strings("SELECT rowid FROM found WHERE found MATCH 'green'") == ["1"])
        #expect(try b.strings("SELECT rowid FROM found WHERE found MATCH 'red'") == [])
        try b.write("INSERT INTO found(found) VALUES ('integrity-check')")
    }

    // MARK: Rows that logsync writes by itself

    private static let indexed = """
        CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE note(
            id INTEGER PRIMARY KEY, slug TEXT UNIQUE, body TEXT, folder INTEGER NOT NULL DEFAULT 1 REFERENCES folder);
        CREATE VIRTUAL TABLE found USING fts5(body, content='note', content_rowid='id');
        CREATE TABLE total(n INTEGER);
        CREATE TRIGGER note_ai AFTER INSERT ON note BEGIN
          INSERT INTO found(rowid, body) VALUES (new.id, new.body); UPDATE total SET n = n + 1; END;
        CREATE TRIGGER note_ad AFTER DELETE ON note BEGIN
          INSERT INTO found(found, rowid, body) VALUES ('delete', old.id, old.body); UPDATE total SET n = n - 1; END;
        CREATE TRIGGER note_au AFTER UPDATE ON note BEGIN
          INSERT INTO found(found, rowid, body) VALUES ('delete', old.id, old.body);
          INSERT INTO found(rowid, body) VALUES (new.id, new.body); END;
        INSERT INTO total VALUES (0);
        INSERT INTO folder VALUES (1, 'inbox');
        INSERT INTO note(slug, body) VALUES ('one', 'milk'), ('two', 'bread');
        """

    /// Two peers of which the first founded it.
    private func indexed() throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: Self.indexed) { $0.local = ["total"] }
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    /// The index has the rows that are there, and the count is theirs.
    private func expectKept(_ peer: TestPeer, sourceLocation: SourceLocation = #_sourceLocation) throws {
        // Only with a rank it compares the index with the table that it is of.
        #expect(throws: Never.self, sourceLocation: sourceLocation) {
            try peer.write("INSERT INTO found(found, rank) VALUES ('integrity-check', 1)")
        }
        #expect(
            try peer.strings("SELECT n FROM total") == peer.strings("SELECT count(*) FROM note"),
            sourceLocation: sourceLocation)
    }

    @Test func aCloneHasWhatTriggersKeepWhateverItIsMadeOf() throws {
        let (a, b) = try indexed()
        try expectKept(b)
        try a.write("INSERT INTO note(slug, body) VALUES ('three', 'milk'); DELETE FROM note WHERE slug = 'two'")
        try a.record()
        let c = try TestPeer(folder, "c", filling: try a.snapshot(), from: a)
        try expectKept(c)
        #expect(try c.strings("SELECT count(*) FROM found WHERE found MATCH 'milk'") == ["2"])
        try c.write("UPDATE note SET body = 'x' WHERE slug = 'one'")
        try converge(a, b, c)
        for peer in [a, b, c] { try expectKept(peer) }
    }

    @Test func aConflictThatIsSettledIsIndexed() throws {
        let (a, b) = try indexed()
        try b.write("UPDATE note SET body = 'oat' WHERE slug = 'one'")
        try a.write("UPDATE note SET body = 'soy' WHERE slug = 'one'")
        try converge(a, b)
        let conflict = try #require(try a.store.conflicts(table: nil, all: false).first)
        let shown = try a.strings("SELECT body FROM note WHERE slug = 'one'")
        let other = try #require(conflict.versions.first { $0.value != .text(Array(shown[0].utf8)[...]) })
        try a.store.takeVersion(table: "note", key: conflict.key, column: "body", dot: other.dot)
        #expect(try a.strings("SELECT body FROM note WHERE slug = 'one'") != shown)
        try expectKept(a)
    }

    @Test func aParkedRowThatComesBackByAWriteOfThisPeerIsIndexed() throws {
        let (a, b) = try indexed()
        try a.write("INSERT INTO note(slug, body) VALUES ('x', 'milk a')")
        try b.write("INSERT INTO note(slug, body) VALUES ('x', 'oat b')")
        try converge(a, b)
        for peer in [a, b] { try expectKept(peer) }
        try a.write("UPDATE note SET slug = 'y' WHERE slug = 'x'")
        try a.record()
        #expect(try a.strings("SELECT count(*) FROM note WHERE slug IN ('x', 'y')") == ["2"])
        try expectKept(a)
        try converge(a, b)
        try expectKept(b)
    }

    @Test func whatAnotherPolicyShowsIsIndexed() throws {
        let (a, b) = try indexed()
        try b.write("UPDATE note SET body = 'oat' WHERE slug = 'one'")
        try a.write("UPDATE note SET body = 'soy' WHERE slug = 'one'")
        try converge(a, b)
        let shown = try a.strings("SELECT body FROM note WHERE slug = 'one'")
        try a.store.setPolicy("note.body", "first-writer")
        #expect(try a.strings("SELECT body FROM note WHERE slug = 'one'") != shown)
        try expectKept(a)
    }
}
