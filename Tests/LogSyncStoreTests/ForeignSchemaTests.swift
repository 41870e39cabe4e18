import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import LogSyncStore
import Testing

@Suite("A schema that another peer published")
struct ForeignSchemaTests {
    /// Makes it in memory, and says what was left out.
    private func unmade(_ schema: String, functions: Set<String> = []) throws -> [UnmadeObject] {
        let schema = try ForeignSchema(schema)
        return try Connection.inMemory { try schema.make(on: $0, functions: functions) }
    }

    private func objects(_ schema: String, functions: Set<String> = []) throws -> [String] {
        let schema = try ForeignSchema(schema)
        return try Connection.inMemory { connection in
            _ = try schema.make(on: connection, functions: functions)
            return try connection.rows("SELECT name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").map {
                String(text: $0[0])
            }
        }
    }

    @Test(
        "is refused as a whole where it is more than a schema",
        arguments: [
            "ATTACH '/tmp/elsewhere.db' AS o;",
            "VACUUM INTO '/tmp/elsewhere.db';",
            "SELECT fts3_tokenizer('x', x'4141414141414141');",
            "PRAGMA soft_heap_limit=71748523475270;",
            "PRAGMA writable_schema = ON;",
            "PRAGMA user_version = (SELECT 1);",
            "CREATE TABLE n(x INTEGER); INSERT INTO n(x) VALUES ((SELECT 1));",
            "CREATE TABLE n(x INTEGER); INSERT INTO n(x) SELECT 1;",
            "CREATE TABLE n(x INTEGER); INSERT INTO n(x) VALUES (hex(zeroblob(8000000)));",
            // What it gives is an address in this process.
            "CREATE TABLE n(x); INSERT INTO n(x) VALUES (fts3_tokenizer('simple'));",
            "CREATE TABLE n AS SELECT 1;",
            "CREATE TABLE n AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c;",
            "CREATE TEMP TABLE n(x);",
            "CREATE TABLE temp.n(x);",
            "CREATE TABLE logsync_store(key, value);",
            "CREATE INDEX logsync_i ON note(id);",
            "DELETE FROM note;", "DROP TABLE note;", "BEGIN;", "ANALYZE;", "REINDEX;",
            "INSERT INTO sqlite_master(name) VALUES ('x');\u{0}",
            "EXPLAIN CREATE TABLE n(x);",
            "CREATE VIRTUAL TABLE temp.n USING fts5(x);",
        ])
    func refused(statement: String) throws {
        let error = #expect(throws: LogSyncError.self) {
            try unmade(
                "CREATE TABLE note(id TEXT PRIMARY KEY);\n\(statement)\nCREATE TABLE later(id INTEGER PRIMARY KEY);\n")
        }
        #expect(error?.code == .invalidStore)
    }

    @Test("is made whole where it is what programs have")
    func usual() throws {
        let schema = """
            PRAGMA encoding = 'UTF-8';
            PRAGMA page_size = 4096;
            PRAGMA auto_vacuum = 0;
            PRAGMA application_id = -7;
            PRAGMA user_version = 3;
            CREATE TABLE list(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL DEFAULT (lower('X')) UNIQUE) STRICT;
            CREATE TABLE note(
                id INTEGER PRIMARY KEY, list INTEGER REFERENCES list ON DELETE CASCADE,
                body TEXT DEFAULT 'a;b' CHECK (length(body) < 100), day TEXT DEFAULT CURRENT_TIMESTAMP,
                upper TEXT GENERATED ALWAYS AS (upper(body)) STORED);
            CREATE TABLE pair(a TEXT, b TEXT, PRIMARY KEY(a, b)) WITHOUT ROWID;
            CREATE TABLE version(n INTEGER, t TEXT);
            CREATE VIRTUAL TABLE found USING fts5(body, content='note', content_rowid='id', tokenize='porter');
            CREATE VIRTUAL TABLE older USING fts4(body);
            CREATE VIRTUAL TABLE place USING rtree(id, x0, x1);
            CREATE UNIQUE INDEX note_body ON note(lower(body)) WHERE list IS NOT NULL;
            CREATE VIEW shown AS SELECT n.id, l.name FROM note AS n JOIN list AS l ON l.id = n.list; -- a comment
            CREATE VIEW deep AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 9) SELECT x FROM c;
            CREATE TRIGGER note_ai AFTER INSERT ON note BEGIN
              INSERT INTO found(rowid, body) VALUES (new.id, new.body); SELECT CASE WHEN 1 THEN 2 END; END;
            CREATE TRIGGER note_au AFTER UPDATE OF body ON note WHEN new.body <> old.body BEGIN
              UPDATE version SET n = n + 1; END;
            CREATE TRIGGER shown_ii INSTEAD OF INSERT ON shown BEGIN INSERT INTO list(name) VALUES (new.name); END;
            INSERT INTO "version"("n", "t") VALUES (-1, 'it''s; here');
            INSERT INTO "version"("n", "t") VALUES (9.0e+999, X'00FF');
            INSERT INTO "version"("n", "t") VALUES (NULL, NULL);
            """
        let left = try unmade(schema)
        #expect(left.isEmpty, "\(left)")
        let made = try ForeignSchema(schema)
        let rows = try Connection.inMemory { connection in
            _ = try made.make(on: connection)
            // The connection is as it was.
            try connection.execute("CREATE TEMP TABLE t(x); INSERT INTO version SELECT 5, 'later'")
            return try connection.integer("SELECT count(*) FROM version")
        }
        #expect(rows == 4)
    }

    @Test(
        "is made without what calls a function that is not harmless",
        arguments: [
            "CREATE VIEW bad AS SELECT id, edit('', 'touch owned') FROM note;",
            "CREATE VIEW bad AS SELECT writefile('x', id) FROM note;",
            "CREATE VIEW bad AS SELECT * FROM note WHERE load_extension('x');",
            "CREATE TRIGGER bad AFTER INSERT ON note BEGIN UPDATE note SET id = edit(new.id, 'true'); END;",
            "CREATE TRIGGER bad BEFORE DELETE ON note BEGIN DELETE FROM other WHERE x = readfile('x'); END;",
            "CREATE TRIGGER bad AFTER UPDATE ON note WHEN fts3_tokenizer('simple') BEGIN SELECT 1; END;",
            "CREATE TRIGGER bad AFTER INSERT ON note BEGIN DELETE FROM logsync_transaction; END;",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x DEFAULT (edit('', 'true')));",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x CHECK (writefile('x', x)));",
            "CREATE INDEX bad ON note(edit(id, 'true'));",
            "CREATE VIRTUAL TABLE bad USING unheardof(x);",
            "CREATE VIRTUAL TABLE bad USING fts5(x, tokenize='unheardof');",
        ])
    func leftOut(statement: String) throws {
        let schema = "CREATE TABLE note(id TEXT PRIMARY KEY);CREATE TABLE other(x);\n\(statement)"
        #expect(try unmade(schema).map(\.object) == ["bad"])
        #expect(try !objects(schema).contains("bad"))
    }

    @Test(
        "is made without what comes to a huge value for each row, behind whatever condition",
        arguments: [
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x DEFAULT (hex(zeroblob(499999999))));",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x DEFAULT (zeroblob(900000000)));",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x DEFAULT (printf('%.900000000c', 'x')));",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x DEFAULT (format('%-900000000d', 1)));",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x AS (printf('%d%,.900000000d', id, id)));",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x AS (printf('%.*c', 900000000, id)));",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x NOT NULL DEFAULT (\"zeroblob\" (900000000)), y CHECK (y > 1));",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x DEFAULT (CASE WHEN random() = 7 THEN zeroblob(100000) END));",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x DEFAULT (coalesce(1, zeroblob(100000))));",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x AS (zeroblob(900000000)) STORED);",
            "CREATE TABLE bad(id INTEGER PRIMARY KEY, x AS (id || hex(zeroblob(300000000))));",
            "CREATE INDEX bad ON note(zeroblob(300000000));",
            "CREATE UNIQUE INDEX bad ON note(id || zeroblob(100000000));",
            "CREATE INDEX bad ON note(id) WHERE length(id || zeroblob(100000000)) > 1;",
        ])
    func tooLargeForEachRow(statement: String) throws {
        let schema = "CREATE TABLE note(id TEXT PRIMARY KEY);\n\(statement)"
        let left = try unmade(schema)
        #expect(left.map(\.object) == ["bad"])
        #expect(left.first?.reason.contains("for each row") == true, "\(left)")
        #expect(try objects(schema) == ["note"])
    }

    @Test("is made without a table whose many small defaults are large together")
    func tooLargeTogether() throws {
        let calls = (1...1000).map { "c\($0) DEFAULT (zeroblob(1000))" }.joined(separator: ",")
        let literals = (1...1000).map { "c\($0) DEFAULT '\(String(repeating: "x", count: 100))'" }
        for columns in [calls, literals.joined(separator: ",")] {
            #expect(try unmade("CREATE TABLE note(id); CREATE TABLE bad(\(columns));").map(\.object) == ["bad"])
        }
    }

    @Test(
        "is made without a table whose generated columns double each other, or that has more columns than are selected")
    func tooLongToRead() throws {
        let doubled = (0..<28).map { "g\($0 + 1) AS (g\($0) || g\($0))" }.joined(separator: ",")
        let wide = (0..<2000).map { "c\($0)" }.joined(separator: ",")
        for columns in ["t, g0 AS (t || 'x'), \(doubled)", "t, g0 AS (1), \(doubled)", wide] {
            let schema = "CREATE TABLE note(id); CREATE TABLE bad(\(columns)); CREATE VIEW v AS SELECT * FROM bad;"
            #expect(try unmade(schema).map(\.object) == ["bad", "v"])
        }
        // As many as can be, and what reads them.
        let many = (0..<1998).map { "c\($0)" }.joined(separator: ",")
        let steps = (0..<8).map { "g\($0 + 1) AS (g\($0) || g\($0))" }.joined(separator: ",")
        let usual = "CREATE TABLE note(\(many)); CREATE TABLE more(t, g0 AS (t || 'x'), \(steps));"
        #expect(try unmade(usual + "CREATE VIEW v AS SELECT * FROM more, more AS other").isEmpty)
    }

    @Test("keeps the defaults, indexes and generated columns that programs have")
    func usualExpressions() throws {
        let schema = """
            CREATE TABLE note(
                id TEXT PRIMARY KEY DEFAULT (lower(hex(randomblob(16)))), made TEXT DEFAULT (datetime('now')),
                day INTEGER DEFAULT (CAST(strftime('%s', 'now') AS INTEGER)), price DECIMAL(10, 2) DEFAULT 1.5,
                uuid TEXT DEFAULT (lower(hex(randomblob(4)) || '-' || substr('89ab', abs(random()) % 4 + 1, 1))),
                extra TEXT DEFAULT (json_object('a', json('[1, 2]'))) CHECK (json_valid(extra)), word DEFAULT draft,
                body VARCHAR(100000) DEFAULT '\(String(repeating: "x", count: 2000))', pad BLOB DEFAULT (zeroblob(256)),
                label TEXT AS (printf('%s/%08d/%d', body, day, 100000000)) STORED, size AS (length(body)));
            CREATE INDEX by_label ON note(lower(substr(body, 1, 20)), printf('%9d', day)) WHERE length(body) > 3;
            """
        #expect(try unmade(schema).isEmpty)
        #expect(try objects(schema) == ["by_label", "note"])
    }

    @Test("is made with a function that the user lets in")
    func letIn() throws {
        let schema = """
            CREATE TABLE note(id TEXT PRIMARY KEY, sort TEXT);
            CREATE TRIGGER sorts AFTER INSERT ON note BEGIN UPDATE note SET sort = title_sort(new.id) WHERE id = new.id; END;
            CREATE VIEW v AS SELECT title_sort(id), edit(id, 'x') FROM note;
            """
        #expect(try unmade(schema).map(\.object) == ["v", "sorts"])
        #expect(try unmade(schema, functions: ["Title_Sort"]).map(\.object) == ["v"])
    }

    @Test("calls no function of the program's that makes it")
    func functionOfTheProgram() throws {
        let text = "CREATE TABLE n(x); INSERT INTO n(x) VALUES (private_key());"
        #expect(throws: LogSyncError.self) {
            try Connection.inMemory { connection in
                sqlite3_create_function_v2(
                    connection.handle, "private_key", 0, SQLITE_UTF8, nil,
                    { context, _, _ in sqlite3_result_int(context, 7) },
                    nil, nil, nil)
                return try ForeignSchema(text).make(on: connection)
            }
        }
    }

    @Test("keeps its tables under collations that only its program has")
    func collations() throws {
        let schema = """
            CREATE TABLE note(id TEXT PRIMARY KEY);
            CREATE TABLE deck(id INTEGER PRIMARY KEY, name TEXT COLLATE localized UNIQUE);
            CREATE INDEX deck_name ON deck(name COLLATE localized);
            INSERT INTO "deck"("id", "name") VALUES (1, 'b');
            INSERT INTO "deck"("id", "name") VALUES (2, 'a');
            CREATE TABLE version(n INTEGER);
            INSERT INTO "version"("n") VALUES (7);
            """
        let left = try unmade(schema)
        #expect(left.map(\.object) == ["rows of deck"])
        #expect(left.first?.reason == "the collation localized is not here")
        #expect(try objects(schema) == ["deck", "deck_name", "note", "version"])
    }

    @Test("ends soon however much work its views and tables are")
    func bombs() throws {
        var views = "CREATE TABLE note(id TEXT PRIMARY KEY); CREATE VIEW v0 AS SELECT 1 AS x FROM note;\n"
        for level in 1...40 {
            views += "CREATE VIEW v\(level) AS SELECT a.x FROM v\(level - 1) AS a, v\(level - 1) AS b;\n"
        }
        let left = try unmade(views)
        // Not because SQLite gave up on it at last, or the time was over.
        #expect(left.first { $0.object == "v40" }?.reason.contains("names other views") == true)
        #expect(!left.map(\.object).contains("v5"))
        let columns = (1...1990).map { "c\($0)" }.joined(separator: ",")
        let tables = (1...600).map { "CREATE TABLE t\($0)(\(columns));" }.joined()
        let error = #expect(throws: LogSyncError.self) { try unmade(tables) }
        #expect(error?.message.contains("takes longer than a schema may") == true)
    }

    @Test("has no expression, no UNION and no trigger beyond what people write")
    func bounds() throws {
        func schema(_ statement: String) -> String { "CREATE TABLE note(id TEXT PRIMARY KEY);\n\(statement)" }
        func deep(_ depth: Int) -> String {
            "CREATE VIEW bad AS SELECT " + repeatElement("1 +", count: depth).joined(separator: " ") + " 1;"
        }
        func joined(_ count: Int) -> String {
            "CREATE VIEW bad AS " + repeatElement("SELECT id FROM note", count: count).joined(separator: " UNION ALL ")
                + ";"
        }
        func long(_ statements: Int) -> String {
            "CREATE TRIGGER bad AFTER INSERT ON note BEGIN "
                + repeatElement("SELECT 1;", count: statements).joined(separator: " ") + " END;"
        }
        for statement in [deep(100), joined(40), long(1000)] {
            #expect(try unmade(schema(statement)).isEmpty, "\(statement.prefix(60))")
        }
        for (statement, reason) in [
            (deep(300), "Expression tree is too large (maximum depth \(Limits.schemaExpressionDepth))"),
            (joined(60), "too many terms in compound SELECT"), (long(60_000), "longer than any that people write"),
        ] {
            let left = try unmade(schema(statement))
            #expect(left.map(\.object) == ["bad"])
            #expect(left.first?.reason.contains(reason) == true, "\(left)")
            #expect(try !objects(schema(statement)).contains("bad"))
        }
    }

    @Test("A value that SQLite does not take is an error, and not NULL")
    func tooLong() throws {
        try Connection.inMemory { connection in
            try connection.execute("CREATE TABLE t(v)")
            sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, 1000)
            let long = [UInt8](repeating: 0x61, count: 2000)[...]
            for value in [Value.text(long), .blob(long)] {
                let error = #expect(throws: LogSyncError.self) {
                    try connection.run("INSERT INTO t VALUES(?)", value)
                }
                #expect(error?.message.contains("1000 bytes") == true)
            }
            try connection.run("INSERT INTO t VALUES(?)", .text("short"))
            #expect(try connection.integer("SELECT count(*) FROM t WHERE v IS NOT NULL") == 1)
            #expect(try connection.integer("SELECT count(*) FROM t") == 1)
        }
    }

    @Test("is asked for its tables' names without anything else of it")
    func names() throws {
        let columns = try Store.columns(
            ofSchema:
                "CREATE TABLE Note(Id TEXT PRIMARY KEY, body); CREATE VIEW v AS SELECT edit(1, 2); CREATE TABLE t(x);")
        #expect(columns == ["note": ["id", "body"], "t": ["x"]])
        #expect(try Store.columns(ofSchema: "CREATE TABLE t(x); ATTACH 'x' AS y;") == [:])
    }
}
