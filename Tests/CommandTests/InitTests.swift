import Foundation
import Testing

/// What `init` has to be told of an application's database, and how it asks.
@Suite(.turn) struct InitTests {
    private static let books = """
        CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO books VALUES(1, 'Dune'), (2, 'Emma');
        CREATE TABLE comments(id INTEGER PRIMARY KEY, book INTEGER UNIQUE, text TEXT);
        INSERT INTO comments VALUES(1, 2, 'fine');
        """

    private func arguments(_ tool: Tool, _ more: String...) -> [String] {
        ["init", "a.db", "--container", tool.path("shared"), "--content", "books"] + more
    }

    @Test func `columns that are undecided end it with 78, and an option decides each`() async throws {
        let tool = try Tool()
        _ = try await tool.sql("a.db", Self.books)
        let refused = try await tool.run(arguments(tool))
        #expect(refused.code == 78 && refused.output.isEmpty)
        #expect(refused.errors.contains("--reference comments.book=books"))
        #expect(refused.errors.contains("--no-reference comments.book"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: tool.path("shared")).isEmpty)
        #expect(try await tool.sql("a.db", "SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'") == "0\n")

        let dry = try await tool.run(arguments(tool, "--dry-run", "--json"))
        #expect(dry.code == 78)
        #expect(try JSON(dry.errors)["error"]?["code"]?.string == "configuration")
        let report = try JSON(dry.output)
        let reference = try #require(report["references"]?.array.first)
        #expect(reference.keys == ["table", "column", "parent", "evidence", "taken"])
        #expect(reference["evidence"]?.string == "name-and-data" && reference["taken"]?.bool == false)
        #expect(report["undecided"]?.array.first?.keys == ["table", "column", "parent"])
        #expect(report["refusals"]?.array.isEmpty == true)

        #expect(try await tool.run(arguments(tool, "--no-reference", "comments")).code == 64)
        let two = ["--reference", "comments.book=books", "--reference", "Comments.book=comments"]
        #expect(try await tool.run(arguments(tool) + two).code == 64)
        #expect(try await tool.run(arguments(tool, "--no-reference", "comments.page")).code == 64)
        let decided = try await tool.run(arguments(tool, "--reference", "comments.book=books", "--json"))
        #expect(decided.code == 0, "\(decided)")
        #expect(try JSON(decided.output)["references"]?.array.first?["taken"]?.bool == true)
        // Who joins takes what was decided.
        _ = try await tool.sql("b.db", Self.books)
        var joining = arguments(tool, "--peer", "there")
        joining[1] = "b.db"
        #expect(try await tool.run(joining).code == 0)
    }

    @Test func `tables that cannot be replicated are named all at once`() async throws {
        let tool = try Tool()
        _ = try await tool.sql(
            "a.db",
            "CREATE TABLE a(rowid, oid, _rowid_); CREATE TABLE b(rowid, oid, _rowid_); CREATE TABLE c(k PRIMARY KEY)")
        let dry = try await tool.run(arguments(tool, "--dry-run", "--json"))
        #expect(dry.code == 65)
        let refusals = try JSON(dry.output)["refusals"]?.array ?? []
        #expect(refusals.map { $0["table"]?.string } == ["a", "b"])
        #expect(refusals.first?["remedies"]?.array.first?.string == "--skip a")
        let refused = try await tool.run(arguments(tool))
        #expect(refused.code == 65 && refused.errors.contains("--skip a --skip b"))
        #expect(try await tool.run(arguments(tool, "--skip", "a", "--local", "b")).code == 0)
    }

    @Test func `a dry run has its document whatever it ends with`() async throws {
        let tool = try Tool()
        _ = try await tool.sql("a.db", "CREATE TABLE a(k PRIMARY KEY)")
        _ = try await tool.sql(
            "b.db", "CREATE TABLE a(k PRIMARY KEY); CREATE TABLE logsync_mine(x); CREATE VIEW logsync_v AS SELECT 1")
        let shared = tool.path("shared")
        for (code, store, container, content) in [
            (64, "a.db", shared, "No Name"), (66, "none.db", shared, "books"), (69, "a.db", tool.path("no"), "books"),
            (65, "b.db", shared, "books"), (0, "a.db", shared, "books"),
        ] as [(Int32, String, String, String)] {
            let dry = try await tool.run(
                "init", store, "--container", container, "--content", content, "--dry-run", "--json")
            #expect(dry.code == code, "\(dry)")
            #expect(dry.errors.isEmpty == (code == 0), "\(dry)")
            let report = try JSON(dry.output)
            #expect(report["dryRun"]?.bool == true && report["store"]?.string == tool.path(store), "\(dry)")
            #expect(report["content"]?.string == content && report["refusals"]?.array.count == (code == 65 ? 2 : 0))
        }
        let people = try await tool.run("init", "none.db", "--container", shared, "--content", "books", "--dry-run")
        #expect(people.output.contains("would not become a store"), "\(people)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: shared).isEmpty)
    }

    @Test func `a database that cannot be tried on copies does not join where rows may have others' unique keys`()
        async throws
    {
        let tool = try Tool()
        let schema = "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE, color TEXT);"
        _ = try await tool.sql("a.db", schema + "INSERT INTO tag VALUES(1, 'red', '#f00')")
        _ = try await tool.sql("b.db", schema + "INSERT INTO tag VALUES(1, 'red', '#e00')")
        #expect(try await tool.run(arguments(tool)).code == 0)
        var joining = arguments(tool, "--peer", "there", "--json")
        joining[1] = "b.db"
        let before = try FileManager.default.subpathsOfDirectory(atPath: tool.path("shared")).sorted()
        for more in [[], ["--dry-run"]] {
            let refused = try await tool.run(joining + more, environment: ["TMPDIR": "/proc"])
            #expect(refused.code == 73, "\(refused)")
            let error = try JSON(refused.errors)["error"]
            #expect(error?["code"]?.string == "cannot-create")
            #expect(error?["message"]?.string?.hasSuffix("nothing was changed") == true, "\(refused)")
            let help = error?["help"]?.string ?? ""
            #expect(help.contains("TMPDIR") && help.contains("--policy tag=unique-park"), "\(refused)")
            #expect(
                try await tool.sql("b.db", "SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'") == "0\n")
            #expect(try FileManager.default.subpathsOfDirectory(atPath: tool.path("shared")).sorted() == before)
        }
        // What has been decided needs no trial, and a dry run says what it could not find out.
        joining += ["--policy", "tag=unique-merge"]
        let dry = try await tool.run(joining + ["--dry-run"], environment: ["TMPDIR": "/proc"])
        #expect(dry.code == 0 && dry.output.contains("could not be found out"), "\(dry)")
        #expect(try await tool.run(joining, environment: ["TMPDIR": "/proc"]).code == 0)
    }

    @Test func `leave removes what is left of a store whose tables were dropped`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let tables = try await tool.sql(
            "a.db",
            "SELECT 'DROP TABLE ' || name || ';' FROM sqlite_master WHERE type = 'table' AND name LIKE 'logsync%'")
        _ = try await tool.sql("a.db", tables)
        #expect(try await tool.run("doctor", store).code == 66)
        let dry = try JSON(await tool.run("leave", store, "--dry-run", "--json").output)
        #expect(dry["leftovers"]?.array.isEmpty == false && dry["dryRun"]?.bool == true)
        let left = try await tool.run("leave", store, "--json")
        #expect(left.code == 0)
        #expect(try JSON(left.output)["leftovers"]?.array.count == dry["leftovers"]?.array.count)
        #expect(try await tool.run("leave", store).code == 66)
    }

    @Test(arguments: [
        ["--reference", "comments.book=books", "--reference", "Comments.book=comments"],
        ["--reference", "comments.book=books", "--no-reference", "comments.book"],
        ["--no-reference", "comments.book", "--reference", "comments.book=books"],
        ["--identity", "books=natural", "--identity", "books=surrogate"],
        ["--skip", "comments", "--local", "Comments"], ["--skip", "comments", "--identity", "comments=natural"],
        ["--identity", "Comments=natural", "--local", "comments"],
    ])
    func `options that cannot both be meant are refused`(options: [String]) async throws {
        let tool = try Tool()
        _ = try await tool.sql("a.db", Self.books)
        let refused = try await tool.run(arguments(tool) + options)
        #expect(refused.code == 64, "\(refused)")
        #expect(try await tool.sql("a.db", "SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'") == "0\n")
        #expect(try await tool.run(arguments(tool) + options.prefix(2) + options.prefix(2) + ["--dry-run"]).code != 64)
    }

    @Test func `a default that calls a program's function keeps a table from clones, and init says so`() async throws {
        let tool = try Tool()
        _ = try await tool.sql(
            "a.db",
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, v DEFAULT (title_sort('The x')));
            INSERT INTO t(name, v) VALUES('a', 1);
            CREATE TRIGGER other AFTER INSERT ON t WHEN NEW.v = 'no' BEGIN SELECT unknown(NEW.v); END;
            """)
        let founded = try await tool.run(arguments(tool, "--json"))
        #expect(founded.code == 0, "\(founded)")
        let warnings = try JSON(founded.output)["warnings"]?.array.compactMap(\.string) ?? []
        #expect(warnings.contains { $0.contains("--function title_sort") }, "\(warnings)")
        #expect(!warnings.contains { $0.contains("a default") && $0.contains("unknown") }, "\(warnings)")
        let place = ["--container", tool.path("shared"), "--content", "books"]
        let cloned = try await tool.run(["clone", "b.db", "--json"] + place)
        #expect(cloned.code == 0, "\(cloned)")
        let unmade = try JSON(cloned.output)["unmade"]?.array.first { $0["object"]?.string == "t" }
        #expect(unmade?["reason"]?.string?.contains("it calls title_sort") == true, "\(cloned)")
        #expect(try await tool.run(["clone", "c.db", "--function", "title_sort"] + place).code == 0)
        #expect(try await tool.sql("c.db", "SELECT name, v FROM t") == "a|1\n")
        for store in ["a.db", "b.db", "c.db"] {
            #expect(try await tool.run("verify", store).code == 0)
            #expect(try await tool.run("doctor", store).code == (store == "a.db" ? 0 : 3))
        }
    }

    @Test func `texts in double quotes are taken as SQLite takes them`() async throws {
        let tool = try Tool()
        _ = try await tool.sql(
            "a.db",
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, kind TEXT CHECK(kind IN ("a","b")), n);
            CREATE TABLE doc(id INTEGER PRIMARY KEY, j TEXT, of TEXT GENERATED ALWAYS AS (json_extract(j, "$.of")) STORED);
            CREATE INDEX i ON t(id) WHERE kind = "a";
            CREATE VIEW v AS SELECT * FROM t WHERE kind = "a";
            CREATE TRIGGER w AFTER INSERT ON t WHEN NEW.kind = "a" BEGIN UPDATE t SET n = "seen" WHERE id = NEW.id; END;
            CREATE VIRTUAL TABLE f USING fts5(what);
            CREATE TRIGGER x AFTER INSERT ON t WHEN NEW.kind = "a" BEGIN INSERT INTO f VALUES ("new"); END;
            INSERT INTO t VALUES (1, 'a', 1); INSERT INTO doc(j) VALUES ('{"of": "it"}');
            """)
        _ = try await tool.succeed(arguments(tool, "--peer", "here"))
        let cloned = try await tool.succeed(
            "clone", "--container", tool.path("shared"), "--content", "books", tool.path("b.db"), "--peer", "there")
        #expect(!cloned.output.contains("left out"), "\(cloned)")
        #expect(try await tool.sql("b.db", "SELECT count(*) FROM v") == "1\n")
        _ = try await tool.sql("b.db", "INSERT INTO t(kind) VALUES ('a')")
        try await tool.succeed("sync", tool.path("b.db"), tool.path("a.db"))
        #expect(try await tool.sql("a.db", "SELECT kind, n FROM t; SELECT of FROM doc") == "a|seen\na|seen\nit\n")
        #expect(try await tool.sql("a.db", "SELECT count(*) FROM f WHERE f MATCH 'new'") == "2\n")
        try "UPDATE t SET n = \"done\"".write(toFile: tool.path("script"), atomically: true, encoding: .utf8)
        try await tool.succeed("migrate", tool.path("a.db"), "--sql", tool.path("script"))
        #expect(try await tool.sql("a.db", "SELECT n FROM t") == "done\ndone\n")
    }

    @Test(arguments: [
        "id INT PRIMARY KEY", "id BIGINT PRIMARY KEY", "id INTEGER PRIMARY KEY DESC", "id TEXT PRIMARY KEY",
    ])
    func `a key that seems to count rows is warned of`(key: String) async throws {
        let tool = try Tool()
        let value = key.contains("TEXT") ? "printf('P%06d', value)" : "value"
        _ = try await tool.sql(
            "a.db", "CREATE TABLE t(\(key), v); INSERT INTO t SELECT \(value), 'v' FROM json_each('[1,2,3,4]')")
        let report = try JSON(try await tool.succeed(arguments(tool, "--dry-run", "--json")).output)
        let advice = report["tables"]?.array.first?["suggestions"]?.array.compactMap(\.string) ?? []
        #expect(advice.contains { $0.hasPrefix("if id counts the rows") }, "\(advice)")
        _ = try await tool.sql(
            "a.db", "UPDATE t SET id = 'word ' || rowid; UPDATE t SET id = 40000 WHERE id = 'word 2'")
        let other = try JSON(try await tool.succeed(arguments(tool, "--dry-run", "--json")).output)
        #expect(other["tables"]?.array.first?["suggestions"]?.array.isEmpty == true)
    }

    @Test func `an integer key that may mean something is asked for, and an identity decides it`() async throws {
        let tool = try Tool()
        _ = try await tool.sql(
            "a.db", "CREATE TABLE years(year INTEGER PRIMARY KEY, t TEXT); INSERT INTO years VALUES(1990, 'x')")
        let refused = try await tool.run(arguments(tool))
        #expect(refused.code == 78 && refused.errors.contains("years.year is called year"), "\(refused)")
        #expect(
            refused.errors.contains("--identity years=natural") && refused.errors.contains("--identity years=surrogate")
        )
        #expect(try FileManager.default.contentsOfDirectory(atPath: tool.path("shared")).isEmpty)
        let dry = try await tool.run(arguments(tool, "--dry-run", "--json"))
        let key = try #require(JSON(dry.output)["undecidedKeys"]?.array.first)
        #expect(dry.code == 78 && key.keys == ["table", "column", "reason"] && key["column"]?.string == "year")
        #expect(try await tool.run(arguments(tool, "--dry-run", "--identity", "years=surrogate")).code == 0)
        #expect(try await tool.run(arguments(tool, "--identity", "years=natural")).code == 0)
        // Two machines that add one year mean one.
        _ = try await tool.succeed(
            "clone", "--container", tool.path("shared"), "--content", "books", tool.path("b.db"), "--peer", "there")
        for store in ["a.db", "b.db"] { _ = try await tool.sql(store, "INSERT INTO years VALUES(2025, 'y')") }
        for store in ["a.db", "b.db", "a.db"] { _ = try await tool.succeed("sync", tool.path(store)) }
        for store in ["a.db", "b.db"] {
            #expect(try await tool.sql(store, "SELECT year FROM years ORDER BY 1") == "1990\n2025\n")
        }
    }

    @Test func `init and clone say of virtual tables that nothing fills`() async throws {
        let tool = try Tool()
        _ = try await tool.sql(
            "a.db",
            """
            CREATE TABLE places(id INTEGER PRIMARY KEY, x REAL); CREATE VIRTUAL TABLE area USING rtree(id, x0, x1);
            CREATE VIRTUAL TABLE words USING fts5(text);
            CREATE TRIGGER w AFTER INSERT ON places BEGIN INSERT INTO words(text) VALUES(new.x); END;
            CREATE TRIGGER f AFTER UPDATE ON places BEGIN INSERT INTO words(text) VALUES(st_x(new.x)); END;
            """)
        let made = try await tool.run(arguments(tool, "--json"))
        let warnings = try JSON(made.output)["warnings"]?.array.compactMap(\.string) ?? []
        #expect(made.code == 0 && warnings.count == 2, "\(made)")
        #expect(warnings.first?.hasPrefix("the virtual table area is not replicated") == true)
        #expect(warnings.last?.contains("the trigger f cannot be done") == true)
        let cloned = try await tool.succeed(
            "clone", "--container", tool.path("shared"), "--content", "books", tool.path("b.db"), "--peer", "there",
            "--json")
        #expect(try JSON(cloned.output)["warnings"]?.array.map(\.string) == [warnings.first])
    }

    @Test func `Laravel's columns are asked for, but for what its tokens are of`() async throws {
        let tool = try Tool()
        let schema = """
            CREATE TABLE migrations(id INTEGER PRIMARY KEY, migration TEXT, batch INTEGER);
            CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE); CREATE TABLE teams(id INTEGER PRIMARY KEY, n TEXT);
            CREATE TABLE personal_access_tokens(id INTEGER PRIMARY KEY, tokenable_type TEXT, tokenable_id INTEGER);
            """
        _ = try await tool.sql("a.db", schema)
        #expect(try await tool.run(arguments(tool, "--dry-run")).code == 0)
        _ = try await tool.sql(
            "a.db",
            """
            INSERT INTO users VALUES(1, 'a'); INSERT INTO teams VALUES(1, 't'); CREATE TABLE posts(id INTEGER PRIMARY KEY,
            author_id INTEGER); INSERT INTO personal_access_tokens VALUES(1, 'App\\Models\\User', 1), (2, 'App\\Models\\Team', 1);
            """)
        let asked = try JSON(await tool.run(arguments(tool, "--dry-run", "--json")).output)["undecided"]?.array ?? []
        #expect(
            asked.map { "\($0["column"]?.string ?? "") \($0["parent"]?.string ?? "")" }
                == ["tokenable_id teams", "tokenable_id users", "author_id users"])
    }

    @Test func `a policy for a key is refused`() async throws {
        let tool = try Tool()
        _ = try await tool.sql("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, x INTEGER)")
        #expect(try await tool.run(arguments(tool, "--policy", "t.id=max")).code == 64)
        #expect(try await tool.run(arguments(tool, "--policy", "t.x=max")).code == 0)
        let refused = try await tool.run(["policy", "set", tool.path("a.db"), "t.id", "max"])
        #expect(refused.code == 64 && refused.errors.contains("t.id is the key of t"), "\(refused)")
    }

    @Test func `a store that is to leave a table out is told how, and that is possible`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let options = ["--container", tool.path("shared"), "--skip", "notes"]
        let warned = try await tool.succeed(["init", a, "--content", "notes"] + options)
        #expect(warned.errors.contains("notes is replicated; that was left as it is"), "\(warned)")
        #expect(warned.errors.contains("logsync leave and then logsync init with another --content"), "\(warned)")
        try await tool.succeed("leave", a)
        #expect(try await tool.run(["init", a, "--content", "notes"] + options).code == 78)
        _ = try await tool.succeed(["init", a, "--content", "others"] + options)
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a, b)
        #expect(try await tool.sql("b.db", "SELECT count(*) FROM notes") == "1\n")
    }
}
