import Foundation
import Testing

/// The recipes that are built in, each with the schema of its application; see Applications/.
@Suite(.turn) struct RecipeTests {
    /// A file of Applications/: what two machines do to a database, and what both show afterwards.
    private struct Application {
        var name: String
        private var sections: [String: String] = [:]

        init(_ name: String) throws {
            self.name = name
            let file = Self.folder.appendingPathComponent("\(name).sql")
            var section = ""
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                if line.hasPrefix("-- ["), line.hasSuffix("]") {
                    section = String(line.dropFirst(4).dropLast())
                } else {
                    sections[section, default: ""] += line + "\n"
                }
            }
        }

        subscript(section: String) -> String { sections[section] ?? "" }

        /// Runs SQL as the application would.
        func sql(_ tool: Tool, _ store: String, _ sql: String) async throws -> String {
            let program = Self.folder.appendingPathComponent("\(name).py").path
            guard FileManager.default.fileExists(atPath: program) else { return try await tool.sql(store, sql) }
            let script = tool.path("script.sql")
            try sql.write(toFile: script, atomically: true, encoding: .utf8)
            let ended = try await tool.program("/usr/bin/env", ["python3", "-B", program, tool.path(store), script])
            guard ended.code == 0 else { throw Tool.Failure(description: ended.errors) }
            return ended.output
        }

        static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "Applications")
        static let names =
            (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.sorted()
            .filter { $0.hasSuffix(".sql") }.map { String($0.dropLast(4)) } ?? []
    }

    @Test func `each recipe of the sources is in the binary, and has an application here`() async throws {
        let tool = try Tool()
        let listed = try JSON(await tool.succeed("recipes", "list", "--json").output)["recipes"]?.array ?? []
        let names = listed.compactMap { $0["name"]?.string }
        let sources = Application.folder.deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/LogSyncCommand/Recipes")
        let files = try FileManager.default.contentsOfDirectory(atPath: sources.path).filter { $0.hasSuffix(".toml") }
        #expect(Set(names) == Set(files.map { String($0.dropLast(5)) }) && names.count == files.count)
        #expect(Set(names) == Set(Application.names))
        #expect(listed.allSatisfy { $0["title"]?.string?.isEmpty == false && $0["note"]?.string?.isEmpty == false })
        for name in names {
            let file = try String(contentsOf: sources.appendingPathComponent("\(name).toml"), encoding: .utf8)
            #expect(try await tool.succeed("recipes", "show", name).output == file)
        }
    }

    @Test(arguments: Application.names)
    func `init with default options is right for`(name: String) async throws {
        let tool = try Tool()
        let application = try Application(name)
        _ = try await application.sql(tool, "a.db", application["schema"])
        let schema = try await application.sql(tool, "a.db", Self.objects)
        let arguments = ["init", "a.db", "--container", tool.path("shared"), "--content", "app", "--json"]
        let dry = try await tool.run(arguments + ["--dry-run"])
        #expect(dry.code == 0, "\(dry)")
        // No other recipe matches, or it would have been ambiguous.
        #expect(try JSON(dry.output)["recipe"]?.string == name)
        let made = try await tool.run(arguments + ["--peer", "here"])
        #expect(made.code == 0, "\(made)")
        _ = try await tool.succeed(
            "clone", "--container", tool.path("shared"), "--content", "app", tool.path("b.db"), "--peer", "there")
        #expect(try JSON(await tool.succeed("status", tool.path("b.db"), "--json").output)["recipe"]?.string == name)
        let before = try await application.sql(tool, "b.db", application["apart"])
        _ = try await application.sql(tool, "a.db", application["here"])
        _ = try await application.sql(tool, "b.db", application["there"])
        for store in ["a.db", "b.db", "a.db"] { _ = try await tool.succeed("sync", tool.path(store)) }
        for store in ["a.db", "b.db"] {
            let shown = try await application.sql(tool, store, application["shows"])
            #expect(shown == application["expected"], "\(store)")
            #expect(
                try await application.sql(tool, store, "PRAGMA foreign_key_check;\nPRAGMA integrity_check;") == "ok\n")
        }
        if !application["apart"].isEmpty {
            // What stays each machine's own, and differs by now.
            #expect(try await application.sql(tool, "b.db", application["apart"]) == before)
            #expect(try await application.sql(tool, "a.db", application["apart"]) != before)
        }
        let digests = try await [
            JSON(tool.succeed("status", tool.path("a.db"), "--json").output),
            JSON(tool.succeed("status", tool.path("b.db"), "--json").output),
        ].map { $0["digest"]?.string }
        #expect(digests[0] == digests[1])
        for store in ["a.db", "b.db"] {
            _ = try await tool.succeed("leave", tool.path(store))
            #expect(try await application.sql(tool, store, application["shows"]) == application["expected"], "\(store)")
            #expect(try await application.sql(tool, store, Self.objects) == schema, "\(store)")
        }
    }

    private static let objects = "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2;"

    @Test func `a database that is no known application's has no recipe`() async throws {
        let tool = try Tool()
        _ = try await tool.sql(
            "a.db",
            """
            CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE items(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE bookmarks(id INTEGER PRIMARY KEY, url TEXT); CREATE TABLE notes(id TEXT PRIMARY KEY, body TEXT);
            CREATE TABLE events(id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE migrations(id INTEGER PRIMARY KEY);
            """)
        let made = try await tool.run(
            "init", "a.db", "--container", tool.path("shared"), "--content", "app", "--json", "--dry-run")
        #expect(made.code == 0, "\(made)")
        let report = try JSON(made.output)
        #expect(report.keys.contains("recipe") == false || report["recipe"]?.string == nil)
    }

    private static let books = """
        CREATE TABLE book(id INTEGER PRIMARY KEY, title TEXT UNIQUE, shelf INTEGER, color INTEGER);
        CREATE TABLE shelf(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE cache(k TEXT PRIMARY KEY); CREATE TABLE counter(name TEXT PRIMARY KEY, next INTEGER);
        INSERT INTO counter VALUES('book', 1);
        """
    private static let recipe = """
        name = "shop"
        identity = ["book=title", "shelf=code", "gone=natural"]
        reference = ["book.shelf=shelf", "book.owner=person"]
        no-reference = ["book.color"]
        policy = ["book=delete-loses"]
        skip = ["cache"]
        local = ["counter"]
        [match.tables]
        book = ["id", "title"]
        [[allocator]]
        notes = "counter.next"
        where = { name = "book" }
        counts = "book.id"
        ahead = 1
        """

    private func write(_ tool: Tool, _ recipe: String) throws -> String {
        let path = tool.path("shop.toml")
        try recipe.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test func `what a recipe leaves out and counts holds for tables that come later, on all machines`() async throws {
        let tool = try Tool()
        _ = try await tool.sql(
            "a.db", "CREATE TABLE book(id INTEGER PRIMARY KEY); CREATE TABLE cache_a(id INTEGER PRIMARY KEY, v)")
        let file = try write(
            tool,
            """
            name = "shop"
            skip = ["cache*", "job"]
            local = ["session*", "machine"]
            policy = ["stock.n=sum", "label=unique-merge"]
            """)
        let content = ["--container", tool.path("shared"), "--content", "app"]
        // One that is meant to be replicated is.
        _ = try await tool.succeed(
            ["init", "a.db", "--peer", "a", "--recipe", file, "--identity", "cache_a=surrogate"] + content)
        _ = try await tool.succeed(["clone", "b.db", "--peer", "b"] + content)
        let left = ["cache_tokens", "job", "sessions", "machine"]
        for store in ["a.db", "b.db"] {
            _ = try await tool.sql(
                store,
                left.map { "CREATE TABLE \($0)(id INTEGER PRIMARY KEY, v TEXT);" }.joined()
                    + "CREATE TABLE stock(k TEXT PRIMARY KEY, n INTEGER);"
                    + "CREATE TABLE label(id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
            _ = try await tool.succeed(["sync", store])
        }
        func exchange() async throws {
            for store in ["a.db", "b.db", "a.db"] { _ = try await tool.succeed(["sync", store]) }
        }
        for store in ["a.db", "b.db"] {
            _ = try await tool.sql(store, left.map { "INSERT INTO \($0)(v) VALUES('of \(store)');" }.joined())
        }
        _ = try await tool.sql(
            "a.db",
            "INSERT INTO stock VALUES('apple', 10); INSERT INTO cache_a(v) VALUES('a')")
        try await exchange()
        for (store, more) in [("a.db", 1), ("b.db", 5)] {
            _ = try await tool.sql(store, "UPDATE stock SET n = n + \(more); INSERT INTO label(name) VALUES('red')")
        }
        try await exchange()
        for store in ["a.db", "b.db"] {
            #expect(try await tool.sql(store, "SELECT n, (SELECT count(*) FROM cache_a) FROM stock") == "16|1\n")
            #expect(try await tool.sql(store, "SELECT count(*) FROM label") == "1\n")
            let doctor = try await tool.succeed(["doctor", store])
            #expect(doctor.output.contains("nothing is wrong"), "\(doctor)")
            let log = try await tool.succeed(["log", store]).output
            #expect(log.contains("stock") && !left.contains(where: log.contains), "\(log)")
        }
        for (store, table) in ["a.db", "b.db"].flatMap({ store in left.map { (store, $0) } }) {
            #expect(try await tool.sql(store, "SELECT v FROM \(table)") == "of \(store)\n", "\(table)")
        }
    }

    @Test func `a recipe of one's own is taken, options come before it, and what is not there is passed over`()
        async throws
    {
        let tool = try Tool()
        _ = try await tool.sql("a.db", Self.books)
        let file = try write(tool, Self.recipe)
        let arguments = ["init", "a.db", "--container", tool.path("shared"), "--content", "app", "--recipe", file]
        func table(_ report: JSON, _ name: String) -> String? {
            report["tables"]?.array.first { $0["table"]?.string == name }?["identity"]?.string
        }
        let other = try JSON(
            await tool.succeed(arguments + ["--dry-run", "--json", "--identity", "book=surrogate", "--local", "cache"])
                .output)
        #expect(table(other, "book") == "surrogate" && table(other, "cache") == "local")
        let made = try await tool.run(arguments + ["--json", "--verbose"])
        #expect(made.code == 0, "\(made)")
        for what in ["a column shelf.code", "a table gone", "a column book.owner"] {
            #expect(made.errors.contains(what), "\(what)")
        }
        let report = try JSON(made.output)
        #expect(report["recipe"]?.string == "shop")
        #expect(table(report, "book") == "columns" && table(report, "cache") == "skipped")
        #expect(table(report, "counter") == "local")
        let reference = report["references"]?.array.first { $0["column"]?.string == "shelf" }
        #expect(reference?["evidence"]?.string == "recipe" && reference?["taken"]?.bool == true)
        #expect(try await tool.succeed("policy", "list", tool.path("a.db")).output.contains("delete-loses"))
    }

    @Test func `a program's counter stays above what comes, by import, clone, snapshot, join and rescan`() async throws
    {
        let tool = try Tool()
        _ = try await tool.sql("a.db", Self.books)
        let file = try write(tool, Self.recipe)
        let place = ["--container", tool.path("shared"), "--content", "app"]
        _ = try await tool.succeed(["init", "a.db", "--recipe", file, "--peer", "a"] + place)
        func add(_ store: String, _ title: String) async throws {
            _ = try await tool.sql(
                store,
                """
                INSERT INTO book(id, title) SELECT next, '\(title)' FROM counter;
                UPDATE counter SET next = next + 1;
                """)
        }
        func expectAbove(_ store: String) async throws {
            let above = try await tool.sql(store, "SELECT next > (SELECT max(id) FROM book) FROM counter")
            #expect(above == "1\n", "\(store)")
        }
        for title in ["one", "two"] { try await add("a.db", title) }
        _ = try await tool.succeed("sync", tool.path("a.db"))
        // From logs.
        _ = try await tool.succeed(["clone"] + place + [tool.path("b.db"), "--peer", "b"])
        try await expectAbove("b.db")
        // By import, on both sides.
        try await add("a.db", "three")
        try await add("b.db", "four")
        for store in ["a.db", "b.db", "a.db"] { _ = try await tool.succeed("sync", tool.path(store)) }
        for store in ["a.db", "b.db"] {
            try await expectAbove(store)
            try await add(store, "then \(store)")
        }
        for store in ["a.db", "b.db", "a.db"] { _ = try await tool.succeed("sync", tool.path(store)) }
        // From a snapshot.
        _ = try await tool.succeed("snapshot", tool.path("a.db"))
        _ = try await tool.succeed(["clone"] + place + [tool.path("c.db"), "--peer", "c"])
        try await expectAbove("c.db")
        // One that joins with rows of its own, and hears of the counter from the content.
        _ = try await tool.sql("d.db", Self.books)
        try await add("d.db", "own")
        _ = try await tool.succeed(["init", tool.path("d.db"), "--peer", "d"] + place)
        try await expectAbove("d.db")
        #expect(try await tool.sql("d.db", "SELECT count(*) FROM book") == "7\n")
        // What was written with the triggers switched off.
        let shell = try await tool.program(
            "/usr/bin/env",
            [
                "sqlite3", "-bail", "-cmd", ".dbconfig enable_trigger off", tool.path("c.db"),
                "INSERT INTO book(id, title) VALUES(500, 'late')",
            ])
        #expect(shell.code == 0, "\(shell)")
        #expect(try await tool.sql("c.db", "SELECT title FROM book WHERE id = 500") == "late\n")
        _ = try await tool.succeed("rescan", tool.path("c.db"))
        try await expectAbove("c.db")
    }

    @Test(arguments: [
        ("name = 1", "has no name"), ("title = \"x\"", "has no name"), ("name = \"x\"\nidentities = []", "identities"),
        ("name = \"x\"\nlocal = \"book\"", "local"),
        ("name = \"x\"\nlocal = [\"Book\"]\nidentity = [\"book=natural\"]", "book"),
        ("name = \"x\"\nreference = [\"book\"]", "CHILD.COLUMN=PARENT"), ("name = ", "TOML"),
        ("name = \"x\"\n[[allocator]]\nnotes = \"a.b\"", "counts"), ("name = \"x\"\n[match]\ntable = 1", "match.table"),
        ("name = \"x\"\nlocal = []\n[match.tables]\nperson = [\"id\"]", "none of its tables"),
        ("name = \"x\"\npolicy = [\"book=sideways\"]", "sideways"),
    ])
    func `a recipe that is wrong is named, and nothing is changed`(text: String, says: String) async throws {
        let tool = try Tool()
        _ = try await tool.sql("a.db", Self.books)
        let ended = try await tool.run(
            "init", "a.db", "--container", tool.path("shared"), "--content", "app", "--recipe", try write(tool, text))
        #expect([78, 64].contains(ended.code) && ended.errors.contains(says), "\(ended)")
        #expect(try await tool.sql("a.db", "SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'") == "0\n")
    }

    @Test func `who joins takes the content's settings, and a recipe that contradicts them is refused`() async throws {
        let tool = try Tool()
        let schema = try Application("buku")["schema"]
        for store in ["a.db", "b.db"] { _ = try await tool.sql(store, schema) }
        let place = ["--container", tool.path("shared"), "--content", "app"]
        _ = try await tool.succeed(["init", "a.db", "--recipe", "none", "--peer", "a"] + place)
        #expect(try await tool.run(["init", "b.db", "--peer", "b", "--recipe", "buku"] + place).code == 78)
        let joined = try JSON(await tool.succeed(["init", "b.db", "--peer", "b", "--json"] + place).output)
        #expect(joined["recipe"]?.string == nil)
        #expect(
            try await tool.run("init", "c.db", "--recipe", "bukku", "--container", "x", "--content", "y").code == 64)
    }
}
