import Foundation
import Testing

/// What those need who run the daemon: limits, signals, a configuration that changes.
@Suite(.turn) struct OperatorTests {
    private func shell(_ tool: Tool, _ script: String) throws -> Tool.Process {
        try tool.start(program: "/bin/sh", ["-c", script])
    }

    private func stores(_ tool: Tool, _ count: Int) async throws -> [String] {
        var paths: [String] = []
        for index in 1...count {
            paths.append(try await tool.database("s\(index).db"))
            try await tool.succeed(
                "init", "s\(index).db", "--container", tool.path("shared"), "--content", "c\(index)", "--peer", "p")
        }
        return paths
    }

    // MARK: Descriptors

    @Test func `a soft limit on open files is raised to the hard one`() async throws {
        let tool = try Tool()
        let paths = try await stores(tool, 8)
        let daemon = try shell(tool, "ulimit -Sn 16; exec logsync watch \(paths.joined(separator: " "))")
        for path in paths { try await daemon.line { $0 == "\(path) is ready" } }
        daemon.signal(SIGTERM)
        let ended = await daemon.end()
        #expect(ended.code == 0 && ended.errors.isEmpty, "\(ended)")
    }

    @Test func `stores beyond the hard limit are refused by name, and the others are watched`() async throws {
        let tool = try Tool()
        let paths = try await stores(tool, 4)
        let daemon = try shell(tool, "ulimit -n 64; exec logsync watch --json \(paths.joined(separator: " "))")
        for path in paths.prefix(2) {
            try await daemon.line { $0.contains("\"ready\"") && $0.contains(path) }
        }
        let refused = try JSON(try await daemon.line { $0.contains("\"error\"") && $0.contains(paths[3]) })
        #expect(refused["error"]?["code"]?.string == "io-error")
        #expect(refused["error"]?["message"]?.string?.contains("may open 64 files") == true, "\(daemon.output)")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
        let none = await (try shell(tool, "ulimit -n 24; exec logsync watch \(paths[0])")).end()
        #expect(none.code == 74 && none.errors.contains("may open 24 files"), "\(none)")
    }

    // MARK: A log that is gone

    @Test func `a write-ahead log that was deleted is noticed with the next commit, and what comes then is published`()
        async throws
    {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let daemon = try tool.start(["watch", a])
        try await daemon.line { $0 == "\(a) is ready" }
        try await tool.sql("a.db", "INSERT INTO notes(text) VALUES ('before')")
        func arrives(_ text: String) async throws {
            try await eventually("\(text) arrives") {
                try await tool.succeed("sync", b)
                return try await tool.sql("b.db", "SELECT count(*) FROM notes WHERE text = '\(text)'") == "1\n"
            }
        }
        try await arrives("before")
        for suffix in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: a + suffix) }
        try await tool.sql("a.db", "INSERT INTO notes(text) VALUES ('after')")
        try await arrives("after")
        #expect(daemon.errors.contains("its -wal or -shm was"), "\(daemon.errors)")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
        try await tool.succeed("sync", a)
        #expect(
            try await tool.sql("a.db", "SELECT text FROM notes ORDER BY text; PRAGMA integrity_check")
                == "after\nbefore\none\nok\n")
    }

    // MARK: Signals

    @Test func `SIGQUIT is an end like SIGTERM`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let daemon = try tool.start(["watch", a])
        try await daemon.line { $0 == "\(a) is ready" }
        daemon.signal(SIGQUIT)
        let ended = await daemon.end()
        #expect(ended.code == 0 && ended.errors.isEmpty, "\(ended)")
    }

    @Test func `SIGHUP has the configuration read anew: its stores, its command, where metrics are`() async throws {
        let tool = try Tool()
        let paths = try await stores(tool, 2)
        let file = tool.path("config.toml")
        func configure(_ text: String) throws { try text.write(toFile: file, atomically: true, encoding: .utf8) }
        try configure("stores = [\"\(paths[0])\"]")
        let daemon = try tool.start(["watch", "--config", file])
        try await daemon.line { $0 == "\(paths[0]) is ready" }
        try configure(
            "stores = [\"\(paths[1])\"]\nmetrics = \"127.0.0.1:0\"\non-import = \"cat > \(tool.path("told"))\"")
        daemon.signal(SIGHUP)
        try await daemon.line { $0 == "\(paths[1]) is ready" }
        try await eventually("metrics are served") { daemon.errors.contains("metrics are served at") }
        let address = try #require(daemon.errors.firstMatch(of: #/http://127\.0\.0\.1:\d+/metrics/#)).output
        try await eventually("only the second store is watched") {
            let page = try await tool.program("/usr/bin/env", ["python3", "-c", Self.get, String(address)]).output
            return page.contains("logsync_store_open{store=\"\(paths[1])\"} 1") && !page.contains(paths[0])
        }
        try await tool.succeed(
            "clone", "--container", tool.path("shared"), "--content", "c2", tool.path("b.db"), "--peer", "q")
        try await tool.sql("b.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", tool.path("b.db"))
        try await eventually("the command runs") { FileManager.default.fileExists(atPath: tool.path("told")) }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `SIGHUP with a configuration that is wrong leaves everything as it is`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let file = tool.path("config.toml")
        try "".write(toFile: file, atomically: true, encoding: .utf8)
        let daemon = try tool.start(["watch", a, "--config", file])
        try await daemon.line { $0 == "\(a) is ready" }
        try "stores = 3".write(toFile: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        try await eventually("it is said") { daemon.errors.contains("was not read anew") }
        try await tool.clone("b.db")
        try await tool.sql("b.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", tool.path("b.db"))
        try await daemon.line { $0.hasPrefix("\(a): imported") }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `a watch without stores is 64, and says where they may stand`() async throws {
        let tool = try Tool()
        let ended = try await tool.run("watch")
        #expect(ended.code == 64 && ended.errors.contains("stores = ["), "\(ended)")
    }

    // MARK: Metrics

    /// Prints the page at an address, asked for by another host's name where there is a second argument.
    private static let get = """
        import sys, urllib.request
        request = urllib.request.Request(sys.argv[1])
        if len(sys.argv) > 2: request.add_header("Host", sys.argv[2])
        try: print(urllib.request.urlopen(request, timeout=20).read().decode())
        except urllib.error.HTTPError as error: print(error.code)
        """

    @Test func `metrics are told to those who ask for an address, and not to a page that gave its name this address`()
        async throws
    {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let daemon = try tool.start(["watch", a, "--metrics", "127.0.0.1:0"])
        try await daemon.line { $0 == "\(a) is ready" }
        let address = String(try #require(daemon.errors.firstMatch(of: #/http://127\.0\.0\.1:\d+/metrics/#)).output)
        func page(_ host: String) async throws -> String {
            try await tool.program("/usr/bin/env", ["python3", "-c", Self.get, address, host]).output
        }
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:9090", "192.168.1.4", "[::1]:9090", "[fe80::1]"] {
            #expect(try await page(host).contains("logsync_store_open"), "\(host)")
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "::1", "[evil]", "a:1:2"] {
            #expect(try await page(host) == "403\n", "\(host)")
        }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    // MARK: Waiting

    @Test(arguments: [["sync"], ["import"], ["export"], ["snapshot"], ["compact"], ["rescan"]])
    func `every subcommand waits for a lock as long as it is told`(subcommand: [String]) async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        let writer = try tool.start(
            program: "/usr/bin/env",
            [
                "python3", "-c",
                """
                import sqlite3, sys, time
                c = sqlite3.connect(sys.argv[1], isolation_level=None)
                c.execute("BEGIN IMMEDIATE"); print("holding", flush=True); time.sleep(300)
                """, a,
            ])
        try await writer.line { $0 == "holding" }
        let start = ContinuousClock.now
        let ended = try await tool.run(subcommand + [a, "--wait", "0.2"])
        #expect(ended.code == 75, "\(ended)")
        #expect(start.duration(to: .now) < .seconds(9), "the usual ten seconds were not waited for")
        writer.signal(SIGKILL)
        _ = await writer.end()
        #expect(try await tool.run(subcommand + [a, "--wait", "30"]).code == 0)
    }
}
