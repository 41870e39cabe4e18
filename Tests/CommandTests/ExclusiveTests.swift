import Foundation
import Testing

/// Programs that keep their database for themselves, beside a daemon; and extensions of SQLite.
@Suite(.turn) struct ExclusiveTests {
    /// Opens the database for itself and writes, says so, and ends when a file is there.
    private static let program = """
        import os, sqlite3, sys, time
        app = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
        app.execute("PRAGMA locking_mode = EXCLUSIVE")
        app.execute("INSERT INTO notes(text) VALUES('alone')")
        print("held", flush=True)
        while not os.path.exists(sys.argv[2]): time.sleep(0.01)
        app.execute("INSERT INTO notes(text) VALUES('last')")
        app.close()
        """

    private func start(_ tool: Tool, _ store: String) async throws -> Tool.Process {
        let app = try tool.start(program: "/usr/bin/env", ["python3", "-c", Self.program, store, tool.path("go")])
        try await app.line { $0 == "held" }
        return app
    }

    private func waitsForEverything(_ tool: Tool, _ store: String) async throws {
        try await eventually("what the program wrote is published") {
            let published = try await tool.sql(
                "a.db", "SELECT count(*) FROM logsync_outbox WHERE published AND sequence > 1")
            let status = try JSON(await tool.succeed("status", store, "--json").output)
            return published != "0\n" && status["pending"]?.int == 0 && status["outbox"]?.int == 0
        }
        #expect(try await tool.sql("a.db", "SELECT count(*) FROM notes") == "3\n")
    }

    @Test func `a daemon lets a program have its database, says so once, and records what it wrote`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let daemon = try tool.start(["watch", store, "--json"])
        try await daemon.line { $0.contains("ready") }
        let app = try await start(tool, store)
        try await eventually("the daemon says who has it") { daemon.errors.contains("for itself") }
        // It is no error, and nothing is printed for programs.
        #expect(!daemon.output.contains("error"))
        _ = FileManager.default.createFile(atPath: tool.path("go"), contents: nil)
        #expect(await app.end().code == 0)
        try await waitsForEverything(tool, store)
        daemon.signal(SIGTERM)
        let ended = await daemon.end()
        #expect(ended.code == 0)
        #expect(ended.errors.components(separatedBy: "for itself").count == 2, "\(ended.errors)")
    }

    @Test func `a daemon that comes after such a program waits for it, and so does nothing else`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let app = try await start(tool, store)
        let status = try await tool.run("status", store, "--wait", "0.2")
        #expect(status.code == 75 && status.errors.contains("for itself"), "\(status)")
        let daemon = try tool.start(["watch", store, "--json"])
        try await eventually("the daemon says who has it") { daemon.errors.contains("for itself") }
        _ = FileManager.default.createFile(atPath: tool.path("go"), contents: nil)
        #expect(await app.end().code == 0)
        try await daemon.line { $0.contains("ready") }
        try await waitsForEverything(tool, store)
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `every command says which process has the database for itself`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let app = try await start(tool, store)
        let place = ["--container", tool.path("shared"), "--content", "notes"]
        let calls = [
            ["status", store], ["sync", store], ["leave", store], ["leave", store, "--dry-run"], ["doctor", store],
            ["verify", store], ["log", store], ["migrate", store, "--sql", "/dev/null"], ["init", store] + place,
            ["clone"] + place + [store],
        ]
        for call in calls {
            let ended = try await tool.run(call + ["--wait", "0.2"])
            #expect(ended.code == (call[0] == "clone" ? 73 : 75), "\(call): \(ended)")
            if call[0] != "clone" { #expect(ended.errors.contains("(process \(app.id))"), "\(call): \(ended)") }
        }
        _ = FileManager.default.createFile(atPath: tool.path("go"), contents: nil)
        #expect(await app.end().code == 0)
    }

    /// Writes until the daemon has the database open, and then tries to have that for itself, without waiting, every so
    /// often; says so when it has it.
    private static let insistent = """
        import sqlite3, sys, time
        def alone():
            app = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
            try:
                app.execute("PRAGMA locking_mode = EXCLUSIVE")
                app.execute("INSERT INTO notes(text) VALUES('alone')")
                return app
            except sqlite3.OperationalError:
                app.close()
        def write(text):
            app = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
            app.execute("DELETE FROM notes WHERE text = 'alone'")
            app.execute("INSERT INTO notes(text) VALUES(?)", (text,))
            app.close()
        write("first")
        time.sleep(0.01)
        while app := alone():
            app.close()
            write("again")
            time.sleep(0.01)
        print("refused", flush=True)
        while not (app := alone()): time.sleep(float(sys.argv[2]))
        app.execute("INSERT INTO notes(text) VALUES('last')")
        app.close()
        """

    @Test(arguments: ["0.02", "0.6"])
    func `a program that tries again and again to have its database for itself gets it`(pause: String) async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let daemon = try tool.start(["watch", store, "--json"])
        try await daemon.line { $0.contains("ready") }
        let app = try tool.start(program: "/usr/bin/env", ["python3", "-c", Self.insistent, store, pause])
        try await app.line { $0 == "refused" }
        #expect(await app.end(within: 30).code == 0)
        try await eventually("what the program wrote is published") {
            let status = try JSON(await tool.succeed("status", store, "--json").output)
            return status["pending"]?.int == 0 && status["outbox"]?.int == 0
        }
        let last = "SELECT count(*) FROM notes WHERE text IN ('alone', 'last')"
        #expect(try await tool.sql("a.db", last) == "2\n")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    // MARK: Transactions that last

    /// Keeps a write transaction open until a file is there.
    private static let writer = """
        import os, sqlite3, sys, time
        app = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
        app.execute("BEGIN IMMEDIATE")
        print("held", flush=True)
        while not os.path.exists(sys.argv[2]): time.sleep(0.01)
        """

    @Test func `who has a store locked is said while it is waited for, and when that is given up`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        try await tool.sql("a.db", "INSERT INTO notes(text) VALUES('waits')")
        let app = try tool.start(
            program: "/usr/bin/env", ["python3", "-c", Self.writer, store, tool.path("go")])
        try await app.line { $0 == "held" }
        let who = "is locked by another program (process \(app.id))"
        let refused = try await tool.run("sync", store, "--wait", "0.2")
        #expect(refused.code == 75 && refused.errors.contains(who), "\(refused)")
        #expect(!refused.errors.contains("waited for"), "\(refused)")
        let given = try await tool.run("sync", store, "--wait", "3")
        #expect(given.code == 75 && given.errors.contains("\(who); it is waited for"), "\(given)")
        let daemon = try tool.start(["watch", store], environment: ["LOGSYNC_WAIT": "300"])
        try await eventually("it says who has it") { daemon.errors.contains("\(who); it is waited for") }
        _ = FileManager.default.createFile(atPath: tool.path("go"), contents: nil)
        #expect(await app.end().code == 0)
        try await daemon.line { $0.contains("is ready") }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    // MARK: Extensions

    private static let library = """
        #include <sqlite3ext.h>
        #include <string.h>
        SQLITE_EXTENSION_INIT1
        static int order(void *context, int m, const void *a, int n, const void *b) {
            int difference = memcmp(b, a, m < n ? m : n);
            return difference ? difference : n - m;
        }
        static void shout(sqlite3_context *context, int count, sqlite3_value **values) {
            sqlite3_result_int(context, sqlite3_value_bytes(values[0]) + 1);
        }
        int sqlite3_backwards_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
            SQLITE_EXTENSION_INIT2(api);
            sqlite3_create_function(db, "shout", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, 0, shout, 0, 0);
            return sqlite3_create_collation(db, "backwards", SQLITE_UTF8, 0, order);
        }
        """

    /// Makes the extension; returns its path.
    private func library(_ tool: Tool) async throws -> String {
        try Self.library.write(toFile: tool.path("backwards.c"), atomically: true, encoding: .utf8)
        let built = try await tool.program(
            "/usr/bin/env", ["clang", "-shared", "-fPIC", "-o", tool.path("backwards.so"), tool.path("backwards.c")])
        guard built.code == 0 else { throw Tool.Failure(description: built.errors) }
        return tool.path("backwards.so")
    }

    @Test func `an extension that the user names brings collations and functions, and nothing else loads one`()
        async throws
    {
        let tool = try Tool()
        let library = try await library(tool)
        let made = try await tool.program(
            "/usr/bin/env",
            [
                "sqlite3", "-bail", "-cmd", ".load \(library) sqlite3_backwards_init", tool.path("a.db"),
                """
                CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT COLLATE backwards, CHECK (shout(text) > 0));
                CREATE INDEX word_text ON word(text);
                INSERT INTO word VALUES(1, 'a'), (2, 'b');
                """,
            ])
        try #require(made.code == 0, "\(made)")
        let place = ["--container", tool.path("shared"), "--content", "words"]
        let refused = try await tool.run(["init", "a.db", "--peer", "a"] + place)
        #expect(refused.code == 65 && refused.errors.contains("--load-extension FILE"), "\(refused)")
        let missing = try await tool.run(["init", "a.db", "--load-extension", tool.path("none.so")] + place)
        #expect(missing.code == 78 && missing.errors.contains("none.so"), "\(missing)")
        _ = try await tool.succeed(["init", "a.db", "--peer", "a", "--load-extension", library] + place)
        let environment = ["LOGSYNC_LOAD_EXTENSION": library + ":sqlite3_backwards_init"]
        let clone = try await tool.run(
            ["clone"] + place + [tool.path("b.db"), "--peer", "b"], environment: environment)
        #expect(clone.code == 0, "\(clone)")
        let write = [
            "sqlite3", "-bail", "-cmd", ".load \(library) sqlite3_backwards_init", tool.path("b.db"),
            "INSERT INTO word VALUES(3, 'c')",
        ]
        #expect(try await tool.program("/usr/bin/env", write).code == 0)
        let file = tool.path("logsync.toml")
        try "load-extension = [\"\(library)\"]\n".write(toFile: file, atomically: true, encoding: .utf8)
        for store in ["b.db", "a.db"] { _ = try await tool.succeed("sync", tool.path(store), "--config", file) }
        let read = [
            "sqlite3", "-cmd", ".load \(library) sqlite3_backwards_init", tool.path("a.db"),
            "SELECT group_concat(text, '') FROM (SELECT text FROM word INDEXED BY word_text ORDER BY text); PRAGMA integrity_check",
        ]
        #expect(try await tool.program("/usr/bin/env", read).output == "cba\nok\n")
        let verified = try await tool.run("verify", tool.path("a.db"), "--config", file)
        #expect(verified.code == 0, "\(verified)")
    }

    @Test func `a UNIQUE index in the order of an extension's collation is refused, for what is the same is not known`()
        async throws
    {
        let tool = try Tool()
        let library = try await library(tool)
        let made = try await tool.program(
            "/usr/bin/env",
            [
                "sqlite3", "-cmd", ".load \(library) sqlite3_backwards_init", tool.path("a.db"),
                "CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT COLLATE backwards UNIQUE)",
            ])
        try #require(made.code == 0)
        let refused = try await tool.run(
            "init", "a.db", "--container", tool.path("shared"), "--content", "words", "--load-extension", library)
        #expect(refused.code == 65 && refused.errors.contains("which texts are the same"), "\(refused)")
    }
}
