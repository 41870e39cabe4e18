import Foundation
import Testing

/// The daemon.
@Suite(.turn) struct WatchTests {
    private func watch(_ tool: Tool, _ arguments: [String], environment: [String: String] = [:]) throws -> Tool.Process
    {
        try tool.start(["watch", "--json"] + arguments, environment: environment)
    }

    private func event(_ daemon: Tool.Process, _ name: String, store: String = "") async throws -> JSON {
        try await JSON(daemon.line { $0.contains("\"event\":\"\(name)\"") && (store.isEmpty || $0.contains(store)) })
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `it is ready, imports, and a signal is its normal end`(signal: Int32) async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let daemon = try watch(tool, [a, b])
        let ready = try await event(daemon, "ready", store: "a.db")
        #expect(ready["format"]?.int == 1 && ready["store"]?.string?.hasSuffix("a.db") == true)
        _ = try await event(daemon, "ready", store: "b.db")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (9, 'nine')")
        let imported = try await event(daemon, "didImport", store: "b.db")
        let transaction = try #require(imported["transactions"]?.array.last)
        #expect(transaction["peer"]?["name"]?.string == "here")
        #expect(transaction["tables"]?["notes"]?["counts"]?["inserted"]?.int == 1)
        #expect(try await tool.sql("b.db", "SELECT count(*) FROM notes WHERE text = 'nine'") == "1\n")
        daemon.signal(signal)
        let ended = await daemon.end()
        #expect(ended.code == 0, "\(ended)")
        for line in ended.lines { _ = try JSON(line) }
    }

    @Test func `a store that is missing is tried again while the others go on`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let daemon = try watch(tool, [a, tool.path("late.db")])
        _ = try await event(daemon, "ready", store: "a.db")
        let error = try await event(daemon, "error", store: "late.db")
        #expect(error["error"]?["code"]?.string == "no-store")
        try await tool.clone("late.db")
        _ = try await event(daemon, "ready", store: "late.db")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test(arguments: ["a file", "a folder", "a file that was none"])
    func `a store by a link is the one that the link leads to, also when it is turned`(link: String) async throws {
        let tool = try Tool()
        for folder in ["one", "two"] {
            try FileManager.default.createDirectory(atPath: tool.path(folder), withIntermediateDirectories: true)
        }
        _ = try await tool.store("one/a.db")
        let b = try await tool.clone("b.db")
        let files = FileManager.default
        /// Makes it a link, or another one.
        func turn(_ name: String, to target: String) throws {
            try? files.removeItem(atPath: tool.path(name))
            try files.createSymbolicLink(atPath: tool.path(name), withDestinationPath: target)
        }
        let name = link == "a folder" ? "current/a.db" : "a.db"
        switch link {
        case "a folder": try turn("current", to: "one")
        case "a file": try turn("a.db", to: "one/a.db")
        default: try files.moveItem(atPath: tool.path("one/a.db"), toPath: tool.path("a.db"))
        }
        let daemon = try watch(tool, [tool.path(name), b])
        _ = try await event(daemon, "ready", store: "a.db")
        _ = try await event(daemon, "ready", store: "b.db")
        let former = link.hasSuffix("none") ? "a.db" : "one/a.db"
        for end in ["", "-wal", "-shm"] where files.fileExists(atPath: tool.path(former + end)) {
            try files.moveItem(atPath: tool.path(former + end), toPath: tool.path("two/a.db" + end))
        }
        if link == "a folder" { try turn("current", to: "two") } else { try turn("a.db", to: "two/a.db") }
        for (path, text) in [(name, "turned"), ("two/a.db", "again")] {
            try await tool.sql(path, "INSERT INTO notes (text) VALUES ('\(text)')")
            try await eventually("\(text) arrives") {
                try await tool.sql("b.db", "SELECT count(*) FROM notes WHERE text = '\(text)'") == "1\n"
            }
        }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `a container that goes away is said to be unavailable, and ready when it is back`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let daemon = try watch(tool, [a, "--poll", "0.1"])
        _ = try await event(daemon, "ready")
        try FileManager.default.moveItem(atPath: tool.path("shared"), toPath: tool.path("away"))
        let gone = try await event(daemon, "unavailable")
        #expect(gone["error"]?["code"]?.string == "container-unavailable")
        try FileManager.default.moveItem(atPath: tool.path("away"), toPath: tool.path("shared"))
        try await eventually("it is ready again") {
            daemon.output.components(separatedBy: "\"event\":\"ready\"").count == 3
        }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test(arguments: [false, true])
    func `systemd is told once all stores that can be opened are ready, and at the end`(isAbstract: Bool) async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        // An address of at most 107 bytes.
        let name = "/tmp/logsync-\(UUID().uuidString.prefix(8))"
        let address = isAbstract ? "@" + name : name
        let listener = try await Listener(tool, address)
        let daemon = try watch(tool, [a, tool.path("missing.db")], environment: ["NOTIFY_SOCKET": address])
        try await listener.process.line { $0 == "READY=1" }
        #expect(daemon.output.contains("\"event\":\"ready\""), "said only when it is so")
        daemon.signal(SIGTERM)
        try await listener.process.line { $0 == "STOPPING=1" }
        #expect(await daemon.end().code == 0)
        // Not SIGTERM: a child of the test runner may have been given its blocked signals.
        listener.process.signal(SIGKILL)
        _ = await listener.process.end()
        try? FileManager.default.removeItem(atPath: name)
    }

    @Test func `the command gets the events, batched and one run at a time, and delays nothing`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        // Each run says how many it is, takes its time until it is told, and would notice another beside it.
        let command = """
            mkdir running || exit 9; cat >> told; echo run >> told
            while ! test -e go; do sleep 0.02; done; rmdir running
            """
        let daemon = try watch(tool, [b, "--on-import", command])
        _ = try await event(daemon, "ready")
        func told() -> [Substring] {
            (try? String(contentsOfFile: tool.path("told"), encoding: .utf8))?.split(separator: "\n") ?? []
        }
        func imported(_ text: String) async throws {
            try await tool.sql("a.db", "INSERT INTO notes (text) VALUES ('\(text)')")
            try await tool.succeed("sync", a)
            try await eventually("\(text) arrives while the command runs") {
                try await tool.sql("b.db", "SELECT count(*) FROM notes WHERE text = '\(text)'") == "1\n"
            }
        }
        try await imported("first")
        try await eventually("the command runs") { told().contains("run") }
        try await imported("second")
        try await imported("third")
        #expect(told().filter { $0 == "run" }.count == 1, "one at a time")
        _ = FileManager.default.createFile(atPath: tool.path("go"), contents: nil)
        try await eventually("the second run") { told().filter { $0 == "run" }.count == 2 }
        let events = try told().filter { $0 != "run" }.map { try JSON(String($0)) }
        #expect(events.count == 3 && events.allSatisfy { $0["event"]?.string == "didImport" }, "\(told())")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
        #expect(told().filter { $0 == "run" }.count == 2, "what had come meanwhile was one batch")
    }

    @Test func `a command that fails is logged and the daemon goes on`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let daemon = try watch(tool, [b, "--on-import", "exit 7"])
        _ = try await event(daemon, "ready")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a)
        try await eventually("the failure is logged") { daemon.errors.contains("ended with 7") }
        #expect(daemon.isRunning)
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `a command that does not end is ended with the daemon, and so is what it started`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let daemon = try watch(tool, [b, "--on-import", "sleep 1000 & echo $! > child; wait"])
        _ = try await event(daemon, "ready")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a)
        let child = tool.path("child")
        func id() -> pid_t? {
            (try? String(contentsOfFile: child, encoding: .utf8)).flatMap {
                pid_t($0.trimmingCharacters(in: .newlines))
            }
        }
        try await eventually("the command runs") { id() != nil }
        let started = try #require(id())
        daemon.signal(SIGTERM)
        let ended = await daemon.end()
        #expect(ended.code == 0 && ended.errors.contains("was ended by signal 15"), "\(ended)")
        try await eventually("its child is gone") {
            // Where nobody collects orphans, it stays as a zombie.
            let state = try? String(contentsOfFile: "/proc/\(started)/stat", encoding: .utf8)
            return state?.contains(") Z ") ?? true
        }
    }

    @Test func `metrics are what the stores say`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let daemon = try watch(tool, [b, "--metrics", "127.0.0.1:0"])
        _ = try await event(daemon, "ready")
        let address = try #require(daemon.errors.firstMatch(of: #/http://127\.0\.0\.1:\d+/metrics/#)).output
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a)
        _ = try await event(daemon, "didImport")
        func page(_ url: String) async throws -> String {
            let script = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"
            return try await tool.program("/usr/bin/env", ["python3", "-c", script, url]).output
        }
        let text = try await page(String(address))
        func value(_ metric: String) -> Double? {
            let line = text.split(separator: "\n").first {
                $0.hasPrefix("\(metric){store=\"") && $0.contains("b.db\"} ")
            }
            return line?.split(separator: " ").last.flatMap { Double($0) }
        }
        #expect(value("logsync_store_open") == 1 && value("logsync_container_available") == 1, "\(text)")
        #expect(value("logsync_imported_transactions_total") == 2, "\(text)")
        #expect(value("logsync_published_transactions_total") ?? -1 >= 0)
        #expect(value("logsync_held") == 0 && value("logsync_outbox_transactions") == 0)
        #expect(value("logsync_last_import_timestamp_seconds") ?? 0 > 1_700_000_000)
        #expect(text.contains("# TYPE logsync_imported_transactions_total counter"))
        #expect(try await page(String(address).replacing("/metrics", with: "/other")).isEmpty, "404 raises")

        let port = String(address.dropFirst(7).dropLast(8))
        let second = try watch(tool, [a, "--metrics", port])
        _ = try await event(second, "ready", store: "a.db")
        #expect(second.errors.contains("cannot be served") && second.errors.contains(port), "\(second.errors)")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
        // Where the address is free, it is served there.
        try await eventually("the second serves metrics") {
            try await page(String(address)).contains("logsync_store_open{store=\"\(a)\"} 1")
        }
        second.signal(SIGTERM)
        #expect(await second.end().code == 0)
        let wrong = try await tool.run("watch", a, "--metrics", "no.such.host.invalid:1")
        #expect(wrong.code == 78 && wrong.errors.contains("cannot be served"), "\(wrong)")
    }

    private func page(_ tool: Tool, _ url: Substring) async throws -> String {
        let script = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"
        return try await tool.program("/usr/bin/env", ["python3", "-c", script, String(url)]).output
    }

    @Test func `a store is open as long as it is there and replicated`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let plain = try await tool.database("plain.db")
        let daemon = try watch(tool, [a, b, plain, tool.path("missing.db"), "--metrics", "127.0.0.1:0"])
        for store in ["a.db", "b.db"] { _ = try await event(daemon, "ready", store: store) }
        let address = try #require(daemon.errors.firstMatch(of: #/http://127\.0\.0\.1:\d+/metrics/#)).output
        func open() async throws -> [String] {
            let lines = try await page(tool, address).split(separator: "\n").filter {
                $0.hasPrefix("logsync_store_open{") && $0.hasSuffix("} 1")
            }
            return lines.compactMap { $0.firstMatch(of: #/(\w+)\.db"/#).map { String($0.output.1) } }
        }
        #expect(try await open() == ["a", "b"])
        try FileManager.default.removeItem(atPath: a)
        #expect(try await open() == ["b"])
        try await tool.succeed("leave", b, "--wait", "20")
        try await eventually("none is open") { try await open().isEmpty }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `connections that say nothing keep no scraper waiting`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let daemon = try watch(tool, [a, "--metrics", "127.0.0.1:0"])
        _ = try await event(daemon, "ready")
        let address = try #require(daemon.errors.firstMatch(of: #/http://127\.0\.0\.1:(\d+)/metrics/#)).output
        // A connection's end is seen only after its patience: the page has to come while all are open.
        let script = """
            import socket, sys, urllib.request
            idle = [socket.create_connection(("127.0.0.1", int(sys.argv[2]))) for _ in range(8)]
            page = urllib.request.urlopen(sys.argv[1]).read()
            for one in idle: one.setblocking(False)
            def is_open(one):
                try: return one.recv(1) != b""
                except BlockingIOError: return True
            print(len(page) > 0, sum(map(is_open, idle)))
            """
        // Unless the machine holds the page up for as long as that.
        var outputs: [String] = []
        for _ in 0..<5 where outputs.last != "True 8\n" {
            let ended = try await tool.program(
                "/usr/bin/env", ["python3", "-c", script, String(address.0), String(address.1)])
            outputs.append(ended.output)
        }
        #expect(outputs.last == "True 8\n", "\(outputs)")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test(arguments: ["watch --json a.db", "log --follow --limit 0 a.db", "kv watch settings.db"])
    func `what prints for as long as it runs ends soon after its reader, though it has nothing to print`(
        command: String
    ) async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        try await tool.succeed(
            "kv", "init", tool.path("settings.db"), "--container", tool.path("shared"), "--content", "settings")
        // What the daemon has to say is read.
        let reader = command.hasPrefix("watch") ? "head -n 1" : "true"
        let script = "timeout 60 \(Tool.path) \(command) 2> errors | \(reader); echo ${PIPESTATUS[0]}"
        let ended = try await tool.program("/usr/bin/env", ["bash", "-c", script])
        #expect(ended.lines.last == "74", "\(ended)")
        let errors = try String(contentsOfFile: tool.path("errors"), encoding: .utf8)
        #expect(errors.contains("stdout could not be written"), "\(errors)")
    }

    @Test(arguments: [false, true])
    func `a command that will not end is killed with the daemon, and so is what it started`(isReread: Bool)
        async throws
    {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let command = "trap '' TERM; sleep 1000 & echo $! > child; echo $$ > shell; while :; do wait; done"
        let daemon = try watch(tool, [b, "--on-import", command])
        _ = try await event(daemon, "ready")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a)
        func id(_ name: String) -> pid_t? {
            (try? String(contentsOfFile: tool.path(name), encoding: .utf8)).flatMap {
                pid_t($0.trimmingCharacters(in: .newlines))
            }
        }
        try await eventually("the command runs") { id("shell") != nil }
        let started = try ["child", "shell"].map { try #require(id($0)) }
        if isReread {
            daemon.signal(SIGHUP)
            try await eventually("the configuration is read") { daemon.errors.contains("was read anew") }
        }
        daemon.signal(SIGTERM)
        // What is left of it would keep the daemon's output open.
        defer { for process in started { kill(process, SIGKILL) } }
        for process in started {
            try await eventually("\(process) is gone") {
                // Where nobody collects orphans, it stays as a zombie.
                let state = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
                return state?.contains(") Z ") ?? true
            }
        }
        let ended = await daemon.end()
        #expect(ended.code == 0 && ended.errors.contains("was ended by signal 9"), "\(ended)")
    }

    @Test func `people read lines, and one-shot commands work beside it`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let daemon = try tool.start(["watch", b])
        try await daemon.line { $0.hasSuffix("b.db is ready") }
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a, b)
        try await tool.sql("a.db", "INSERT INTO notes VALUES (3, 'three')")
        try await tool.succeed("sync", a)
        try await daemon.line { $0.contains("b.db: imported 1 from here: notes +1") }
        let left = try await tool.run("leave", b, "--wait", "20")
        #expect(left.code == 0, "\(left)")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `a hook is handed no file of the daemon's`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let hook = "ls -l /proc/self/fd > listed; mv listed descriptors"
        let daemon = try watch(tool, [b, "--metrics", "127.0.0.1:0", "--on-import", hook])
        _ = try await event(daemon, "ready")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a)
        try await eventually("it has run") { FileManager.default.fileExists(atPath: tool.path("descriptors")) }
        let open = try String(contentsOfFile: tool.path("descriptors"), encoding: .utf8)
        #expect(open.contains(" 2 -> "), "\(open)")
        for kind in ["anon_inode", ".step", "b.db"] { #expect(!open.contains(kind), "\(open)") }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }
}
