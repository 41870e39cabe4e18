import Foundation
import Testing

/// What holds for every subcommand.
@Suite(.turn) struct CommandLineTests {
    static let subcommands = [
        ["init"], ["clone"], ["sync"], ["import"], ["export"], ["watch"], ["status"], ["log"], ["show"], ["peers"],
        ["peers", "list"], ["peers", "retire"], ["peers", "rename"],
        ["peers", "accept-clock"], ["peers", "accept-claim"], ["snapshot"], ["compact"], ["conflicts"],
        ["conflicts", "list"],
        ["conflicts", "take"], ["conflicts", "set"], ["conflicts", "drop"], ["policy"], ["policy", "list"],
        ["policy", "set"], ["seed"], ["migrate"], ["move"], ["attach"], ["rescan"], ["rebuild"], ["doctor"], ["verify"],
        ["leave"], ["destroy"],
    ]

    @Test(arguments: subcommands)
    func `help has one runnable example`(subcommand: [String]) async throws {
        let tool = try Tool()
        let help = try await tool.run(subcommand + ["--help"])
        #expect(help.code == 0)
        let after = help.output.components(separatedBy: "EXAMPLE\n")
        #expect(after.count == 2)
        let example = after[1].split(separator: "\n").first.map(String.init) ?? ""
        #expect(example.hasPrefix("  logsync " + subcommand.joined(separator: " ")), "\(example)")
        #expect(after[1].contains("\n\n"), "the example is one line")
    }

    @Test func `the tool's own help names every subcommand, and --version the version`() async throws {
        let tool = try Tool()
        let help = try await tool.run("--help")
        for subcommand in Self.subcommands where subcommand.count == 1 {
            #expect(help.output.contains("\n  \(subcommand[0]) "))
        }
        let version = try await tool.run("--version")
        #expect(version.code == 0)
        #expect(version.output.split(separator: ".").count == 3)
    }

    @Test(arguments: [
        ["no-such-subcommand"], ["sync"], ["status"], ["status", "a.db", "b.db"], ["watch"], ["clone", "a.db"],
        ["init", "a.db"], ["init", "a.db", "--container", "shared"], ["init", "a.db", "--identity", "nonsense"],
        ["init", "a.db", "--reference", "a=b"], ["init", "a.db", "--policy", "a"], ["log", "a.db", "--limit", "-1"],
        ["log", "a.db", "--limit", "many"], ["log", "a.db", "--after", "yesterday"], ["show", "a.db", "desk"],
        ["show", "a.db", "desk:0"], ["watch", "a.db", "--poll", "never"], ["watch", "a.db", "--metrics", "here"],
        ["sync", "a.db", "--verbose", "--quiet"], ["sync", "a.db", "--log-format", "xml"],
        ["sync", "a.db", "--unknown"],
    ])
    func `a wrong command line ends with 64, one line and no output`(arguments: [String]) async throws {
        let tool = try Tool()
        let ended = try await tool.run(arguments)
        #expect(ended.code == 64, "\(ended)")
        #expect(ended.output.isEmpty)
        #expect(
            ended.errors.hasPrefix("logsync: ") && ended.errors.split(separator: "\n").count == 1, "\(ended.errors)")

        let told = try await tool.run(arguments + ["--json"])
        #expect(told.code == 64)
        let error = try JSON(told.errors)
        #expect(error["format"]?.int == 1 && error["error"]?["code"]?.string == "usage", "\(told.errors)")
    }

    @Test(
        arguments: [
            (["sync", "a.db", "--wait", "-1"], "seconds from 0.001"), (["sync", "a.db", "--wait=-1"], "or 0"),
            (["compact", "a.db", "--grace", "-5"], "days from 0"),
            (["compact", "a.db", "--grace", "x"], "days from 0"),
            (["watch", "a.db", "--poll", "-1"], "seconds from"), (["log", "a.db", "--limit", "-3"], "number from 0"),
            (["watch", "a.db", "--debounce", "-2"], "milliseconds from 0"), (["log", "a.db", "--after", "x"], "token"),
        ])
    func `a number that an option does not take is named, with what it takes`(
        arguments: [String], form: String
    ) async throws {
        let tool = try Tool()
        let ended = try await tool.run(arguments)
        #expect(ended.code == 64, "\(ended)")
        let given = try #require(arguments.last?.split(separator: "=").last)
        #expect(ended.errors.contains("'\(given)'") && ended.errors.contains("it takes "), "\(ended.errors)")
        #expect(ended.errors.contains(form), "\(ended.errors)")
    }

    @Test func `one of anything is spoken of as one`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (7, 'seven')")
        func check(_ arguments: String...) async throws {
            let said = try await tool.run(arguments)
            #expect(!said.output.contains(/\b1 (log )?\w+s\b/), "\(said)")
        }
        try await check("status", store)
        try await check("doctor", store)
        try await check("leave", store, "--dry-run")
        let place = ["--container", tool.path("shared"), "--content", "notes"]
        try FileManager.default.moveItem(atPath: tool.path("shared"), toPath: tool.path("away"))
        _ = try await tool.run("sync", store)
        for subcommand in ["status", "doctor"] { try await check(subcommand, store) }
        try await check("leave", store, "--dry-run")
        try FileManager.default.moveItem(atPath: tool.path("away"), toPath: tool.path("shared"))
        try FileManager.default.removeItem(atPath: tool.path("shared/notes/peers"))
        try await check("rebuild", store, "--dry-run")
        try await tool.succeed("sync", store)
        try await check("verify", store)
        try await check("snapshot", store)
        let said = try await tool.run(["destroy", "--dry-run"] + place)
        #expect(!said.output.contains(/\b1 \w+s\b/), "\(said)")
    }

    @Test(arguments: [["bogus"], ["bogus", "a.db"]])
    func `a subcommand that is none is named, with --json too`(arguments: [String]) async throws {
        let tool = try Tool()
        for before in [[], ["--verbose"]] {
            let error = try JSON(await tool.run(before + arguments + ["--json", "--quiet"]).errors)["error"]
            #expect(error?["message"]?.string?.contains("bogus") == true, "\(String(describing: error))")
        }
    }

    @Test func `a container that is not there is explained to whom has no store yet`() async throws {
        let tool = try Tool()
        let plain = try await tool.database("plain.db")
        let place = ["--container", tool.path("absent"), "--content", "notes", "--json"]
        for arguments in [["init", plain], ["clone", tool.path("b.db")], ["destroy", "--yes"]] {
            let ended = try await tool.run(arguments + place)
            #expect(ended.code == 69, "\(ended)")
            let error = try JSON(ended.errors)["error"]
            let text = (error?["message"]?.string ?? "") + (error?["help"]?.string ?? "")
            #expect(text.contains("absent") && text.contains("--container"), "\(text)")
            for word in ["outbox", "rebuild", "attach"] { #expect(!text.contains(word), "\(arguments[0]): \(text)") }
        }
        try await tool.store("a.db")
        try FileManager.default.removeItem(atPath: tool.path("shared/notes/logsync.json"))
        let clone = try await tool.run(
            "clone", "--container", tool.path("shared"), "--content", "notes", tool.path("b.db"))
        #expect(clone.code == 69 && !clone.errors.contains("outbox") && !clone.errors.contains("rebuild"), "\(clone)")
    }

    @Test func `a temporary folder that takes nothing is named, with what helps`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        try await tool.database("seed.db")
        for arguments in [["verify", a], ["seed", a, "--from", tool.path("seed.db")]] {
            let ended = try await tool.run(arguments + ["--json"], environment: ["TMPDIR": "/proc"])
            #expect(ended.code == 73, "\(ended)")
            let error = try JSON(ended.errors)["error"]
            #expect(error?["code"]?.string == "cannot-create")
            #expect(error?["message"]?.string?.contains("/proc") == true, "\(ended)")
            #expect(error?["help"]?.string?.contains("TMPDIR") == true, "\(ended)")
        }
    }

    static let takesStore = [
        "sync", "import", "export", "status", "log", "peers", "rescan", "doctor", "verify", "leave",
    ]

    @Test(arguments: takesStore)
    func `no such store is 66, and JSON says so in one document`(subcommand: String) async throws {
        let tool = try Tool()
        let ended = try await tool.run(subcommand, "missing.db", "--json")
        #expect(ended.code == 66)
        let error = try JSON(ended.errors)["error"]
        #expect(error?["code"]?.string == "no-store")
        #expect(error?["message"]?.string?.contains("missing.db") == true)
        #expect(error?["help"]?.string?.isEmpty == false)
        #expect(!FileManager.default.fileExists(atPath: tool.path("missing.db")))
    }

    @Test(arguments: takesStore)
    func `a file that is no database is 65, and a database that is no store is 66`(subcommand: String) async throws {
        let tool = try Tool()
        try "just some text, and not a little of it\n".write(
            toFile: tool.path("text.db"), atomically: true, encoding: .utf8)
        #expect(try await tool.run(subcommand, "text.db").code == 65)
        try await tool.database("plain.db")
        let plain = try await tool.run(subcommand, "plain.db")
        #expect(plain.code == 66)
        #expect(plain.errors.contains("not replicated") && plain.errors.contains("logsync init"), "\(plain.errors)")
    }

    @Test func `of several stores each is done, and the gravest code is returned`() async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        try await tool.clone("b.db")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (7, 'seven')")
        try "no database, whatever its name says, and long enough to be read\n".write(
            toFile: tool.path("text.db"), atomically: true, encoding: .utf8)
        let ended = try await tool.run("sync", "text.db", "a.db", "missing.db", "b.db", "--json")
        #expect(ended.code == 66)
        let done = try JSON(ended.output)["stores"]?.array ?? []
        #expect(
            done.map {
                $0["store"]?.string?.hasSuffix("a.db") == true || $0["store"]?.string?.hasSuffix("b.db") == true
            } == [true, true])
        #expect(done.first?["recorded"]?.int == 1 && done.last?["imported"]?.int ?? 0 >= 1)
        let errors = try ended.errors.split(separator: "\n").map { try JSON(String($0)) }
        #expect(errors.map { $0["error"]?["code"]?.string } == ["invalid-store", "no-store"])
        #expect(try await tool.sql("b.db", "SELECT text FROM notes ORDER BY text") == "one\nseven\n")
    }

    @Test func `nothing but what was asked for is said with --quiet, and nothing is coloured in a pipe`() async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        let quiet = try await tool.run("sync", "a.db", "--quiet")
        #expect(quiet.code == 0 && quiet.output.isEmpty && quiet.errors.isEmpty, "\(quiet)")
        let status = try await tool.run("status", "a.db", "--quiet", environment: ["TERM": "xterm"])
        #expect(status.output.contains("here") && !status.output.contains("\u{1B}"))
    }

    @Test func `state goes where the environment says`() async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        let usual = tool.path("home/.local/state/logsync")
        #expect(try !FileManager.default.contentsOfDirectory(atPath: usual).isEmpty)
        for (variable, folder) in [("XDG_STATE_HOME", "state/logsync"), ("STATE_DIRECTORY", "state")] {
            try? FileManager.default.removeItem(atPath: tool.path("state"))
            // A store that is there names the one in which it was made.
            let name = folder.replacingOccurrences(of: "/", with: "-")
            let made = try await tool.run(
                "init", try await tool.database(name + ".db"), "--container", tool.path("shared"), "--content", name,
                environment: [variable: tool.path("state")])
            #expect(made.code == 0, "\(made)")
            #expect(try !FileManager.default.contentsOfDirectory(atPath: tool.path(folder)).isEmpty)
        }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends a long step at once, and nothing is lost by it`(signal: Int32) async throws {
        let tool = try Tool()
        let place = ["--container", tool.path("shared"), "--content", "notes"]
        var durations: [Duration] = []
        // However busy the machine is: one of a few is soon enough.
        for attempt in 0..<4 where !durations.contains(where: { $0 < .milliseconds(1500) }) {
            let name = "long\(attempt).db"
            try await tool.sql(
                name,
                """
                CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
                INSERT INTO notes SELECT i, 'text ' || i FROM n
                """)
            let process = try tool.start(["init", tool.path(name), "--json"] + place)
            try await eventually("it is recording") {
                ((try? FileManager.default.attributesOfItem(atPath: tool.path(name) + "-wal")[.size]) as? Int ?? 0) > 0
            }
            let start = ContinuousClock.now
            process.signal(signal)
            let ended = await process.end()
            durations.append(.now - start)
            #expect(ended.code == 128 + signal, "\(ended)")
            #expect(try await tool.sql(name, "SELECT count(*) FROM notes; PRAGMA quick_check") == "300000\nok\n")
        }
        #expect(durations.contains { $0 < .milliseconds(1500) }, "\(durations)")
    }

    @Test func `a signal in the middle of a comparison leaves no scratch database`() async throws {
        let tool = try Tool()
        try await tool.sql(
            "a.db",
            """
            CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
            INSERT INTO notes SELECT i, 'text ' || i FROM n
            """)
        try await tool.succeed(
            "init", tool.path("a.db"), "--container", tool.path("shared"), "--content", "notes")
        let temporary = tool.path("temporary")
        try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
        func scratch() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: temporary) }
        let process = try tool.start(["verify", tool.path("a.db")], environment: ["TMPDIR": temporary])
        try await eventually("it replays the history") {
            try scratch().contains { FileManager.default.fileExists(atPath: "\(temporary)/\($0)/replay.db-wal") }
        }
        process.signal(SIGINT)
        #expect(await process.end().code == 130)
        #expect(try scratch().isEmpty)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends what is under way with its own code`(signal: Int32) async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        let following = try tool.start(["log", "a.db", "--follow", "--json"])
        try await following.line { $0.contains("\"token\"") }
        following.signal(signal)
        let ended = await following.end()
        #expect(ended.code == 128 + signal, "\(ended)")
        #expect(try JSON(ended.errors)["error"]?["code"]?.string == (signal == SIGINT ? "interrupted" : "terminated"))
    }
}
