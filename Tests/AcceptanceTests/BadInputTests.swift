import Foundation
import Testing

@Suite(.turn) struct BadInputTests {
    private func initialization(of path: String, in sandbox: Sandbox) -> [String] {
        ["init", path, "--container", sandbox.container.path, "--content", sandbox.content]
    }

    /// What every error is: one document on stderr with a code, a message and, where there is one, the way out.
    private func error(of finished: Finished) throws -> JSON {
        let lines = finished.errors.split(separator: "\n").map(String.init)
        guard let line = lines.last(where: { $0.hasPrefix("{") }) else {
            throw Failure("no error document in \(finished.errors)")
        }
        let document = try JSON(parsing: line)
        #expect(document["format"].int == 1)
        #expect(document["error"]["code"].string?.isEmpty == false)
        #expect(document["error"]["message"].string?.isEmpty == false)
        return document["error"]
    }

    @Test(arguments: ["text", "empty", "cut off"])
    func `a file that is not a database is refused and left as it was`(kind: String) async throws {
        try await withSandbox { sandbox in
            let peer = sandbox.peer("one")
            switch kind {
            case "text":
                try Data("just some text, and not a little of it\n".utf8).write(to: URL(fileURLWithPath: peer.path))
            case "empty": try Data(repeating: 0, count: 4096).write(to: URL(fileURLWithPath: peer.path))
            default:
                let whole = try await sandbox.database("whole", schema: "music", rows: 50)
                try Data(contentsOf: URL(fileURLWithPath: whole.path)).prefix(5000).write(
                    to: URL(fileURLWithPath: peer.path))
            }
            let before = try Data(contentsOf: URL(fileURLWithPath: peer.path))
            let finished = try await peer.logsync(initialization(of: peer.path, in: sandbox) + ["--json"], exits: [65])
            _ = try error(of: finished)
            #expect(try Data(contentsOf: URL(fileURLWithPath: peer.path)) == before)
            #expect(sandbox.listing(sandbox.container).isEmpty)
            for command in ["sync", "status", "import", "export", "leave"] {
                try await peer.logsync([command, peer.path], exits: [65, 66])
            }
        }
    }

    @Test func `a store that is not there, or is not replicated, is said so and never made`() async throws {
        try await withSandbox { sandbox in
            let peer = sandbox.peer("missing")
            for command in [
                "sync", "import", "export", "status", "log", "conflicts", "peers", "leave", "verify", "rescan",
            ]
            where Subcommand.exists(command) {
                let finished = try await peer.logsync([command, peer.path, "--json"], exits: [66])
                #expect(try error(of: finished)["message"].string?.contains("missing") == true)
            }
            try await peer.logsync(initialization(of: peer.path, in: sandbox), exits: [66])
            #expect(!FileManager.default.fileExists(atPath: peer.path))
            let plain = try await sandbox.database("plain", schema: "music", rows: 1)
            let before = try Data(contentsOf: URL(fileURLWithPath: plain.path))
            for command in ["sync", "status", "log", "leave"] {
                try await plain.logsync([command, plain.path], exits: [66])
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: plain.path)) == before)
        }
    }

    @Test func `a store that another program keeps locked is left alone: try again`() async throws {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", schema: "music", rows: 2)
            func lock() async throws -> Running {
                let holder = try sandbox.start(
                    Program.python,
                    [
                        "-c",
                        """
                        import sqlite3, sys, time
                        db = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
                        db.execute("BEGIN IMMEDIATE")
                        db.execute("INSERT INTO Artist (Name) VALUES ('held')")
                        print("locked", flush=True)
                        time.sleep(120)
                        """, one.path,
                    ])
                try await eventually("the lock is held") { holder.output.contains("locked") }
                return holder
            }
            var holder = try await lock()
            try await one.logsync(initialization(of: one.path, in: sandbox), exits: [75])
            holder.signal(SIGKILL)
            _ = await holder.finish(within: 10)
            try await one.initialize()
            let two = try await sandbox.clone("two")
            try await one.write("INSERT INTO Artist (Name) VALUES ('waits');")
            holder = try await lock()
            let finished = try await one.logsync(["sync", one.path, "--json"], exits: [75])
            #expect(try error(of: finished)["code"].string == "locked")
            holder.signal(SIGKILL)
            _ = await holder.finish(within: 10)
            try await exchange(one, two)
            try await sandbox.expect(.equal, [one, two])
            #expect(try await two.count("Artist", where: "Name = 'waits'") == 1)
            #expect(try await two.count("Artist", where: "Name = 'held'") == 0)
        }
    }

    @Test func `a writer that holds the store for a second or two is waited for`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 2)
            let holder = try sandbox.start(
                Program.python,
                [
                    "-c",
                    """
                    import sqlite3, sys, time
                    db = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
                    db.execute("BEGIN IMMEDIATE")
                    db.execute("INSERT INTO Artist (Name) VALUES ('slow')")
                    print("locked", flush=True)
                    time.sleep(1.5)
                    db.execute("COMMIT")
                    """, one.path,
                ])
            try await eventually("the lock is held") { holder.output.contains("locked") }
            try await one.sync()
            _ = await holder.finish(within: 10)
            try await exchange(one, two)
            #expect(try await two.count("Artist", where: "Name = 'slow'") == 1)
        }
    }

    @Test func `a table without an identity is refused by name with the ways out, and they work`() async throws {
        try await withSandbox { sandbox in
            let one = try await sandbox.database(
                "one",
                sql:
                    "CREATE TABLE \"event log\" (rowid TEXT, oid TEXT, _rowid_); INSERT INTO \"event log\" VALUES ('now', 'this', 1); CREATE TABLE word (word TEXT PRIMARY KEY);"
            )
            let before = try Data(contentsOf: URL(fileURLWithPath: one.path))
            let finished = try await one.logsync(initialization(of: one.path, in: sandbox) + ["--json"], exits: [65])
            let told = try error(of: finished)
            #expect(told["code"].string == "unsupported-table")
            let text = "\(told["message"].string ?? "") \(told["help"].string ?? "")"
            #expect(text.contains("event log") && text.contains("--skip"), "\(text)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: one.path)) == before, "a refused database was changed")
            #expect(sandbox.listing(sandbox.container).isEmpty, "a refused init left something in the container")

            try await one.initialize(["--skip", "event log"])
            let two = try await sandbox.clone("two")
            try await one.write("INSERT INTO word VALUES ('x'); INSERT INTO \"event log\" VALUES ('later', 'that', 2);")
            try await exchange(one, two)
            #expect(try await two.count("word") == 1)
            #expect(try await two.count("\"event log\"") == 0)
        }
    }

    @Test func `a table without a key is replicated row by row`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(
                sql:
                    "CREATE TABLE \"event log\" (at TEXT, what TEXT); INSERT INTO \"event log\" VALUES ('now', 'this');"
            )
            try await one.write("INSERT INTO \"event log\" VALUES ('now', 'this'), ('later', 'that');")
            try await two.write("UPDATE \"event log\" SET what = 'other'")
            try await exchange(one, two)
            for peer in [one, two] {
                #expect(try await peer.count("\"event log\"") == 3)
                #expect(try await peer.count("\"event log\"", where: "what = 'this'") == 1)
                #expect(try await peer.count("\"event log\"", where: "what = 'other'") == 1)
            }
        }
    }

    @Test func `a table that SQLite alone cannot write is refused by name`() async throws {
        try await withSandbox { sandbox in
            let one = sandbox.peer("one")
            try await one.python(
                """
                db.create_function("only_here", 1, lambda x: x, deterministic=True)
                db.create_collation("only_here", lambda a, b: (a > b) - (a < b))
                db.execute("CREATE TABLE odd (id INTEGER PRIMARY KEY, name TEXT)")
                db.execute("CREATE UNIQUE INDEX odd_index ON odd (only_here(name))")
                """)
            let finished = try await one.logsync(initialization(of: one.path, in: sandbox) + ["--json"], exits: [65])
            #expect(try error(of: finished)["message"].string?.contains("odd") == true)
        }
    }

    @Test func `migration bookkeeping is cloned and never replicated`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(
                sql:
                    "CREATE TABLE django_migrations (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO django_migrations VALUES (1, 'first'); CREATE TABLE word (word TEXT PRIMARY KEY);"
            )
            #expect(try await two.count("django_migrations") == 1)
            try await one.write("INSERT INTO django_migrations VALUES (2, 'second'); INSERT INTO word VALUES ('x');")
            try await exchange(one, two)
            #expect(try await two.count("django_migrations") == 1)
            #expect(try await two.count("word") == 1)
        }
    }

    @Test(arguments: ["absent", "emptied", "unmarked"])
    func `a container that is absent, emptied or unmarked is unavailable: changes wait, and no row is touched`(
        how: String
    ) async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 4)
            let away = sandbox.root.appendingPathComponent("away")
            let marker = sandbox.contentFolder.appendingPathComponent("logsync.json")
            switch how {
            case "absent": try FileManager.default.moveItem(at: sandbox.container, to: away)
            case "emptied": try FileManager.default.moveItem(at: sandbox.contentFolder, to: away)
            default: try FileManager.default.moveItem(at: marker, to: away)
            }
            try await one.add(rows: 2, tag: "left")
            let before = try await one.copy("before")
            for _ in 1...2 {
                let finished = try await one.logsync(["sync", one.path, "--json"], exits: [69])
                #expect(try error(of: finished)["code"].string == "container-unavailable")
            }
            try await two.logsync(["sync", two.path], exits: [69])
            let status = try await one.status()
            #expect(status["container"]["available"].bool == false)
            #expect(status["outbox"].int == 1, "recorded changes queue up: \(status)")
            try await sandbox.expect(.equal, [before, one])
            #expect(
                FileManager.default.fileExists(atPath: sandbox.container.path) == (how != "absent"),
                "the root is never created by accident")
            #expect(!FileManager.default.fileExists(atPath: marker.path))

            switch how {
            case "absent": try FileManager.default.moveItem(at: away, to: sandbox.container)
            case "emptied": try FileManager.default.moveItem(at: away, to: sandbox.contentFolder)
            default: try FileManager.default.moveItem(at: away, to: marker)
            }
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two])
        }
    }

    @Test(.subcommand("rebuild"))
    func `a folder that was wiped for good is rebuilt from a store`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 4)
            try FileManager.default.removeItem(at: sandbox.contentFolder)
            try await one.add(rows: 2, tag: "left")
            try await one.logsync(["sync", one.path], exits: [69])
            try await one.logsync(["rebuild", one.path], exits: [64])
            try await one.logsync(["rebuild", one.path, "--yes"])
            try await two.add(rows: 2, tag: "right")
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two])
            let three = try await sandbox.clone("three")
            try await sandbox.expect(.meaning, [one, three])
        }
    }

    @Test func `init needs a container, a good content name and a place outside of it; clone overwrites nothing`()
        async throws
    {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", schema: "music", rows: 1)
            let nowhere = sandbox.root.appendingPathComponent("nowhere").path
            try await one.logsync(["init", one.path, "--container", nowhere, "--content", "notes"], exits: [69])
            #expect(!FileManager.default.fileExists(atPath: nowhere))
            for name in ["Notes", "", "../up", "a/b", ".hidden", String(repeating: "n", count: 64)] {
                try await one.logsync(
                    ["init", one.path, "--container", sandbox.container.path, "--content", name], exits: [64])
            }
            try await one.logsync(["init", one.path], exits: [64])
            try await one.logsync(["no-such-command"], exits: [64])
            let inside = sandbox.peer("inside", at: sandbox.container.appendingPathComponent("inside.db").path)
            try FileManager.default.copyItem(atPath: one.path, toPath: inside.path)
            try await inside.logsync(initialization(of: inside.path, in: sandbox), exits: [64, 65, 78])

            try await one.initialize()
            let before = try Data(contentsOf: URL(fileURLWithPath: one.path))
            try await one.logsync(
                ["clone", "--container", sandbox.container.path, "--content", sandbox.content, one.path], exits: [73])
            #expect(try Data(contentsOf: URL(fileURLWithPath: one.path)) == before)
            let other = sandbox.peer("other")
            try await other.logsync(
                ["clone", "--container", sandbox.container.path, "--content", "unknown", other.path], exits: [66, 69])
            #expect(!FileManager.default.fileExists(atPath: other.path))
        }
    }

    @Test func `init --dry-run tells what it would do and does nothing`() async throws {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", schema: "trading", rows: 1)
            let before = try Data(contentsOf: URL(fileURLWithPath: one.path))
            let told = try await one.logsync(initialization(of: one.path, in: sandbox) + ["--dry-run"])
            #expect(told.output.contains("Order Details") && told.output.contains("Customers"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: one.path)) == before)
            #expect(sandbox.listing(sandbox.container).isEmpty)
        }
    }
}
